#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fresh_debian.sh [--user] [--keep] [COMMAND…] - README's commands on a Debian 12 that has nothing.
#
# Makes a Debian 12 root with debootstrap (variant minbase), clones the committed tree into it
# and runs there what a newcomer runs: `scripts/quickstart.sh --no-serve`, a second time to see
# that it can be repeated, then `scripts/test.sh`. COMMAND… replaces these. Needs root,
# debootstrap and about 4 GB below DX_FRESH_DIR (default /var/tmp/domaindex-fresh). The first
# run keeps the bare root as `base` for the next ones. Not part of CI.
#
#   --user   as a user with sudo instead of as root
#   --keep   leave the used root behind, to look around
#
# Only the network is shared with this machine: certificates that this machine trusts in
# addition (/usr/local/share/ca-certificates) and proxy variables are handed on.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=${DX_FRESH_DIR:-/var/tmp/domaindex-fresh}
mirror=${DX_FRESH_MIRROR:-http://deb.debian.org/debian}
as_user= keep=
while [ $# -gt 0 ]; do
    case $1 in
    --user) as_user=1 ;;
    --keep) keep=1 ;;
    -h | --help)
        sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
        exit 0
        ;;
    *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || set -- 'scripts/quickstart.sh --no-serve' 'scripts/quickstart.sh --no-serve' 'scripts/test.sh'

[ "$(id -u)" -eq 0 ] || { echo "fresh_debian.sh: needs root (chroot, debootstrap)" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "fresh_debian.sh: apt-get install debootstrap" >&2; exit 1; }

# Mounts live in a mount namespace of our own and processes in a PID namespace: both are gone
# with this script, however it ends.
if [ -z "${DX_FRESH_INSIDE:-}" ]; then
    flags=()
    [ -z "$as_user" ] || flags+=(--user)
    [ -z "$keep" ] || flags+=(--keep)
    DX_FRESH_INSIDE=1 exec unshare --mount --pid --fork --kill-child --propagation private \
        "$PWD/scripts/fresh_debian.sh" "${flags[@]}" "$@"
fi

mkdir -p "$dir"
if [ ! -e "$dir/base/etc/debian_version" ]; then
    rm -rf "$dir/base" "$dir/base.tmp"
    debootstrap --variant=minbase bookworm "$dir/base.tmp" "$mirror"
    mv "$dir/base.tmp" "$dir/base"
fi

root=$(mktemp -d "$dir/run-XXXXXX")
cleanup() {
    if [ -n "$keep" ]; then
        echo "kept: $root"
    else
        rm -rf --one-file-system "$root"
    fi
}
cp -a "$dir/base/." "$root/"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys" || true
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    : >"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
mkdir -m 1777 "$root/dev/shm"
trap 'umount -R "$root/dev" "$root/sys" "$root/proc" 2>/dev/null || true; cleanup' EXIT

cp -L /etc/resolv.conf "$root/etc/resolv.conf"
[ ! -e /etc/hosts ] || cp -L /etc/hosts "$root/etc/hosts"
if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
    mkdir -p "$root/usr/local/share/ca-certificates"
    cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
fi
printf 'deb %s bookworm main\n' "$mirror" >"$root/etc/apt/sources.list"

git clone -q --no-local "$PWD" "$root/tmp/domaindex"
echo "tree: $(git -C "$root/tmp/domaindex" log -1 --format='%h %s')"

keep_env=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb)
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_CERT \
    PIP_INDEX_URL PIP_DEFAULT_TIMEOUT FUZZ_SECONDS; do
    [ -z "${!name:-}" ] || keep_env+=("$name=${!name}")
done

if [ -n "$as_user" ]; then
    chroot "$root" env -i "${keep_env[@]}" DEBIAN_FRONTEND=noninteractive sh -eu -c '
        apt-get -qq update
        apt-get -qq install -y --no-install-recommends sudo >/dev/null
        useradd -m -s /bin/bash newcomer
        echo "newcomer ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/newcomer
        mv /tmp/domaindex /home/newcomer/domaindex
        chown -R newcomer: /home/newcomer/domaindex
        rm -rf /var/lib/apt/lists/*'
    home=/home/newcomer user=newcomer
else
    mv "$root/tmp/domaindex" "$root/root/domaindex"
    home=/root user=root
fi

failed=0
for command in "$@"; do
    echo "=== fresh Debian 12, $user: $command"
    begin=$SECONDS
    if chroot --userspec="$user" "$root" env -i "${keep_env[@]}" HOME="$home" USER="$user" \
        bash -c "cd $home/domaindex && $command"; then
        echo "=== passed in $((SECONDS - begin)) s: $command"
    else
        echo "=== FAILED ($?) after $((SECONDS - begin)) s: $command"
        failed=1
    fi
done
exit $failed
