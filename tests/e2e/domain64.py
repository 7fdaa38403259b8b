#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""The registry of domain64 against a recount in Python: numbers of three fillings, keys there and back, ranges, the
tree, merged files, a full field, the other layout, damage.

In detail: the domain64 registry against a recount: four fillings with merges in both layouts, keys there
and back, ranges, the tree, full fields, suppressions, damage.
"""
import collections
import json
import random

import dxtest

LAYOUTS = {"8-24-8-24": (56, 32, 24, 0), "8-24-24-8": (56, 32, 8, None)}


def domain64(*arguments, **options):
    return dxtest.domaindex("domain64", *arguments, **options)


def ingest(root, name, urls):
    dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-",
                     input="".join(u + "\n" for u in urls).encode())
    dxtest.domaindex("publish", "--root", root, "--memory", "64M")


class Book:
    """What the registry must be: names of canonical http URLs whose suffix is their last label, or co.uk."""

    def __init__(self, layout):
        self.shift, self.numbers, self.next = LAYOUTS[layout], {}, collections.Counter()
        self.most = {"8-24-8-24": (255, 2**24 - 1, 255, 2**24 - 1), "8-24-24-8": (255, 2**24 - 1, 2**24 - 1, 0)}[layout]
        self.full, self.out = [0] * 4, 0

    def names(self, url):
        host, _, path = url.split("://", 1)[1].partition("/")
        host = host.split(":")[0]
        labels = host.split(".")
        n = 2 if host.endswith(".co.uk") else 1
        tld, label, sub = ".".join(labels[-n:]), labels[-n - 1], ".".join(labels[:-n - 1])
        return tld, label, sub, path if self.shift[3] is not None else ""

    def fill(self, urls):
        rows = {self.names(u) for u in urls}
        self.full, self.out = [0] * 4, 0
        for names in sorted(rows, key=lambda r: (" ".join(reversed(f"{r[1]}.{r[0]}".split("."))), r[2], r[3])):
            self.out += self.number(names) is None
        return len(rows)

    def number(self, names):
        key = 0
        for part, name in enumerate(names):
            if not name:
                continue
            found = self.numbers.get((part, key, name))
            if found is None:
                if self.next[part, key] == self.most[part]:
                    if (part, key, name) not in self.seen_full():
                        self.full[part] += 1
                        self._seen.add((part, key, name))
                    return None
                self.next[part, key] += 1
                found = key | self.next[part, key] << self.shift[part]
                self.numbers[part, key, name] = found
            key = found
        return key

    def seen_full(self):
        if not hasattr(self, "_seen") or self._full is not self.full:
            self._seen, self._full = set(), self.full
        return self._seen

    def key(self, url):
        key = 0
        for part, name in enumerate(self.names(url)):
            if name:
                key = self.numbers.get((part, key, name))
                if key is None:
                    return None
        return key

    def tree(self):
        top = {}
        wide = 2 if self.shift[2] == 24 else 6
        for (part, _, name), number in sorted(self.numbers.items(), key=lambda item: item[1]):
            tld, label = f"{number >> 56:02x}", f"{number >> 32 & 0xffffff:08x}"
            if part == 0:
                top[tld] = {"name": name, "children": {}}
            elif part == 1:
                top[tld]["children"][label] = {"name": name, "children": {}}
            elif part == 2:
                sub = number >> self.shift[2] & self.most[2]
                top[tld]["children"][label]["children"][f"{sub:0{wide}x}"] = name
        return top


def made(seed, count, hosts=40):
    r = random.Random(seed)
    for _ in range(count):
        sub = r.choice(["", "www.", "a.b.", f"s{r.randrange(hosts)}."])
        path = r.choice(["", "a", "b/c", f"p{r.randrange(50)}?q=1", "a'b"])
        port = r.choice(["", ":8080"])
        yield f"{r.choice(['http', 'https'])}://{sub}d{r.randrange(25)}.{r.choice(['com', 'org', 'co.uk', 'uk'])}{port}/{path}"


def check_keys(root, book, urls, words):
    done = dxtest.domaindex("key", "--scheme", "domain64", "--root", root, input="".join(u + "\n" for u in urls).encode(),
                            expect=None)
    got = [line.split("\t")[0] for line in done.stdout.decode().splitlines()]
    want = [book.key(u) for u in urls]
    dxtest.equal([g if not g.startswith("!") else None for g in got], [None if w is None else str(w) for w in want],
                 f"{words}: keys")
    keys = sorted({w for w in want if w is not None})
    done = dxtest.domaindex("key", "--scheme", "domain64", "--decode", "--root", root,
                            input="".join(f"{k}\n" for k in keys).encode())
    back = {}
    for line in done.stdout.decode().splitlines():
        name, key = line.split("\t")
        back[int(key)] = name
    for u, w in zip(urls, want):
        if w is not None:
            tld, label, sub, path = book.names(u)
            dxtest.check(back[w] == f"{sub}{'.' if sub else ''}{label}.{tld}/{path}", f"{words}: {w:#x} is {back[w]}")


def check_all(root, book, urls, words):
    check_keys(root, book, urls, words)
    dxtest.equal(json.loads(domain64("tree", "--root", root).stdout), book.tree(), f"{words}: tree")
    keyed = [(k, book.names(u)[:2]) for u in urls if (k := book.key(u)) is not None]
    tlds = {number: name for (part, _, name), number in book.numbers.items() if part == 0}
    some = [(name, tlds[number >> 56 << 56], number) for (part, _, name), number in list(book.numbers.items())[::7] if part == 1]
    dotted = [".".join(reversed(f"{name}.{tld}".split("."))) for name, tld, _ in some]
    lines = domain64("ranges", "--root", root, *dotted).stdout.decode().splitlines() if some else []
    dxtest.equal(len(lines), len(some), f"{words}: ranges")
    for (name, tld, number), line in zip(some, lines):
        low, high = (int(word, 16) for word in line.split()[1:3])
        dxtest.equal((low, high), (number, number + 2**32), f"{words}: range of {name}.{tld}")
        inside = [names for key, names in keyed if low <= key < high]
        dxtest.check(all(names == (tld, name) for names in inside), f"{words}: only its own in the range")
        dxtest.equal(len(inside), sum(names == (tld, name) for _, names in keyed), f"{words}: all of its own")


def books_of(root):
    return sorted(p.name for p in (root / "index" / "domain64").glob("*.d64"))


def check_fillings(tmp, layout):
    root, book, urls = tmp / layout, Book(layout), []
    for step in range(4 if dxtest.WHOLE or layout == next(iter(LAYOUTS)) else 2):
        new = list(made(step, 400))
        urls += new
        ingest(root, f"set{step}", new)
        if step == 0:
            dxtest.check(b"init" in domain64("fill", "--root", root, expect=1).stderr, "fill before init says what to do")
            for words in ("made", "was there already"):
                said = domain64("init", "--root", root, "--layout", layout).stdout.decode()
                dxtest.equal(said, f"{root}: registry of layout {layout} {words}\n", "init")
            other = next(name for name in LAYOUTS if name != layout)
            domain64("init", "--root", root, "--layout", other, expect=1)
        check_keys(root, book, urls, f"{layout}: before filling {step + 1}")
        before = dict(book.numbers)
        count = book.fill(urls)
        said = domain64("fill", "--root", root, "--memory", "1M", "--merge-above", 2).stdout.decode()
        dxtest.check(f"URLs without scheme and port {count}," in said, f"{layout}: {said}")
        dxtest.equal({k: book.numbers[k] for k in before}, before, "numbers stay")
        check_all(root, book, urls, f"{layout}: filling {step + 1}")
        dxtest.equal(len(books_of(root)), [1, 2, 1, 2][step], f"{layout}: files after filling {step + 1}")
    before = books_of(root)
    domain64("fill", "--root", root)
    dxtest.equal(books_of(root), before, "nothing new, nothing written")
    return root


def check_full(tmp):
    """More subdomains of a domain than 255, and more TLDs."""
    root, book = tmp / "full", Book("8-24-8-24")
    urls = [f"http://s{i:03}.many.com/{i % 3}" for i in range(300)] + [f"http://a.t{i:03}/x" for i in range(300)]
    ingest(root, "full", urls)
    domain64("init", "--root", root)
    book.fill(urls)
    said = domain64("fill", "--root", root).stdout.decode()
    dxtest.check(f"of these without a number {book.out}" in said, f"full: {book.out}: {said}")
    want = "TLDs {}, domains {}, subdomains {}, paths {}".format(*book.full)
    dxtest.check(want in said and want in domain64("status", "--root", root).stdout.decode(),
                 f"full: {want}: {said}")
    dxtest.equal(book.full, [46, 0, 45, 0], "full: what the recount has")
    check_all(root, book, urls, "full")
    done = dxtest.domaindex("key", "--scheme", "domain64", "--root", root, input=b"http://s299.many.com/2\nhttp://b.com/\n",
                            expect=1)
    dxtest.equal([line.split(b"\t")[0] for line in done.stdout.splitlines()], [b"!subdomain_unknown", b"!domain_unknown"],
                 "reasons")


def check_ddl(root):
    book = json.loads(domain64("tree", "--root", root).stdout)
    text = domain64("ddl", "--root", root).stdout.decode()
    domains = sum(len(t["children"]) for t in book.values())
    dxtest.equal(text.count(" FOR VALUES FROM ("), len(book) + domains, "partitions down to domains")
    text = domain64("ddl", "--root", root, "--partitions", "tld", "--table", "t").stdout.decode()
    dxtest.equal(text.count(" FOR VALUES FROM ("), len(book), "partitions of TLDs")
    domain64("ddl", "--root", root, "--table", "t; drop", expect=2)


def check_suppressed(tmp):
    root = tmp / "suppressed"
    ingest(root, "one", ["http://shown.com/", "http://hidden.com/"])
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", "hidden.com")
    domain64("init", "--root", root)
    domain64("fill", "--root", root)
    dxtest.check("hidden" not in domain64("tree", "--root", root).stdout.decode(), "what is suppressed gets no number")


def check_damage(root):
    folder = root / "index" / "domain64"
    domain64("status", "--root", root)
    for path in folder.iterdir():
        if path.name == ".lock":
            continue
        body = path.read_bytes()
        r = random.Random(len(body))
        for at in [0, len(body) - 1, *(r.randrange(len(body)) for _ in range(6 if dxtest.WHOLE else 2))]:
            path.write_bytes(body[:at] + bytes([body[at] ^ 1 << r.randrange(8)]) + body[at + 1:])
            dxtest.check(domain64("status", "--root", root, expect=1).stderr != b"", f"{path.name}: a bit at {at}")
        path.write_bytes(body[:-1])
        domain64("status", "--root", root, expect=1)
        path.write_bytes(body)
    domain64("status", "--root", root)


dxtest.need_programs()
with dxtest.tempdir() as tmp:
    last = [check_fillings(tmp, layout) for layout in LAYOUTS]
    check_full(tmp)
    check_ddl(last[0])
    check_suppressed(tmp)
    check_damage(last[0])
    for wrong in (["tree"], ["--root", last[0]], ["ranges", "--root", last[0]], ["what", "--root", last[0]],
                  ["fill", "x", "--root", last[0]]):
        domain64(*wrong, expect=2)
    domain64("fill", "--root", tmp / "nothing", expect=1)
    dxtest.check(not (tmp / "nothing").exists(), "no root is made")
dxtest.finish()
