#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spark_peers.sh [spark|iceberg] - a Python environment with Spark, for tests/e2e/spark.py; or with readers of Iceberg tables, for
# tests/e2e/iceberg_engines.py.
#
# Makes build/NAME-peers from the pinned tests/e2e/requirements-NAME.txt and prints the path of its python, as scripts/python_env.sh
# does. Exit 77 also without Java.
set -eu
cd "$(dirname "$0")/.."

name=${1:-spark}
[ -e "tests/e2e/requirements-$name.txt" ] || {
    echo "spark_peers.sh: neither spark nor iceberg: $name" >&2
    exit 2
}
command -v java >/dev/null || {
    echo "SKIPPED: Spark needs Java 17 (Debian: openjdk-17-jre-headless)" >&2
    exit 77
}
exec scripts/python_env.sh "$name-peers" "requirements-$name"
