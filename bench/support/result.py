# SPDX-License-Identifier: Apache-2.0
"""The result of a benchmark: rows of figures that two revisions can be compared by.

    r = Result("http", data="posts-A.tsv.zst: 1,132,475 records")
    r.add("/v1/domain hit", "domaindexd", "requests/s", values, more=True)      more is better
    r.add("/v1/domain hit", "nginx, constant file", "requests/s", values, more=True)
    r.ratio("/v1/domain hit", "domaindexd", "nginx, constant file")             median of the rounds' ratios
    r.expect("/v1/domain hit, to nginx", ">= 1.2", 1.24)                        what was asked, what was seen
    r.note("p99 under others' load")
    r.save(options.json)                       build/bench/http.json unless named
    if options.write:
        r.keep(title, markdown)                RESULTS.md between its marks, results/http.json

A row is (group, name, unit): values of the rounds, in the order of rounds. Rounds of one group are
interleaved, so that the n-th values of its rows belong together; that is what ratio() divides.
"""
import datetime
import json
import pathlib
import statistics
import sys

import machine

BENCH = pathlib.Path(__file__).resolve().parents[1]


def median(values):
    return statistics.median(values) if values else float("nan")


class Result:
    def __init__(self, name, data):
        self.name = name
        self.figures = {
            "bench": name, "date": datetime.date.today().isoformat(),
            "revision": machine.revision(), "machine": machine.words(),
            "compiler": machine.compiler(), "load_before": round(machine.load(), 2),
            "command": " ".join([f"bench/{pathlib.Path(sys.argv[0]).name}", *sys.argv[1:]]),
            "data": data, "rows": [], "ratios": [], "expected": [], "notes": []}

    def add(self, group, name, unit, values, more, **about):
        values = [float(v) for v in values]
        self.figures["rows"].append({
            "group": group, "name": name, "unit": unit, "better": "more" if more else "less",
            "values": values, "median": median(values), **about})

    def row(self, group, name, unit=None):
        return next(r for r in self.figures["rows"] if (r["group"], r["name"]) == (group, name)
                    and unit in (None, r["unit"]))

    def ratio(self, group, name, to, unit=None, judged=None):
        """judged: `to` where that is the one whose gain is a gain, else name."""
        ours, theirs = self.row(group, name, unit), self.row(group, to, unit)
        rounds = [a / b for a, b in zip(ours["values"], theirs["values"]) if b]
        self.figures["ratios"].append({"group": group, "name": name, "to": to,
                                       "unit": ours["unit"], "values": rounds,
                                       "better": ours["better"] if judged in (None, name) else
                                       {"more": "less", "less": "more"}[ours["better"]],
                                       "median": median(rounds)})
        return median(rounds)

    def expect(self, what, asked, seen, words=""):
        self.figures["expected"].append({"what": what, "asked": asked, "seen": seen,
                                         "words": words})

    def note(self, words):
        self.figures["notes"].append(words)

    def save(self, path=None):
        path = pathlib.Path(path or BENCH.parent / "build" / "bench" / f"{self.name}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.figures, indent=1) + "\n", encoding="utf-8")
        return path

    # ---- text

    def origin(self):
        f = self.figures
        return (f"{f['date']}, revision {f['revision']}. {f['machine']}; {f['compiler']}. Command: "
                f"`{f['command']}`. Data: {f['data']}. Load of the machine before: {f['load_before']}.")

    def expectations(self):
        if self.figures["expected"]:
            yield "| asked | seen | |"
            yield "| --- | --: | --- |"
        for e in self.figures["expected"]:
            seen = e["seen"] if isinstance(e["seen"], str) else f"{e['seen']:,.3g}"
            yield f"| {e['what']} {e['asked']} | {seen} | {e['words']} |"

    def keep(self, title, lines):
        """Between two marks in RESULTS.md, so that the other results stay."""
        self.save(BENCH / "results" / f"{self.name}.json")
        keep_section(self.name, [f"## {title}", "", self.origin(), "", *lines,
                                 *[f"\n{words}" for words in self.figures["notes"]]])


def keep_section(name, lines):
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    path = BENCH / "RESULTS.md"
    old = path.read_text(encoding="utf-8") if path.exists() else "# Results\n"
    new = "\n".join([begin, *lines, end]) + "\n"
    if begin in old:
        before, rest = old.split(begin, 1)
        text = before + new + rest.split(end, 1)[1].lstrip("\n")
    else:
        text = old.rstrip("\n") + "\n\n" + new
    path.write_text(text, encoding="utf-8")
