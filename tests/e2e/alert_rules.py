#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: tree
"""The rules of packaging/prometheus are taken by promtool, and fire when they are to and not otherwise (alerts_test.yaml).
Every alert has a case there, and is among those that must be silent where all is well. What the dashboard calls failed is what
counts against the error budget: questions for a version that is still to come (503 version-newer) do not.

Cases of more than ten minutes are evaluated every two minutes and those of hours every five, with DX_WHOLE=1 every minute, as the others are.
"""
import json
import os
import re
import shutil

import dxtest
from dxtest import check, equal

DASHBOARD = dxtest.SOURCE / "packaging" / "grafana" / "domaindex.json"
FOLDER = dxtest.SOURCE / "packaging" / "prometheus"


def failed_share(promtool, tmp):
    """Panels that show 5xx, evaluated: 10 of 80 requests fail, and 40 that are 503 version-newer do not count."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    exprs = [t["expr"] for p in panels for t in p.get("targets", []) if '"5..' in t["expr"]]
    check(exprs, "a panel shows what failed")
    for known in (True, False):
        counts = {("domain", 200): 30, ("urls", 503): 10, ("changes", 503): 40 if known else 0}
        series = [f'''{{ series: 'domaindex_http_requests_total{{job="d",instance="a",route="{r}",code="{c}"}}', values: '0+{n}x60' }}'''
                  for (r, c), n in counts.items()]
        if known:
            series.append('''{ series: 'domaindex_http_problems_total{job="d",instance="a",slug="version-newer"}', values: '0+40x60' }''')
        for expr in exprs:
            for name, value in (("$job", ".*"), ("$instance", ".*"), ("$__rate_interval", "5m")):
                expr = expr.replace(name, value)
            (tmp / "rules.yaml").write_text(json.dumps({"groups": [{"name": "g", "rules": [{"record": "failed", "expr": expr}]}]}))
            want = 125 if known else 250
            (tmp / "test.yaml").write_text(
                "rule_files: [rules.yaml]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n"
                + "".join(f"      - {s}\n" for s in series) + "    promql_expr_test:\n      - expr: round(sum(failed) * 1000)\n"
                f"        eval_time: 30m\n        exp_samples: [{{labels: '{{}}', value: {want}}}]\n")
            done = dxtest.run(promtool, "test", "rules", "test.yaml", cwd=tmp, expect=None)
            check(done.returncode == 0, f"{expr}: {done.stdout.decode()} {done.stderr.decode()}")


def longest(case):
    """Until which minute it is looked at."""
    return max(int(n) * (60 if unit == "h" else 1) for n, unit in re.findall(r"eval_time: (\d+)([mh])", case))


def by_length(cases, tmp):
    """The cases in three files: of ten minutes at most, of less than an hour, and the others; the longer, the less often evaluated."""
    head, *rest = cases.split("\n  - name: ")
    head = head.replace("rule_files: [", f"rule_files: [{FOLDER}/")
    for name, minutes, step in (("short.yaml", range(11), "1m"), ("middle.yaml", range(11, 60), "2m"), ("long.yaml", range(60, 10**6), "5m")):
        some = [case for case in rest if longest(case) in minutes]
        check(some, f"cases of {name}")
        (tmp / name).write_text("\n  - name: ".join([head.replace("evaluation_interval: 1m", f"evaluation_interval: {step}"), *some]), encoding="utf-8")
        yield name


def main():
    rules = (FOLDER / "alerts.yaml").read_text(encoding="utf-8")
    cases = (FOLDER / "alerts_test.yaml").read_text(encoding="utf-8")
    alerts = set(re.findall(r"- alert: (\w+)", rules))
    equal(set(re.findall(r"alertname: (\w+), exp_alerts: \[\]", cases)), alerts, "silent where all is well")
    equal(set(re.findall(r"alertname: (\w+)\n\s+exp_alerts: \[\{", cases)), alerts, "a case that fires")
    promtool = shutil.which(os.environ.get("DX_PROMTOOL", "promtool"))
    if promtool:
        dxtest.run(promtool, "check", "rules", "alerts.yaml", cwd=FOLDER)
        with dxtest.tempdir() as tmp:
            files = [FOLDER / "alerts_test.yaml"] if dxtest.WHOLE else list(by_length(cases, tmp))
            done = dxtest.run(promtool, "test", "rules", *files, cwd=tmp, env={"GOGC": "400"})
            equal(done.stdout.count(b"SUCCESS"), len(files), done.stdout)
            failed_share(promtool, tmp)
    dxtest.finish(skipped=None if promtool else "no promtool here (DX_PROMTOOL): whether the rules fire was not tried")


if __name__ == "__main__":
    main()
