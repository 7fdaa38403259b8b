#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cdx_clients.sh - a Python environment with clients of CDX servers (pywb, cdx_toolkit, wayback, waybackpy).
#
# Makes build/cdx-clients from the pinned tests/e2e/requirements-cdx.txt and prints the path of its python.
# DX_CDX_PYTHON names one that is there already. Exit 77: it cannot be had here (no PyPI), and the tests that need it are to be
# reported as skipped.
set -eu
cd "$(dirname "$0")/.."

if [ -n "${DX_CDX_PYTHON:-}" ]; then
    echo "$DX_CDX_PYTHON"
    exit 0
fi
venv=$PWD/build/cdx-clients
stamp=$venv/requirements-cdx.txt
mkdir -p build
exec 9> build/.cdx-clients.lock
flock 9
if ! cmp -s tests/e2e/requirements-cdx.txt "$stamp"; then
    python3 -m venv "$venv" >&2 || {
        echo "SKIPPED: python3 -m venv failed (Debian: python3-venv)" >&2
        exit 77
    }
    # With hashes, for the Python that scripts/lock_peers.py wrote them with; else by version alone.
    what="--requirement tests/e2e/requirements-cdx.txt"
    if [ "$("$venv/bin/python" -c 'import platform as p; print(p.python_implementation(), p.python_version_tuple()[:2], p.machine())')" = "CPython ('3', '11') x86_64" ]; then
        what="--require-hashes --requirement tests/e2e/requirements-cdx.lock"
    fi
    # shellcheck disable=SC2086
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check $what >&2 || {
        echo "SKIPPED: the packages of tests/e2e/requirements-cdx.txt cannot be had from PyPI" >&2
        exit 77
    }
    cp tests/e2e/requirements-cdx.txt "$stamp"
fi
echo "$venv/bin/python"
