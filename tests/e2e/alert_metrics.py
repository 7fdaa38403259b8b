#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: threads plain
"""Every metric that an alert or the dashboard asks for is there, and each one that an alert looks at is moved once by a real
fault: a server that is gone, damaged files, versions that are refused, a lease that cannot be renewed, a store that fails
and lies, too many connections, too many questions, tokens that are none, a table that cannot be read, logs that nobody takes,
a process that stands still. docs/TESTING.md has the list.

In detail: what moves each metric that an alert looks at; every name that rules and the dashboard ask for is
there; every alert has its section in OPERATIONS.md.
"""
import concurrent.futures
import contextlib
import json
import re
import resource
import shutil
import signal
import socket
import time

import authority
import dxtest
import faultproxy
import stores
from dxtest import check, equal

PACKAGING = dxtest.SOURCE / "packaging"
ALERTS = PACKAGING / "prometheus" / "alerts.yaml"
DASHBOARD = PACKAGING / "grafana" / "domaindex.json"
NAME = re.compile(r"\b((?:domaindex|process)_[a-z_]+)")
ELSEWHERE = {  # not moved here: where they are
    "domaindex_sigbus_total": "mapped_files",
    "domaindex_access_known": "ten minutes after access_last_look_successful; test_access moves the clock",
}
moved, seen = {}, set()


def base(name):
    return re.sub(r"_(bucket|sum|count)$", "", name)


def read(server):
    numbers = server.metrics()
    seen.update(base(name.split("{")[0]) for name in numbers)
    return numbers


def total(numbers, name, **labels):
    return sum(value for key, value in numbers.items() if key.split("{")[0] == name and
               all(f'{k}="{v}"' in key for k, v in labels.items()))


def moves(server, before, name, words, way=lambda a, b: b > a, seconds=60, **labels):
    """Waits until the metric has moved, and notes by what."""
    end = time.monotonic() + seconds
    while True:
        now = total(read(server), name, **labels)
        if way(total(before, name, **labels), now):
            moved.setdefault(base(name), words)
            return True
        if time.monotonic() > end:
            return check(False, f"{name} {labels} did not move by {words}: {total(before, name, **labels)}, {now}")
        time.sleep(0.05)


def becomes(value):
    return lambda before, now: now == value != before


def fast(server, targets, headers=""):
    """Statuses of requests on connections of their own, all at once."""
    def one(target):
        with contextlib.suppress(OSError), socket.create_connection((server.host, server.port), 20) as s:
            s.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\n{headers}Connection: close\r\n\r\n".encode())
            reply = b"".join(iter(lambda: s.recv(65536), b""))
            return int(reply.split()[1]) if reply else 0
        return 0
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        return list(pool.map(one, targets))


def make_root(work):
    root = work / "root"
    for dataset in ("one", "two"):
        rows = "".join(f"https://d{n % 40}.com/{dataset}/{n}\n" for n in range(4000))
        dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "-", input=rows.encode())
    dxtest.domaindex("publish", "--root", root)
    return root


def current(root):
    return json.loads((root / "index" / "manifest.json").read_text(encoding="utf-8"))["current_version"]


def processes(root):
    """A process that stands still, one that runs out of descriptors, and one that is gone."""
    with dxtest.Server(root, "--threads", 1, "--connections", 60) as server:
        before = read(server)
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(0.7)
        server.process.send_signal(signal.SIGCONT)
        moves(server, before, "domaindex_event_loop_lag_seconds_bucket", "SIGSTOP for 0.7 s",
              lambda a, b: b > a and total(read(server), "domaindex_event_loop_lag_seconds_sum") > 0.4, le="1.0")
        with contextlib.ExitStack() as held:
            for _ in range(80):
                with contextlib.suppress(OSError):
                    held.enter_context(socket.create_connection((server.host, server.port)))
            moves(server, before, "process_open_fds", "80 connections", lambda a, b: b > a + 30)
            moves(server, before, "domaindex_accept_pauses_total", "80 connections where 60 may be")
        limits = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (500, limits[1]))
        moves(server, before, "process_max_fds", "another limit", becomes(500))
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, limits)
        for name in ("domaindex_build_info", "domaindex_http_request_duration_seconds_count"):
            check(name in str(list(before)), name)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)
        with contextlib.suppress(OSError):
            server.admin("/metrics")
            check(False, "metrics of a server that is gone")
        moved["domaindex_build_info"] = "the end of a server"


def integrity(root, work):
    copy = work / "damaged"
    shutil.copytree(root, copy)
    shutil.rmtree(copy / "leases", ignore_errors=True)
    with dxtest.Server(copy, "--verify", "no", "--warm", "no", "--poll-ms", 0, "--server-name", "damaged") as server:
        server.get("/v1/domain/d1.com")
        before = read(server)
        # What one alone has to raise an alert is there as 0 before: increase() takes a first 1 for what always was.
        for slug in re.search(r'problems_total\{slug=~"([^"]+)"', ALERTS.read_text(encoding="utf-8"))[1].split("|"):
            check(f'domaindex_http_problems_total{{slug="{slug}"}}' in before, f"{slug} before the first one")
        for path in copy.glob("urls/**/*.parquet"):
            data = bytearray(path.read_bytes())
            data[4:len(data) // 2] = bytes(len(data) // 2 - 4)
            path.write_bytes(data)
        fast(server, [f"/v1/domain/d{n}.com/datasets/{1 + n % 2}/urls" for n in range(20)])
        moves(server, before, "domaindex_http_problems_total", "zeros in lake files", slug="data-damaged")
        moves(server, before, "domaindex_http_requests_total", "zeros in lake files", code="500")
        mapped = next(copy.glob(f"index/{current(copy)}/*.mph*"), None) or next(copy.glob(f"index/{current(copy)}/dict*"))
        with open(mapped, "r+b") as f:
            f.write(b"xx")
        moves(server, before, "domaindex_versions_poisoned_total", "a write into a mapped file")


def versions(root, work):
    """A version that is refused; another server does not look, and stays behind; then the lease."""
    copy = work / "refused"
    shutil.copytree(root, copy)
    shutil.rmtree(copy / "leases", ignore_errors=True)
    options = ("--lease-ttl", "7", "--job-timeout-ms", "500", "--head-timeout-ms", "500")
    with dxtest.Server(copy, "--poll-ms", 0, "--server-name", "second", *options) as behind, \
            dxtest.Server(copy, "--poll-ms", 100, "--server-name", "first", *options) as server:
        before = read(server)
        dxtest.domaindex("ingest", "--root", copy, "--dataset", "one", "-", input=b"https://new.com/\n")
        held = copy / "index" / "manifest.json"
        old = held.read_bytes()
        dxtest.domaindex("publish", "--root", copy, expect=0)
        moves(server, before, "domaindex_index_served_seq", "a publish")
        moves(server, before, "domaindex_index_published_timestamp_seconds", "a publish")
        check(old != held.read_bytes(), "another manifest")
        before = read(server)
        (copy / "leases").rename(copy / "leases-away")
        (copy / "leases").write_text("")
        # While the lease cannot be renewed, what is published next cannot be served either.
        dxtest.domaindex("ingest", "--root", copy, "--dataset", "one", "-", input=b"https://newer.com/\n")
        dxtest.domaindex("publish", "--root", copy, expect=0)
        behind.process.send_signal(signal.SIGHUP)
        moves(server, before, "domaindex_index_flips_total", "a version that cannot be leased", result="lease")
        moves(server, before, "domaindex_index_seq", "a version that is refused")
        check(total(read(server), "domaindex_index_served_seq") < total(read(server), "domaindex_index_seq"), "it stays behind")
        moves(server, before, "domaindex_sound", "a version that is refused", becomes(0))
        left = total(read(server), "domaindex_lease_expiry_timestamp_seconds") - time.time()
        check(left < 7, f"{left} s left of the lease")
        moved["domaindex_lease_expiry_timestamp_seconds"] = "a file in place of leases/"
        moves(server, before, "domaindex_lease_held", "a file in place of leases/", becomes(0))
        server.close()
        fast(server, ["/v1/domain/d1.com"])
        moves(server, before, "domaindex_http_problems_total", "a lease that has run out", slug="lease-lost")
        (copy / "leases").unlink()
        (copy / "leases-away").rename(copy / "leases")


def load(root):
    """More than it can do, and more than one may ask."""
    with dxtest.Server(root, "--workers", 1, "--queue", 2, "--queue-timeout-ms", "1", "--cache-answers", 0, "--threads", 1,
                       "--server-name", "load") as server:
        before = read(server)
        for _ in range(6):
            statuses = fast(server, ["/v1/datasets/1/overlap/2"] * 60)
            if statuses.count(503) > 0:
                break
        moves(server, before, "domaindex_http_rejected_total", "60 overlaps for one worker and a queue of two", reason="overload")
        moves(server, before, "domaindex_worker_queue_wait_seconds_bucket", "60 overlaps for one worker", le="+Inf")
    with dxtest.Server(root, "--address-cost-per-s", "1", "--address-burst", "2", "--server-name", "buckets") as server:
        before = read(server)
        fast(server, ["/v1/domain/d1.com"] * 20)
        moves(server, before, "domaindex_http_rejected_total", "20 questions of one address", reason="address_cost")


def access(root):
    dxtest.domaindex("access", "init", "--root", root)
    table = root / "index" / "access.json"
    good = table.read_bytes()
    with dxtest.Server(root, "--poll-ms", 100, "--server-name", "access") as server:
        before = read(server)
        equal(fast(server, ["/v1/domain/d1.com"], "Authorization: Bearer dxk_none\r\n"), [401], "a bad token")
        moves(server, before, "domaindex_auth_failures_total", "a bad token", reason="malformed")
        equal(fast(server, ["/v1/domain/d1.com"]), [401], "no token")
        moves(server, before, "domaindex_auth_failures_total", "no token", reason="none")
        table.write_bytes(good[:-30])
        moves(server, before, "domaindex_access_last_look_successful", "half a table", becomes(0))
        table.write_bytes(good)
        equal(total(read(server), "domaindex_access_known"), 1, "still known")
    dxtest.domaindex("access", "remove", "--yes", "--root", root)


def numbers(root):
    dxtest.domaindex("domain64", "init", "--root", root)
    book = root / "index" / "domain64" / "registry.tsv"
    good = book.read_bytes()
    with dxtest.Server(root, "--poll-ms", 100, "--server-name", "numbers") as server:
        before = read(server)
        book.write_bytes(good[:-10])
        moves(server, before, "domaindex_numbers_last_look_successful", "half a domain64 registry", becomes(0))
    book.unlink()


def certificates(root, work):
    ca = authority.Authority(work)
    pem, key = ca.issue("now", days=30)
    later = ca.issue("later", days=60)
    with dxtest.Server(root, "--tls-certificate", pem, "--tls-key", key, "--poll-ms", 100, "--server-name", "tls", tls=ca.context()) as server:
        before = read(server)
        key.write_bytes(later[1].read_bytes())
        pem.write_bytes(later[0].read_bytes())
        moves(server, before, "domaindex_tls_certificate_expiry_timestamp_seconds", "a renewed certificate")
        pem.write_bytes(b"half a certificate")
        moves(server, before, "domaindex_tls_certificate_last_look_successful", "half a certificate", becomes(0))


def logs(root, work):
    folder = work / "log"
    folder.mkdir()
    with dxtest.Server(root, "--log-requests", "/dev/full", "--server-name", "full") as server:
        before = read(server)
        fast(server, ["/v1/domain/d1.com"])
        moves(server, before, "domaindex_log_dropped_total", "/dev/full", log="requests")
    with dxtest.Server(root, "--log-requests", folder / "requests", "--server-name", "gone") as server:
        before = read(server)
        shutil.rmtree(folder)
        server.process.send_signal(signal.SIGUSR1)
        moves(server, before, "domaindex_log_open", "a folder that is gone", becomes(0))


def store(root, work):
    with stores.Versitygw() as there:
        there.bucket("lake")
        there.upload("lake", "root", root)
        with faultproxy.Proxy(there.url) as proxy:
            proxy.set()
            options = ("--job-timeout-ms", "1500", "--head-timeout-ms", "500", "--cache-answers", "0", "--poll-ms", "0", "--cache-pages", "1M",
                       "--server-name", "store")
            env = {**there.env, "AWS_ENDPOINT_URL_S3": proxy.url, "CACHE_DIRECTORY": str(work / "mirror")}
            with stores.environment(env), dxtest.Server(there.root("lake", "root"), *options, deadline_s=90) as server:
                def ask(first):
                    return fast(server, [f"/v1/domain/d{n}.com/datasets/{1 + n % 2}/urls?limit=5" for n in range(first, first + 8)])
                before = read(server)
                proxy.set(["status_503"], 100)
                for turn in range(60):  # until the budget of retries is used up: requests that wait for one block count as one
                    ask(turn % 2 * 8)
                    if total(read(server), "domaindex_fetch_retries_denied_total") > total(before, "domaindex_fetch_retries_denied_total"):
                        break
                moves(server, before, "domaindex_fetch_refused_total", "503 of a store", reason="throttled")
                moves(server, before, "domaindex_http_requests_total", "503 of a store", code="503")
                moves(server, before, "domaindex_fetch_retries_denied_total", "503 of a store, again and again")
                check(total(read(server), "domaindex_fetch_retry_tokens") < total(before, "domaindex_fetch_retry_tokens"), "tokens")
                proxy.set(["stall_at_half"], 100)
                ask(16)
                moves(server, before, "domaindex_fetch_deadlines_missed_total", "a store that stops in the middle")
                moves(server, before, "domaindex_http_request_duration_seconds_bucket", "a store that stops in the middle",
                      lambda a, b: total(read(server), "domaindex_http_request_duration_seconds_count", route="urls") > b,
                      route="urls", le="0.25")
                proxy.set(["etag_changed"], 100)
                ask(24)
                moves(server, before, "domaindex_fetch_refused_total", "another ETag", reason="other_etag")
                proxy.set(["status_412"], 100)
                ask(32)
                moves(server, before, "domaindex_objects_broken", "an object that is another one")


def names_are_there():
    """Every name of rules and panels is one that a server has."""
    for path in (ALERTS, DASHBOARD):
        text = re.sub(r"^\s*#.*$", "", path.read_text(encoding="utf-8"), flags=re.M)
        wanted = {base(name) for name in NAME.findall(text)} | {base(n) for n in NAME.findall(text) if n in seen}
        equal(sorted(name for name in wanted if name not in seen), [], f"metrics that {path.name} asks for and no server has")


def runbook():
    """Every alert has a section, and each metric that it looks at was moved."""
    text = ALERTS.read_text(encoding="utf-8")
    manual = (dxtest.SOURCE / "docs" / "OPERATIONS.md").read_text(encoding="utf-8")
    anchors = {re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-")
               for line in manual.splitlines() if line.startswith("#")}
    listed = (dxtest.SOURCE / "docs" / "TESTING.md").read_text(encoding="utf-8")
    alerts = re.findall(r"- alert: (\w+)\n(.*?)(?=\n      - alert|\n  - name|\Z)", text, re.S)
    check(len(alerts) > 15, f"{len(alerts)} alerts")
    for name, body in alerts:
        link = re.search(r"runbook: docs/OPERATIONS\.md#(\S+)", body)
        check(link and link[1] in anchors, f"{name}: its section of OPERATIONS.md")
        check("summary:" in body and "severity:" in body, f"{name}: summary and severity")
    rules = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    asked = {base(n) for n in NAME.findall("\n".join(re.findall(r"expr: (.*?)\n\s+(?:for|labels|- record|annotations)", rules + "\n- record", re.S)))}
    for name in sorted(asked):
        check(name in moved or name in ELSEWHERE, f"{name} is in an alert, and no fault here moves it")
        check(f"`{name}`" in listed, f"{name} is in the list of docs/TESTING.md")


def main():
    dxtest.need_programs()
    stores.need("versitygw")
    with dxtest.tempdir() as work:
        root = make_root(work)
        processes(root)
        integrity(root, work)
        versions(root, work)
        load(root)
        access(root)
        numbers(root)
        certificates(root, work)
        logs(root, work)
        store(root, work)
    names_are_there()
    runbook()
    for name, words in sorted(moved.items()):
        print(f"{name}: {words}", flush=True)
    dxtest.finish()


if __name__ == "__main__":
    main()
