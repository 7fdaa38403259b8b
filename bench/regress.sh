#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# regress.sh [BASE [OPTION...]]: this tree beside another revision of it, in ten minutes; fails where it is slower or larger by more than its band.
#
# BASE: any name of a commit; default the last tag, without one the newest revision that bench/results/regress/ knows. Its programs are built from git below
# build/regress/, once. OPTIONs are those of bench/regress.py, which measures: --quick, --write, --page.
set -eu
cd "$(dirname "$0")/.."
base=${1:-$(git describe --tags --abbrev=0 2>/dev/null || python3 bench/regress.py --newest)}
[ $# -eq 0 ] || shift
base=$(git rev-parse --verify --short=12 "$base^{commit}")
folder=build/regress/$base
if [ ! -x "$folder/build/domaindexd" ] || [ ! -x "$folder/build/domaindex" ]; then
    mkdir -p "$folder/source"
    git archive "$base" | tar -x -C "$folder/source"
    CCACHE_BASEDIR=$PWD/$folder/source CCACHE_NOHASHDIR=1
    export CCACHE_BASEDIR CCACHE_NOHASHDIR
    cmake -S "$folder/source" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DDX_TESTS=OFF -DDX_BENCH=OFF >"$folder/log"
    cmake --build "$folder/build" --target domaindex domaindexd >>"$folder/log" 2>&1 || {
        tail -30 "$folder/log"
        exit 1
    }
fi
exec python3 bench/regress.py --base "$base" --beside "$folder/build" "$@"
