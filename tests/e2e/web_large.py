#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""The web page with much behind it, in a real browser: a site with 10^6 URLs (links to its middle by offset and by cursor), 2,000 datasets, a list of many names; first content over a throttled link."""
import json

import browser
import dxtest
from dxtest import check, equal

ROWS = 1_000_000
DATASETS = 2000
NAMES = 1_000_000 if dxtest.WHOLE else 100_000
SLOW_4G = {"offline": False, "latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 0.75e6 / 8}


def make_root(tmp):
    rows = "".join(f"large\t{1_000_000_000 + 500 * i}\thttps://large.com/{i % 1000}/{i}\n" for i in range(ROWS))
    many = "".join(f"set {i:04}\t{1_500_000_000 + i}\thttps://large.com/set/{i}\nset {i:04}\t\thttps://site{i % 300}.com/\n" for i in range(DATASETS - 1))
    dxtest.domaindex("ingest", "--root", tmp / "root", "--format", "tsv", "--dataset-column", "1", "--ts-column", "2", "--url-column", "3", "-", input=(rows + many).encode())
    dxtest.domaindex("publish", "--root", tmp / "root")
    return tmp / "root"


def middle(tab, server):
    dataset = next(d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"] if d["name"] == "large")
    tab.view(f"#/urls/large.com?dataset={dataset}&o=500000")
    want = server.get(f"/v1/domain/large.com/urls?dataset={dataset}&offset=500000&limit=100").json
    equal(tab.texts("tbody td:first-child"), [i["url"] for i in want["items"]], "the middle of 10^6 rows by its offset")
    tab.fill(selector="input[name=page]", text="10000")
    tab.press(key="Enter")
    tab.wait("location.hash.includes('o=999900')")
    tab.calm()
    equal((tab.count("tbody tr"), tab.count("a[rel=next]")), (100, 0), "the last page")
    page = server.get(f"/v1/domain/large.com/urls?dataset={dataset}&prefix=%2F5&limit=100&fields=url,ts,extras").json
    for _ in range(20):
        page = server.get(f"/v1/domain/large.com/urls?cursor={page['next_cursor']}").json
    tab.view(f"#/urls/large.com?dataset={dataset}&prefix=%2F5&c={page['next_cursor']}")
    want = server.get(f"/v1/domain/large.com/urls?cursor={page['next_cursor']}").json
    equal(tab.texts("tbody td:first-child"), [i["url"] for i in want["items"]], "a place in a filtered listing by its cursor")
    equal(tab.axe(), [], "listing: axe")


def many(tab, server):
    tab.view("#/site/large.com")
    equal(tab.texts(".figures dd")[0], f"{DATASETS:,}", "datasets of the site")
    tab.click(selector="button:has-text('Show all 2,000')")
    equal(tab.evaluate("Math.max(...[...document.querySelectorAll('table')].map((t) => t.tBodies[0].rows.length))"), DATASETS, "all of them in the table")
    tab.click(selector="th:has-text('URLs') button")
    tab.view("#/datasets")
    tab.fill(selector=".tools input", text="set 01")
    equal(len(tab.texts("tbody tr")), 25, "some of the datasets")
    check("100 of 2,000" in tab.text(".tools [role=status]"), "how many of them")
    tab.view("#/dataset/2")
    tab.click(selector="button:has-text('Compare with all')")
    tab.ask("wait", code=f"[...document.querySelectorAll('section:last-of-type [role=status]')].some((e) => e.innerText.includes('{DATASETS - 1:,} of {DATASETS - 1:,} other'))", patience_ms=300_000)
    check(tab.count("section:last-of-type tbody tr") > 0, "overlaps with all other datasets")
    equal(tab.seen()["errors"], [], "errors of scripts")


def list_of_names(tab, tmp):
    names = tmp / "names.txt"
    with open(names, "w", encoding="ascii") as out:
        out.writelines(f"site{i}.com\n" if i < 300 else f"name{i}.org\n" for i in range(NAMES))
    tab.view("#/lists")
    tab.file(selector="input[type=file]", path=str(names))
    tab.click(selector="button.primary")
    tab.ask("wait", code=f"[...document.querySelectorAll('[role=status]')].some((e) => e.innerText === '{NAMES:,} names.')", patience_ms=600_000)
    equal(tab.texts(".figures dd")[:2], ["300", f"{NAMES - 300:,}"], "found and absent")
    tab.saved(selector="button:has-text('pairs')", path=str(tmp / "pairs.csv"))
    lines = (tmp / "pairs.csv").read_text().splitlines()
    equal((len(lines), lines[-1]), (1 + (DATASETS - 1) + NAMES - 300, f"name{NAMES - 1}.org,name{NAMES - 1}.org,absent,,,,"), "the saved pairs")
    with open(names, "a", encoding="ascii") as out:
        out.writelines(f"more{i}.org\n" for i in range(1_000_001 - NAMES))
    if dxtest.WHOLE:
        tab.file(selector="input[type=file]", path=str(names))
        tab.click(selector="button.primary")
        tab.ask("wait", code="document.querySelector('[role=alert].bad')?.innerText.includes('more than 1,000,000')", patience_ms=600_000)


def first_content(chromium, server):
    for hash in ("", "#/site/large.com"):
        with chromium.tab("about:blank") as tab:
            tab.ask("throttle", network=SLOW_4G)
            tab.origin = f"http://127.0.0.1:{server.port}"
            tab.start(hash)
            tab.wait("performance.getEntriesByName('first-contentful-paint').length > 0")
            ms = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            print(json.dumps({"first content, ms": round(ms), "view": hash or "/"}), flush=True)
            dxtest.in_time(ms / 1000, 1, f"first content of {hash!r} over 1.6 Mbit/s and 150 ms")


def main():
    dxtest.need_programs()
    with browser.Browser() as chromium, dxtest.tempdir() as tmp:
        with dxtest.Server(make_root(tmp), "--web", "yes") as server:
            with chromium.tab(server) as tab:
                middle(tab, server)
                many(tab, server)
                list_of_names(tab, tmp)
            first_content(chromium, server)
    dxtest.finish()


if __name__ == "__main__":
    main()
