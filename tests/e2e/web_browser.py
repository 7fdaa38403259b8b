#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""The web page in a real browser, over real posts: every view has what the API says, no violation of axe, no request to another host, no error of a script; search by keyboard, languages, export, print.

axe looks at all views with DX_WHOLE=1, else at home, site, URLs, dataset, lists, compared datasets, report, completion and a site on a phone.

DX_PICTURES=FOLDER writes the pictures of docs/pictures there, and does nothing else. DX_PICTURED=FILE: of these posts.
"""
import csv
import json
import os
import pathlib
import re
import urllib.parse

import browser
import dxtest
import posts
from dxtest import check, equal

OF_DATASETS, ONE_OF = 5, 20     # in the gate: of one dataset in so many one post in so many
NAMED = 20000 if dxtest.WHOLE else 6000     # absent names of a list from a file: more than one request has
SITES = ("imgur.com", "youtube.com", "flickr.com")
COLUMNS = ("--format", "tsv", "--dataset-column", "1", "--ts-column", "2", "--url-column", "3")
IDN = b"made\t1700000000\thttps://xn--bcher-kva.example.de/\t\nmade\t1700000000\thttps://xn--mnchen-3ya.de/stadt/plan?x=1\t\n"


def make_root(tmp):
    """Two versions: the second has the last third of the posts, which are of other datasets too."""
    path = os.environ.get("DX_PICTURED") or posts.of_datasets(tmp, OF_DATASETS)
    if path is None:
        dxtest.skip("no shared data")
    lines = list(posts.lines(path))
    if not dxtest.WHOLE and not os.environ.get("DX_PICTURED"):
        lines = lines[::ONE_OF]
    cut = len(lines) * 2 // 3
    for part in (IDN + b"".join(lines[:cut]), b"".join(lines[cut:])):
        dxtest.domaindex("ingest", "--root", tmp / "root", *COLUMNS, "-", input=part)
        dxtest.domaindex("publish", "--root", tmp / "root")
    return tmp / "root"


def grouped(number):
    return f"{number:,}"


def sound(tab, server, what, axe=True):
    """After a view: no violation, no error, no other host; each request is one of the page's files or of a documented endpoint."""
    if axe:
        equal(tab.axe(), [], f"{what}: axe")
    seen = tab.seen()
    equal(seen["errors"], [], f"{what}: errors of scripts")
    allowed = (f"GET {tab.origin}/", f"POST {tab.origin}/v1/domains", "GET data:,", f"GET blob:{tab.origin}")
    equal([r for r in seen["requests"] if not r.startswith(allowed)], [], f"{what}: requests to other hosts")
    check(not tab.evaluate("document.documentElement.scrollWidth > innerWidth"), f"{what}: wider than the window")


def commands(tab, server, what):
    """Each command of the view gives the data: its path is answered with 200."""
    shown = [line for text in tab.evaluate("[...document.querySelectorAll('.command pre')].map((e) => e.textContent)") for line in text.split("\n")]
    check(shown, f"{what}: has commands")
    for line in shown[:12]:
        shape = re.fullmatch(r"curl (?:-OJ )?'(.*)'", line)
        check(shape, line)
        reply = server.get(shape[1].removeprefix(tab.origin)) if "/domains?" not in line else None
        check(reply is None or reply.status == 200, f"{what}: {line}: {reply and reply.status}")


def site(tab, server, domain, version):
    tab.view(f"#/site/{domain}")
    want = server.get(f"/v1/domain/{domain}").json
    equal(tab.evaluate("location.hash"), f"#/site/{domain}?v={version}", "the address names the version")
    figures = tab.texts(".figures dd")
    equal(figures[:3], [grouped(want["dataset_count"]), ("≈ " if want["distinct_error"] else "") + grouped(want["distinct_url_count"]), grouped(want["row_count"])], domain)
    names = [d["name"] for d in sorted(want["datasets"], key=lambda d: -d["url_count"])]
    equal(tab.texts("section:nth-of-type(2) tbody td:first-child"), names[:25], f"{domain}: datasets")
    sound(tab, server, f"site {domain}")
    commands(tab, server, f"site {domain}")
    if len(names) > 25:
        tab.click(selector="section:nth-of-type(2) button:has-text('Show all')")
        equal(len(tab.texts("section:nth-of-type(2) tbody tr")), len(names), f"{domain}: all datasets")
    tab.click(selector="th:has-text('Rank') button")
    ranks = [d["rank"] for d in want["datasets"]]
    equal([int(r.replace(",", "")) for r in tab.texts("section:nth-of-type(2) tbody td:nth-child(5)")], sorted(ranks, reverse=True), "sorted by rank")
    equal(tab.evaluate("document.querySelector('th[aria-sort=descending]').innerText.trim()[0]"), "R", "aria-sort")
    periods = server.get(f"/v1/domain/{domain}/timeline?by=year").json["periods"]
    tab.choose(selector="section:nth-of-type(3) select >> nth=0", value="year")
    tab.calm()
    titles = tab.evaluate("[...document.querySelectorAll('figure.chart rect title')].map((e) => e.textContent)")
    equal(titles, [f"{p['period']}: {grouped(p['row_count'])}" for p in periods], f"{domain}: bars of the timeline")
    check("by=year" in tab.evaluate("location.hash"), "the choice is in the address")
    hosts = server.get(f"/v1/domain/{domain}/hosts?dataset={max(want['datasets'], key=lambda d: (d['url_count'], -d['dataset_id']))['dataset_id']}").json
    equal(tab.count("section:not(:has(a[rel=alternate])) .tree > li"), min(20, hosts["host_count"]), f"{domain}: hosts")
    check(tab.count("section:not(:has(a[rel=alternate])) .tree details[open] li") > 0, f"{domain}: the first host is open")
    equal(tab.seen()["errors"], [], f"site {domain}: errors of scripts")


def site_changes(tab, server, domain, versions):
    """What each version changed, the feed of it, and this version against an older one."""
    tab.view(f"#/site/{domain}")
    want = server.get(f"/v1/domain/{domain}/changes").json
    rows = [[d["name"], d["change"]] for d in want["changes"][0]["datasets"]]
    section = "section:has(a[rel=alternate])"
    equal(len(want["changes"]), tab.count(f"{section} li"), f"{domain}: a part for each version that changed something")
    equal(tab.texts(f"{section} tbody td:nth-child(1)"), [r[0] for r in rows][:25], f"{domain}: datasets that changed")
    equal(tab.texts(f"{section} tbody td:nth-child(2)"), [r[1] for r in rows][:25], f"{domain}: how they changed")
    feed = server.get(tab.evaluate(f"document.querySelector('{section} a[rel=alternate]').getAttribute('href')"))
    check(feed.status == 200 and feed.headers["content-type"].startswith("application/atom+xml"), f"{domain}: the feed: {feed.status}")
    tab.choose(selector=f"{section} select", value=versions[0]["version"])
    tab.wait("location.hash.includes('from=')")
    tab.calm()
    want = server.get(f"/v1/domain/{domain}/diff?from={versions[0]['version']}").json["datasets"]
    equal(tab.texts(f"{section} tbody td:nth-child(1)"), [d["name"] for d in want][:25], f"{domain}: against the older version")


def rows(tab, server, domain, tmp):
    tab.view(f"#/urls/{domain}")
    want = server.get(f"/v1/domain/{domain}/urls?limit=100").json
    equal(tab.texts("tbody td:first-child"), [i["url"] for i in want["items"]], "the first page of URLs")
    tab.click(selector="a[rel=next]")
    tab.wait("location.hash.includes('o=100')")
    tab.calm()
    second = server.get(f"/v1/domain/{domain}/urls?limit=100&offset=100").json
    equal(tab.texts("tbody td:first-child"), [i["url"] for i in second["items"]], "the second page, by its offset")
    sound(tab, server, "URLs")
    tab.fill(selector="input[name=from]", text="2013")
    tab.click(selector=".filters button")
    tab.wait("location.hash.includes('from=2013')")
    tab.calm()
    filtered = server.get(f"/v1/domain/{domain}/urls?limit=100&from=2013").json
    equal(tab.texts("tbody td:first-child"), [i["url"] for i in filtered["items"]], "filtered")
    tab.click(selector="a[rel=next]")
    tab.wait("location.hash.includes('c=')")
    tab.calm()
    after = server.get(f"/v1/domain/{domain}/urls?cursor={filtered['next_cursor']}").json
    equal(tab.texts("tbody td:first-child"), [i["url"] for i in after["items"]], "the second filtered page, by its cursor")
    link = tab.evaluate("location.hash")
    tab.view("#/")
    tab.view(link)
    equal(tab.texts("tbody td:first-child"), [i["url"] for i in after["items"]], "the link to that page")
    commands(tab, server, "URLs")
    for words, format in (("CSV", "csv"), ("NDJSON", "ndjson"), ("Parquet", "parquet"), ("Arrow", "arrow")):
        tab.saved(selector=f"a[download]:text-is('{words}')", path=str(tmp / f"rows.{format}"))
        equal((tmp / f"rows.{format}").read_bytes() == server.get(f"/v1/domain/{domain}/urls?from=2013&format={format}").body, True, f"the saved {words} is what the server streams")
    every, target = [], f"/v1/domain/{domain}/urls?limit=10000&from=2013"
    while target:
        page = server.get(target).json
        every += [i["url"] for i in page["items"]]
        target = page["next_cursor"] and f"/v1/domain/{domain}/urls?cursor={page['next_cursor']}"
    with open(tmp / "rows.csv", encoding="utf-8", newline="") as lines:
        equal([record["url"] for record in csv.DictReader(lines)], every, "the saved rows are all rows")


def dataset(tab, server, tmp):
    every = server.get("/v1/datasets").json["datasets"]
    most = max(every, key=lambda d: d["domain_count"])
    base = f"/v1/datasets/{most['dataset_id']}"
    tab.view(f"#/dataset/{most['dataset_id']}?share=10%25")
    top = server.get(f"{base}/top-domains?share=10%25&limit=50").json
    equal(tab.texts("section:nth-of-type(2) tbody td:nth-child(2)"), [d["domain"] for d in top["domains"]], "the 10 % table")
    check(grouped(top["selected"]) in tab.text(".note"), "how many the share selects")
    check(tab.count("figure.chart circle") > 3, "sizes on log axes")
    others = [d for d in sorted(every, key=lambda d: -d["domain_count"]) if d is not most][:12]
    got = dict(zip(tab.texts("section:last-of-type table:not(.heatmap) tbody td:nth-child(1)"), tab.texts("section:last-of-type table:not(.heatmap) tbody td:nth-child(2)")))
    want = {d["name"]: grouped(server.get(f"{base}/overlap/{d['dataset_id']}").json["domains"]["shared"]) for d in others}
    equal(got, want, "common domains with the twelve largest")
    check(tab.count(".heatmap tbody tr") == 8 and "…" not in tab.text(".heatmap"), "the heat map")
    tab.saved(selector="a[download]:text-is('Save as CSV')", path=str(tmp / "top.csv"))
    equal((tmp / "top.csv").read_bytes(), server.get(f"{base}/top-domains?share=10%25&format=csv").body, "the saved table")
    sound(tab, server, "dataset")
    commands(tab, server, "dataset")
    tab.view("#/datasets")
    check(grouped(len(every)) in tab.text("main"), "the number of datasets")
    tab.fill(selector=".tools input", text=most["name"])
    equal(tab.texts("tbody td:first-child"), [d["name"] for d in every if most["name"].lower() in d["name"].lower()], "datasets by name")
    sound(tab, server, "datasets", dxtest.WHOLE)


def lists(tab, server, tmp):
    names = [*SITES, "https://www.imgur.com/x", "no-such.example", "co.uk", "xn--mnchen-3ya.de", "<script>alert(1)</script>", '=cmd"x,y']
    tab.view("#/lists")
    tab.fill(selector="textarea", text="\n\n".join(names) + "\r\n")
    tab.click(selector="button.primary")
    tab.wait("!!document.querySelector('[role=status]')?.innerText.match(/^9 names\\./m) || [...document.querySelectorAll('[role=status]')].some((e) => /^9 names\\.$/.test(e.innerText))")
    tab.calm()
    equal(tab.texts(".figures dd")[:3], ["5", "1", "3"], "found, absent, not names")
    sound(tab, server, "lists")
    tab.saved(selector="button:has-text('matrix')", path=str(tmp / "matrix.csv"))
    with open(tmp / "matrix.csv", encoding="utf-8", newline="") as lines:
        header, *records = csv.reader(lines)
    equal([r[0] for r in records], names, "each name of the list")
    for name, record in zip(names, records):
        answer = server.get(f"/v1/domain/{name}").json if name in SITES else {"datasets": []}
        want = {d["name"]: str(d["url_count"]) for d in answer["datasets"]}
        if name in SITES:
            equal({h: v for h, v in zip(header[3:], record[3:]) if v}, want, f"the row of {name}")
    equal((records[4][2], records[5][2]), ("absent", "public_suffix"), "reasons")
    whole = tmp / "names.txt"
    whole.write_text("".join(f"site{i}.example\n" for i in range(NAMED)) + "imgur.com\n")
    tab.file(selector="input[type=file]", path=str(whole))
    tab.click(selector="button.primary")
    tab.wait(f"[...document.querySelectorAll('[role=status]')].some((e) => e.innerText === '{grouped(NAMED + 1)} names.')")
    equal(tab.texts(".figures dd")[:2], ["1", grouped(NAMED)], "a file of names")


def others(tab, server, versions):
    tab.view(f"#/compare?sites={','.join(SITES)}")
    equal(tab.texts("table tbody tr td:first-child")[:3], list(SITES), "compared sites")
    check(tab.count("figure.chart .series") == 3, "a series for each")
    sound(tab, server, "compare sites", dxtest.WHOLE)
    # Of five sizes: the page names the tables by the number of domains alone, and two of one name axe does not like.
    of_size = {d["domain_count"]: d["dataset_id"] for d in server.get("/v1/datasets?limit=10000").json["datasets"]}
    tab.view(f"#/compare?datasets={','.join(str(of_size[size]) for size in sorted(of_size)[-5:])}")
    check(tab.count(".heatmap tbody tr") == 5 and tab.count("table") == 8, "compared datasets")
    sound(tab, server, "compare datasets")
    commands(tab, server, "compare datasets")
    tab.view("#/status")
    equal(tab.texts("tbody td:first-child"), [v["version"] for v in reversed(versions)], "versions, newest first")
    sound(tab, server, "status", dxtest.WHOLE)
    tab.view("#/changes")
    want = server.get("/v1/changes?limit=200").json["changes"]
    equal(tab.texts("tbody td:first-child"), [c["domain"] for c in want][:25], "changes")
    sound(tab, server, "changes", dxtest.WHOLE)
    url = server.get("/v1/domain/imgur.com/urls?limit=1").json["items"][0]["url"]
    tab.view(f"#/url/{urllib.parse.quote(url, safe='')}")
    check("imgur.com" in tab.text(".figures"), "one URL")
    sound(tab, server, "one URL", dxtest.WHOLE)
    tab.view(f"#/site/imgur.com?v={versions[0]['version']}")
    check("not the current one" in tab.text(".note.version"), "an older version says so")
    old = server.get(f"/v1/domain/imgur.com?version={versions[0]['version']}").json
    equal(tab.texts(".figures dd")[0], grouped(old["dataset_count"]), "numbers of the older version")
    tab.click(selector=".note.version a")
    tab.wait(f"location.hash.includes('{versions[-1]['version']}')")
    tab.calm()
    equal(tab.texts(".figures dd")[0], grouped(server.get("/v1/domain/imgur.com").json["dataset_count"]), "numbers of the current one")


def report(tab, server, version, tmp):
    tab.view("#/report/flickr.com")
    check(version in tab.text(".citation") and "flickr.com" in tab.text(".citation"), "the citation names site and version")
    sound(tab, server, "report")
    tab.media(media={"media": "print"})
    equal(tab.evaluate("['header', '.command', 'footer', '.screen'].map((s) => getComputedStyle(document.querySelector(s)).display)"), ["none"] * 4, "not on paper")
    tab.pdf(path=str(tmp / "report.pdf"))
    check((tmp / "report.pdf").read_bytes()[:5] == b"%PDF-", "a PDF of it")
    tab.media(media={"media": "screen"})


def search(tab):
    """By keyboard alone."""
    tab.view("#/status")
    tab.reload()
    tab.wait(browser.CALM)
    tab.press(key="Tab")
    equal(tab.evaluate("document.activeElement.className"), "skip", "the first stop is the link to the content")
    tab.evaluate("void document.querySelector('[role=combobox]').focus()")
    tab.type(text="flick")
    tab.wait("document.querySelectorAll('[role=option]').length > 0")
    tab.press(key="ArrowDown")
    chosen = tab.text("[aria-selected=true]")
    equal(tab.axe(), [], "completion: axe")
    tab.press(key="Enter")
    tab.wait("location.hash.startsWith('#/site/')")
    tab.calm()
    equal(tab.text("h1"), chosen, "the chosen domain")
    for text, hash in (("HTTPS://WWW.Flickr.com:443/Photos/a b?x=1#y", "#/site/flickr.com"), ("münchen.de", "#/site/xn--mnchen-3ya.de")):
        tab.fill(selector="[role=combobox]", text=text)
        tab.press(key="Enter")
        tab.wait(f"location.hash.startsWith({json.dumps(hash)})")
        tab.calm()
    check("münchen.de" in tab.text("h1") and "xn--mnchen-3ya.de" in tab.text("h1"), "both forms of an IDN")
    tab.fill(selector="[role=combobox]", text="co.uk")
    tab.press(key="Enter")
    tab.wait("document.querySelector('.refused').innerText.includes('public_suffix')")


def narrow(chromium, server):
    """Phone, dark, German: all views once more."""
    with chromium.tab(server, locale="de-DE", colorScheme="dark", viewport={"width": 360, "height": 740}) as tab:
        more = ("#/urls/youtube.com", f"#/compare?sites={','.join(SITES)}", "#/datasets", "#/lists", "#/status", "#/changes", "#/report/flickr.com") if dxtest.WHOLE else ()
        for hash in ("#/", "#/site/flickr.com", "#/dataset/1", *more, "#/site/no-such.example"):
            tab.view(hash)
            sound(tab, server, f"phone {hash}", dxtest.WHOLE or hash == "#/site/flickr.com")     # axe is dear
            equal(tab.evaluate("document.documentElement.lang"), "de", hash)
        check("In keinem Datensatz" in tab.text(), "absent, in German")
        tab.click(selector="footer button[lang=en]")
        tab.wait("document.documentElement?.lang === 'en' && !!document.querySelector('footer button[lang=de]')")
        tab.calm()
        check("Not in any dataset" in tab.text(), "the reader's choice of a language")


PICTURES = (
    ("home", "#/", {}), ("site", "#/site/flickr.com", {}), ("site_dark", "#/site/youtube.com", {"colorScheme": "dark"}), ("urls", "#/urls/flickr.com?prefix=/photos/", {}),
    ("dataset", "#/dataset/1", {}), ("overlap", "#/dataset/1", {"viewport": {"width": 1280, "height": 1000}}), ("compare", f"#/compare?sites={','.join(SITES)}", {}), ("lists", "#/lists", {}),
    ("site_phone", "#/site/vimeo.com", {"viewport": {"width": 390, "height": 844}, "locale": "de"}), ("absent_phone", "#/site/example.org", {"viewport": {"width": 390, "height": 500}}),
)


def pictures(chromium, server, folder):
    datasets = server.get("/v1/datasets").json["datasets"]
    largest = max(datasets, key=lambda d: d["domain_count"])["dataset_id"]
    for name, hash, options in PICTURES:
        with chromium.tab(server, **options) as tab:
            tab.view(hash.replace("dataset/1", f"dataset/{largest}"))
            if name == "lists":
                tab.fill(selector="textarea", text="\n".join([*SITES, "vimeo.com", "wikipedia.org", "no-such.example", "co.uk"]))
                tab.click(selector="button.primary")
                tab.wait("document.querySelectorAll('.figures dd').length > 0")
                tab.calm()
                tab.evaluate("void document.querySelector('progress').scrollIntoView()")
            if name == "overlap":
                tab.evaluate("void document.querySelector('section:last-of-type').scrollIntoView()")
            tab.shot(path=str(folder / f"web_{name}.png"), whole=False)


def main():
    dxtest.need_programs()
    with browser.Browser() as chromium, dxtest.tempdir() as tmp:
        root = make_root(tmp)
        with dxtest.Server(root, "--web", "yes") as server:
            versions = server.get("/v1/versions").json["versions"]
            if os.environ.get("DX_PICTURES"):
                return pictures(chromium, server, pathlib.Path(os.environ["DX_PICTURES"]))
            with chromium.tab(server) as tab:
                tab.view("#/")
                equal(tab.texts(".figures dd")[:2], [grouped(versions[-1]["domain_count"]), grouped(versions[-1]["dataset_count"])], "the first view")
                sound(tab, server, "home")
                for domain in SITES[: 3 if dxtest.WHOLE else 1]:
                    site(tab, server, domain, versions[-1]["version"])
                site_changes(tab, server, SITES[0], versions)
                rows(tab, server, "youtube.com", tmp)
                dataset(tab, server, tmp)
                lists(tab, server, tmp)
                others(tab, server, versions)
                report(tab, server, versions[-1]["version"], tmp)
                search(tab)
            narrow(chromium, server)
    return dxtest.finish()


if __name__ == "__main__":
    main()
