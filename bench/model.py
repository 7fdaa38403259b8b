#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""model.py - how far `domaindex capacity` is from real builds, and what it says of larger ones.

    bench/model.py [--builds 100K,1M,10M] [--work DIR] [--json FILE]
    bench/model.py --fleets [--write]

For each build: make_rows | domaindex ingest | publish below --work (default /var/tmp), then bytes of the lake, of the index and of what a server maps, beside what
`domaindex capacity` says for the same numbers of domains, pairs and URLs; and seconds of CPU. 10 M domains take a minute and 4 GB of disk. Exit 1 if an estimate
is off by more than a quarter. Then, or with --fleets at once, the tables of docs/SCALE.md that are computed: bytes by `domaindex capacity`, all else from
what was measured, as bench/results/*.json (bench/RESULTS.md) have it. --write puts them into docs/SCALE.md; the test `scale` compares.
"""
import argparse
import json
import math
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
FLEETS = (("10^8; 3·10^8; 3·10^9", 10**8, 3 * 10**8, 3 * 10**9), ("10^9; 5·10^9; 3·10^10", 10**9, 5 * 10**9, 3 * 10**10),
          ("10^9; 2·10^10; 3·10^11", 10**9, 2 * 10**10, 3 * 10**11))
LARGE = "big-100M"
SERVERS, GBIT = 100, 10


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


# ---- from what was measured ----


def measured(bench, group, name, unit, pick=None):
    """The median of a row of bench/results, or what `pick` takes of its values."""
    rows = json.loads((HERE / "results" / f"{bench}.json").read_text())["rows"]
    (row,) = (r for r in rows if (r["group"], r["name"], r["unit"]) == (group, name, unit))
    return pick(row["values"]) if pick else row["median"]


def large_build():
    """The build of 100 M domains: domains, pairs, URLs; bytes of lake and index. A URL is a row there but for one in 200."""
    index = measured(LARGE, "size", "index", "B/domain") * 1e8
    pairs, urls = (round(index / measured(LARGE, "size", "index", unit)) for unit in ("B/pair", "B/URL"))
    return 10**8, pairs, urls, measured(LARGE, "size", "lake", "B/URL") * urls, index


def us_a_request(domains):
    """Of one core, /v1/domain under Zipf traffic: each tenfold of domains adds the same, as two measured sizes say."""
    million, hundred = (1e6 / measured(LARGE, "/v1/domain under Zipf", f"{n} domains", "requests/s") for n in ("1,000,000", "100,000,000"))
    return million + (hundred - million) / 2 * math.log10(domains / 1e6)


def fleets_table():
    urls_built = large_build()[2]
    hours = [measured(LARGE, "build", step, "CPU s") / urls_built / 3600 for step in ("ingest", "publish")]
    yield "| domains, pairs, URLs | lake, TB | index, TB | store, TB | mapped, GB | memory of a server, GB | core hours: ingest + publish | `/v1/domain`, requests/s of a core | `/v1/url`, rows read for nothing |"
    yield "| --- | --: | --: | --: | --: | --: | --: | --: | --: |"
    for words, domains, pairs, urls in FLEETS:
        m = capacity(domains, pairs, urls)
        yield (f"| {words} | {m['lake_bytes'] / 1e12:,.2f} | {m['index_bytes'] / 1e12:,.2f} | {m['disk_bytes'] / 1e12:,.2f} | {m['mapped_bytes'] / 1e9:,.0f} | "
               f"{m['server_memory_bytes'] / 1e9:,.0f} | {hours[0] * urls:,.0f} + {hours[1] * urls:,.0f} | {1e6 / us_a_request(domains):,.0f} | {urls / 2**32:,.1f} |")


def flips_table():
    checked = large_build()[4] / measured(LARGE, "start", "every byte checked (--verify yes), page cache warm", "s")
    changes = [(f"1,000 domains onto 10^7, {words} of 20 publishes", measured("increments-10000000-1000", "increment", "written", "MB", pick) * 1e6)
               for words, pick in (("median", None), ("most", max))]
    changes += [(f"all parts merged: {words}", capacity(domains, pairs, urls)["mapped_bytes"]) for words, domains, pairs, urls in FLEETS]
    yield f"| what is new | MB a server | GB of {SERVERS} servers | s at {GBIT} Gbit/s | s to check and open |"
    yield "| --- | --: | --: | --: | --: |"
    for words, size in changes:
        yield f"| {words} | {few(size / 1e6)} | {few(SERVERS * size / 1e9)} | {few(size * 8 / GBIT / 1e9)} | {few(size / checked)} |"


def few(number):
    """With some digits that count."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}" if number >= 0.01 else f"{number:.4f}"


def large_table():
    domains, pairs, urls, lake, index = large_build()
    m = capacity(domains, pairs, urls)
    yield "| domains, pairs, URLs | lake, MB (model / real) | index |"
    yield "| --- | --: | --: |"
    yield f"| {domains:,}; {pairs:,}; {urls:,} | {lake / 1e6:,.1f} ({m['lake_bytes'] / lake:.2f}) | {index / 1e6:,.1f} ({m['index_bytes'] / index:.2f}) |"


TABLES = {"large": large_table, "fleets": fleets_table, "flips": flips_table}


def fleets_text():
    return "\n".join(line for table in TABLES.values() for line in (*table(), ""))


def with_tables(text):
    """A document with the tables between their marks."""
    for name, table in TABLES.items():
        begin, end = f"<!-- {name}, by bench/model.py -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        _, found, behind = rest.partition(end)
        if not found:
            raise ValueError(f"no table {name} in docs/SCALE.md")
        text = before + begin + "".join(f"{line}\n" for line in table()) + end + behind
    return text


def show_fleets(write):
    document = HERE.parent / "docs" / "SCALE.md"
    text = document.read_text(encoding="utf-8")
    print(fleets_text(), end="")
    if write:
        document.write_text(with_tables(text), encoding="utf-8")
        return 0
    if with_tables(text) != text:
        print("docs/SCALE.md has other tables: bench/model.py --fleets --write", file=sys.stderr)
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--builds", default="100K,1M,10M")
    parser.add_argument("--work", default="/var/tmp")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--fleets", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.fleets:
        return show_fleets(options.write)
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
    print("\n" + fleets_text(), end="")
    if options.json:
        options.json.write_text(json.dumps(builds, indent=1))
    for words in wrong:
        print(words, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
