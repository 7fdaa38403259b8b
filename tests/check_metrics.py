#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_metrics.py [--write] - the metrics of server/observe/metrics.def, and what is said of them.

docs/METRICS.md is the table of metrics.def (--write makes it so); a row has a name, type and help by the rules, and
is written somewhere in server/; and every name in alerts, dashboard and documents is one of a row.

Exit: 0 all is so, 1 something is not (each in a line).
"""
import pathlib
import re
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
DEF = TREE / "server" / "observe" / "metrics.def"
PAGE = TREE / "docs" / "METRICS.md"
ROW = re.compile(r'DX_METRIC\((\w+), "(\w+)", (\w+), "([\w, ]*)",\s*"([^"\\]*)"\)')
NAME = re.compile(r"(?<![\w/.-])domaindex_[a-z0-9_]*[a-z0-9](?![\w*-])")
HEAD = """# Metrics

What the admin listener of a server says at `/metrics` ([OPERATIONS.md](OPERATIONS.md#what-can-be-seen-of-a-server)). This page is made of
`server/observe/metrics.def` by `tests/check_metrics.py --write`. Labels are fixed words, never what a client sent.

| name | type | labels | what it says |
| --- | --- | --- | --- |
"""


def wrong_rows(rows, source):
    for ident, name, kind, _, text in rows:
        if not name.startswith(("domaindex_", "process_")) or name.removeprefix("domaindex_").upper() != ident:
            yield f"metrics.def: {name} does not go with its constant {ident}"
        if kind not in ("counter", "gauge", "histogram") or (kind == "counter") != name.endswith("_total"):
            yield f"metrics.def: {name} is a {kind}"
        if not text or text.endswith("."):
            yield f"metrics.def: {name}: help is words without a full stop at the end"
        if not re.search(rf"\bDX_METRIC_{ident}\b", source):
            yield f"metrics.def: no server writes {name}"


def unknown_names(names):
    places = [*(TREE / "packaging").rglob("*"), *(TREE / "docs").rglob("*.md"), TREE / "README.md"]
    for path in places:
        if not path.is_file() or path.suffix not in (".md", ".yaml", ".json"):
            continue
        for name in sorted(set(NAME.findall(path.read_text(encoding="utf-8")))):
            if re.sub(r"_(bucket|sum|count)$", "", name) not in names and name not in names:
                yield f"{path.relative_to(TREE)}: {name} is not in metrics.def"


def main():
    rows = ROW.findall(DEF.read_text(encoding="utf-8"))
    page = HEAD + "".join(f"| `{name}` | {kind} | {', '.join(f'`{x}`' for x in labels.split(', ') if x)} | {text} |\n"
                          for _, name, kind, labels, text in rows)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page, encoding="utf-8")
    source = "".join(path.read_text(encoding="utf-8") for path in (TREE / "server").rglob("*.c"))
    found = list(wrong_rows(rows, source)) + list(unknown_names({row[1] for row in rows}))
    if len(rows) != DEF.read_text(encoding="utf-8").count("\nDX_METRIC("):
        found.append("metrics.def: a row is not of the form that this script reads")
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
        found.append("docs/METRICS.md is not the table of metrics.def: run tests/check_metrics.py --write")
    print("\n".join(found), end="\n" if found else "")
    print(f"{len(rows)} metrics, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
