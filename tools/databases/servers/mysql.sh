# shellcheck shell=bash
# Oracle MySQL: only the unstable suite has it, so its version moves, and its index may be older than apt likes (shell/debian-root.sh).

declare_server mysql port=25097 suites='sid forky' packages='mysql-server-core tzdata' prepare=mysql_template start=start_mysql stop=TERM

mysql_user=sched
# Each on one line: `--init-file` takes nothing else. https://dev.mysql.com/doc/refman/9.7/en/server-system-variables.html#sysvar_init_file
mysql_accounts() {
  cat <<SQL
CREATE DATABASE IF NOT EXISTS test;
CREATE USER IF NOT EXISTS '$mysql_user'@'%' IDENTIFIED BY '$server_password';
GRANT ALL ON *.* TO '$mysql_user'@'%' WITH GRANT OPTION;
ALTER USER 'root'@'localhost' IDENTIFIED BY '$server_password';
SQL
}

# Named zones that tests set; the tables for them are empty in a new server. One statement per line.
# https://dev.mysql.com/doc/refman/9.7/en/mysql-tzinfo-to-sql.html (MariaDB's prints more than that, for replication)
mysql_zones() { # suite server
  local zone program=mysql_tzinfo_to_sql
  [ -e "$home/root/$1/usr/bin/$program" ] || program=mariadb-tzinfo-to-sql
  echo 'USE mysql;'
  for zone in America/New_York Europe/London; do
    inside "$1" "$2" "$program" "/usr/share/zoneinfo/$zone" "$zone" |
      awk '/^INSERT INTO time_zone \(/ { on = 1 } on { printf "%s ", $0 } on && /;$/ { print "" } /^INSERT INTO time_zone_transition_type/ { last = 1 } last && /;$/ { exit }'
  done
}

# Small, durable (tests kill servers and then look for what was committed), and without files outside of its folder.
mysql_options() { # folder
  echo --no-defaults "--datadir=$1/data" "--tmpdir=$1/tmp" --secure-file-priv=NULL --skip-log-bin --mysqlx=OFF \
    --innodb-flush-log-at-trx-commit=1 --innodb-redo-log-capacity=8M --innodb-buffer-pool-size=64M --max-connections=300 --skip-name-resolve
}

mysql_template() { # server suite: a data folder made once and copied; tests start servers of their own from it
  local server=$1 suite=$2 folder=$home/template/$1 work=$state/$1/init
  if [ ! -e "$folder/data/mysql.ibd" ]; then
    rm -rf "$work" "$folder"
    mkdir -p "$work/tmp" "$folder"
    { mysql_accounts; mysql_zones "$suite" "$server"; } >"$work/accounts.sql"
    chown -R "$server_uid:$server_uid" "$work"
    # shellcheck disable=SC2046
    inside "$suite" "$server" /usr/sbin/mysqld $(mysql_options "$work") --initialize-insecure --init-file="$work/accounts.sql" \
      >"$state/$server/init.log" 2>&1 || { tail -n 5 "$state/$server/init.log" >&2; return 1; }
    rm -f "$work/data/auto.cnf"   # the copies are servers of their own
    mv "$work/data" "$folder/data"
    rm -rf "$work"
  fi
  mysql_kit "$server" "$suite" mysql /usr/sbin/mysqld "$(mysql_options FOLDER)"
}

mysql_kit() { # server suite scheme program options: what a program outside these scripts needs to start a server from the template
  local server=$1 suite=$2 scheme=$3 program=$4 options=$5 folder=$home/template/$1
  printf '{"root":"%s","scheme":"%s","user":"%s","password":"%s","program":"%s","options":"%s"}\n' \
    "$home/root/$suite" "$scheme" "$mysql_user" "$server_password" "$program" "$options" >"$folder/kit.json.new"
  mv "$folder/kit.json.new" "$folder/kit.json"
}

copy_template() { # server
  local folder=$state/$1
  mkdir -p "$folder/tmp"
  chown "$server_uid:$server_uid" "$folder/tmp"
  [ -e "$folder/data" ] || { rm -rf "$folder/data.new"; cp -a "$home/template/$1/data" "$folder/data.new" && mv "$folder/data.new" "$folder/data"; }
}

start_mysql() { # server suite port
  local server=$1 suite=$2 port=$3 folder=$state/$1
  copy_template "$server" || return 1
  # shellcheck disable=SC2046
  launch "$suite" "$server" /usr/sbin/mysqld $(mysql_options "$folder") --port="$port" --bind-address=127.0.0.1 \
    --socket="$folder/my.sock" --pid-file="$folder/my.pid"
  wait_until "$server" 60 grep -q "ready for connections.*port: $port" "$folder/log" || return 1
  echo "mysql://$mysql_user:$server_password@127.0.0.1:$port/test" >"$folder/url"
}
