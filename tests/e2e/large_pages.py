# SPDX-License-Identifier: Apache-2.0
# labels: long plain
"""Index files are in pages of 2 MiB, where kernel and file system have those for files (tests/unit/base/test_map.c): as publish
writes them, so that a server maps them so at once, and as a server reads them that are not in the page cache.

With --warm no and --verify no the server reads nothing ahead, and what the page cache has not comes by small pages. In `long`; the unit test map is in the gate.
"""
import mmap
import os
import pathlib
import re
import sys

import dxtest

DOMAINS = 800_000 if dxtest.WHOLE else 600_000  # domains.mphf and domains.dict of more than 2 MiB each
LARGE = 2 << 10    # kB
TRIES = 3          # the system may have no 2 MiB in one piece just then


def large_kb(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return int(re.search(r"FilePmdMapped:\s+(\d+)", text).group(1))


def forget(root):
    """Takes the files out of the page cache, while no process maps them."""
    for path in (root / "index").rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def possible(root):
    path = root / "probe"
    path.write_bytes(bytes(8 << 20))
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as probe:
        probe.madvise(mmap.MADV_HUGEPAGE)
        sum(probe[at] for at in range(0, len(probe), 4096))
        kb = large_kb("self")
    os.close(fd)
    path.unlink()
    return kb > 0


def served(root, *options):
    with dxtest.Server(root, "--threads", 1, *options) as server:
        dxtest.equal(server.get("/v1/domain/site7.example").status, 200, "a domain")
        return large_kb(server.process.pid)


def main():
    dxtest.need_programs()
    with dxtest.tempdir("/tmp") as tmp:  # a disk: files in memory are not given large pages by the file system
        root = tmp / "root"
        if not possible(tmp):
            dxtest.skip("no pages of 2 MiB for files: needs XFS, or ext4 and Linux 6.16")
        urls = "".join(map("http://site%d.example/\n".__mod__, range(DOMAINS)))
        dxtest.domaindex("ingest", "--root", root, "--dataset", "a", "--format", "list", "-", input=urls.encode())
        dxtest.domaindex("publish", "--root", root)
        neither = ("--warm", "no", "--verify", "no")
        seen = {"as publish writes them": served(root, *neither)}
        for _ in range(TRIES):
            forget(root)
            seen["neither verified nor warmed"] = served(root, *neither)
            forget(root)
            seen["as a server reads them"] = served(root)
            if seen["as a server reads them"] >= 2 * LARGE:
                break
        print(f"kB in large pages: {seen}", flush=True)
        dxtest.equal(seen.pop("neither verified nor warmed"), 0, "kB in large pages, neither verified nor warmed")
        for words, kb in seen.items():
            dxtest.check(kb >= LARGE, f"{words}: {kb} kB in large pages")
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
