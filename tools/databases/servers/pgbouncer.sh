# shellcheck shell=bash
# PgBouncer in front of a real PostgreSQL, in the mode that keeps a session together and in the one that does not.
# SIGQUIT ends it at once; SIGTERM (since 1.23) and SIGINT would wait for its clients.

declare_server pgbouncer-transaction port=25215 suites=trixie packages=pgbouncer needs=postgres-middle start='start_pgbouncer transaction' stop=QUIT
declare_server pgbouncer-session port=25216 suites=trixie packages=pgbouncer needs=postgres-middle start='start_pgbouncer session' stop=QUIT

start_pgbouncer() { # mode server suite port
  local mode=$1 server=$2 suite=$3 port=$4 folder=$state/$2
  printf '"postgres" "%s"\n' "$server_password" >"$folder/users.txt"
  cat >"$folder/pgbouncer.ini" <<INI
[databases]
* = host=127.0.0.1 port=$(port_of postgres-middle)
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $folder/users.txt
pool_mode = $mode
default_pool_size = 20
max_client_conn = 500
server_connect_timeout = 3
query_wait_timeout = 10
admin_users = postgres
INI
  chown "$server_uid:$server_uid" "$folder/users.txt" "$folder/pgbouncer.ini"
  : >"$folder/log"
  launch "$suite" "$server" /usr/sbin/pgbouncer "$folder/pgbouncer.ini"
  wait_until "$server" 10 accepts "$port" || return 1
  echo "postgresql://postgres:$server_password@127.0.0.1:$port/postgres" >"$folder/url"
}
