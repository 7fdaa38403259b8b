#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reddit.sh [--write] [FILE] - ingest, publish, and what it costs, for the reddit corpus.
#
# FILE: TSV of dataset, Unix time, URL, extra, plain or compressed; default
# $DX_SHARED_DATA/lists/reddit-top-2.5-million/posts-A.tsv.zst. Prints a table in Markdown;
# --write also keeps it in bench/RESULTS.md. RUNS (3) times each step; the median is told.
# DX_BIN_DIR (build/release), MEMORY (1G) for --memory.
set -euo pipefail
cd "$(dirname "$0")/.."
write=
if [ "${1:-}" = --write ]; then
    write=1
    shift
fi
input=${1:-${DX_SHARED_DATA:-../shared/data}/lists/reddit-top-2.5-million/posts-A.tsv.zst}
bin=${DX_BIN_DIR:-build/release}
runs=${RUNS:-3}
memory=${MEMORY:-1G}
[ -e "$input" ] || { echo "reddit.sh: $input is not here (see bench/README.md)" >&2; exit 77; }
[ -x "$bin/domaindex" ] || { echo "reddit.sh: build first: cmake --preset release && cmake --build --preset release" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 - "$input" "$bin" "$runs" "$memory" "$work" "$write" <<'PYTHON'
import json, os, pathlib, platform, re, resource, statistics, subprocess, sys, time, urllib.request

source, bin_dir, runs, memory, work, write = sys.argv[1:]
runs, work, bin_dir = int(runs), pathlib.Path(work), pathlib.Path(bin_dir)


def measured(*command):
    """Seconds and peak resident bytes of one program."""
    begin = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    words = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{words.decode(errors='replace')}")
    return time.monotonic() - begin, usage.ru_maxrss * 1024


def size_of(folder):
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


def index_part(version, file):
    relative = file.relative_to(version)
    return f"postings/*/{relative.name}" if relative.parts[0] == "postings" else str(relative)


load = os.getloadavg()[0]
ingest, publish = [], []
for run in range(runs):
    root = work / f"root-{run}"
    ingest.append(measured(bin_dir / "domaindex", "ingest", "--root", root, "--memory", memory,
                           "--format", "tsv", "--dataset-column", 1, "--ts-column", 2,
                           "--url-column", 3, "--extra-column", 4, source))
    publish.append(measured(bin_dir / "domaindex", "publish", "--root", root, "--memory", memory))
manifest = json.loads((root / "index/manifest.json").read_text())
name = manifest["current_version"]
version = next(p for p in (root / "index").iterdir() if p.is_dir() and p.name in (name, name.replace(":", "-")))

server = subprocess.Popen([bin_dir / "domaindexd", "--root", root, "--listen", "127.0.0.1:0"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
address = re.search(rb"127\.0\.0\.1:\d+", server.stdout.readline()).group().decode()
totals = json.load(urllib.request.urlopen(f"http://{address}/v1/versions"))["versions"][-1]
server.terminate()
server.wait()

cat = {b"(\xb5/\xfd": ["zstd", "-dc"], b"\x1f\x8b": ["gzip", "-dc"]}
head = open(source, "rb").read(4)
unpack = cat.get(head) or cat.get(head[:2]) or ["cat"]
lines = int(subprocess.run(f"{' '.join(unpack)} '{source}' | wc -l", shell=True, check=True,
                           capture_output=True).stdout)

domains, pairs, urls, rows = (totals[k] for k in ("domain_count", "pair_count", "url_count", "row_count"))
lake = sum(f.stat().st_size for f in (root / "urls").rglob("*.parquet"))
index = size_of(version)
parts = {}
for file in version.rglob("*"):
    if file.is_file():
        part = index_part(version, file)
        parts[part] = parts.get(part, 0) + file.stat().st_size


def median(values, which):
    return statistics.median(v[which] for v in values)


def spread(values):
    return f"{min(v[0] for v in values):.2f}–{max(v[0] for v in values):.2f}"


cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
ram = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
try:
    cache = (bin_dir / "CMakeCache.txt").read_text()
    compiler = re.search(r"CMAKE_C_COMPILER:\w+=(.*)", cache).group(1)
    compiler = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    build = re.search(r"CMAKE_BUILD_TYPE:\w+=(.*)", cache).group(1)
except (OSError, AttributeError):
    compiler, build = "?", "?"
revision = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
i_s, p_s = median(ingest, 0), median(publish, 0)
text = [
    f"## {pathlib.Path(source).name}: {lines:,} records, {totals['dataset_count']:,} datasets",
    "",
    f"{time.strftime('%Y-%m-%d')}, revision {revision}. {os.cpu_count()} cores of {cpu}, {ram} GiB, "
    f"{platform.system()} {platform.release()}; {compiler}, {build}.",
    f"Command: `RUNS={runs} MEMORY={memory} bench/reddit.sh`. Medians of {runs} runs; caches of the system warm; "
    f"load of the machine before the first run {load:.1f}.",
    "",
    "| | |",
    "| --- | --: |",
    f"| ingest | {i_s:.2f} s ({spread(ingest)}), **{lines / i_s:,.0f} records/s** |",
    f"| ingest, peak memory | {median(ingest, 1) / 2**20:.0f} MiB |",
    f"| publish (index build) | {p_s:.2f} s ({spread(publish)}) |",
    f"| publish, peak memory | {median(publish, 1) / 2**20:.0f} MiB |",
    f"| domains, (domain, dataset) pairs | {domains:,}, {pairs:,} |",
    f"| distinct URLs in their datasets, rows | {urls:,}, {rows:,} |",
    f"| lake | {lake:,} B, **{lake / urls:.1f} B/URL** |",
    f"| index | {index:,} B, **{index / domains:.1f} B/domain, {index / pairs:.1f} B/pair** |",
    "",
    "| file of the index | bytes | B/domain | B/pair |",
    "| --- | --: | --: | --: |",
]
for part, size in sorted(parts.items(), key=lambda p: -p[1]):
    text.append(f"| {part} | {size:,} | {size / domains:.2f} | {size / pairs:.2f} |")
text = "\n".join(text) + "\n"
print(text)
if write:
    # What other benches keep there stands between marks of their own.
    results = pathlib.Path("bench/RESULTS.md")
    kept = re.findall(r"<!-- \S+ -->\n.*?<!-- end of \S+ -->\n", results.read_text(), re.S) \
        if results.exists() else []
    results.write_text("\n".join(["# Results\n", "Made by the commands that are named; see "
                                  "[README.md](README.md).\n", text, *kept]))
PYTHON
