#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# peers.sh [gate] - a Python environment with the programs that check ours (DuckDB, pyarrow, …).
#
# gate: without those that only `scripts/test.sh long` needs (chdb, generators of clients), which are half of the bytes.
#
# Makes build/peers from the pinned tests/e2e/requirements.txt (gate: requirements-gate.txt) and prints the path of its
# python, as scripts/python_env.sh does. DX_PEERS_PYTHON names one that is there already.
set -eu
cd "$(dirname "$0")/.."

case "${1:-}" in
'') lists="requirements requirements-gate" ;;
gate) lists=requirements-gate ;;
*)
    echo "peers.sh: no argument '$1'" >&2
    exit 2
    ;;
esac
if [ -n "${DX_PEERS_PYTHON:-}" ]; then
    echo "$DX_PEERS_PYTHON"
    exit 0
fi
# shellcheck disable=SC2086
python=$(scripts/python_env.sh peers $lists)
imported=${python%/bin/python}/imported
if [ ! -e "$imported" ]; then # compiled once, and not by the first tests, of which many are at work at once
    "$python" -c 'import duckdb, fastavro, mypy.main, pandas, polars, pyarrow.dataset, pyarrow.parquet, pyiceberg.table, warcio'
    touch "$imported"
fi
echo "$python"
