#!/usr/bin/env bash
# down.sh [--purge] [NAME...]   stops servers that up.sh started: those named, or all of this port offset
#
# Each is ended by its recorded pid, and only while that pid still has its recorded start time.
#   --purge   removes their data too; without a name, also everything that was downloaded and unpacked
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
for part in settings process registry; do
  # shellcheck disable=SC1090
  . "$here/shell/$part.sh"
done

purge=false
named=()
for argument in "$@"; do
  case $argument in
    --purge) purge=true;;
    --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0;;
    -*) log "unknown option $argument"; exit 2;;
    *) names=$(expand_name "$argument") || exit 2; read -ra names <<<"$names"; named+=("${names[@]}");;
  esac
done
[ -d "$home" ] || exit 0
open_home || exit 1

chosen=(${named[@]+"${named[@]}"})
[ ${#chosen[@]} -gt 0 ] || chosen=("${servers[@]}")
# A proxy goes before the server it stands in front of.
for pass in dependent independent; do
  for name in "${chosen[@]}"; do
    if [ -n "${server_needs[$name]}" ]; then kind=dependent; else kind=independent; fi
    [ "$kind" = "$pass" ] || continue
    stop "$name" "${server_stop[$name]}"
    ! $purge || rm -rf "${state:?}/$name"
  done
done

if $purge && [ ${#named[@]} -eq 0 ]; then
  for other in "$home"/state*/*/pid; do
    [ ! -s "$other" ] || { log "servers of another port offset may still run ($other): the rest is kept"; exit 1; }
  done
  rm -rf "${home:?}"
fi
