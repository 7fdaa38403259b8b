#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""The log of requests: a line of JSON for each request, with ids, counts and times, and nothing that was asked unless the
operator says so; moved away and opened anew; a target that is full or that nobody reads costs lines, never answers.
Server-Timing, where it is asked for.

In detail: `--log-requests`: a line for each request with its members, no word of what was asked, targets only
if asked for; rotation; 20,000 answers while the log is a full disk or a pipe that nobody reads; `--server-
timing`.
"""
import json
import os
import re
import signal
import socket
import subprocess
import threading

import dxtest
from dxtest import check, equal

ALWAYS = {"time", "request", "route", "method", "status", "bytes", "from",
          "head_us", "queue_us", "answer_us", "storage_us", "send_us"}
TRACE = "0af7651916cd43dd8448eb211c80319c"
ASKS = (  # target, headers, status, what is in the line
    ("/v1/domain/example.com", {}, 200, {"route": "domain", "from": "loop", "datasets": 2}),
    ("/v1/domain/example.com", {}, 200, {"route": "domain"}),
    ("/v1/domain/example.com", {}, 200, {"route": "domain", "from": "hot", "datasets": 2}),
    ("/v1/domain/absent.example", {}, 404, {"route": "domain", "problem": "domain-not-found"}),
    ("/v1/domain/example.com/datasets/1/urls?limit=7", {}, 200, {"route": "urls", "dataset_id": 1}),
    ("/v1/domain/example.com/datasets/9/urls", {}, 404, {"route": "urls", "dataset_id": 9, "problem": "dataset-not-found"}),
    ("/v1/datasets/1/overlap/2", {}, 200, {"route": "overlap", "from": "worker"}),
    ("/v1/domain/example.com?nonsense=1", {}, 400, {"problem": "unknown-parameter"}),
    ("/nothing/here", {}, 404, {"route": "none", "problem": "no-such-resource"}),
    ("/healthz", {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}, 200, {"route": "healthz", "trace": TRACE}),
    ("/healthz", {"traceparent": "00-canary"}, 200, {"route": "healthz"}),
)


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def wait_lines(path, count, seconds=60):
    dxtest.wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= count, seconds)
    return lines(path)


def members(root, work):
    path = work / "requests"
    with dxtest.Server(root, "--threads", 2, "--log-requests", path) as server:
        server.close()
        ready = len(wait_lines(path, 1))
        for n, (target, headers, status, _) in enumerate(ASKS):
            equal(server.get(target, headers=headers).status, status, target)
            wait_lines(path, ready + n + 1)     # two loops write lines: the next one's may come first, and have the earlier time
        equal(server.get("/v1/domains?format=ndjson", "POST", {"Content-Type": "text/plain"}, b"example.com\nexample.org\n").status,
              200, "a list")
        wait_lines(path, ready + len(ASKS) + 1)
        with socket.create_connection((server.host, server.port)) as s:
            s.sendall(b"BOGUS secret-canary HTTP/1.1\r\n\r\n")
            s.recv(4096)
        wait_lines(path, ready + len(ASKS) + 2)
        with socket.create_connection((server.host, server.port)) as s:
            s.sendall(b"GET /v1/secret-canary HT")
        server.close()
        got = wait_lines(path, ready + len(ASKS) + 3)[ready:]
        equal(len(got), len(ASKS) + 3, "a line for each request")
        for line in got:
            check(ALWAYS <= set(line), f"{ALWAYS - set(line)} is missing")
            check(re.fullmatch(r"[0-9a-f]{16}", line["request"]), line["request"])
            check(all(line[f"{stage}_us"] >= 0 for stage in ("head", "queue", "answer", "storage", "send")), line)
        equal(len({line["request"] for line in got}), len(got), "numbers")
        for (target, _, status, want), line in zip(ASKS, got):
            equal(line["status"], status, target)
            for member, value in want.items():
                equal(line.get(member), value, f"{member} of {target}")
        equal(got[-4].get("trace"), None, "a traceparent that is none")
        equal((got[-3]["route"], got[-3]["method"], got[-3].get("names")), ("names", "POST", 2), "a list")
        check(got[-3]["body_bytes"] >= 24, "bytes of a body")
        equal([line["status"] for line in got[-2:]], [400, 0], "no request, and half of one")
        text = path.read_text(encoding="ascii")
        for word in ("example", "absent", "nonsense", "canary", "limit", "127.0.0.1"):
            check(word not in text, f"'{word}' is in the log")
        numbers = {line["request"]: line for line in got}
    return numbers


NUMBERS = (  # answers that begin with ids and counts, each kind of them
    "/v1/domain/example.com", "/v1/domain/example.com/datasets/1/urls?limit=3", "/v1/domain/example.com/datasets/2/urls?prefix=/b/1",
    "/v1/domain/example.com/hosts", "/v1/domain/example.com/hosts?dataset=2", "/v1/domain/example.com/datasets/1/paths",
    "/v1/domain/example.com/diff", "/v1/url?u=https://example.com/a/7", "/v1/keys?url=https://example.com/a/7", "/v1/datasets",
    "/v1/datasets/2", "/v1/datasets/1/top-domains", "/v1/datasets/1/top-domains?format=csv", "/v1/datasets/1/overlap/2",
    "/v1/tags", "/v1/tags?dataset=1", "/v1/tags/red", "/v1/tags/red?dataset=2&of=urls", "/v1/normalize?q=example.com",
    "/v1/urlid/0x0000000000000001", "/v1/changes", "/v1/versions", "/v1/domain/absent.example")


def first_numbers(reply):
    """The members of an answer before its first list or object, as far as the log has them."""
    said = {}
    if reply.status != 200 or "json" not in reply.headers["content-type"]:
        return said
    for name, value in reply.json.items():
        if isinstance(value, (list, dict)):
            break
        if name in ("row_count", "total"):
            said["rows"] = value
            break
        if name in ("domain_id", "dataset_id", "dataset_count"):
            said["datasets" if name == "dataset_count" else name] = value
    return said


def numbers_of_answers(root, work):
    """The log says of an answer what its first members say, also of one that was kept."""
    path = work / "numbers"
    with dxtest.Server(root, "--threads", 1, "--log-requests", path) as server:
        server.close()
        ready = len(wait_lines(path, 1))
        want = []
        for target in NUMBERS:
            for _ in range(4):
                want.append((target, first_numbers(server.get(target))))
        server.close()
        got = wait_lines(path, ready + len(want))[ready:]
        equal({line["from"] for line in got if "from" in line} >= {"loop", "worker", "hot", "kept"}, True, "from everywhere")
        for (target, numbers), line in zip(want, got):
            line = {name: line[name] for name in ("domain_id", "datasets", "rows", "dataset_id") if name in line}
            if "dataset_id" not in numbers and "/datasets/" in target or "dataset=" in target:  # of the question
                numbers.setdefault("dataset_id", line.get("dataset_id"))
            equal(line, {name: value for name, value in numbers.items() if value}, f"numbers of {target}")


def targets(root, work):
    path = work / "targets"
    odd = "/v1/domain/%22%5C%0A%00\"\\'<b>" + "x" * 20
    with dxtest.Server(root, "--log-requests", path, "--log-targets", "yes") as server:
        check("names the domains and URLs" in server.words(), "a warning")
        server.get("/v1/domain/example.com?fields=url_count")
        with socket.create_connection((server.host, server.port)) as s:
            s.sendall(f"GET {odd} HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/domain/{'y' * 8000} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                      .encode())
            while s.recv(65536):
                pass
        server.close()
        got = {line.get("target"): line for line in wait_lines(path, 4)}
        check("/v1/domain/example.com?fields=url_count" in got, "a target")
        check(odd in got, f"an odd target: {list(got)}")
        cut = [line for target, line in got.items() if target and "yyy" in target]
        equal([(len(line["target"]), line["target_bytes"]) for line in cut], [(3000, 8011)], "a long one is cut")
        check(all(len(line) < 4096 for line in path.read_bytes().splitlines()), "bounded lines")


def rotated(root, work):
    path, moved = work / "rotated", work / "rotated.1"
    with dxtest.Server(root, "--log-requests", path) as server:
        before = len(wait_lines(path, 1))
        path.rename(moved)
        server.get("/healthz")
        wait_lines(moved, before + 1)
        server.process.send_signal(signal.SIGUSR1)
        dxtest.wait_until(path.exists)
        server.get("/v1/datasets")
        server.close()
        equal([line["route"] for line in wait_lines(path, 1)], ["datasets"], "the new file")
        check(len(lines(moved)) > before, "the old one has what came before")


def unwilling(root, work):
    """Each answer comes, and the lines that are lost are counted."""
    pipe = work / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for target in ("/dev/full", pipe):
        with dxtest.Server(root, "--threads", 1, "--log-requests", target) as server:
            with socket.create_connection((server.host, server.port)) as s:
                threading.Thread(target=s.sendall, args=(b"GET /v1/domain/example.com HTTP/1.1\r\nHost: x\r\n\r\n" * 20000 +
                                                         b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",)).start()
                count = b"".join(iter(lambda: s.recv(1 << 20), b"")).count(b"HTTP/1.1 200 OK")
            equal(count, 20000, f"answers with the log to {target}")

            def dropped():
                return server.metrics()['domaindex_log_dropped_total{log="requests"}']
            check(dxtest.wait_until(lambda: dropped() > 1000), f"{target}: {dropped()} dropped")
            equal(server.get("/readyz").json["state"], "sound", "the server is well")
    os.close(reader)
    done = dxtest.run(dxtest.DOMAINDEXD, "--root", root, "--listen", "127.0.0.1:0", "--log-requests", work / "no" / "where",
                      expect=1)
    check(b"log of requests" in done.stderr, "a folder that is not there is said at the start")


def deaf(root):
    """Standard error is a pipe that nobody reads: failures are still answered, at once."""
    ends = os.pipe()
    process = subprocess.Popen([str(dxtest.DOMAINDEXD), "--root", str(root), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                                "--log-requests", "stderr"], stdout=subprocess.PIPE, stderr=ends[1])
    os.close(ends[1])
    ports = [int(re.search(rb":(\d+)$", process.stdout.readline().rstrip())[1]) for _ in range(2)]
    with socket.create_connection(("127.0.0.1", ports[0])) as s:
        s.settimeout(120)
        threading.Thread(target=s.sendall, args=(b"GET /v1/domain/a.example HTTP/1.1\r\nHost: x\r\n\r\n" * 5000 +
                                                 b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",)).start()
        count = b"".join(iter(lambda: s.recv(1 << 20), b"")).count(b"HTTP/1.1 404 ")
    equal(count, 5001, "answers")
    process.send_signal(signal.SIGTERM)
    equal(process.wait(60), 0, "it ends")
    os.close(ends[0])


def timing(root):
    pattern = r"head;dur=\d+\.\d{3}, queue;dur=\d+\.\d{3}, answer;dur=\d+\.\d{3}, storage;dur=\d+\.\d{3}"
    with dxtest.Server(root, "--server-timing", "yes") as server:
        replies = [server.get("/v1/domain/example.com") for _ in range(4)]
        check(re.fullmatch(pattern, replies[0].headers.get("server-timing", "")), replies[0].headers)
        check("server-timing" not in replies[3].headers, "a kept reply has none")
        check("server-timing" not in server.get("/v1/domain/absent.example").headers, "nor has a problem")
        check("server-timing" in server.get("/v1/datasets/1/overlap/2").headers, "a worker's answer")
    with dxtest.Server(root) as server:
        check("server-timing" not in server.get("/v1/domain/example.com").headers, "off unless asked for")


def timing_of_hidden(root):
    """Times would tell whoever may not see everything what was read of the rest."""
    def access(*words):
        return dxtest.domaindex("access", *words, "--root", root).stdout.decode().strip()
    access("init", "--public")
    access("principal", "add", "auditor", "--all")
    token = {"Authorization": f"Bearer {access('token', 'new', 'auditor')}"}
    with dxtest.Server(root, "--server-timing", "yes") as server:
        for target in ("/v1/domain/example.com", "/v1/datasets/1/overlap/2"):
            equal("server-timing" in server.get(target).headers, False, f"{target}: by a list, though it names all")
            equal("server-timing" in server.get(target, headers=token).headers, True, f"{target}: by one who sees all")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as work:
        root = work / "root"
        for dataset in ("a", "b"):
            urls = work / f"{dataset}.txt"
            urls.write_text("".join(f"https://example.com/{dataset}/{i}\n" for i in range(50)))
            dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, urls)
        dxtest.domaindex("publish", "--root", root)
        members(root, work)
        numbers_of_answers(root, work)
        targets(root, work)
        rotated(root, work)
        unwilling(root, work)
        deaf(root)
        timing(root)
        timing_of_hidden(root)
    dxtest.finish()


if __name__ == "__main__":
    main()
