# SPDX-License-Identifier: Apache-2.0
"""oracle - every answer of a server against a plain recount of the raw rows.

    expected = oracle.Expected()
    expected.add(domain, dataset, url, ts_seconds_or_None, extra)      for each good raw row
    ... ingest, publish, start a server ...
    oracle.compare_counts(server, expected)         every (domain, dataset): counts, times, totals
    oracle.compare_listings(server, expected, pairs)     every page of these pairs, twice
    oracle.ask_absent(server, oracle.absent_names(expected, count, suffixes))    all 404
    oracle.prove_it_can_fail(server, expected)      wrong expectations must be noticed

The compare functions give a list of differences in words; empty is what we want. Nothing here
or in what fills Expected uses code of the product.
"""
import collections
import datetime
import itertools
import random
import re
import socket
import time
from urllib.parse import quote


def iso(seconds):
    if seconds is None:
        return None
    when = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


class Expected:
    """pairs[domain][dataset] = set of (url, ts, extra): a row of the lake is a distinct one."""

    def __init__(self):
        self.pairs = collections.defaultdict(lambda: collections.defaultdict(set))

    def add(self, domain, dataset, url, ts, extra):
        self.pairs[domain][dataset].add((url, ts, extra))

    def pair_count(self):
        return sum(map(len, self.pairs.values()))

    def row_count(self):
        return sum(len(rows) for sets in self.pairs.values() for rows in sets.values())

    def url_count(self):
        return sum(len({row[0] for row in rows})
                   for sets in self.pairs.values() for rows in sets.values())

    def by_heat(self):
        """(domain, dataset), most rows first."""
        pairs = [(d, s) for d, sets in self.pairs.items() for s in sets]
        pairs.sort(key=lambda p: (-len(self.pairs[p[0]][p[1]]), p))
        return pairs

    def sample(self, count, hottest=20, seed=7):
        pairs = self.by_heat()
        rest = pairs[hottest:]
        random.Random(seed).shuffle(rest)
        return pairs[:hottest] + rest[:count]


def counts_of(rows):
    times = [row[1] for row in rows if row[1] is not None]
    return {"url_count": len({row[0] for row in rows}), "row_count": len(rows),
            "first_ts": iso(min(times)) if times else None,
            "last_ts": iso(max(times)) if times else None}


def compare_domain(server, domain, sets):
    reply = server.get(f"/v1/domain/{quote(domain)}")
    if reply.status != 200:
        return [f"{domain}: status {reply.status}: {reply.body[:200]!r}"]
    answer, out = reply.json, []
    if answer["domain"] != domain or answer["complete"] is not True:
        out.append(f"{domain}: the answer is for {answer['domain']}, complete {answer['complete']}")
    got = {d["name"]: d for d in answer["datasets"]}
    if got.keys() != sets.keys() or len(got) != len(answer["datasets"]):
        out.append(f"{domain}: datasets {sorted(got)[:9]}…, want {sorted(sets)[:9]}…")
    ids = [d["dataset_id"] for d in answer["datasets"]]
    if ids != sorted(set(ids)) or answer["dataset_count"] != len(ids):
        out.append(f"{domain}: dataset ids do not ascend, or are miscounted")
    for name in got.keys() & sets.keys():
        want = counts_of(sets[name])
        have = {key: got[name][key] for key in want}
        if have != want or got[name]["url_count_est"] != want["url_count"]:
            out.append(f"{domain} in {name}: {have}, want {want}")
    whole = counts_of([row for rows in sets.values() for row in rows])
    sums = {"row_count": sum(map(len, sets.values())),
            "url_count": sum(len({row[0] for row in rows}) for rows in sets.values()),
            "first_ts": whole["first_ts"], "last_ts": whole["last_ts"]}
    have = {key: answer[key] for key in sums}
    if have != sums:
        out.append(f"{domain}: totals {have}, want {sums}")
    return out


def compare_counts(server, expected):
    out = []
    for domain, sets in expected.pairs.items():
        out += compare_domain(server, domain, sets)
    return out


def dataset_ids(server):
    ids, offset = {}, 0
    while offset is not None:
        answer = server.get(f"/v1/datasets?offset={offset}&limit=500").json
        ids.update((d["name"], d["dataset_id"]) for d in answer["datasets"])
        offset = answer["next_offset"]
    return ids


def item_row(item):
    ts = item["ts"]
    if ts is not None:
        ts = int(datetime.datetime.strptime(ts, "%Y-%m-%dT%H:%M:%SZ")
                 .replace(tzinfo=datetime.timezone.utc).timestamp())
    extras = item["extras"]
    if len(extras) > 1:
        raise ValueError(f"more extras than there are in the input: {extras}")
    return item["url"], ts, next(iter(extras.values()), "")


SPLIT = re.compile(r"^([a-z]+)://([^/]*)(/.*)$", re.S)


def order_of(row):
    """The order of a listing: host, path and query, time (none first), scheme."""
    scheme, host, path_query = SPLIT.match(row[0]).groups()
    return host.encode(), path_query.encode(), (row[1] is not None, row[1] or 0), scheme


def read_listing(server, domain, dataset_id, limits, total):
    """All rows by following next_offset; limits are used in turn."""
    rows, offset, turn = [], 0, 0
    while offset is not None:
        limit = limits[turn % len(limits)]
        turn += 1
        path = (f"/v1/domain/{quote(domain)}/datasets/{dataset_id}/urls"
                f"?offset={offset}&limit={limit}&fields=url,ts,extras")
        reply = server.get(path)
        if reply.status != 200:
            raise ValueError(f"{path}: status {reply.status}: {reply.body[:200]!r}")
        answer = reply.json
        page = [item_row(item) for item in answer["items"]]
        if answer["total"] != total or answer["total_est"] != total:
            raise ValueError(f"{path}: total {answer['total']}, want {total}")
        end = offset + len(page)
        if len(page) != min(limit, total - offset):
            raise ValueError(f"{path}: {len(page)} items of {total}")
        if answer["next_offset"] != (end if end < total else None):
            raise ValueError(f"{path}: next_offset {answer['next_offset']} behind {end} of {total}")
        if answer["complete"] is not True:
            raise ValueError(f"{path}: not complete")
        rows += page
        offset = answer["next_offset"]
    return rows


def compare_listing(server, expected, domain, dataset, dataset_id, rng, tally=None):
    want = expected.pairs[domain][dataset]
    total = len(want)
    try:
        rows = read_listing(server, domain, dataset_id, [rng.choice((1000, 10000))], total)
        small = [max(1, total // rng.randrange(2, 9)), rng.randrange(1, 60), 7]
        again = read_listing(server, domain, dataset_id, small, total)
    except (ValueError, KeyError, TypeError) as error:
        return [f"{domain} in {dataset}: {error}"]
    out = []
    if tally is not None:
        tally["rows"] += len(rows)
    if rows != again:
        out.append(f"{domain} in {dataset}: pages of {small} rows give another listing")
    if len(rows) != len(set(rows)):
        out.append(f"{domain} in {dataset}: rows are told twice")
    if set(rows) != want:
        lost, more = want - set(rows), set(rows) - want
        out.append(f"{domain} in {dataset}: {len(lost)} rows missing, {len(more)} not expected; "
                   f"missing {sorted(lost, key=str)[:2]}, more {sorted(more, key=str)[:2]}")
    if [order_of(r) for r in rows] != sorted(map(order_of, rows)):
        out.append(f"{domain} in {dataset}: not in order")
    return out


def compare_listings(server, expected, pairs, seed=3, tally=None):
    rng, ids, out = random.Random(seed), dataset_ids(server), []
    for domain, dataset in pairs:
        if dataset not in ids:
            out.append(f"{dataset}: not in /v1/datasets")
            continue
        out += compare_listing(server, expected, domain, dataset, ids[dataset], rng, tally)
    return out


def absent_names(expected, count, suffixes, seed=11):
    """Half near misses of real names, half made up; registered domains, none in `expected`."""
    rng, known = random.Random(seed), list(expected.pairs)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    present = set(known)
    plain = [d for d in known if re.fullmatch(r"[a-z0-9-]+\.(com|org|net|de)", d)]
    while count > 0:
        if rng.random() < 0.5:
            label, suffix = rng.choice(plain).split(".")
            at = rng.randrange(len(label))
            name = f"{label[:at]}{rng.choice(letters)}{label[at + rng.randrange(2):]}.{suffix}"
        else:
            name = "".join(rng.choices(letters, k=rng.randrange(3, 20))) + rng.choice((".com", ".org", ".fr"))
        odd = name.startswith(("-", "xn")) or "-." in name or "--" in name  # IDNA may refuse these
        if name not in present and not odd and suffixes.domain(name) == name:
            count -= 1
            yield name


def ask_absent(server, names, batch=256):
    """Pipelined; returns (asked, differences). Any status but 404 is one."""
    names, asked, out = iter(names), 0, []
    with socket.create_connection((server.host, server.port), timeout=60) as connection:
        while not out:
            group = list(itertools.islice(names, batch))
            if not group:
                break
            connection.sendall("".join(f"GET /v1/domain/{n} HTTP/1.1\r\nHost: x\r\n\r\n"
                                       for n in group).encode())
            text, seen = b"", 0
            while seen < len(group):
                piece = connection.recv(1 << 18)
                if not piece:
                    raise ConnectionError(f"closed after {asked + seen} requests: {text[-300:]!r}")
                text += piece
                seen = text.count(b"HTTP/1.1 ")
            while not text.rstrip().endswith(b"}"):
                text += connection.recv(1 << 18)
            statuses = re.findall(rb"HTTP/1\.1 (\d+)", text)
            asked += len(group)
            out += [f"{name}: status {status.decode()}" for name, status in zip(group, statuses)
                    if status != b"404"]
    return asked, out


def prove_it_can_fail(server, expected):
    """Each wrong expectation must give a difference; returns those that went unnoticed."""
    rng = random.Random(5)
    ids = dataset_ids(server)
    domain, dataset = next(p for p in expected.by_heat()[5:] if 5 < len(expected.pairs[p[0]][p[1]]))
    rows = expected.pairs[domain][dataset]
    dated = [row for row in sorted(rows, key=str) if row[1] is not None]
    one, latest = dated[0], max(row[1] for row in dated)
    url, ts, extra = one
    wrong = {
        "a row too few": rows - {one},
        "a row too many": rows | {(url + "x", ts, extra)},
        "another URL": rows - {one} | {(url + "x", ts, extra)},
        "a time one second off": rows - {one} | {(url, ts + 1, extra)},
        "another extra": rows - {one} | {(url, ts, extra + "x")},
        "a later last time": rows | {(url, latest + 1, extra)},
    }
    unnoticed = []
    for words, mutated in wrong.items():
        false = Expected()
        false.pairs.update({domain: {**expected.pairs[domain], dataset: mutated}})
        counts = compare_domain(server, domain, false.pairs[domain])
        listing = compare_listing(server, false, domain, dataset, ids[dataset], rng)
        if not listing:
            unnoticed.append(f"{words}: by the listing")
        if len(mutated) != len(rows) and not counts:
            unnoticed.append(f"{words}: by the counts")
    missing = {**expected.pairs[domain], "no such dataset": {one}}
    if not compare_domain(server, domain, missing):
        unnoticed.append("a dataset that is not there")
    if not ask_absent(server, [domain])[1]:
        unnoticed.append("a name that is there, asked for as absent")
    return unnoticed


def rejects_in(root):
    """Records in the rejects files below a root, by reason."""
    reasons = collections.Counter()
    for path in sorted((root / "rejects").glob("*.tsv")):
        for line in path.read_bytes().splitlines():
            reasons[line.split(b"\t")[2].decode()] += 1
    return reasons


class Clock:
    """Prints what was done and how long it took."""

    def __init__(self):
        self.begin = time.monotonic()

    def __call__(self, words):
        now = time.monotonic()
        print(f"{now - self.begin:7.1f} s  {words}", flush=True)
        self.begin = now
