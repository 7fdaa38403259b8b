#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""What commands print for people says what their JSON says: `capacity`, `inspect` of a manifest with parts, `profiles --datasets-of`."""
import json
import re

import dxtest
from dxtest import check, equal

UNITS = {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def out(*arguments):
    return dxtest.domaindex(*arguments).stdout.decode()


def capacity():
    for numbers in (("--domains", 1000000), ("--domains", 70000000, "--pairs", 200000000, "--urls", 3000000000, "--memory", "64M", "--keep", 9)):
        facts = json.loads(out("capacity", *numbers, "--json"))
        text = out("capacity", *numbers)
        equal(text.splitlines()[0], f"domains {facts['domains']}, pairs {facts['pairs']}, URLs {facts['urls']}", "what was asked for")
        said = {name.strip(): float(n) * UNITS[unit] for name, n, unit in re.findall(r"^(.{26}) +([0-9.]+) (\w+)  ", text, re.M)}
        for name, member in (("lake", "lake_bytes"), ("index", "index_bytes"), ("mapped of it", "mapped_bytes"), ("disk or store", "disk_bytes"),
                             ("work space", "work_bytes"), ("memory of a server", "server_memory_bytes")):
            check(name in said and abs(said[name] - facts[member]) <= 0.06 * facts[member] + 1, f"{name}: {text!r} of {facts}")
        check(("beyond --memory" if facts["work_bytes"] else "within --memory") in text, f"work space: {text!r}")


def datasets_of(tmp):
    """One line for each path, in its order; the name begins with what the path says, and goes on with a column if the profile has one."""
    profiles = json.loads(out("profiles", "--json"))
    paths = [f"/data/set {i}/CC-MAIN-2024-1{i}/part-{i}.parquet" for i in range(3)]
    (tmp / "paths").write_text("".join(f"{path}\n" for path in paths))
    for profile in profiles:
        done = dxtest.domaindex("profiles", profile["profile"], "--datasets-of", tmp / "paths", expect=None)
        if done.returncode != 0:
            check("{crawl}" in profile["dataset"] or "{folder}" in profile["dataset"], f"{profile['profile']}: {done.stderr}")
            continue
        lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
        equal([line["path"] for line in lines], paths, f"{profile['profile']}: a line for each path")
        column = re.search(r"\{(?!crawl|folder|file)([^}]+)\}$", profile["dataset"])
        equal({line["column"] for line in lines}, {column.group(1) if column else None}, f"{profile['profile']}: the column")
        fixed = profile["dataset"].split("{")[0]
        check(all(line["prefix"].startswith(fixed) for line in lines), f"{profile['profile']}: {lines}")
    dxtest.domaindex("profiles", "--datasets-of", tmp / "paths", expect=2)
    dxtest.domaindex("profiles", profiles[0]["profile"], "--datasets-of", tmp / "none", expect=1)


def parts(tmp):
    root = tmp / "root"
    for i in range(2):
        dxtest.domaindex("ingest", "--root", root, "--dataset", f"d{i}", "--format", "list", "-",
                         input="".join(f"http://example{i * 50 + k}.com/\n" for k in range(50 - 45 * i)).encode())
        dxtest.domaindex("publish", "--root", root)
    newest = json.loads((root / "index" / "manifest.json").read_text())["versions"][-1]
    if not check(newest.get("parts"), f"the second version has an older part: {newest}"):
        return
    facts = json.loads(out("inspect", "--json", root / "index" / "manifest.json"))["versions"][-1]
    equal({name: facts[name] for name in ("parts", "part_domains", "part_rows", "first_file")},
          {name: newest[name] for name in ("parts", "part_domains", "part_rows", "first_file")}, "parts of a version")
    text = out("inspect", root / "index" / "manifest.json")
    check(newest["parts"][0] in text and re.search(r"part_domains\W+5\b", text), f"and for people: {text}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        capacity()
        datasets_of(tmp)
        parts(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
