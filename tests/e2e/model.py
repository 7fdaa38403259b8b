#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow tree long
"""The model of publish, rollback, lease and collection: nothing found in it, and each mutation found out.

docs/model/run.sh does the work; this looks at what it printed, so that a run that checked nothing
does not pass. The model changes with its own files only: CI runs some of it, DX_WHOLE=1 all.

In detail: docs/model: publish, rollback, leases and collection in every order of their steps, by spin; 20
broken rules are each found. CI runs some of both (`DX_WHOLE=1`: all).
"""
import os
import re
import shutil
import subprocess

import dxtest
from dxtest import check, equal

HOLDS, MUTATIONS, SOME = 11, 22, []
if not dxtest.WHOLE:
    SOME = ["rollback", "cursors", "servers", "late",
            "no-condition", "undo-unknown", "no-wait", "no-confirm", "late-lease", "entry-first", "name-reuse", "no-resume"]
    HOLDS, MUTATIONS = 4, 8

for program in ("spin", "gcc"):
    if shutil.which(program) is None:
        dxtest.skip(f"no {program} here (scripts/install_packages.sh build test)")

done = subprocess.run([str(dxtest.SOURCE / "docs" / "model" / "run.sh"), "quick", *SOME],
                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=7200,
                      env={"DX_MODEL_SECONDS": "600", **os.environ})  # of each run; a busy machine takes more than the usual 60
print(done.stdout, end="")
equal(done.returncode, 0, "run.sh")
rows = re.findall(r"(?m)^(\S+) +(as expected|SURPRISE) +(\d+) states +\S+ s  (.*)$", done.stdout)
equal(sum(verdict == "as expected" for _, verdict, _, _ in rows), HOLDS + MUTATIONS, "runs as expected")
equal(sum(said == "holds" for *_, said in rows), HOLDS, "runs of the protocol itself")
for name, _, states, said in rows:
    if said == "holds":
        check(int(states) > 100_000, f"{name}: only {states} states, so something is switched off")

# The script can say no.
short = subprocess.run([str(dxtest.SOURCE / "docs" / "model" / "run.sh"), "quick", "nothing-like-it"],
                       stdout=subprocess.PIPE, text=True)
equal(short.returncode, 1, "run.sh with a name that is no run")
dxtest.finish()
