# SPDX-License-Identifier: Apache-2.0
"""The rows of a DataFrame in tasks by ranges of their canonical form.

Spark's own repartitionByRange computes the keys of all rows twice, the first time for a sample of some hundred rows a task, and carries them through the
shuffle. Here a sample is drawn first, of which alone there are keys on the driver, and each row then gets the number of its task.
"""
from __future__ import annotations

from typing import Any, Iterator, List, Optional, Tuple

from .. import _spark_job as _job
from .._ranges import Key, Pool, Ranges

SHARE = 0.02                    # of the rows are looked at for ranges; all of them where that is too few
ROWS_A_RANGE = 20               # fewer are too few
MOST_A_TASK = 2000              # rows that a task gives to the driver
ROWS_A_PARTITION = 1_000_000    # where the caller does not say how many partitions there are


def _sample(df: Any, url: int, suffix_list: bytes, dataset_column: Optional[str], share: float) -> Tuple[List[Tuple[Key, float]], float]:
    """Keys with weights, and an estimate of how many rows there are."""
    def keys(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark import TaskContext

        from ..canonical import Canonicaliser

        context = TaskContext.get()
        pool = Pool(MOST_A_TASK, context.partitionId() if context else 0)
        for batch in batches:
            pool.add(batch)
        canon = Canonicaliser(suffix_list=suffix_list)
        kept = sum(batch.num_rows for batch in pool.rows())
        for batch in pool.rows():
            form = canon.batch(batch.column(0))
            names = batch.column(1).cast(pyarrow.string()) if dataset else pyarrow.array([""] * batch.num_rows)
            weights = pyarrow.array([pool.seen / kept] * batch.num_rows)
            yield pyarrow.RecordBatch.from_arrays([names, form.column("domain_id").cast(pyarrow.decimal128(20)), form.column("host"), form.column("path_query"), weights],
                                                  names=["dataset", "id", "host", "path", "weight"])

    dataset = [f"c{df.columns.index(dataset_column)}"] if dataset_column else []
    drawn = df.toDF(*(f"c{i}" for i in range(len(df.columns)))).select(f"c{url}", *dataset)     # names may have dots
    drawn = drawn if share >= 1 else drawn.sample(fraction=share, seed=1)
    rows = drawn.mapInArrow(keys, "dataset string, id decimal(20,0), host string, path string, weight double").collect()
    return ([((row.dataset or "", int(row.id), row.host, row.path), row.weight) for row in rows if row.id is not None],
            sum(row.weight for row in rows) / share)


def arrange(df: Any, url: int, lake: _job.Lake, dataset_column: Optional[str], partitions: Optional[int]) -> Any:
    from pyspark.sql.types import IntegerType, StructField, StructType

    suffix_list, dataset = lake.suffix_list, df.columns.index(dataset_column) if dataset_column else None
    sample, rows = _sample(df, url, suffix_list, dataset_column, SHARE)
    parts = partitions or max(1, round(rows / ROWS_A_PARTITION))
    if rows * SHARE < ROWS_A_RANGE * parts:
        sample, rows = _sample(df, url, suffix_list, dataset_column, 1)
        parts = partitions or max(1, round(rows / ROWS_A_PARTITION))
    ranges = Ranges.of_sample(sample, parts)

    def add_numbers(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        from ..canonical import Canonicaliser

        canon = Canonicaliser(suffix_list=suffix_list)
        for batch in batches:
            form = canon.batch(batch.column(url))
            numbers = ranges.numbers(None if dataset is None else batch.column(dataset), *(form.column(name) for name in ("domain_id", "host", "path_query")))
            yield pyarrow.RecordBatch.from_arrays([*batch.columns, numbers], names=[*batch.schema.names, "dx_part"])

    numbered = df.mapInArrow(add_numbers, StructType([*df.schema.fields, StructField("dx_part", IntegerType())]))
    # Spark 4.0 does not have the first.
    placed = numbered.repartitionById(parts, "dx_part") if hasattr(numbered, "repartitionById") else numbered.repartitionByRange(parts, "dx_part")
    return placed.drop("dx_part")
