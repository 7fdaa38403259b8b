# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""index/manifest.json is gone, and the versions that it named are there: publish says so and changes nothing, also a dry
run. Without it no program knows which files the lake has lost, so a version of what is there would lack datasets
without a word. When it is back, or the folders of versions were moved away, publish goes on; after a first publish that died,
too.
"""
import json
import shutil

import dxtest


def state(root):
    """Files and when each was written."""
    return {p: p.stat().st_mtime_ns for p in root.rglob("*") if p.is_file() and p.name != ".lock"}


def ingest(root, name):
    dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-",
                     input="".join(f"http://{name}.example/{i}\n" for i in range(20)).encode())


def publish(root, *arguments, expect=0):
    return dxtest.domaindex("publish", "--root", root, "--memory", "64M", *arguments, expect=expect).stderr.decode()


def lost(root, versions):
    """A root of so many versions whose manifest is gone, with a dataset of its lake."""
    ingest(root, "lost")
    for i in range(versions):
        ingest(root, f"set{i}")
        publish(root, "--no-merge")
    shutil.copy(root / "index/manifest.json", root.parent / "kept.json")
    (root / "index/manifest.json").unlink()
    shutil.move(root / "urls/dataset_id=1", root.parent / "moved")


def case(folder, versions):
    root = folder / "r"
    lost(root, versions)
    before = state(root)
    text = publish(root, expect=1)
    for word in ("index/manifest.json", "was lost", f"index/{versions:06}-", "backup", "move the folders"):
        dxtest.check(word in text, f"{versions} versions, a lost manifest: {word}: {text}")
    if versions > 1:
        dxtest.check("was lost" in publish(root, "--dry-run", expect=1), "dry run")
    dxtest.equal(state(root), before, "nothing was changed")

    shutil.copy(folder / "kept.json", root / "index/manifest.json")
    text = publish(root, expect=1)
    dxtest.check("not there" in text or "missing" in text, f"restored, the lost file is missed: {text}")
    shutil.move(folder / "moved", root / "urls/dataset_id=1")
    publish(root, "--force", "--no-merge")

    (root / "index/manifest.json").unlink()
    for version in (root / "index").glob("0*Z"):
        shutil.move(version, folder / version.name)
    publish(root, "--no-merge")
    manifest = json.loads((root / "index/manifest.json").read_text())
    dxtest.equal(manifest["versions"][-1]["datasets"], versions + 1, "started again")


def main():
    dxtest.need_programs()
    for versions in (1, 3):
        with dxtest.tempdir() as folder:
            case(folder, versions)
    dxtest.finish()


if __name__ == "__main__":
    main()
