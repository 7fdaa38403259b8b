#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_links.py [TREE] - every relative link in a Markdown file leads to a file, and every #anchor to a heading.

Exit: 0 all lead somewhere, 1 some do not (each printed as file:line: link).
"""
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\[[^\]\[]*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.M)
FENCE = re.compile(r"^```.*?^```", re.M | re.S)


def anchors(text):
    """The anchors that GitHub makes of the headings of a page."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        while name in found:
            name += "-1"
        found.add(name)
    return found


def problems(tree, page):
    text = page.read_text(encoding="utf-8")
    blank = FENCE.sub(lambda m: "\n" * m.group().count("\n"), text)
    for number, line in enumerate(blank.splitlines(), 1):
        for link in LINK.findall(line):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                yield number, f"{link}: there is no such file"
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
                yield number, f"{link}: {target.relative_to(tree)} has no such heading"


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=tree, capture_output=True,
                            text=True, check=False).stdout.split("\n")
    pages = [tree / name for name in listed if name] or [p for p in tree.rglob("*.md") if "build" not in p.parts]
    bad = 0
    for page in sorted(p for p in pages if p.exists()):
        for number, words in problems(tree, page):
            print(f"{page.relative_to(tree)}:{number}: {words}")
            bad += 1
    print(f"{len(pages)} pages, {bad} links that lead nowhere")
    return 1 if bad or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
