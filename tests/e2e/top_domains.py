# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""/v1/datasets/{id}/top-domains beside a recount: every page of it, as JSON and CSV, while suppressions of each kind hide domains and
parts of them; and what it says, or rather does not, of a domain of which it is not known what is hidden.
"""
import csv
import io
import os
import random
import time

import dxtest
from dxtest import check, equal

WITHIN_S = 60
SUFFIXES = ("com", "co.uk", "org")


def make_rows(seed):
    rng = random.Random(seed)
    rows = {"a": {}, "b": {}}
    for name, domains in rows.items():
        for i in range(260):
            if rng.random() < 0.8:
                domain = f"site{i:03}.{SUFFIXES[i % 3]}"
                domains[domain] = {f"https://{rng.choice(('', 'www.'))}{domain}/{rng.choice('pq')}/{n}"
                                   for n in range(int(12 * rng.random() ** 3) + 1)}
        for bucket in ("one", "two", "three"):
            domains[f"{bucket}.s3.amazonaws.com"] = {f"https://{bucket}.s3.amazonaws.com/{name}/{n}" for n in range(3)}
    rows["b"]["only.net"] = {f"https://www.only.net/{n}" for n in range(9)}
    return rows


def ranking(domains, hides):
    """(rank, domain, urls), those with equal numbers in order of the index."""
    left = {d: sum(not hides(u) for u in urls) for d, urls in domains.items()}
    listed = sorted(((-n, " ".join(reversed(d.split("."))), d) for d, n in left.items() if n > 0))
    return [(1 + sum(n < m for n, _, _ in listed), domain, -m) for m, _, domain in listed]


def told(reply):
    return [(d["rank"], d["domain"], d["url_count"]) for d in reply.json["domains"]]


def check_ranking(server, dataset, want, words):
    path = f"/v1/datasets/{dataset}/top-domains"
    end = time.monotonic() + WITHIN_S
    reply = server.get(path)
    while (reply.status == 503 or (reply.status == 200 and told(reply) != want)) and time.monotonic() < end:
        time.sleep(0.05)
        reply = server.get(path)
    equal(reply.status, 200, words)
    urls = sum(row[2] for row in want)
    equal((told(reply), reply.json["domain_count"], reply.json["url_count"], reply.json["selected"]),
          (want, len(want), urls, len(want)), words)
    for offset in range(0, len(want) + 3, 7):
        page = server.get(f"{path}?offset={offset}&limit=7")
        equal(told(page), want[offset:offset + 7], f"{words}: from {offset} on")
        equal(page.json["next_offset"], offset + 7 if offset + 7 < len(want) else None, f"{words}: behind {offset}")
    for share, millionths in (("10%", 100000), ("0.5%25", 5000), ("0.333333", 333333), ("100%25", 1000000)):
        selected = -(-len(want) * millionths // 1000000)
        page = server.get(f"{path}?share={share}")
        equal((told(page), page.json["selected"]), (want[:selected], selected), f"{words}: share={share}")
    table = list(csv.reader(io.StringIO(server.get(f"{path}?format=csv").body.decode(), newline=""), strict=True))
    equal(table[0], ["rank", "domain", "url_count", "share", "page_count"], words)
    equal([(int(rank), domain, int(n)) for rank, domain, n, _, _ in table[1:]], want, f"{words}: CSV")


RULES = (
    (["--domain", "amazonaws.com"], lambda u: "amazonaws.com/" in u),
    (["--domain", "site003.com", "--policy", "absent"], lambda u: "site003.com/" in u),
    (["--domain", "never-there.com"], lambda u: False),
    (["--host", "www.site006.com"], lambda u: u.startswith("https://www.site006.com/")),
    (["--host", "site007.co.uk", "--host", "www.site007.co.uk", "--policy", "absent"], lambda u: "site007.co.uk/" in u),
    (["--prefix", "https://site008.org/p/", "--policy", "absent"], lambda u: u.startswith("https://site008.org/p/")),
    (["--url", "https://www.only.net/3"], lambda u: u == "https://www.only.net/3"),
)


def suppressions(root, rows, server, ids):
    hidden = []
    for words, hides in RULES:
        dxtest.domaindex("suppress", "add", "--root", root, *words)
        hidden.append(hides)
        for name in rows:
            want = ranking(rows[name], lambda u: any(h(u) for h in hidden))
            check_ranking(server, ids[name], want, f"{name}, suppressed: {words}")


def ingest(root, rows):
    for name, domains in rows.items():
        text = "".join(url + "\n" for urls in domains.values() for url in urls)
        dxtest.domaindex("ingest", "--root", root, "--format", "list", "--dataset", name, "-", input=text.encode())
    dxtest.domaindex("publish", "--root", root)


def unknown(root, rows):
    """What cannot be found out of one dataset's rows is no matter of another's ranking; and nobody is told which domain it is."""
    with dxtest.Server(root, "--poll-ms", 50) as server:
        ids = {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"]}
        for part in root.rglob("*.parquet"):
            if f"dataset_id={ids['b']}" in part.parts:
                os.rename(part, part.with_suffix(".away"))
        dxtest.domaindex("suppress", "add", "--root", root, "--host", "www.only.net", "--policy", "absent")
        dxtest.wait_until(lambda: server.get(f"/v1/datasets/{ids['b']}/top-domains").status == 503)
        for _ in range(20):  # being read, and then not to be read
            reply = server.get(f"/v1/datasets/{ids['b']}/top-domains")
            equal((reply.status, reply.json["type"]), (503, "urn:domaindex:problem:suppressions-not-applied"), "not known")
            check(b"only" not in reply.body, f"it names what is to be unsaid: {reply.body!r}")
            time.sleep(0.05)
        check_ranking(server, ids["a"], ranking(rows["a"], lambda u: False), "another dataset")


def main():
    dxtest.need_programs()
    rows = make_rows(9)
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        ingest(root, rows)
        with dxtest.Server(root, "--poll-ms", 50) as server:
            ids = {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"]}
            for name in rows:
                check_ranking(server, ids[name], ranking(rows[name], lambda u: False), name)
            suppressions(root, rows, server, ids)
        other = tmp / "other"
        ingest(other, rows)
        unknown(other, rows)
    dxtest.finish()


if __name__ == "__main__":
    main()
