# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""An order by time that would read too much is refused before anything is read, and its detail names narrower questions. A page of a filter or of a
tag that would read too much is shorter.

In detail, in `long` (url_filters refuses a dear question in the gate): 100,000 rows that pyarrow wrote twelve a page. With a filter of the URL four columns would be read, on more pages than one answer
may: 422, and no page is read. Fewer datasets, a prefix of a host, and order by URL are answered, with the rows that DuckDB has, and `cost` says
what was read.
"""
import random

import dxtest
import no_pandas  # noqa: F401

try:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq
    import xxhash
except ImportError:
    dxtest.skip("duckdb, pyarrow and xxhash are not here (tests/e2e/requirements.txt)")

DOMAIN, PAGE_ROWS = "order.com", 12
ALL = f"/v1/domain/{DOMAIN}/urls"


TAGGED = 50  # so many rows from one with the tag to the next: all between are read with them


def table(rng, count):
    urls = sorted(f"/{rng.randrange(10 ** 8):08}" for _ in range(count))
    times = [rng.randrange(10 ** 9, 2 * 10 ** 9) * 10 ** 6 for _ in urls]
    rows = sorted(zip(urls, times))
    return pa.table({"domain": pa.repeat(DOMAIN, count), "domain_id": pa.repeat(pa.scalar(xxhash.xxh3_64_intdigest(DOMAIN.encode()), pa.uint64()), count),
                     "scheme": pa.repeat("https", count), "host": pa.repeat(DOMAIN, count), "path_query": pa.array([r[0] for r in rows]),
                     "ts": pa.array([r[1] for r in rows], pa.timestamp("us", "UTC")),
                     "tags": pa.array(['["seldom"]' if i % TAGGED == 0 else None for i in range(count)])})


def reads(server):
    return sum(value for name, value in server.metrics().items() if name.startswith("domaindex_cache_misses_total{") and "pages" in name)


def items(answer):
    dxtest.check("items" in answer, f"{answer}")
    return [i["url"] for i in answer.get("items", [])]


def check_short_pages(server, db, path):
    """Rows that lie near each other, on more pages than one answer may read: all of them come, on pages with fewer than `limit`."""
    source = f"read_parquet('{path}', hive_partitioning=false)"
    for ask, where in ((f"/v1/domain/{DOMAIN}/datasets/1/urls?filter=~path:[0-3]7$", "regexp_matches(path_query, '[0-3]7$')"),
                       (f"/v1/domain/{DOMAIN}/datasets/1/urls?tag=seldom", "tags is not null"), ("/v1/tags/seldom?of=urls&dataset=1", "tags is not null")):
        want = [row[0] for row in db.sql(f"select 'https://' || host || path_query from {source} where {where} order by path_query").fetchall()]
        found, sizes, cursor = [], [], ""
        while cursor is not None:
            reply = server.get(f"{ask}&limit=1000{cursor}")
            if not dxtest.equal(reply.status, 200, f"{ask}: {reply.body[:200]}"):
                break
            sizes.append(len(reply.json["items"]))
            found += items(reply.json)
            cursor = f"&cursor={reply.json['next_cursor']}" if reply.json.get("next_cursor") else None
        dxtest.check(found == want and len(want) > 1500 and max(sizes, default=0) < 1000, f"{ask}: {len(found)} of {len(want)} rows, pages of {sizes}")


def check_wide(tmp):
    """Answers with long items end before `limit`: the next one goes on at hand, without reading all rows again."""
    root, count = tmp / "wide", 20_000 if dxtest.WHOLE else 13_000
    text = "".join(f"https://wide{i % 7}.com/{i * 7919 % count:05}\t{'x' * 1000}{i}\n" for i in range(count))
    dxtest.domaindex("ingest", "--root", root, "--dataset", "wide", "--format", "tsv", "--no-header", "--url-column", 1, "--extra-column", 2, "-", input=text.encode())
    dxtest.domaindex("publish", "--root", root)
    with dxtest.Server(root) as server:
        for more in ("", "&collapse=url"):
            found, target, taken = [], f"/v1/suffix/com/urls?sort=url&fields=url,extras&limit=10000{more}", []
            while target is not None:
                before = server.metrics()
                page = server.get(target).json
                taken.append(sum(value - before.get(name, 0) for name, value in server.metrics().items() if name.startswith(("domaindex_cache_hits_total{", "domaindex_cache_misses_total{")) and "pages" in name))
                found += items(page)
                target = f"/v1/suffix/com/urls?cursor={page['next_cursor']}" if page.get("next_cursor") else None
            dxtest.equal(found, sorted(line.split("\t")[0] for line in text.splitlines()), "long items in order")
            dxtest.check(len(taken) >= 3 and taken[0] > 50 and max(taken[1:]) <= 4, f"pages that each answer asked for{more}: {taken}")


def main():
    dxtest.need_programs()
    rng = random.Random(9)
    with dxtest.tempdir() as tmp:
        root, files = tmp / "root", []
        check_wide(tmp)
        for name in ("large", "small"):
            dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-", input=b"https://own.org/\n")
        for dataset, count in ((1, 100_000), (2, 3000)):
            files.append(root / "urls" / f"dataset_id={dataset}" / "others" / "part.parquet")
            files[-1].parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table(rng, count), files[-1], data_page_size=1, write_batch_size=PAGE_ROWS, use_dictionary=False, compression="zstd")
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root) as server, duckdb.connect() as db:
            def urls(where, of=files):
                source = "[" + ",".join(f"'{f}'" for f in of) + "]"
                found = db.sql(f"select 'https://' || host || path_query from read_parquet({source}, hive_partitioning=false) where {where} order by ts, path_query limit 20")
                return [row[0] for row in found.fetchall()]
            check_short_pages(server, db, files[0])
            server.get(f"{ALL}?limit=1")
            before = reads(server)
            for query in ("sort=time&filter=~path:7$", "closest=2020&filter==host:order.com", "sort=time&collapse=host"):
                reply = server.get(f"{ALL}?{query}")
                dxtest.equal((reply.status, reply.json["type"]), (422, "urn:domaindex:problem:too-much"), query)
                dxtest.check(all(word in reply.json["detail"] for word in ("pages of the lake", "from=", "dataset=", "prefix=", "sort=url")), f"{query}: {reply.json['detail']}")
            dxtest.equal(reads(server), before, "pages that were read for questions that were refused")
            for query, want in (("filter=~path:7$", "path_query like '%7'"), ("from=2001&to=2001-09-10", "ts < timestamptz '2001-09-11 00:00:00+00'"), ("limit=20", "true")):
                answer = server.get(f"{ALL}?sort=time&dataset=small&{query}{'' if 'limit' in query else '&limit=20'}").json
                dxtest.equal(items(answer), urls(want, files[1:]), f"{query} of the small one")
                dxtest.check(answer["cost"]["rows"] >= 3000 and answer["cost"]["pages"] >= 3000 / PAGE_ROWS, f"{query}: {answer['cost']}")
            answer = server.get(f"/v1/host/{DOMAIN}/urls?prefix=/0000&sort=time&filter=~path:7$&limit=20").json
            dxtest.equal(items(answer), urls("path_query like '/0000%' and path_query like '%7'"), "a prefix of the host")
            dxtest.equal(server.get(f"{ALL}?sort=url&filter=~path:7$&limit=20").status, 200, "by URL")
    dxtest.finish()


if __name__ == "__main__":
    main()
