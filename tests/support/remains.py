# SPDX-License-Identifier: Apache-2.0
"""remains - what is in a root, of either kind, and whether all is there that must be.

    there = remains.Folder(path)                     or remains.Bucket(store, "bucket", "prefix")
    there.root                                       as the commands want it
    there.names()                                    {object: size}, without temporary names
    there.get(name), there.put(name, bytes), there.remove(name), there.manifest()
    remains.lake_of(there, entry)                    names of the lake files of a version
    remains.objects_of(entry)                        names of its own objects in the index
    remains.file_of(there.get, entry, "files.tsv.zst")      bytes of one of its files, also of a pack
    remains.closure_of(manifest, entry)              names of its objects and of its parts'
    remains.whole(there, words)                      checks that every version that may be read is
                                                     there to the last object; gives the manifest
"""
import contextlib
import functools
import json
import os
import shutil
import subprocess
import urllib.parse
import xml.etree.ElementTree as xml

import dxtest


class Folder:
    def __init__(self, path):
        self.path = path
        self.root = str(path)

    def names(self):
        """What comes or goes meanwhile may be in it or not."""
        found = {}
        for folder, _, files in os.walk(self.path):
            for name in files:
                path = os.path.join(folder, name)
                with contextlib.suppress(FileNotFoundError):
                    if ".tmp-" not in name:
                        found[os.path.relpath(path, self.path)] = os.stat(path).st_size
        return found

    def get(self, name):
        return (self.path / name).read_bytes()

    def put(self, name, body):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)

    def remove(self, name):
        (self.path / name).unlink(missing_ok=True)

    def manifest(self):
        return json.loads(self.get("index/manifest.json"))

    def clear(self):
        shutil.rmtree(self.path, ignore_errors=True)


class Bucket:
    def __init__(self, store, bucket, prefix):
        self.store, self.bucket, self.prefix = store, bucket, prefix
        self.root = store.root(bucket, prefix)

    def names(self):
        found, after = {}, ""
        while True:
            query = {"list-type": "2", "prefix": self.prefix + "/", "start-after": after}
            text = "&".join(f"{k}={urllib.parse.quote(v, safe='')}"
                            for k, v in sorted(query.items()))
            _, body = self.store.demand("GET", f"/{self.bucket}?{text}")
            tree = xml.fromstring(body)
            space = tree.tag.partition("}")[0] + "}"
            for key in tree.iter(space + "Contents"):
                after = key.findtext(space + "Key")
                found[after[len(self.prefix) + 1:]] = int(key.findtext(space + "Size"))
            if tree.findtext(space + "IsTruncated") != "true":
                return found

    def get(self, name):
        return self.store.get(self.bucket, f"{self.prefix}/{name}")

    def put(self, name, body):
        self.store.put(self.bucket, f"{self.prefix}/{name}", body)

    def remove(self, name):
        self.store.remove(self.bucket, f"{self.prefix}/{name}")

    def manifest(self):
        return json.loads(self.get("index/manifest.json"))

    def clear(self):
        for name in self.names():
            self.remove(name)

    def fill(self, folder):
        """What is in folder, and nothing else."""
        want = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
        for name in set(self.names()) - want:
            self.remove(name)
        self.store.upload(self.bucket, self.prefix, folder)


def file_of(get, entry, name):
    folder = f"index/{entry['version']}"
    if "pack" not in entry:
        return get(f"{folder}/{name}")
    at = 0
    for one, facts in entry["files"].items():
        at += -at % 64
        if one == name:
            return get(f"{folder}/part.pack")[at:at + facts["size"]]
        at += facts["size"]
    raise KeyError(name)


@functools.lru_cache(200)      # a history asks for the same lists after each step
def plain_of(packed):
    return subprocess.run(["zstd", "-dc"], input=packed, stdout=subprocess.PIPE, check=True).stdout


def lake_of(there, entry):
    rows, entries = [], {e["version"]: e for e in there.manifest()["versions"]}
    for part in (*entry.get("parts", ()), entry["version"]):
        plain = plain_of(file_of(there.get, entries.get(part, entry), "files.tsv.zst"))
        rows += [line.split("\t") for line in plain.decode().splitlines()]
    return {entry["parquet_root"] + row[3] for row in rows if row[3] != "-"}


def objects_of(entry):
    names = ["part.pack"] if "pack" in entry else entry["files"]
    return {f"index/{entry['version']}/{name}" for name in names}


def closure_of(manifest, entry):
    names = {entry["version"], *entry.get("parts", ())}
    return set().union(*(objects_of(e) for e in manifest["versions"] if e["version"] in names))


def whole(there, words):
    manifest = there.manifest()
    names = there.names()
    for entry in manifest["versions"]:
        if entry["state"] == "dropped":
            continue
        missing = objects_of(entry) - names.keys()
        if dxtest.equal(sorted(missing)[:5], [], f"{words}: of {entry['version']} are missing"):
            missing = lake_of(there, entry) - names.keys()
            dxtest.equal(sorted(missing)[:5], [],
                         f"{words}: lake files of {entry['version']} are missing")
    return manifest
