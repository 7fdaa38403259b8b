# SPDX-License-Identifier: Apache-2.0
"""Spark's environment (scripts/spark_peers.sh), with our package in it.

    spark_env.PYTHON                         its interpreter; it may be missing
    env = spark_env.install(folder)          what a process needs to import pyspark and domaindex.spark: built from python/ into folder/site
    spark = spark_env.session(shuffle=4)     in such a process: local-cluster mode, two workers of one core as processes of their own
"""
import os
import shutil

import dxtest

PYTHON = dxtest.SOURCE / "build" / "spark-peers" / "bin" / "python"


def install(folder):
    shutil.copytree(dxtest.SOURCE / "python", folder / "python", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    (folder / "CMakeLists.txt").write_bytes((dxtest.SOURCE / "CMakeLists.txt").read_bytes())
    dxtest.run(PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check",
               "--target", folder / "site", folder / "python", env={"DOMAINDEX_BIN_DIR": str(dxtest.BIN)})
    return {**os.environ, "PYTHONPATH": f"{folder / 'site'}:{os.environ.get('PYTHONPATH', '')}", "PYSPARK_PYTHON": str(PYTHON), "SPARK_LOCAL_IP": "127.0.0.1"}


def session(shuffle=4, executor_mb=1024):
    from pyspark.sql import SparkSession

    spark = (SparkSession.builder.master(f"local-cluster[2,1,{executor_mb}]").config("spark.ui.enabled", "false")
             .config("spark.sql.shuffle.partitions", str(shuffle)).config("spark.executor.memory", f"{executor_mb}m")
             .config("spark.sql.python.filterPushdown.enabled", "true").config("spark.task.maxFailures", "4")
             .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    return spark
