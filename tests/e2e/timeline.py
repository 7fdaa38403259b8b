#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""/v1/domain/{d}/timeline against a recount of the source: rows by year, month and day, of all datasets and of some.

In detail: rows without a time, before 1970 and at both ends of a day and year; sites of one row, two rows and many; `dataset=` by id and name; while
rules hide rows and sites; of each principal; refused values. Real posts are counted by `aggregates_oracle`, against DuckDB.
"""
import collections
import datetime
import random
import time

import dxtest
from dxtest import check, equal

NAMES = ("a", "b", "7", "d")
SHAPES = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d"}
EPOCH = datetime.datetime(1970, 1, 1)
WITHIN_S = 60
TIMES = [-86401, -86400, -1, 0, 86399, 86400, 951782399, 951782400, 951868800, 1704067199, 1704067200, 1721865599, -2208988801]
RULES = (
    (["--host", "www.many.com", "--policy", "absent"], lambda u: "//www.many.com/" in u),
    (["--prefix", "https://many.com/p/"], lambda u: u.startswith("https://many.com/p/")),
    (["--url", "https://two.org/0"], lambda u: u == "https://two.org/0"),
    (["--url", "https://same.org/0", "--policy", "absent"], lambda u: u == "https://same.org/0"),
)


def make_rows(rng):
    """(url, ts or None) of each dataset."""
    rows = {name: set() for name in NAMES}
    for name in NAMES:
        for n in range(700):
            url = f"https://{rng.choice(('', 'www.'))}many.com/{rng.choice('pqr')}/{rng.randrange(400)}"
            rows[name].add((url, rng.choice([None, None, *TIMES, rng.randrange(1000000000, 1750000000)])))
        rows[name].add((f"https://one.net/{name}", rng.choice([None, 1500000000])))
        rows[name] |= {(f"https://two.org/{n}", 1400000000 + n * 86400) for n in range(2)}
        rows[name] |= {(f"https://same.org/{n}", 1400000000 if n or name != "b" else None) for n in range(2)}
        rows[name] |= {(f"https://never.org/{n}", None) for n in range(3)}
    rows["7"] = {r for r in rows["7"] if "two.org" not in r[0]}
    return rows


def domain_of(url):
    return ".".join(url.split("/")[2].split(".")[-2:])


def time_of(ts):
    return EPOCH + datetime.timedelta(seconds=ts)


def recount(rows, domain, names, by, hides):
    left = [(name, ts) for name in names for url, ts in rows[name] if domain_of(url) == domain and not hides(url)]
    periods = collections.Counter(time_of(ts).strftime(SHAPES[by]).zfill({"year": 4, "month": 7, "day": 10}[by]) for _, ts in left if ts is not None)
    known = [ts for _, ts in left if ts is not None]
    return {"by": by, "dataset_count": len({name for name, _ in left}), "row_count": len(left), "untimed_row_count": len(left) - len(known),
            "first_ts": time_of(min(known)).strftime("%Y-%m-%dT%H:%M:%SZ") if known else None,
            "last_ts": time_of(max(known)).strftime("%Y-%m-%dT%H:%M:%SZ") if known else None,
            "periods": [{"period": p, "row_count": n} for p, n in sorted(periods.items())], "complete": True}


def compare(server, rows, ids, hides, words, headers=None, names=NAMES):
    for domain in ("many.com", "one.net", "two.org", "same.org", "never.org"):
        for by in SHAPES:
            for query, some in (("", names), (f"dataset={ids['a']},name:b", [n for n in ("a", "b") if n in names]), ("dataset=name:7", ["7"] if "7" in names else [])):
                want, target = recount(rows, domain, some, by, hides), f"/v1/domain/{domain}/timeline?by={by}&{query}".rstrip("&")
                if query and (not set(names) >= {"a", "b"} if "b" in query else "7" not in names):
                    equal(server.get(target, headers=headers).status, 404, f"{words}, {target}: a hidden dataset")
                    continue
                end = time.monotonic() + WITHIN_S
                while True:
                    reply = server.get(target, headers=headers)
                    got = {key: reply.json.get(key) for key in want}
                    if got == want or reply.status not in (200, 503) or time.monotonic() > end:
                        break
                    time.sleep(0.05)
                if want["row_count"] == 0:
                    equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (404, "domain-not-in-dataset"), f"{words}, {target}")
                else:
                    equal((reply.status, got), (200, want), f"{words}, {target}")


def refusals(server):
    for query, status, slug in (("by=week", 400, "bad-parameter"), ("by=", 400, "bad-parameter"), ("dataset=99", 404, "dataset-not-found"),
                                ("dataset=", 400, "bad-parameter"), ("dataset=none", 404, "dataset-not-found"), ("limit=3", 400, "unknown-parameter"),
                                ("by=day&by=day", 400, "duplicate-parameter")):
        reply = server.get(f"/v1/domain/many.com/timeline?{query}")
        equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (status, slug), query)
    equal(server.get("/v1/domain/absent.com/timeline").status, 404, "a domain that is not there")
    equal(server.get("/v1/domain/com/timeline").status, 400, "a suffix")
    cost = server.get("/v1/domain/two.org/timeline").json["cost"]
    equal(cost, {"rows": 0, "pages": 0, "bytes": 0}, "the index alone says when one or two rows are")
    check(server.get("/v1/domain/many.com/timeline").json["cost"]["rows"] > 1000, "rows are read")
    equal(server.get("/v1/domain/many.com/timeline").json["by"], "month", "by default")


def suppressed(root, server, rows, ids):
    hidden = []
    for words, hides in RULES:
        dxtest.domaindex("suppress", "add", "--root", root, *words)
        hidden.append(hides)
        compare(server, rows, ids, lambda u: any(h(u) for h in hidden), f"suppressed: {words}")
    check(server.get("/v1/domain/many.com/timeline").json["withheld_rows"] > 0, "withheld rows are counted")
    return lambda u: any(h(u) for h in hidden)


def restricted(root, rows, ids, hides):
    def access(*words):
        return dxtest.domaindex("access", *words, "--root", root).stdout.decode().strip()
    access("init")
    sees = {"auditor": NAMES, "one": ("b", "7"), "two": ("a", "d")}
    for who, names in sees.items():
        access("principal", "add", who, *(["--all"] if who == "auditor" else []))
        if who != "auditor":
            access("grant", *(f"name:{n}" for n in names), "--to", who)
    tokens = {who: {"Authorization": f"Bearer {access('token', 'new', who)}"} for who in sees}
    with dxtest.Server(root, "--poll-ms", 50) as server:
        for who, names in sees.items():
            compare(server, rows, ids, hides, f"as {who} sees it", tokens[who], names)
        equal(server.get("/v1/domain/many.com/timeline").status, 401, "without a token")


def main():
    dxtest.need_programs()
    rows = make_rows(random.Random(20))
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        for name, of in rows.items():
            text = "".join(f"{url}\t{'' if ts is None else time_of(ts).isoformat()}\n" for url, ts in sorted(of, key=str))
            dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--url-column", 1, "--ts-column", 2, "--no-header", "--dataset", name, "-", input=text.encode())
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root, "--poll-ms", 50) as server:
            ids = {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"]}
            compare(server, rows, ids, lambda u: False, "all")
            refusals(server)
            hides = suppressed(root, server, rows, ids)
        restricted(root, rows, ids, hides)
    dxtest.finish()


if __name__ == "__main__":
    main()
