#!/bin/sh
# enter-root.sh ROOT STATE COMMAND [ARGS]: runs COMMAND as `nobody` inside the unpacked suite ROOT.
# STATE, a folder of the host, is visible inside under its own path. The mounts are private to the process and vanish
# with it. Every step is an exec, so the pid that started this script is in the end COMMAND's own: signals and waits hit the server.
set -eu
if [ "${1:-}" != --inside ]; then
  exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 TZ=UTC \
    unshare --mount --propagation private sh "$0" --inside "$@"
fi
root=$2 state=$3
shift 3
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
mount -t proc proc "$root/proc"
mkdir -p "$root$state" # after the mounts: it may be in /dev/shm
mount --bind "$state" "$root$state"
exec chroot --userspec=65534:65534 "$root" "$@"
