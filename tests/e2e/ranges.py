#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""/v1/range and /v1/keys against a recount: ranges of every kind in both layouts, walked by cursors, with suppressions and
scopes, while the registry is filled, damaged, mended and taken away.

What is expected comes from the rows that were ingested, the numbers of `domaindex key`, and the order of listings.

DX_WHOLE=1: both layouts, else the second; ranges around 25 numbers, else around 7.

In detail: `/v1/range` and `/v1/keys` against a recount of the rows: TLDs, domains, subdomains, paths, bounds
in the middle of fields and in each form, both layouts, walked by cursors of each size; rows without numbers,
a filling under a walk, suppressions, scopes; a damaged, mended, cut and removed registry.
"""
import collections
import random
import shutil
import time
import urllib.parse

import dxtest
import stores
from dxtest import check, equal

LAYOUTS = {"8-24-8-24": (56, 32, 24, 0), "8-24-24-8": (56, 32, 8, 8)}
END = 2**64


def domain64(*arguments, **options):
    return dxtest.domaindex("domain64", *arguments, **options)


def ingest(root, name, urls):
    dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-",
                     input="".join(u + "\n" for u in urls).encode())


def ingest_sets(root, datasets):
    """set1, set2 and so on with these URLs."""
    text = "".join(f"set{n}\t{u}\n" for n, urls in enumerate(datasets, 1) for u in urls)
    dxtest.domaindex("ingest", "--root", root, "--dataset-column", 1, "--url-column", 2, "--no-header", "--format", "tsv", "-", input=text.encode())


def publish(root):
    dxtest.domaindex("publish", "--root", root, "--memory", "64M")


def keys(scheme, urls, *arguments):
    """What the command says: decimal text, or "!reason"."""
    done = dxtest.domaindex("key", "--scheme", scheme, *arguments, input="".join(u + "\n" for u in urls).encode(), expect=None)
    return [line.split("\t")[0] for line in done.stdout.decode().splitlines()]


def made(seed, count):
    r = random.Random(seed)
    for _ in range(count):
        sub = r.choice(["", "www.", "a.b.", f"s{r.randrange(30)}."])
        path = r.choice(["", "a", "b/c", f"p{r.randrange(40)}?q=1", "a'b"])
        port = r.choice(["", ":8080"])
        yield f"{r.choice(['http', 'https'])}://{sub}d{r.randrange(20)}.{r.choice(['com', 'org', 'co.uk', 'uk'])}{port}/{path}"
    for i in range(60):
        yield f"http://many.org/{i:04}"
    yield from ("http://127.0.0.1/x", "https://[2001:db8::1]:8443/y", "ftp://files.d1.com/pub/")


class Lake:
    """The rows, by dataset; listings say their order."""

    def __init__(self, datasets):
        self.urls = {n + 1: set(urls) for n, urls in enumerate(datasets)}
        self.numbers, self.hidden = {}, lambda url: False

    def number(self, root):
        urls = sorted(set().union(*self.urls.values()))
        self.numbers = {u: int(k) for u, k in zip(urls, keys("domain64", urls, "--root", root)) if not k.startswith("!")}

    def order(self, server):
        """[(number, dataset, url)] of all rows that have a number and may be shown."""
        domains = collections.defaultdict(set)
        for url, number in self.numbers.items():
            domains[number >> 32].add(url)
        self.all = []
        for number, urls in sorted(domains.items()):
            for dataset, has in self.urls.items():
                shown = {u for u in urls & has if not self.hidden(u)}
                if shown:
                    name = server.get("/v1/keys?url=" + quote(min(shown))).json["domain"]
                    listing = server.get(f"/v1/domain/{quote(name)}/datasets/{dataset}/urls?limit=10000").json["items"]
                    listed = [i["url"] for i in listing if i["url"] in self.numbers]
                    equal(set(listed), shown, f"{name} in {dataset}: listing")
                    self.all += [(self.numbers[u], dataset, u) for u in listed]

    def within(self, first, end, dataset=None):
        return [row for row in self.all if first <= row[0] < end and dataset in (None, row[1])]


def quote(text):
    return urllib.parse.quote(text, safe="")


def rows_of(reply):
    return [(int(i["domain64"], 16), i["dataset_id"], i["url"]) for i in reply["items"]]


def walk(server, query, limit):
    """All rows of a range by cursors; pages are of `limit` rows at most."""
    rows, target, pages = [], f"/v1/range?{query}&limit={limit}", 0
    while target:
        reply = server.get(target)
        if not equal(reply.status, 200, f"{target}: {reply.body[:200]!r}"):
            return rows, pages
        page = reply.json
        check(len(page["items"]) <= limit, f"{target}: {len(page['items'])} rows")
        rows += rows_of(page)
        pages += 1
        check(pages < 20000, f"{query}: no end") or exit(1)
        cursor = page["next_cursor"]
        target = f"/v1/range?cursor={cursor}" if cursor else None
    return rows, pages


def ranges(lake, layout, rng):
    """(first, end) of TLDs, domains, subdomains, paths, and what cuts through fields."""
    some = rng.sample(sorted(lake.numbers.values()), 25 if dxtest.WHOLE else 7)
    yield from ((0, END), (1, END), (0, 1), (2**63, END), (0, 2**63), (2**56, 2**57))
    for number in some:
        for shift in set(LAYOUTS[layout]):
            first = number >> shift << shift
            yield first, first + 2**shift
        yield number, number + 1
        yield number, number
        yield number + 1, min(END, number + 2**rng.randrange(50))
        first, end = sorted((number, rng.choice(some) + rng.randrange(3)))
        yield first, end


def written(number, rng, end=False):
    """A number in one of the forms that are taken."""
    if number == END:
        return rng.choice(["0x10000000000000000", "18446744073709551616", "0", None])
    forms = [str(number), f"0x{number:016x}", f"0x{number:X}", f"000{number}"]
    if number >= 2**63:
        forms.append(str(number - 2**64))
    if end and number == 2**63:
        forms.append("MAXVALUE")
    return rng.choice(forms) if number or not end else "1"    # as an end 0 is 2^64


def check_ranges(server, lake, layout, rng):
    total = 0
    for first, end in ranges(lake, layout, rng):
        to = written(end, rng, end=True)
        query = f"from={written(first, rng)}" + (f"&to={to}" if to else "")
        end = max(end, 1)
        dataset = rng.choice([None, None, *lake.urls])
        if dataset:
            query += f"&dataset={dataset}"
        if first > end:
            continue
        want = lake.within(first, end, dataset)
        got, _ = walk(server, query, 10000)
        equal(got, want, f"{layout}: {query}")
        limit = rng.choice([1, 7, 50, 1000])
        if len(want) / limit < (200 if dxtest.WHOLE else 60):
            got, pages = walk(server, query, limit)
            equal(got, want, f"{layout}: {query}, {limit} at a time")
        total += len(want)
    print(f"{layout}: {total} rows of ranges", flush=True)


def check_keys(server, lake, root, layout):
    urls = sorted(set().union(*lake.urls.values()))[::9] + ["HTTP://WWW.D1.com:80/a/../b?utm_source=x&b=1&a=2#top",
                                                             "http://nobody.example/x", "d1.com"]
    known = {scheme: keys(scheme, urls) for scheme in ("url_id", "domain_id", "store_key")}
    known["clean"] = keys("store_key", urls, "--clean")
    known["domain64"] = keys("domain64", urls, "--root", root)
    for i, url in enumerate(urls):
        got = server.get("/v1/keys?url=" + quote(url)).json
        equal(int(got["url_id"], 16), int(known["url_id"][i]), f"{url}: url_id")
        equal(int(got["domain_id"], 16), int(known["domain_id"][i]), f"{url}: domain_id")
        equal((int(got["store_key"], 16), got["store_key_decimal"]), (int(known["store_key"][i]), known["store_key"][i]), url)
        equal((int(got["store_key_clean"], 16), got["store_key_clean_decimal"]), (int(known["clean"][i]), known["clean"][i]), url)
        equal(got["domain64_layout"], layout, f"{url}: layout")
        number = known["domain64"][i]
        if lake.hidden(url) or number.startswith("!"):
            equal((got["domain64"], got["domain64_reason"]), (None, "not_numbered"), f"{url}: no number")
        else:
            signed = int(number) - (2**64 if int(number) >= 2**63 else 0)
            equal((got["domain64"], got["domain64_bigint"]), (f"0x{int(number):016x}", str(signed)), f"{url}: number")


def check_refused(server):
    for query, status in (("from=1&to=0x0", 200), ("from=5&to=4", 400), ("from=-1&to=5", 400), ("", 400), ("to=5", 400),
                          ("from=0x", 400), ("from=", 400), ("from=1&to=0x10000000000000001", 400), ("from=x&to=5", 400),
                          ("from=18446744073709551616", 400), ("from=0&dataset=99", 404), ("from=0&dataset=x", 404), ("from=0&dataset=99999999999", 400),
                          ("from=0&limit=10001", 400), ("from=0&fields=what", 400), ("cursor=AAAA", 400),
                          ("from=0&from=1", 400), ("from=0&version=000001-20200101T000000Z", 410)):
        equal(server.get(f"/v1/range?{query}").status, status, f"/v1/range?{query}")
    for query, ends in (("from=0", ("0x0000000000000000", "0x10000000000000000")), ("from=1&to=0x0", ("0x0000000000000001", "0x10000000000000000")),
                        ("from=5&to=9", ("0x0000000000000005", "0x0000000000000009"))):
        answer = server.get(f"/v1/range?{query}").json
        equal((answer["from"], answer["to"]), ends, f"/v1/range?{query}: what was asked for")
    for query, status in (("", 400), ("url=", 400), ("url=x:y", 400), ("url=http://a.com/&limit=1", 400), ("u=http://a.com/", 400)):
        equal(server.get(f"/v1/keys?{query}").status, status, f"/v1/keys?{query}")
    first = server.get("/v1/range?from=0&limit=1").json["next_cursor"]
    for more, status in (("", 200), ("&limit=3", 200), ("&from=0", 200), ("&to=0", 200), ("&from=1", 400), ("&to=7", 400),
                         ("&dataset=1", 400), ("&fields=url", 400)):
        equal(server.get(f"/v1/range?cursor={first}{more}").status, status, f"cursor of all{more}")
    equal(server.get(f"/v1/changes?cursor={first}").status, 400, "a cursor of a range for changes")
    fields = server.get("/v1/range?from=0&limit=1&fields=raw_url,ts").json["items"][0]
    equal(list(fields), ["ts", "raw_url", "domain64", "domain", "dataset_id"], "fields of an item")


def wait(true, words, seconds=60):
    check(dxtest.wait_until(true, seconds), words)


def check_layout(tmp, layout, rng):
    root = tmp / layout
    lake = Lake([list(made(1, 500)), list(made(2, 300)), list(made(3, 200))])
    ingest_sets(root, [sorted(urls) for urls in lake.urls.values()])
    publish(root)
    with dxtest.Server(root, "--poll-ms", 50) as server:
        reply = server.get("/v1/range?from=0")
        equal((reply.status, b"no-registry" in reply.body), (404, True), "no registry")
        equal(server.get("/v1/keys?url=http://d1.com/").json["domain64_reason"], "no_registry", "no registry")
        domain64("init", "--root", root, "--layout", layout)
        domain64("fill", "--root", root)
        wait(lambda: server.get("/v1/keys?url=http://d1.com/").json["domain64"], "a filling is seen")
        lake.number(root)
        check(len(lake.numbers) >= len(set().union(*lake.urls.values())) * 9 // 10, "nearly all have numbers")
        lake.order(server)
        check_ranges(server, lake, layout, rng)
        check_keys(server, lake, root, layout)
        check_refused(server)
        check_filling(server, root, lake, layout)
        check_suppressed(server, root, lake, layout)
    return root, lake


def check_filling(server, root, lake, layout):
    """Rows that came after the last filling have no number; who walks goes on with the registry that he began with."""
    late = [f"http://late{i}.com/{i}" for i in range(40)] + [f"http://d1.com/late{i}" for i in range(40)]
    ingest(root, "set1", late)
    publish(root)
    lake.urls[1] |= set(late)
    # Where paths have no numbers, new ones of a host have that of the host at once.
    wait(lambda: server.get("/v1/range?from=0&limit=1").json["version"].startswith("000002"), "the new version is served")
    lake.number(root)
    lake.order(server)
    before = lake.within(0, END)
    equal(walk(server, "from=0", 1000)[0], before, f"{layout}: rows without numbers")
    page = server.get("/v1/range?from=0&limit=10").json
    rows, cursor = rows_of(page), page["next_cursor"]
    domain64("fill", "--root", root)
    wait(lambda: server.get("/v1/keys?url=http://late1.com/1").json["domain64"], "the second filling is seen")
    while cursor:
        page = server.get(f"/v1/range?cursor={cursor}").json
        rows, cursor = rows + rows_of(page), page["next_cursor"]
    equal(rows, before, f"{layout}: a walk that began before a filling")
    lake.number(root)
    check(set(late) <= lake.numbers.keys(), "now all have numbers")
    lake.order(server)
    equal(walk(server, "from=0", 333)[0], lake.within(0, END), f"{layout}: after the second filling")


def check_suppressed(server, root, lake, layout):
    dxtest.domaindex("suppress", "add", "--root", root, "--url", "http://many.org/", "--domain", "d3.com", "--url", "http://many.org/0007",
                     "--policy", "absent", "--reason", "test")
    lake.hidden = lambda url: ("d3.com/" in url or "d3.com:" in url) or url == "http://many.org/0007"
    wait(lambda: server.get("/v1/domain/d3.com").status == 404, "the suppression is seen")
    wait(lambda: server.get("/v1/domain/many.org").status == 200, "what it hides is known")
    lake.order(server)
    rng = random.Random(7)
    check_ranges(server, lake, layout, rng)
    for url in ("http://d3.com/a", "http://www.d3.com/", "http://many.org/0007") if layout == "8-24-8-24" else ("http://d3.com/a",):
        got = server.get("/v1/keys?url=" + quote(url)).json
        equal((got["domain64"], got["domain64_reason"]), (None, "not_numbered"), f"{url}: is as if nobody had ever seen it")
    # A number of a host is no page's: a page that a rule hides has it like one that never was, or the rule would be seen.
    for hidden, other in (("http://many.org/", "https://many.org/"), ("http://many.org/0007", "http://many.org/nobody")):
        got, want = (server.get("/v1/keys?url=" + quote(url)).json for url in (hidden, other))
        equal([got.get(name) for name in ("domain64", "domain64_reason")],
              [want.get(name) for name in ("domain64", "domain64_reason")], f"{layout}: {hidden} like {other}")
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", "d4.com", "--policy", "withheld", "--reason", "test")
    wait(lambda: server.get("/v1/domain/d4.com").status == 451, "the second one is seen")
    equal(server.get("/v1/keys?url=http://d4.com/a").json["domain64_reason"], "withheld", "said to be withheld")
    check(not any("d4.com" in row[2] for row in walk(server, "from=0", 10000)[0]), "nothing of what is withheld")


def check_access(root):
    """Who may see a part only gets no number, and no range, whatever there is."""
    access = lambda *words: dxtest.domaindex("access", *words, "--root", root).stdout.decode()  # noqa: E731
    access("init")
    access("grant", "set1", "set2", "set3", "--to", "*")
    access("principal", "add", "chief", "--all")
    token = {"Authorization": "Bearer " + access("token", "new", "chief").split()[0]}
    with dxtest.Server(root) as server:
        equal(server.get("/v1/range?from=0").status, 403, "a range for who is shown a list of datasets")
        equal(server.get("/v1/keys?url=http://d1.com/a").json["domain64_reason"], "restricted", "a number for him")
        check(server.get("/v1/keys?url=http://d1.com/a", headers=token).json["domain64"], "a number for who sees all")
        page = server.get("/v1/range?from=0&limit=5", headers=token).json
        equal(len(page["items"]), 5, "a range for who sees all")
        for who, status in ((None, 400), (token, 200)):
            equal(server.get("/v1/range?cursor=" + page["next_cursor"], headers=who).status, status, "his cursor")


def check_gone(root):
    """A server that never had the registry as it was says so, and how to begin again."""
    query = "from=0&to=0x7f00000000000000&dataset=1&fields=url"
    with dxtest.Server(root) as server:
        cursor = server.get(f"/v1/range?{query}&limit=5").json["next_cursor"]
    ingest(root, "set2", ["http://quite.new.com/"])
    publish(root)
    with dxtest.Server(root, "--poll-ms", 50) as server:
        equal(server.get(f"/v1/range?cursor={cursor}").status, 200, "a registry that is the same")
        domain64("fill", "--root", root)
        wait(lambda: server.get("/v1/keys?url=http://quite.new.com/").json["domain64"], "a filling is seen")
        equal(server.get(f"/v1/range?cursor={cursor}").status, 200, "one that was superseded, and is kept")
    with dxtest.Server(root) as server:
        reply = server.get(f"/v1/range?cursor={cursor}")
        equal((reply.status, b"numbers-gone" in reply.body), (410, True), f"the registry of before: {reply.body}")
        equal(reply.json["restart"], "/v1/range?from=0x0000000000000000&to=0x7f00000000000000&dataset=1&limit=5&fields=url",
              "the question to begin again with")
        equal(server.get(reply.json["restart"]).status, 200, "it has an answer")


def check_restored(tmp):
    """A registry that was put back from a copy gives the numbers since then to other names: no walk goes on with both."""
    root, copy = tmp / "restored", tmp / "copy"
    folder = root / "index" / "domain64"
    ingest(root, "set1", ["http://d1.com/"])
    publish(root)
    domain64("init", "--root", root)
    domain64("fill", "--root", root)
    shutil.copytree(folder, copy)
    ingest(root, "set1", [f"http://m{i}.org/" for i in range(6)])
    publish(root)
    domain64("fill", "--root", root)
    with dxtest.Server(root) as server:
        cursor = server.get("/v1/range?from=0&limit=3").json["next_cursor"]
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    ingest(root, "set1", ["http://a.org/"])
    publish(root)
    domain64("fill", "--root", root)
    with dxtest.Server(root) as server:
        reply = server.get(f"/v1/range?cursor={cursor}")
        equal((reply.status, b"numbers-gone" in reply.body), (410, True), f"a cursor of what was lost: {reply.body}")


def check_damage(root, tmp):
    """A registry that is damaged takes nothing away but itself."""
    copy = tmp / "damaged"
    shutil.copytree(root, copy)
    folder = copy / "index" / "domain64"
    book = sorted(folder.glob("*.d64"))[0]
    body = book.read_bytes()
    book.unlink()
    book.write_bytes(body[:len(body) // 2] + bytes([body[len(body) // 2] ^ 4]) + body[len(body) // 2 + 1:])
    with dxtest.Server(copy, "--poll-ms", 50) as server:
        ready = server.get("/readyz").json
        equal((ready["ready"], ready["state"]), (True, "degraded"), "a damaged book at the start")
        check("domain64" in ready["detail"], f"readyz: {ready}")
        equal(server.get("/v1/range?from=0").status, 500, "a range of a damaged registry")
        equal(server.get("/v1/keys?url=http://d1.com/").json["domain64_reason"], "registry_unreadable", "no number")
        equal(server.get("/v1/domain/d1.com").status, 200, "other answers")
        equal(server.metrics()["domaindex_numbers_last_look_successful"], 0, "the metric")
        check("domain64" in server.words(), "the log says so")
        book.unlink()
        book.write_bytes(body)
        text = (folder / "registry.tsv").read_bytes()
        (folder / "new").write_bytes(text)
        (folder / "new").rename(folder / "registry.tsv")
        wait(lambda: server.get("/readyz").json["state"] == "sound" or time.sleep(0.25), "mended")    # it looks again after ten seconds
        equal(server.get("/v1/range?from=0").status, 200, "a range, when it is mended")
        with book.open("r+b") as mapped:
            mapped.seek(len(body) // 2)
            mapped.write(bytes([body[len(body) // 2] ^ 1]))
        wait(lambda: server.get("/readyz").json["state"] == "degraded", "a book that is changed while it is mapped")
        equal(server.get("/v1/range?from=0").status, 500, "a range of what was changed")
        equal(server.get("/v1/keys?url=http://d1.com/").json["domain64_reason"], "registry_unreadable", "a number of it")
        equal(server.get("/v1/domain/d1.com").status, 200, "other answers of then")
        book.unlink()
        book.write_bytes(body)
        (folder / "new").write_bytes(text)
        (folder / "new").rename(folder / "registry.tsv")
        wait(lambda: server.get("/v1/range?from=0").status == 200, "mended again")
        (folder / "new").write_bytes(text[:-9])
        (folder / "new").rename(folder / "registry.tsv")
        wait(lambda: server.get("/readyz").json["state"] == "degraded", "a list that was cut short")
        equal(server.get("/v1/range?from=0").status, 200, "what was known holds on")
        (folder / "registry.tsv").unlink()
        wait(lambda: server.get("/v1/range?from=0").status == 404, "a registry that was taken away")
        equal(server.get("/readyz").json["state"], "sound", "none is no damage")


def check_full(tmp):
    """A name that would have found its field full is told from one that no filling met."""
    root = tmp / "full"
    ingest(root, "full", [f"http://s{i:03}.many.com/{i % 3}" for i in range(300)] + [f"http://a.t{i:03}/x" for i in range(300)])
    publish(root)
    domain64("init", "--root", root)
    domain64("fill", "--root", root)
    with dxtest.Server(root) as server:
        for url, why in (("http://s299.many.com/2", "field_full"), ("http://nobody.many.com/", "field_full"), ("http://b.com/", "not_numbered"),
                         ("http://a.t299/x", "field_full"), ("http://s001.many.com/9", "not_numbered"), ("http://s001.many.com/1", None)):
            equal(server.get("/v1/keys?url=" + quote(url)).json.get("domain64_reason"), why, url)
    # What is hidden as a whole is answered as what was never there, whether it was met or not, and whatever lies below.
    dxtest.domaindex("suppress", "add", "--root", root, "--host", "s001.many.com", "--host", "nobody.many.com", "--host", "many.com", "--domain", "a.t007",
                     "--domain", "b.t007", "--policy", "absent")
    with dxtest.Server(root) as server:
        for path in ("/", "/1", "/zzz"):
            for hidden, never in (("s001.many.com", "never.many.com"), ("nobody.many.com", "never.many.com"), ("a.t007", "c.t007"), ("b.t007", "c.t007")):
                hidden, never = (server.get("/v1/keys?url=" + quote(f"http://{host}{path}")).json.get("domain64_reason") for host in (hidden, never))
                equal(hidden, never, f"{path} of a hidden host or domain")
            equal(server.get("/v1/keys?url=" + quote("http://s299.many.com" + path)).json.get("domain64_reason"), "field_full", path)


def check_remote(tmp):
    """Roots behind HTTP and S3: the same rows and numbers as from the directory, from the first filling on."""
    base = tmp / "base"
    ingest_sets(base, [made(n, 150) for n in (1, 2)])
    publish(base)
    # Numbers depend on nothing but names, so those of the directory are those of the store.
    local = tmp / "local"
    shutil.copytree(base, local)
    for step in ("init", "fill"):
        domain64(step, "--root", local)
    with dxtest.Server(local) as server:
        want = walk(server, "from=0", 10000)[0]
        keys_of_one = server.get("/v1/keys?url=http://d1.com/").body
    check(len(want) > 300, f"{len(want)} rows")
    for name, store in (("nginx", stores.Nginx(base)), ("versitygw", stores.Versitygw())):
        if not stores.find(name):
            print(f"{name} is not here: roots behind it were not asked", flush=True)
            continue
        with store:
            if name == "versitygw":
                store.bucket("bucket")
                store.upload("bucket", "", base)
            root = store.root("bucket") if name == "versitygw" else store.url
            with stores.environment(getattr(store, "env", {})), \
                    dxtest.Server(root, "--poll-ms", 100, "--lease", "no", "--cache-dir", tmp / f"cache-{name}") as server:
                equal(server.get("/v1/range?from=0").status, 404, f"{name}: no registry")
                for step in ("init", "fill"):
                    domain64(step, "--root", base if name == "nginx" else root)
                wait(lambda: server.get("/v1/keys?url=http://d1.com/").json["domain64"], f"{name}: a filling is seen")  # noqa: B023
                equal(walk(server, "from=0", 123)[0], want, f"{name}: all rows")
                equal(server.get("/v1/keys?url=http://d1.com/").body, keys_of_one, f"{name}: keys")
                shutil.rmtree(base / "index" / "domain64", ignore_errors=True)


dxtest.need_programs()
rng = random.Random(5)
with dxtest.tempdir() as tmp:
    for layout in LAYOUTS if dxtest.WHOLE else list(LAYOUTS)[1:]:
        last = check_layout(tmp, layout, rng)
    check_gone(last[0])
    check_restored(tmp)
    check_damage(last[0], tmp)
    check_access(last[0])
    check_full(tmp)
    check_remote(tmp)
dxtest.finish()
