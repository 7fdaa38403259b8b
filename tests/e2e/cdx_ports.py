#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""Pages of `*.amazonaws.com`, where the name itself has captures with ports, which are not of it, and domains below it follow: each row once.

Pages are stretches of what is counted in the index, ports of the name too. So pages may have fewer rows; none are lost and none come twice, whatever number of ports stands
before the rows of the next domain.
"""
import dxtest
from dxtest import check, equal

NAME = "amazonaws.com"
BLOCK = 3000


def urls(ports):
    for i in range(BLOCK - 10):
        yield f"https://{'www.' if i % 3 == 0 else ''}{NAME}/a{i:05}"
    for i in range(ports):
        yield f"https://{'www.' if i % 2 else 'www3.'}{NAME}:8080/p{i:05}"
    for i in range(100):
        yield f"https://one.s3.{NAME}{':81' if i % 4 == 0 else ''}/b{i:05}"
    for i in range(BLOCK):
        yield f"https://two.s3.{NAME}/c{i:05}"


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        for ports in (0, 1, 20, 150, BLOCK + 15):
            root, every = tmp / f"root{ports}", sorted(urls(ports))
            (tmp / "urls.txt").write_text("\n".join(every) + "\n", "ascii")
            dxtest.domaindex("ingest", "--root", root, "--dataset", "one", "--format", "list", tmp / "urls.txt")
            dxtest.domaindex("publish", "--root", root)
            want = [url for url in every if f"{NAME}:8080" not in url]
            with dxtest.Server(root) as server:
                pages = int(server.get(f"/cdx?url=*.{NAME}&pageSize=1&showNumPages=true").body)
                equal(pages, -(-len(every) // BLOCK), f"{ports} ports: pages")
                got = [server.get(f"/cdx?url=*.{NAME}&pageSize=1&page={page}&showUntimed=true&fl=original").body.decode().split() for page in range(pages)]
                check(all(len(page) <= BLOCK for page in got), f"{ports} ports: {[len(page) for page in got]} rows of the pages")
                equal(sorted(sum(got, [])) == want, True, f"{ports} ports: {[len(page) for page in got]} rows of the pages, {len(want)} in all, {len(set(sum(got, [])))} different ones")
                lines = server.get(f"/cdx?url=*.{NAME}&limit=100000&showUntimed=true&fl=original").body.decode().split()
                equal(sorted(lines) == want, True, f"{ports} ports: without pages")
                reply = server.get(f"/cdx?url=*.{NAME}&pageSize=1&page={pages}")
                equal(reply.status, 400, f"{ports} ports: a page behind the last one")
    dxtest.finish()


main()
