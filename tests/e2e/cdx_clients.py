#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""Unchanged clients of CDX servers against the server: cdx_toolkit, pywb (with replay of a WARC record), wayback, waybackpy.

Made rows and a WARC file that warcio writes go in, that with locators. Each client runs in the environment of scripts/cdx_clients.sh, gets
the rows that the input has, page by page where it can, and pywb replays a record by the file name, offset and length that the server
says. Exit 77: the clients cannot be had from PyPI.
"""
import json
import subprocess

import dxtest
from dxtest import check, equal

CLIENT = r"""
import json, os, sys, tempfile
base, warcs = sys.argv[1], sys.argv[2]
got = {}

import cdx_toolkit, cdx_toolkit.myrequests
cdx_toolkit.myrequests.retry_info["default"]["minimum_interval"] = 0
for name in ("index", "cdx", "pages-index"):
    cdx = cdx_toolkit.CDXFetcher(source=f"{base}/{name}")
    got[f"toolkit {name}"] = [[c["url"], c["timestamp"], c["status"], c["digest"]] for c in cdx.iter("*.pages.org")]
    got[f"toolkit get {name}"] = [c["url"] for c in cdx.get("pages.org/*", limit=5, filter="=status:200")]
    got[f"toolkit none {name}"] = [c["url"] for c in cdx.iter("nothing.org/*")] + cdx.get("nothing.org/*")
    got[f"toolkit size {name}"] = cdx.get_size_estimate("*.pages.org", as_pages=True)
os.environ["HOME"] = tempfile.mkdtemp()
mirror = cdx_toolkit.CDXFetcher(source="cc", cc_mirror=base, crawl=["pages"])
got["toolkit mirror"] = [[c["url"], c["timestamp"], c["status"], c["digest"]] for c in mirror.iter("*.pages.org")]

import waybackpy
for limit in (None, 7):
    w = waybackpy.WaybackMachineCDXServerAPI("*.pages.org", limit=limit)
    w.endpoint = f"{base}/cdx"
    got[f"waybackpy {limit}"] = [[s.original, s.timestamp, s.statuscode, s.digest] for s in w.snapshots()]
w = waybackpy.WaybackMachineCDXServerAPI("pages.org/3", start_timestamp="2015", filters=["statuscode:40."], collapses=["urlkey"])
w.endpoint = f"{base}/cdx"
got["waybackpy some"] = [[s.original, s.timestamp] for s in w.snapshots()]
w = waybackpy.WaybackMachineCDXServerAPI("pages.org/3")
w.endpoint = f"{base}/cdx"
got["waybackpy near"] = w.near(year=2015, month=2, day=2).timestamp

import wayback._client
wayback._client.CDX_SEARCH_URL = f"{base}/cdx"
session = wayback.WaybackSession(search_calls_per_second=0)
for limit in (1000, 7):
    rows = wayback.WaybackClient(session).search("*.pages.org", limit=limit)
    got[f"wayback {limit}"] = [[r.original, r.timestamp.strftime("%Y%m%d%H%M%S"), str(r.statuscode), r.digest] for r in rows]

from pywb.warcserver.index.indexsource import RemoteIndexSource
from pywb.warcserver.index.aggregator import SimpleAggregator
from pywb.warcserver.handlers import DefaultResourceHandler
from pywb.warcserver.inputrequest import DirectWSGIInputRequest
for name in ("index", "cdx", "pages-index"):
    source = SimpleAggregator({"dx": RemoteIndexSource.init_from_string(f"cdx+{base}/{name}")})
    rows, errors = source({"url": "http://pages.org/3", "closest": "20150202000000"})
    got[f"pywb {name}"] = [[c["url"], c["timestamp"]] for c in rows]
    rows, errors = source({"url": "http://pages.org/", "matchType": "prefix", "closest": "20150202000000"})
    got[f"pywb prefix {name}"] = len(list(rows))
for name in ("index", "crawl-index"):
    source = SimpleAggregator({"dx": RemoteIndexSource.init_from_string(f"cdx+{base}/{name}")})
    handler = DefaultResourceHandler(source, warcs)
    request = DirectWSGIInputRequest({"REQUEST_METHOD": "GET"})
    headers, body, errors = handler({"url": "http://replay.org/page", "closest": "20200101000000", "_input_req": request})
    got[f"replay {name}"] = [b"".join(body).decode("latin-1") if body else repr(errors), headers and headers.get("WARC-Target-URI")]
print(json.dumps(got))
"""

MAKE_WARC = r"""
import io, sys
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter
with open(sys.argv[1], "wb") as out:
    writer = WARCWriter(out, gzip=True)
    for n, url in enumerate(("http://replay.org/other", "http://replay.org/page", "http://www.replay.org/third")):
        http = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
        writer.write_record(writer.create_warc_record(url, "response", payload=io.BytesIO(b"body of %d" % n), http_headers=http, warc_headers_dict={"WARC-Date": f"2020-01-0{n + 1}T00:00:00Z"}))
"""


def rows():
    """[url, timestamp, status, digest] in the order of answers."""
    made = [[f"http://{host}pages.org/{n}", f"2015{n % 12 + 1:02}0{d}000000", "200" if n % 3 else "404", f"{n:04}{d}{'D' * 27}"]
            for host in ("", "sub.") for n in range(25) for d in (1, 2)]
    key = {"": "org,pages)", "sub.": "org,pages,sub)"}
    return sorted(made, key=lambda r: (key["sub." if "sub." in r[0] else ""] + "/" + r[0].rsplit("/", 1)[1], r[1]))


def expect(got, made, replayed):
    urls = [r[0] for r in made]
    for name in ("index", "cdx", "pages-index"):
        equal(got[f"toolkit {name}"], made, f"cdx_toolkit, {name}")
        equal(got[f"toolkit get {name}"], [r[0] for r in made if "sub." not in r[0] and r[2] == "200"][:5], f"cdx_toolkit, filter, {name}")
        equal((got[f"toolkit none {name}"], got[f"toolkit size {name}"]), ([], 1), f"cdx_toolkit, nothing and size, {name}")
        near = sorted((r for r in made if r[0] == "http://pages.org/3"), key=lambda r: r[1])
        equal(got[f"pywb {name}"], [r[:2] for r in near], f"pywb, {name}")
        equal(got[f"pywb prefix {name}"], sum("sub." not in u for u in urls), f"pywb, prefix, {name}")
    equal(got["toolkit mirror"], made, "cdx_toolkit, a mirror of Common Crawl")
    for name in ("waybackpy None", "waybackpy 7", "wayback 1000", "wayback 7"):
        equal(got[name], made, name)
    equal(got["waybackpy some"], [["http://pages.org/3", "20150401000000"]], "waybackpy, filter and collapse")
    equal(got["waybackpy near"], "20150401000000", "waybackpy, near")
    for name in ("index", "crawl-index"):
        text, url = got[f"replay {name}"]
        check(replayed in text, f"pywb replays by {name}: {text[:300]!r}")


def main():
    dxtest.need_programs()
    done = dxtest.run(dxtest.SOURCE / "scripts/cdx_clients.sh", expect=None)
    if done.returncode == 77:
        dxtest.skip("clients cannot be had: " + done.stderr.decode().strip().splitlines()[-1])
    python = done.stdout.decode().strip().splitlines()[-1]
    with dxtest.tempdir() as tmp:
        root, made = tmp / "root", rows()
        (tmp / "pages.jsonl").write_text("".join(json.dumps({"url": u, "ts": t, "status": s, "digest": d, "mime": "text/html", "length": "9"}) + "\n" for u, t, s, d in made))
        extras = [word for name in ("status", "digest", "mime", "length") for word in ("--extra-column", name)]
        dxtest.domaindex("ingest", "--root", root, "--dataset", "pages", "--format", "jsonl", *extras, tmp / "pages.jsonl")
        (tmp / "others.tsv").write_text("".join(f"other{n}\thttp://other{n}.org/\n" for n in range(60)))      # cdx_toolkit wants 60 indexes of a mirror
        dxtest.domaindex("ingest", "--root", root, "--dataset-column", 1, "--url-column", 2, "--no-ts", tmp / "others.tsv")
        (tmp / "warcs").mkdir()
        subprocess.run([python, "-c", MAKE_WARC, tmp / "warcs/crawl.warc.gz"], check=True)
        dxtest.domaindex("ingest", "--root", root, "--dataset", "crawl", "--profile", "warc", "--locators", "crawl.warc.gz", cwd=tmp / "warcs")
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root) as server:
            done = subprocess.run([python, "-c", CLIENT, f"http://127.0.0.1:{server.port}", str(tmp / "warcs") + "/"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
            if not check(done.returncode == 0, done.stderr.decode()[-3000:]):
                dxtest.finish()
            expect(json.loads(done.stdout.decode().splitlines()[-1]), made, "body of 1")
    dxtest.finish()


main()
