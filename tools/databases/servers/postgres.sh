# shellcheck shell=bash
# PostgreSQL: the newest released, the oldest supported, and one between them from a stable suite.

declare_server postgres port=25018 suites='sid forky' packages=postgresql-18 prepare='postgres_template 18' start='start_postgres 18' stop=INT
declare_server postgres-middle port=25017 suites=trixie packages=postgresql-17 prepare='postgres_template 17' start='start_postgres 17' stop=INT
declare_server postgres-oldest port=25013 suites=bullseye packages=postgresql-13 prepare='postgres_template 13' start='start_postgres 13' stop=INT

postgres_template() { # version server suite: one data folder per server, made once and copied; tests start their own servers from it
  local version=$1 server=$2 suite=$3 folder=$home/template/$2 binaries=/usr/lib/postgresql/$1/bin
  local work=$state/$server/init
  if [ ! -e "$folder/data/PG_VERSION" ] || [ "$(cat "$folder/data/PG_VERSION")" != "$version" ]; then
    rm -rf "$work" "$folder"
    mkdir -p "$work" "$folder"
    chown "$server_uid:$server_uid" "$work"
    echo "$server_password" >"$work/password"
    inside "$suite" "$server" "$binaries/initdb" -D "$work/data" -U postgres -A scram-sha-256 --pwfile="$work/password" \
      -E UTF8 --locale=C.UTF-8 -N >"$state/$server/init.log" 2>&1 || { tail -n 5 "$state/$server/init.log" >&2; return 1; }
    mv "$work/data" "$folder/data"
    rm -rf "$work"
  fi
  # What a program outside these scripts needs to start a server of its own from the template.
  printf '{"root":"%s","binaries":"%s","version":%s,"password":"%s"}\n' \
    "$home/root/$suite" "$binaries" "$version" "$server_password" >"$folder/kit.json.new"
  mv "$folder/kit.json.new" "$folder/kit.json"
}

start_postgres() { # version server suite port
  local version=$1 server=$2 suite=$3 port=$4 folder=$state/$2 try
  if [ -e "$folder/data" ] && [ "$(cat "$folder/data/PG_VERSION")" != "$version" ]; then rm -rf "$folder/data"; fi
  [ -e "$folder/data" ] || { rm -rf "$folder/data.new"; cp -a "$home/template/$server/data" "$folder/data.new" && mv "$folder/data.new" "$folder/data"; } || return 1
  for try in 1 2 3; do
    : >"$folder/log"
    # Durable: tests kill servers and then look for what was committed. jit needs the compiler that is not unpacked.
    launch "$suite" "$server" "/usr/lib/postgresql/$version/bin/postgres" -D "$folder/data" -p "$port" \
      -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=on -c synchronous_commit=on -c jit=off \
      -c max_connections=300 -c shared_buffers=64MB -c log_line_prefix='%m [%p] '
    wait_until "$server" 30 grep -q 'ready to accept connections' "$folder/log" && break
    # After a kill -9 the old backends need a moment to notice that their postmaster is gone.
    [ "$try" != 3 ] || return 1
    sleep 1
  done
  echo "postgresql://postgres:$server_password@127.0.0.1:$port/postgres" >"$folder/url"
}
