# SPDX-License-Identifier: Apache-2.0
"""aggregates - answers beside the counts and listings of oracle.py, against a recount.Recount.

    ask = aggregates.Compare(server, truth, seed=1)
    ask.presence(domains)             /v1/domain: counts, share, rank, distinct URLs
    ask.top_domains(datasets)         /v1/datasets/{id}/top-domains, pages and CSV
    ask.overlaps(pairs)  ask.hosts(domains)  ask.timelines(domains)  ask.paths(pairs)  ask.urls(count)  ask.url_ids(count)  ask.bulk(names, absent)
    ask.differences                   in words; empty is what we want
    ask.asked                         how much of each kind was compared

Names of endpoints and members are those of docs/API.md. Numbers with a fraction are compared as they are written.
"""
import collections
import csv
import http.client
import io
import json
import random
import threading
import time
from urllib.parse import quote

import oracle
import recount

ITEM = ("dataset_id", "name", "url_count", "url_count_est", "row_count", "first_ts", "last_ts", "share", "rank")
HLL_ERROR = "0.01625"
EXACT_PAIR, EXACT_UNION = 512, 1 << 20
WORST, USUAL = 5, 2  # standard errors of an estimate: none is over the first, few over the second


def exact(text):
    """JSON with its fractions as text."""
    return json.loads(text, parse_float=str)


def number(text):
    """As exact() gives what a fraction is written as."""
    return int(text) if text.isdigit() else text


class Compare:
    def __init__(self, server, truth, seed=1):
        self.server, self.truth, self.rng = server, truth, random.Random(seed)
        self.ids = oracle.dataset_ids(server)
        self.names = {number: name for name, number in self.ids.items()}
        self.differences, self.asked, self.off = [], collections.Counter(), []

    # ---- asking ----

    def differ(self, words):
        self.differences.append(words)

    def equal(self, got, want, words):
        if got != want:
            self.differ(f"{words}: got {got!r:.300}, want {want!r:.300}")
        return got == want

    def get(self, target, status=200):
        """The answer, or None and a difference."""
        end = time.monotonic() + 60
        while True:
            reply = self.server.get(target)
            if reply.status != 503 or time.monotonic() > end:
                break
            time.sleep(0.02)
        if reply.status != status:
            self.differ(f"{target}: status {reply.status}, want {status}: {reply.body[:200]!r}")
            return None
        if not reply.headers["content-type"].endswith("json"):
            return reply.body.decode()
        answer = exact(reply.body)
        if status == 200 and answer.get("complete") is not True:
            self.differ(f"{target}: not complete")
        return answer

    def problem(self, target, status, slug):
        answer = self.get(target, status)
        if answer is not None:
            self.equal(answer["type"], f"urn:domaindex:problem:{slug}", target)

    def pages(self, target, member, limits):
        """All items by next_offset, and the last answer."""
        items, offset, more = [], 0, "&" if "?" in target else "?"
        while offset is not None:
            limit = limits[min(len(limits) - 1, len(items) and 1)]
            answer = self.get(f"{target}{more}offset={offset}&limit={limit}")
            if answer is None:
                return None, None
            self.equal(answer["offset"], offset, f"{target}: offset")
            got = answer[member]
            end = offset + len(got)
            if answer["next_offset"] is not None:
                self.equal((answer["next_offset"], len(got)), (end, limit), f"{target}: next_offset at {offset}")
            items += got
            offset = answer["next_offset"]
        return items, answer

    # ---- one domain over all datasets ----

    def expected_items(self, domain):
        out = []
        for name, (urls, rows, first, last) in self.truth.presence[domain].items():
            out.append(dict(zip(ITEM, (
                self.ids[name], name, urls, urls, rows, oracle.iso(first), oracle.iso(last),
                number(recount.fraction(urls, self.truth.datasets[name][1])), self.truth.ranks[domain, name]))))
            if (domain, name) in self.truth.withheld:
                out[-1]["withheld_rows"] = self.truth.withheld[domain, name]
        return sorted(out, key=lambda d: d["dataset_id"])

    def presence(self, domains, ranks=True):
        for domain in domains:
            self.asked["presence"] += 1
            answer = self.get(f"/v1/domain/{quote(domain)}")
            if answer is None:
                continue
            want = self.expected_items(domain)
            got = answer["datasets"]
            if not ranks:
                for item in got + want:
                    item.pop("rank", None)
            self.equal(got, want, domain)
            for item in got[:1]:
                self.equal([m for m in item if m != "withheld_rows"], [m for m in ITEM if m in want[0]], f"{domain}: order of members")
            sums = {"dataset_count": len(want), "url_count": sum(d["url_count"] for d in want),
                    "row_count": sum(d["row_count"] for d in want)}
            self.equal({key: answer[key] for key in sums}, sums, f"{domain}: totals")
            self.equal(answer.get("withheld_rows", 0), self.truth.withheld_of[domain], f"{domain}: withheld_rows")
            self.compare_distinct(domain, answer)

    def timeline(self, domain, by):
        """The answer; of a domain with times on more pages than a request may read (422), those of its datasets by parts, added up."""
        target = f"/v1/domain/{quote(domain)}/timeline?by={by}"
        if self.server.get(target).status != 422:
            return self.get(target)
        self.asked["timelines, in parts"] += 1
        ids = [d["dataset_id"] for d in self.get(f"/v1/domain/{quote(domain)}")["datasets"]]
        parts = [self.get(f"{target}&dataset={','.join(map(str, ids[at:at + 60]))}") for at in range(0, len(ids), 60)]
        if None in parts:
            return None
        periods = collections.Counter()
        for part in parts:
            periods.update({p["period"]: p["row_count"] for p in part["periods"]})
        times = [p[name] for p in parts for name in ("first_ts", "last_ts") if p[name] is not None]
        return {"by": by, **{name: sum(p.get(name, 0) for p in parts) for name in ("dataset_count", "row_count", "untimed_row_count", "withheld_rows")},
                "first_ts": min(times, default=None), "last_ts": max(times, default=None),
                "periods": [{"period": period, "row_count": count} for period, count in sorted(periods.items())]}

    def timelines(self, domains):
        for by in ("year", "month", "day"):
            truth = self.truth.timeline(by)
            for domain in domains:
                self.asked["timelines"] += 1
                answer = self.timeline(domain, by)
                if answer is None:
                    continue
                want = dict(truth[domain])
                sets = self.truth.presence[domain].values()
                sums = {"by": by, "dataset_count": len(sets), "row_count": sum(c[1] for c in sets), "untimed_row_count": want.pop(None, 0),
                        "first_ts": oracle.iso(min((c[2] for c in sets if c[2] is not None), default=None)),
                        "last_ts": oracle.iso(max((c[3] for c in sets if c[3] is not None), default=None))}
                self.equal({key: answer[key] for key in sums}, sums, f"{domain}, timeline by {by}")
                self.equal([(p["period"], p["row_count"]) for p in answer["periods"]], list(want.items()), f"{domain}, periods by {by}")
                self.equal(answer.get("withheld_rows", 0), self.truth.withheld_of[domain], f"{domain}: withheld_rows of a timeline")

    def hidden(self, domains):
        """Those that are withheld or as if they never were."""
        for domain in domains:
            state = self.truth.state(domain)
            status, slug = {"withheld": (451, "withheld"), "absent": (404, "domain-not-found")}[state]
            for tail in ("", "/hosts", "/timeline", f"/datasets/{min(self.ids.values())}/paths"):
                self.asked[f"hidden, {state}"] += 1
                self.problem(f"/v1/domain/{quote(domain)}{tail}", status, slug)

    def compare_distinct(self, domain, answer):
        want, got, error = self.truth.distinct[domain], answer["distinct_url_count"], answer["distinct_error"]
        counts = [c[0] for c in self.truth.presence[domain].values()]
        few = len(counts) == 1 or (max(counts) <= EXACT_PAIR and want <= EXACT_UNION)
        if few or error == 0:
            self.equal((got, error), (want, 0), f"{domain}: distinct URLs")
            self.asked["distinct, exact"] += 1
            return
        self.equal(error, HLL_ERROR, f"{domain}: error")
        self.asked["distinct, estimated"] += 1
        self.off.append(abs(got - want) / want / float(HLL_ERROR))
        if self.off[-1] > WORST:
            self.differ(f"{domain}: {got} distinct URLs, {want} are {self.off[-1]:.1f} standard errors away")

    def usual_share(self):
        """Of the estimates, how many are within two standard errors."""
        return sum(off <= USUAL for off in self.off) / len(self.off) if self.off else 1

    def fields(self, domains):
        """Chosen members are those of the whole answer, in its order; how many rows are withheld is said whatever is chosen."""
        for domain in domains:
            whole = self.get(f"/v1/domain/{quote(domain)}")
            names = self.rng.sample(ITEM, self.rng.randrange(1, len(ITEM) + 1))
            answer = self.get(f"/v1/domain/{quote(domain)}?fields={','.join(names)}")
            if whole is None or answer is None:
                continue
            self.asked["fields"] += 1
            names = [name for name in ITEM if name in names or name == "dataset_id"]
            want = [[(name, item[name]) for name in (*names, "withheld_rows") if name in item] for item in whole["datasets"]]
            self.equal([list(item.items()) for item in answer["datasets"]], want, f"{domain}: fields {names}")
            self.equal([name for item in whole["datasets"] for name in names if name not in item], [], f"{domain}: all members")

    # ---- one dataset over all domains ----

    def expected_top(self, name):
        total = self.truth.shown[name][1]
        return [{"rank": self.truth.shown_ranks[domain, name], "domain": domain, "url_count": urls,
                 "share": number(recount.fraction(urls, total))} for domain, urls in self.truth.top(name)]

    def top_domains(self, datasets):
        for name in datasets:
            base, want = f"/v1/datasets/{self.ids[name]}/top-domains", self.expected_top(name)
            share = self.rng.choice(("10%", "10%", "0.5%", "33.3333%", "100%", "0.25", "1"))
            take = recount.selected(share, len(want))
            got, answer = self.pages(base, "domains", [self.rng.choice((1000, 10000)), 3000])
            self.asked["top-domains"] += 1
            if answer is None:
                continue
            self.equal(got, want, f"{base}: {name}")
            self.equal([answer[k] for k in ("dataset_id", "name", "domain_count", "url_count", "share", "selected")],
                       [self.ids[name], name, *self.truth.shown[name], None, len(want)], f"{base}: head")
            some, answer = self.pages(f"{base}?share={quote(share)}", "domains", [min(10000, max(1, take // 3)), min(10000, max(7, take))])
            if answer is not None:
                self.equal(some, want[:take], f"{base}: {share}")
                self.equal(answer["selected"], take, f"{base}: selected by {share}")
            self.top_csv(base, share, want[:take])

    def top_csv(self, base, share, want):
        text = self.get(f"{base}?share={quote(share)}&format=csv")
        if text is None:
            return
        self.asked["top-domains, CSV"] += 1
        lines = "".join(f"{w['rank']},{w['domain']},{w['url_count']},{w['share']},\r\n" for w in want)
        self.equal(text, "rank,domain,url_count,share,page_count\r\n" + lines, f"{base}: CSV of {share}")

    def overlaps(self, pairs):
        for a, b in pairs:
            target = f"/v1/datasets/{self.ids[a]}/overlap/{self.ids[b]}"
            answer = self.get(target)
            if answer is None:
                continue
            self.asked["overlap"] += 1
            want = self.truth.overlap(a, b)
            for part in want.values():
                part["jaccard"] = number(part["jaccard"])
            for side, name in (("a", a), ("b", b)):
                want[side] = {"dataset_id": self.ids[name], "name": name,
                              **dict(zip(("domain_count", "url_count"), self.truth.shown[name]))}
            self.equal({key: answer[key] for key in want}, want, f"{target}: {a}, {b}")

    # ---- hosts and paths ----

    def expected_hosts(self, counted, order):
        items = [{"host": host, "dataset_count": n, "url_count": urls, "row_count": rows}
                 for host, (n, urls, rows) in counted.items()]
        key = (lambda h: h["host"].encode()) if order == "name" else (lambda h: (-h["url_count"], h["host"].encode()))
        return sorted(items, key=key)

    def hosts(self, domains, one_dataset=0):
        """And of so many domains those in one dataset."""
        all_hosts = self.truth.hosts()
        for at, domain in enumerate(domains):
            counted, base = all_hosts[domain], f"/v1/domain/{quote(domain)}/hosts"
            order = self.rng.choice(("urls", "name"))
            limits = [1000] if self.rng.random() < 0.9 else [self.rng.randrange(1, 9), 10000]
            got, answer = self.pages(f"{base}?order={order}", "hosts", limits)
            self.asked["hosts"] += 1
            if answer is not None:
                self.equal(got, self.expected_hosts(counted, order), f"{base} by {order}")
                self.equal((answer["domain"], answer["host_count"]), (domain, len(counted)), f"{base}: head")
            if at < one_dataset:
                self.hosts_of(domain, self.rng.choice(sorted(self.truth.presence[domain])))

    def hosts_of(self, domain, name):
        counted = self.truth.hosts_of(domain, name)
        target = f"/v1/domain/{quote(domain)}/hosts?dataset={self.ids[name]}"
        got, answer = self.pages(target, "hosts", [self.rng.randrange(1, 2000), 1000])
        self.asked["hosts in a dataset"] += 1
        if answer is not None:
            self.equal(got, self.expected_hosts(counted, "urls"), target)
            self.equal(answer["host_count"], len(counted), f"{target}: host_count")

    def paths(self, pairs):
        for domain, name in pairs:
            for by in ("path", "section"):
                want = self.truth.paths(domain, name, by)
                for limit in (None, self.rng.choice((1, 7, 256, self.rng.randrange(1, 256)))):
                    self.paths_of(domain, name, by, limit, want)

    def paths_of(self, domain, name, by, limit, want):
        target = f"/v1/domain/{quote(domain)}/datasets/{self.ids[name]}/paths?by={by}"
        answer = self.get(target + (f"&limit={limit}" if limit else ""))
        if answer is None:
            return
        self.asked["paths"] += 1
        shown, rest = want[:limit or 100], want[limit or 100:]
        urls, rows, *_ = self.truth.presence[domain][name]
        said = {"domain": domain, "dataset_id": self.ids[name], "dataset": name, "by": by, "url_count": urls,
                "row_count": rows, "path_count": len(want), "max_error": 0,
                "rest": {"path_count": len(rest), "url_count": sum(p[2] for p in rest), "row_count": sum(p[3] for p in rest)}}
        self.equal([(p["host"], p["path"], p["url_count"], p["row_count"]) for p in answer["paths"]], shown, f"{target}, {limit}")
        self.equal({key: answer[key] for key in said}, said, f"{target}, {limit}: head")

    # ---- single URLs ----

    def urls(self, present, absent):
        """present: canonical URLs that are there; absent: canonical ones that are not."""
        rows_of = self.truth.url_rows(present)
        for url in present:
            limit = self.rng.choice((None, None, 1, 2, 1000))
            answer = self.get(f"/v1/url?u={quote(url, safe='')}" + (f"&limit={limit}" if limit else ""))
            self.asked["url"] += 1
            if answer is not None:
                self.compare_url(url, answer, rows_of[url], limit or 100)
        for url in absent:
            self.asked["url, absent"] += 1
            self.problem(f"/v1/url?u={quote(url, safe='')}", 404, "url-not-found")

    def hidden_urls(self, urls):
        for url in urls:
            state = self.truth.hidden_urls[url]
            self.asked[f"url, {state}"] += 1
            self.problem(f"/v1/url?u={quote(url, safe='')}", *{"withheld": (451, "withheld"), "absent": (404, "url-not-found")}[state])

    def compare_url(self, url, answer, datasets, limit):
        rows = [row for found in datasets.values() for row in found]
        times = [ts for ts, *_ in rows if ts is not None]
        said = {"url": url, "dataset_count": len(datasets), "row_count": len(rows),
                "first_ts": oracle.iso(min(times, default=None)), "last_ts": oracle.iso(max(times, default=None))}
        self.equal({key: answer[key] for key in said}, said, f"{url}")
        self.equal([d["dataset_id"] for d in answer["datasets"]], sorted(self.ids[name] for name in datasets), f"{url}: datasets")
        for got in answer["datasets"]:
            want = datasets.get(got["name"], [])
            times = [ts for ts, *_ in want if ts is not None]
            self.equal((got["row_count"], got["first_ts"], got["last_ts"]),
                       (len(want), oracle.iso(min(times, default=None)), oracle.iso(max(times, default=None))),
                       f"{url} in {got['name']}")
            told = collections.Counter((row["ts"], next(iter(row["extras"].values()), "")) for row in got["rows"])
            known = collections.Counter((oracle.iso(ts), extra) for ts, extra, _ in want)
            if sum(told.values()) != min(limit, len(want)) or told - known:
                self.differ(f"{url} in {got['name']}: rows {told}, want {known}, {limit} at most")
            self.compare_raw(url, got["rows"], want)

    def compare_raw(self, url, rows, want):
        raws = {(oracle.iso(ts), extra): raws for ts, extra, raws in want}
        for row in rows:
            given = raws.get((row["ts"], next(iter(row["extras"].values()), "")), [])
            if (row["raw_url"] or url) not in given:
                self.differ(f"{url}: raw_url {row['raw_url']!r} of {given}")

    def url_ids(self, chosen, id_of):
        """chosen: URLs; id_of(url): its id, many URLs may share one. All of the corpus are compared."""
        sharing = collections.defaultdict(list)
        for url, domain, datasets, rows in self.truth.urls():
            sharing[id_of(url)].append((url, domain, datasets, rows))
        for url in chosen:
            want = sorted(sharing[id_of(url)])
            answer = self.get(f"/v1/urlid/0x{id_of(url):016x}")
            self.asked["urlid"] += 1
            if answer is None:
                continue
            got = sorted((u["url"], u["domain"], u["dataset_count"], u["row_count"]) for u in answer["urls"])
            self.equal(got, want, f"urlid of {url}")
            self.equal((answer["url_count"], answer["url_id"]), (len(want), f"0x{id_of(url):016x}"), f"urlid of {url}: head")
            self.asked["URLs by id"] += len(want)
            for u in answer["urls"]:
                if [len(u["datasets"]), sum(d["row_count"] for d in u["datasets"])] != [u["dataset_count"], u["row_count"]]:
                    self.differ(f"urlid of {url}: datasets of {u['url']}")
        shared = sum(len(found) > 1 for found in sharing.values())
        return shared, len(sharing)

    # ---- many names ----

    def post(self, form, names, kind="text/plain", body=None, more=""):
        body = "".join(f"{name}\n" for name in names) if body is None else body
        body = body.encode()
        connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=120)
        connection.putrequest("POST", f"/v1/domains?format={form}{more}")
        connection.putheader("Content-Type", kind)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        sender = threading.Thread(target=connection.sock.sendall, args=(body,))  # the answer comes meanwhile
        sender.start()
        reply = connection.getresponse()
        text = reply.read().decode()
        sender.join()
        connection.close()
        if reply.status != 200:
            self.differ(f"POST /v1/domains, {form}: status {reply.status}: {text[:200]}")
            return None
        return text

    def spelled(self, name):
        """The name itself, or a URL that it is the domain of."""
        plain = name.isascii() and not name[0] == "[" and not name.rsplit(".", 1)[-1].isdigit()
        return f"HTTP://www.{name}:81/a?b" if plain and self.rng.random() < 0.1 else name

    def bulk_line(self, line, asked, name):
        state = self.truth.state(name)
        if state != "found":
            return {"line": line, "asked": asked, "domain": name, "found": False, "reason": state}
        items = []
        for d, counts in sorted(self.truth.presence[name].items(), key=lambda i: self.ids[i[0]]):
            items.append({"dataset_id": self.ids[d], "url_count": counts[0], "row_count": counts[1]})
            if (name, d) in self.truth.withheld:
                items[-1]["withheld_rows"] = self.truth.withheld[name, d]
        said = {"withheld_rows": self.truth.withheld_of[name]} if self.truth.withheld_of[name] else {}
        return {"line": line, "asked": asked, "domain": name, "found": True, "dataset_count": len(items),
                "url_count": sum(i["url_count"] for i in items), "row_count": sum(i["row_count"] for i in items),
                **said, "datasets": items}

    def bulk(self, present, absent):
        """Names as they are and as they may be written; what is rejected is for bulk's own tests."""
        names = [(self.spelled(name), name) for name in [*present, *absent]]
        self.rng.shuffle(names)
        asked = [name for name, _ in names]
        bodies = (("text/plain", None, 1), ("text/csv", "n,domain\r\n" + "".join(f"1,{n}\r\n" for n in asked), 2),
                  ("application/x-ndjson", "".join(json.dumps({"url": n}) + "\n" for n in asked), 1))
        for kind, body, first in bodies:
            text = self.post("ndjson", asked, kind, body)
            if text is not None:
                want = [self.bulk_line(first + at, *name) for at, name in enumerate(names)]
                self.compare_lines(kind, text, want)
        self.bulk_csv(names)
        self.bulk_matrix(names)

    def compare_lines(self, kind, text, want):
        lines = [exact(line) for line in text.splitlines()]
        self.asked["bulk names"] += len(want)
        self.equal(len(lines), len(want) + 1, f"bulk {kind}: lines")
        for got, one in zip(lines, want):
            self.equal(got, one, f"bulk {kind}")
        reasons = collections.Counter(one.get("reason", "found") for one in want)
        summary = {"names": len(want), **{r: reasons[r] for r in ("found", "absent", "withheld", "rejected")}}
        self.equal(lines[-1]["summary"], summary, f"bulk {kind}: summary")
        self.equal(lines[-1]["complete"], True, f"bulk {kind}: complete")

    def bulk_csv(self, names):
        text = self.post("csv", [asked for asked, _ in names])
        if text is None:
            return
        want = [["asked", "domain", "reason", "dataset_id", "dataset", "url_count", "row_count", "first_ts", "last_ts"]]
        for asked, name in names:
            sets = self.truth.presence.get(name) or {}
            if not sets:
                want.append([asked, name, self.truth.state(name), "", "", "", "", "", ""])
            for d in sorted(sets, key=self.ids.get):
                urls, rows, first, last = sets[d]
                want.append([asked, name, "", str(self.ids[d]), d, str(urls), str(rows), oracle.iso(first) or "", oracle.iso(last) or ""])
        self.compare_table("csv", text, want)

    def bulk_matrix(self, names):
        some = sorted(self.rng.sample(sorted(self.ids.values()), min(40, len(self.ids))))
        text = self.post("matrix", [asked for asked, _ in names], more="&datasets=" + ",".join(map(str, some)))
        if text is None:
            return
        want = [["asked", "domain", "reason"] + [self.names[number] for number in some]]
        for asked, name in names:
            sets = {self.ids[d]: c[0] for d, c in (self.truth.presence.get(name) or {}).items()}
            reason = "" if sets else self.truth.state(name)
            want.append([asked, name, reason] + [str(sets.get(number, "")) for number in some])
        self.compare_table("matrix", text, want)

    def compare_table(self, form, text, want):
        got = list(csv.reader(io.StringIO(text)))
        self.asked[f"bulk {form} lines"] += len(want)
        self.equal(len(got), len(want), f"bulk {form}: lines")
        for one, other in zip(got, want):
            if one != other:
                self.differ(f"bulk {form}: got {one!r:.300}, want {other!r:.300}")
