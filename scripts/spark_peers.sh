#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spark_peers.sh [spark|iceberg] - a Python environment with Spark, for tests/e2e/spark.py; or with readers of Iceberg tables, for
# tests/e2e/iceberg_engines.py.
#
# Makes build/NAME-peers from the pinned tests/e2e/requirements-NAME.txt and prints the path of its python. Exit 77: it cannot be
# had here (no PyPI, no Java), and the test says that it is skipped.
set -eu
cd "$(dirname "$0")/.."

name=${1:-spark}
wanted=tests/e2e/requirements-$name.txt
[ -e "$wanted" ] || {
    echo "spark_peers.sh: neither spark nor iceberg: $name" >&2
    exit 2
}
# With symbolic links resolved: a virtual environment keeps the path that it was made by.
venv=$(realpath -m "build/$name-peers")
command -v java >/dev/null || {
    echo "SKIPPED: Spark needs Java 17 (Debian: openjdk-17-jre-headless)" >&2
    exit 77
}
mkdir -p build
exec 9> "build/.$name-peers.lock"
flock 9
if ! cmp -s "$wanted" "$venv/requirements.txt"; then
    python3 -m venv "$venv" >&2 &&
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
            --requirement "$wanted" >&2 || {
        echo "SKIPPED: the packages of $wanted cannot be had from PyPI" >&2
        exit 77
    }
    cp "$wanted" "$venv/requirements.txt"
fi
echo "$venv/bin/python"
