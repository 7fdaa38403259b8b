#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""A regular expression that takes milliseconds a row does not keep a worker: the page ends with a cursor in half of the time of a request,
or is refused, and another client's listing is answered at once. Before, the worker went on for minutes behind the 503 of its client.
DX_WHOLE=1: each expression with each listing, and 3 s a request, else one of them with each, and 1 s.
"""
import http.client
import json
import threading
import time
import urllib.parse

import dxtest
from dxtest import check, equal

ROWS = 20000 if dxtest.WHOLE else 6000
JOB_S = 3 if dxtest.WHOLE else 1
PATIENCE_S = 30  # of a machine that does other things as well
EXPRESSIONS = ("(.*a){20}[cd]$", "((a|b|ab|ba)*[ab]){10}[cd]$", "([ab]+){9}[cd]$")
PATHS = ("/v1/domain/site.com/datasets/1/urls?", "/v1/domain/site.com/urls?", "/v1/domain/site.com/urls?sort=url&", "/v1/domain/site.com/urls?sort=time&",
         "/v1/host/site.com/urls?subdomains=yes&")


def ask(port, target, into):
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    link.request("GET", target)
    reply = link.getresponse()
    into.append((reply.status, json.loads(reply.read())))
    link.close()


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        text = "".join(f"https://www.site.com/{i}/{'ab' * 700}\n" for i in range(ROWS))
        for name in ("one", "two"):
            dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-", input=text.encode())
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root, "--workers", 2, "--job-timeout-ms", JOB_S * 1000, "--queue-timeout-ms", JOB_S * 1000) as server:
            for number, path in enumerate(PATHS):
                for expression in EXPRESSIONS if dxtest.WHOLE else EXPRESSIONS[number % len(EXPRESSIONS):][:1]:
                    target = f"{path}limit=10&filter={urllib.parse.quote('~url:' + expression)}"
                    said = []
                    threads = [threading.Thread(target=ask, args=(server.port, target, said)) for _ in range(2)]
                    for thread in threads:
                        thread.start()
                    for thread in threads:
                        thread.join()
                    for status, answer in said:
                        check(status in (200, 422, 503), f"{target}: {status} {answer}")
                        if status == 200 and answer["cost"]["rows"] < ROWS:
                            check(answer["next_cursor"] is not None, f"{target}: a short page says where to go on: {answer}")
                    begun = time.monotonic()
                    check(dxtest.wait_until(lambda: server.get("/v1/domain/site.com/datasets/1/urls?limit=1").status == 200, PATIENCE_S),
                          f"{target}: another client is answered")
                    print(f"{target[:60]}: {[status for status, _ in said]}, then {time.monotonic() - begun:.1f} s", flush=True)
        pages(root)
    dxtest.finish()


def pages(root):
    """Pages that end early are together the rows that match, each once."""
    expression = "(.*a){20}.*b$"
    with dxtest.Server(root, "--workers", 2, "--job-timeout-ms", 60000, "--queue-timeout-ms", 60000) as server:
        target, got, count = f"/v1/domain/site.com/datasets/1/urls?limit=1000&filter={urllib.parse.quote('~url:' + expression)}", [], 0
        while target and count < 6:
            reply = server.get(target)
            if not equal(reply.status, 200, f"page {count}: {reply.body[:300]}"):
                break
            got += [item["url"] for item in reply.json["items"]]
            cursor = reply.json["next_cursor"]
            target, count = cursor and f"/v1/domain/site.com/datasets/1/urls?cursor={cursor}", count + 1
        plain = server.get(f"/v1/domain/site.com/datasets/1/urls?limit={max(1, len(got))}").json["items"]
    equal(got, [item["url"] for item in plain], "rows of pages that end early: all match")


if __name__ == "__main__":
    main()
