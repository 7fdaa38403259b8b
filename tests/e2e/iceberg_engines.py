#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""The Iceberg tables beside the lake, read by DuckDB's extension and by Spark with Iceberg's runtime (from Maven Central): the rows and counts that the
model has, in the current snapshot and in that of the version before, after a removal and suppressions. It needs `scripts/spark_peers.sh iceberg`.
"""
import collections
import importlib
import os
import sys

import dxtest
from dxtest import check, equal

PYTHON = dxtest.SOURCE / "build" / "iceberg-peers" / "bin" / "python"
RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"


def with_spark(world, iceberg, versions, current):
    from pyspark.sql import SparkSession
    spark = (SparkSession.builder.master("local[1]").config("spark.jars.packages", RUNTIME).config("spark.ui.enabled", "false")
             .config("spark.jars.ivy", str(world.tmp / "ivy")).config("spark.sql.session.timeZone", "UTC")
             .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
             .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog").config("spark.sql.catalog.lake.type", "hadoop")
             .config("spark.sql.catalog.lake.warehouse", str(world.root)).getOrCreate())
    names = world.names()
    for version in versions:
        got = collections.defaultdict(collections.Counter)
        for row in spark.sql(f"SELECT dataset_id, concat(scheme, '://', host, path_query) AS url, unix_micros(ts) AS us FROM lake.iceberg.rows VERSION AS OF '{version}'").collect():
            got[names[row.dataset_id]][row.url, None if row.us is None else row.us // 1000000] += 1
        iceberg.same(got, world.states[version], f"Spark, {version}")
    counts = {row.dataset: row.n for row in spark.sql("SELECT dataset, sum(row_count) AS n FROM lake.iceberg.presence GROUP BY dataset").collect()}
    equal(counts, {name: len(rows) for name, rows in world.states[current].items()}, "rows by the presence table")
    newest = spark.sql("SELECT dataset_id, count(*) AS n FROM lake.iceberg.rows GROUP BY dataset_id").collect()
    equal({names[row.dataset_id]: row.n for row in newest}, counts, "rows of the current snapshot")
    spark.stop()


def main():
    dxtest.need_programs()
    if not PYTHON.exists():
        dxtest.skip("there is no Spark: scripts/spark_peers.sh makes build/spark-peers")
    if os.path.realpath(sys.prefix) != os.path.realpath(PYTHON.parent.parent):
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
    iceberg = importlib.import_module("iceberg")
    iceberg.prepare()
    with dxtest.tempdir() as tmp:
        world = iceberg.World(tmp / "root", tmp)
        world.ingest(1, 3000, "--extra-column", 4)
        world.publish()
        world.ingest(2, 300, "--extra-column", 5)
        first = world.publish()
        gone = sorted(world.rows)[1]
        dxtest.domaindex("remove", "--root", world.root, "--dataset", gone)
        del world.rows[gone]
        second = world.publish()
        iceberg.hide(world)
        iceberg.update(world.root)
        check(iceberg.with_duckdb(world, iceberg.metadata_of(world.root / "iceberg" / "rows"), second), "DuckDB's extension is there (tests/e2e/requirements-iceberg.txt)")
        with_spark(world, iceberg, [first, second], second)
    dxtest.finish()


if __name__ == "__main__":
    main()
