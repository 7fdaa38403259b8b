#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""url_order.py - a site in over a thousand datasets: one page of all of them beside as many rows of the largest one.

    bench/url_order.py [--rounds 20] [--limit 10000] [--domain imgur.com] [--root ROOT] [--write] [--json FILE] [FILE]

FILE: TSV of dataset, Unix time, URL; default $DX_SHARED_DATA/lists/reddit-top-2.5-million/posts-A.tsv.zst, ingested and published into a temporary root
unless ROOT has it already. First all rows of the domain in each order, page by page, are compared with a recount of FILE in Python (their number, their
order, that each is there once). Then interleaved rounds of one page in each order, all kept but answers, some requests each: medians of time and of CPU
of the server, and the median of ratios of CPU to the largest dataset's listing. First pages of other limits, of which each merges: `first look`. A minute. DX_BIN_DIR (build/release): the programs.
"""
import argparse
import collections
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "tests" / "support")]
import dxtest       # noqa: E402
import serve        # noqa: E402
from result import Result  # noqa: E402

EACH = 8        # requests of a measurement


def lines_of(source):
    cat = ["zstd", "-dc"] if str(source).endswith(".zst") else ["cat"]
    with subprocess.Popen([*cat, str(source)], stdout=subprocess.PIPE) as run:
        for line in run.stdout:
            yield line.rstrip(b"\n").split(b"\t")


def host_path(url):
    host, _, path = url.split("://", 1)[1].partition("/")
    return host, "/" + path


def all_pages(server, target):
    """(dataset_id, url, ts) of all rows, and in how many pages."""
    path, got, pages = target.split("?")[0], [], 0
    while target:
        reply = server.get(target)
        if reply.status != 200:
            sys.exit(f"{target}: {reply.status} {reply.body[:300]}")
        got += [(i["dataset_id"], i["url"], i["ts"] or "") for i in reply.json["items"]]
        target = reply.json["next_cursor"] and f"{path}?cursor={reply.json['next_cursor']}"
        pages += 1
    return got, pages


ORDERS = {
    "": lambda r: r[0],
    "sort=url": lambda r: (*host_path(r[1]), r[2], r[0]),
    "sort=url&reverse=yes": lambda r: (*host_path(r[1]), r[2], r[0]),
}


def recount(server, domain, source, limit):
    """Rows by dataset, as the file has them: the number of its lines is an upper bound, as equal rows are one."""
    want = collections.Counter()
    for fields in lines_of(source):
        host = fields[2].split(b"/")[2].lower().rpartition(b"@")[2].partition(b":")[0] if len(fields) > 2 and fields[2].count(b"/") > 1 else b""
        if host in (domain.encode(), b"i." + domain.encode()):
            want[fields[0].decode()] += 1
    first = server.get(f"/v1/domain/{domain}/urls?limit=1").json
    base, _ = all_pages(server, f"/v1/domain/{domain}/urls?limit={limit}")
    for order, key in ORDERS.items():
        got, pages = all_pages(server, f"/v1/domain/{domain}/urls?limit={limit}{'&' * bool(order)}{order}")
        keys = [key(row) for row in got]
        if len(got) != first["total"] or collections.Counter(got) != collections.Counter(base) or keys != sorted(keys, reverse="reverse" in order):
            sys.exit(f"{order}: {len(got)} rows of {first['total']}, or not in order")
        print(f"{order or 'by dataset':24} {len(got)} rows in {pages} pages, as counted")
    hosts = 0
    for host in (domain, f"i.{domain}"):
        got, _ = all_pages(server, f"/v1/host/{host}/urls?limit={limit}")
        some = [row for row in base if host_path(row[1])[0] == host]
        if got != some or server.get(f"/v1/host/{host}/urls?limit=1").json["total"] != len(some):
            sys.exit(f"{host}: {len(got)} rows, and {len(some)} in the domain's listing")
        hosts += len(some)
    if hosts > sum(want.values()):
        sys.exit(f"{hosts} rows of two hosts, and {sum(want.values())} lines of the file")
    print(f"{'hosts':24} {hosts} rows of {domain} and i.{domain}, of {sum(want.values())} lines of the file")


def time_of(server, target):
    """Seconds and CPU of the server, for one page of EACH."""
    cpu, begin = serve.threads_cpu_s(server.process.pid), time.perf_counter()
    for _ in range(EACH):
        reply = server.get(target)
        if reply.status != 200:
            sys.exit(f"{target}: {reply.status} {reply.body[:300]}")
    seconds, cpu = time.perf_counter() - begin, serve.threads_cpu_s(server.process.pid) - cpu
    return seconds / EACH, cpu / EACH, len(reply.json["items"])


def compare(server, source, domain, rounds, limit):
    first = server.get(f"/v1/domain/{domain}").json
    datasets = first["datasets"]
    largest = max(datasets, key=lambda d: d["row_count"])
    one = f"/v1/domain/{domain}/datasets/{largest['dataset_id']}/urls?limit={limit}"
    targets = {f"largest of {len(datasets)} datasets": one, "all, by dataset": f"/v1/domain/{domain}/urls?limit={limit}", "all, sort=url": f"/v1/domain/{domain}/urls?sort=url&limit={limit}",
               "host i., by dataset": f"/v1/host/i.{domain}/urls?limit={limit}", "host i., sort=url": f"/v1/host/i.{domain}/urls?sort=url&limit={limit}"}
    few = largest["row_count"]
    targets.update({"all, by dataset, as many rows": f"/v1/domain/{domain}/urls?limit={few}", "all, sort=url, as many rows": f"/v1/domain/{domain}/urls?sort=url&limit={few}"})
    seconds, cpus, rows = {name: [] for name in targets}, {name: [] for name in targets}, {}
    for _ in range(rounds + 2):
        for name, target in targets.items():
            taken, cpu, rows[name] = time_of(server, target)
            seconds[name].append(taken)
            cpus[name].append(cpu)
    result = Result("url-order", data=f"{pathlib.Path(source).name}: {domain}, {first['row_count']:,} rows in {len(datasets):,} datasets, the largest of {few:,}")
    lines = ["| listing | rows of a page | ms | CPU ms | CPU, to the page of the largest dataset |", "| --- | --: | --: | --: | --: |"]
    base = next(iter(targets))
    for name in targets:
        result.add("page", name, "ms", [s * 1000 for s in seconds[name][2:]], more=False)
        result.add("page", name, "CPU ms", [s * 1000 for s in cpus[name][2:]], more=False)
        ratio = result.ratio("page", name, base, "CPU ms")
        lines.append(f"| {name} | {rows[name]:,} | {result.row('page', name, 'ms')['median']:.2f} | {result.row('page', name, 'CPU ms')['median']:.3f} | {ratio:.2f} |")
        if name.endswith("as many rows"):
            result.expect(f"{domain}, {name}, ms of a page, to the largest dataset's", "<= 5", result.ratio("page", name, base, "ms"))
    print("\n".join(lines))
    return result, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--limit", type=int, default=10000)
    parser.add_argument("--domain", default="imgur.com")
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("file", nargs="?")
    options = parser.parse_args()
    source = options.file or dxtest.shared_data("lists/reddit-top-2.5-million/posts-A.tsv.zst")
    if source is None:
        sys.exit("no reddit corpus: name a FILE, or set DX_SHARED_DATA")
    with dxtest.tempdir() as tmp:
        root = options.root or tmp / "root"
        if options.root is None:
            dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--ts-column", 2, "--url-column", 3, "--no-header", source)
            dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root, "--cache-answers", "0", "--cache-domains", "0", "--cache-pages", "512M") as server:
            recount(server, options.domain, source, options.limit)
            result, lines = compare(server, source, options.domain, options.rounds, options.limit)
    print(result.save(options.json))
    if options.write:
        result.keep("A site in many datasets", [*lines, "", *result.expectations()])


if __name__ == "__main__":
    main()
