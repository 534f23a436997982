#!/usr/bin/env bash
# up.sh [--env] [--fresh] [--prepare-only] NAME...   real database servers on loopback, with nothing installed on the host
#
#   NAME             postgres, postgres-oldest, pgbouncer-session …; a family (`pgbouncer`), or `all`; `list` shows the names
#   --env            prints `export SCHED_TEST_<NAME>_URL='…'` lines, for `eval` or `source`; what failed as a comment
#   --fresh          empties the servers' data first
#   --prepare-only   downloads, unpacks and makes templates, starts nothing
#
# Debian, as root. Idempotent: a live server is left alone, a dead one is started again on its old data. Exit code 1 when any
# server is missing at the end; the others are up all the same. Settings: shell/settings.sh. The counterpart is down.sh.
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
for part in settings process debian-root registry; do
  # shellcheck disable=SC1090
  . "$here/shell/$part.sh"
done

as_env=false fresh=false prepare_only=false
requested=()
for argument in "$@"; do
  case $argument in
    --env) as_env=true;;
    --fresh) fresh=true;;
    --prepare-only) prepare_only=true;;
    --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0;;
    -*) log "unknown option $argument"; exit 2;;
    list) printf '%s\n' "${servers[@]}"; exit 0;;
    *) names=$(expand_name "$argument") || exit 2; read -ra names <<<"$names"; requested+=("${names[@]}");;
  esac
done
[ ${#requested[@]} -gt 0 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { log "needs root"; exit 1; }
for tool in apt-get dpkg-deb unshare setsid flock pgrep; do
  command -v "$tool" >/dev/null || { log "needs $tool, which this machine does not have"; exit 1; }
done
open_home || exit 1

# What each server needs comes before it.
wanted=()
want() { case " ${wanted[*]-} " in *" $1 "*) ;; *) wanted+=("$1");; esac; }
for name in "${requested[@]}"; do
  for needed in ${server_needs[$name]}; do want "$needed"; done
  want "$name"
done

running() { alive "$1" && [ -s "$state/$1/url" ] && ! $fresh; }

# ---- packages: each suite once, suites side by side ----
declare -A packages=() suite_of=() failure=()
prepare_suites() { # attempt: every server still without a suite tries its attempt-th choice
  local attempt=$1 name suite job; local -a choices jobs=()
  packages=()
  for name in "${wanted[@]}"; do
    [ -z "${suite_of[$name]-}" ] || continue
    read -ra choices <<<"${server_suites[$name]}"
    suite=${choices[$attempt]-}
    [ -z "$suite" ] || packages[$suite]+=" ${server_packages[$name]}"
  done
  for suite in "${!packages[@]}"; do
    # shellcheck disable=SC2046
    prepare_root "$suite" $(tr ' ' '\n' <<<"${packages[$suite]}" | sort -u) >&2 & jobs+=("$suite:$!")
  done
  for job in ${jobs[@]+"${jobs[@]}"}; do
    wait "${job#*:}" || log "suite ${job%:*} could not be prepared"
  done
  for name in "${wanted[@]}"; do
    [ -z "${suite_of[$name]-}" ] || continue
    read -ra choices <<<"${server_suites[$name]}"
    suite=${choices[$attempt]-}
    # shellcheck disable=SC2086
    [ -z "$suite" ] || ! root_has "$suite" ${server_packages[$name]} || suite_of[$name]=$suite
  done
}
for attempt in 0 1; do prepare_suites "$attempt"; done

# ---- servers, in order ----
start_server() { # name
  local name=$1 suite=${suite_of[$1]-} needed folder=$state/$1 began
  [ -n "$suite" ] || { failure[$name]="its packages could not be prepared (${server_suites[$name]})"; return 1; }
  for needed in ${server_needs[$name]}; do
    [ -z "${failure[$needed]-}" ] || { failure[$name]="$needed, which it needs, failed"; return 1; }
  done
  if running "$name"; then
    $prepare_only || thaw "$name"
    return 0
  fi
  began=$(milliseconds)
  if $fresh && ! $prepare_only; then stop "$name" "${server_stop[$name]}"; rm -rf "$folder"; fi
  mkdir -p "$folder"
  chown "$server_uid:$server_uid" "$folder"
  if [ -n "${server_prepare[$name]}" ]; then
    ${server_prepare[$name]} "$name" "$suite" || { failure[$name]="it could not be prepared; see $folder"; return 1; }
  fi
  ! $prepare_only || return 0
  rm -f "$folder/url"
  : >"$folder/log"
  ${server_start[$name]} "$name" "$suite" "$(port_of "$name")" || { failure[$name]="it did not start; its log is in $folder"; return 1; }
  log "$name up ($(($(milliseconds) - began)) ms)"
}

exit_code=0
for name in "${wanted[@]}"; do
  if start_server "$name"; then
    $prepare_only && continue
    if $as_env; then echo "export $(variable_of "$name")='$(cat "$state/$name/url")'"
    else printf '%-22s port %s\n' "$name" "$(port_of "$name")"; fi
  else
    exit_code=1
    log "FAILED $name: ${failure[$name]}"
    ! $as_env || echo "# FAILED $name: ${failure[$name]}"
  fi
done
exit $exit_code
