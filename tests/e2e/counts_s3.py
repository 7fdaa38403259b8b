#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""A dataset of counts in a root on object storage, against versitygw or MinIO, and one server that reads it all the time.

Hosts and their pages are made up and come to a root that has URLs; they are replaced by others, removed, and brought back by a rollback.
After each step the server, which keeps copies in a cache folder, follows the manifest and answers as the model does: pages of each domain and
host, totals of the dataset, URLs of the other dataset as before and 409 for those of counts. verify finds each version sound.
"""
import collections
import json
import os
import random

import dxtest
import stores

BUCKET, PREFIX = "lake", "a/root"
DOMAINS = [f"site{i}.{tld}" for i in range(30) for tld in ("com", "co.uk")]
COUNTED = "hosts"


def made(seed):
    """{host: pages}"""
    rng = random.Random(seed)
    return {prefix + domain: rng.choice((1, 7, 4097, 2_000_000)) for domain in DOMAINS for prefix in ("", "www.") if rng.random() < 0.6}


def domain_of(host):
    return host.removeprefix("www.")


class World:
    def __init__(self, store, tmp):
        self.store, self.tmp, self.root = store, tmp, store.root(BUCKET, PREFIX)
        self.urls = {domain: f"https://{domain}/a" for domain in DOMAINS[::3]}

    def run(self, *arguments, **options):
        return dxtest.domaindex(arguments[0], "--root", self.root, *arguments[1:], **options)

    def ingest_urls(self):
        self.run("ingest", "--dataset", "pages", "-", input="".join(f"{url}\n" for url in self.urls.values()).encode())

    def count(self, hosts, *options, **more):
        path = self.tmp / "hosts.tsv"
        path.write_text("".join(["host\tpages\n", *(f"{host}\t{pages}\n" for host, pages in hosts.items())]), encoding="utf-8")
        return self.run("ingest", "--dataset", COUNTED, "--format", "tsv", "--url-column", "host", "--counts", "pages", *options, path, **more)

    def current(self):
        return json.loads(self.store.get(BUCKET, f"{PREFIX}/index/manifest.json"))["current_version"]

    def publish(self):
        self.run("publish")
        self.run("verify", "--deep")

    def compare(self, server, hosts, words):
        """hosts: None where the version has no dataset of counts."""
        version = self.current()
        dxtest.check(dxtest.wait_until(lambda: server.get("/v1/datasets").json["version"] == version), f"{words}: the server follows")
        pages = collections.Counter()
        for host, n in (hosts or {}).items():
            pages[domain_of(host)] += n
        listed = {d["name"]: d for d in server.get("/v1/datasets").json["datasets"]}
        dxtest.equal(sorted(listed), ["hosts", "pages"] if hosts else ["pages"], f"{words}: datasets")
        if hosts:
            got = listed[COUNTED]
            dxtest.equal((got["kind"], got["page_count"], got["domain_count"], got["url_count"]), ("counts", sum(pages.values()), len(pages), None), f"{words}: totals")
        for domain in DOMAINS:
            self.compare_domain(server, domain, {h: n for h, n in (hosts or {}).items() if domain_of(h) == domain}, f"{words}: {domain}")

    def compare_domain(self, server, domain, hosts, words):
        reply = server.get(f"/v1/domain/{domain}")
        want = {}
        if domain in self.urls:
            want["pages"] = (None, 1)
        if hosts:
            want[COUNTED] = (sum(hosts.values()), None)
        if not dxtest.equal(reply.status, 200 if want else 404, words) or not want:
            return
        datasets = {d["name"]: d for d in reply.json["datasets"]}
        dxtest.equal({name: (d.get("page_count"), d["url_count"]) for name, d in datasets.items()}, want, words)
        listing = server.get(f"/v1/domain/{domain}/urls")
        if domain in self.urls:
            dxtest.equal([item["url"] for item in listing.json["items"]], [self.urls[domain]], f"{words}: URLs")
        else:
            dxtest.equal((listing.status, listing.json["type"].rsplit(":", 1)[-1]), (409, "counts-only"), f"{words}: URLs of counts alone")
        if hosts:
            asked = server.get(f"/v1/domain/{domain}/hosts?dataset={datasets[COUNTED]['dataset_id']}").json["hosts"]
            dxtest.equal({h["host"]: h["page_count"] for h in asked}, hosts, f"{words}: hosts")


def history(world):
    first, second = made(1), made(2)
    world.ingest_urls()
    world.publish()
    with dxtest.Server(world.root, "--cache-dir", world.tmp / "cache", "--lease", "no") as server:
        world.compare(server, None, "URLs alone")
        world.count(first)
        world.publish()
        counted = world.current()
        world.compare(server, first, "counts beside URLs")
        done = world.count(second, expect=1)
        dxtest.check(b"has counts already" in done.stderr, f"more counts: {done.stderr}")
        world.count(second, "--replace")
        world.publish()
        world.compare(server, second, "other counts")
        world.run("remove", "--dataset", COUNTED)
        world.publish()
        world.compare(server, None, "counts removed")
        world.run("rollback", counted)
        world.compare(server, first, "rolled back")
    world.run("verify", "--deep")


def main():
    dxtest.need_programs()
    for kind in stores.kinds():
        with dxtest.tempdir() as tmp, kind() as store:
            os.environ.update(store.env)
            store.bucket(BUCKET)
            history(World(store, tmp))
    dxtest.finish()


if __name__ == "__main__":
    main()
