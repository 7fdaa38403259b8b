#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""`domaindex bench`: what it asks, what it counts, what it refuses to do, and its page.

In detail: requests that a server of ours records (names, Zipf and even shares, the same seed, rate), replies in chunks, a stall that shows in
the latencies from the due time and not in those from sending; bounds that only `--unbounded` lifts; a server that refuses ends the load; a
page that is well-formed and asks nothing of elsewhere; domaindexd with its own names, with TLS, on a local socket and with a token, and nginx, whose log has as many requests.
"""
import collections
import concurrent.futures
import contextlib
import http.server
import json
import ssl
import subprocess
import threading
import time
import xml.etree.ElementTree

import authority
import dxtest
import stores
from dxtest import check, equal

SVG = "{http://www.w3.org/2000/svg}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        server = self.server
        server.asked.append(self.path)
        server.pause(len(server.asked))
        status, body = server.answer(self.path)
        self.send_response(status)
        if server.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for byte in (body[:1], body[1:]):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(byte), byte))
            self.wfile.write(b"0\r\n\r\n")
            return
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def recorder(answer=lambda path: (200, b"answer"), chunked=False, pause=lambda count: None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # a load that ends early breaks connections off
    server.asked, server.answer, server.chunked, server.pause = [], answer, chunked, pause
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def bench(port, *arguments, expect=0, prefix=""):
    """The figures."""
    done = dxtest.domaindex("bench", "--seconds", 1, "--warm-up", 0, *arguments, "--json", f"http://127.0.0.1:{port}{prefix}", expect=expect)
    return json.loads(done.stdout)


def what_is_asked(tmp):
    names = tmp / "names.txt"
    with recorder() as server:
        figures = bench(server.server_port, "--names", names, "--name-count", 4, "--rate", 200, "--arrivals", "even", "--zipf", "1", prefix="/at/")
        first = list(server.asked)
        equal((len(first), figures["requests_total"], figures["loop"]), (200, 200, "open"), "200 a second for a second")
        shares = collections.Counter(first)
        equal(set(shares), {f"/at/v1/domain/{name}.org" for name in ("first", "second", "third", "fourth")}, "what is asked")
        expected = 200 / (1 + 1 / 2 + 1 / 3 + 1 / 4)
        check(abs(shares["/at/v1/domain/first.org"] - expected) < 35, f"Zipf: {shares}, the first {expected:.0f}")
        server.asked.clear()
        bench(server.server_port, "--names", names, "--name-count", 4, "--rate", 200, "--arrivals", "even", "--zipf", "1", prefix="/at")
        equal(collections.Counter(server.asked), shares, "the same seed asks the same")
        server.asked.clear()
        bench(server.server_port, "--names", names, "--even", "--rate", 200, "--path", "/{}?a={}")
        shares = collections.Counter(server.asked)
        equal(len(shares), 5, f"all five names: {shares}")
        check("/%C3%BC%2Fx.org?a=%C3%BC%2Fx.org" in shares, "names are percent-encoded")
        check(all(abs(count - sum(shares.values()) / 5) < 38 for count in shares.values()), f"even: {shares}")
        server.pause = lambda count: time.sleep(0.005)      # a closed loop takes what it gets
        closed = bench(server.server_port, "--names", names, "--rate", 0, "--unbounded", "--connections", 2)
        check(closed["loop"] == "closed" and closed["requests"] > 100, f"closed loop: {closed['requests']}")
    with recorder(chunked=True) as server:
        figures = bench(server.server_port, "--names", names)
        equal(figures["errors"], {"connect": 0, "broken": 0, "timeout": 0, "unsent": 0}, "chunked replies are read")
        equal(figures["parts"][0]["status"], {"200": len(server.asked)}, "all of them")


def bounds(tmp):
    names = tmp / "names.txt"
    for too_much in (("--rate", 0), ("--rate", 1001), ("--seconds", 60, "--warm-up", 1), ("--connections", 65)):
        done = dxtest.domaindex("bench", "--names", names, *too_much, "http://127.0.0.1:1", expect=2)
        check(b"--unbounded" in done.stderr, f"{too_much}: {done.stderr}")
    for wrong in (("ftp://127.0.0.1:1",), ("http://127.0.0.1:1/?a",), ("http://user@127.0.0.1:1",), ("http://:1",), (),
                  ("--path", "x", "http://127.0.0.1:1"), ("--zipf", "-1", "http://127.0.0.1:1"), ("--even", "--zipf", "1", "http://127.0.0.1:1"),
                  ("http://127.0.0.1:1", "http://127.0.0.1:2")):
        done = dxtest.domaindex("bench", "--names", names, *wrong, expect=2)
        equal(done.stdout, b"", f"{wrong}")
    done = dxtest.domaindex("bench", "--names", names, "http://127.0.0.1:1", expect=1)
    check(b"refused" in done.stderr, f"nobody there: {done.stderr}")
    with recorder(answer=lambda path: (503, b"busy")) as server:
        figures = bench(server.server_port, "--names", names, "--rate", 500, expect=1)
        check(figures["ended_early"] and 100 <= figures["refused"] < 200, f"a server that refuses is left alone: {figures['refused']}")
        check(bench(server.server_port, "--names", names, "--rate", 500, "--unbounded", expect=1)["refused"] > 300, "--unbounded goes on")
    with recorder(answer=lambda path: (404, b"none")) as server:
        equal(bench(server.server_port, "--names", names, expect=1)["parts"][0]["status"].keys(), {"404"}, "nothing but 404: the path is wrong")
        page = tmp / "refused.html"
        done = dxtest.domaindex("bench", "--seconds", 1, "--warm-up", 0, "--names", names, "--html", page, f"http://127.0.0.1:{server.server_port}", expect=1)
        check(b"statuses: 4xx " in done.stdout and b"no reply had status 2xx or 304" in done.stdout, f"it is said: {done.stdout}")
        check("Statuses: 4xx " in page.read_text() and "No reply had status 2xx or 304" in page.read_text(), "on the page too")
    with recorder(answer=lambda path: (200 if "first" in path else 404, b"some")) as server:
        check({"200", "404"} == bench(server.server_port, "--names", names)["parts"][0]["status"].keys(), "some answers are enough")
        done = dxtest.domaindex("bench", "--seconds", 1, f"http://127.0.0.1:{server.server_port}", expect=1)
        check(b"give --names FILE" in done.stderr, f"a server without names: {done.stderr}")
    with recorder(answer=lambda path: (400, b"bad")) as server:
        bench(server.server_port, "--names", names, expect=1)


def stall(tmp):
    """All replies of one connection wait for 400 ms once; 200 a second, evenly."""
    lock = threading.Lock()

    def pause(count):
        with lock:
            if count == 60:
                time.sleep(0.4)
    with recorder(pause=pause) as server:
        page = tmp / "stall.html"
        figures = bench(server.server_port, "--names", tmp / "names.txt", "--rate", 200, "--arrivals", "even", "--connections", 1, "--html", page)
    due, sent = (dict(map(tuple, figures[key]["curve"])) for key in ("latency_us", "service_us"))
    check(due[80] > 100_000, f"a fifth waited 100 ms or more: {due}")
    check(sent[80] < due[80] / 2, f"but not from sending: {sent}")
    check(due[100] >= 390_000 and sent[100] >= 390_000, "the one that stalled")
    well_formed(page)


def well_formed(page):
    text = page.read_text()
    body = text[text.index("<svg"):text.index("</svg>") + 6]
    svg = xml.etree.ElementTree.fromstring(body)
    curves = svg.findall(f"{SVG}polyline")
    equal([curve.get("class") for curve in curves], ["sent", "due"], "two curves")
    points = [tuple(map(float, point.split(","))) for point in curves[1].get("points").split()]
    _, _, width, height = map(float, svg.get("viewBox").split())
    check(len(points) >= 10 and all(0 <= x <= width and 0 <= y <= height for x, y in points), f"points lie in the picture: {points}")
    check(points == sorted(points, key=lambda p: (p[0], -p[1])), "a curve of percentiles only rises")
    rest = text.replace("http://www.w3.org/2000/svg", "").replace("http://127.0.0.1", "").replace("http://localhost", "")
    check(not any(word in rest for word in ("http:", "https:", "<script", "src=", "href=", "url(", "@import")), "the page asks for nothing")


def ours(tmp):
    root, rows = tmp / "root", tmp / "rows.txt"
    rows.write_text("".join(f"https://site{i}.example{i % 7}.com/{i}\n" for i in range(50)))
    dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "--format", "list", rows)
    dxtest.domaindex("publish", "--root", root)
    with dxtest.Server(root) as server:
        page = tmp / "ours <&>.html"
        done = dxtest.domaindex("bench", "--seconds", 1, "--warm-up", 0, "--rate", 300, "--html", page, f"http://localhost:{server.port}/")
        check(b"7 names, Zipf 0.99" in done.stdout and b"status 200" in done.stdout, f"{done.stdout}")
        well_formed(page)
        seen = server.metrics()['domaindex_http_requests_total{route="domain",method="GET",code="200"}']
        check(250 <= seen <= 350, f"the server counts {seen} requests")


def token(tmp):
    """A server that shows its dataset only to one principal."""
    root, secret = tmp / "root", tmp / "token"
    dxtest.domaindex("access", "init", "--root", root)
    dxtest.domaindex("access", "principal", "add", "team", "--all", "--root", root)
    secret.write_bytes(dxtest.domaindex("access", "token", "new", "team", "--root", root).stdout)
    with dxtest.Server(root) as server:
        dxtest.domaindex("bench", "--seconds", 1, f"http://127.0.0.1:{server.port}", expect=1)
        figures = bench(server.port, "--token-file", secret)
        equal((set(figures["parts"][0]["status"]), figures["parts"][0]["targets"]), ({"200"}, 7), "with a token")
        (tmp / "bad").write_text("two words\n")
        dxtest.domaindex("bench", "--token-file", tmp / "bad", f"http://127.0.0.1:{server.port}", expect=2)


def encrypted(tmp):
    """https: a body of many records and of one byte, names of the server itself, and whom it trusts."""
    (tmp / "ca").mkdir()
    ca = authority.Authority(tmp / "ca")
    pem, key = ca.issue("bench")
    names = tmp / "names.txt"
    body = bytes(range(256)) * 1000
    with recorder(answer=lambda path: (200, body if "first" in path else b"x")) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        at = ("--names", names, "--rate", 100, "--seconds", 1, "--warm-up", 0, "--json")
        url = f"https://localhost:{server.server_port}"
        figures = json.loads(dxtest.domaindex("bench", *at, "--cacert", ca.file, url).stdout)
        equal((figures["parts"][0]["status"], figures["wrong"]), ({"200": len(server.asked)}, 0), "https")
        check(figures["received_bytes"] > len(body) * sum("first" in path for path in server.asked), "whole bodies came")
        equal(figures["errors"], {"connect": 0, "broken": 0, "timeout": 0, "unsent": 0}, "no failure")
        dxtest.domaindex("bench", *at, "--insecure", url)
        dxtest.domaindex("bench", *at, "--cacert", ca.file, url.replace("localhost", "127.0.0.1"))
        for more, where, words in (((), url, b"certificate"), (("--cacert", ca.file), url.replace("localhost", "127.1"), b"certificate"), (("--cacert", names), url, b"names.txt")):
            done = dxtest.domaindex("bench", *at, *more, where, expect=1)
            check(words in done.stderr and words.decode() in json.loads(done.stdout)["error"], f"{more} {where}: {done}")
    for wrong in (("--insecure", "http://127.0.0.1:1"), ("--cacert", ca.file, "http://127.0.0.1:1"), ("--insecure", "--cacert", ca.file, "https://127.0.0.1:1")):
        dxtest.domaindex("bench", "--names", names, *wrong, expect=2)
    with dxtest.Server(tmp / "root", "--tls-certificate", pem, "--tls-key", key, tls=ca.context()) as server:
        figures = json.loads(dxtest.domaindex("bench", "--seconds", 1, "--cacert", ca.file, "--json", f"https://localhost:{server.port}").stdout)
        equal(set(figures["parts"][0]["status"]), {"200"}, "domaindexd with TLS, names of its own")
    with recorder() as server:
        done = dxtest.domaindex("bench", "--names", names, "--insecure", f"https://127.0.0.1:{server.server_port}", expect=1)
        check(b"TLS" in done.stderr, f"a server without TLS: {done.stderr}")


def local(tmp):
    """A socket of the file system."""
    path = tmp / "http.socket"
    with subprocess.Popen([dxtest.DOMAINDEXD, "--root", tmp / "root", "--listen", f"unix:{path}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            check(b"serving" in server.stdout.readline(), "domaindexd on a local socket")
            done = dxtest.domaindex("bench", "--seconds", 1, "--unix-socket", path, "--json", "http://localhost")
            equal(set(json.loads(done.stdout)["parts"][0]["status"]), {"200"}, "--unix-socket, names of the server")
            dxtest.domaindex("bench", "--seconds", 1, "--unix-socket", tmp / "none", "http://localhost", expect=1)
        finally:
            server.terminate()


def nginx(tmp):
    if not stores.find("nginx"):
        return "nginx is not installed"
    site, names = tmp / "site", tmp / "n.txt"
    site.mkdir()
    for i in range(20):
        (site / f"n{i}.json").write_text(json.dumps({"n": i}))
    names.write_text("".join(f"n{i}\n" for i in range(20)))
    with stores.Nginx(site) as server:
        figures = bench(server.port, "--names", names, "--path", "/{}.json", "--rate", 300)
        equal(figures["parts"][0]["status"], {"200": figures["requests_total"]}, "nginx")
        seen = dxtest.wait_until(lambda: server.requests_of("GET /n") >= figures["requests_total"]) and server.requests_of("GET /n")
        equal(seen, figures["requests_total"], "nginx' log has as many")
    return None


def of_servers(tmp):
    ours(tmp)
    encrypted(tmp)
    local(tmp)
    token(tmp)
    return nginx(tmp)


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        (tmp / "names.txt").write_text("first.org\t17\n\nsecond.org\r\nthird.org\nfourth.org\nü/x.org\n")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:      # each load lasts a second
            beside = pool.submit(of_servers, tmp)
            what_is_asked(tmp)
            bounds(tmp)
            skipped = beside.result()
        stall(tmp)
    dxtest.finish(skipped)


if __name__ == "__main__":
    main()
