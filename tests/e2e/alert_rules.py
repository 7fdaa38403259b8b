#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: tree
"""The rules of packaging/prometheus are taken by promtool, and fire when they are to and not otherwise (alerts_test.yaml).
Every alert has a case there, and is among those that must be silent where all is well.
"""
import os
import re
import shutil

import dxtest
from dxtest import check, equal

FOLDER = dxtest.SOURCE / "packaging" / "prometheus"


def main():
    rules = (FOLDER / "alerts.yaml").read_text(encoding="utf-8")
    cases = (FOLDER / "alerts_test.yaml").read_text(encoding="utf-8")
    alerts = set(re.findall(r"- alert: (\w+)", rules))
    equal(set(re.findall(r"alertname: (\w+), exp_alerts: \[\]", cases)), alerts, "silent where all is well")
    equal(set(re.findall(r"alertname: (\w+)\n\s+exp_alerts: \[\{", cases)), alerts, "a case that fires")
    promtool = shutil.which(os.environ.get("DX_PROMTOOL", "promtool"))
    if promtool:
        dxtest.run(promtool, "check", "rules", "alerts.yaml", cwd=FOLDER)
        done = dxtest.run(promtool, "test", "rules", "alerts_test.yaml", cwd=FOLDER)
        check(b"SUCCESS" in done.stdout, done.stdout)
    dxtest.finish(skipped=None if promtool else "no promtool here (DX_PROMTOOL): whether the rules fire was not tried")


if __name__ == "__main__":
    main()
