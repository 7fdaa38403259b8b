# SPDX-License-Identifier: Apache-2.0
"""posts - the real posts of the shared data, or some of them.

    path = posts.some(tmp, 4)         every fourth line, as a file of tmp; 1: the file as it is; None: it is not here
    path = posts.of_datasets(tmp, 8)  all lines of one dataset in eight

Lines are dataset, Unix time, URL, extra, separated by tabs. dxtest.WHOLE (DX_WHOLE=1) takes all of them.
"""
import functools
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
    with open(tmp / "posts.tsv", "wb") as out, subprocess.Popen(["zstd", "-dc", str(path)], stdout=subprocess.PIPE, bufsize=0) as unzipped:
        out.writelines(line + b"\n" for line in choice(itertools.chain.from_iterable(_pieces(unzipped.stdout))))
    if unzipped.returncode != 0:
        raise RuntimeError("zstd failed")
    return tmp / "posts.tsv"


def _pieces(stream):
    """Lists of its lines without their ends: a third of the time that a file of Python takes line by line."""
    rest = b""
    while piece := stream.read(1 << 20):
        *whole, rest = (rest + piece).split(b"\n")
        yield whole
    if rest:
        yield [rest]


def some(tmp, one_of):
    return _chosen(tmp, one_of, lambda all_lines: itertools.islice(all_lines, 0, None, one_of))


def of_datasets(tmp, one_of):
    is_taken = functools.cache(lambda dataset: zlib.crc32(dataset) % one_of == 0)
    return _chosen(tmp, one_of, lambda all_lines: (line for line in all_lines if is_taken(line.partition(b"\t")[0])))


def lines(path):
    """Its lines as they come, from either kind of file."""
    with subprocess.Popen(["zstd", "-dcf", str(path)], stdout=subprocess.PIPE) as unzipped:
        yield from unzipped.stdout
    if unzipped.returncode != 0:
        raise RuntimeError("zstd failed")
