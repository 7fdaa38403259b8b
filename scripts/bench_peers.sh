#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench_peers.sh - what the benchmarks put beside domaindex: redis, PostgreSQL, LMDB, RocksDB,
# sparkey, pywb, and the Python packages DuckDB, chdb and Polars.
#
# Puts what is missing into build/bench-peers, where the benchmarks look for it, and prints a line
# of each: NAME=PATH, or NAME: why it cannot be had. Registries only: Debian (redis-tools and the
# two libraries are installed where that is allowed; PostgreSQL, which would start a cluster of its
# own, is unpacked and not installed), PyPI, crates.io (the crate sparkey-sys carries the C source
# of sparkey; the checksum below covers it). What is there is taken as it is.
#
# About two minutes the first time, no time when all is there. No server is started. Exit 77:
# something cannot be had here; what could be had is there and printed.
set -eu
cd "$(dirname "$0")/.."

pywb_version=2.10.0
sparkey_version=0.1.1
sparkey_sum=89aa87d1ee2bacd0f7d9a8704589c82e1c835674d3fc7f0173010d8327e7974e

case "${1:-}" in
'') ;;
-h | --help)
    sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
    exit 0
    ;;
*)
    echo "bench_peers.sh: no argument '$1'" >&2
    exit 2
    ;;
esac

home=$PWD/build/bench-peers
missing=
mkdir -p "$home"

cannot() { # NAME WHY
    echo "$1: $2"
    echo "SKIPPED: $1: $2" >&2
    missing=yes
}

# --- Debian

installed() { # HEADER-OR-PROGRAM
    [ -e "$1" ] || command -v "$1" >/dev/null
}

if ! installed redis-benchmark || ! installed /usr/include/lmdb.h || ! installed /usr/include/rocksdb/c.h; then
    scripts/install_packages.sh peers >&2 || true
fi

# The package redis-tools has the server too: the program is one, and does what it is called.
redis() {
    if server=$(command -v redis-server); then
        echo "redis-server=$server"
    elif tool=$(command -v redis-check-rdb) && command -v redis-benchmark >/dev/null; then
        ln -sfn "$tool" "$home/redis-server"
        "$home/redis-server" --version >/dev/null
        echo "redis-server=$home/redis-server"
    else
        cannot redis "no package redis-tools"
    fi
}

postgres_bin() {
    for folder in /usr/lib/postgresql/*/bin "$home"/postgresql/usr/lib/postgresql/*/bin; do
        if [ -x "$folder/initdb" ] && "$folder/postgres" --version >/dev/null 2>&1; then
            echo "$folder"
            return
        fi
    done
    return 1
}

unpack_postgres() {
    command -v dpkg-deb >/dev/null && command -v apt-get >/dev/null || return 1
    rm -rf "$home/postgresql"
    mkdir -p "$home/postgresql"
    (cd "$home/postgresql" &&
        apt-get -q -o APT::Sandbox::User=root download postgresql-15 postgresql-client-15 >&2 &&
        for each in *.deb; do dpkg-deb --extract "$each" . && rm "$each"; done)
}

postgres() {
    postgres_bin >/dev/null || unpack_postgres || true
    if folder=$(postgres_bin) && [ -x "$folder/pgbench" ]; then
        echo "postgresql=$folder"
    else
        cannot postgresql "no package postgresql-15, or a library of it is missing"
    fi
}

library() { # NAME HEADER
    if [ -e "$2" ]; then echo "$1=$2"; else cannot "$1" "no package lib$1-dev"; fi
}

# --- crates.io

sparkey() {
    folder=$home/sparkey
    if [ -e "$folder/libsparkey.a" ] && [ -e "$folder/sparkey.h" ]; then
        echo "sparkey=$folder"
        return
    fi
    if ! command -v cargo >/dev/null; then
        cannot sparkey "no package in Debian, and without cargo no crate that has its source"
        return
    fi
    rm -rf "$folder"
    mkdir -p "$folder/crate/src"
    : >"$folder/crate/src/lib.rs"
    printf '%s\n' '[package]' 'name = "peers"' 'version = "0.0.0"' 'edition = "2021"' \
        '[dependencies]' "sparkey-sys = \"=$sparkey_version\"" '[workspace]' >"$folder/crate/Cargo.toml"
    if ! (cd "$folder/crate" && timeout 200 cargo vendor -q ../source >/dev/null 2>&1); then
        cannot sparkey "the crate sparkey-sys $sparkey_version cannot be had from crates.io"
        return
    fi
    if ! grep -q "checksum = \"$sparkey_sum\"" "$folder/crate/Cargo.lock"; then
        cannot sparkey "sparkey-sys $sparkey_version is not what it was: another checksum"
        return
    fi
    source=$folder/source/sparkey-sys/sparkey/src
    for each in MurmurHash3 buf endiantools hashalgorithms hashheader hashiter hashreader \
        hashwriter logheader logreader logwriter returncodes util; do
        "${CC:-cc}" -std=gnu99 -O2 -fPIC -w -c "$source/$each.c" -o "$folder/$each.o" || {
            cannot sparkey "it does not compile (libsnappy-dev?)"
            return
        }
    done
    ar rcs "$folder/libsparkey.a" "$folder"/*.o
    cp "$source/sparkey.h" "$folder/"
    rm -rf "$folder"/*.o "$folder/crate"
    echo "sparkey=$folder"
}

# --- PyPI

pywb() {
    if [ ! -x "$home/pywb/bin/wayback" ] || [ "$(cat "$home/pywb/version" 2>/dev/null)" != "$pywb_version" ]; then
        rm -rf "$home/pywb"
        python3 -m venv "$home/pywb" >&2 &&
            timeout 250 "$home/pywb/bin/python" -m pip install --quiet --disable-pip-version-check \
                "pywb==$pywb_version" >&2 && echo "$pywb_version" >"$home/pywb/version" || {
            cannot pywb "pywb $pywb_version cannot be had from PyPI, or there is no python3-venv"
            return
        }
    fi
    echo "pywb=$home/pywb/bin/wayback"
}

python_peers() {
    if python=$(scripts/peers.sh); then
        echo "python=$python"
    else
        cannot python "the packages of tests/e2e/requirements.txt cannot be had"
    fi
}

redis
postgres
library lmdb /usr/include/lmdb.h
library rocksdb /usr/include/rocksdb/c.h
sparkey
pywb
python_peers
[ -z "$missing" ] || exit 77
