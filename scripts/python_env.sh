#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python_env.sh FOLDER LIST [LIST…] - a Python environment in build/FOLDER with the packages of tests/e2e/LIST.txt.
#
# The first list is installed; the others are those that it takes in by -r. Nothing is done where build/FOLDER has these lists as they
# are now. With the hashes of tests/e2e/LIST.lock, for the Python that scripts/lock_peers.py wrote them with; else by version alone.
# Nothing is compiled but by its first import. Prints the path of the environment's python. Exit 77: it cannot be had here (no PyPI), and
# the tests that need it are to be reported as skipped.
set -eu
cd "$(dirname "$0")/.."

folder=$1 list=$2
shift
# With symbolic links resolved: a virtual environment keeps the path that it was made by.
venv=$(realpath -m "build/$folder")
mkdir -p build
exec 9> "build/.$folder.lock"
flock 9

has_all() { # LIST…
    for one; do
        cmp -s "tests/e2e/$one.txt" "$venv/$one.txt" || return 1
    done
}

if ! has_all "$@"; then
    python3 -m venv "$venv" >&2 || {
        echo "SKIPPED: python3 -m venv failed (Debian: python3-venv)" >&2
        exit 77
    }
    what="--requirement tests/e2e/$list.txt"
    if [ -e "tests/e2e/$list.lock" ] &&
        [ "$("$venv/bin/python" -c 'import platform as p; print(p.python_implementation(), p.python_version_tuple()[:2], p.machine())')" = "CPython ('3', '11') x86_64" ]; then
        what="--require-hashes --requirement tests/e2e/$list.lock"
    fi
    # shellcheck disable=SC2086
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile $what >&2 || {
        echo "SKIPPED: the packages of tests/e2e/$list.txt cannot be had from PyPI" >&2
        exit 77
    }
    rm -f "$venv"/requirements*.txt
    for one; do
        cp "tests/e2e/$one.txt" "$venv"
    done
fi
echo "$venv/bin/python"
