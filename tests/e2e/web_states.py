#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""The web page where things go wrong, in a real browser: absent, withheld, not permitted, busy, version gone, cursors that expired; hostile names; principals whose sessions share nothing; slow, broken and lying servers."""

import itertools
import json

import browser
import dxtest
import faultproxy
from dxtest import check, equal

MARK = "<img src=x onerror=document.title='run'>"
LONG = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 57, "com"])
HOSTILE = (
    ("d<script>alert(1)</script>", "https://evil.com/<script>alert(1)</script>?q=\"><svg onload=alert(1)>", MARK),
    ("rtl \u202egnp.exe\u202c", "https://evil.com/\u202egnp.exe", "\u202edrow"),
    ("' onmouseover='x", f"https://{LONG}/" + "x" * 2000, "' \" ` ${1}"),
    ("\U0001F4A9 emoji", "https://xn--ls8h.com/\U0001F4A9", "\U0001F4A9"),
    ("javascript:alert(1)", "https://xn--80ak6aa92e.com/javascript:alert(1)", "javascript:alert(1)"),
    ("../../v1/datasets", "https://1.2.3.4/..%2f..%2fetc", "{{7*7}}"),
)


def ingest(root, dataset, urls):
    dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "--format", "list", "-", input="".join(f"{u}\n" for u in urls).encode())


def problem(tab):
    return tab.evaluate("document.querySelector('.problem')?.dataset.status ?? null")


def waits(tab, status, words):
    tab.wait(f"document.querySelector('.problem')?.dataset.status === '{status}'")
    equal(tab.axe(), [], f"{words}: axe")


def hostile(chromium, tmp):
    root = tmp / "hostile"
    lines = ["dataset\turl\tnote"] + ["\t".join(row) for row in HOSTILE]
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", "dataset", "--url-column", "url", "--extra-column", "note", "-", input="\n".join(lines).encode())
    dxtest.domaindex("publish", "--root", root)
    with dxtest.Server(root, "--web", "yes") as server, chromium.tab(server, viewport={"width": 390, "height": 800}) as tab:
        domains = [d["domain"] for d in server.get("/v1/domains").json["domains"]]
        check(len(LONG) == 253 and server.get(f"/v1/domain/{LONG}").json["domain"] in domains, "the longest name is there")
        views = ["#/", "#/datasets", "#/status", *(f"#/dataset/{i + 1}" for i in range(2)), *(f"#/{kind}/{d}" for d in (domains[:2] if dxtest.WHOLE else []) + [LONG] for kind in ("site", "urls", "report"))]
        broken = ["#/site/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "#/site/%E2%80%AEmoc.live", "#/site/%zz", "#/dataset/..%2F..%2Fx", "#/nothing/x", "#/urls/evil.com?from=%3Cb%3E", "#/compare?sites=%3Cb%3E,evil.com", "#/site/" + "x" * 9000]
        for hash in views + broken:
            tab.view(hash)
            seen = tab.seen()
            equal(seen["errors"], [], f"{hash[:60]}: errors")
            equal([r for r in seen["requests"] if not r.startswith((f"GET {tab.origin}/", "GET data:,"))], [], f"{hash[:60]}: other hosts")
            state = tab.evaluate("[document.scripts.length, document.querySelectorAll('main img, main script, main iframe').length, document.documentElement.scrollWidth <= innerWidth, document.title.includes('run')]")
            equal(state, [1, 0, True, False], f"{hash[:60]}: names are text, and fit")
            if hash in broken:
                check(problem(tab) is not None, f"{hash[:60]}: says what is wrong: {tab.text()[:200]!r}")
        tab.view("#/urls/evil.com")
        got = tab.texts("tbody td:first-child")
        equal(got, [i["url"] for i in server.get("/v1/domain/evil.com/urls").json["items"]], "hostile URLs are shown as they are stored")
        equal(tab.evaluate("[...document.querySelectorAll('main a')].filter((a) => a.origin !== location.origin).length"), 0, "no link to the web")
        tab.evaluate("document.querySelectorAll('tbody details').forEach((d) => (d.open = true))")
        check(MARK in tab.text("main"), "extras are text")
        equal(tab.axe(), [], "hostile names: axe")


def states(chromium, tmp):
    root = tmp / "root"
    ingest(root, "one", [f"https://example.com/{i}" for i in range(300)] + ["https://hidden.com/"])
    dxtest.domaindex("ingest", "--root", root, "--dataset", "old", "-", input=b"url\tts\nhttps://early.com/a\t0050-03-01\nhttps://early.com/b\t0052-03-01\n")
    dxtest.domaindex("publish", "--root", root)
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", "hidden.com")
    with dxtest.Server(root, "--web", "yes", "--cursor-life", 60) as server, chromium.tab(server) as tab:
        version = server.get("/v1/versions").json["version"]
        tab.view("#/site/absent.com")
        waits(tab, 404, "absent")
        check("Not in any dataset" in tab.text() and "absent.com" in tab.text(), "absent")
        check(dxtest.wait_until(lambda: server.get("/v1/domain/hidden.com").status == 451), "the rule is in force")
        tab.view("#/site/hidden.com")
        waits(tab, 451, "withheld")
        tab.view("#/status")
        check(dict(zip(tab.texts(".figures dt"), tab.texts(".figures dd"))).get("Suppressions in force") == "1", "the number of suppressions")
        tab.view("#/site/example.com?v=000999-20200101T000000Z")
        tab.wait("['410', '503'].includes(document.querySelector('.problem')?.dataset.status)")
        tab.view("#/site/example.com?v=000001-20261399T250000Z")  # of a version that is none, too, the page says so
        tab.wait("document.querySelector('.problem')?.dataset.status")
        check("000001-20261399T250000Z" in tab.text("footer"), "a version without a time")
        equal(tab.seen()["errors"], [], "a version without a time: errors")
        tab.view("#/site/early.com?by=year")
        tab.wait("document.querySelectorAll('figure.chart rect').length >= 2")
        years = tab.evaluate("[...document.querySelectorAll('figure.chart text[text-anchor=middle]')].map((e) => e.textContent.slice(0, 3))")
        equal(set(years), {"005"}, "years of the first century are drawn as such")
        tab.view("#/urls/example.com?from=2019&c=AAAA")
        waits(tab, 400, "a broken cursor")
        gone = version.replace("000001-20", "000001-19")
        tab.view(f"#/site/example.com?v={gone}")
        waits(tab, 410, "a version that is gone")
        tab.click(selector=".problem a")
        tab.wait(f"location.hash.includes('{version}') && document.querySelector('.figures')")
        equal(tab.texts(".figures dd")[0], "1", "the way out of it leads to the current version")


def budget(chromium, tmp):
    """A server that has had enough: the page says when it will ask again, and does."""
    with dxtest.Server(tmp / "root", "--web", "yes", "--address-cost-per-s", 60, "--address-burst", 300) as server, chromium.tab(server) as tab:
        tab.view("#/")
        version = server.get("/v1/versions").json["version"]
        views = itertools.cycle(("#/site/example.com", "#/status"))

        def refused():  # on a slow machine the budget may be whole again before the page asks: so it asks until it is refused
            server.get("/v1/domains?limit=10000")
            if tab.evaluate("location.hash.startsWith('#/site/') && [...document.querySelectorAll('.problem.busy')].some((e) => /Next try in [1-9]/.test(e.innerText))"):
                return True
            if tab.evaluate(browser.CALM):
                tab.evaluate(f"void (location.hash = '{next(views)}?v={version}')")
            return False
        check(dxtest.wait_until(refused, 180), "refused, and counts down")
        equal(tab.axe(), [], "busy: axe")
        tab.wait("document.querySelector('.figures')?.innerText.includes('300')")


def principals(chromium, tmp):
    """Two people, one browser each: what one may see is never on the other's screen, in its storage or in an address."""
    root = tmp / "shared"
    ingest(root, "crimson", ["https://crimson.com/", "https://both.com/crimson"])
    ingest(root, "azure", ["https://azure.com/", "https://both.com/azure"])
    dxtest.domaindex("publish", "--root", root)
    dxtest.domaindex("access", "init", "--root", root)
    tokens = {}
    for name in ("crimson", "azure"):
        dxtest.domaindex("access", "grant", name, "--to", name, "--root", root)
        tokens[name] = dxtest.domaindex("access", "token", "new", name, "--root", root).stdout.decode().strip()
    with dxtest.Server(root, "--web", "yes") as server, chromium.tab(server) as red, chromium.tab(server) as blue:
        red.view("#/site/both.com")
        waits(red, 401, "no token")
        check("both.com" not in red.text("section") if red.text("section") else True, "nothing without a token")
        red.fill(selector="input[name=token]", text="dxk_" + "0" * 49)
        red.click(selector=".denied button")
        red.wait("document.querySelector('.denied')?.innerText.includes('does not accept')")
        for name, tab in (("crimson", red), ("azure", blue)):
            other = "azure" if name == "crimson" else "crimson"
            if tab is blue:
                tab.view("#/site/both.com")
            tab.fill(selector="input[name=token]", text=tokens[name])
            tab.click(selector=".denied button")
            tab.wait("!!document.querySelector('.figures')")
            tab.calm()
            equal(tab.texts("section:nth-of-type(2) tbody td:first-child"), [name], f"{name} sees its dataset")
            for hash in ("#/", "#/datasets", f"#/site/{other}.com", "#/urls/both.com", "#/status"):
                tab.view(hash)
                if dxtest.WHOLE or (tab is red and hash != "#/"):  # of most states web_browser does it too
                    equal(tab.axe(), [], f"{name} {hash}: axe")
                words = tab.text("main").replace(f"{other}.com", "")
                check(other not in words, f"{name} at {hash} sees nothing of {other}: {words[:300]!r}")
            tab.view(f"#/site/{other}.com")
            equal(problem(tab), "404", f"{name}: the other's domain is absent")
            check(tokens[name] not in tab.evaluate("location.href + document.documentElement.outerHTML + document.cookie + JSON.stringify(localStorage)"), "the token stands nowhere but in the session")
            seen = tab.seen()
            check(all(tokens[name] not in r for r in seen["requests"]) and not seen["errors"], f"{name}: no token in an address")
            tab.view("#/urls/both.com")
            tab.saved(selector="button:text-is('NDJSON')", path=str(tmp / "own.ndjson"))
            equal([json.loads(line)["url"] for line in (tmp / "own.ndjson").read_text().splitlines()], [f"https://both.com/{name}"], f"{name}: the export has what the token may see")
            tab.view("#/site/both.com")
            check("$TOKEN" in tab.evaluate("document.querySelector('.command pre').textContent"), "commands name the token's variable")
        red.click(selector="footer button:has-text('Forget')")
        red.wait("!!document.querySelector('.denied')")
        check("crimson" not in red.text("main"), "after forgetting it, nothing of the former answers is on the screen")
        equal(blue.texts("section:nth-of-type(2) tbody td:first-child"), ["azure"], "the other session goes on")
        dxtest.domaindex("access", "revoke", "azure", "--from", "azure", "--root", root)
        check(dxtest.wait_until(lambda: server.get("/v1/domain/both.com", headers={"Authorization": f"Bearer {tokens['azure']}"}).status != 200), "revoked")
        blue.view("#/site/azure.com")
        check("azure" not in blue.texts("tbody td"), "nothing after the grant ended")


FAULTS = ("closed_unanswered", "status_500", "status_502", "status_504", "status_429_retry_after", "status_200_html", "body_empty", "body_half", "cut_before_last", "not_http", "status_301", "bit_flips")


def faults(chromium, tmp):
    """Behind a proxy that damages every reply: each view says so, stays alive, and recovers."""
    with dxtest.Server(tmp / "root", "--web", "yes") as server, faultproxy.Proxy(f"http://127.0.0.1:{server.port}") as proxy, chromium.tab(proxy.url) as tab:
        version = server.get("/v1/versions").json["version"]
        proxy.set([])
        tab.view("#/")
        for fault in FAULTS if dxtest.WHOLE else (*FAULTS[:-1:4], FAULTS[-1]):
            proxy.set([fault], 100)
            tab.evaluate(f"void (location.hash = '#/site/example.com?v={version}&x={fault}')")
            tab.wait("!!document.querySelector('.problem') || document.querySelector('.figures')")
            check(fault == "bit_flips" or problem(tab) is not None, f"{fault}: is said")
            check(tab.evaluate("!!document.querySelector('header [role=combobox]')"), f"{fault}: the page is alive")
            proxy.set([])
            tab.evaluate("void (location.hash = '#/status?v=" + version + "')")
            tab.wait("document.querySelectorAll('tbody tr').length === 1")
            tab.seen()


def slow(chromium, tmp):
    """While an answer is on its way the view says so, and then shows it."""
    with dxtest.Server(tmp / "root", "--web", "yes") as server, faultproxy.Proxy(f"http://127.0.0.1:{server.port}", delay_ms=1500) as proxy, chromium.tab(proxy.url) as tab:
        tab.start("#/site/example.com")
        tab.wait("!!document.querySelector('.waiting')")
        equal(tab.axe(), [], "slow: axe")
        tab.wait("document.querySelector('.figures')?.innerText.includes('300')")


def main():
    dxtest.need_programs()
    with browser.Browser() as chromium, dxtest.tempdir() as tmp:
        hostile(chromium, tmp)
        states(chromium, tmp)
        budget(chromium, tmp)
        principals(chromium, tmp)
        faults(chromium, tmp)
        slow(chromium, tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
