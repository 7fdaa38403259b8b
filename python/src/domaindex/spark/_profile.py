# SPDX-License-Identifier: Apache-2.0
"""The profiles of public corpora (`domaindex profiles`) for DataFrames: which columns are what, which files are read, how datasets are named."""
from __future__ import annotations

import fnmatch
import json
import pathlib
import tempfile
import urllib.parse
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import _spark_job as _job

URL, TS, DATASET = "dx_url", "dx_ts", "dx_dataset"


def _profile(name: str) -> Dict[str, Any]:
    try:
        found: List[Dict[str, Any]] = json.loads(_job.run(["profiles", "--json", name]))
    except _job.JobError as error:
        raise ValueError(str(error)) from None
    return found[0]


def _is_read(path: str, profile: Mapping[str, Any]) -> bool:
    """The patterns are of paths below a folder; what is above it is not known here."""
    def matches(pattern: str) -> bool:
        return fnmatch.fnmatch(path, f"*/{pattern}")

    return (not profile["include"] or any(map(matches, profile["include"]))) and not any(map(matches, profile["exclude"]))


def _names_of(profile: str, paths: Sequence[str]) -> Tuple[List[str], Optional[str]]:
    """What the names of the datasets of these files begin with, and the column that follows."""
    with tempfile.TemporaryDirectory(prefix="domaindex-") as folder:
        file = pathlib.Path(folder) / "paths"
        file.write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
        lines = [json.loads(line) for line in _job.run(["profiles", profile, "--datasets-of", str(file)]).splitlines()]
    return [line["prefix"] for line in lines], lines[0]["column"]


def _resolved(df: Any, names: Sequence[str], what: str) -> str:
    """The first of the names that is a column, or leads into one (meta.url)."""
    from pyspark.errors import AnalysisException

    for name in names:
        try:
            df.select(name).schema  # noqa: B018
            return name
        except AnalysisException:
            continue
    raise ValueError(f"no column of {what} of this profile is here: {', '.join(names) or 'it is of another format'}. Columns: {', '.join(df.columns)}")


def apply(df: Any, name: str) -> Tuple[Any, List[str]]:
    """A DataFrame that was read from files, as its profile says: columns dx_url, dx_ts if the corpus has times, dx_dataset and the extras, whose
    names are returned."""
    from pyspark.sql import functions

    profile = _profile(name)
    file = df.select("*", functions.col("_metadata.file_path").alias("dx_file"))
    found = [row[0] for row in df.select("_metadata.file_path").distinct().collect()]
    read = sorted(path for path in found if _is_read(urllib.parse.unquote(path), profile))
    if not read:
        raise ValueError(f"profile {name} reads none of the {len(found)} files")
    prefixes, column = _names_of(name, [urllib.parse.unquote(path) for path in read])
    names = df.sparkSession.createDataFrame(list(zip(read, prefixes)), "dx_file string, dx_prefix string")
    dataset = functions.concat(functions.col("dx_prefix"), functions.col(column).cast("string")) if column else functions.col("dx_prefix")
    columns = [functions.col(_resolved(df, profile["url"], "the URL")).alias(URL), dataset.alias(DATASET)]
    if profile["time"]:
        columns.append(functions.col(_resolved(df, profile["time"], "the time")).alias(TS))
    extras = [tuple(extra.split("=", 1)) if "=" in extra else (extra, extra) for extra in profile["extras"]]
    here = [(label, source) for label, source in extras if source.split(".", 1)[0] in df.columns]
    columns += [functions.col(source).alias(label) for label, source in here]
    return file.join(functions.broadcast(names), "dx_file").select(*columns), [label for label, _ in here]
