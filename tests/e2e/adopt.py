#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""`domaindex adopt`: lake files of several writers, each with a range of domains, answer as one ingest of all records does; it refuses
what it must (rows that are there, rows that two of the files have, another suffix list, files that changed or are links, other lists), and a run that is killed or
refused a system call leaves each dataset with its old rows or with the new ones, and the next run puts that right.
"""
import json
import os
import shutil

import dxtest
import inject
import manifests
from dxtest import check, equal

TASKS = 4
EDGE_DOMAINS = 4 * 2100  # two rows of each: a writer has over 4096
DATASETS = ("one", "two")


def records(version):
    """(dataset, domain, line), in the order of domains."""
    return sorted((dataset, f"site{i:03}.com", f"{dataset}\thttp://www.site{i:03}.com/{version}/{k}\t{1e9 + k:.0f}")
                  for dataset in DATASETS for i in range(40) for k in range(i % 5 + 1))


def ingest(root, lines, *more):
    text = "dataset\turl\tts\n" + "\n".join(lines) + "\n"
    dxtest.domaindex("ingest", "--root", root, "--dataset-column", "dataset", "--format", "tsv", "--threads", 1, *more, "-", input=text.encode())


def stage(folder, version, psl=None):
    """What the tasks of an engine write: each has the domains of a range. Lines of the list."""
    lines = []
    for task in range(TASKS):
        mine = [line for _, domain, line in records(version) if int(domain[4:7]) * TASKS // 40 == task]
        root = folder / f"task{task}"
        ingest(root, mine, *(("--psl", psl) if psl else ()))
        names = {d["dataset_id"]: d["name"] for d in json.loads((root / "registry.json").read_text())["datasets"]}
        for path in sorted(root.rglob("*.parquet")):
            number = int(path.parent.parent.name.split("=")[1])
            lines.append(f"{path.stat().st_size}\t00-ff\t{names[number]}\t{path}")
    return lines


def copied(lines, folder, to):
    """The files of some lines, as they are in a copy of their folder."""
    shutil.copytree(folder, to)
    return [line.replace(f"\t{folder}/", f"\t{to}/") for line in lines]


def adopt(root, lines, *more, **options):
    (root.parent / "list.tsv").write_text("\n".join(lines) + "\n")
    return dxtest.domaindex("adopt", "--root", root, "--list", root.parent / "list.tsv", *more, **options)


def answers(root):
    """All that lookup says of all domains and listings, without what names the version."""
    names = sorted({domain for _, domain, _ in records("x")})
    done = dxtest.domaindex("lookup", "--root", root, *names, expect=None).stdout
    for dataset in (1, 2):
        done += dxtest.domaindex("lookup", "--root", root, "--dataset", dataset, *names, expect=None).stdout
    objects = [json.loads(line) for line in done.splitlines()]
    for answer in objects:
        for member in ("version", "next_cursor"):
            answer.pop(member, None)
    return objects


def whole(root, version):
    ingest(root, [line for _, _, line in records(version)])
    dxtest.domaindex("publish", "--root", root)
    return answers(root)


def lake_line(root, way=None):
    """Of a file that the current version has, as it is or by another way to the root."""
    path = sorted(root.glob("urls/dataset_id=2/**/*.parquet"))[0]
    if way and not way.exists():
        way.symlink_to(root)
    return f"{path.stat().st_size}\t00-ff\tone\t{(way or root) / path.relative_to(root)}"


def check_refusals(tmp, root, lines):
    for words, changed, more in (
            ("has rows", lines, ()),
            ("bytes", [lines[0].replace("\t", "1\t", 1), *lines[1:]], ("--replace",)),
            ("No such file", ["5\t00\tone\t/nowhere/x.parquet"], ("--replace",)),
            ("not a regular file", [f"{(tmp / 'link').lstat().st_size}\t00\tone\t{tmp / 'link'}"], ("--replace",)),
            ("line 2", [lines[0], "x\t00\tone\t/a"], ()),
            ("line 1", ["5\tff-00\tone\t/a"], ()),
            ("lake itself", [*lines, lake_line(root)], ("--replace",)),
            ("lake itself", [*lines, lake_line(root, tmp / "way")], ("--replace", "--dry-run")),
            ("twice", [*lines, lines[0].replace("\tone\t", "\tthree\t")], ("--replace",)),
            ("suffix list", lines, ("--replace", "--psl", tmp / "other.dat"))):
        done = adopt(root, changed, *more, expect=1)
        check(words in done.stderr.decode(), f"{words}: {done.stderr.decode()[-300:]}")
    for dry in ((), ("--dry-run",)):
        done = adopt(root, lines, *dry, expect=1)
    check(all(os.path.exists(line.split("\t")[3]) for line in [*lines, lake_line(root)]), "a refused run moves nothing")
    dxtest.domaindex("verify", "--root", root)


def check_kills(tmp, old, new):
    """Old rows or new ones, and then new ones."""
    template = tmp / "template"
    ingest(template, [line for _, _, line in records("old")])
    dxtest.domaindex("publish", "--root", template)
    work = tmp / "work"
    lines = [line.replace(str(template), str(work / "root")) for line in stage(template / "spool", "new")]
    (tmp / "kill.tsv").write_text("\n".join(lines) + "\n")
    fresh = stage(tmp / "fresh", "new")

    def judge(root, words, done):
        dxtest.domaindex("publish", "--root", root)
        found = answers(root)
        if done.returncode == 0:
            return "adopted" if check(found == new, f"{words}: exit 0, and not the new rows") else "wrong"
        check(found in (old, new), f"{words}: neither the old rows nor the new ones")
        label = "new" if found == new else "old"
        again = root.parent / "again"
        shutil.rmtree(again, ignore_errors=True)
        adopt(root, copied(fresh, tmp / "fresh", again), "--replace")
        dxtest.domaindex("publish", "--root", root)
        check(answers(root) == new, f"{words}: the next run does not lead to the new rows")
        return label

    inject.sweep("adopt", template, work, lambda root: [str(dxtest.DOMAINDEX), "adopt", "--root", str(root), "--replace", "--list", str(tmp / "kill.tsv")],
                 judge, points=6 if dxtest.WHOLE else 2)


def check_edges(tmp):
    """Writers with ranges of domain ids that meet within prefixes: their files overlap in one prefix at most, so a publish with room for
    two files at a time takes all of them."""
    names = [f"edge{i:05}.com" for i in range(EDGE_DOMAINS)]
    ids = {name: f"{manifests.hash64(name.encode()):016x}" for name in names}
    names.sort(key=ids.__getitem__)
    files = []
    for task in range(TASKS):
        mine = names[task * len(names) // TASKS:(task + 1) * len(names) // TASKS]
        root = tmp / f"edge{task}"
        ingest(root, [f"edges\thttp://{name}/{k}\t1" for name in mine for k in range(2)], "--split-edges")
        first, last = ids[mine[0]][:2], ids[mine[-1]][:2]
        found = sorted(p.parent.name.split("=")[1] for p in root.rglob("*.parquet"))
        check(len(found) == 3 and found[0] == first and found[2] == last, f"task {task} from {first} to {last}: files {found}")
        files += [(p.parent.name.split("=")[1], p) for p in root.rglob("*.parquet")]
    files.sort(key=lambda file: (file[0][:2], int(str(file[1].relative_to(tmp)).split("/", 1)[0][4:])))
    root = tmp / "edges"
    adopt(root, [f"{path.stat().st_size}\t{prefix}\tedges\t{path}" for prefix, path in files])
    dxtest.domaindex("publish", "--root", root, "--memory", "64M", "--threads", 64)
    version = json.loads(dxtest.domaindex("versions", "--root", root, "--json").stdout)["versions"][0]
    equal((version["lake_files"], version["rows"]), (len(files), 2 * len(names)), "files and rows of a publish with room for two files")
    dxtest.domaindex("verify", "--root", root, "--deep")


def staged(root, lines, *more):
    """The lines of the list for what one task writes of some records of dataset 'd'."""
    ingest(root, [f"d\t{line}" for line in lines], *more)
    return [f"{p.stat().st_size}\t00-ff\td\t{p}" for p in sorted(root.rglob("*.parquet"))]


def check_twice(tmp):
    """Files of two tasks of which a row is in both: refused, with their names and the URL, and nothing is moved; of those that have
    only domains or URLs in common all rows are there once."""
    tmp.mkdir()
    urls = [f"http://www.site{i:03}.com/{k}\t{k + 1}" for i in range(60) for k in range(3)]
    big = [f"http://big{part}.big.com/{k:05}\t1" for part in range(3) for k in range(1500)]
    ranges = {"the same records": (urls, urls), "ranges that overlap": (urls[:100], urls[99:]), "the last row": (urls[:60], urls[60:] + urls[59:60]),
              "one domain": (big[:1], big[:1]), "borders within a domain": (urls[:90] + big[:2000], urls[90:] + big[1999:]),
              "other columns": ([urls[0], *urls[2:4]], [urls[4], urls[0]])}
    for number, (words, tasks) in enumerate(ranges.items()):
        lines = [line for k, records in enumerate(tasks) for line in staged(tmp / f"{number}-{k}", records, *(("--locators",) if words == "other columns" and k else ()))]
        root = tmp / f"root{number}"
        root.mkdir()
        for dry in ((), ("--dry-run",)) if dxtest.WHOLE else (((), ("--dry-run",))[number % 2],):
            said = adopt(root, lines, *dry, expect=1).stderr.decode()
            check(all(line.split("\t")[3] in said for line in lines) and "both have a row of http://" in said, f"{words}: {said}")
        check(all(os.path.exists(line.split("\t")[3]) for line in lines) and not list(root.rglob("*.parquet")) and not (root / "registry.json").exists(), f"{words}: a refused run moves nothing")
    whole_big = sorted(big)
    parts = 80 if dxtest.WHOLE else 5
    size = 4000 // parts
    apart = [urls[0::2], urls[1::2]] + [whole_big[k * size:(k + 1) * size] for k in range(parts)] + [[f"{urls[0][:-2]}\t99"]]
    lines = [line for k, records in enumerate(apart) for line in staged(tmp / "apart" / str(k), records)]
    more = copied(lines, tmp / "apart", tmp / "more")
    late = copied([line for line in lines if "/apart/5/" in line or f"/apart/{max(2, parts - 8)}/" in line], tmp / "apart", tmp / "late")
    root = tmp / "adopted"
    root.mkdir()
    adopt(root, lines)
    dxtest.domaindex("publish", "--root", root)
    equal(json.loads(dxtest.domaindex("versions", "--root", root, "--json").stdout)["versions"][0]["rows"], len(urls) + 4000 + 1, "rows of files that interleave")
    dxtest.domaindex("verify", "--root", root, "--deep")
    said = adopt(root, [*more, *late[::-1]], "--replace", expect=1).stderr.decode()
    check("both have a row of http://big" in said and f"{tmp}/late/" in said, f"among {len(more)} files that share a domain: {said}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        check_edges(tmp)
        check_twice(tmp / "twice")
        old, new = whole(tmp / "old", "old"), whole(tmp / "new", "new")
        root = tmp / "root"
        lines = stage(tmp / "stage", "old")
        check(len(lines) == TASKS * len(DATASETS), f"{len(lines)} files")
        root.mkdir()
        dry = adopt(root, lines, "--dry-run", "--json")
        equal(json.loads(dry.stdout), {"files": len(lines), "datasets": 2, "dry_run": True, "placed": []}, "adopt, dry")
        check(not list(root.iterdir()) and all(os.path.exists(line.split("\t")[3]) for line in lines), "a dry run moves nothing")
        adopt(root, lines)
        dxtest.domaindex("publish", "--root", root)
        equal(answers(root) == old, True, "adopted files answer as one ingest of all records")
        dxtest.domaindex("verify", "--root", root, "--deep")
        shutil.copy("/usr/share/publicsuffix/public_suffix_list.dat", tmp / "other.dat")
        with open(tmp / "other.dat", "a", encoding="utf-8") as file:
            file.write("site001.com\n")
        more = stage(tmp / "more", "new", root / "psl.dat")
        (tmp / "link").symlink_to(more[0].split("\t")[3])
        check_refusals(tmp, root, more)
        adopt(root, more, "--replace", "--psl", root / "psl.dat")
        dxtest.domaindex("publish", "--root", root)
        check(answers(root) == new, "files that replace answer as one ingest of the new records")
        ingest(root, ["one\thttp://www.site001.com/late\t1", "one\thttp://www.site001.com/new/0\t1000000000"])
        dxtest.domaindex("publish", "--root", root)
        late = json.loads(dxtest.domaindex("lookup", "--root", root, "--dataset", 1, "site001.com").stdout)
        equal(len(late["items"]), 3, "an ingest adds to what was adopted, what is there already once")
        dxtest.domaindex("verify", "--root", root, "--deep")
        if inject.can_trace() and not dxtest.SANITIZED:
            check_kills(tmp, old, new)
    dxtest.finish()


if __name__ == "__main__":
    main()
