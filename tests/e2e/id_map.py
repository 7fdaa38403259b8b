#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""Canonical URLs beside requested ones: /v1/url against a recount, with chains, loops, merges and compaction.

In detail: canonical URLs beside requested ones: `/v1/url` for each against a recount, chains of 8 and 9
steps, loops, several datasets, merged and compacted, hidden ones (told by no answer and no export), scopes;
`verify --deep`.
"""
import collections
import csv
import json
import pathlib
import random
import re
import urllib.parse

import dxtest

STEPS = 8
HOST = "https://www.site{}.example"


def chain_rows():
    """Chains of 8 and of 9 steps, a loop of three, one of itself, two that say each other."""
    rows = []
    for name, length in (("eight", 8), ("nine", 9)):
        rows += [(f"https://{name}.example/{i}", f"https://{name}.example/{i + 1}") for i in range(length)]
    rows += [(f"https://loop.example/{i}", f"https://loop.example/{(i + 1) % 3}") for i in range(3)]
    rows += [("https://self.example/a", "https://self.example/a"), ("https://bad.example/a", "/relative"),
             ("https://empty.example/a", ""), ("https://two.example/a", "https://two.example/b"),
             ("https://two.example/b", "https://two.example/a")]
    return [(u, c, str(1600000000 + i)) for i, (u, c) in enumerate(rows)]


def random_rows(seed, count):
    r = random.Random(seed)
    url = lambda: HOST.format(r.randrange(6)) + f"/p{r.randrange(25)}"  # noqa: E731
    return [(url(), r.choice(["", url(), url()]), str(1700000000 + r.randrange(10**6))) for _ in range(count)]


def ingest(root, dataset, rows, *more):
    path = root.parent / f"{dataset}.csv"
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["url", "canonical", "ts"])
        writer.writerows(rows)
    return dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "--canonical-column", "canonical",
                            *more, path).stderr.decode()


def stored(rows):
    """(URL, what led to it or None) of each row: what the lake is to have."""
    for url, canonical, ts in rows:
        good = canonical.startswith("https://")
        yield (canonical, url if canonical != url else None, int(ts)) if good else (url, None, int(ts))


class Model:
    """datasets: [(name, rows)] in the order of their numbers."""

    def __init__(self, datasets):
        self.of = collections.defaultdict(list)
        self.led = collections.defaultdict(list)
        for number, (_, rows) in enumerate(datasets):
            for url, requested, ts in set(stored(rows)):
                self.of[url].append((number, ts, requested))
                if requested:
                    self.led[requested].append((number, url, ts))

    def next(self, url):
        """Rows stand by dataset, then host, then path, then time: the first one leads."""
        order = lambda row: (row[0], *urllib.parse.urlsplit(row[1])[1:3], row[2])  # noqa: E731
        return min(self.led[url], key=order)[1] if self.led.get(url) else None

    def answer(self, url):
        chain, end = [url], None
        while end is None:
            after = self.next(chain[-1])
            if after is None:
                end = "canonical"
            elif len(chain) > STEPS:
                end = "limit"
            else:
                end = "loop" if after in chain else None
                chain.append(after)
        return chain, end, len(self.of[chain[-1]])


def check_url(server, model, url):
    chain, end, rows = model.answer(url)
    reply = server.get("/v1/url?u=" + urllib.parse.quote(url, safe="") + "&limit=1000")
    if rows == 0:
        dxtest.equal(reply.status, 404, f"{url}: nobody has it")
        return
    if not dxtest.equal(reply.status, 200, f"{url}: {reply.body[:200]!r}"):
        return
    got = reply.json
    dxtest.equal((got["url"], got["row_count"]), (chain[-1], rows), f"{url}: the answer's URL and rows")
    if len(chain) > 1:
        dxtest.equal((got["requested_url"], got["original_url"], got["chain"], got["chain_end"]),
                     (url, url, chain, end), f"{url}: what was asked")
    else:
        dxtest.check("chain" not in got and "requested_url" not in got, f"{url}: a chain of nothing")
    found = sorted((r["ts"] is not None, r["extras"].get("requested_url") or "") for d in got["datasets"] for r in d["rows"])
    want = sorted((True, requested or "") for _, _, requested in model.of[chain[-1]])
    dxtest.equal(found, want, f"{url}: requested_url of its rows")


def check_root(root, datasets, words):
    model = Model(datasets)
    urls = sorted({u for _, rows in datasets for row in rows for u in row[:2] if u.startswith("https://")})
    dxtest.domaindex("verify", "--root", root, "--deep")
    with dxtest.Server(root) as server:
        for url in urls + ["https://nobody.example/"]:
            check_url(server, model, url)
    print(f"{words}: {len(urls)} URLs, {sum(len(model.answer(u)[0]) > 1 for u in urls)} led on", flush=True)


def check_suppressed(root):
    """A canonical URL that may not be shown is not led to."""
    asked = "/v1/url?u=" + urllib.parse.quote("https://eight.example/7", safe="")
    dxtest.domaindex("suppress", "add", "--root", root, "--url", "https://eight.example/8", "--reason", "asked")
    with dxtest.Server(root) as server:
        reply = server.get(asked)
        dxtest.equal(reply.status, 200, "a URL that leads to one which is hidden")
        dxtest.check(b"eight.example/8" not in reply.body, "a hidden canonical URL is told")


LED = "https://led.example/asked?q=secret"
TO = "https://to.example/page"


def asked(server, url, who=None):
    return server.get("/v1/url?u=" + urllib.parse.quote(url, safe=""), headers={"X-Principal": who} if who else None)


def check_hidden_requested(tmp):
    """A requested URL that rules hide is told nowhere: neither its own answer nor the row of the canonical one."""
    root = tmp / "requested"
    ingest(root, "led", [(LED, TO, "1600000000"), (TO, "", "1600000001")])
    dxtest.domaindex("publish", "--root", root)
    targets = ["/v1/url?u=" + urllib.parse.quote(TO, safe=""), "/v1/domain/to.example/datasets/1/urls?fields=url,extras,raw_url",
               "/v1/domain/to.example/datasets/1/urls?fields=url,extras,raw_url&prefix=/page"]
    with dxtest.Server(root) as server:
        url_id = server.get("/v1/url?u=" + urllib.parse.quote(TO, safe="")).json["url_id"]
        targets.append(f"/v1/urlid/{url_id}")
        dxtest.equal(asked(server, LED).json["url"], TO, "it is led on")
        for target in targets[:-1]:
            dxtest.check(b"secret" in server.get(target).body, f"{target}: what was requested is not told")
    with dxtest.Server(root, "--poll-ms", 50) as server:
        for number, (kind, value) in enumerate((("--url", LED), ("--host", "led.example"), ("--domain", "led.example"), ("--prefix", "led.example/as")), 1):
            dxtest.domaindex("suppress", "add", "--root", root, kind, value, "--policy", "absent", "--reason", "asked")
            dxtest.wait_until(lambda: asked(server, LED).status == 404)
            dxtest.equal(asked(server, LED).status, 404, f"{kind}: a hidden URL is led on")
            for target in targets:
                reply = server.get(target)
                dxtest.equal(reply.status, 200, f"{kind}: {target}")
                dxtest.check(b"secret" not in reply.body and b"led.example" not in reply.body, f"{kind}: {target}: {reply.body!r:.400}")
            if dxtest.WHOLE or number % 3 == 1:
                out = tmp / f"out{kind}"
                dxtest.domaindex("export", "--root", root, "--file-store", out)
                text = (out / "index").read_text()
                dxtest.check("to.example/page" in text and "led.example" not in text, f"{kind}: exported: {text!r}")
            dxtest.domaindex("suppress", "lift", "--root", root, 2 * number - 1)  # a lift has a number too
            dxtest.wait_until(lambda: asked(server, LED).status == 200)
            dxtest.equal(asked(server, LED).status, 200, f"{kind}: lifted, it is led on again")


def state_of(root, number):
    rules = json.loads(dxtest.domaindex("suppress", "status", "--root", root, "--json").stdout)["rules"]
    return next(rule["state"] for rule in rules if rule["number"] == number)


def check_compacted_requested(tmp):
    """A requested URL that rules hide leaves the lake's files with the next compaction, here and in what is ingested
    later: when the rule is lifted nothing comes back. The rows stay. In the gate once, else twice."""
    root = tmp / "compacted"
    ingest(root, "led", [(LED, TO, "1600000000"), (TO, "", "1600000001"), ("https://other.example/asked", TO, "1600000002")])
    dxtest.domaindex("publish", "--root", root)
    for n in range(2 if dxtest.WHOLE else 1):
        dxtest.domaindex("suppress", "add", "--root", root, "--url", LED, "--policy", "absent", "--reason", "asked")
        number = 2 * n + 1  # a lift has a number too
        dxtest.equal(state_of(root, number), "hidden", f"{n}: before compact")
        dxtest.domaindex("compact", "--root", root)
        dxtest.equal(state_of(root, number), "gone", f"{n}: after compact")
        ingest(root, "led", [(LED, TO, f"160000001{n}")])
        dxtest.domaindex("publish", "--root", root)
        dxtest.equal(state_of(root, number), "hidden", f"{n}: a later row has it again")
        dxtest.domaindex("compact", "--root", root)
        dxtest.domaindex("verify", "--root", root, "--deep")
        dxtest.domaindex("suppress", "lift", "--root", root, str(number))
        with dxtest.Server(root) as server:
            dxtest.equal(asked(server, LED).status, 404, f"{n}: nothing leads from it")
            reply = asked(server, TO)
            dxtest.check(b"secret" not in reply.body and b"led.example" not in reply.body, f"{n}: it is back: {reply.body!r}")
            dxtest.check(b"other.example/asked" in reply.body, f"{n}: what another one was led by stays")
            dxtest.equal(reply.json["row_count"], 4 + n, f"{n}: the rows stay")


def check_scopes(tmp):
    """Who may not see a dataset is neither led by its rows nor told what they lead to: the answers are those of a root without it."""
    both, less = tmp / "both", tmp / "less"
    shown = [(f"https://a.example/{i}", f"https://a.example/{i + 1}", "1600000000") for i in range(0, 6, 2)]
    hidden = [(f"https://a.example/{i}", f"https://a.example/{i + 1}", "1600000000") for i in range(1, 6, 2)]
    hidden += [("https://a.example/0", "https://hidden.example/", "1500000000"), ("https://hidden.example/", "https://a.example/4", "1")]
    for root, datasets in ((both, {"shown": shown, "hidden": hidden}), (less, {"shown": shown})):
        for name, rows in datasets.items():
            ingest(root, name, rows)
        dxtest.domaindex("publish", "--root", root)
    file = tmp / "access.json"
    file.write_text(json.dumps({"format": 1, "generation": 1, "updated": "2026-11-22T04:00:00Z",
                                "dataset_acl": [{"dataset_id": 1, "principals": ["some"]}], "principals": [], "history": []}))
    urls = [f"https://a.example/{i}" for i in range(8)] + ["https://hidden.example/", "https://hidden.example/x"]
    known = ("--access-file", file, "--access", "require", "--principal-header", "X-Principal", "--trusted-proxy", "127.0.0.1")
    with dxtest.Server(both, *known) as server, dxtest.Server(both) as every, dxtest.Server(less) as other:
        led = 0
        for url in urls:
            got, want = asked(server, url, "some"), asked(other, url)
            strip = lambda body: re.sub(rb"\d{6}-\d{8}T\d{6}Z", b"V", body)  # noqa: E731
            dxtest.equal((got.status, strip(got.body)), (want.status, strip(want.body)), f"{url}: what somebody else may see shows")
            led += asked(every, url).body != want.body
        dxtest.check(led > 5, "the hidden rows lead nobody")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = pathlib.Path(tmp) / "root"
        chains, some = chain_rows(), random_rows(1, 600)
        said = ingest(root, "chains", chains)
        dxtest.check("canonical URLs refused" in said, f"a canonical URL that is none: {said}")
        ingest(root, "some", some)
        dxtest.domaindex("publish", "--root", root)
        check_root(root, [("chains", chains), ("some", some)], "two datasets")
        more, third = random_rows(2, 300), random_rows(3, 300)
        ingest(root, "some", more)
        ingest(root, "third", third)
        dxtest.domaindex("publish", "--root", root)
        datasets = [("chains", chains), ("some", some + more), ("third", third)]
        dxtest.domaindex("compact", "--root", root)
        check_root(root, datasets, "compacted")
        check_suppressed(root)
        check_hidden_requested(pathlib.Path(tmp))
        check_compacted_requested(pathlib.Path(tmp))
        check_scopes(pathlib.Path(tmp))
    dxtest.finish()


main()
