# SPDX-License-Identifier: Apache-2.0
"""/metrics: off unless asked for; text that Prometheus reads; counters that count.

The grammar is checked line by line: HELP and TYPE before the samples of a name, no name twice, labels
of short fixed lists, and no domain or URL anywhere.
"""
import re

import dxtest
from dxtest import check, equal

SAMPLE = re.compile(r'([a-z_]+)(?:\{([a-z]+)="([a-zA-Z0-9_-]+)"\})? (\d+(?:\.\d+)?)')


def samples(text):
    """{(name, label value): number}, after the grammar has been held."""
    seen, typed, name = {}, {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            check(name not in typed, f"{name} comes twice")
        elif line.startswith("# TYPE "):
            _, _, of, kind = line.split(" ")
            equal(of, name, "TYPE behind its HELP")
            check(kind in ("counter", "gauge"), line)
            equal(kind == "counter", name.endswith("_total"), line)
            typed[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            check(match and match[1] == name and name in typed, line)
            check((name, match[3]) not in seen, line)
            seen[name, match[3]] = float(match[4])
    check(all(n.startswith("domaindex_") for n in typed), "names")
    return seen


def main():
    with dxtest.tempdir() as work:
        root = work / "root"
        urls = work / "urls.txt"
        urls.write_text("".join(f"https://example.com/{i}\n" for i in range(50)))
        dxtest.domaindex("ingest", "--root", root, "--dataset", "d", urls)
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root) as server:
            reply = server.get("/metrics")
            equal((reply.status, reply.json["type"]), (404, "urn:domaindex:problem:metrics-off"), "off")
        with dxtest.Server(root, "--metrics", "yes") as server:
            before = samples(server.get("/metrics").body.decode())
            for _ in range(3):
                equal(server.get("/v1/domain/example.com/datasets/1/urls").status, 200, "a listing")
            text = server.get("/metrics").body.decode()
            after = samples(text)
        check("example.com" not in text, "no domain in metrics")
        equal(set(before), set(after), "the same samples")
        equal(after["domaindex_http_requests_total", None] - before["domaindex_http_requests_total", None], 4,
              "requests")
        # What the server asked of itself before it served has brought the blocks already. The answer was
        # kept at the second time, so the third listing needed none of them.
        for cache in ("idx", "payload"):
            equal([after[f"domaindex_cache_{what}_total", cache] for what in ("misses", "hits")], [1, 2], cache)
            equal(after["domaindex_singleflight_led_total", cache], 1, cache)
        equal([after[f"domaindex_answer_cache_{what}", None] for what in
               ("misses_total", "hits_total", "blocks")], [2, 1, 1], "kept answers")
        check(after["domaindex_cache_size_bytes", "pages"] > 1000, "bytes of pages")
        equal(after["domaindex_objects_broken", None], 0, "a sound version")
    dxtest.finish()


if __name__ == "__main__":
    main()
