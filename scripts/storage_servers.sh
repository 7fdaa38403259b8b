#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# storage_servers.sh [gate] - the servers that tests of object storage read from: nginx, versitygw, MinIO.
#
# gate: without MinIO, whose build takes the longest; the gate tries one S3 server.
#
# Puts what is missing into build/storage-servers/bin, where the tests look for it, and prints
#   DX_NGINX=PATH
#   DX_VERSITYGW=PATH
#   DX_MINIO=PATH
#   DX_PROMTOOL=PATH      not a server: it tries the alert rules
#   DX_PROMETHEUS=PATH    watches the fleet of packaging/fleet
# A program that one of these variables names, or an nginx, promtool or prometheus that is installed, is taken as it is.
# Those of Debian are unpacked, not installed: nothing is started and nothing is changed outside
# build/. The other two are built from source at pinned versions from the Go module proxy (GOPROXY),
# by the machine's Go if it is new enough, else by one from the same proxy. Every byte hangs on the
# sums below: they cover the go.sum of each program, and that covers what it is built from.
#
# Takes a few minutes the first time (about 250 MB to fetch, 3 GB of room while it builds), half of that for the gate, no time
# when all is there. Exit 77: something cannot be had here, and the tests that need it are to be
# reported as skipped; what could be had is there and printed.
set -eu
cd "$(dirname "$0")/.."

versitygw_module=github.com/versity/versitygw
versitygw_version=v1.8.0
versitygw_sum=h1:au+wI+aybno/STsQiSm35Uu6Q6iK5MWReQxgO6SEMFc=
minio_module=github.com/minio/minio
minio_version=v0.0.0-20260212201848-7aac2a2c5b7c
minio_sum=h1:/qdoYujxF5MBLDMVLeiYJ/7fBa1HikX39Dvzb9Ji8pA=
go_version=1.26.8
go_minor_min=25 # of 1.25, which versitygw asks for
go_sum_amd64=h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=
go_sum_arm64=h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc=

go_flags=
case "${1:-}" in
'') ;;
gate) go_flags='all=-N -l' ;; # not optimised, in two thirds of the time
-h | --help)
    sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
    exit 0
    ;;
*)
    echo "storage_servers.sh: no argument '$1'" >&2
    exit 2
    ;;
esac

home=$PWD/build/storage-servers
work=$home/work
mkdir -p "$home/bin"
exec 9> build/.storage-servers.lock
flock 9
missing=

cannot() { # WORDS
    echo "SKIPPED: $*" >&2
    missing=yes
}

cleanup() {
    # Go makes its module cache read-only.
    [ ! -d "$work" ] || chmod -R u+w "$work" 2>/dev/null || true
    rm -rf "$work"
}

# --- of Debian: nginx, promtool, prometheus

# Prints the first of the programs that runs.
find_program() { # OPTION PROGRAM...
    option=$1
    shift
    for program; do
        if [ -n "$program" ] && [ -x "$program" ] && "$program" "$option" >/dev/null 2>&1; then
            echo "$program"
            return
        fi
    done
}

find_nginx() {
    find_program -v "${DX_NGINX:-}" "$(command -v nginx || true)" /usr/sbin/nginx "$home/bin/nginx"
}

find_promtool() {
    find_program --version "${DX_PROMTOOL:-}" "$(command -v promtool || true)" "$home/bin/promtool"
}

find_prometheus() {
    find_program --version "${DX_PROMETHEUS:-}" "$(command -v prometheus || true)" "$home/bin/prometheus"
}

unpack() { # PACKAGE PROGRAM OPTION
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    mkdir -p "$work/deb"
    # Twice: without lists apt knows none, with old ones its file may be gone.
    for again in no yes; do
        if [ $again = yes ]; then
            if [ "$(id -u)" -eq 0 ]; then as_root=; else as_root="sudo -n"; fi
            $as_root apt-get -q update >&2 || return 1
        fi
        if (cd "$work/deb" && apt-get -q -o APT::Sandbox::User=root download "$1" >&2); then
            break
        fi
    done
    dpkg-deb --extract "$work/deb/$1"_*.deb "$work/deb" || return 1
    cp "$work/deb/$2" "$home/bin/unpacked.new"
    "$home/bin/unpacked.new" "$3" >&2 || return 1 # a library is missing
    mv "$home/bin/unpacked.new" "$home/bin/${2##*/}"
}

# --- Go

arch() {
    case $(uname -m) in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) return 1 ;;
    esac
}

# The first of GOPROXY that is an address.
proxy() {
    printf '%s\n' "${GOPROXY:-https://proxy.golang.org}" | tr ',|' '\n\n' | grep -m 1 '^http' ||
        echo https://proxy.golang.org
}

# Unpacks a module's zip into a folder if its sum (as go.sum has it) is the one wanted.
unpack_module() { # ZIP SUM FOLDER
    python3 - "$@" <<'PYTHON'
import base64, hashlib, os, sys, zipfile
name, want, folder = sys.argv[1:]
with zipfile.ZipFile(name) as archive:
    names = sorted(archive.namelist())
    lines = "".join(f"{hashlib.sha256(archive.read(n)).hexdigest()}  {n}\n" for n in names)
    got = "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()
    if got != want:
        sys.exit(f"{name}: its sum is {got}, to be {want}")
    for n in names:
        path = os.path.join(folder, n.split("@", 1)[1].split("/", 1)[1])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(archive.read(n))
        if "/bin/" in n or "/pkg/tool/" in n:
            os.chmod(path, 0o755)
PYTHON
}

fetch_module() { # MODULE VERSION SUM FOLDER
    curl -fsSL --retry 3 --connect-timeout 20 --max-time 900 -o "$work/module.zip" \
        "$(proxy)/$1/@v/$2.zip" && unpack_module "$work/module.zip" "$3" "$4" >&2
}

# Sets `go` to a Go that is new enough.
find_go() {
    go=$(command -v go || true)
    if [ -n "$go" ]; then
        minor=$(GOTOOLCHAIN=local "$go" env GOVERSION | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
        [ "${minor:-0}" -lt "$go_minor_min" ] || return 0
    fi
    go=$work/go/bin/go
    [ ! -x "$go" ] || return 0
    machine=$(arch) || return 1
    echo "fetching Go $go_version" >&2
    eval "sum=\$go_sum_$machine"
    fetch_module golang.org/toolchain "v0.0.1-go$go_version.linux-$machine" "$sum" "$work/go"
}

build() { # NAME MODULE VERSION SUM PACKAGE
    find_go || return 1
    echo "building $1 $3" >&2
    fetch_module "$2" "$3" "$4" "$work/$1" || return 1
    # The sum of the module covers its go.sum; so the sum database of Go has nothing to add.
    (cd "$work/$1" && env -u GOROOT GOENV=off GOFLAGS=-mod=readonly GOSUMDB=off GOTOOLCHAIN=local \
        CGO_ENABLED=0 GOPROXY="${GOPROXY:-https://proxy.golang.org}" GOMODCACHE="$work/mod" \
        GOCACHE="$work/cache" GOWORK=off \
        "$go" build -trimpath -buildvcs=false -gcflags="$go_flags" -ldflags='-s -w' -o "$home/bin/$1.new" "$5") >&2 ||
        return 1
    mv "$home/bin/$1.new" "$home/bin/$1"
    echo "$2 $3" >"$home/bin/$1.version"
}

# Builds a program unless it is there in this version; prints where it is.
provide() { # VARIABLE NAME MODULE VERSION SUM PACKAGE
    eval "given=\${$1:-}"
    if [ -n "$given" ]; then
        echo "$1=$given"
        return
    fi
    if [ ! -x "$home/bin/$2" ] || [ "$(cat "$home/bin/$2.version" 2>/dev/null)" != "$3 $4" ]; then
        mkdir -p "$work"
        if ! build "$2" "$3" "$4" "$5" "$6"; then
            cannot "$2 cannot be built: $3 $4 and what it needs are to come from $(proxy)"
            return
        fi
    fi
    echo "$1=$home/bin/$2"
}

trap cleanup EXIT
cleanup

nginx=$(find_nginx)
if [ -z "$nginx" ]; then
    mkdir -p "$work"
    unpack nginx usr/sbin/nginx -v || true
    nginx=$(find_nginx)
fi
if [ -n "$nginx" ]; then echo "DX_NGINX=$nginx"; else cannot "no nginx, and no Debian package of it"; fi
promtool=$(find_promtool)
if [ -z "$promtool" ]; then
    mkdir -p "$work"
    unpack prometheus usr/bin/promtool --version || true
    promtool=$(find_promtool)
fi
if [ -n "$promtool" ]; then echo "DX_PROMTOOL=$promtool"; else cannot "no promtool, and no Debian package of it"; fi
prometheus=$(find_prometheus)
if [ -z "$prometheus" ]; then
    mkdir -p "$work"
    unpack prometheus usr/bin/prometheus --version || true
    prometheus=$(find_prometheus)
fi
if [ -n "$prometheus" ]; then echo "DX_PROMETHEUS=$prometheus"; else cannot "no prometheus, and no Debian package of it"; fi
provide DX_VERSITYGW versitygw "$versitygw_module" "$versitygw_version" "$versitygw_sum" ./cmd/versitygw
[ "${1:-}" = gate ] || provide DX_MINIO minio "$minio_module" "$minio_version" "$minio_sum" .
[ -z "$missing" ] || exit 77
