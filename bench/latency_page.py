#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""latency_page.py - latency curves of one or several loads in one HTML page.

    bench/latency_page.py [NAME=]FILE.json … -o page.html

FILE: what `dxload --json` wrote; NAME: its words, else the name of the file. The page has no parts
elsewhere: a picture of all loads, one for each part of a mix, and a table. The horizontal axis is the
percentile, each step ten times rarer. The first load is drawn in the colour of own figures.
"""
import argparse
import json
import pathlib
import sys
import tempfile
from html import escape

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import chart  # noqa: E402

COLUMNS = ("p50", "p90", "p95", "p99", "p99.9", "p99.99", "max")
STYLE = ("body{font:15px system-ui,sans-serif;margin:2em auto;max-width:60em}"
         "td,th{padding:.2em .8em;text-align:right}td:first-child{text-align:left}"
         "svg{max-width:100%}")


def picture(title, subtitle, curves):
    with tempfile.NamedTemporaryFile(suffix=".svg") as file:
        chart.percentiles(file.name, title, subtitle, curves)
        return pathlib.Path(file.name).read_text(encoding="utf-8")


def words_of(load):
    due = f", {load['due_rate']:,.0f}/s due" if load["loop"] == "open" else ""
    return (f"{load['loop']} loop{due}, {load['connections']} connections, "
            f"{load['requests']:,} replies, {load['wrong']} wrong")


def table(rows):
    yield f"<table><tr><th></th><th>requests/s</th>{''.join(f'<th>{c}</th>' for c in COLUMNS)}</tr>"
    for name, rate, latency in rows:
        cells = "".join(f"<td>{latency[c]:,.0f}</td>" for c in COLUMNS)
        yield f"<tr><td>{escape(name)}</td><td>{rate:,.0f}</td>{cells}</tr>"
    yield "</table>"


def page(loads):
    """loads: [(name, figures)]; the text of the page."""
    shown = [(name, load) for name, load in loads if load["latency_us"]["curve"]]
    if not shown:
        raise SystemExit("no load has a reply")
    first = shown[0][0]
    out = ["<!doctype html><meta charset=utf-8><title>Latencies</title>", f"<style>{STYLE}</style>",
           "<h1>Latencies, microseconds</h1>",
           picture("all requests", "; ".join(sorted({words_of(load) for _, load in shown}))[:120],
                   [(name, load["latency_us"]["curve"], name == first) for name, load in shown])]
    out += table((name, load["rate"], load["latency_us"]) for name, load in shown)
    for part in sorted({p["name"] for _, load in shown for p in load["parts"] if
                        len(load["parts"]) > 1}):
        of = [(name, p) for name, load in shown for p in load["parts"]
              if p["name"] == part and p["latency_us"]["curve"]]
        if of:
            out += [f"<h2>{escape(part)}</h2>",
                    picture(part, "", [(n, p["latency_us"]["curve"], n == first) for n, p in of])]
            out += table((n, p["rate"], p["latency_us"]) for n, p in of)
    out += [f"<p>{escape(name)}: {escape(words_of(load))}</p>" for name, load in shown]
    return "\n".join(out) + "\n"


def read(argument):
    name, _, path = argument.rpartition("=")
    load = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    return name or pathlib.Path(path).stem, load


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("loads", nargs="+", metavar="[NAME=]FILE.json")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    options = parser.parse_args()
    options.output.write_text(page([read(a) for a in options.loads]), encoding="utf-8")


if __name__ == "__main__":
    main()
