# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""A folder urls/dataset_id=N/ of a dataset that registry.json does not have (#16), in a directory, and on versitygw if it
is here. Publishes and ingests of other datasets go on: the folder's files are left out by name (exit 1), verify notes
them, and a new dataset does not get N. A folder whose files the current version has is never left out: that publish ends
with an error. Without registry.json nothing is published or added."""
import json

import dxtest
import remains
import stores


class Root:
    def __init__(self, there, env=None):
        self.there, self.env = there, env or {}

    def run(self, command, *arguments, expect=0, **more):
        done = dxtest.domaindex(command, "--root", self.there.root, *arguments, expect=expect, env=self.env, **more)
        return done.stdout.decode(), done.stderr.decode()

    def ingest(self, dataset, *urls, expect=0):
        text = "".join(f"http://example.com/{url}\n" for url in urls)
        return self.run("ingest", "--dataset", dataset, "--format", "list", "-", input=text.encode(), expect=expect)

    def publish(self, expect=0):
        return self.run("publish", "--memory", "64M", expect=expect)

    def rows(self):
        return json.loads(self.run("lookup", "example.com")[0])["row_count"]

    def ids(self):
        return {d["name"]: d["dataset_id"] for d in json.loads(self.there.get("registry.json"))["datasets"]}


def check(root, words):
    root.ingest("one", "a", "b")
    root.publish()
    name = "urls/dataset_id=2/domain_prefix=00-ff/part-00000.parquet"
    file = next(n for n in root.there.names() if n.startswith("urls/") and n.endswith(".parquet"))
    root.there.put(name, root.there.get(file))
    root.ingest("one", "c")
    version, said = root.publish(expect=1)
    dxtest.check(f"left out: {name}: dataset 2 is not in registry.json" in said, f"{words}: {said}")
    dxtest.check(version.startswith("000002-"), f"{words}: the others are published: {version}")
    dxtest.equal(root.rows(), 3, f"{words}: rows of the registered dataset alone")
    said = "".join(root.run("verify"))
    dxtest.check("1 lake file of datasets that are not in registry.json" in said and name in said, f"{words}: verify: {said}")

    root.ingest("two", "d")
    dxtest.equal(root.ids(), {"one": 1, "two": 3}, f"{words}: the id of the folder is not given")
    said = root.publish(expect=1)[1]
    dxtest.check(name in said, f"{words}: still left out: {said}")
    dxtest.equal(root.rows(), 4, f"{words}: rows of both datasets")
    root.there.remove(name)
    root.publish()

    # An older copy of the registry: what the current version has is not let go of.
    text = root.there.get("registry.json")
    root.there.put("registry.json", text.replace(b'"dataset_id":3', b'"dataset_id":2'))
    state = root.there.get("index/manifest.json")
    said = root.publish(expect=1)[1]
    dxtest.check("dataset 3 is not in registry.json" in said, f"{words}: a published dataset: {said}")
    dxtest.equal(root.there.get("index/manifest.json"), state, f"{words}: the manifest")
    root.there.remove("registry.json")
    for said in (root.publish(expect=1)[1], root.ingest("one", "e", expect=1)[1]):
        dxtest.check("registry.json" in said and "missing" in said, f"{words}: no registry: {said}")
    root.there.put("registry.json", text)
    root.ingest("one", "e")
    root.publish()
    dxtest.equal(root.rows(), 5, f"{words}: as before")


def first(root, words):
    """Nothing but such a folder: there is no version to be made."""
    root.ingest("one", "a")
    text = root.there.get("registry.json")
    root.there.put("registry.json", text.replace(b'"dataset_id":1', b'"dataset_id":7').replace(b'"next_dataset_id":2', b'"next_dataset_id":8'))
    said = root.publish(expect=1)[1]
    dxtest.check("nothing to publish" in said and "dataset 1 is not in registry.json" in said, f"{words}: {said}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        for name, test in (("root", check), ("first", first)):
            test(Root(remains.Folder(tmp / name)), f"directory {name}")
        if stores.find("versitygw"):
            with stores.Versitygw() as store:
                store.bucket("lake")
                env = {**store.env, "TMPDIR": str(tmp), "CACHE_DIRECTORY": str(tmp / "cache")}
                for name, test in (("root", check), ("first", first)):
                    test(Root(remains.Bucket(store, "lake", name), env), f"versitygw {name}")
    dxtest.finish(None if stores.find("versitygw") else "versitygw is not here")


if __name__ == "__main__":
    main()
