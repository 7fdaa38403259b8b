#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""model.py - how far `domaindex capacity` is from real builds, and what it says of larger ones.

    bench/model.py [--builds 100K,1M,10M] [--work DIR] [--json FILE]

For each build: make_rows | domaindex ingest | publish below --work (default /var/tmp), then bytes of the lake, of the index and of what a server maps, beside what
`domaindex capacity` says for the same numbers of domains, pairs and URLs; and seconds of CPU. Then the fleets of docs/SCALE.md, by the model. 10 M domains take a
minute and 4 GB of disk. Exit 1 if an estimate is off by more than a quarter.
"""
import argparse
import json
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "tests" / "support")]
import dxtest       # noqa: E402
import machine      # noqa: E402

MAKE_ROWS = machine.BIN / "bench" / "make_rows"
MAPPED = ("domains.mphf", "domains.dict", "domain_to_datasets.roar", "domain_counts.dxc", "dataset_domains.dxt", "postings.dxp", "cold.dxp", "pages.dxp")
FLEETS = (("10^8 domains", 10**8, 3 * 10**8, 3 * 10**9), ("10^9 domains", 10**9, 5 * 10**9, 3 * 10**10), ("10^9 domains, 3 * 10^11 rows", 10**9, 2 * 10**10, 3 * 10**11))


def number(text):
    return int(float(text[:-1]) * {"K": 1e3, "M": 1e6}[text[-1]]) if text[-1] in "KM" else int(text)


def capacity(domains, pairs, urls):
    return json.loads(dxtest.domaindex("capacity", "--json", "--domains", domains, "--pairs", pairs, "--urls", urls).stdout)


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def build(count, folder):
    """What a build has, and CPU seconds of ingest (with make_rows) and publish."""
    root, begin = folder / "root", cpu_s()
    with subprocess.Popen([MAKE_ROWS, "--domains", str(count)], stdout=subprocess.PIPE) as rows:
        subprocess.run([dxtest.DOMAINDEX, "ingest", "--root", root, "--format", "tsv", "--no-header", "--dataset-column", "1", "--ts-column", "2", "--url-column", "3", "--memory", "4G", "-"],
                       stdin=rows.stdout, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    middle = cpu_s()
    dxtest.domaindex("publish", "--root", root, "--memory", "4G", timeout=3600)
    manifest = json.loads((root / "index" / "manifest.json").read_text())
    version = manifest["versions"][-1]
    files = {path.name: path.stat().st_size for path in (root / "index" / version["version"]).iterdir()}
    found = {"domains": version["domains"], "pairs": version["pairs"], "urls": version["urls"], "rows": version["rows"],
             "lake_bytes": sum(path.stat().st_size for path in (root / "urls").rglob("*") if path.is_file()), "index_bytes": sum(files.values()),
             "mapped_bytes": sum(size for name, size in files.items() if name in MAPPED), "ingest_cpu_s": middle - begin, "publish_cpu_s": cpu_s() - middle}
    shutil.rmtree(root)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--builds", default="100K,1M,10M")
    parser.add_argument("--work", default="/var/tmp")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    wrong, builds = [], []
    print("| build: domains, pairs, URLs | lake, MB (model / real) | index | mapped | CPU s: ingest, publish |\n| --- | --: | --: | --: | --: |")
    for text in options.builds.split(","):
        with tempfile.TemporaryDirectory(prefix="dx-model-", dir=options.work) as folder:
            real = build(number(text), pathlib.Path(folder))
        model, cells = capacity(real["domains"], real["pairs"], real["urls"]), []
        for name in ("lake_bytes", "index_bytes", "mapped_bytes"):
            ratio = model[name] / real[name]
            cells.append(f"{real[name] / 1e6:,.1f} ({ratio:.2f})")
            if not 0.75 < ratio < 1.25:
                wrong.append(f"{text}: {name}: model / real {ratio:.2f}")
        builds.append({"real": real, "model": model})
        print(f"| {real['domains']:,}; {real['pairs']:,}; {real['urls']:,} | {' | '.join(cells)} | {real['ingest_cpu_s']:.1f}, {real['publish_cpu_s']:.1f} |", flush=True)
    per_row = builds[-1]["real"]["ingest_cpu_s"] / builds[-1]["real"]["rows"] + builds[-1]["real"]["publish_cpu_s"] / builds[-1]["real"]["rows"]
    print("\n| fleet: domains, pairs, URLs | lake, TB | index, TB | mapped, GB | build, core hours |\n| --- | --: | --: | --: | --: |")
    for words, domains, pairs, urls in FLEETS:
        m = capacity(domains, pairs, urls)
        print(f"| {words}; {pairs:.0e}; {urls:.0e} | {m['lake_bytes'] / 1e12:,.2f} | {m['index_bytes'] / 1e12:,.2f} | {m['mapped_bytes'] / 1e9:,.0f} | {per_row * urls / 3600:,.0f} |")
    if options.json:
        options.json.write_text(json.dumps(builds, indent=1))
    for words in wrong:
        print(words, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
