# SPDX-License-Identifier: Apache-2.0
"""The options that interleaved benchmarks share, their rounds, and the programs that they time.

    options = rounds.options(__doc__, rows=300_000, quick=100_000)      .rounds .rows .write .json .beside, .rows named by the keyword
    seen = rounds.run(plan, options, budget_s, result)                  {key: [what each round returned]}; plan() yields (key, function)
    rounds.folder("dx-x-")                                              a temporary folder in memory where there is one
    rounds.timed(command)                                               CPU seconds of all threads, peak, bytes read, what was printed
    rounds.inflate(path)                                                CPU seconds of zlib over the members of a gzip file
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zlib

CHUNK = 64 << 10    # of inflate: what is behind a member is copied


def options(doc, quick, **count):
    (name, usual), = count.items()
    parser = argparse.ArgumentParser(description=doc.split("\n\n", 1)[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int)
    parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--beside", type=pathlib.Path)
    given = parser.parse_args()
    given.rounds = given.rounds or (1 if given.quick else 5)
    setattr(given, name, getattr(given, name) or (quick if given.quick else usual))
    return given


def folder(prefix):
    return tempfile.TemporaryDirectory(prefix=prefix, dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


def run(plan, given, budget_s, result):
    seen, begin = {}, time.monotonic()
    for done in range(given.rounds):
        if done > 0 and (time.monotonic() - begin) * (done + 1) / done > budget_s:
            result.note(f"{done} rounds of {given.rounds}: the time was over.")
            break
        for key, function in plan():
            seen.setdefault(key, []).append(function())
    return seen


def timed(command):
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([str(c) for c in command], stdout=out, stderr=out)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        counts = dict(line.split(": ") for line in pathlib.Path(f"/proc/{process.pid}/io").read_text().splitlines())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read().decode(errors="replace")
    if process.returncode != 0:
        sys.exit(f"{' '.join(str(c) for c in command)}:\n{said}")
    return {"cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss << 10, "read": int(counts["rchar"]), "said": said}


def inflate(path):
    begin, member = time.process_time(), zlib.decompressobj(31)
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            while chunk:
                member.decompress(chunk)
                chunk = member.unused_data
                if member.eof:
                    member = zlib.decompressobj(31)
    return time.process_time() - begin
