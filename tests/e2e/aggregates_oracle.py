#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: oracle peers slow
"""Every answer beside counts and listings, over real posts, against a recount by DuckDB.

URLs are reduced by tests/support/restated.py, counts are SQL (recount.py). Beside the corpus's own datasets there is one,
"everything", with all their rows: it has pairs that are large enough for stored paths and for estimates. Asked
after a full publish, after publishes of one part of the time after another, after a compaction, and while rules hide some.

One dataset in 60 of the first fifth of the corpus (DX_ORACLE_ONE_OF: of all 1,247; 1: all); with DX_WHOLE=1 one in 8, all of each question, and five
steps.

Compared: share, rank and distinct URLs of domains (estimates within 5
standard errors, nine of ten within 2), `fields=`, top-domains by page, by share and as CSV, overlaps, hosts, rows
by year, month and day, paths and sections, single URLs, ids of URLs, and many names at once in each form and format. A URL
that the recount does not have is noticed by each comparison.
"""
import os
import random
import re
import subprocess
import sys

import dxtest
import no_pandas  # noqa: F401
import oracle
from oracle_reddit import CORPUS, take, with_peers

WHOLE = dxtest.WHOLE
ONE_OF = int(os.environ.get("DX_ORACLE_ONE_OF") or (8 if WHOLE else 60))
FIRST = -1 if WHOLE or os.environ.get("DX_ORACLE_ONE_OF") else 24 << 20     # bytes of the corpus; -1: all
FULL = WHOLE or dxtest.id_bits() == 64      # by programs with cut ids (collisions) in the gate the merged root alone
STEPS = 5 if WHOLE else 2
EVERYTHING = "everything"
POLICIES = ("absent", "withheld")


def corpus_lines(path):
    """Of one in ONE_OF datasets, in order of time; then all of them again as one dataset."""
    with subprocess.Popen(["zstd", "-dc", str(path)], stdout=subprocess.PIPE) as process:
        text = process.stdout.read(FIRST)
        if FIRST >= 0:
            process.kill()
    dxtest.check(FIRST == len(text) or process.returncode == 0, "the corpus is read")
    text = text[:text.rindex(b"\n") + 1]
    datasets = {}       # their lines stand together
    for group in re.finditer(rb"(?m)^([^\t\n]+)\t.*\n(?:\1\t.*\n)*", text):
        datasets.setdefault(group[1], []).append(group[0])
    lines = []
    for line in (line for name in [*datasets][::ONE_OF] for group in datasets[name] for line in group.split(b"\n")[:-1]):
        lines.append(line + b"\n")
        lines.append(EVERYTHING.encode() + line[line.index(b"\t"):] + b"\n")
    lines.sort(key=lambda line: int(line.split(b"\t")[1] or 0))
    return lines


def records(lines):
    from restated import Restated
    canon, known = Restated(dxtest.suffix_list()), {}
    for line in lines:
        dataset, ts, raw, extra = line.rstrip(b"\n").decode("utf-8", "surrogateescape").split("\t")[:4]
        if raw not in known:
            known[raw] = canon.url(raw)
        url, domain = known[raw]
        if url is not None:
            shown = raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            yield dataset, int(ts) if ts else None, url, domain, extra, shown


def published(tmp, name, lines, steps):
    root, step = tmp / name, -(-len(lines) // steps)
    for at in range(0, len(lines), step):
        (tmp / "some.tsv").write_bytes(b"".join(lines[at:at + step]))
        take(root, tmp / "some.tsv")
        dxtest.domaindex("publish", "--root", root)
    return root


def some_of(rng, values, count):
    values = sorted(values)
    return values if WHOLE or len(values) <= count else rng.sample(values, count)


def overlap_pairs(rng, truth, count):
    large = sorted(truth.datasets, key=lambda d: -truth.datasets[d][1])[:6 if WHOLE else 3]
    pairs = [(a, b) for a in large for b in large]
    names = sorted(truth.datasets)
    return pairs + [tuple(rng.sample(names, 2)) for _ in range(count)]


def path_pairs(rng, truth, count):
    large = [(domain, name) for domain, sets in truth.presence.items() for name, c in sets.items() if c[1] > 4096]
    near = [(domain, name) for domain, sets in truth.presence.items() for name, c in sets.items() if 500 < c[1] <= 4096]
    small = sorted((domain, name) for domain, sets in truth.presence.items() for name in sets)
    large.sort()
    return (large if WHOLE else large[:12]) + rng.sample(near, min(len(near), count // 4)) + rng.sample(small, min(len(small), count))


def url_id_of():
    import xxhash
    mask = ~((1 << 64 - dxtest.id_bits()) - 1)
    return lambda url: xxhash.xxh3_64_intdigest(url.encode()) & mask


def absent_urls(truth, present):
    near = [url + "x" for url in present]
    named = [url for url in present if not re.match("[a-z]+://([^/]*[.])?[0-9]+(:[0-9]+)?/", url)]  # no address has hosts
    near += [url.replace("://", "://no-such-host.", 1) for url in named]
    known = truth.url_rows(near)
    return [url for url in near if url not in known]


def compare(server, truth, suffixes, words, clock, part=1.0):
    """All questions; `part` of the sampled ones."""
    import aggregates
    rng = random.Random(words)
    ask = aggregates.Compare(server, truth, words)

    def count(n):
        return max(1, int(n * part))

    domains = list(truth.presence)
    heat = sorted(domains, key=lambda d: -sum(c[1] for c in truth.presence[d].values()))[:100 if WHOLE else 10]
    heat += [domain for domain in truth.touched if domain not in heat]
    ask.presence(some_of(rng, domains, count(3000)))
    ask.presence(heat)
    ask.fields(rng.sample(domains, count(200)))
    ask.top_domains(some_of(rng, truth.datasets, count(60)) + [EVERYTHING])
    ask.overlaps(overlap_pairs(rng, truth, count(300 if WHOLE else 60)))
    ask.hosts(heat + some_of(rng, domains, count(1500)), one_dataset=count(150))
    ask.timelines(heat + some_of(rng, domains, count(300)))
    ask.paths([(domain, max(truth.presence[domain])) for domain in truth.touched])
    ask.paths(path_pairs(rng, truth, count(400 if WHOLE else 60)))
    urls = truth.all("SELECT url FROM (SELECT DISTINCT url FROM seen ORDER BY url) USING SAMPLE reservoir("
                     f"{count(6000 if WHOLE else 800)} ROWS) REPEATABLE (3)")
    urls = [url for (url,) in urls]
    often = [url for (url,) in truth.all("SELECT url FROM seen GROUP BY url ORDER BY count(*) DESC, url LIMIT 50")]
    ask.urls(urls + often, absent_urls(truth, urls[:len(urls) // 2]))
    ask.hidden_urls(some_of(rng, truth.hidden_urls, 100))
    shared, ids = ask.url_ids(rng.sample(urls, min(len(urls), count(2000 if WHOLE else 200))), url_id_of())
    expected = oracle.Expected()
    expected.pairs.update(truth.presence)
    gone = [domain for (domain,) in truth.all("SELECT DISTINCT domain FROM every") if truth.state(domain) != "found"]
    ask.hidden(gone)
    absent = gone + list(oracle.absent_names(expected, len(domains) if WHOLE else 100, suffixes))
    ask.bulk(some_of(rng, domains, 250), absent)
    clock(f"{words}: {dict(ask.asked)}; {shared} of {ids} ids of URLs are shared; "
          f"of the estimates {ask.usual_share():.3f} within 2 standard errors; {len(ask.differences)} differences")
    dxtest.check(ask.usual_share() >= (0.9 if len(ask.off) >= 50 else 0.5), f"{words}: {ask.usual_share()} of estimates within 2 errors")
    for difference in ask.differences[:20]:
        dxtest.check(False, f"{words}: {difference}")
    dxtest.equal(len(ask.differences), 0, f"{words}: differences")
    return ask


def unnoticed_by(server, truth):
    """A row that the recount does not have must make every kind of answer differ; returns those that did not."""
    import aggregates
    (pair,) = truth.all("SELECT domain, dataset FROM pairs WHERE rows BETWEEN 20 AND 200 AND domain IN (SELECT domain FROM pairs "
                        "GROUP BY domain HAVING count(*) > 2) ORDER BY ALL LIMIT 1")
    (url,), = truth.all("SELECT max(url) FROM seen WHERE domain = ? AND dataset = ?", *pair)
    domain, dataset = pair
    quoted = url.replace("'", "''")
    truth.see(f"NOT (dataset = '{dataset}' AND url = '{quoted}')")
    kinds = {
        "presence": lambda ask: ask.presence([domain]),
        "top_domains": lambda ask: ask.top_domains([dataset]),
        "overlaps": lambda ask: ask.overlaps([(dataset, EVERYTHING)]),
        "hosts": lambda ask: ask.hosts([domain]),
        "timelines": lambda ask: ask.timelines([domain]),
        "hosts_of": lambda ask: ask.hosts_of(domain, dataset),
        "paths": lambda ask: ask.paths([pair]),
        "urls": lambda ask: ask.urls([url], []),
        "absent urls": lambda ask: ask.urls([], [url]),
        "url_ids": lambda ask: ask.url_ids([url], url_id_of()),
        "bulk": lambda ask: ask.bulk([domain], []),
    }
    out = []
    for kind, question in kinds.items():
        ask = aggregates.Compare(server, truth)
        question(ask)
        if not ask.differences:
            out.append(kind)
    truth.see("true")
    return out


def self_test(server, truth):
    for kind in unnoticed_by(server, truth):
        dxtest.check(False, f"self-test: unnoticed by {kind}")


class Rules:
    """Some domains, hosts and URLs of each policy, none that EVERYTHING would be without."""

    def __init__(self, truth, rng):
        names = sorted(truth.presence, key=lambda d: -sum(c[1] for c in truth.presence[d].values()))
        self.domains = names[5:8] + rng.sample(names[200:], 12)
        hosts = [host for (host,) in truth.all("""SELECT host FROM seen WHERE host NOT LIKE '%:%' GROUP BY host, domain
            HAVING count(*) > 3 AND host <> domain ORDER BY count(*) DESC, host LIMIT 60""")]
        self.hosts = rng.sample(hosts[3:], 8)
        self.urls = [url for (url,) in truth.all("SELECT url FROM seen GROUP BY url ORDER BY count(*) DESC, url LIMIT 12")]

    def add(self, root):
        for kind, values in (("domain", self.domains), ("host", self.hosts), ("url", self.urls)):
            for at, policy in enumerate(POLICIES):
                words = [word for value in values[at::2] for word in (f"--{kind}", value)]
                dxtest.domaindex("suppress", "add", *words, "--policy", policy, "--reason", "test", "--root", root)

    def hit(self, policy):
        """SQL for rows that a rule of this policy hits."""
        def listed(values):
            values = values[POLICIES.index(policy)::2]
            return "(" + ",".join("'" + v.replace("'", "''") + "'" for v in values) + ")"
        return f"(domain IN {listed(self.domains)} OR host IN {listed(self.hosts)} OR url IN {listed(self.urls)})"

    def apply(self, truth):
        whole = {domain: POLICIES[at % 2] for at, domain in enumerate(self.domains)}
        absent, withheld = self.hit("absent"), self.hit("withheld")
        truth.see(f"NOT {absent} AND NOT {withheld}", f"{withheld} AND NOT {absent}", whole)


def main():
    dxtest.need_programs()
    path = dxtest.shared_data(CORPUS)
    if path is None:
        dxtest.skip(f"{CORPUS} is not here (DX_SHARED_DATA names the folder of real data)")
    with_peers()
    import recount
    from suffixes import Suffixes
    clock, suffixes = oracle.Clock(), Suffixes(dxtest.suffix_list())
    lines = corpus_lines(path)
    truth = recount.Recount(records(lines))
    clock(f"{len(lines)} rows recounted: {len(truth.presence)} domains in {len(truth.datasets)} datasets")
    part = 1 if WHOLE else 0.1
    with dxtest.tempdir() as tmp:
        if FULL:
            root = published(tmp, "full", lines, 1)
            clock("ingested and published at once")
            with dxtest.Server(root) as server:
                compare(server, truth, suffixes, "full", clock, part)
                self_test(server, truth)
        root = published(tmp, "grown", lines, STEPS)
        clock(f"ingested and published in {STEPS} steps")
        with dxtest.Server(root) as server:
            compare(server, truth, suffixes, "merged", clock, part)
            if not FULL:
                self_test(server, truth)
        dxtest.domaindex("compact", "--root", root)
        if WHOLE:   # else under rules alone, which are about the same rows
            with dxtest.Server(root) as server:
                compare(server, truth, suffixes, "compacted", clock, part)
        rules = Rules(truth, random.Random(9))
        rules.add(root)
        rules.apply(truth)
        with dxtest.Server(root) as server:
            compare(server, truth, suffixes, "suppressed", clock, part)
    dxtest.finish()


if __name__ == "__main__":
    main()
