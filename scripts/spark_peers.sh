#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spark_peers.sh - a Python environment with Spark, for tests/e2e/spark.py.
#
# Makes build/spark-peers from the pinned tests/e2e/requirements-spark.txt and prints the path of its python. Exit 77: it cannot be
# had here (no PyPI, no Java), and the test says that it is skipped.
set -eu
cd "$(dirname "$0")/.."

venv=$PWD/build/spark-peers
command -v java >/dev/null || {
    echo "SKIPPED: Spark needs Java 17 (Debian: openjdk-17-jre-headless)" >&2
    exit 77
}
if ! cmp -s tests/e2e/requirements-spark.txt "$venv/requirements.txt"; then
    mkdir -p build
    python3 -m venv "$venv" >&2 &&
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
            --requirement tests/e2e/requirements-spark.txt >&2 || {
        echo "SKIPPED: the packages of tests/e2e/requirements-spark.txt cannot be had from PyPI" >&2
        exit 77
    }
    cp tests/e2e/requirements-spark.txt "$venv/requirements.txt"
fi
echo "$venv/bin/python"
