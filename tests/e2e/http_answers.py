#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: threads short
"""Every endpoint over a few records, each field and status as docs/API.md promises."""
import json
import re
from urllib.parse import quote

import dxtest
from dxtest import check, equal

ROWS = """\
crawl\t1718352930\thttps://example.com/a/b?x=1\tfirst
crawl\t1718352930\thttps://EXAMPLE.com:443/a/./b?x=1#top\tfirst
crawl\t1718352931\thttps://example.com/a/b?x=1\tfirst
crawl\t\thttp://www.example.com/\t
crawl\t1500000000\thttps://example.co.uk/%7euser//x?b=2&a=1\t
books\t1600000000\thttps://m\u00fcnchen.de/\tz
books\t1600000001\thttps://example.com/\t
books\t1600000002\thttp://192.0.2.7:8080/x\t
books\t1600000003\tmailto:nobody@example.com\t
books\t1600000004\thttp://co.uk/\t
"""


def problem(reply, status, slug, words):
    equal(reply.status, status, words)
    equal(reply.headers.get("content-type"), "application/problem+json", f"{words}: content type")
    body = reply.json
    equal(body.get("status"), status, f"{words}: status in the body")
    check(body.get("type", "").endswith(":" + slug), f"{words}: type {body.get('type')}, want {slug}")
    check(body.get("title") and body.get("detail"), f"{words}: title and detail")
    return body


def domain_answer(server, ids):
    reply = server.get("/v1/domain/example.com")
    equal(reply.status, 200, "example.com")
    equal(reply.headers.get("content-type"), "application/json", "content type")
    answer = reply.json
    equal(answer["domain"], "example.com", "domain")
    check(re.fullmatch("0x[0-9a-f]{16}", answer["domain_id"]), f"domain_id {answer['domain_id']}")
    equal(answer["complete"], True, "complete")
    check(answer["version"], "version")
    want = [
        {"dataset_id": ids["books"], "name": "books", "url_count": 1, "url_count_est": 1,
         "row_count": 1, "first_ts": "2020-09-13T12:26:41Z", "last_ts": "2020-09-13T12:26:41Z",
         "share": 0.333333333, "rank": 1},
        {"dataset_id": ids["crawl"], "name": "crawl", "url_count": 2, "url_count_est": 2,
         "row_count": 3, "first_ts": "2024-06-14T08:15:30Z", "last_ts": "2024-06-14T08:15:31Z",
         "share": 0.666666667, "rank": 1},
    ]
    equal(answer["datasets"], sorted(want, key=lambda d: d["dataset_id"]), "datasets")
    equal((answer["dataset_count"], answer["url_count"], answer["row_count"]), (2, 3, 4), "totals")
    # https://example.com/a/b, http://www.example.com/ and https://example.com/
    equal((answer["distinct_url_count"], answer["distinct_error"]), (3, 0), "distinct URLs")
    some_fields(server, answer)
    some_datasets(server, answer)
    return reply


def some_fields(server, whole):
    names = list(whole["datasets"][0])
    for fields in ("rank", "share,rank", "rank,share", "dataset_id", "name,last_ts,first_ts", "row_count,row_count",
                   "url_count_est", ",".join(reversed(names))):
        reply = server.get(f"/v1/domain/example.com?fields={fields}")
        want = [name for name in names if name == "dataset_id" or name in fields.split(",")]
        equal([list(d.items()) for d in reply.json["datasets"]],
              [[(name, d[name]) for name in want] for d in whole["datasets"]], f"fields={fields}")
        equal({**reply.json, "datasets": 0}, {**whole, "datasets": 0}, f"fields={fields}: all else")
    for fields in ("", "url", "rank,", ",rank", "Rank", "rank%20", "rank,,share"):
        problem(server.get(f"/v1/domain/example.com?fields={fields}"), 400, "bad-parameter", f"fields={fields}")


def some_datasets(server, whole):
    """Order and pages of the datasets: the same items, and sums of all."""
    rows = whole["datasets"]
    for sort in rows[0]:
        for reverse in ("no", "yes"):
            want = sorted(rows, key=lambda d: d[sort], reverse=reverse == "yes")
            reply = server.get(f"/v1/domain/example.com?sort={sort}&reverse={reverse}").json
            equal(reply, {**whole, "datasets": want}, f"sort={sort}, reverse={reverse}")
            pages = [server.get(f"/v1/domain/example.com?sort={sort}&reverse={reverse}&limit=1&offset={i}").json for i in range(3)]
            for i, page in enumerate(pages):
                equal(page, {**whole, "datasets": want[i:i + 1], "offset": i, "next_offset": 1 if i == 0 else None}, f"sort={sort}, page {i}")
            lines = server.get(f"/v1/domain/example.com?sort={sort}&reverse={reverse}&format=csv&fields=name").body.decode().split()
            equal(lines, ["dataset_id,name,withheld_rows,kind,page_count"] + [f"{d['dataset_id']},{d['name']},,," for d in want], f"sort={sort} as CSV")
    equal(len(server.get("/v1/domain/example.com?limit=1&format=ndjson").body.splitlines()), 1, "limit of a stream")
    for bad in ("sort=withheld_rows", "sort=", "reverse=1", "limit=0", "limit=x", "offset=-1"):
        problem(server.get(f"/v1/domain/example.com?{bad}"), 400, "bad-parameter", bad)
    problem(server.get("/v1/domain/example.com?limit=10001"), 400, "limit-too-large", "limit")


def same_answers(server, want):
    for asked in ("EXAMPLE.com", "www.example.com", "example.com.", "example.com:8080",
                  "https%3A%2F%2Fexample.com%2Fa%3Fq", "%65xample.com", "a.b.c.example.com"):
        equal(server.get(f"/v1/domain/{asked}").json, want, f"asked as {asked}")
    for asked in ("m%C3%BCnchen.de", "xn--mnchen-3ya.de", "M%C3%9CNCHEN.DE"):
        answer = server.get(f"/v1/domain/{asked}").json
        equal((answer["domain"], answer["domain_unicode"]), ("xn--mnchen-3ya.de", "m\u00fcnchen.de"), asked)
    equal(server.get("/v1/domain/192.0.2.7").json["domain"], "192.0.2.7", "an IP literal")
    equal(server.get("/v1/domain/news.example.co.uk").json["domain"], "example.co.uk", "co.uk")


def listing(server, ids):
    crawl = ids["crawl"]
    base = f"/v1/domain/example.com/datasets/{crawl}/urls"
    answer = server.get(base).json
    equal([(i["url"], i["ts"]) for i in answer["items"]],
          [("https://example.com/a/b?x=1", "2024-06-14T08:15:30Z"),
           ("https://example.com/a/b?x=1", "2024-06-14T08:15:31Z"),
           ("http://www.example.com/", None)], "rows in order")
    equal([sorted(i) for i in answer["items"]], [["ts", "url", "url_id"]] * 3, "members of items")
    equal(answer["items"][0]["url_id"], answer["items"][1]["url_id"], "one URL, one url_id")
    check(re.fullmatch("0x[0-9a-f]{16}", answer["items"][0]["url_id"]), "url_id")
    equal((answer["domain"], answer["dataset_id"], answer["total"], answer["total_est"],
           answer["next_offset"], answer["complete"]),
          ("example.com", crawl, 3, 3, None, True), "the listing's own members")
    alias = server.get(f"/v1/domain/example.com/dataset/{crawl}/urls").json
    equal(alias, answer, "/dataset/ is an alias of /datasets/")
    pages, offset = [], 0
    while offset is not None:
        page = server.get(f"{base}?offset={offset}&limit=1").json
        equal(len(page["items"]), 1, f"one row at offset {offset}")
        pages += page["items"]
        offset = page["next_offset"]
    equal(pages, answer["items"], "page by page")
    past = server.get(f"{base}?offset=3&limit=10").json
    equal((past["items"], past["next_offset"], past["total"]), ([], None, 3), "behind the end")
    far = server.get(f"{base}?offset=4000000000000&limit=10").json
    equal((far["items"], far["next_offset"]), ([], None), "far behind the end")
    some = server.get(f"{base}?fields=url,raw_url,extras&limit=3").json["items"]
    equal(some[2]["raw_url"], None, "no raw_url where it is canonical")
    co = server.get(f"/v1/domain/example.co.uk/datasets/{crawl}/urls?fields=url,raw_url").json
    equal(co["items"], [{"url": "https://example.co.uk/~user/x?a=1&b=2",
                         "raw_url": "https://example.co.uk/%7euser//x?b=2&a=1"}], "raw_url")
    ip = server.get(f"/v1/domain/192.0.2.7/datasets/{ids['books']}/urls").json
    equal(ip["items"][0]["url"], "http://192.0.2.7:8080/x", "a port that is not the default stays")


def datasets(server):
    answer = server.get("/v1/datasets").json
    equal(sorted(d["name"] for d in answer["datasets"]), ["books", "crawl"], "/v1/datasets")
    equal((answer["total"], answer["next_offset"]), (2, None), "its last page")
    first = server.get("/v1/datasets?limit=1").json
    equal((len(first["datasets"]), first["next_offset"]), (1, 1), "its first page")
    ids = {d["name"]: d["dataset_id"] for d in answer["datasets"]}
    crawl = server.get(f"/v1/datasets/{ids['crawl']}").json
    equal((crawl["name"], crawl["row_count"], crawl["url_count"], crawl["domain_count"]),
          ("crawl", 4, 3, 2), "/v1/datasets/{id}")
    return ids


def by_name(server, ids):
    """A name stands wherever an id does, and answers the same bytes."""
    crawl, books = ids["crawl"], ids["books"]
    for form in ("/v1/datasets/{a}", "/v1/datasets/{a}/overlap/{b}", "/v1/datasets/{a}/top-domains", "/v1/tlds?dataset={a}",
                 "/v1/domain/example.com/datasets/{a}/urls", "/v1/domain/example.com/datasets/{a}/paths",
                 "/v1/domain/example.com/hosts?dataset={a}", "/v1/domains?prefix=e&dataset={a}"):
        want = server.get(form.format(a=crawl, b=books))
        equal(want.status, 200, form)
        for a, b in (("crawl", "books"), ("name:crawl", "name%3Abooks"), ("id:%d" % crawl, "id:%d" % books), ("cr%61wl", books)):
            got = server.get(form.format(a=a, b=b))
            equal((got.status, got.body), (200, want.body), f"{form}: {a}")
        for a, status, slug in (("Crawl", 404, "dataset-not-found"), ("crawl,books", 404, "dataset-not-found"),
                                ("name:%d" % crawl, 404, "dataset-not-found"), ("9" * 30, 400, "bad-dataset-id")):
            problem(server.get(form.format(a=a, b=books)), status, slug, f"{form}: {a}")
    listing = "/v1/domain/example.com/datasets/{}/urls?limit=1"
    first = server.get(listing.format("crawl")).json
    goes_on = server.get(listing.format("crawl") + "&cursor=" + first["next_cursor"]).json
    equal(goes_on, server.get(listing.format(crawl) + "&cursor=" + first["next_cursor"]).json, "a cursor, by name")
    problem(server.get(listing.format("books") + "&cursor=" + first["next_cursor"]), 400, "cursor-mismatch", "another one's cursor")
    tlds = "/v1/domains?prefix=e&limit=1&dataset="
    page = server.get(tlds + "crawl").json
    if check(page.get("next_cursor"), f"two domains begin with e: {page}"):
        problem(server.get(tlds + "books&cursor=" + page["next_cursor"]), 400, "cursor-mismatch", "another one's cursor of domains")


def the_rest(server):
    answer = server.get("/v1/normalize?q=HTTPS%3A%2F%2FWWW.M%C3%BCnchen.de%3A443%2F%2Fa%2F..%2Fb%23c").json
    equal((answer["domain"], answer["url"]),
          ("xn--mnchen-3ya.de", "https://www.xn--mnchen-3ya.de/b"), "/v1/normalize")
    equal(server.get("/v1/normalize?q=co.uk").json["rejected"], "public_suffix", "a suffix")
    for asked, both in (("a.foo.github.io", ("foo.github.io", "github.io")), ("github.io", (None, "github.io")), ("co.uk", (None, None)),
                        ("https://WWW.Example.com/x", ("example.com", "example.com"))):
        answer = server.get(f"/v1/normalize?q={quote(asked)}").json
        equal((answer["domain"], answer["icann_domain"]), both, f"{asked}: both boundaries")
    versions = server.get("/v1/versions").json
    equal([v["current"] for v in versions["versions"]], [True], "/v1/versions")
    equal(versions["versions"][0]["row_count"], 7, "rows of the version")
    equal(server.get("/healthz").status, 200, "/healthz")
    equal(server.get("/readyz").status, 200, "/readyz")


def refusals(server, ids):
    crawl = ids["crawl"]
    urls = f"/v1/domain/example.com/datasets/{crawl}/urls"
    absent = problem(server.get("/v1/domain/not-there.com"), 404, "domain-not-found", "absent")
    check("not-there.com" in absent["detail"], "the detail names what was not found")
    problem(server.get("/v1/domain/co.uk"), 400, "not-a-domain", "a public suffix")
    problem(server.get("/v1/domain/exa%20mple"), 400, "not-a-domain", "a space")
    problem(server.get("/v1/datasets/99999"), 404, "dataset-not-found", "no such dataset")
    problem(server.get("/v1/domain/example.com/datasets/99999/urls"), 404, "dataset-not-found",
            "no such dataset")
    problem(server.get(f"/v1/domain/xn--mnchen-3ya.de/datasets/{crawl}/urls"), 404,
            "domain-not-in-dataset", "not in this dataset")
    for query in ("limit=0", "limit=10001", "limit=-1", "limit=x", "limit=1&limit=2", "offset=-1",
                  "offset=99999999999999999999999", "unknown=1", "fields=nonsense", "limit="):
        equal(server.get(f"{urls}?{query}").status, 400, f"?{query}")
    for path in ("/", "/v1", "/v1/", "/v1/domain/", "/v2/domain/example.com", "/v1/datasets/x/y"):
        check(server.get(path).status in (400, 404), f"{path}: {server.get(path).status}")
    reply = server.get("/v1/domain/example.com", method="POST")
    equal((reply.status, reply.headers.get("allow")), (405, "GET, HEAD"), "POST")


def conditional(server, reply):
    head = server.get("/v1/domain/example.com", method="HEAD")
    equal((head.status, head.body), (200, b""), "HEAD has no body")
    equal(head.headers["content-length"], str(len(reply.body)), "HEAD tells the length of GET")
    etag = reply.headers["etag"]
    again = server.get("/v1/domain/example.com", headers={"If-None-Match": etag})
    equal((again.status, again.body), (304, b""), "If-None-Match")
    other = server.get("/v1/domain/example.com", headers={"If-None-Match": '"other"'})
    equal(other.status, 200, "If-None-Match with another tag")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        (tmp / "rows.tsv").write_text(ROWS, encoding="utf-8")
        root = tmp / "root"
        dxtest.domaindex("ingest", "--max-rejects", "100%", "--root", root, "--format", "tsv", "--dataset-column", 1,
                         "--ts-column", 2, "--url-column", 3, "--extra-column", 4, tmp / "rows.tsv")
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root) as server:
            ids = datasets(server)
            reply = domain_answer(server, ids)
            same_answers(server, reply.json)
            listing(server, ids)
            by_name(server, ids)
            the_rest(server)
            refusals(server, ids)
            conditional(server, reply)
        printed = dxtest.domaindex("lookup", "--root", root, "example.com").stdout
        equal(json.loads(printed), reply.json, "domaindex lookup says what the server says")
    dxtest.finish()


if __name__ == "__main__":
    main()
