# shellcheck shell=bash
# A Galera cluster of two nodes, each a server of its own here. The first founds the cluster, unless the second is there already; the second copies it (rsync).

galera_packages='mariadb-server-core mariadb-server mariadb-client-core galera-4 rsync bash iproute2 procps findutils gawk debianutils diffutils sed grep hostname tzdata'
declare_server galera-1 port=25501 suites=bookworm packages="$galera_packages" prepare=mariadb_template start='start_galera galera-2' stop=TERM
declare_server galera-2 port=25502 suites=bookworm packages="$galera_packages" needs=galera-1 prepare=mariadb_template start='start_galera galera-1' stop=TERM

galera_port() { echo $((25501 + 10 * ${1#galera-} + port_offset)); }   # and the two after it

start_galera() { # peer server suite port
  local peer=$1 server=$2 suite=$3 port=$4 folder=$state/$2 replication join=()
  replication=$(galera_port "$server")
  copy_template "$server" || return 1
  if [ "$server" = galera-1 ] && ! alive "$peer"; then
    join=(--wsrep-new-cluster)
    # It was the last to leave, or both were killed: whoever founds the cluster must be told that it may.
    [ ! -e "$folder/data/grastate.dat" ] || sed -i 's/safe_to_bootstrap: 0/safe_to_bootstrap: 1/' "$folder/data/grastate.dat"
  fi
  # shellcheck disable=SC2046
  launch "$suite" "$server" "$mariadb_program" $(mariadb_options "$folder") --port="$port" --bind-address=127.0.0.1 \
    --socket="$folder/my.sock" --pid-file="$folder/my.pid" \
    --binlog-format=ROW --default-storage-engine=InnoDB --innodb-autoinc-lock-mode=2 \
    --wsrep-on=ON --wsrep-provider=/usr/lib/galera/libgalera_smm.so --wsrep-cluster-name=sched --wsrep-node-name="$server" \
    --wsrep-node-address="127.0.0.1:$replication" --wsrep-sst-method=rsync --wsrep-sst-receive-address="127.0.0.1:$((replication + 2))" \
    --wsrep-provider-options="gmcast.listen_addr=tcp://127.0.0.1:$replication;ist.recv_addr=127.0.0.1:$((replication + 1));gcache.size=16M" \
    --wsrep-cluster-address="gcomm://127.0.0.1:$(galera_port galera-1),127.0.0.1:$(galera_port galera-2)" ${join[@]+"${join[@]}"}
  { wait_until "$server" 60 grep -q 'Synchronized with group, ready for connections' "$folder/log" && wait_until "$server" 20 accepts "$port"; } || return 1
  echo "mariadb://$mysql_user:$server_password@127.0.0.1:$port/test" >"$folder/url"
}
