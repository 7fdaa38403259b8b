# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Leases on versitygw, behind a proxy that loses replies, says 500 after the write, 503, and cuts.

DX_LEASE_HOLDS holds (40) of changing sets of versions through faults: after each, whether it worked or
not, all that the process still holds stands in its object in the store, and no hold ends later than
its lease. When the faults end the next hold works. Then: a process of the same name takes over and the
first one gives way; wrong credentials are DX_E_DENIED, a name of somebody else's object is told.

In detail: leases on versitygw through lost replies, late writes and refusals: what a process holds is in its
lease at every moment, and it goes on when the store does.
"""
import json
import os
import random
import time

import dxtest
import faultproxy
import remains
import stores
from leases import Driver

HOLDS = int(os.environ.get("DX_LEASE_HOLDS", "40"))
FAULTS = ["put_applied_dropped", "put_applied_500", "status_503", "status_404", "closed_unanswered",
          "first_byte_late", "bit_flip", "body_half", "cut_before_last", "etag_missing"]
TTL = 3


def make(there, tmp):
    folder = tmp / "root"
    for number in range(4):
        dxtest.domaindex("ingest", "--root", folder, "--dataset", f"d{number}", "--format", "list",
                         "-", input=f"http://s{number}.example.com/\n".encode())
        dxtest.domaindex("publish", "--root", folder, "--memory", "64M", "--threads", "1")
    there.fill(folder)
    return sorted(e["version"] for e in there.manifest()["versions"])


def in_object(there, server):
    return set(json.loads(there.get(f"leases/{server}.json"))["versions"])


def held_is_leased(there, driver, versions, words):
    """Held when asked after the object was read, so held when it was read as well."""
    leased = in_object(there, "web")
    now = time.monotonic()
    held = {v for v, until in (f.split("=") for f in driver.ask("held", *versions)[2:])
            if int(until) / 1000 > now}
    dxtest.check(held <= leased, f"{words}: held {held}, leased {leased}")
    return len(held)


def through_faults(there, store, versions):
    chance = random.Random(7)
    with faultproxy.Proxy(store.url) as proxy:
        proxy.set()
        env = {**store.env, "AWS_ENDPOINT_URL_S3": proxy.url}
        driver = Driver(there.root, "server=web", f"ttl={TTL}", "life=0", "request=0", env=env)
        dxtest.equal(driver.opened, ["ok", "web"], "opens")
        proxy.set(FAULTS, 40)
        worked, held = 0, 0
        for number in range(HOLDS):
            wanted = sorted(chance.sample(versions, chance.randrange(1, 4)))
            begin = time.monotonic()
            reply = driver.ask("hold", *wanted)
            took = time.monotonic() - begin
            worked += reply[0] == "ok"
            words = f"hold {number}: {reply[:4]}"
            dxtest.check(took < 2 * TTL + 60, f"{words}: took {took:.1f} s")
            held += held_is_leased(there, driver, versions, words)
        injected = sum(proxy.injected.values())
        proxy.set()
        reply = driver.ask("hold", *versions)
        dxtest.equal([reply[0], len(reply)], ["ok", 2 + len(versions)], f"no more faults: {reply}")
        driver.end()
    print(f"{HOLDS} holds through {injected} faults, {worked} worked, {held} times a version was "
          "held", flush=True)
    dxtest.check(0 < worked < HOLDS or injected > 20, f"faults happened: {injected}")
    dxtest.equal(in_object(there, "web"), set(), "closed: a lease of nothing")


def others(there, store, versions):
    first = Driver(there.root, "server=twin", f"ttl={TTL}", "life=0", "request=0", env=store.env)
    dxtest.equal(first.ask("hold", versions[0])[0], "ok", "the first of two")
    second = Driver(there.root, "server=twin", f"ttl={TTL}", "life=0", "request=0", env=store.env)
    dxtest.check(versions[0] in in_object(there, "twin"), "what the first holds is kept")
    dxtest.equal(second.ask("hold", versions[1])[0], "ok", "the second of two")
    dxtest.equal(first.ask("hold", versions[0])[0], "ok", "the first again")
    dxtest.check("twin" in "".join(first.ask("rival")[1:]), "the first is told")
    names = [n for n in there.names() if n.startswith("leases/twin-")]
    dxtest.equal(len(names), 1, f"the first has a name of its own: {names}")
    first.end()
    second.end()
    denied = Driver(there.root, "server=x", env={**store.env, "AWS_SECRET_ACCESS_KEY": "wrong"})
    dxtest.equal([denied.opened[0], denied.opened[2]], ["error", "denied"], f"{denied.opened}")
    denied.end()
    there.put("leases/odd.json", b'{"format":"something"}')
    odd = Driver(there.root, "server=odd", env=store.env)
    dxtest.check(odd.opened[0] == "error" and "leases/odd.json" in odd.opened[3], f"{odd.opened}")
    odd.end()


def main():
    dxtest.need_programs()
    stores.need("versitygw")
    with dxtest.tempdir() as tmp, stores.Versitygw() as store:
        store.bucket("lake")
        there = remains.Bucket(store, "lake", "a/root")
        versions = make(there, tmp)
        through_faults(there, store, versions)
        others(there, store, versions)
    dxtest.finish()


if __name__ == "__main__":
    main()
