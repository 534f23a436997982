# shellcheck shell=bash
# Where everything lives, and the small things every part needs. Sourced by up.sh and down.sh.

# SCHED_DATABASES_HOME   unpacked suites, templates and state; a folder in the temp folder unless told otherwise
# SCHED_DATABASES_PORT_OFFSET   shifts every port; each offset has its own state and shares the unpacked suites
home=${SCHED_DATABASES_HOME:-${TMPDIR:-/tmp}/sched-databases}
port_offset=${SCHED_DATABASES_PORT_OFFSET:-0}
server_uid=65534        # `nobody`, which exists everywhere: the servers refuse to run as root
server_password=sched-test-only   # servers listen on loopback alone; a password is there so that tests can get it wrong

log() { echo "databases: $*" >&2; }
milliseconds() { local ns; ns=$(date +%s%N); echo $((ns / 1000000)); }

open_home() { # creates the folder on the first call, and takes the lock: one script at a time
  umask 022
  mkdir -p "$home" || return 1
  home=$(cd "$home" && pwd -P) || return 1
  # Programs in it are run as root, and the temp folder is everybody's.
  [ -O "$home" ] || { log "$home belongs to another user: set SCHED_DATABASES_HOME"; return 1; }
  state=$home/state
  [ "$port_offset" = 0 ] || state=$home/state-$port_offset
  mkdir -p "$home"/{apt,root,template} "$state"
  exec 8>"$home/lock"
  flock 8
}
