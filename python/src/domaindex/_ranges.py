# SPDX-License-Identifier: Apache-2.0
"""Which task a row goes to: ranges of (dataset, domain id, host, path), drawn from a sample. It knows nothing of Spark.

    pool = Pool(2000, seed)
    for batch in batches: pool.add(batch)                       an even sample of the rows of all batches
    ranges = Ranges.of_sample([(key, weight), ...], parts)      at most so many parts, of about the same weight
    numbers = ranges.numbers(datasets, ids, hosts, paths)       for each row of a batch, 0 .. parts - 1

Rows with equal keys have one part, and parts follow each other in the order of keys, within each dataset: so no two tasks have a URL in common, and a
domain with very many rows is spread over several.
"""
from __future__ import annotations

import bisect
import dataclasses
from typing import Any, List, Sequence, Tuple

Key = Tuple[str, int, str, str]     # dataset, or "" where all rows are of one; domain id; host; path_query


class Pool:
    """At most `most` rows of Arrow batches, each with the same chance; `seen`: how many there were."""

    def __init__(self, most: int, seed: int) -> None:
        import numpy

        self.most, self.seen = most, 0
        self._random = numpy.random.default_rng(seed)
        self._batches: List[Any] = []
        self._chances = numpy.empty(0)

    def add(self, batch: Any) -> None:
        import numpy

        self.seen += batch.num_rows
        self._batches.append(batch)
        self._chances = numpy.append(self._chances, self._random.random(batch.num_rows))
        if len(self._chances) > 4 * self.most:
            self._thin()

    def _thin(self) -> None:
        import numpy
        import pyarrow

        table = pyarrow.Table.from_batches(self._batches)
        if len(self._chances) > self.most:
            kept = numpy.sort(numpy.argpartition(self._chances, self.most)[:self.most])
            table, self._chances = table.take(kept), self._chances[kept]
        self._batches = table.combine_chunks().to_batches()

    def rows(self) -> List[Any]:
        """As batches; none if there was no row."""
        if self.seen:
            self._thin()
        return self._batches


@dataclasses.dataclass(frozen=True)
class Ranges:
    bounds: Tuple[Key, ...]     # ascending; a row that is not below bounds[i] is in part i + 1 or a later one

    @classmethod
    def of_sample(cls, sample: Sequence[Tuple[Key, float]], parts: int) -> Ranges:
        ordered = sorted(sample)
        step = sum(weight for _, weight in ordered) / parts
        bounds: List[Key] = []
        passed = 0.0
        for key, weight in ordered:
            if passed >= step * (len(bounds) + 1) and len(bounds) + 1 < parts and (not bounds or key > bounds[-1]):
                bounds.append(key)
            passed += weight
        return cls(tuple(bounds))

    def numbers(self, datasets: Any, ids: Any, hosts: Any, paths: Any) -> Any:
        """Arrow arrays; datasets: None where bounds have none. A row without an id is in part 0."""
        import numpy
        import pyarrow.compute

        numbers = numpy.zeros(len(ids), numpy.int32)
        known = numpy.flatnonzero(ids.is_valid().to_numpy(zero_copy_only=False))
        values = pyarrow.compute.fill_null(ids, 0).to_numpy(zero_copy_only=False)
        for name, rows in _by_dataset(datasets, known):
            first = bisect.bisect_left(self.bounds, (name,))
            last = bisect.bisect_left(self.bounds, (name + "\0",))
            of_bounds = numpy.array([bound[1] for bound in self.bounds[first:last]], numpy.uint64)
            wanted = values[rows]
            below = numpy.searchsorted(of_bounds, wanted, "left")
            numbers[rows] = first + below
            shared = rows[below < numpy.searchsorted(of_bounds, wanted, "right")]    # their domain is that of a bound
            for row, host, path in zip(shared, hosts.take(shared).to_pylist(), paths.take(shared).to_pylist()):
                numbers[row] = bisect.bisect_right(self.bounds, (name, int(values[row]), host, path), first, last)
        return pyarrow.array(numbers)


def _by_dataset(datasets: Any, rows: Any) -> List[Tuple[str, Any]]:
    import numpy
    import pyarrow

    if datasets is None:
        return [("", rows)]
    coded = datasets.cast(pyarrow.string()).fill_null("").dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False)[rows]
    order = numpy.argsort(codes, kind="stable")
    ends = numpy.searchsorted(codes[order], numpy.arange(len(coded.dictionary) + 1))
    return [(name, rows[order[ends[i]:ends[i + 1]]]) for i, name in enumerate(coded.dictionary.to_pylist())]
