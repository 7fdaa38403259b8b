#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# peers.sh - a Python environment with the programs that check ours (DuckDB, pyarrow, …).
#
# Makes build/peers from the pinned tests/e2e/requirements.txt and prints the path of its
# python. DX_PEERS_PYTHON names one that is there already. Exit 77: it cannot be had here
# (no PyPI), and the tests that need it are to be reported as skipped.
set -eu
cd "$(dirname "$0")/.."

if [ -n "${DX_PEERS_PYTHON:-}" ]; then
    echo "$DX_PEERS_PYTHON"
    exit 0
fi
venv=$PWD/build/peers
stamp=$venv/requirements.txt
mkdir -p build
exec 9> build/.peers.lock
flock 9
if ! cmp -s tests/e2e/requirements.txt "$stamp"; then
    python3 -m venv "$venv" >&2 || {
        echo "SKIPPED: python3 -m venv failed (Debian: python3-venv)" >&2
        exit 77
    }
    # With hashes, for the Python that scripts/lock_peers.py wrote them with; else by version alone.
    what="--requirement tests/e2e/requirements.txt"
    if [ "$("$venv/bin/python" -c 'import platform as p; print(p.python_implementation(), p.python_version_tuple()[:2], p.machine())')" = "CPython ('3', '11') x86_64" ]; then
        what="--require-hashes --requirement tests/e2e/requirements.lock"
    fi
    # shellcheck disable=SC2086
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check $what >&2 || {
        echo "SKIPPED: the packages of tests/e2e/requirements.txt cannot be had from PyPI" >&2
        exit 77
    }
    cp tests/e2e/requirements.txt "$stamp"
fi
echo "$venv/bin/python"
