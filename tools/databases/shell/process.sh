# shellcheck shell=bash
# Server processes by pid. A pid counts only together with its start time, so that a pid the system has given to
# another program is never signalled.

start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

alive() { # server
  local pid started
  [ -s "$state/$1/pid" ] || return 1
  read -r pid started <"$state/$1/pid"
  [ -n "${started:-}" ] && [ "$(start_time "$pid")" = "$started" ] && ! grep -q '^State:.Z' "/proc/$pid/status"
}

thaw() { # server: a test that died may have left it stopped
  local pid
  read -r pid _ <"$state/$1/pid"
  # shellcheck disable=SC2046
  kill -CONT "$pid" $(pgrep -P "$pid") 2>/dev/null || true
}

inside() { # suite server command...: in the foreground
  local suite=$1 server=$2; shift 2
  "$here/shell/enter-root.sh" "$home/root/$suite" "$state/$server" "$@" 8>&-
}

launch() { # suite server command...: detached; the pid recorded is the server's own
  local suite=$1 server=$2 folder=$state/$2 pid i; shift 2
  rm -f "$folder/pid"
  # shellcheck disable=SC2016
  setsid sh -c 'echo $$ >"$1.new" && mv "$1.new" "$1"; shift; exec "$@"' sh "$folder/pid" \
    "$here/shell/enter-root.sh" "$home/root/$suite" "$folder" "$@" </dev/null >>"$folder/log" 2>&1 8>&- &
  disown
  for i in $(seq 100); do [ ! -s "$folder/pid" ] || break; sleep 0.02; done
  pid=$(cat "$folder/pid") || return 1
  echo "$pid $(start_time "$pid")" >"$folder/pid"
}

wait_until() { # server seconds command...: until the command succeeds; the end of the log when it does not
  local server=$1 seconds=$2 i; shift 2
  for i in $(seq $((seconds * 20))); do
    "$@" >/dev/null 2>&1 && return 0
    alive "$server" || { log "$server ended:"; tail -n 8 "$state/$server/log" >&2; return 1; }
    sleep 0.05
  done
  log "$server is not ready after $seconds s:"
  tail -n 8 "$state/$server/log" >&2
  return 1
}

accepts() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

stop() { # server signal
  local server=$1 signal=$2 pid i
  if alive "$server"; then
    read -r pid _ <"$state/$server/pid"
    thaw "$server"
    kill "-$signal" "$pid"
    for i in $(seq 300); do alive "$server" || break; sleep 0.05; done
    if alive "$server"; then
      log "$server did not end within 15 s of $signal: killed"
      kill -KILL "$pid"
      for i in $(seq 100); do alive "$server" || break; sleep 0.05; done
    fi
    log "$server stopped"
  fi
  rm -f "$state/$server/pid" "$state/$server/url"
}
