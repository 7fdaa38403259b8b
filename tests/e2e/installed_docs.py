#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow tree
"""What `cmake --install` puts in place can be read there: every link of the documents leads to a file of the installed tree and to a
heading of it, the files that texts name below packaging/ and docs/ are there, and paths of the installation are those of its prefix.
"""
import re
import shutil

import dxtest
from dxtest import check, equal


def prose(text):
    return re.sub(r"(?s)```.*?```", "", text)


def anchors(text):
    """As forges make them of headings."""
    found = set()
    for heading in re.findall(r"(?m)^#+ +(.*)$", prose(text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-"))
    return found


def follow(docs):
    followed = 0
    for page in sorted(docs.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(docs)
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            followed += 1
            if not check(target.exists(), f"{name}: nothing is installed at {link}"):
                continue
            check(docs.resolve() in [target, *target.parents] or target == page, f"{name}: {link} leaves the tree")
            if anchor and target.suffix == ".md":
                check(anchor in anchors(target.read_text(encoding="utf-8")), f"{name}: no heading for {link}")
        for file in set(re.findall(r"`(packaging/[\w./-]+\.\w+)`", text)):
            check((docs / file).exists() or "systemd" in file, f"{name}: nothing is installed at {file}")
    return followed


def main():
    dxtest.need_programs()
    if not shutil.which("cmake"):
        dxtest.skip("needs cmake (scripts/install_packages.sh build)")
    with dxtest.tempdir() as tmp:
        for prefix, root in ((tmp / "a b" / "usr", ""), ("/opt/domaindex", tmp / "stage")):
            dxtest.run("cmake", "--install", dxtest.BIN, "--prefix", prefix, env={"DESTDIR": str(root)})
            docs = dxtest.pathlib.Path(f"{root}{prefix}/share/doc/domaindex")
            check(follow(docs) > 100, "links to follow")
            operations = (docs / "docs" / "OPERATIONS.md").read_text(encoding="utf-8")
            check(f"cp {prefix}/share/doc/domaindex/domaindexd.conf.example" in operations, "OPERATIONS.md names the prefix")
            here = (dxtest.SOURCE / "docs" / "OPERATIONS.md").read_text(encoding="utf-8")
            equal(operations.replace(f"{prefix}/share/doc", "/usr/share/doc"), here, "and is else as it is here")
            for unit, program in (("domaindexd", "domaindexd"), ("domaindex-gc", "domaindex gc")):
                text = dxtest.pathlib.Path(f"{root}{prefix}/lib/systemd/system/{unit}.service").read_text()
                check(f"ExecStart={prefix}/bin/{program} " in text, f"{unit}.service names the prefix")
    dxtest.finish()


if __name__ == "__main__":
    main()
