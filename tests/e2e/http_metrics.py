# SPDX-License-Identifier: Apache-2.0
"""The admin listener: its routes are there and nowhere else; text that Prometheus reads; counters that count.

The grammar is checked line by line: HELP and TYPE before the samples of a name, no name twice, names and units by
Prometheus' conventions; then by another parser. Under 1,000 different questions the number of series has a bound, and
nothing that was asked is in them.

In detail: the admin listener, by address and by file: its routes are there and nowhere else, text that an
independent parser takes, counters that count, a bound on series under 1,000 different questions, no domain in
them.
"""
# labels: peers
import os
import re
import shutil
import socket
import stat
import time

import dxtest
from dxtest import check, equal

SAMPLE = re.compile(r'([a-z_]+)(\{[a-z_]+="[a-zA-Z0-9._+-]+"(?:,[a-z_]+="[a-zA-Z0-9._+-]+")*\})? (-?\d+(?:\.\d+)?)')
SERIES_MAX = 700  # of a server that has been asked everything; measured: see the end of `bounded`


def samples(text):
    """{name and labels: number}, after the grammar has been held."""
    seen, typed, name = {}, {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            check(name not in typed, f"{name} comes twice")
            check(line.endswith(".") and len(line.split(" ")) > 4, line)
        elif line.startswith("# TYPE "):
            _, _, of, kind = line.split(" ")
            equal(of, name, "TYPE behind its HELP")
            check(kind in ("counter", "gauge", "histogram"), line)
            equal(kind == "counter", name.endswith("_total"), line)
            check(kind != "histogram" or name.endswith("_seconds"), line)
            check("_ms" not in name and "_kb" not in name and "_age" not in name, f"{name}: base units, and times")
            typed[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            of = re.sub(r"_(bucket|sum|count)$", "", match[1]) if match and typed[name] == "histogram" else match and match[1]
            check(match and of == name, line)
            check((match[1] + (match[2] or "")) not in seen, line)
            seen[match[1] + (match[2] or "")] = float(match[3])
    check(all(n.startswith(("domaindex_", "process_")) for n in typed), "names")
    return seen


def second_parser(text):
    """By the library that Prometheus gives its users, where it is installed: the same numbers."""
    try:
        from prometheus_client.parser import text_string_to_metric_families as parse
    except ImportError:
        return False
    theirs = {}
    for family in parse(text):
        check(family.documentation and family.type in ("counter", "gauge", "histogram"), family.name)
        for sample in family.samples:
            labels = ",".join(f'{k}="{v}"' for k, v in sample.labels.items())
            theirs[sample.name + ("{" + labels + "}" if labels else "")] = sample.value
        if family.type == "histogram":
            rows = {}
            for sample in family.samples:
                if sample.name.endswith("_bucket"):
                    rows.setdefault(sample.labels.get("route"), []).append((float(sample.labels["le"]), sample.value))
            for route, row in rows.items():
                check(row == sorted(row) and [v for _, v in row] == sorted(v for _, v in row), f"{family.name} of {route} grows")
                check(row[-1][0] == float("inf"), f"{family.name} of {route} ends")
    equal(theirs, samples(text), "two parsers")
    promtool = shutil.which(os.environ.get("DX_PROMTOOL", "promtool"))
    if promtool:
        done = dxtest.run(promtool, "check", "metrics", input=text.encode(), expect=None)
        equal((done.returncode, done.stdout), (0, b""), f"promtool check metrics: {done.stderr.decode()}")
    return True


def bounded(server):
    """Whatever is asked, the number of series has a bound, and no word of a client is in them."""
    odd = ("/v1/domain/canary{n}.example", "/v1/domain/example.com/datasets/{n}/urls", "/v1/domain/example.com/hosts?limit={n}",
           "/v1/domain/canary{n}.example/diff", "/v1/domain/canary{n}.example/changes", "/v1/datasets/{n}", "/v1/datasets/1/overlap/{n}", "/v1/datasets/{n}/top-domains",
           "/v1/url?u=https://canary{n}.example/x", "/v1/urlid/0x{n:016x}", "/v1/normalize?q=canary{n}.example",
           "/v1/changes?since=canary{n}", "/v1/versions", "/canary{n}", "/v1/domain/example.com?canary{n}=1",
           "/v1/domain/example.com/datasets/1/urls?cursor=canary{n}", "/v1/domain/%zz{n}", "/v1/datasets?version=canary{n}")
    counts = []
    for turn in range(2):
        for n in range(500):
            server.get(odd[n % len(odd)].format(n=n + 1000 * turn), "HEAD" if n % 50 == 49 else "GET",
                       {f"X-Canary-{n}": "canary", "Cookie": "canary", "Referer": "https://canary.example"})
        for n in range(40):
            with socket.create_connection((server.host, server.port)) as s:
                s.sendall((f"CANARY{n} / HTTP/1.1\r\n\r\n", f"GET /canary{n} HTTP/{n}\r\n\r\n", f"POST /canary{n} HTTP/1.1\r\n\r\n",
                           f"GET / HTTP/1.1\r\ncanary {n}\r\n\r\n")[n % 4].encode())
                s.recv(4096)
        text = server.admin("/metrics").body.decode()
        counts.append(len(samples(text)))
        check("canary" not in text.lower(), "what was asked is in the metrics")
    print(f"{counts[1]} series after 1,080 different requests", flush=True)
    check(counts[1] - counts[0] <= 20, f"series that grow with questions: {counts}")
    check(counts[1] < SERIES_MAX, f"{counts[1]} series")
    return text


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
            # A request is counted when its reply has gone, which a client may have read by then.
            counted = {'domaindex_http_requests_total{route="urls",method="GET",code="200"}': 3,
                       "domaindex_http_requests_in_flight": 1}
            dxtest.wait_until(lambda: counted.items() <= samples(server.admin("/metrics").body.decode()).items())
            text = server.admin("/metrics").body.decode()
            after = samples(text)
            check("example.com" not in text, "no domain in metrics")
            check(set(before) <= set(after), "samples that are gone")
            equal(after['domaindex_http_requests_total{route="urls",method="GET",code="200"}'], 3, "requests")
            equal(after['domaindex_http_request_duration_seconds_count{route="urls"}'], 3, "durations")
            equal(after["domaindex_http_requests_in_flight"], 1, "the one that asks")
            check(after['domaindex_http_response_bytes_total{route="urls"}'] > 3000, "bytes")
            check(after['process_resident_memory_bytes'] > 1e6 and after["process_open_fds"] > 5 and
                  after["process_max_fds"] > after["process_open_fds"] and after["process_cpu_seconds_total"] > 0 and
                  0 <= time.time() - after["process_start_time_seconds"] < 600, "the process")
            # What the server asked of itself before it served (a posting, then a row) has fetched the blocks already. The answer was
            # kept at the second time, so the third listing needed none of them.
            for cache in ("idx", "payload"):
                equal([after[f'domaindex_cache_{what}_total{{cache="{cache}"}}'] for what in ("misses", "hits")], [1, 3], cache)
                equal(after[f'domaindex_singleflight_led_total{{cache="{cache}"}}'], 1, cache)
            equal([after[f"domaindex_answer_cache_{what}"] for what in ("misses_total", "hits_total", "blocks")], [2, 1, 1],
                  "kept answers")
            check(after['domaindex_cache_size_bytes{cache="pages"}'] > 1000, "bytes of pages")
            equal(after["domaindex_objects_broken"], 0, "a sound version")
            parsed = second_parser(bounded(server))
    dxtest.finish(skipped=None if parsed else "no prometheus-client here: the text was held against our own grammar alone")


if __name__ == "__main__":
    main()
