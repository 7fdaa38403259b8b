#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: threads plain
"""domaindexd's life: settings file, real port, SIGHUP under requests, SIGTERM, what it refuses."""
import re
import signal
import socket
import threading
import time

import dxtest
from dxtest import check, equal


def publish(root, tmp, number):
    rows = "".join(f"d{n}\thttps://example.com/{n}/{m}\n" for n in range(1, number + 1) for m in range(5))
    (tmp / "rows.tsv").write_text(rows)
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--url-column", 2,
                     tmp / "rows.tsv")
    return dxtest.domaindex("publish", "--root", root).stdout.decode().split()[0]


def ask_until(stop, server, seen, faults):
    """Lookups and listings on one raw connection of its own, each answer whole and of one version."""
    connection = socket.create_connection((server.host, server.port))
    stream = connection.makefile("rwb")
    targets = (b"/v1/domain/example.com", b"/v1/domain/example.com/datasets/1/urls")
    count = 0
    try:
        while not stop.is_set():
            stream.write(b"GET " + targets[count % 2] + b" HTTP/1.1\r\nHost: h\r\n\r\n")
            stream.flush()
            status = stream.readline().split()
            headers = {}
            while (line := stream.readline().strip()):
                name, value = line.split(b": ", 1)
                headers[name] = value
            body = stream.read(int(headers[b"Content-Length"]))
            version = headers[b"X-Domaindex-Version"]
            if status[1] != b"200" or b'"version":"' + version + b'","complete":true}' not in body:
                faults.append((status, headers, body[:200]))
            seen[version.decode()] = seen.get(version.decode(), 0) + 1
            count += 1
    except (OSError, KeyError, ValueError, IndexError) as error:
        faults.append(repr(error))
    connection.close()


def flips(root, tmp, first):
    conf = tmp / "settings"
    conf.write_text(f"# nothing much\nthreads = 2\nlisten = 127.0.0.1:1\nroot = {root}\n")
    with dxtest.Server(root, "--config", conf) as server:  # its --root and --listen win
        check(f"serving version {first} on http://127.0.0.1:{server.port}" in server.words(), server.words())
        stop, seen, faults = threading.Event(), {}, []
        askers = [threading.Thread(target=ask_until, args=(stop, server, seen, faults)) for _ in range(4)]
        for asker in askers:
            asker.start()
        versions = [first]
        for number in range(2, 5):
            versions.append(publish(root, tmp, number))
            server.process.send_signal(signal.SIGHUP)
            dxtest.wait_until(lambda: versions[-1] in seen)
        stop.set()
        for asker in askers:
            asker.join()
        equal(faults, [], "requests while versions flip")
        equal(sorted(seen), sorted(versions), f"each version answered: {seen}")
        manifest = root / "index" / "manifest.json"
        good = manifest.read_bytes()
        manifest.write_bytes(good[:-20])
        server.process.send_signal(signal.SIGHUP)
        dxtest.wait_until(lambda: "kept the old version" in server.words())
        check("kept the old version" in server.words(), server.words())
        equal(server.get("/readyz").json["version"], versions[-1], "after a reload that failed")
        manifest.write_bytes(good)


def polls(root, tmp):
    """A newer version is found without a signal, and said once; a broken manifest is said once too."""
    with dxtest.Server(root, "--poll-ms", 50) as server:
        version = publish(root, tmp, 6)
        dxtest.wait_until(lambda: server.get("/readyz").json["version"] == version)
        equal(server.get("/readyz").json, {"ready": True, "version": version, "state": "sound"}, "found by itself")
        manifest = root / "index" / "manifest.json"
        good = manifest.read_bytes()
        (tmp / "broken").write_bytes(good[:-20])
        (tmp / "broken").rename(manifest)
        dxtest.wait_until(lambda: server.get("/readyz").json["state"] != "sound")
        time.sleep(0.5) # some looks later it is still said once
        check("manifest.json" in server.get("/readyz").json["detail"], "the detail says what is wrong")
        (tmp / "broken").write_bytes(good)
        (tmp / "broken").rename(manifest)
        dxtest.wait_until(lambda: server.get("/readyz").json["state"] == "sound")
        equal(server.get("/readyz").json["state"], "sound", "well again")
        dxtest.wait_until(lambda: "nothing newer" in server.words())
        words = server.words()
        equal([words.count(part) for part in (f"reload: serving version {version}", "kept the old version",
                                              "nothing newer")], [1, 1, 1], words)
    with dxtest.Server(root, "--poll-ms", 0) as server:
        version = publish(root, tmp, 7)
        time.sleep(0.5)
        check(server.get("/readyz").json["version"] != version, "only at SIGHUP")


def ends(root):
    with dxtest.Server(root, "--drain-delay-ms", 2500, "--grace-ms", 3000) as server:
        equal(server.get("/readyz").status, 200, "/readyz")
        server.process.send_signal(signal.SIGTERM)
        check(dxtest.wait_until(lambda: server.get("/readyz").status != 200), "the signal is noticed")
        reply = server.get("/readyz")
        equal((reply.status, reply.json["type"]), (503, "urn:domaindex:problem:draining"), "/readyz while draining")
        equal(server.get("/v1/domain/example.com").status, 200, "draining still serves")
        equal(server.process.wait(60), 0, "exit")
        check(re.search("SIGTERM: draining", server.words()), server.words())
    with dxtest.Server(root) as server:
        server.process.send_signal(signal.SIGINT)
        equal(server.process.wait(60), 0, "exit after SIGINT")


def refusals(root, tmp):
    conf = tmp / "bad"
    for text, words in ((b"root = x\n\nthread = 1\n", b"bad:3: unknown key 'thread'"),
                        (b"threads = 9999\n", b"bad:1: --threads: 9999 is too large; give 0 to 256")):
        conf.write_bytes(text)
        done = dxtest.run(dxtest.DOMAINDEXD, "--config", conf, expect=2)
        check(words in done.stderr, f"{text!r}: {done.stderr!r}")
    done = dxtest.run(dxtest.DOMAINDEXD, "--root", tmp / "nothing", expect=1)
    check(b"nothing" in done.stderr, done.stderr)
    with dxtest.Server(root) as server:
        done = dxtest.run(dxtest.DOMAINDEXD, "--root", root, "--listen", f"127.0.0.1:{server.port}", expect=1)
        check(b"in use" in done.stderr, f"a port that is taken: {done.stderr!r}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        first = publish(root, tmp, 1)
        flips(root, tmp, first)
        polls(root, tmp)
        ends(root)
        refusals(root, tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
