# SPDX-License-Identifier: Apache-2.0
"""The admin listener: its routes are there and nowhere else; text that Prometheus reads; counters that count.

The grammar is checked line by line: HELP and TYPE before the samples of a name, no name twice, labels
of short fixed lists, and no domain or URL anywhere.
"""
import re
import socket
import stat

import dxtest
from dxtest import check, equal

SAMPLE = re.compile(r'([a-z_]+)(?:\{([a-z]+)="([a-zA-Z0-9._-]+)"\})? (\d+(?:\.\d+)?)')


def samples(text):
    """{(name, label value): number}, after the grammar has been held."""
    seen, typed, name = {}, {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            check(name not in typed, f"{name} comes twice")
        elif line.startswith("# TYPE "):
            _, _, of, kind = line.split(" ")
            equal(of, name, "TYPE behind its HELP")
            check(kind in ("counter", "gauge"), line)
            equal(kind == "counter", name.endswith("_total"), line)
            typed[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            check(match and match[1] == name and name in typed, line)
            check((name, match[3]) not in seen, line)
            seen[name, match[3]] = float(match[4])
    check(all(n.startswith(("domaindex_", "process_")) for n in typed), "names")
    return seen


def ask_file(path, target, method="GET"):
    """Of a listener that is a file: (status, body)."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(path))
        s.sendall(f"{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        reply = b"".join(iter(lambda: s.recv(65536), b""))
    head, _, body = reply.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def listeners(root, work):
    """What each of the two has, and the file of the second: its mode, one that was left behind, its end."""
    path = work / "admin"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    with dxtest.Server(root) as server:
        for target in ("/metrics", "/version", "/v1/metrics", "/v1/version"):
            reply = server.get(target)
            equal((reply.status, reply.json["type"]), (404, "urn:domaindex:problem:no-such-resource"), target)
        for target in ("/v1/domain/example.com", "/domain/example.com", "/", "/metrics/", "/metrics?x=1"):
            equal(server.admin(target).status, 404, f"{target} of the admin listener")
        for target in ("/metrics", "/healthz", "/readyz", "/version"):
            equal(server.admin(target).status, 200, target)
        equal(server.admin("/version").json["index_version"], server.get("/readyz").json["version"], "/version")
    with dxtest.Server(root, "--admin", f"unix:{path}"):
        equal(stat.S_IMODE(path.stat().st_mode), 0o660, "mode")
        for target, status in (("/readyz", 200), ("/v1/domain/example.com", 404)):
            equal(ask_file(path, target)[0], status, target)
        equal(ask_file(path, "/v1/domains", "POST")[0], 404, "a POST")
        done = dxtest.run(dxtest.DOMAINDEXD, "--root", root, "--listen", "127.0.0.1:0", "--server-name", "second",
                          "--admin", f"unix:{path}", expect=1)
        check(b"another process listens there" in done.stderr, done.stderr)
        equal(ask_file(path, "/healthz")[0], 200, "the first one is still there")
    check(not path.exists(), "the file is removed")


def main():
    with dxtest.tempdir() as work:
        root = work / "root"
        urls = work / "urls.txt"
        urls.write_text("".join(f"https://example.com/{i}\n" for i in range(50)))
        dxtest.domaindex("ingest", "--root", root, "--dataset", "d", urls)
        dxtest.domaindex("publish", "--root", root)
        listeners(root, work)
        with dxtest.Server(root) as server:
            before = samples(server.admin("/metrics").body.decode())
            for _ in range(3):
                equal(server.get("/v1/domain/example.com/datasets/1/urls").status, 200, "a listing")
            text = server.admin("/metrics").body.decode()
            after = samples(text)
        check("example.com" not in text, "no domain in metrics")
        equal(set(before), set(after), "the same samples")
        equal(after["domaindex_http_requests_total", None] - before["domaindex_http_requests_total", None], 4,
              "requests")
        # What the server asked of itself before it served has brought the blocks already. The answer was
        # kept at the second time, so the third listing needed none of them.
        for cache in ("idx", "payload"):
            equal([after[f"domaindex_cache_{what}_total", cache] for what in ("misses", "hits")], [1, 2], cache)
            equal(after["domaindex_singleflight_led_total", cache], 1, cache)
        equal([after[f"domaindex_answer_cache_{what}", None] for what in
               ("misses_total", "hits_total", "blocks")], [2, 1, 1], "kept answers")
        check(after["domaindex_cache_size_bytes", "pages"] > 1000, "bytes of pages")
        equal(after["domaindex_objects_broken", None], 0, "a sound version")
    dxtest.finish()


if __name__ == "__main__":
    main()
