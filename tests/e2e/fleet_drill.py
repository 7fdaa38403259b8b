#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: long slow
"""A drill with the fleet of packaging/fleet/fleet.py: what its clients get, and which of the installed alerts fire.

In detail: three servers on one store, HAProxy, Prometheus with packaging/prometheus/alerts.yaml, whose times are divided (by 60, whole: by 20). A server is killed: no client notices, DomaindexAbsent fires for it alone. Whole (DX_WHOLE): the store hangs, a published version is damaged in the
store, versions are published and rolled back; in each step the alerts that fire are those written here. Every expression of the Grafana dashboard is
asked of Prometheus meanwhile; Grafana itself is not run. In `long`; alert_rules and fleet_files are in the gate.
"""
import collections
import contextlib
import http.client
import json
import random
import re
import signal
import sys
import threading
import time

import dxtest
import stores
from dxtest import check, equal

sys.path.insert(1, str(dxtest.SOURCE / "packaging" / "fleet"))
import fleet as laptop  # noqa: E402

SPEED, ROWS, CLIENTS, PAUSE_S = (20, 20_000, 4, 0.05) if dxtest.WHOLE else (60, 2_000, 2, 0.1)
LEASE_S = 30  # instead of 600
DOMAINS = 200
RULES = dxtest.SOURCE / "packaging" / "prometheus" / "alerts.yaml"
DASHBOARD = dxtest.SOURCE / "packaging" / "grafana" / "domaindex.json"
UNITS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
SMALL_CACHES = ("--cache-pages", "1M", "--cache-payload", "1M", "--cache-idx", "1M", "--cache-answers", "0", "--cache-domains", "0")
OPTIONS = (*SMALL_CACHES, "--lease-ttl", str(LEASE_S), "--storage-timeout-ms", "2000", "--job-timeout-ms", "4000", "--poll-ms", "500")


def hurried(text):
    """The rules with each time divided by SPEED, and that of leases as theirs is; thresholds of counts and shares stay."""
    def shorter(match):
        return f"{match[1]}{max(1, round(int(match[2]) * UNITS[match[3]] / SPEED))}ms{match[4]}"
    text = re.sub(r"(\[)(\d+)([smhd])(\])", shorter, text)
    text = re.sub(r"(for: |interval: )(\d+)([smhd])()", shorter, text)
    equal(text.count("time() < 120\n"), 1, "the rule of leases")
    return text.replace("time() < 120\n", f"time() < {120 * LEASE_S // 600}\n")


SLOW = "DomaindexErrorBudgetSlowBurn"  # remembers hours
MACHINE = {"DomaindexLoopLag", "DomaindexQueueWait", "DomaindexLatencyBurn"}  # tell of other work on it, too


class Clients:
    """Ask HAProxy on and on, domains and listings by turns, and count statuses by kind since the last `seen`."""

    def __init__(self, port, count=CLIENTS):
        self.port, self.stop, self.lock, self.counts = port, threading.Event(), threading.Lock(), collections.Counter()
        self.threads = [threading.Thread(target=self.run, args=(seed,), daemon=True) for seed in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, seed):
        chance = random.Random(seed)
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.stop.wait(PAUSE_S):
            for kind, target in (("domain", "/v1/domain/site{}.org"), ("urls", "/v1/domain/site{}.org/datasets/d/urls")):
                try:
                    link.request("GET", target.format(chance.randrange(DOMAINS)))
                    reply = link.getresponse()
                    reply.read()
                    status = reply.status
                except (OSError, http.client.HTTPException):
                    link.close()
                    status = 0
                with self.lock:
                    self.counts[kind, status] += 1

    def seen(self):
        with self.lock:
            counts, self.counts = dict(self.counts), collections.Counter()
        return counts

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def rows(path, begin, end):
    chance = random.Random(begin)
    path.write_text("".join(f"https://site{i % DOMAINS}.org/{chance.getrandbits(160):040x}\n" for i in range(begin, end)))
    return path


def publish(fleet, path):
    fleet.domaindex("ingest", "--root", laptop.ROOT, "--format", "list", "--dataset", "d", path)
    return json.loads(fleet.domaindex("publish", "--root", laptop.ROOT, "--json").stdout)["version"]


def served(fleet):
    """The version of each server."""
    found = []
    for name in fleet.names:
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            found.append(json.loads(laptop.get(fleet.ports[name], "/v1/domain/site1.org")[1]).get("version"))
    return found


class Watch:
    """All alerts that fired since the last `seen`."""

    def __init__(self, fleet):
        self.fleet, self.fired, self.stop = fleet, {}, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stop.wait(0.25):
            with contextlib.suppress(OSError, ValueError, KeyError, http.client.HTTPException):
                for name, instances in self.fleet.alerts().items():
                    self.fired.setdefault(name, set()).update(instances)

    def wait_for(self, name, seconds=180):
        check(dxtest.wait_until(lambda: name in self.fired, seconds), f"{name} fires; fired: {set(self.fired)}")

    def wait_for_silence(self, seconds=240):
        """None fires, nor is one about to."""
        def silent():
            up = self.fleet.query("sum(up{job='domaindex'})")
            left = {*self.fleet.alerts(), *self.fleet.alerts("pending")} - {SLOW, *MACHINE}
            return up and up[0]["value"][1] == str(len(self.fleet.names)) and not left
        check(dxtest.wait_until(silent, seconds), f"all is well again: {self.fleet.alerts()} {self.fleet.alerts('pending')}")
        self.fired.clear()

    def only(self, allowed, step):
        check(set(self.fired) <= {*allowed, *MACHINE}, f"{step}: only {set(allowed)} fire: {set(self.fired)}")

    def end(self):
        self.stop.set()
        self.thread.join()


def dashboard(fleet):
    """Prometheus takes every expression; panels of what this fleet does have data."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    empty = []
    for panel, target in ((p, t) for p in panels for t in p.get("targets", ())):
        expression = target["expr"]
        for name, value in (("$job", ".*"), ("$instance", ".*"), ("$__rate_interval", "10s"), ("$__range", "1m"), ("$__interval", "1s")):
            expression = expression.replace(name, value)
        try:
            if not fleet.query(expression):
                empty.append(panel["title"])
        except RuntimeError as error:
            check(False, f"panel {panel['title']}: {error}")
    for title in ("Requests by route", "Time of a domain", "Time of a listing", "Sequence: seen and served", "Time left of leases", "Index is sound",
                  "Requests to the store, and repeated ones", "Resident memory", "Connections", "Lag of event loops"):
        check(title in [p["title"] for p in panels] and title not in empty, f"panel {title} has data; without: {empty}")


def kill_a_server(fleet, clients, watch):
    clients.seen()
    fleet.parts["b"].kill()
    watch.wait_for("DomaindexAbsent")
    check(f"127.0.0.1:{fleet.ports['admin-b']}" in watch.fired["DomaindexAbsent"], f"which one is gone: {watch.fired}")
    watch.only({"DomaindexAbsent"}, "a server is killed")
    counts = clients.seen()
    check(set(counts) == {("domain", 200), ("urls", 200)}, f"a server is killed, and clients see {counts}")
    fleet.parts["b"].start()
    dashboard(fleet)
    watch.wait_for_silence()


def break_the_store(fleet, clients, watch):
    fleet.parts["s3"].send(signal.SIGSTOP)
    try:
        for name in ("DomaindexStoreDeadlines", "DomaindexErrorBudgetBurn", "DomaindexLeaseExpiring", "DomaindexDegraded"):
            watch.wait_for(name)
        watch.only({"DomaindexStoreDeadlines", "DomaindexErrorBudgetBurn", SLOW, "DomaindexLeaseExpiring", "DomaindexDegraded",
                    "DomaindexAccessStale", "DomaindexNumbersUnreadable", "DomaindexRetryBudgetEmpty", "DomaindexStoreRepliesRefused"}, "the store hangs")
    finally:
        fleet.parts["s3"].send(signal.SIGCONT)
    print(f"the store hung: {clients.seen()}; {set(watch.fired)}")
    check(dxtest.wait_until(lambda: all(laptop.answers(fleet.ports[name], "/readyz") for name in fleet.names)), "servers are ready again")
    watch.wait_for_silence(600)
    print(clients.seen())


def publish_a_bad_version(fleet, clients, watch, tmp):
    good = served(fleet)
    clients.seen()
    for name in fleet.names:
        fleet.parts[name].send(signal.SIGSTOP)
    bad = publish(fleet, rows(tmp / "bad.txt", 20_000, 21_000))
    damage(fleet.home / "objects" / laptop.BUCKET / "fleet" / "index" / bad / "part.pack")
    for name in fleet.names:
        fleet.parts[name].send(signal.SIGCONT)
    watch.wait_for("DomaindexFlipFailing")
    watch.only({"DomaindexFlipFailing", "DomaindexDegraded", SLOW}, "a damaged version")
    counts = clients.seen()
    check(set(counts) == {("domain", 200), ("urls", 200)}, f"a damaged version, and clients see {counts}")
    equal(served(fleet), good, "servers stay on the version before")
    fleet.domaindex("rollback", "--root", laptop.ROOT, good[0])
    watch.wait_for_silence()
    equal(served(fleet), good, "after the rollback")


def publish_and_roll_back(fleet, clients, watch, tmp):
    old = served(fleet)[0]
    clients.seen()
    new = publish(fleet, rows(tmp / "more.txt", 30_000, 31_000))
    for version in (new, old):
        if version == old:
            fleet.domaindex("rollback", "--root", laptop.ROOT, old)
        check(dxtest.wait_until(lambda wanted=version: served(fleet) == [wanted] * len(fleet.names)), f"all serve {version}: {served(fleet)}")
    counts = clients.seen()
    check(set(counts) == {("domain", 200), ("urls", 200)}, f"published and rolled back, and clients see {counts}")
    watch.only({SLOW}, "published and rolled back")


def damage(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x40
    path.write_bytes(content)


def main():
    dxtest.need_programs()
    stores.need("haproxy", "versitygw", "prometheus")
    with dxtest.tempdir() as tmp:
        (tmp / "rules.yaml").write_text(hurried(RULES.read_text(encoding="utf-8")))
        folders = [dxtest.BIN, *(stores.find(name).parent for name in ("haproxy", "versitygw", "prometheus"))]
        with laptop.Fleet(tmp, folders, port=stores.free_port, rules=tmp / "rules.yaml", prometheus_interval="1s", options=OPTIONS) as fleet:
            publish(fleet, rows(tmp / "good.txt", 0, ROWS))
            fleet.serve()
            clients, watch = Clients(fleet.ports["haproxy"]), Watch(fleet)
            try:
                begin = time.monotonic()
                drill(fleet, clients, watch, tmp)
                print(f"{time.monotonic() - begin:.0f} s")
            finally:
                watch.end()
                clients.end()
    dxtest.finish()


def drill(fleet, clients, watch, tmp):
    watch.wait_for_silence()
    kill_a_server(fleet, clients, watch)
    if dxtest.WHOLE:
        break_the_store(fleet, clients, watch)
        publish_a_bad_version(fleet, clients, watch, tmp)
        publish_and_roll_back(fleet, clients, watch, tmp)


if __name__ == "__main__":
    main()
