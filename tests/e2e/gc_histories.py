# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Random histories of ingest, publish, remove, rollback and gc, each step against a model.

DX_HISTORIES histories (3; 12 with DX_WHOLE=1) of 14 steps. The model knows of each version its state, and of each lake
file which versions had it, and says after each step what must be there: states in the manifest, the
lake files of a new version, and after a gc exactly the objects and lake files of the versions that
still have an entry, with those that no version ever had. In the end all is verified. gc runs with no
waits, or with an hour's, so that no clock is in the model; waits and leases are in gc_beside.py.

In detail: random histories of ingest, publish, remove, rollback and gc (`DX_HISTORIES`), each step against a
model: states, lake files of new versions, and exactly what must be left.
"""
import os
import random
import re
import time

import dxtest
import remains

HISTORIES = int(os.environ.get("DX_HISTORIES") or (12 if dxtest.WHOLE else 3))
STEPS = 14
NO_WAIT = ["--lease-ttl", "0s", "--cursor-life", "0s"]
OTHERS = re.compile(r"\.lock|index/manifest\.json|index/store\.json|index/claims/.*|leases/.*|"
                    r"index/suppressions\.log|registry\.json|psl\.dat|writers")


class History:
    def __init__(self, path, chance):
        self.there = remains.Folder(path)
        self.chance = chance
        self.states = {}       # version -> state, oldest first
        self.lake = {}         # version -> lake files
        self.objects = {}      # version -> objects, of its parts too
        self.parts = {}        # version -> the older ones that it needs
        self.current = None
        self.datasets = {}     # name -> id, of those that are not removed
        self.removed = set()   # ids of those that are
        self.ever = set()      # lake files that some version had
        self.batch = 0
        self.log = []

    def words(self):
        return f"{self.there.path.name}: {', '.join(self.log[-9:])}"

    def run(self, command, *arguments, expect=0):
        self.log.append(" ".join([command, *map(str, arguments)]))
        return dxtest.domaindex(command, "--root", self.there.root, *arguments, expect=expect)

    # ---- steps

    def ingest(self):
        name = self.chance.choice(sorted(self.datasets) or ["d0"])
        if self.chance.random() < 0.4 or not self.datasets:
            name = f"d{self.batch}"
        self.batch += 1
        urls = "".join(f"http://s{self.chance.randrange(6)}.example{self.chance.randrange(3)}.com/"
                       f"{self.batch}/{i}\n" for i in range(self.chance.randrange(1, 20)))
        self.log.append(f"ingest {name}")
        dxtest.domaindex("ingest", "--root", self.there.root, "--dataset", name, "--format", "list",
                         "-", input=urls.encode())
        registry = self.there.get("registry.json").decode()
        for number, text in re.findall(r'"dataset_id":(\d+),"name":"(d\d+)"', registry):
            self.datasets[text] = int(number)

    def dataset_of(self, path):
        return int(re.match(r"urls/dataset_id=(\d+)/", path)[1])

    def lake_there(self):
        return {name for name in self.there.names() if name.endswith(".parquet")}

    def publish(self):
        base = self.lake.get(self.current, set())
        want = {f for f in base | (self.lake_there() - self.ever)
                if self.dataset_of(f) not in self.removed}
        if not want:
            return
        done = self.run("publish", "--memory", "64M", "--threads", "1")
        version = done.stdout.decode().strip()
        if version in self.states:
            dxtest.equal(want, self.lake[version], f"{self.words()}: nothing new")
            return
        manifest = self.there.manifest()
        entry = [e for e in manifest["versions"] if e["version"] == version][0]
        got = remains.lake_of(self.there, entry)
        dxtest.equal(sorted(got ^ want), [], f"{self.words()}: lake files of the new version")
        self.states[version], self.current = "listed", version
        self.lake[version], self.objects[version] = got, remains.closure_of(manifest, entry)
        self.parts[version] = set(entry.get("parts", ()))
        self.ever |= got

    def remove(self):
        published = {self.dataset_of(f) for f in self.lake.get(self.current, ())}
        unpublished = {self.dataset_of(f) for f in self.lake_there() - self.ever}
        names = [n for n, i in sorted(self.datasets.items())
                 if i in published and i not in unpublished]
        if len(names) < 2:
            return
        name = self.chance.choice(names)
        self.run("remove", "--dataset", name)
        self.removed.add(self.datasets.pop(name))

    def rollback(self):
        names = [v for v in self.states if v != self.current]
        if not names:
            return
        version = self.chance.choice(names)
        done = self.run("rollback", version, expect=None)
        if done.returncode:     # what was ingested since was not compared with that version
            dxtest.check(self.lake_there() - self.ever and b"has lake files that no version has" in done.stderr,
                         f"{self.words()}: {done.stderr}")
            return
        self.current, self.states[version] = version, "listed"

    def gc(self):
        keep = self.chance.randrange(1, 4)
        waits = self.chance.choice([NO_WAIT, NO_WAIT, ["--lease-ttl", "3600s"]])
        young = self.chance.random() < 0.1
        really = self.chance.random() < 0.85
        self.run("gc", "--keep", keep, "--keep-for", "1h" if young else "0s", "--max-share", "100",
                 *waits, *(["--delete"] if really else []))
        kept = {*sorted(self.states)[-keep:], self.current}
        kept |= set().union(*(self.parts[v] for v in kept))
        going = [v for v in self.states if v not in kept and not young]
        if not really:
            return
        for version in going:
            if waits == NO_WAIT:
                del self.states[version], self.lake[version], self.objects[version]
            elif self.states[version] == "listed":
                self.states[version] = "condemned"
        self.check_objects()

    # ---- what must be

    def check_objects(self):
        """After a gc: what has an entry, and what never had one."""
        want = set().union(*self.lake.values(), *self.objects.values())
        names = {n for n in self.there.names() if not OTHERS.fullmatch(n)}
        got = {n for n in names if not n.endswith(".parquet") or n in self.ever}
        dxtest.equal(sorted(want - got)[:5], [], f"{self.words()}: missing")
        dxtest.equal(sorted(got - want)[:5], [], f"{self.words()}: still there")
        folders = {p.name for p in (self.there.path / "index").iterdir() if p.is_dir()} - {"claims"}
        dxtest.equal(folders, {o.split("/")[1] for o in want if o.startswith("index/")},
                     f"{self.words()}: folders")

    def check(self, new_before):
        if self.states:
            manifest = remains.whole(self.there, self.words())
            dxtest.equal({e["version"]: e["state"] for e in manifest["versions"]}, self.states,
                         f"{self.words()}: states")
            dxtest.equal(manifest["current_version"], self.current, f"{self.words()}: current")
        dxtest.equal(sorted(new_before - self.lake_there()), [], f"{self.words()}: new data is gone")

    def step(self):
        steps = [self.ingest, self.ingest, self.publish, self.publish, self.publish, self.remove]
        if self.states:
            steps += [self.rollback, self.gc, self.gc, self.gc]
        new_before = self.lake_there() - self.ever
        self.chance.choice(steps)()
        self.check(new_before)


def main():
    dxtest.need_programs()
    seed = int(os.environ.get("DX_SEED", str(int(time.time()))))
    print(f"DX_SEED={seed}", flush=True)
    versions = 0
    with dxtest.tempdir() as tmp:
        for number in range(HISTORIES):
            history = History(tmp / f"history{number}", random.Random(seed * 1000 + number))
            history.ingest()
            history.publish()
            for _ in range(STEPS):
                history.step()
            history.log.append("verify")
            dxtest.domaindex("verify", "--root", history.there.root, "--deep")
            versions += len(history.ever)
            history.there.clear()
            if dxtest.failures() > 5:
                break
    print(f"{HISTORIES} histories, {versions} lake files in versions", flush=True)
    dxtest.finish()


if __name__ == "__main__":
    main()
