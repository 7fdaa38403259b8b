#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow threads timed
"""No request waits while suppressions are exchanged beside 200,000 others (20,000 where times are not judged): rules that are added, rules that
are lifted, and a version that becomes current in the same moment, asked of the current version and of an older one. What a rule hides stays
hidden from the moment on when it is hidden first. Times are those of the clients' clock. A machine that is busy makes some request late, so of the
rounds of each kind the best one counts: where a request has to find the domains that rules concern, each exchange has one that takes 0.3 s or more.

DX_RULES: rules; DX_ROUNDS. That no request searches the rules is also what test_exchange shows, without a clock.
"""
import http.client
import json
import os
import subprocess
import threading
import time

import dxtest
from dxtest import check, equal

TIMED = bool(os.environ.get("DX_TIMED"))
RULES = int(os.environ.get("DX_RULES") or (200000 if TIMED else 20000))
ROUNDS = int(os.environ.get("DX_ROUNDS") or (3 if TIMED else 1))
SLOWEST_S = 0.1  # in the best round
WITHIN_S = 30    # a rule holds; it is about 1 s, and the machine may be busy


def make_root(tmp):
    root = tmp / "root"
    text = "".join(f"https://ruled{i:07}.org/a\nhttps://ruled{i:07}.org/b\n" for i in range(RULES))
    text += "".join(f"https://free{i:03}.com/\n" for i in range(200))
    (tmp / "urls.txt").write_text(text, "ascii")
    dxtest.domaindex("ingest", "--root", root, "--dataset", "many", "--format", "list", tmp / "urls.txt")
    dxtest.domaindex("publish", "--root", root, "--quiet")
    lines = (f"domain ruled{i:07}.org\n" if i % 8 == 0 else f"url https://ruled{i:07}.org/a\n" for i in range(RULES))
    (tmp / "rules.txt").write_text("".join(lines), "ascii")
    dxtest.domaindex("suppress", "add", "--root", root, "--file", tmp / "rules.txt", "--policy", "absent", "--quiet")
    return root


class Client(threading.Thread):
    """Asks for one thing again and again: (seconds, status, when it was asked)."""

    def __init__(self, server, target):
        super().__init__(daemon=True)
        self.link = http.client.HTTPConnection(server.host, server.port, timeout=120)
        self.target, self.replies, self.ends = target, [], False

    def run(self):
        while not self.ends:
            began = time.monotonic()
            self.link.request("GET", self.target)
            reply = self.link.getresponse()
            body = reply.read()
            self.replies.append((time.monotonic() - began, reply.status, began))
            if reply.status not in (200, 404):
                self.replies[-1] += (body[:200],)
            time.sleep(0.01)
        self.link.close()

    def slowest(self, since):
        return max((r[0] for r in list(self.replies) if r[2] + r[0] >= since), default=0)


def current(root):
    return json.loads((root / "index" / "manifest.json").read_text("utf-8"))["current_version"]


def suppress(root, *arguments):
    return json.loads(dxtest.domaindex("suppress", *arguments, "--root", root, "--json", "--quiet").stdout)


def wait_status(server, domain, status, words):
    began = time.monotonic()
    reached = dxtest.wait_until(lambda: server.get(f"/v1/domain/{domain}").status == status, WITHIN_S)
    check(reached, f"{words}: {domain} is not {status} after {WITHIN_S} s")
    return time.monotonic() - began


def add(server, root, tmp, number):
    domain = f"free{number:03}.com"
    rule = suppress(root, "add", "--domain", domain, "--policy", "absent")["rules"][0]["rule"]
    held = wait_status(server, domain, 404, "added")
    return domain, rule, held


def publish_beside(root, tmp, number):
    """To be waited for: a version that becomes current about when the rule is in the log."""
    dxtest.domaindex("ingest", "--root", root, "--dataset", "more", "--format", "list", "-", input=f"https://free000.com/{number}\n".encode())
    return subprocess.Popen([dxtest.BIN / "domaindex", "publish", "--root", root, "--quiet"], stdout=subprocess.DEVNULL)


def rounds(server, root, tmp, clients):
    """Of each kind: the slowest request of each client, in the round where that was least."""
    best = {}

    def note(kind, since):
        time.sleep(0.3)  # the thread of the rules goes on after they hold
        for c in clients:
            key = kind, c.target.split("?")[0] + (" older" if "version=" in c.target else "")
            best[key] = min(best.get(key, 1e9), c.slowest(since))

    for number in range(1, ROUNDS + 1):
        since = time.monotonic()
        domain, rule, held = add(server, root, tmp, number)
        note("added", since)
        print(f"a rule held {held:.2f} s after it was added", flush=True)
        for _ in range(20):
            equal(server.get(f"/v1/domain/{domain}").status, 404, "hidden again")
            check(domain not in server.get("/v1/complete?q=free&limit=100").json["domains"], f"{domain} is completed")
        since = time.monotonic()
        suppress(root, "lift", str(rule))
        wait_status(server, domain, 200, "lifted")
        note("lifted", since)
        process = publish_beside(root, tmp, number)
        since = time.monotonic()
        domain, _, _ = add(server, root, tmp, 100 + number)
        equal(process.wait(300), 0, "publish")
        version = current(root)
        check(dxtest.wait_until(lambda v=version: server.get("/readyz").headers.get("x-domaindex-version") == v, WITHIN_S), "the new version serves")
        equal(server.get(f"/v1/domain/{domain}").status, 404, "hidden in the new version")
        note("with a publish", since)
    return best


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = make_root(tmp)
        version = current(root)
        with dxtest.Server(root, "--poll-ms", "200") as server:
            clients = [Client(server, t) for t in ("/v1/complete?q=free&limit=3", "/v1/domain/free199.com", f"/v1/complete?q=free&limit=4&version={version}",
                                                   f"/v1/domain/free199.com?version={version}")]
            for c in clients:
                c.start()
            best = rounds(server, root, tmp, clients)
            for c in clients:
                c.ends = True
                c.join(120)
                wrong = [r for r in c.replies if r[1] != 200]
                equal(wrong[:3], [], f"{c.target}: {len(wrong)} of {len(c.replies)} answers")
        for (kind, target), seconds in sorted(best.items()):
            print(f"{kind:16}{target:24}{seconds * 1000:8.1f} ms at most, in the best of {ROUNDS} rounds")
            dxtest.in_time(seconds, SLOWEST_S, f"{kind}: {target}, in each of {ROUNDS} rounds with {RULES} rules")
    dxtest.finish()


if __name__ == "__main__":
    main()
