#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""What a page of domains costs with 50,000 rules (DX_WHOLE=1: 200,000), each for a part or the whole of another domain: no more memory for each request, and not
the time that all rules take. Answers are those of libdomaindex, in this process; they are the same as without the rules, which are about others.
A list of rules that is added again costs what it does at first.

DX_RULES: how many.
"""
import os
import pathlib
import re
import resource
import sys
import time

import dxtest
from dxtest import check, equal

os.environ["DOMAINDEX_LIBRARY"] = os.environ.get("DX_LIBRARY", str(dxtest.BIN / "libdomaindex.so"))
sys.path.insert(0, str(dxtest.SOURCE / "python" / "src"))
from domaindex import _native  # noqa: E402  (after the path to it)

RULES = int(os.environ.get("DX_RULES", "200000" if dxtest.WHOLE else "50000"))
FREE = 200  # domains that no rule is about
ASKED = ("/v1/domains?suffix=com&limit=100", "/v1/domains?dataset=few&limit=100", "/v1/datasets/{few}/top-domains?limit=100",
         "/v1/datasets/{few}/overlap/{few}",
         "/v1/tlds?dataset=few", "/v1/complete?q=free&limit=10", "/v1/suffix/com")
PAGES = 10
MORE_KB = 8 << 10 if RULES >= 200_000 else 4 << 10  # of all pages; 200,000 rules were 52 MB a request
ADD_SECONDS = 20 if RULES >= 200_000 else 2  # of CPU to add all rules, also again: 1; it was 90 where each was compared with all
SECONDS = 0.01  # of CPU a page: 0.04 to 0.14 ms, and 0.16 to 0.2 s where each walked over all rules


def ruled(number):
    return f"ruled{number:07}.org"


def make_root(tmp):
    root = tmp / "root"
    free = "".join(f"https://free{i:03}.com/{k}\n" for i in range(FREE) for k in range(1 + i % 3))
    (tmp / "ruled.txt").write_text("".join(f"https://{ruled(i)}/a\nhttps://{ruled(i)}/b\n" for i in range(RULES)), "ascii")
    dxtest.domaindex("ingest", "--root", root, "--dataset", "few", "--format", "list", "-", input=free.encode())
    dxtest.domaindex("ingest", "--root", root, "--dataset", "many", "--format", "list", tmp / "ruled.txt")
    dxtest.domaindex("publish", "--root", root, "--quiet")
    return root


def add_rules(root, tmp):
    """Every eighth hides a whole domain."""
    lines = (f"domain {ruled(i)}\n" if i % 8 == 0 else f"url https://{ruled(i)}/a\n" for i in range(RULES))
    (tmp / "rules.txt").write_text("".join(lines), "ascii")
    for numbers in (RULES, 0):  # of lines that are new
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        said = dxtest.domaindex("suppress", "add", "--root", root, "--file", tmp / "rules.txt", "--policy", "absent", "--quiet").stdout
        cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        equal(RULES - said.count(b"(was there already)"), numbers, "rules that were added")
        check(cpu < ADD_SECONDS, f"{RULES} rules, {numbers} of them new: {cpu:.1f} s of CPU")


def peak_kb():
    return int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text("ascii"))[1])


def ask(index, target):
    status, _, body = index.ask(target, None)
    equal(status, 200, f"{target}: {body[:300]}")
    return body


def targets(index):
    few = re.search(rb'"dataset_id":(\d+),"name":"few"', ask(index, "/v1/datasets"))[1].decode()
    return [target.format(few=few) for target in ASKED]


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = make_root(tmp)
        index = _native.Root(str(root), None, None, False)
        asked = targets(index)
        free = [re.sub(rb',"cost":\{[^}]*\}', b"", ask(index, target)) for target in asked]
        add_rules(root, tmp)
        index.refresh()
        equal(index.ask("/v1/domain/" + ruled(8), None)[0], 404, "a domain that a rule hides")
        pathlib.Path("/proc/self/clear_refs").write_text("5", "ascii")
        before = peak_kb()
        for target, want in zip(asked, free):
            equal(ask(index, target), want, f"{target}: with rules about other domains")
            began = time.process_time()
            for _ in range(PAGES):
                ask(index, target)
            cpu = (time.process_time() - began) / PAGES
            print(f"{target:50} {cpu * 1000:8.2f} ms of CPU, peak +{peak_kb() - before:,} kB")
            check(cpu < SECONDS, f"{target}: {cpu:.3f} s of CPU with {RULES} rules")
        check(peak_kb() - before < MORE_KB, f"pages took {peak_kb() - before} kB with {RULES} rules")
        index.close()
    dxtest.finish()


if __name__ == "__main__":
    main()
