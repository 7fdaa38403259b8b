# SPDX-License-Identifier: Apache-2.0
"""browser - a real browser for tests of the web page: Debian's Chromium, driven by playwright-core, with axe-core.

    with browser.Browser() as chromium:                   skips the test loudly where Chromium, Node.js or npm is missing
        with chromium.tab(server, locale="de") as tab:    a session of its own: nothing is shared with other tabs
            tab.view("#/site/example.com")                a view, once all of its parts are there
            tab.text("h1"); tab.count("tbody tr"); tab.evaluate("document.title")
            tab.axe()                                     violations, a line each
            tab.seen()                                    {"requests": [...], "errors": [...]} since the last call

Everything else is an operation of tests/support/web/driver.mjs: tab.click(selector=…), tab.fill(selector=…, text=…).
"""
import json
import shutil
import subprocess
import sys

import dxtest

CALM = "!!document.querySelector('main') && !document.querySelector('.waiting, [aria-busy=true]')"


def _tools():
    done = subprocess.run([dxtest.SOURCE / "scripts" / "web_tools.sh"], stdout=subprocess.PIPE, check=False)
    if done.returncode == 77:
        dxtest.skip("the packages of web/package-lock.json cannot be had here (npm)")
    if done.returncode:
        sys.exit("scripts/web_tools.sh failed")
    return done.stdout.decode().strip()


class Browser:
    def __init__(self):
        chromium, node = shutil.which("chromium"), shutil.which("node")
        if not chromium or not node:
            dxtest.skip("no chromium (Debian: chromium)" if node else "no Node.js")
        self.driver = subprocess.Popen([node, dxtest.SOURCE / "tests" / "support" / "web" / "driver.mjs", _tools(), chromium],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.driver.stdin.close()
        try:
            self.driver.wait(30)
        except subprocess.TimeoutExpired:
            self.driver.kill()

    def ask(self, op, **words):
        self.count += 1
        self.driver.stdin.write(json.dumps({"id": self.count, "op": op, **words}).encode() + b"\n")
        self.driver.stdin.flush()
        line = self.driver.stdout.readline()
        if not line:
            sys.exit(f"FAILED: the browser's driver ended at {op} {words}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{op} {words}: {answer['error']}")
        return answer["value"]

    def tab(self, server, **options):
        return Tab(self, server, {"locale": "en", "viewport": {"width": 1280, "height": 900}, **options})


class Tab:
    def __init__(self, browser, server, options):
        self.browser, self.origin = browser, server if isinstance(server, str) else f"http://127.0.0.1:{server.port}"
        browser.count += 1
        self.name = str(browser.count)
        self.ask = lambda op, **words: browser.ask(op, tab=self.name, **words)
        self.ask("open", options=options)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.ask("close")

    def __getattr__(self, op):
        return lambda **words: self.ask(op, **words)

    def calm(self):
        self.ask("wait", code=CALM)

    def start(self, hash=""):
        """Loads the page; it need not get calm."""
        self.ask("go", url=f"{self.origin}/{hash}")

    def view(self, hash):
        if self.evaluate("location.origin") == self.origin:
            self.evaluate(f"void (location.hash = {json.dumps(hash)})")
        else:
            self.start(hash)
        self.ask("wait", code="/[?&]v=/.test(location.hash) || document.querySelector('.problem')")
        self.evaluate("new Promise((done) => setTimeout(done, 30))")  # the hash is read in an event
        self.calm()

    def evaluate(self, code):
        return self.ask("evaluate", code=code)

    def wait(self, code):
        self.ask("wait", code=code)

    def text(self, selector="main"):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def texts(self, selector):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.innerText)")

    def count(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")
