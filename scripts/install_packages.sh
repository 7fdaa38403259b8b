#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install_packages.sh [SECTION…] - installs the Debian packages that are missing.
#
# SECTION: build (default) or test, as in scripts/packages.txt. Does nothing when all are
# there. What test installs starts no service. Works as root or with sudo; else it says what to run.
set -eu
cd "$(dirname "$0")/.."

wanted=$(for section in "${@:-build}"; do
    awk -v want="[$section]" '
        { sub(/#.*/, ""); gsub(/[ \t\r]/, "") }
        /^\[/ { on = ($0 == want); found = found || on; next }
        on && $0 != "" { print }
        END { if (!found) exit 1 }' scripts/packages.txt || {
        echo "install_packages.sh: scripts/packages.txt has no section [$section]" >&2
        exit 2
    }
done)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "This machine has no apt-get. These are the Debian 12 names of what is needed:" >&2
    echo "$wanted" | tr '\n' ' ' >&2
    echo >&2
    echo "Install their like, then build by hand: cmake --preset release && cmake --build --preset release" >&2
    exit 1
fi

missing=
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null; then
    as_root=sudo
else
    echo "Packages are missing, and this is neither root nor a user with sudo. As root, run:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends$missing" >&2
    exit 1
fi

apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" 9<&-
}

# Packages of servers (a broker, proxies) would start them, on ports that may be taken; tests start
# their own. Debian asks this file before it starts any service; one that is there is left alone.
policy=/usr/sbin/policy-rc.d
keep_services_down() {
    # Of two at once, the second one would take this file for one that was there, and go on without it when the first one ends.
    exec 9< "${policy%/*}"
    flock 9
    [ ! -e "$policy" ] || return 0
    trap '$as_root rm -f "$policy"' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
    $as_root chmod 755 "$policy"
}

echo "installing:$missing"
case " $* " in *" test "*) keep_services_down ;; esac
# Without lists no package is known; with old ones the files behind them may be gone.
# shellcheck disable=SC2086
if ! apt-get -s install --no-install-recommends $missing >/dev/null 2>&1; then
    apt update
fi
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing || {
    apt update
    apt install -y --no-install-recommends $missing
}
