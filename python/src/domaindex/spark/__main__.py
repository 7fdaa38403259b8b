# SPDX-License-Identifier: Apache-2.0
"""python -m domaindex.spark ingest 'data/*.parquet' --root ROOT --dataset NAME, also by spark-submit."""
from __future__ import annotations

import argparse
import sys
from typing import List

from pyspark.sql import SparkSession

from . import JobError, clean, ingest


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m domaindex.spark", description="Spark builds the lake of a root.")
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("ingest", help="read files with Spark, add their rows to a root and publish it")
    add.add_argument("input", nargs="+", help="paths or patterns that Spark can read")
    add.add_argument("--root", required=True)
    add.add_argument("--format", default="parquet", help="of the input, as Spark calls it: parquet, json, csv, orc (default: parquet)")
    add.add_argument("--profile", help="a public corpus that `domaindex profiles` lists: its columns, files and names of datasets")
    add.add_argument("--dataset")
    add.add_argument("--dataset-column")
    add.add_argument("--url-column")
    add.add_argument("--ts-column")
    add.add_argument("--extra-column", action="append", default=[])
    add.add_argument("--overwrite", action="store_true", help="the rows take the place of what the datasets had")
    add.add_argument("--partitions", type=int)
    add.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="of the data source: spool, memory, driver_memory, wait, max_rejects, publish, verify, iceberg")
    old = commands.add_parser("clean", help="remove what jobs left whose driver was killed")
    old.add_argument("--spool", required=True, help="ROOT/spool, or the option spool of the jobs")
    old.add_argument("--older-than", type=float, default=86400, metavar="SECONDS", help="since the last change of a job's folder (default: a day)")
    return parser


def main(arguments: List[str]) -> int:
    a = _parser().parse_args(arguments)
    if a.command == "clean":
        print("\n".join(clean(a.spool, a.older_than)))
        return 0
    spark = SparkSession.builder.appName("domaindex ingest").getOrCreate()
    reader = spark.read.format(a.format)
    df = (reader.option("header", "true") if a.format == "csv" else reader).load(a.input)
    try:
        ingest(df, a.root, dataset=a.dataset, dataset_column=a.dataset_column, url_column=a.url_column, ts_column=a.ts_column, extra_columns=a.extra_column,
               profile=a.profile, mode="overwrite" if a.overwrite else "append", partitions=a.partitions, **dict(word.split("=", 1) for word in a.option))
    except (JobError, ValueError) as error:
        print(f"domaindex.spark: {error}", file=sys.stderr)
        return 1
    finally:
        spark.stop()
    return 0


sys.exit(main(sys.argv[1:]))
