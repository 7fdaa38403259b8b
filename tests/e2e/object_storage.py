#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: oracle slow
"""One root, five places: every answer of a directory, of nginx and of S3 servers is the same.

The root of the reddit corpus (DX_SHARED_DATA; else 50,000 made-up records) is served from a
directory, by nginx over http://, by nginx over https:// with HTTP/2 and a certificate of a private
CA, and from s3:// on versitygw and, with DX_WHOLE=1, on MinIO. Each domaindexd is asked what the oracles ask: every
domain, whole listings of the hottest and of 2,000 other (domain, dataset) pairs, windows of them,
and a million absent names. Replies are compared byte for byte with those from the directory, their
heads too but for Date. That the answers of the directory are the truth is for oracle_reddit and
oracle_synthetic to show. Then the same again with the caches as small as they can be, in part.

Each place gets one in 20 of the questions (domains, listings, absent names) about one dataset in forty; with DX_WHOLE=1 all.
"""
import collections
import hashlib
import json
import random
import threading
from urllib.parse import quote

import corpus
import dxtest
import oracle
import pipeline
import posts
import roots
import stores
from suffixes import Suffixes

THREADS = 4
SHARE = 1 if dxtest.WHOLE else 20
SMALL_CACHES = ("--cache-idx", "1M", "--cache-payload", "1M", "--cache-pages", "1M", *dxtest.SAME_BYTES)


def make_root(tmp, clock):
    """The root and how many absent names are to be asked."""
    root, path, more = tmp / "root", posts.of_datasets(tmp, 40), ()
    absent = 1_000_000 if dxtest.WHOLE else 20_000
    if path is None:
        print(f"{posts.NAME} is not here (DX_SHARED_DATA): 50,000 made-up records instead")
        path, more, absent = tmp / "rows.tsv", ("--no-header",), 200_000
        with open(path, "w", encoding="utf-8") as out:
            for raw, _ in corpus.rows(seed=1, count=50_000):
                print(*raw, sep="\t", file=out)
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1,
                     "--ts-column", 2, "--url-column", 3, "--extra-column", 4, *more, path)
    dxtest.domaindex("publish", "--root", root)
    clock("ingested and published")
    return root, absent


def in_threads(targets, work):
    """work(part) on equal parts of the targets; its results in order."""
    results = [None] * THREADS
    failures = []

    def one(i):
        try:
            results[i] = work(targets[len(targets) * i // THREADS:
                                      len(targets) * (i + 1) // THREADS])
        except Exception as error:  # the main thread tells it
            failures.append(error)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [item for part in results for item in part]


def digests(server, targets):
    """Of each reply: (status, digest of head and body)."""
    def work(part):
        return [(head[9:12], hashlib.blake2b(head + b"\0" + body, digest_size=12).digest())
                for _, head, body in pipeline.Client(server).ask(part)]
    return in_threads(targets, work)


def counts(server, domains):
    """row_count by (domain, dataset_id), from the answers themselves."""
    pairs = {}
    for target, head, body in pipeline.Client(server).ask([f"/v1/domain/{quote(d)}" for d in domains]):
        if head[9:12] != b"200":
            dxtest.check(False, f"{target}: {head!r}")
            continue
        answer = json.loads(body)
        pairs.update(((answer["domain"], d["dataset_id"]), d["row_count"])
                     for d in answer["datasets"])
    return pairs


def listings(pairs, count):
    """Targets that read the hottest 20 pairs and `count` others whole, and windows of them."""
    rng = random.Random(7)
    order = sorted(pairs, key=lambda pair: (-pairs[pair], pair))
    rest = order[20:]
    rng.shuffle(rest)
    for domain, dataset in order[:20] + rest[:count]:
        total = pairs[domain, dataset]
        base = f"/v1/domain/{quote(domain)}/datasets/{dataset}/urls"
        limit = rng.choice((1000, 10000))
        yield from (f"{base}?offset={offset}&limit={limit}&fields=url,ts,extras"
                    for offset in range(0, total, limit))
        yield base
        for _ in range(min(20 if dxtest.WHOLE else 6, total)):
            yield f"{base}?offset={rng.randrange(total + 1)}&limit={rng.choice((1, 7, 60, 500))}"


def whatever(server):
    """Answers beside those of the oracles."""
    return ["/v1/datasets", "/v1/datasets?offset=1&limit=3", "/v1/versions", "/v1/domain/",
            "/v1/domain/example.invalid", "/v1/domain/1.2.3.4", "/v1/domain/x%00y", "/v1/nothing",
            "/v1/normalize?url=http%3A%2F%2FWWW.Example.COM%2Fa", "/v1/domain/github.com/datasets"]


def difference(local, remote, target):
    """In words, what another reply is."""
    one, two = (next(pipeline.Client(server).ask([target]))[1:] for server in (local, remote))
    return f"{target}: {one[0]!r:.300} {one[1]!r:.300} became {two[0]!r:.300} {two[1]!r:.300}"


class Places:
    def __init__(self, local, questions, clock):
        self.local, self.questions, self.clock = local, questions, clock
        self.want = {words: digests(local, targets) for words, targets in questions.items()}
        clock("asked of the directory: " + ", ".join(
            f"{len(targets)} {words}" for words, targets in questions.items()))
        for words, replies in self.want.items():
            statuses = collections.Counter(status for status, _ in replies)
            want = {"domains": b"200", "listings": b"200", "absent names": b"404"}.get(words)
            dxtest.check(want is None or set(statuses) == {want}, f"{words}: {statuses}")

    def compare(self, words, remote, kinds=None, share=1):
        for kind in kinds or self.questions:
            targets, want = self.questions[kind][::share], self.want[kind][::share]
            got = digests(remote, targets)
            wrong = [t for t, a, b in zip(targets, got, want) if a != b]
            for target in wrong[:5]:
                print(f"  {difference(self.local, remote, target)}")
            dxtest.equal(len(wrong), 0, f"{words}: {kind} of {len(targets)} that differ")
        self.clock(f"{words}: the same")

    def prove_it_can_fail(self):
        """A reply of another question, or one byte of it, is noticed."""
        kind = "listings"
        other = digests(self.local, [target + "&limit=3" if "?" in target else target + "?limit=3"
                                     for target in self.questions[kind][:50]])
        same = sum(a == b for a, b in zip(other, self.want[kind]))
        dxtest.check(same < 40, f"self-test: {same} of 50 other replies went unnoticed")


def serve(places, words, root, env, tmp):
    cache = tmp / f"mirror-{words.split(',')[0]}-{len(env)}"
    cache.mkdir(exist_ok=True)
    with stores.environment({**env, "CACHE_DIRECTORY": str(cache)}):
        with dxtest.Server(root, *dxtest.SAME_BYTES) as server:
            places.compare(words, server)
        with dxtest.Server(root, *SMALL_CACHES) as server:
            places.compare(f"{words}, no room in the caches", server, ("listings", "others"), 4)


def main():
    dxtest.need_programs()
    stores.need("nginx", "versitygw", *(["minio"] if dxtest.WHOLE else []))
    clock = oracle.Clock()
    with dxtest.tempdir() as tmp:
        root, absent = make_root(tmp, clock)
        domains = roots.domains(root)
        expected = oracle.Expected()
        expected.pairs.update((domain, {}) for domain in domains)
        with dxtest.Server(root, *dxtest.SAME_BYTES) as local:
            pairs = counts(local, domains)
            names = oracle.absent_names(expected, absent // SHARE, Suffixes(dxtest.suffix_list()))
            places = Places(local, {
                "domains": [f"/v1/domain/{quote(d)}" for d in domains[::SHARE]],
                "listings": list(listings(pairs, 2000 if dxtest.WHOLE else 60)),
                "absent names": [f"/v1/domain/{name}" for name in names],
                "others": whatever(local)}, clock)
            print(f"{len(domains)} domains, {len(pairs)} pairs, {sum(pairs.values())} rows")
            places.prove_it_can_fail()
            for words, store in stores.all_of(root):
                with store:
                    if isinstance(store, stores.S3):
                        store.bucket("lake")
                        count = len(store.upload("lake", "a/root=1", root))
                        url, env = store.root("lake", "a/root=1"), store.env
                        clock(f"{words}: {count} objects put")
                    else:
                        url = store.url
                        env = {"DOMAINDEX_CA_FILE": str(store.ca)} if store.tls else {}
                    serve(places, words, url, env, tmp)
                    if isinstance(store, stores.Nginx):
                        print(f"  nginx: {store.requests_of()} requests, "
                              f"{store.requests_of('HTTP/2.0')} over HTTP/2")
                        dxtest.check(not store.tls or store.requests_of("HTTP/2.0"),
                                     "HTTP/2 was spoken")
    dxtest.finish()


if __name__ == "__main__":
    main()
