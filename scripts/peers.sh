#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# peers.sh [gate] - a Python environment with the programs that check ours (DuckDB, pyarrow, …).
#
# gate: without those that only `scripts/test.sh long` needs (chdb, generators of clients), which are half of the bytes.
#
# Makes build/peers from the pinned tests/e2e/requirements.txt (gate: requirements-gate.txt) and prints the path of its
# python. DX_PEERS_PYTHON names one that is there already. Exit 77: it cannot be had here (no PyPI), and the tests that
# need it are to be reported as skipped.
set -eu
cd "$(dirname "$0")/.."

case "${1:-}" in
'') name=requirements ;;
gate) name=requirements-gate ;;
*)
    echo "peers.sh: no argument '$1'" >&2
    exit 2
    ;;
esac
if [ -n "${DX_PEERS_PYTHON:-}" ]; then
    echo "$DX_PEERS_PYTHON"
    exit 0
fi
venv=$PWD/build/peers
mkdir -p build
exec 9> build/.peers.lock
flock 9

is_there() { # NAME
    cmp -s "tests/e2e/$1.txt" "$venv/$1.txt"
}

if ! is_there requirements-gate || ! is_there "$name"; then
    python3 -m venv "$venv" >&2 || {
        echo "SKIPPED: python3 -m venv failed (Debian: python3-venv)" >&2
        exit 77
    }
    # With hashes, for the Python that scripts/lock_peers.py wrote them with; else by version alone.
    what="--requirement tests/e2e/$name.txt"
    if [ "$("$venv/bin/python" -c 'import platform as p; print(p.python_implementation(), p.python_version_tuple()[:2], p.machine())')" = "CPython ('3', '11') x86_64" ]; then
        what="--require-hashes --requirement tests/e2e/$name.lock"
    fi
    # shellcheck disable=SC2086
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile $what >&2 || {
        echo "SKIPPED: the packages of tests/e2e/$name.txt cannot be had from PyPI" >&2
        exit 77
    }
    # Compiled is what is imported: all of it takes as long as the rest.
    "$venv/bin/python" -c 'import duckdb, fastavro, mypy.main, pandas, polars, pyarrow.dataset, pyarrow.parquet, pyiceberg.table, warcio'
    rm -f "$venv"/requirements*.txt
    cp tests/e2e/requirements-gate.txt "tests/e2e/$name.txt" "$venv"
fi
echo "$venv/bin/python"
