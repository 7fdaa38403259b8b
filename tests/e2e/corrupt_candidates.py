#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Corrupt versions are put before a server that serves a sound one: none of them is accepted.

Each candidate is a version whose files were damaged (bits, zeros, cut, longer, missing, those of another
version or other pages, its rows in the lake, the manifest itself), in half of the cases with a
manifest that has the sizes and hashes of the damaged files, as if its writer had been at fault. Either it is
refused: then the old version answers as before, and /readyz and the metrics say why. Or the damage lies
in the lake, or in postings, of which loading reads a sample: then every answer is
the true one of the version, or an error, never another.

Half as many more are of versions of three parts: any but the first, which the sound version has too, is damaged, dead.dxb among the rest.

    DX_CANDIDATES=1000 tests/e2e/corrupt_candidates.py       in full; 24 without, 100 with DX_WHOLE=1

1,000 were run.
"""
import collections
import os
import random
import shutil
import time

import corpus
import dxtest
import manifests
import pipeline
import roots
from dxtest import check, equal

CANDIDATES = int(os.environ.get("DX_CANDIDATES") or (100 if dxtest.WHOLE else 24))
PER_SERVER = 25     # and one that served the candidate ends: its caches know sound blocks of that version now
OF_THE_VERSION = ("datasets.json.zst", "psl.dat.zst")
# Which files: the big ones have most bytes, the small ones most structure.
MAPPED = ("domains.dict", "domains.mphf", "domain_to_datasets.roar", "domain_counts.dxc", "postings.dxp", "pages.dxp",
          "dataset_domains.dxt", "cold.dxp")
OTHERS = ("datasets.json.zst", "psl.dat.zst", "files.tsv.zst", "facts.dat.zst", "sketches.dat.zst",
          "url_ids.dat.zst")
POSTINGS = ("postings.idx.zst", "postings.dat.zst")


class Candidate:
    """The folders of version B and what lies in the lake for it alone, to be damaged and restored. In folder is the part that is damaged."""

    def __init__(self, root, kept, sound, victim, lake, rng):
        self.root, self.kept, self.sound, self.victim, self.lake, self.rng = root, kept, sound, victim, lake, rng
        self.manifest = manifests.Manifest(root)
        self.manifest.flip(victim)
        parts = set(self.manifest.entry(victim).get("parts", ())) - {sound}
        self.part = rng.choice([victim, *sorted(parts)]) if parts else victim
        self.folder = root / "index" / self.part
        self.touched = []
        self.words = ""

    def entry(self):
        return self.manifest.entry(self.part)

    def some_file(self, matching):
        rng = self.rng
        kind = rng.random()
        if kind < 0.6 or (matching and kind >= 0.85):
            return rng.choice(MAPPED + ("dead.dxb",) * 2 * ("dead.dxb" in self.entry()["files"])
                              + OF_THE_VERSION * (matching and self.part == self.victim))
        if kind < 0.85:
            return rng.choice(POSTINGS)
        return rng.choice([name for name in OTHERS if self.part == self.victim or name not in OF_THE_VERSION])

    def write(self, name, data, matching):
        """As a new file: what is mapped of the old one stays as it was."""
        path = self.folder / name
        path.chmod(0o644)
        path.unlink()
        path.write_bytes(data)
        self.touched.append(path)
        if matching:
            self.entry()["files"][name] = manifests.file_member(path)
        self.words += f" {'' if self.part == self.victim else 'older '}{name}{' (listed so)' if matching else ''}"

    def damaged(self, data, how):
        rng, data = self.rng, bytearray(data)
        if how == "bits":
            for _ in range(rng.choice((1, 1, 1, 8))):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        elif how == "zeros":
            at = rng.randrange(len(data))
            data[at:at + 4096] = bytes(len(data[at:at + 4096]))
        elif how == "cut":
            del data[rng.randrange(len(data)):]
        elif how == "longer":
            data += bytes(rng.randrange(1, 5000))
        return bytes(data)

    def damage_file(self, how, matching):
        name = self.some_file(matching)
        before = (self.folder / name).read_bytes()
        after = self.damaged(before, how)
        if after == before:     # zeros over zeros
            after = before[:-1] + bytes([before[-1] ^ 1])
        self.write(name, after, matching)

    def remove_file(self):
        name = self.some_file(False)
        (self.folder / name).unlink()
        self.touched.append(self.folder / name)
        self.words += f" {name}"

    def mix(self, matching):
        """Files of the sound version in the place of this one's."""
        for name in self.rng.sample(MAPPED, self.rng.choice((1, 1, 2, 3, 5))):
            self.write(name, (self.root / "index" / self.sound / name).read_bytes(), matching)

    def mix_pages(self, matching):
        """Postings with two pieces of their bytes in each other's place, or those of the sound version."""
        name = self.rng.choice(POSTINGS)
        data = (self.folder / name).read_bytes()
        if self.rng.random() < 0.3:
            data = (self.root / "index" / self.sound / name).read_bytes()
        else:
            size = self.rng.randrange(1, len(data) // 4)
            at, other = self.rng.randrange(len(data) // 2 - size), self.rng.randrange(len(data) // 2, len(data) - size)
            data = (data[:at] + data[other:other + size] + data[at + size:other] + data[at:at + size] + data[other + size:])
        self.write(name, data, matching)

    def numbers(self):
        """An entry that says another number, build or suffix list than the files."""
        member = self.rng.choice(("domains", "pairs", "rows", "urls", "datasets", "build_id", "psl_hash"))
        entry = self.manifest.entry(self.victim)
        if member in ("build_id", "psl_hash"):
            entry[member] = entry[member][::-1]
        else:
            entry[member] += 1
        self.words += f" {member}"

    def damage_lake(self, how):
        path = self.rng.choice(self.lake)
        data = path.read_bytes()
        path.unlink()
        if how != "missing":
            path.write_bytes(self.damaged(data, how))
        self.touched.append(path)
        self.words += f" {path.name}"

    def make(self):
        rng = self.rng
        kind = rng.choice(("bits",) * 6 + ("zeros", "cut", "longer", "missing", "mixed", "mixed", "pages", "numbers",
                           "lake", "lake", "manifest"))
        matching = rng.random() < 0.5
        self.words = kind
        if kind == "mixed":
            self.mix(matching)
        elif kind == "pages":
            self.mix_pages(matching)
        elif kind == "numbers":
            self.numbers()
        elif kind == "missing":
            self.remove_file()
        elif kind == "lake":
            self.damage_lake(rng.choice(("bits", "bits", "cut", "missing", "zeros")))
        elif kind != "manifest":
            self.damage_file(kind, matching)
        text = self.manifest.text()
        if kind == "manifest":
            text = self.damaged(text, rng.choice(("bits", "cut")))
        beside = self.root / "index" / "manifest.json.beside"
        beside.write_bytes(text)
        os.rename(beside, self.root / "index" / "manifest.json")
        return kind

    def restore(self, sequence):
        for path in self.touched:
            kept = self.kept / path.relative_to(self.root)
            path.unlink(missing_ok=True)
            shutil.copy2(kept, path)
        manifest = manifests.Manifest(self.kept)
        manifest.json["sequence"] = sequence
        manifest.flip(self.sound)
        manifest.put(self.root)


def state_of(server):
    flips = {}
    for line in server.admin("/metrics").body.decode().splitlines():
        if line.startswith("domaindex_index_flips_total{"):
            flips[line.split('"')[1]] = int(line.split()[1])
    return flips


def wait_for(words, true):
    end = time.monotonic() + 60
    while not true():
        if not check(time.monotonic() < end, words):
            dxtest.finish()
        time.sleep(0.002)


def ask_all(server, targets):
    with pipeline.Client(server) as client:
        return {target: (int(head[9:12]), body) for target, head, body in client.ask(targets)}


def judge(words, got, true, other, outcome):
    """Every answer is the version's own, or an error."""
    for target, (status, body) in got.items():
        if (status, body) == true[target]:
            continue
        outcome["errors"] += 1
        if not check(status >= 500 and b"urn:domaindex:problem:" in body,
                     f"{words}: {target}: {status} {body[:300]} instead of {true[target][1][:300]}"):
            outcome["WRONG, of the other version" if (status, body) == other[target] else "WRONG"] += 1


def one(server, candidate, maps, targets, several, outcome):
    """Whether it was served."""
    before = state_of(server)
    kind = candidate.make()
    words = candidate.words
    wait_for(f"{words}: no outcome", lambda: state_of(server) != before)
    ready = server.get("/readyz").json
    served = ready["version"]
    if served == candidate.sound:
        outcome["refused"] += 1
        step = next(k for k, n in state_of(server).items() if n != before[k])
        outcome[f"refused: {kind}, at {step}"] += 1
        check(step != "ok", f"{words}: refused and counted as {step}")
        check(ready["state"] == "degraded" and "the last reload failed" in ready["detail"], f"{words}: {ready}")
        equal(ask_all(server, targets), maps[candidate.sound], f"{words}: the old version answers on")
    else:
        errors = outcome["errors"]
        outcome["served"] += 1
        check(kind == "lake" or "postings" in words, f"a candidate with damage in its index was served: {words}")
        judge(words, ask_all(server, targets), maps[candidate.victim], maps[candidate.sound], outcome)
        outcome[f"served: {kind}, {'with errors' if outcome['errors'] > errors else 'all true'}"] += 1
    candidate.restore(candidate.manifest.json["sequence"])
    wait_for(f"{words}: not back", lambda: (r := server.get("/readyz").json)["version"] == candidate.sound
             and "the last reload failed" not in r.get("detail", ""))
    return served != candidate.sound


def add_rows(root, tmp, seed, count, parts):
    with open(tmp / "rows.tsv", "w", encoding="utf-8") as out:
        for raw, _ in corpus.rows(seed=seed, count=count):
            print(*raw, sep="\t", file=out)
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--ts-column", 2,
                     "--url-column", 3, "--extra-column", 4, "--no-header", tmp / "rows.tsv")
    dxtest.domaindex("publish", "--root", root, "--parts", parts)


def questions(root, server):
    rng = random.Random(5)
    targets = ["/v1/datasets", "/v1/datasets/1", "/v1/domain/nobody-has-this.example"]
    for name in rng.sample(roots.domains(root), 250):
        targets.append(f"/v1/domain/{name}")
        reply = server.get(f"/v1/domain/{name}")
        for dataset in reply.json["datasets"][:2] if reply.status == 200 else ():
            targets.append(f"/v1/domain/{name}/datasets/{dataset['dataset_id']}/urls?limit=10000&fields=url,ts,raw_url")
    return targets


def served(root, *options):
    return dxtest.Server(root, "--cursor-life", "0", "--lease", "no", "--poll-ms", "500", *options)


def candidates(tmp, parts, rows, count, outcome):
    """count of them, of a version of so many parts: the first is the sound version's too, the others came with `rows`."""
    tmp.mkdir()
    root = roots.make(tmp, seed=31, count=500 if parts == 1 else 1500)
    sound, old_lake = manifests.Manifest(root).current, set((root / "urls").rglob("*.parquet"))
    for number, more in enumerate(rows):
        add_rows(root, tmp, 32 + number, more, parts)
    manifest = manifests.Manifest(root)
    victim = manifest.current
    equal(len(manifest.entry(victim).get("parts", ())) + 1, parts, "parts")
    lake = sorted(set((root / "urls").rglob("*.parquet")) - old_lake)
    shutil.copytree(root, tmp / "kept")
    maps = {}
    with served(root) as server:
        targets = questions(root, server)
        maps[victim] = ask_all(server, targets)
        manifest.flip(sound)
        manifest.put(root)
        wait_for("flip", lambda: server.get("/readyz").json["version"] == sound)
        maps[sound] = ask_all(server, targets)
    check(sum(maps[sound][t] != maps[victim][t] for t in targets) > len(targets) // 2 // parts, "answers differ")
    check(all(status < 500 for status, _ in [*maps[sound].values(), *maps[victim].values()]), "sound")
    rng, left = random.Random(int(os.environ.get("DX_SEED", "9"))), count
    while left > 0:
        with served(root) as server:
            for _ in range(min(PER_SERVER, left)):
                left -= 1
                if one(server, Candidate(root, tmp / "kept", sound, victim, lake, rng), maps, targets, parts > 1, outcome):
                    break


def main():
    outcome = collections.Counter()
    with dxtest.tempdir() as tmp:
        candidates(tmp / "one", 1, (300,), CANDIDATES, outcome)
        candidates(tmp / "several", 3, (150, 20), CANDIDATES // 2, outcome)
    for what, count in sorted(outcome.items()):
        print(f"{count:6} {what}")
    equal(outcome["refused"] + outcome["served"], CANDIDATES + CANDIDATES // 2, "candidates")
    equal(outcome["WRONG"] + outcome["WRONG, of the other version"], 0, "wrong answers")
    check(outcome["refused"] > CANDIDATES // 2 and outcome["errors"] > 0, "damage was met")
    dxtest.finish()


if __name__ == "__main__":
    main()
