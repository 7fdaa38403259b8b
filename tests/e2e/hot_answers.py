# SPDX-License-Identifier: Apache-2.0
# labels: threads plain
"""Kept answers have the bytes of computed ones: two servers on one root, of which one keeps none, are
asked the same questions again and again, while rules come and go, versions flip there and back,
domains leave and other rows come. So have pages that a loop begins and a worker ends.
"""
import itertools
import re
import socket
import time

import dxtest
from dxtest import check, equal

LONG = "x" * 700        # 1000 of these URLs are more than a loop writes by itself
LIFE = ("--cursor-life", 86400)  # of which a 15th is how long a page keeps its bytes


def ingest(root, tmp, dataset, lines):
    file = tmp / "rows.tsv"
    file.write_text("".join(f"{url}\t{ts}\n" for url, ts in lines))
    dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "--format", "tsv", "--no-header",
                     "--url-column", 1, "--ts-column", 2, file)


def rows(domain, count, tail="", first=0):
    return [(f"http://www.{domain}/{i % 7}/{i}{tail}", "" if i % 11 == 0 else 1_300_000_000 + i)
            for i in range(first, first + count)]


def questions(server, versions):
    """Targets, those of cursors of this server's pages with them."""
    listing = "/v1/domain/{}/datasets/{}/urls{}".format
    options = ["", "?limit=7", "?offset=7&limit=7", "?limit=1001", "?offset=1500", "?fields=url",
               "?fields=ts", "?fields=url_id,url,ts,raw_url,extras&limit=20", "?plan=3", "?plan=4",
               *(f"?version={v}" for v in versions)]
    targets = [listing(d, i, o) for d, i in (("a.com", 1), ("a.com", 2), ("b.com", 1))
               for o in options]
    targets += [listing("www.A.com.", 1, ""), listing("long.com", 1, ""),
                listing("long.com", 1, "?limit=1100"), listing("nobody.com", 1, ""),
                listing("a.com", 9, "")]
    for target in targets[:12]:
        reply = server.get(target)
        if reply.status == 200:
            cursors = [reply.json.get("next_cursor"), *reply.json.get("cursors", [])]
            base = target.split("?")[0]
            targets += [f"{base}?cursor={c}{more}" for c in cursors if c for more in ("", "&limit=3")]
    return targets


def told(reply):
    """But for the number of the request, which failures tell."""
    body = re.sub(rb',"instance":"[^"]*"', b"", reply.body) if reply.status >= 500 else reply.body
    return reply.status, reply.headers.get("etag"), reply.headers.get("x-domaindex-version"), body


def same(hot, cold, targets, words):
    """Each is asked thrice: computed, computed and kept, kept."""
    wants = {}
    for target, turn in itertools.product(targets, range(3)):
        got = told(hot.get(target))
        if turn == 0 or got != wants[target]:       # the clock in cursors may have advanced between the two requests
            want = wants[target] = told(cold.get(target))
            got = told(hot.get(target)) if got != want else got
        want = wants[target]
        if not equal(got, want, f"{words}: {target}, time {turn + 1}") or turn < 2:
            continue
        if got[0] != 200:
            continue
        head = hot.get(target, method="HEAD")
        equal((head.status, head.headers.get("etag"), head.headers["content-length"], head.body),
              (200, got[1], str(len(got[3])), b""), f"{words}: HEAD {target}")
        match = hot.get(target, headers={"If-None-Match": got[1]})
        equal((match.status, match.headers.get("etag"), match.body), (304, got[1], b""),
              f"{words}: If-None-Match {target}")


def wait_for(servers, what, words):
    end = time.monotonic() + 60
    while not all(what(s) for s in servers):
        if time.monotonic() > end:
            check(False, f"{words}: not seen in time")
            return
        time.sleep(0.02)


def metric(server, name):
    text = server.admin("/metrics").body.decode()
    return float(re.search(rf"^{name} (\S+)$", text, re.M)[1])


def flip(servers, root, *command):
    """A version that all of them have; its name."""
    name = dxtest.domaindex(*command, "--root", root).stdout.decode().split()[-1]
    wait_for(servers, lambda s: s.get("/readyz").json["version"] == name, name)
    return name


def slow_reader(server, target):
    """A client that has taken only the first bytes of a reply; the rest may come later."""
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    link.connect((server.host, server.port))
    link.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    return link


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        ingest(root, tmp, "one", rows("a.com", 3000) + rows("b.com", 40) + rows("long.com", 1300, LONG))
        ingest(root, tmp, "two", rows("a.com", 2000, "?two"))
        dxtest.domaindex("publish", "--root", root)
        common = (*LIFE, "--poll-ms", 100, "--threads", 2)
        with dxtest.Server(root, *common, "--cache-answers", "16M", "--server-name", "hot") as hot, \
                dxtest.Server(root, *common, "--cache-answers", 0, "--server-name", "cold") as cold:
            both = (hot, cold)
            first = hot.get("/readyz").json["version"]
            page = "/v1/domain/a.com/datasets/1/urls"
            seen = []

            def phase(words, versions=(first,)):
                seen.append(told(cold.get(page)))
                before = metric(hot, "domaindex_answer_cache_hits_total")
                targets = questions(cold, versions)
                same(hot, cold, targets, words)
                hits = metric(hot, "domaindex_answer_cache_hits_total") - before
                check(hits > len(targets), f"{words}: {hits:.0f} hits with {len(targets)} questions")

            phase("at first")
            large = slow_reader(hot, "/v1/domain/long.com/datasets/1/urls?limit=1100")
            want_large = cold.get("/v1/domain/long.com/datasets/1/urls?limit=1100").body
            dxtest.domaindex("suppress", "add", "--root", root, "--prefix", "http://www.a.com/3/")
            wait_for(both, lambda s: told(s.get(page)) != seen[0] and s.get(page).status == 200, "rule")
            phase("a prefix is hidden")
            dxtest.domaindex("suppress", "add", "--root", root, "--domain", "b.com", "--policy", "absent")
            wait_for(both, lambda s: s.get("/v1/domain/b.com").status == 404, "rule")
            phase("and a domain")
            dxtest.domaindex("suppress", "lift", "--root", root, 1)
            wait_for(both, lambda s: told(s.get(page)) == seen[0], "lift")
            phase("the prefix is back")
            dxtest.domaindex("suppress", "lift", "--root", root, 2)
            wait_for(both, lambda s: s.get("/v1/domain/b.com").status == 200, "lift")
            phase("all is back")
            ingest(root, tmp, "one", rows("a.com", 50, "?new"))
            second = flip(both, root, "publish")
            phase("another version", (first, second))
            dxtest.domaindex("suppress", "add", "--root", root, "--url", "http://www.a.com/1/1")
            wait_for(both, lambda s: told(s.get(page)) != seen[-1] and s.get(page).status == 200, "rule")
            # What it hides of a version that is not current is read when that one is asked: 503 until then.
            wait_for(both, lambda s: s.get(f"{page}?version={first}").status == 200, "rule, of the first")
            phase("and a rule", (first, second))
            flip(both, root, "rollback", "--to", first)
            phase("the first one again, with the rule", (first, second))
            equal(len({s[1] for s in seen}), 5, "different first pages among the phases")
            dxtest.domaindex("suppress", "lift", "--root", root, 5)
            wait_for(both, lambda s: s.get(page).body == seen[0][3], "lift")
            check(len(want_large) > 700_000, "a page that no socket takes at once")
            with large.makefile("rb") as file:
                reply = file.read()
            check(reply.endswith(want_large), "a slow client has the whole of what it began to read")
            large.close()
            equal(metric(hot, "domaindex_answer_cache_size_bytes") <= 16 << 20, True, "the budget holds")
            check("domaindex_answer_cache" not in cold.admin("/metrics").body.decode(), "none is kept")


if __name__ == "__main__":
    main()
    dxtest.finish()
