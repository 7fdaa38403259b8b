#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.py - what was asked and what was seen, from all results that are kept.

    bench/report.py             reads bench/results/*.json, writes the head of bench/RESULTS.md and
                                build/bench/report.html: one file, with the pictures in it
    bench/report.py --fresh     reads build/bench/*.json, what was measured last; writes the page only

Exit 1 when there are no results. Whether something was reached is told where what was asked begins
with >=, <=, > or < and a number; nothing is left out when it was not.
"""
import argparse
import html
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
import result       # noqa: E402

FRESH = HERE.parent / "build" / "bench"
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 } td, th { padding: .2em .7em; border-bottom: 1px solid #ddd;
text-align: left } td.n { text-align: right; font-variant-numeric: tabular-nums } .no { color: #a33; font-weight: 600 }
.yes { color: #1a6b54 } svg { max-width: 100%; height: auto } p.origin { color: #555 } summary { cursor: pointer }
"""


def number(value):
    """The first number of a value, as what was seen may stand among words."""
    if isinstance(value, (int, float)):
        return float(value)
    found = re.search(r"-?\d[\d,]*(?:\.\d+)?", str(value))
    return float(found[0].replace(",", "")) if found else None


def reached(expected):
    """True, False, or None where that cannot be told."""
    asked = re.match(r"(>=|<=|>|<)\s*(-?[\d,.]+)", str(expected["asked"]))
    seen = number(expected["seen"])
    if not asked or seen is None or seen != seen:
        return None
    limit = float(asked[2].replace(",", ""))
    return {">=": seen >= limit, "<=": seen <= limit, ">": seen > limit, "<": seen < limit}[asked[1]]


def figure(value):
    return value if isinstance(value, str) else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


WORDS = {True: "reached", False: "**not reached**", None: ""}


def peers(results):
    """What answered, in which version, and what did not."""
    for each in results:
        versions = {}
        for row in [r for r in each["rows"] if r.get("version")]:
            versions.setdefault(row["version"], row["name"].split(",")[0])
        if versions:
            yield f"{each['bench']}: " + "; ".join(
                version if version.lower().startswith(name.lower()[:5]) else f"{name} {version}"
                for version, name in versions.items()) + "."
        yield from (note for note in each["notes"] if note.startswith("Not measured"))


def head(results):
    """Lines of Markdown."""
    yield ("What was asked of it beforehand, and what was seen. Each figure is from a run of the command that is named "
           "below it, with what it is put beside in the same run; ratios are medians of the rounds' ratios. Sections "
           "below have the whole of it.")
    yield from ("", "| benchmark | asked | seen | | |", "| --- | --- | --: | --- | --- |")
    for each in results:
        for e in each["expected"]:
            # Some benchmarks say it themselves.
            words = "" if "reached" in e["words"] else WORDS[reached(e)]
            yield (f"| {each['bench']} | {e['what']} {e['asked']} | {figure(e['seen'])} | {words} | "
                   f"{e['words']} |")
    yield from ("", "| benchmark | command | revision | date | load before |",
                "| --- | --- | --- | --- | --: |")
    for each in results:
        yield (f"| {each['bench']} | `{each['command']}` | {each['revision']} | {each['date']} | "
               f"{each['load_before']} |")
    machines = dict.fromkeys(f"{each['machine']}; {each['compiler']}" for each in results)
    yield from ("", f"Machine: {' / '.join(machines)}.", "")
    told = list(peers(results))
    if told:
        yield from ("Beside us (`scripts/bench_peers.sh` and `scripts/storage_servers.sh` get them):", "")
        yield from (f"* {line}" for line in told)


# ------------------------------------------------------------------------------------- the page

def cells(values, tag="td"):
    out = []
    for value in values:
        is_number = isinstance(value, (int, float))
        text = html.escape(figure(value) if is_number else str(value))
        out.append(f'<{tag}{" class=n" if is_number else ""}>{text}</{tag}>')
    return f"<tr>{''.join(out)}</tr>"


def table(heads, rows):
    return "\n".join(["<table>", cells(heads, "th"), *map(cells, rows), "</table>"])


def pictures(text):
    for name in re.findall(r"\]\(pictures/([\w.-]+\.svg)\)", text):
        path = HERE / "pictures" / name
        if path.exists():
            yield path.read_text(encoding="utf-8")


def section(each, text):
    title = re.search(r"^## (.*)$", text, re.M)
    yield f"<h2 id='{each['bench']}'>{html.escape(title[1] if title else each['bench'])}</h2>"
    yield (f"<p class=origin>{html.escape(each['date'])}, revision {html.escape(each['revision'])}. "
           f"<code>{html.escape(each['command'])}</code>. Data: {html.escape(each['data'])}.</p>")
    yield from pictures(text)
    if each["ratios"]:
        yield table(("", "", "to", "of", "median of ratios", "rounds"),
                    [(r["group"], r["name"], r["to"], r["unit"], r["median"], len(r["values"]))
                     for r in each["ratios"]])
    yield f"<details><summary>{len(each['rows'])} figures</summary>"
    yield table(("", "", "median", "", "least", "most", "rounds"),
                [(r["group"], r["name"], r["median"], r["unit"], min(r["values"]), max(r["values"]),
                  len(r["values"])) for r in each["rows"] if r["values"]])
    yield "</details>"
    yield from (f"<p>{html.escape(note)}</p>" for note in each["notes"])


def page(results, sections):
    asked = []
    for each in results:
        for e in each["expected"]:
            state = reached(e)
            word = "" if state is None or "reached" in e["words"] else (f"<span class={'yes' if state else 'no'}>"
                                             f"{'reached' if state else 'not reached'}</span>")
            row = cells([each["bench"], f"{e['what']} {e['asked']}", figure(e["seen"]),
                         e["words"].replace("**", "")])
            asked.append(row.replace("</tr>", f"<td>{word}</td></tr>"))
    return "\n".join([
        "<!doctype html><html lang=en><meta charset=utf-8><title>domaindex: results</title>",
        f"<style>{STYLE}</style><h1>domaindex: what was asked, what was seen</h1>",
        f"<p class=origin>{html.escape(results[0]['machine'])}; {html.escape(results[0]['compiler'])}</p>",
        "<table>", cells(("benchmark", "asked", "seen", "", ""), "th"), *asked, "</table>",
        *[f"<p>{html.escape(line)}</p>" for line in peers(results)],
        *[line for each in results for line in section(each, sections.get(each["bench"], ""))],
        "</html>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--fresh", action="store_true", help="of what was measured last; writes the page only")
    options = parser.parse_args()
    folder = FRESH if options.fresh else HERE / "results"
    results = [json.loads(p.read_text(encoding="utf-8")) for p in sorted(folder.glob("*.json"))]
    results = [r for r in results if {"bench", "rows", "ratios", "expected", "notes"} <= r.keys()]
    if not results:
        print(f"report.py: no results in {folder}", file=sys.stderr)
        return 1
    lines = list(head(results))
    print("\n".join(lines))
    if not options.fresh:
        result.keep_section("report", ["## What was asked, and what was seen", "", *lines])
    text = (HERE / "RESULTS.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"<!-- ([\w.-]+) -->\n(.*?)<!-- end of \1 -->", text, re.S))
    FRESH.mkdir(parents=True, exist_ok=True)
    (FRESH / "report.html").write_text(page(results, sections), encoding="utf-8")
    print(FRESH / "report.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
