# SPDX-License-Identifier: Apache-2.0
"""posts - the real posts of the shared data, or some of them.

    path = posts.some(tmp, 4)         every fourth line, as a file of tmp; 1: the file as it is; None: it is not here
    path = posts.of_datasets(tmp, 8)  all lines of one dataset in eight

Lines are dataset, Unix time, URL, extra, separated by tabs. dxtest.WHOLE (DX_WHOLE=1) takes all of them.
"""
import itertools
import subprocess
import zlib

import dxtest

NAME = "lists/reddit-top-2.5-million/posts-A.tsv.zst"


def _chosen(tmp, one_of, choice):
    """choice: the lines that are taken of all."""
    path = dxtest.shared_data(NAME)
    if path is None or one_of == 1 or dxtest.WHOLE:
        return path
    unzipped = subprocess.Popen(["zstd", "-dc", str(path)], stdout=subprocess.PIPE)
    with open(tmp / "posts.tsv", "wb") as out:
        out.writelines(choice(unzipped.stdout))
    if unzipped.wait() != 0:
        raise RuntimeError("zstd failed")
    return tmp / "posts.tsv"


def some(tmp, one_of):
    return _chosen(tmp, one_of, lambda all_lines: itertools.islice(all_lines, 0, None, one_of))


def of_datasets(tmp, one_of):
    return _chosen(tmp, one_of, lambda all_lines: (line for line in all_lines if zlib.crc32(line[:line.index(b"\t")]) % one_of == 0))


def lines(path):
    """Its lines as they come, from either kind of file."""
    with subprocess.Popen(["zstd", "-dcf", str(path)], stdout=subprocess.PIPE) as unzipped:
        yield from unzipped.stdout
    if unzipped.returncode != 0:
        raise RuntimeError("zstd failed")
