# SPDX-License-Identifier: Apache-2.0
# labels: peers threads timed
"""Suppressions on servers that run: each kind and policy has its effect within two seconds under
load, counts and listings are those of a model that goes over raw rows, no listing ever shows a hidden
row again, absent has the bytes of never having been, a lift brings everything back, and a
compaction takes the rows out of the lake's files. In a directory and on an S3 server, where
several write at once and nothing is lost.

DX_SUPPRESS_ROUNDS (2; 8 with DX_WHOLE=1): random sets of rules that are compared. On S3 a domain and a URL; with DX_WHOLE=1 each kind in both policies.

In detail: rules of each kind and policy on servers under load, in a directory and on versitygw: in effect
within 2 s (the time is printed), no hidden row shown afterwards, counts and listings by offset, cursor and
plan as a model over raw rows has them; absent is byte for byte never was; refused logs; many writers at once;
answers about what is left of a domain, orders, filters, hosts, times and captures, are the bytes of a root where the hidden rows never
were; after `compact` pyarrow finds none of the rows. `DX_SUPPRESS_ROUNDS`: random sets of rules.
"""
import collections
import concurrent.futures
import contextlib
import json
import os
import random
import re
import sys
import threading
import time

import dxtest
import roots
import stores

ROUNDS = int(os.environ.get("DX_SUPPRESS_ROUNDS") or (8 if dxtest.WHOLE else 2))
WITHIN_S = 5.0
Row = collections.namedtuple("Row", "dataset domain scheme host path ts")
Rule = collections.namedtuple("Rule", "number kind policy value")


# ---- rows, and what rules do to them, in words as plain as they come ----

def url(row):
    return f"{row.scheme}://{row.host}{row.path}"


def make_rows(seed):
    rng = random.Random(seed)
    domains = [f"site{i}.{s}" for i, s in enumerate(["com", "org", "co.uk", "net"] * 5)]
    domains += ["192.0.2.7", "big.com"]
    rows = set()
    for domain in domains:
        fronts = [""] if domain[0] == "1" else ["", "www.", "a.b."]
        for dataset in rng.sample([1, 2, 3], rng.randint(1, 3)):
            for _ in range((2500 if dxtest.WHOLE else 1000) if domain == "big.com" else rng.randint(3, 60)):
                scheme = rng.choice(["http", "https"])
                host = rng.choice(fronts) + domain + rng.choice(["", "", ":8080"])
                path = "/" + "/".join(rng.choice("abc") for _ in range(rng.randint(0, 4)))
                path += rng.choice(["", "", "?q=1", "?q=12", "/"])
                day = rng.choice([None, 1, 2, 3, 28])
                ts = day and f"2024-02-{day:02}T00:00:00Z"
                rows.add(Row(dataset, domain, scheme, host, path.replace("//", "/"), ts))
    return sorted(rows, key=lambda r: (*r[:5], r.ts or ""))


def hits(rule, row):
    name = row.host.split(":")[0]
    if rule.kind == "domain":
        return name == rule.value or name.endswith("." + rule.value)
    if rule.kind == "host":
        return row.host == rule.value
    if rule.kind == "prefix":
        return (row.host + row.path).startswith(rule.value)
    return url(row) == rule.value


_rules, _effects = (), {}       # those that were asked about last, and what they do to rows


def effect(rules, row):
    """None, "withheld" or "absent": the stronger one wins."""
    global _rules, _effects
    if (rules := tuple(rules)) != _rules:
        _rules, _effects = rules, {}
    if row not in _effects:
        found = {rule.policy for rule in rules if hits(rule, row)}
        _effects[row] = "absent" if "absent" in found else "withheld" if found else None
    return _effects[row]


def counts_of(rows):
    times = [row.ts for row in rows if row.ts]
    return {"url_count": len({url(row) for row in rows}), "row_count": len(rows),
            "first_ts": min(times, default=None), "last_ts": max(times, default=None)}


class Model:
    def __init__(self, rows):
        self.of = collections.defaultdict(lambda: collections.defaultdict(list))
        for row in rows:
            self.of[row.domain][row.dataset].append(row)
        self.urls = {(domain, dataset): len(set(map(url, rows)))
                     for domain, sets in self.of.items() for dataset, rows in sets.items()}

    def whole(self, rules, domain):
        found = {r.policy for r in rules if r.kind == "domain" and
                 (domain == r.value or domain.endswith("." + r.value))}
        return "absent" if "absent" in found else "withheld" if found else None

    def place(self, domain, dataset, urls):
        """Share and rank are among all that the index has of the dataset, hidden or not."""
        others = [n for (name, of), n in self.urls.items() if of == dataset and name != domain]
        own = self.urls[domain, dataset]
        return {"share": dxtest.fraction(urls, sum(others) + own), "rank": 1 + sum(n > urls for n in others)}

    def distinct(self, rules, domain):
        return len({url(row) for rows in self.of[domain].values() for row in rows if not effect(rules, row)})

    def answer(self, rules, domain):
        """status, and of 200 the counts of each dataset, with what is withheld there."""
        whole = self.whole(rules, domain)
        if whole:
            return (451 if whole == "withheld" else 404), None
        datasets, withheld = {}, 0
        for dataset, rows in sorted(self.of[domain].items()):
            visible = [row for row in rows if not effect(rules, row)]
            said = sum(effect(rules, row) == "withheld" for row in rows)
            withheld += said
            if visible:
                counts = counts_of(visible)
                datasets[dataset] = {**counts, **self.place(domain, dataset, counts["url_count"]), **({"withheld_rows": said} if said else {})}
        if not datasets:
            return (451 if withheld else 404), None
        return 200, (datasets, withheld)


# ---- a root with these rows, and its listings before anything is hidden ----

def make_root(tmp, rows):
    root = tmp / "root"
    tmp.mkdir(exist_ok=True)
    psl = dxtest.short_psl(tmp, "com", "org", "co.uk", "net")
    for dataset in (1, 2, 3):
        text = "".join(f"{url(r)}\t{r.ts or ''}\n" for r in rows if r.dataset == dataset)
        dxtest.domaindex("ingest", "--root", root, "--dataset", f"set{dataset}", "--format", "tsv",
                         "--url-column", 1, "--ts-column", 2, "--no-header", *psl, "-",
                         input=text.encode())
    dxtest.domaindex("publish", "--root", root)
    return root


def get(server, target):
    """The reply, when it is known what is hidden of the domain."""
    end = time.monotonic() + 60
    while True:
        reply = server.get(target)
        if reply.status != 503 or time.monotonic() > end:
            return reply
        dxtest.check(reply.headers.get("retry-after") == "1", f"{target}: 503 without Retry-After")
        time.sleep(0.01)


def listing(server, domain, dataset, limit, by="offset"):
    """All items of the pair and the totals that its pages tell; or the status."""
    target = f"/v1/domain/{domain}/datasets/{dataset}/urls?limit={limit}"
    items, totals, more = [], set(), ""
    while True:
        reply = get(server, target + more)
        if reply.status != 200:
            return reply.status, None
        page = reply.json
        totals.add((page["total"], page.get("withheld_rows", 0)))
        if by == "offset":
            dxtest.equal(page["offset"], len(items), f"{target}{more}: offset")
        items += [(item["url"], item["ts"]) for item in page["items"]]
        mark = page["next_offset" if by == "offset" else "next_cursor"]
        if mark is None:
            return items, totals
        more = f"&{by}={mark}"


def in_parts(server, domain, dataset, parts):
    """The same by a plan of cursors."""
    limit = 70 if domain == "big.com" and not dxtest.WHOLE else 7
    target = f"/v1/domain/{domain}/datasets/{dataset}/urls"
    reply = get(server, f"{target}?limit={limit}&plan={parts}")
    if reply.status != 200:
        return reply.status
    items = []
    for cursor in reply.json["cursors"]:
        while cursor:
            page = get(server, f"{target}?limit={limit}&cursor={cursor}").json
            items += [(item["url"], item["ts"]) for item in page["items"]]
            cursor = page["next_cursor"]
    return items


class World:
    """A root, its model, its listings without rules, and the rules that are in force."""

    def __init__(self, root, rows, program_env=None):
        self.root, self.rows, self.model = root, rows, Model(rows)
        self.env = program_env or {}
        self.rules, self.order = {}, {}

    def learn(self, server):
        for domain, datasets in self.model.of.items():
            for dataset, rows in datasets.items():
                items, _ = listing(server, domain, dataset, 10000)
                self.order[domain, dataset] = items
                dxtest.equal(sorted(items, key=str), sorted(((url(r), r.ts) for r in rows), key=str),
                             f"{domain} in {dataset}: rows before any rule")

    def suppress(self, *arguments, expect=0):
        return dxtest.domaindex("suppress", *arguments, "--root", self.root, env=self.env,
                                expect=expect)

    def add(self, kind, policy, value):
        said = f"http://{value}" if kind == "prefix" else value
        line = self.suppress("add", f"--{kind}", said, "--policy", policy, "--reason", "test").stdout
        number = line.split()[0].decode()
        dxtest.equal(line.decode().split()[1:4], [kind, policy, value], "what add prints")
        known = {rule[1:] for rule in self.rules.values()}
        dxtest.equal(number == "-", (kind, policy, value) in known, "whether it was there")
        if number != "-":
            self.rules[int(number)] = Rule(int(number), kind, policy, value)
        return number

    def lift(self, *numbers):
        self.suppress("lift", *numbers)
        for number in numbers:
            del self.rules[int(number)]

    def check_domain(self, server, domain, words):
        rules = list(self.rules.values())
        status, want = self.model.answer(rules, domain)
        reply = get(server, f"/v1/domain/{domain}")
        if not dxtest.equal(reply.status, status, f"{words}: {domain}: status"):
            return
        if status == 451:
            dxtest.equal(reply.json["type"], "urn:domaindex:problem:withheld", f"{words}: {domain}")
        if status == 200:
            datasets, withheld = want
            got = reply.json
            dxtest.equal({d["dataset_id"]: {k: v for k, v in d.items()
                                            if k not in ("dataset_id", "name", "url_count_est")}
                          for d in got["datasets"]}, datasets, f"{words}: {domain}: datasets")
            dxtest.equal((got["dataset_count"], got["row_count"], got["url_count"],
                          got.get("withheld_rows", 0)),
                         (len(datasets), sum(d["row_count"] for d in datasets.values()),
                          sum(d["url_count"] for d in datasets.values()), withheld),
                         f"{words}: {domain}: sums")
            distinct = self.model.distinct(rules, domain)
            dxtest.check(abs(got["distinct_url_count"] - distinct) <= 5 * got["distinct_error"] * distinct,
                         f"{words}: {domain}: {got['distinct_url_count']} distinct URLs, want {distinct}")

    def check_listing(self, server, domain, dataset, limit, words):
        rules = list(self.rules.values())
        rows = self.model.of[domain][dataset]
        hidden = {(url(row), row.ts) for row in rows if effect(rules, row)}
        said = sum(effect(rules, row) == "withheld" for row in rows)
        want = [item for item in self.order[domain, dataset] if item not in hidden]
        status = self.model.answer(rules, domain)[0]
        if status == 200 and not want:
            status = 451 if said else 404
        words = f"{words}: {domain} in {dataset}"
        for by in ("offset", "cursor"):
            items, totals = listing(server, domain, dataset, limit, by)
            if status != 200:
                dxtest.equal(items, status, f"{words} by {by}: status")
                continue
            dxtest.check(items == want, f"{words} by {by}: {len(items)} items, not {len(want)}"
                         if isinstance(items, list) else f"{words} by {by}: {items}")
            dxtest.equal(totals, {(len(want), said)}, f"{words} by {by}: totals")
        if status == 200:
            dxtest.check(in_parts(server, domain, dataset, 3) == want, f"{words}: by a plan")

    def check_all(self, server, rng, words, share=1.0):
        for domain in self.model.of:
            self.check_domain(server, domain, words)
            for dataset in self.model.of[domain]:
                if rng.random() < share:
                    limit = rng.choice([100, 1000]) if domain == "big.com" else rng.randint(1, 40)
                    self.check_listing(server, domain, dataset, limit, words)


# ---- under load ----

class Load:
    """Asks for everything, all the time; after `never` was set for rows, none of them may come."""

    def __init__(self, server, world, threads=2):
        self.server, self.world = server, world
        self.lock, self.never = threading.Lock(), set()
        self.seen = collections.Counter()
        self.stop = threading.Event()
        self.wrong = []
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(threads)]

    def run(self, seed):
        rng = random.Random(seed)
        pairs = list(self.world.order)
        link = dxtest.Link(self.server.host, self.server.port)
        while not self.stop.is_set():
            domain, dataset = rng.choice(pairs)
            with self.lock:
                never = self.never
            try:
                if rng.random() < 0.5:
                    reply = link.get(f"/v1/domain/{domain}")
                else:
                    reply = link.get(f"/v1/domain/{domain}/datasets/{dataset}/urls?limit=500"
                                     f"&offset={rng.randint(0, 5)}")
                self.seen[reply.status] += 1
                if reply.status == 200 and "items" in reply.json:
                    shown = {(dataset, i["url"], i["ts"]) for i in reply.json["items"]} & never
                    if shown:
                        self.wrong.append(sorted(shown, key=str)[0])
                elif reply.status not in (200, 404, 451, 503):
                    self.wrong.append((reply.status, reply.body[:200]))
            except (OSError, ValueError) as error:
                self.wrong.append(repr(error))
            if not dxtest.WHOLE:
                self.stop.wait(0.02)
        link.close()

    def hide(self, rows):
        with self.lock:
            self.never = {(row.dataset, url(row), row.ts) for row in rows}

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        dxtest.check(not self.wrong, f"under load: {self.wrong[:3]}")
        dxtest.check(self.seen, "under load: no reply at all")
        print(f"under load: {sum(self.seen.values())} replies, "
              f"{dict(sorted(self.seen.items()))}, {len(self.wrong)} wrong", flush=True)


def some_value(rng, kind, rows):
    row = rng.choice(rows)
    if kind == "domain":
        return row.domain
    if kind == "host":
        return row.host
    if kind == "prefix":
        return row.host + row.path.split("?")[0][:rng.randint(1, 4)]
    return url(row)


def seconds_until(true, words):
    begin = time.monotonic()
    while not true():
        if not dxtest.check(time.monotonic() - begin < 60, f"{words}: not within a minute"):
            break
        time.sleep(0.005)
    return time.monotonic() - begin


def effects(server, world, load, some=False):
    """Each kind with each policy, or some=True a domain with one and a URL with the other: the time from the end of `suppress add` to the first right answer."""
    rng = random.Random(11)
    for number, kind in enumerate(("domain", "host", "prefix", "url")):
        for policy in ((("withheld", "absent")[number // 3],) if number % 3 == 0 else ()) if some else ("withheld", "absent"):
            domain = rng.choice([d for d in world.model.of if d != "192.0.2.7"])
            rows = [row for rows in world.model.of[domain].values() for row in rows]
            value = some_value(rng, kind, rows)
            before = server.get(f"/v1/domain/{domain}").body
            number = world.add(kind, policy, value)
            words = f"{kind} {policy} {value}"
            status, want = world.model.answer(list(world.rules.values()), domain)

            def right():
                reply = server.get(f"/v1/domain/{domain}")
                return reply.status == status and (status != 200 or reply.json["row_count"] == sum(
                    d["row_count"] for d in want[0].values()))
            seconds = seconds_until(right, words)
            load.hide([row for row in rows if effect(world.rules.values(), row)])
            dxtest.in_time(seconds, WITHIN_S, words)
            world.check_domain(server, domain, words)
            for dataset in world.model.of[domain]:
                world.check_listing(server, domain, dataset, 50 if domain == "big.com" else 9, words)
            load.hide([])
            world.lift(number)
            back = seconds_until(lambda: server.get(f"/v1/domain/{domain}").body == before,
                                 f"{words}: lifted")
            print(f"{words}: {seconds * 1000:.0f} ms, status {status}; lifted: {back * 1000:.0f} ms",
                  flush=True)


def bytes_of(reply, name, other):
    """Body and fields, with the name in place of the other one, and without the time of day."""
    fields = {k: v for k, v in reply.headers.items() if k != "date"}
    return reply.status, fields, reply.body.replace(other.encode(), name.encode())


def same_as_never(server, domain, never, words):
    for path in ("", "/hosts", "/hosts?dataset=1", "/hosts?dataset=99", "/diff", "/datasets/1/urls", "/datasets/99/urls",
                 "/datasets/1/paths", "/datasets/99/paths"):
        dxtest.equal(bytes_of(server.get(f"/v1/domain/{domain}{path}"), never, domain),
                     bytes_of(server.get(f"/v1/domain/{never}{path}"), never, never), f"{words} and never was{path}")


def absent_is_never_was(server, world):
    domain, never = "site3.net", "nosuch.xx"
    number = world.add("domain", "absent", domain)
    seconds_until(lambda: server.get(f"/v1/domain/{domain}").status == 404, "absent")
    same_as_never(server, domain, never, "absent")
    world.lift(number)
    seconds_until(lambda: server.get(f"/v1/domain/{domain}").status == 200, "lifted")
    numbers = [world.add("host", "absent", host) for host in sorted({r.host for r in world.rows if r.domain == domain})]
    seconds_until(lambda: server.get(f"/v1/domain/{domain}").status == 404, "absent, host by host")
    same_as_never(server, domain, never, "absent host by host")
    world.lift(*numbers)
    number = world.add("domain", "withheld", domain)
    seconds_until(lambda: server.get(f"/v1/domain/{domain}").status == 451, "withheld")
    reply = server.get(f"/v1/domain/www.{domain}")
    dxtest.equal((reply.status, reply.json["status"], reply.headers["content-type"]),
                 (451, 451, "application/problem+json"), "withheld")
    dxtest.equal(server.get(f"/v1/domain/{domain}/datasets/1/urls").status, 451, "its listing")
    world.lift(number)
    seconds_until(lambda: server.get(f"/v1/domain/{domain}").status == 200, "lifted")


# Members that are known to say that there are hidden rows, and why (docs/API.md, Suppressions): shares and ranks are of the index's totals.
TOTALS = re.compile(rb'"(?:share|rank)":[^,}]*')
CURSOR = re.compile(rb'"(next_cursor|cursors)":("[^"]*"|\[[^\]]*\])')
ORDERS = ("", "sort=url", "sort=url&reverse=yes", "sort=time", "closest=2024-02-02", "collapse=host", "collapse=url&sort=time", "dataset=1,3")
FILTERS = ("", "prefix=/a", "prefix=/b/", "from=2024-02-02", "filter=~url:a.b", "filter=!~path:^/c&to=2024-02-03", "limit=2")


def questions(domain):
    d = f"/v1/domain/{domain}"
    yield from (d, f"{d}/hosts", f"{d}/hosts?dataset=1", f"{d}/diff", f"{d}/changes", f"{d}?view=icann", f"{d}/datasets/1/paths")
    yield from (f"{d}/timeline?by={by}" for by in ("year", "month", "day"))
    for path in (f"{d}/urls", f"/v1/host/www.{domain}/urls", f"/v1/host/{domain}/urls"):
        yield from (f"{path}?{order}&{a_filter}" for order in ORDERS for a_filter in FILTERS)
    yield from (f"/v1/host/{domain}/urls?subdomains=yes&{order}" for order in ORDERS[:4])
    yield from (f"{d}/datasets/{n}/urls?{a_filter}" for n in (1, 2, 3) for a_filter in (*FILTERS, "offset=3&limit=4", "plan=3"))
    yield from (f"/cdx?url=*.{domain}{more}" for more in ("", "&output=json", "&showNumPages=true", "&filter=urlkey:.*a.*", "&from=20240202"))
    yield from ("/v1/domains?limit=1000", "/v1/domains?regex=s.t.*[13]", "/v1/complete?q=site", "/v1/tlds", "/v1/suffix/com")


def as_never(reply):
    """What is compared. Cursors, and so the entity tags of bodies with one, have places of rows in the files."""
    body, cursors = CURSOR.subn(b"", reply.body)
    body, totals = TOTALS.subn(b"", body)
    left_out = ["date", *(["etag", "content-length"] if cursors + totals else [])]
    return reply.status, {k: v for k, v in reply.headers.items() if k not in left_out}, body


def hidden_never_were(tmp, rows):
    """Rows of policy absent, and a root that has the same rules and not these rows: each answer about what is left."""
    rng = random.Random(11)
    domains = [d for d in sorted({r.domain for r in rows}) if d[0] != "1" and d != "big.com"][:6 if dxtest.WHOLE else 2]
    rules, others = [], [r for r in rows if r.domain != "big.com"]
    for domain in domains:
        for kind in ("host", "prefix", "url"):
            rules.append(Rule(0, kind, "absent", some_value(rng, kind, [r for r in others if r.domain == domain])))
    left = [r for r in others if not effect(rules, r)]
    servers, asked = [], 0
    with contextlib.ExitStack() as stack:
        for name, of in (("all", others), ("left", left)):
            (tmp / name).mkdir()
            os.environ["SOURCE_DATE_EPOCH"] = "1795000000"
            root = make_root(tmp / name, of)
            del os.environ["SOURCE_DATE_EPOCH"]
            servers.append(stack.enter_context(dxtest.Server(root, "--poll-ms", 200, "--cursor-life", 3600)))
        with_cost = sum(b'"cost"' in get(servers[0], q).body for q in questions(domains[0]))
        dxtest.check(with_cost > 50, f"answers have their cost while nothing is hidden: {with_cost}")
        for name in ("all", "left"):
            for rule in rules:
                dxtest.domaindex("suppress", "add", "--root", tmp / name / "root", "--policy", "absent", f"--{rule.kind}", rule.value)
        for server in servers:
            seconds_until(lambda: f"log of {len(set(rules))} lines" in server.words(), "the server has the log")
        for domain in domains:
            for target in questions(domain):
                got, want = (as_never(get(server, target)) for server in servers)
                asked += 1
                dxtest.equal(got, want, f"{target}: hidden rows and rows that never were")
    print(f"{asked} questions about {len(domains)} domains, of {len(others)} rows and of the {len(left)} that are left", flush=True)


def random_rules(server, world):
    rng = random.Random(5)
    for i in range(ROUNDS):
        for _ in range(rng.randint(1, 6)):
            kind = rng.choice(["domain", "host", "prefix", "prefix", "url", "url"])
            # Half of the rows are big.com's, which should not be hidden whole at once.
            rows = [r for r in world.rows if kind not in ("domain", "host") or r.domain != "big.com"]
            world.add(kind, rng.choice(["withheld", "absent"]), some_value(rng, kind, rows))
        if i % 3 == 2 or (i == 1 and not dxtest.WHOLE):
            world.lift(*rng.sample(sorted(world.rules), len(world.rules) // 2))
        last = len(json.loads(world.suppress("list", "--json").stdout)["suppressions"])
        seconds_until(lambda: f"log of {last} lines" in server.words(), "the server has the log")
        world.check_all(server, rng, f"round {i}", 0.3)
    print(f"{ROUNDS} sets of rules against the model, {len(world.rules)} in force at the end",
          flush=True)


def lookups(world):
    """The same answers without a server."""
    names = list(world.model.of)
    lines = dxtest.domaindex("lookup", "--root", world.root, *names, env=world.env,
                             expect=None).stdout.splitlines()
    for name, line in zip(names, lines):
        status, want = world.model.answer(list(world.rules.values()), name)
        got = json.loads(line)
        if status != 200:
            dxtest.equal(got.get("problem"), "withheld" if status == 451 else "domain-not-found",
                         f"lookup {name}")
        else:
            dxtest.equal((got["row_count"], got.get("withheld_rows", 0)),
                         (sum(d["row_count"] for d in want[0].values()), want[1]),
                         f"lookup {name}")


def refused_logs(server, world):
    """What is known stays in force when the log is gone, damaged or another one."""
    path = world.root / "index" / "suppressions.log"
    text = path.read_bytes()
    domain = next(d for d in world.model.of
                  if world.model.answer(list(world.rules.values()), d)[0] != 200)
    for words, bad in (("gone", None), ("cut", text[:-40]), ("another", b"")):
        path.unlink()
        if words == "another":
            other = ("suppress", "add", "--root", world.root, "--host", "site0.com")
            dxtest.check(b"the log was lost" in dxtest.domaindex(*other, expect=1).stderr, "a log is not begun again")
            dxtest.domaindex("suppress", "accept", "--root", world.root)
            dxtest.domaindex(*other)
        elif bad is not None:
            path.write_bytes(bad)
        seconds_until(lambda: b"suppressions:" in server.get("/readyz").body, f"a log that is {words}")
        world.check_domain(server, domain, f"a log that is {words}")
        (world.root / "index" / "aside").write_bytes(text)
        (world.root / "index" / "aside").rename(path)
        seconds_until(lambda: b"suppressions:" not in server.get("/readyz").body, "the log is back")
    dxtest.domaindex("suppress", "accept", "--root", world.root)


# ---- many writers, an S3 server, compaction ----

def writers(world, writers_count, each):
    """Nobody's line is lost, and numbers go from 1 up without a hole."""
    known = json.loads(world.suppress("list", "--json").stdout)["suppressions"]
    names = [f"w{i}x{k}.com" for i in range(writers_count) for k in range(each)]

    def one(i):
        for k in range(each):
            world.suppress("add", "--domain", f"w{i}x{k}.com")
    with concurrent.futures.ThreadPoolExecutor(writers_count) as pool:
        list(pool.map(one, range(writers_count)))
    lines = json.loads(world.suppress("list", "--json").stdout)["suppressions"]
    dxtest.equal(lines[:len(known)], known, "the lines that were there")
    dxtest.equal([line["number"] for line in lines], list(range(1, len(lines) + 1)), "numbers")
    dxtest.equal(sorted(line["value"] for line in lines[len(known):]), sorted(names),
                 "the lines of all writers")
    print(f"{writers_count} writers, {each} lines each, on {world.root}: none lost", flush=True)


def on_s3(tmp, rows, root):
    store = next((s for s in (stores.Versitygw(), stores.Minio()) if stores.find(s.program)), None)
    if store is None:
        print("no S3 server here: that part was left out", flush=True)
        return
    with store, stores.environment(store.env):
        store.bucket("bucket")
        for name in ("suppressions.log", "suppressions.floor"):
            (root / "index" / name).unlink(missing_ok=True)
        store.upload("bucket", "r", root)
        world = World(store.root("bucket", "r"), rows)
        os.environ["XDG_CACHE_HOME"] = str(tmp / "cache")
        writers(world, *((4, 5) if dxtest.WHOLE else (2, 2)))
        with dxtest.Server(world.root, "--poll-ms", 500) as server:
            world.learn(server)
            with Load(server, world) as load:
                effects(server, world, load, not dxtest.WHOLE)


def compacted(world, server):
    """After a compaction answers are the same, but for what was withheld of which nothing is left,
    and the files of the current version hold none of the rows."""
    if dxtest.domaindex("help", "compact", expect=None).returncode != 0:
        print("no `domaindex compact`: that part was left out", flush=True)
        return
    status = json.loads(world.suppress("status", "--json").stdout)
    dxtest.equal({rule["state"] for rule in status["rules"]}, {"hidden"}, "before compact")
    dxtest.domaindex("compact", "--root", world.root)
    status = json.loads(world.suppress("status", "--json").stdout)
    dxtest.equal({rule["state"] for rule in status["rules"]}, {"gone"}, "after compact")
    dxtest.equal({tuple(rule["gone_from"]) for rule in status["rules"]}, {(status["current"],)},
                 "gone from the new version only")
    seconds_until(lambda: server.get("/readyz").headers.get("x-domaindex-version") ==
                  status["current"] or f"version {status['current']}" in server.words(), "reloaded")
    rules = list(world.rules.values())
    found = lake_rows(world.root, status["current"])
    want = sorted((r.dataset, url(r)) for r in world.rows if not effect(rules, r))
    dxtest.check(found is None or sorted(found) == want, f"the lake has {len(found or [])} rows, {len(want)} are visible")
    for domain in world.model.of:
        before, want = world.model.answer(rules, domain)
        reply = get(server, f"/v1/domain/{domain}")
        if before == 451 and world.model.whole(rules, domain) is None:
            before = 404            # nothing of it is left that could be withheld
        dxtest.equal(reply.status, before, f"compacted: {domain}")
        if reply.status == 200:
            dxtest.equal((reply.json["row_count"], "withheld_rows" in reply.json),
                         (sum(d["row_count"] for d in want[0].values()), False),
                         f"compacted: {domain}: rows")
    print(f"compacted: {len(want_rows(world)) } rows left, none of {len(rules)} rules in the files",
          flush=True)


def want_rows(world):
    return [row for row in world.rows if not effect(world.rules.values(), row)]


def lake_rows(root, version):
    """What pyarrow reads in the files that the version names."""
    try:
        import pyarrow.parquet
    except ImportError:
        print("SKIP the rows in the lake's files: no pyarrow here", flush=True)
        return None
    found = []
    for fields in roots.lake_lines(root, version):
        table = pyarrow.parquet.ParquetFile(root / "urls" / fields[3]).read(
            columns=["scheme", "host", "path_query"])
        columns = [table.column(i).to_pylist() for i in range(3)]
        found += [(int(fields[1]), f"{s}://{h}{p}") for s, h, p in zip(*columns)]
    return found


def estimates(root):
    """Where distinct URLs are an estimate, what the counts say for certain holds, of what is left as well."""
    domains = [f"est{i}.com" for i in range(12)]
    for dataset in (1, 2):
        text = "".join(f"https://{d}/hidden\n" + "".join(f"https://{d}/{dataset}/{i}\n" for i in range(600))
                       for d in domains)
        dxtest.domaindex("ingest", "--root", root, "--dataset", f"set{dataset}", "--format", "list", "-",
                         input=text.encode())
    dxtest.domaindex("publish", "--root", root)
    dxtest.domaindex("suppress", "add", "--root", root, *[f"--url=https://{d}/hidden" for d in domains])
    with dxtest.Server(root) as server:
        for domain in domains:
            answer = get(server, f"/v1/domain/{domain}").json
            distinct = answer["distinct_url_count"]
            dxtest.equal((answer["url_count"], answer["distinct_error"]), (1200, 0.01625), domain)
            dxtest.check(1200 * (1 - 5 * 0.01625) < distinct <= 1200, f"{domain}: {distinct} distinct URLs of 1200")


def main():
    dxtest.need_programs()
    rows = make_rows(3)
    with dxtest.tempdir() as tmp:
        hidden_never_were(tmp, rows)
        root = make_root(tmp, rows)
        world = World(root, rows)
        with dxtest.Server(root) as server:
            world.learn(server)
            with Load(server, world) as load:
                effects(server, world, load)
            absent_is_never_was(server, world)
            random_rules(server, world)
            lookups(world)
            refused_logs(server, world)
        with dxtest.Server(root) as server:     # which begins with a log
            world.check_all(server, random.Random(1), "after a start", 0.3)
            compacted(world, server)
        writers(world, *((8, 6) if dxtest.WHOLE else (6, 3)))
        estimates(tmp / "estimates")
        on_s3(tmp, rows, make_root(tmp / "again", rows))
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
