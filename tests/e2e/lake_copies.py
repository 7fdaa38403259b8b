# SPDX-License-Identifier: Apache-2.0
"""A new lake file with the same bytes as another one of its dataset is left out with its name, and exit 1, whether the other was published or is
new, too: its rows would count twice. So are copies in a whole publish. Files of equal size with other bytes, copies in another dataset
and copies without rows are taken. A published file that is damaged: compact names it and says what to do.
"""
import json
import shutil

import dxtest


def ingest(root, name, rows=300):
    dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-",
                     input="".join(f"http://{name}.example/{i}\n" for i in range(rows)).encode())


def publish(root, *arguments, expect=0):
    done = dxtest.domaindex("publish", "--root", root, "--memory", "64M", "--json", *arguments, expect=expect)
    return json.loads(done.stdout)


def damage(root, path):
    """Of a published file: compact names it, and says what to do; once it is restored compact goes on."""
    whole = path.read_bytes()
    path.write_bytes(whole[:1000] + bytes(8) + whole[1008:])
    done = dxtest.domaindex("compact", "--root", root, "--memory", "64M", expect=1)
    for word in (path.name, "Restore what is named", "remove", "verify --deep"):
        dxtest.check(word in done.stderr.decode(), f"compact: {word}: {done.stderr}")
    path.write_bytes(whole)
    dxtest.domaindex("compact", "--root", root, "--memory", "64M")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "r"
        ingest(root, "alpha")
        ingest(root, "beta")
        folders = {n: next((root / f"urls/dataset_id={n}").iterdir()) for n in (1, 2)}
        alpha = folders[1] / "part-00000.parquet"
        shutil.copy(alpha, folders[1] / "part-00003.parquet")
        first = publish(root, expect=1)
        dxtest.equal((first["rows"], first["lake_files"], first["files_left_out"]), (600, 2, 1), "two new ones")
        dxtest.check("part-00003.parquet" in first["left_out"][0] and "part-00000.parquet" in first["left_out"][0], f"named: {first['left_out']}")

        shutil.copy(alpha, folders[1] / "part-00001.parquet")
        again = publish(root, "--full", "--force", expect=1)
        dxtest.equal((again["rows"], again["lake_files"], again["files_left_out"]), (600, 2, 2), "one that is published, and two copies")
        dxtest.check("sound" in dxtest.domaindex("verify", "--root", root, "--deep").stdout.decode(), "verify")
        for part in (1, 3):
            (folders[1] / f"part-0000{part}.parquet").unlink()
        publish(root)

        bytes_of = bytearray(alpha.read_bytes())
        bytes_of[len(bytes_of) // 2] ^= 1
        (folders[1] / "part-00001.parquet").write_bytes(bytes_of)
        other = publish(root, expect=1)
        dxtest.check("same bytes" not in other["left_out"][0], f"one bit differs: {other['left_out']}")
        (folders[1] / "part-00001.parquet").unlink()
        publish(root)
        damage(root, folders[2] / "part-00000.parquet")
    dxtest.finish()


if __name__ == "__main__":
    main()
