# shellcheck shell=bash
# The servers there are. A file in servers/ declares each with one line and one start function, called as
#   <start> SERVER SUITE PORT
# which leaves the server running, its pid in state/SERVER/pid (through `launch`) and its address in state/SERVER/url.
# `prepare`, called as <prepare> SERVER SUITE, is what can be done before, and what --prepare-only does too.

servers=()
declare -A server_port=() server_suites=() server_packages=() server_needs=() server_prepare=() server_start=() server_stop=()

declare_server() { # name port=N suites='first choice, then the next' packages='…' start='function args' stop=SIGNAL [needs='servers'] [prepare='function args']
  local name=$1 option; shift
  servers+=("$name")
  server_needs[$name]='' server_prepare[$name]=''
  for option in "$@"; do
    case ${option%%=*} in
      port) server_port[$name]=${option#*=};;
      suites) server_suites[$name]=${option#*=};;
      packages) server_packages[$name]=${option#*=};;
      needs) server_needs[$name]=${option#*=};;
      prepare) server_prepare[$name]=${option#*=};;
      start) server_start[$name]=${option#*=};;
      stop) server_stop[$name]=${option#*=};;
      *) log "declare_server $name: unknown $option"; exit 2;;
    esac
  done
}

port_of() { echo $((server_port[$1] + port_offset)); }

expand_name() { # a name, a family (`pgbouncer` = every pgbouncer-*) or `all` -> names
  local name
  [ "$1" != all ] || { echo "${servers[@]}"; return 0; }
  [ -z "${server_port[$1]-}" ] || { echo "$1"; return 0; }
  local family=()
  for name in "${servers[@]}"; do [ "${name%%-*}" != "$1" ] || family+=("$name"); done
  [ ${#family[@]} -gt 0 ] || { log "no server is called $1; there are: ${servers[*]}"; return 1; }
  echo "${family[@]}"
}

variable_of() { local upper=${1^^}; echo "SCHED_TEST_${upper//-/_}_URL"; }

for declaration in "$here"/servers/*.sh; do
  # shellcheck disable=SC1090
  . "$declaration"
done
