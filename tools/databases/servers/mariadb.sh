# shellcheck shell=bash
# MariaDB: the newest in a stable Debian, and the oldest supported. Accounts, zones and templates are those of mysql.sh.

declare_server mariadb port=25118 suites=trixie packages='mariadb-server-core mariadb-server sed grep hostname tzdata' prepare=mariadb_template start=start_mariadb stop=TERM
declare_server mariadb-oldest port=25105 suites=bullseye packages='mariadb-server-core-10.5 mariadb-server-10.5 sed grep hostname tzdata' prepare=mariadb_template start=start_mariadb stop=TERM

mariadb_program=/usr/sbin/mariadbd

# The lock instrument is off by default: https://mariadb.com/kb/en/performance-schema-metadata_locks-table/
mariadb_options() { # folder
  echo --no-defaults "--datadir=$1/data" "--tmpdir=$1/tmp" --innodb-flush-log-at-trx-commit=1 --innodb-log-file-size=8M \
    --innodb-buffer-pool-size=64M --max-connections=300 --skip-name-resolve \
    --performance-schema=ON --performance-schema-instrument=wait/lock/metadata/sql/mdl=ON
}

mariadb_template() { # server suite
  local server=$1 suite=$2 folder=$home/template/$1 work=$state/$1/init
  if [ ! -e "$folder/data/mysql/global_priv.frm" ]; then
    rm -rf "$work" "$folder"
    mkdir -p "$work/tmp" "$folder"
    chown -R "$server_uid:$server_uid" "$work"
    {
      inside "$suite" "$server" mysql_install_db --no-defaults --datadir="$work/data" --auth-root-authentication-method=normal \
        --skip-test-db --skip-name-resolve --cross-bootstrap &&
      # A bootstrap server runs without accounts until they are loaded.
      { echo 'FLUSH PRIVILEGES;'; mysql_accounts; mysql_zones "$suite" "$server"; } | inside "$suite" "$server" "$mariadb_program" --no-defaults --datadir="$work/data" \
        --tmpdir="$work/tmp" --innodb-log-file-size=8M --bootstrap
    } >"$state/$server/init.log" 2>&1 || { tail -n 5 "$state/$server/init.log" >&2; return 1; }
    mv "$work/data" "$folder/data"
    rm -rf "$work"
  fi
  mysql_kit "$server" "$suite" mariadb "$mariadb_program" "$(mariadb_options FOLDER)"
}

start_mariadb() { # server suite port
  local server=$1 suite=$2 port=$3 folder=$state/$1
  copy_template "$server" || return 1
  # shellcheck disable=SC2046
  launch "$suite" "$server" "$mariadb_program" $(mariadb_options "$folder") --port="$port" --bind-address=127.0.0.1 \
    --socket="$folder/my.sock" --pid-file="$folder/my.pid"
  { wait_until "$server" 60 grep -q 'ready for connections' "$folder/log" && wait_until "$server" 10 accepts "$port"; } || return 1
  echo "mariadb://$mysql_user:$server_password@127.0.0.1:$port/test" >"$folder/url"
}
