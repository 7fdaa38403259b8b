#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Stores that are not there from the start: commands say so within seconds, with the time at which they give up, and give up early.

A port that refuses, one that accepts and is silent, a name that does not resolve; and one that answers 403, which is an answer: nothing is tried
again. Each with ingest, publish, lookup and domaindexd. A store that went away behind a first answer is waited for (`storage_faults`, `ingest_s3`):
here it answers once, and the command waits for longer than it does for one that never did.
"""
import concurrent.futures
import contextlib
import http.server
import os
import re
import socket
import subprocess
import threading
import time

import dxtest
from dxtest import check

DEADLINE_MS = 24000         # a sixth of it before the first answer
REPORTED_S = 6                  # two seconds, a second of libcurl, and a busy machine
ENDS_S = 40
DENIED = b'<?xml version="1.0"?><Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>'


def environment(endpoint):
    return {**os.environ, "AWS_ENDPOINT_URL_S3": endpoint, "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1",
            "DOMAINDEX_DEADLINE_MS": str(DEADLINE_MS), "AWS_EC2_METADATA_DISABLED": "true"}


class Ran:
    """A command with the time of each line on standard error, in seconds from its start."""

    def __init__(self, endpoint, *command):
        self.begin, self.lines = time.monotonic(), []
        with subprocess.Popen([str(c) for c in command], env=environment(endpoint), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as process:
            killer = threading.Timer(120, process.kill)
            killer.start()
            for line in process.stderr:
                self.lines.append((time.monotonic() - self.begin, line.decode(errors="replace").rstrip()))
            self.code = process.wait()
            killer.cancel()
        self.seconds = time.monotonic() - self.begin

    def reported(self):
        """When it was first said that the store does not answer, and for how long it is tried."""
        for at, line in self.lines:
            found = re.search(r"does not answer: .+; trying (?:until \d\d:\d\d:\d\d UTC, )?for up to (\d+) s$", line)
            if found:
                return at, int(found.group(1))
        return None

    def __str__(self):
        return f"code {self.code} in {self.seconds:.1f} s: " + " | ".join(f"{at:.1f} {line:.160}" for at, line in self.lines[:8])


def commands(tmp):
    urls = tmp / "urls.txt"
    urls.write_text("https://example.com/\n")
    root = ("--root", "s3://bucket/root")
    return {"ingest": (dxtest.DOMAINDEX, "ingest", *root, *dxtest.short_psl(tmp, "com"), "--dataset", "one", urls),
            "publish": (dxtest.DOMAINDEX, "publish", *root),
            "lookup": (dxtest.DOMAINDEX, "lookup", *root, "example.com"),
            "domaindexd": (dxtest.DOMAINDEXD, *root, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--cache-dir", tmp / "cache", "--lease", "no")}


@contextlib.contextmanager
def silent():
    """Accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:
        held, stop = [], threading.Event()

        def accept():
            while not stop.is_set():
                with contextlib.suppress(OSError):
                    held.append(listening.accept()[0])
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        stop.set()
        for connection in held:
            connection.close()


@contextlib.contextmanager
def answering(replies):
    """An HTTP server; replies(path): (status, body), or None: the connection ends. Yields its URL and what was asked."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append((self.command, self.path))
            reply = replies(len(asked))
            self.close_connection = True
            if reply is None:
                return
            self.send_response(reply[0])
            self.send_header("Content-Length", str(len(reply[1])))
            self.end_headers()
            self.wfile.write(reply[1])
        do_GET = do_PUT = do_DELETE = do_POST = do_HEAD = do
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    server.server_close()


def closed():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return f"http://127.0.0.1:{s.getsockname()[1]}"


def dead(tmp):
    with silent() as black_hole:
        endpoints = {"refused": closed(), "silent": black_hole, "no name": "http://no-such-host.invalid:9000"}
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            runs = {(where, name): pool.submit(Ran, endpoint, *command) for where, endpoint in endpoints.items()
                    for name, command in commands(tmp).items()}
        for (where, name), run in runs.items():
            run, words = run.result(), f"{name}, {where}"
            print(f"{words}: {run}")
            reported = run.reported()
            check(run.code == 1, f"{words}: fails: {run}")
            check(run.seconds < ENDS_S, f"{words}: gives up early: {run}")
            check(run.lines and "http" in run.lines[-1][1], f"{words}: the last line names the store: {run}")
            if run.seconds > REPORTED_S:  # what ends sooner has said it
                check(reported is not None and reported[0] < REPORTED_S, f"{words}: says it within seconds: {run}")
            if reported:
                check(reported[1] <= DEADLINE_MS / (1000 if name == "domaindexd" else 6000) + 1, f"{words}: until when: {run}")


def denied(tmp):
    with answering(lambda n: (403, DENIED)) as (endpoint, asked):
        for name, command in commands(tmp).items():
            asked.clear()
            run = Ran(endpoint, *command)
            print(f"{name}, 403: {len(asked)} requests, {run}")
            check(run.code == 1 and run.reported() is None, f"{name}, 403: an answer: {run}")
            check(run.seconds < 5, f"{name}, 403: at once: {run}")
            check(any("403" in line for _, line in run.lines), f"{name}, 403: says so: {run}")
            check(max((asked.count(one) for one in asked), default=0) <= 2, f"{name}, 403: no retries: {asked}")


def went_away(tmp):
    """Behind one answer the long patience stays."""
    with answering(lambda n: (404, b'<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>') if n <= 1 else None) as (endpoint, _):
        process = subprocess.Popen([str(c) for c in commands(tmp)["ingest"]], env=environment(endpoint), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.wait(timeout=DEADLINE_MS / 6000 + 8)
            check(False, f"a store that answered once is waited for: ended with {process.returncode}: {process.stderr.read()[-400:]}")
        except subprocess.TimeoutExpired:
            check(True, "a store that answered once is waited for")
        process.kill()
        words = process.communicate()[1].decode()
        found = re.search(r"for up to (\d+) s", words)
        check(found and DEADLINE_MS / 6000 + 1 < int(found.group(1)) <= DEADLINE_MS / 1000 + 1, f"and says for how long: {words[-400:]}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        (tmp / "away").mkdir()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:      # both wait
            beside = pool.submit(went_away, tmp / "away")
            dead(tmp)
            beside.result()
        denied(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
