#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers slow
"""The Python package: its wheel is built and installed, its types hold (mypy --strict), the examples of docs/PYTHON.md and of the
modules run, and a connection and an open root both say what the server's JSON says: domains, listings and tables, lists of names, pinned
versions, errors by type, retries by Retry-After, replies that break off, asyncio, the canonical form.
"""
import asyncio
import contextlib
import doctest
import gzip
import http.server
import importlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import dxtest
from dxtest import check, equal

PACKAGE = dxtest.SOURCE / "python"
DOCUMENT = dxtest.SOURCE / "docs" / "PYTHON.md"
BIG = 2500 if dxtest.WHOLE else 1250  # rows of big.example


def install(tmp):
    """The package as pip installs it, in front of all others: with DX_WHOLE=1 from its folder, else from the wheel of setuptools."""
    work = tmp / "python"  # pip builds in the folder: not in ours
    shutil.copytree(PACKAGE, work, ignore=shutil.ignore_patterns("build", "*.egg-info"))
    (tmp / "CMakeLists.txt").write_bytes((dxtest.SOURCE / "CMakeLists.txt").read_bytes())
    env, source = {"DOMAINDEX_BIN_DIR": str(dxtest.BIN)}, work
    if not dxtest.WHOLE:    # pip starts a python for each step of a build
        build = f"from setuptools import build_meta; build_meta.build_wheel({str(tmp)!r})"
        dxtest.run(sys.executable, "-c", build, cwd=work, env=env)
        (source,) = tmp.glob("*.whl")
    dxtest.run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--no-compile",
               "--disable-pip-version-check", "--target", tmp / "site", source, env=env)
    sys.path.insert(0, str(tmp / "site"))
    os.environ["PYTHONPATH"] = f"{tmp / 'site'}:{os.environ.get('PYTHONPATH', '')}"


def check_types():
    try:
        importlib.import_module("mypy")
    except ImportError:
        return "there is no mypy (tests/e2e/requirements.txt)"
    done = dxtest.run(sys.executable, "-m", "mypy", "--cache-dir", dxtest.BIN / "mypy", cwd=PACKAGE, expect=None)
    check(done.returncode == 0, f"mypy --strict: {done.stdout.decode()[-2000:]}")
    return None


# ---- documents ----


def check_document(tmp, domaindex):
    text = DOCUMENT.read_text(encoding="utf-8")
    make = next(block for block in re.findall(r"(?s)```sh\n(.*?)```", text) if "domaindex ingest" in block)
    work = tmp / "document"
    work.mkdir()
    dxtest.run("sh", "-ec", make.replace("domaindexd --root ./root\n", ""), cwd=work,
               env={"PATH": f"{dxtest.BIN}:{os.environ['PATH']}"})
    examples = doctest.DocTestParser().get_examples(text)
    check(len(examples) > 20, f"{len(examples)} examples in docs/PYTHON.md")
    with dxtest.Server(work / "root") as server:
        runs = {"a connection": f'domaindex.connect("http://127.0.0.1:{server.port}")', "an open root": f'domaindex.open({str(work / "root")!r})'}
        for kind, opened in runs.items():
            changed = text.replace('domaindex.connect("http://127.0.0.1:8080")       #', f"{opened}  #")
            check(changed != text, "docs/PYTHON.md connects")
            test = doctest.DocTestParser().get_doctest(changed, {}, "PYTHON.md", str(DOCUMENT), 0)
            said = []
            result = doctest.DocTestRunner().run(test, out=said.append)
            check(result.failed == 0, f"docs/PYTHON.md with {kind}: {''.join(said)[-3000:]}")
    for name in ("_types", "_client", "canonical"):
        result = doctest.testmod(importlib.import_module(f"domaindex.{name}"))
        check(result.failed == 0 and result.attempted > 0, f"examples of {name}")


# ---- what a server says ----


def make_root(root):
    lines = [f"big\thttps://www.big.example/p/{i:05}\t2024-01-{i % 28 + 1:02}T00:00:{i % 60:02}{'.5' if i % 3 else ''}Z\tt{i}" for i in range(BIG)]
    for dataset, count in (("one", 40), ("two", 60), ("a/b, c", 20)):
        lines += [f"{dataset}\thttp://host{i % 3}.site{i % 25}.com/x?q={i}&a=ü\t{'' if i % 4 else '1999-12-31'}\t{i}" for i in range(count)]
    lines += ["one\thttp://zero.example/\t0000-01-02T03:04:05Z\told", "one\thttp://gone.example/\t\t", "two\thttp://gone.example/b\t\t"]
    text = "dataset\turl\tts\ttitle\n" + "\n".join(lines) + "\n"
    dxtest.domaindex("ingest", "--root", root, "--dataset-column", "dataset", "--extra-column", "title", "--format", "tsv", "-", input=text.encode())
    old = dxtest.domaindex("publish", "--root", root).stdout.decode().strip()
    dxtest.domaindex("ingest", "--root", root, "--dataset", "new", "--format", "list", "-", input=b"http://www.site1.com/new\nhttp://only.example/\n")
    dxtest.domaindex("publish", "--root", root)
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", "gone.example", "--policy", "withheld", "--reason", "test")
    return old


def raises(kind, words, function, *arguments, **options):
    try:
        result = function(*arguments, **options)
    except kind as error:
        check(True, words)
        return error
    except Exception as error:  # noqa: BLE001
        check(False, f"{words}: {type(error).__name__} {error}, not {kind.__name__}")
        return error
    check(False, f"{words}: {result!r:.200} instead of {kind.__name__}")
    return None


def check_domains(domaindex, index, server, what):
    for name in ("site1.com", "WWW.Site2.COM.", "http://big.example:80/x?y#z", "zero.example"):
        raw = server.get("/v1/domain/" + name.replace("/", "%2F").replace("?", "%3F").replace("#", "%23")).json
        got = index.domain(name)
        equal(got.raw, raw, f"{what}: JSON of {name}")
        equal((got.domain, f"0x{got.domain_id:016x}", [d.dataset_id for d in got.datasets], got.url_count),
              (raw["domain"], raw["domain_id"], [d["dataset_id"] for d in raw["datasets"]], raw["url_count"]), f"{what}: members of {name}")
    check("site1.com" in index and "stranger.example" not in index, f"{what}: in")
    raws = server.get("/v1/datasets").json["datasets"]
    equal([(d.dataset_id, d.name, d.url_count) for d in index.datasets()], [(r["dataset_id"], r["name"], r["url_count"]) for r in raws], f"{what}: datasets")
    equal(index.dataset("a/b, c").row_count, 20, f"{what}: a dataset by its name")
    equal(index.version, server.get("/v1/versions").json["current_version"], f"{what}: the current version")
    equal(index.normalize("HTTP://A.Example.com")["url"], "http://a.example.com/", f"{what}: normalize")


def raw_rows(server, target):
    """All items of a listing, by offsets, as no client does it."""
    rows, offset = [], 0
    while offset is not None:
        page = server.get(f"{target}{'&' if '?' in target else '?'}limit=777&offset={offset}").json
        rows += page["items"]
        offset = page["next_offset"]
    return rows


def check_listings(domaindex, index, server, what):
    big = next(d.dataset_id for d in index.datasets() if d.name == "big")
    want = raw_rows(server, f"/v1/domain/big.example/datasets/{big}/urls")
    listing = index.urls("big.example", "big", page_rows=BIG // 6)
    equal([row.raw for row in listing], want, f"{what}: rows of a listing of seven pages")
    equal([row.dataset_id for row in listing][:1], [big], f"{what}: their dataset")
    equal(len(list(index.urls("big.example", big, limit=BIG * 2 // 5 + 1, page_rows=BIG // 6))), BIG * 2 // 5 + 1, f"{what}: limit")
    equal([len(p["items"]) for p in index.urls("big.example", page_rows=BIG * 2 // 5).pages()], [BIG * 2 // 5, BIG * 2 // 5, BIG // 5], f"{what}: pages")
    everywhere = raw_rows(server, "/v1/domain/site1.com/urls?fields=url,ts,title,extras,url_id")
    table = index.urls("site1.com", fields="url,ts,title,extras,url_id", page_rows=2).to_arrow()
    equal(table.column("url").to_pylist(), [r["url"] for r in everywhere], f"{what}: urls in all datasets, as Arrow")
    equal(table.column("dataset_id").to_pylist(), [r["dataset_id"] for r in everywhere], f"{what}: their datasets")
    equal(table.column("url_id").to_pylist(), [int(r["url_id"], 16) for r in everywhere], f"{what}: their ids")
    equal([t and t.strftime("%Y-%m-%dT%H:%M:%SZ") for t in table.column("ts").to_pylist()], [r["ts"] for r in everywhere], f"{what}: their times")
    equal([json.loads(x) for x in table.column("extras").to_pylist()], [r["extras"] for r in everywhere], f"{what}: their extras")
    down = [r.raw for r in index.urls("site1.com", sort="url", reverse=True)]
    equal(down, [r.raw for r in index.urls("site1.com", sort="url", reverse="yes")], f"{what}: True is yes")
    equal([r.raw for r in index.urls("site1.com", sort="url", reverse=False)], down[::-1], f"{what}: False is no")
    ids = listing.to_pandas()["dataset_id"].unique()     # numbers of NumPy
    equal(len(list(index.urls("big.example", ids[0], limit=3))) + len(list(index.urls("big.example", ids, limit=3))), 6, f"{what}: datasets by ids of a table")
    raises(ValueError, f"{what}: get of an answer that is not JSON", lambda: index.get("/v1/tlds", format="csv"))
    chosen = index.urls("site1.com", ["a/b, c", "new"])
    equal({row.dataset_id for row in chosen}, {index.dataset("a/b, c").dataset_id, index.dataset("new").dataset_id}, f"{what}: two datasets")
    frame, polar = listing.to_pandas(), listing.to_polars()
    equal((list(frame["url"]), polar["url"].to_list()), ([r["url"] for r in want],) * 2, f"{what}: pandas and polars")
    equal(str(frame["ts"].iloc[1].isoformat()).replace("+00:00", ""), want[1]["ts"].rstrip("Z").ljust(26, "0") if "." in want[1]["ts"] else want[1]["ts"].rstrip("Z"), f"{what}: a time of pandas")
    zero = index.urls("zero.example").to_arrow().column("ts").cast("int64").to_pylist()
    equal(zero, [(-719528 + 1) * 86400 * 10**6 + (3 * 3600 + 4 * 60 + 5) * 10**6], f"{what}: a time of the year 0")
    equal([r.url for r in index.urls("big.example", prefix="/p/0000", from_="2024-01-03")],
          [r["url"] for r in want if "/p/0000" in r["url"] and r["ts"] >= "2024-01-03"], f"{what}: a filtered listing")
    equal([r.url for r in index.urls("big.example", filter=["~url:/p/000", "!~ts:-0[1-9]T"], fields=["url", "ts"])],
          [r["url"] for r in want if "/p/000" in r["url"] and not re.search("-0[1-9]T", r["ts"])], f"{what}: two filters")
    equal(list(index.urls("site1.com", limit=0)), [], f"{what}: limit 0")
    for options in ({"limit": -1}, {"page_rows": 0}, {"limit": 5, "page_rows": -1}):
        raises(ValueError, f"{what}: {options}", lambda o=options: list(index.urls("site1.com", **o)))


def check_names(domaindex, index, root, what):
    names = [f"http://www.site{i % 40}.com/{'x' * (i % 90)}" for i in range(2500)] + ["gone.example", "co.uk", "münchen.de", "a b"]
    calls = []
    got = list(index.domains(iter(names), progress=lambda done, total: calls.append((done, total)), total=len(names)))
    lookup = dxtest.domaindex("lookup", "--root", root, "--format", "ndjson", "--names", "-", input="\n".join(names).encode()).stdout
    want = [json.loads(line) for line in lookup.splitlines()][:-1]
    equal([(n.asked, n.domain, n.found, n.reason, n.url_count, list(n.datasets)) for n in got],
          [(name, j["domain"], j["found"], j.get("reason"), j.get("url_count", 0), j.get("datasets", [])) for name, j in zip(names, want)], f"{what}: names")
    check(len(calls) > 2 and calls[-1] == (len(names), len(names)), f"{what}: progress {calls[-3:]}")
    equal(index.domains(names[-4:]).to_arrow().column("reason").to_pylist(), ["withheld", "public_suffix", "absent", "host_invalid"], f"{what}: reasons")
    raises(ValueError, f"{what}: a name with a line end", lambda: list(index.domains(["a.com", "b\nc"])))
    raises(TypeError, f"{what}: one text for a list of names", lambda: index.domains("a.com"))
    raises(TypeError, f"{what}: true for a dataset", lambda: index.urls("site1.com", True))
    raises(TypeError, f"{what}: true among datasets", lambda: index.urls("site1.com", [True]))
    raises(TypeError, f"{what}: true for a dataset", lambda: index.dataset(True))
    raises(TypeError, f"{what}: a name that is not a string", lambda: list(index.domains(["a.com", float("nan")])))
    raises(ValueError, f"{what}: an empty name", lambda: list(index.domains([""])))


def check_errors(domaindex, index, old, what):
    missing = raises(domaindex.NotFound, f"{what}: a stranger", index.domain, "stranger.example")
    equal((missing.status, missing.slug), (404, "domain-not-found"), f"{what}: what is said of a stranger")
    check(isinstance(missing, LookupError) and "stranger.example" in missing.detail, f"{what}: {missing}")
    raises(domaindex.Withheld, f"{what}: a withheld domain", index.domain, "gone.example")
    raises(domaindex.BadRequest, f"{what}: no domain", index.domain, "co.uk")
    raises(domaindex.BadRequest, f"{what}: a bad field", lambda: list(index.urls("site1.com", fields="nothing")))
    raises(domaindex.NotFound, f"{what}: no such dataset", index.urls, "site1.com", "nothing")
    raises(domaindex.NotFound, f"{what}: no such resource", index.get, "/v1/nothing")
    raises(domaindex.VersionGone, f"{what}: a version that never was", index.at("000001-20010101T000000Z").domain, "site1.com")
    pinned = index.at(old)
    equal(pinned.domain("site1.com").version, old, f"{what}: an older version")
    equal({row.raw["dataset_id"] for row in pinned.urls("site1.com")} & {index.dataset("new").dataset_id}, set(), f"{what}: rows of an older version")
    equal({n.version for n in pinned.domains(["site1.com"])}, {old}, f"{what}: names of an older version")
    raises(domaindex.NotFound, f"{what}: not in the older version", pinned.domain, "only.example")
    equal([(v.version == old, v.current) for v in pinned.versions()], [(True, False), (False, True)], f"{what}: versions")
    newest = index.version
    equal(index.at(newest).get("/v1/domain/site1.com/diff")["to"], newest, f"{what}: a diff up to the pinned version")
    equal([i.get("/v1/domain/site1.com/changes")["compared"] for i in (index, pinned)], [1, 0], f"{what}: changes up to the pinned version")
    equal({pinned.get("/v1/domains", cursor=None, version=None, limit=5)["version"], pinned.get("/v1/domains?limit=5")["version"]}, {old}, f"{what}: what is None is not said")
    said = pinned.get("/v1/normalize?q=http://a.com/x")
    equal((said["version"], said["url"]), (old, "http://a.com/x"), f"{what}: a query in the path")


def check_pinned_parameters(domaindex):
    """A pinned index sends to each resource of openapi.json what it takes, and its version where there is one to say."""
    asked = []

    class Pretended(domaindex._transport.Transport):
        def send(self, target, body):
            asked.append(target)
            return 200, None, b"{}"

    index = domaindex.Index(Pretended(0), "V")
    for path, methods in json.loads((dxtest.SOURCE / "docs" / "openapi.json").read_text(encoding="utf-8"))["paths"].items():
        takes = {p["name"] for p in methods["get"].get("parameters", ()) if p.get("in") == "query"}
        index.get(path)
        want = [f"?{name}=V" for name in ("version", "to") if name in takes][:1]
        equal(asked.pop(), path + "".join(want), f"a pinned index asks {path}")


def in_child(function):
    """os.fork(): the pid of a process that ends with 0 if the function gives True."""
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            code = 0 if function() else 1
        finally:
            os._exit(code)
    return pid


def check_fork(domaindex, server, root):
    index = domaindex.connect(f"http://127.0.0.1:{server.port}", timeout=10)
    index.domain("site1.com")

    def ask(first):
        names = [f"site{(first + i) % 25}.com" for i in range(300 if dxtest.WHOLE else 100)]
        return [index.domain(name).domain for name in names] == names

    children = [in_child(lambda first=first: ask(first)) for first in (5, 10)]
    kept = index._transport._kept.connection
    check(ask(0), "answers to a parent beside its forked children")
    equal([os.waitpid(pid, 0)[1] for pid in children], [0, 0], "answers to forked children")
    check(index._transport._kept.connection is kept, "the parent keeps its connection")
    files = domaindex.open(root)

    def refused():
        try:
            files.domain("site1.com")
        except domaindex.LibraryError as error:
            files.close()
            return "os.fork()" in str(error) and "site1.com" in domaindex.open(root)
        return False

    equal(os.waitpid(in_child(refused), 0)[1], 0, "a root that was opened before a fork")
    check("site1.com" in files, "the root in the parent after a child closed it")


def check_async(domaindex, server, root):
    async def ask(index, listed):
        async with index:
            names = [f"site{i}.com" for i in range(25)]
            sites = await asyncio.gather(*(index.domain(name) for name in names))
            equal([s.domain for s in sites], names, "asyncio: domains")
            equal([row.url async for row in index.urls("big.example", "big")], listed, "asyncio: rows")
            twice = index.urls("big.example", "big")
            equal([[row.url async for row in twice] == listed for _ in range(2)], [True, True], "asyncio: the same listing again")
            equal(await impatient(index.urls("big.example", "big")), listed, "asyncio: rows of reads that were cancelled")
            equal((await index.urls("big.example").to_arrow()).num_rows, BIG, "asyncio: a table")
            equal([n.found async for n in index.domains(["site1.com", "x.example"])], [True, False], "asyncio: names")
            try:
                await index.domain("stranger.example")
                check(False, "asyncio: a stranger")
            except domaindex.NotFound:
                check(True, "asyncio: a stranger")

    async def impatient(table):
        rows, cancelled = [], 0
        while True:
            try:
                rows.append((await asyncio.wait_for(table.__anext__(), 0.0005)).url)
            except asyncio.TimeoutError:
                cancelled += 1
            except StopAsyncIteration:
                check(cancelled > 0, "asyncio: a read was cancelled")
                return rows

    async def both():
        from domaindex import aio

        listed = [row.url for row in domaindex.open(root).urls("big.example", "big")]
        await ask(aio.connect(f"http://127.0.0.1:{server.port}"), listed)
        await ask(await aio.open(str(root)), listed)

    asyncio.run(both())


def check_canonical(domaindex, root):
    import pyarrow
    from domaindex.canonical import Canonicaliser

    raw = [f"HTTP://WWW.Site{i}.com:80/a/../{i}?z={i}&a=%7e#f" for i in range(500)] + ["", None, "mailto:x", "http://co.uk/", "http://münchen.de"]
    index = domaindex.open(root)
    batch = Canonicaliser(index=index).batch(pyarrow.array(raw)[1:])
    words = dxtest.domaindex("normalize", input="\n".join(r or "" for r in raw[1:]).encode()).stdout.decode().splitlines()
    got = [url if reject is None else f"!{reject}" for url, reject in zip(batch.column("url").to_pylist(), batch.column("reject").to_pylist())]
    equal(got, words, "canonical forms of a sliced array")
    one = Canonicaliser(index=index).url(raw[7])
    row = batch.slice(6, 1).to_pylist()[0]
    equal({k: getattr(one, k) for k in row}, row, "one URL, and the same in a batch")
    equal(f"0x{one.domain_id:016x}", index.get("/v1/normalize", q=raw[7])["domain_hash"], "domain_id")
    equal(Canonicaliser(index=index).batch(pyarrow.array([], pyarrow.string())).num_rows, 0, "an empty array")
    index.close()
    raises(domaindex.LibraryError, "a closed root", index.domain, "a.com")
    raises(domaindex.LibraryError, "no root", domaindex.open, root / "nowhere")


def check_close(domaindex, root):
    """Threads that ask while the root is closed get an answer, or are told."""
    import collections

    for _ in range(20 if dxtest.WHOLE else 3):
        index, said, start = domaindex.open(root), collections.Counter(), threading.Barrier(5)

        def ask(index=index, said=said, start=start):
            start.wait()
            for number in range(100):
                try:
                    said[index.domain(f"site{number % 25}.com").domain == f"site{number % 25}.com"] += 1
                except domaindex.LibraryError as error:
                    said[str(error)] += 1
                    return

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        start.wait()
        time.sleep(0.003)
        index.close()
        for thread in threads:
            thread.join()
        check(set(said) <= {True, "the root is closed"}, f"a root that is closed while threads ask: {said}")
    root_of = domaindex.open(root)._transport.root
    with root_of.use() as handle:
        root_of.close()
        check(handle.value is not None, "a root stays as long as a question is under way")
        raises(domaindex.LibraryError, "a question after close", root_of.ask, "/v1/versions", None)
    check(not root_of._handle, "and then it is freed")


# ---- servers that are busy, or break off ----


class Odd(http.server.BaseHTTPRequestHandler):
    """Replies as the class' `plan` says: (status, headers, body, bytes of it that are sent)."""

    protocol_version = "HTTP/1.1"
    plan, seen = [], []

    def do_GET(self):
        if self.headers.get("Content-Length"):
            self.rfile.read(int(self.headers["Content-Length"]))
        type(self).seen.append((self.path, dict(self.headers)))
        status, headers, body, sent = self.plan.pop(0) if len(self.plan) > 1 else self.plan[0]
        time.sleep(float(headers.get("X-Wait", 0)))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # of a client that was interrupted
            self.wfile.write(body[:sent])
        if sent < len(body) or headers.get("X-Drop"):
            self.close_connection = True

    do_POST = do_GET

    def log_message(self, *_):
        pass


def problem(slug, status):
    return json.dumps({"type": f"urn:domaindex:problem:{slug}", "title": slug, "status": status, "detail": "d"}).encode()


def check_interrupt(index, fine):
    """Ctrl-C while a kept connection waits for its reply."""
    Odd.plan = [fine, (200, {"X-Wait": "1"}, b"{}", 99), fine]
    index.domain("site1.com")
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    raises(KeyboardInterrupt, "a question that is interrupted", index.get, "/v1/datasets")
    signal.signal(signal.SIGALRM, before)
    equal(index.domain("site1.com").domain, "site1.com", "the question after it")


def check_odd_servers(domaindex, server):
    good = server.get("/v1/domain/site1.com").body
    busy = (503, {"Retry-After": "0"}, problem("overloaded", 503), 9999)
    limited = (429, {"Retry-After": "7"}, problem("rate-limited", 429), 9999)
    fine = (200, {}, good, 10**6)
    odd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    threading.Thread(target=odd.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{odd.server_port}"
    try:
        Odd.plan = [busy, busy, fine]
        equal(domaindex.connect(url, token="dxk_x").domain("site1.com").domain, "site1.com", "an answer after two 503")
        equal(Odd.seen[-1][1].get("Authorization"), "Bearer dxk_x", "the token")
        Odd.plan = [limited]
        began = time.monotonic()
        error = raises(domaindex.Busy, "429 with more than there is patience for", domaindex.connect(url, patience=3).domain, "site1.com")
        equal((error.status, error.retry_after, time.monotonic() - began < 3), (429, 7.0, True), "a Busy at once")
        naps = []
        patient = domaindex.connect(url, patience=20)
        patient._transport._sleep = naps.append
        raises(domaindex.Busy, "429 for ever", patient.domain, "site1.com")
        equal(naps, [7.0, 7.0], "waits as Retry-After says")
        for what, reply, kind in (("half a body", (200, {}, good, len(good) // 2), domaindex.Incomplete),
                                  ("no problem document", (502, {}, b"<html>", 99), domaindex.TransportError),
                                  ("500", (500, {}, problem("data-damaged", 500), 999), domaindex.Damaged),
                                  ("401", (401, {}, problem("unauthorized", 401), 999), domaindex.Unauthorized),
                                  ("403", (403, {}, problem("restricted", 403), 999), domaindex.Forbidden),
                                  ("422", (422, {}, problem("too-much", 422), 999), domaindex.TooMuch),
                                  ("410", (410, {}, problem("cursor-expired", 410), 999), domaindex.CursorExpired)):
            Odd.plan = [reply]
            raises(kind, what, domaindex.connect(url).domain, "site1.com")
        line = b'{"line":1,"asked":"a.com","domain":"a.com","found":false,"reason":"absent"}\n'
        for what, body in (("no summary", line), ("a line too few", b'{"summary":{},"version":"v","complete":true}\n'),
                           ("an error line", line + b'{"error":{}}\n')):
            Odd.plan = [(200, {}, body, 9999)]
            raises(domaindex.Incomplete, f"names: {what}", lambda: list(domaindex.connect(url).domains(["a.com"])))
        Odd.plan = [(200, {}, json.dumps({"items": [], "next_cursor": None}).encode(), 9999)]
        raises(domaindex.Incomplete, "a page without complete", lambda: list(domaindex.connect(url).urls("a.com")))
        Odd.plan = [(200, {"Content-Encoding": "gzip"}, gzip.compress(good)[:10] + b"\xff" * 99, 9999)]
        raises(domaindex.Incomplete, "a compressed reply that is damaged", domaindex.connect(url).domain, "site1.com")
        check_interrupt(domaindex.connect(url, patience=0), fine)
        kept = domaindex.connect(url)
        Odd.plan = [(200, {"X-Drop": "1"}, good, 10**6)]
        equal([kept.domain("site1.com").domain for _ in range(3)], ["site1.com"] * 3, "a connection that is closed between requests")
    finally:
        odd.shutdown()
        odd.server_close()
    raises(domaindex.TransportError, "no server", domaindex.connect(url).domain, "a.com")
    raises(ValueError, "no URL", domaindex.connect, "s3://bucket")


def check_without_library(server):
    """A wheel without the library: connect works, open says what is missing."""
    program = (f"import domaindex; print(domaindex.connect('http://127.0.0.1:{server.port}').domain('site1.com').domain)\n"
               "try:\n    domaindex.open('/tmp')\nexcept domaindex.LibraryError as error:\n    print('pip install' in str(error))\n")
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=False, env={**os.environ, "DOMAINDEX_LIBRARY": "/nowhere/lib.so"})
    equal(done.stdout, b"site1.com\nTrue\n", "without the library")


def check_locale(tmp, root):
    """In a program whose numbers have a decimal comma the library's have a point."""
    name, source = "comma", tmp / "comma.source"     # with nothing but numbers: a whole one takes localedef half a second
    source.write_text('comment_char %\nescape_char /\nLC_NUMERIC\ndecimal_point ","\nthousands_sep "."\ngrouping 3;3\nEND LC_NUMERIC\n')
    made = subprocess.run(["localedef", "-c", "-i", str(source), "-f", "ISO-8859-1", str(tmp / name)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if not (tmp / name / "LC_NUMERIC").exists():
        return f"localedef makes no locale (Debian: package locales): {made.stdout[-200:]}"
    program = ("import hashlib, locale, sys\nfrom domaindex import _native\nlocale.setlocale(locale.LC_ALL, sys.argv[1])\n"
               "assert locale.localeconv()['decimal_point'] == sys.argv[2]\n"
               f"root = _native.Root({str(root)!r}, None, None, False)\n"
               "for path in ('/v1/datasets/1/top-domains?format=arrow', '/v1/datasets/1/top-domains', '/v1/domain/big.example'):\n"
               "    status, _, body = root.ask(path, None)\n    print(status, hashlib.sha256(body).hexdigest())\n")
    plain, comma = (subprocess.run([sys.executable, "-c", program, *each], stdout=subprocess.PIPE, check=True, env={**os.environ, "LOCPATH": str(tmp)}).stdout
                    for each in (("C", "."), (name, ",")))
    equal(plain.count(b"200 "), 3, "answers of the library")
    equal(comma, plain, "answers where numbers have a decimal comma")
    return None


def main():
    dxtest.need_programs()
    try:
        for name in ("pyarrow", "pandas", "polars"):
            importlib.import_module(name)
    except ImportError:
        dxtest.skip("there are no pyarrow, pandas and polars (tests/e2e/requirements.txt)")
    with dxtest.tempdir() as tmp:
        install(tmp)
        domaindex = importlib.import_module("domaindex")
        check(pathlib.Path(domaindex.__file__).is_relative_to(tmp), "the installed package is the one that is tested")
        skipped = check_types()
        check_document(tmp, domaindex)
        root = tmp / "root"
        old = make_root(root)
        with dxtest.Server(root) as server:
            indexes = {"http": domaindex.connect(f"http://127.0.0.1:{server.port}/"), "files": domaindex.open(root)}
            for what, index in indexes.items():
                check_domains(domaindex, index, server, what)
                check_listings(domaindex, index, server, what)
                check_names(domaindex, index, root, what)
                check_errors(domaindex, index, old, what)
            check_pinned_parameters(domaindex)
            check_fork(domaindex, server, root)
            check_close(domaindex, root)
            check_async(domaindex, server, root)
            check_canonical(domaindex, root)
            check_odd_servers(domaindex, server)
            check_without_library(server)
            skipped = check_locale(tmp, root) or skipped
            equal(indexes["files"].refresh(), False, "nothing new")
            dxtest.domaindex("ingest", "--root", root, "--dataset", "late", "--format", "list", "-", input=b"http://late.example/\n")
            dxtest.domaindex("publish", "--root", root)
            check("late.example" not in indexes["files"], "an open root stays on its version")
            equal(indexes["files"].refresh(), True, "a refresh")
            check("late.example" in indexes["files"], "and then it has the new one")
    dxtest.finish(skipped)


if __name__ == "__main__":
    main()
