#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow timed long
"""Lighthouse's scores of the web page in Debian's Chromium, with its default throttling of a phone: at least 95 in each category, of
performance where nothing else runs (DX_TIMED). Installs build/lighthouse from npm."""
import json
import os
import shutil
import subprocess

import dxtest
from dxtest import check

RELEASE = "12.8.2"  # the last one for Node.js 20
LEAST = 95
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage"
ROUNDS = 3


def program():
    folder = dxtest.SOURCE / "build" / "lighthouse"
    cli = folder / "node_modules" / "lighthouse" / "cli" / "index.js"
    if not all(map(shutil.which, ("chromium", "node", "npm"))):
        dxtest.skip("no chromium, Node.js or npm")
    if not cli.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts", f"lighthouse@{RELEASE}"]
        if subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False).returncode:
            dxtest.skip(f"lighthouse@{RELEASE} cannot be had from npm here")
    return cli


def measure(cli, url, out):
    command = ["node", cli, url, "--quiet", "--output=json", f"--output-path={out}", f"--only-categories={','.join(CATEGORIES)}", f"--chrome-flags={FLAGS}"]
    subprocess.run(command, check=True, timeout=300, env={**os.environ, "CHROME_PATH": shutil.which("chromium")})
    report = json.loads(out.read_text())
    return {name: round(100 * (report["categories"][name]["score"] or 0)) for name in CATEGORIES}, report


def failed(report):
    """Audits that lower a score."""
    weighed = {ref["id"] for c in report["categories"].values() for ref in c["auditRefs"] if ref["weight"]}
    return sorted(name for name in weighed if (report["audits"][name]["score"] or 0) < 0.9 and report["audits"][name]["scoreDisplayMode"] in ("binary", "numeric"))


def main():
    dxtest.need_programs()
    cli = program()
    with dxtest.tempdir() as tmp:
        rows = "".join(f"set {i % 30}\t{1_300_000_000 + 40_000 * i}\thttps://example.com/{i % 50}/{i}\n" for i in range(10_000))
        dxtest.domaindex("ingest", "--root", tmp / "root", "--format", "tsv", "--dataset-column", "1", "--ts-column", "2", "--url-column", "3", "-", input=rows.encode())
        dxtest.domaindex("publish", "--root", tmp / "root")
        with dxtest.Server(tmp / "root", "--web", "yes") as server:
            for view in ("#/", "#/site/example.com"):
                rounds = [measure(cli, f"http://127.0.0.1:{server.port}/{view}", tmp / "report.json") for _ in range(ROUNDS)]
                scores = {name: sorted(r[0][name] for r in rounds)[ROUNDS // 2] for name in CATEGORIES}
                print(json.dumps({"view": view, **scores}), flush=True)
                for name in CATEGORIES if os.environ.get("DX_TIMED") else CATEGORIES[1:]:
                    check(scores[name] >= LEAST, f"{view}: {name} {scores[name]}, at least {LEAST}; lowered by {failed(rounds[-1][1])}")
    dxtest.finish()


if __name__ == "__main__":
    main()
