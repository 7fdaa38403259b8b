#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""Each profile of `ingest --profile` on a small folder in the schema of the real corpus.

What is stored (URL, time, dataset, extras of every row) is what Python finds in the source rows by the rule
that the corpus documents; files that the profile leaves out hold rows that would be seen. Older releases
of a schema, options that win over the profile, names that are unknown, and the table of docs/GUIDE.md.
$DX_PEERS_PYTHON names the python that has pyarrow. Exit 77: skipped.
"""
import calendar
import datetime
import gzip
import json
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402
import no_pandas  # noqa: E402, F401

try:
    import lake
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    print(f"SKIPPED: no pyarrow in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)

COUNT = 23
UTC = datetime.timezone.utc


# ------------------------------------------------------------------------------------- source rows

def page(i):
    return f"https://www.site{i % 5}.com/p/{i}?q={i}"


def image(i):
    return f"https://cdn.site{i % 5}.com/{i}.jpg"


def iso(i):
    """2023-… in ISO 8601; a second apart at least."""
    return (datetime.datetime(2023, 4, 25, 12, 0, 0) + datetime.timedelta(hours=7 * i, seconds=i)).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def digits(text):
    return re.sub(r"\D", "", text)[:14]


def kind(i):
    return ("text/html", "application/pdf", "application/xhtml+xml")[i % 3]


TEXT = "words of a page, \"quoted\", and a\nsecond line; " * 3


def cc_index(i, crawl, subset="warc"):
    host = f"www.site{i % 5}.com"
    return {"url_surtkey": f"com,site{i % 5})/p/{i}?q={i}", "url": page(i), "url_host_name": host, "url_host_tld": "com", "url_host_2nd_last_part": f"site{i % 5}",
            "url_host_3rd_last_part": "www", "url_host_4th_last_part": None, "url_host_5th_last_part": None, "url_host_registry_suffix": "com",
            "url_host_registered_domain": f"site{i % 5}.com", "url_host_private_suffix": "com", "url_host_private_domain": f"site{i % 5}.com",
            "url_host_name_reversed": f"com.site{i % 5}.www", "url_protocol": "https", "url_port": None, "url_path": f"/p/{i}", "url_query": f"q={i}",
            "fetch_time": moment(iso(i)), "fetch_status": 200 if i % 7 else 304, "fetch_redirect": None, "content_digest": f"DIGEST{i:026}",
            "content_mime_type": "text/html", "content_mime_detected": kind(i), "content_charset": "UTF-8", "content_languages": "eng,fra" if i % 2 else None,
            "content_truncated": None, "warc_filename": f"crawl-data/{crawl}/segments/1/{subset}/a-{i}.warc.gz", "warc_record_offset": i * 1000,
            "warc_record_length": 999, "warc_segment": "1707.1"}


CC_INDEX = pa.schema([(n, {"fetch_time": pa.timestamp("ms", "UTC"), "fetch_status": pa.int16(), "url_port": pa.int32(), "warc_record_offset": pa.int32(),
                           "warc_record_length": pa.int32()}.get(n, pa.string())) for n in cc_index(0, "x")])
CDX_FIELDS = ("urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "redirect", "robotflags", "length", "offset", "filename")


def cdxj(i):
    there = {"url": page(i), "mime": "text/html", "mime-detected": kind(i), "status": str(200 if i % 7 else 304), "digest": f"D{i}", "length": "9", "offset": str(i),
             "filename": "a.warc.gz", **({"charset": "UTF-8", "languages": "eng"} if i % 2 else {})}
    return f"com,site{i % 5})/p/{i}?q={i} {digits(iso(i))} {json.dumps(there)}"


def cdx(i):
    return f"com,site{i % 5})/p/{i}?q={i} {digits(iso(i))} {page(i)} {kind(i)} {200 if i % 7 else '-'} D{i} - - 9 {i} a.warc.gz"


def warc(i, record_type, content_type):
    body = f"HTTP/1.1 200 OK\r\nContent-Type: {kind(i)}; charset=utf-8\r\n\r\n{TEXT}" if record_type == "response" else TEXT
    return (f"WARC/1.0\r\nWARC-Type: {record_type}\r\nWARC-Record-ID: <urn:uuid:{i}>\r\nWARC-Date: {iso(i)}\r\nWARC-Target-URI: {page(i)}\r\n"
            f"WARC-Payload-Digest: sha1:D{i}\r\nWARC-Block-Digest: sha1:D{i}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n{body}\r\n\r\n")


def arc(url, i, mime, reply):
    body = reply + TEXT
    return f"{url} 1.2.3.4 {re.sub('[^0-9]', '', iso(i))} {mime} {len(body)}\n{body}\n"


def fineweb(i, **more):
    return {"text": TEXT, "id": f"<urn:uuid:{i}>", "dump": ("CC-MAIN-2023-14", "CC-MAIN-2013-20")[i % 2], "url": page(i), "date": iso(i),
            "file_path": f"s3://commoncrawl/crawl-data/x/{i}.warc.gz", "language": "en", "language_score": 0.9, "token_count": 100 + i, **more}


def oscar(i, headers, **more):
    there = {"warc-record-id": f"<urn:uuid:{i}>", "warc-type": "conversion", "warc-target-uri": page(i), "warc-date": iso(i), "content-type": "text/plain",
             "content-length": "100", "warc-block-digest": "sha1:X", "warc-identified-content-language": "eng"}
    return {"content": TEXT, headers: there, "metadata": {"identification": {"label": ("en", "fr")[i % 2], "prob": 0.9}, "annotation": None, **more}}


def rpj2(i, crawl):
    return {"url": page(i), "date_download": iso(i), "digest": f"sha1:D{i}", "length": 90, "nlines": 3, "source_domain": f"www.site{i % 5}.com", "title": f"Title {i}",
            "raw_content": TEXT, "cc_segment": f"crawl-data/CC-MAIN-{crawl}/segments/1/wet/a.warc.wet.gz", "original_nlines": 9, "original_length": 99,
            "line_ids": [1, 2], "language": "en", "language_score": 0.9, "perplexity": 187.3, "bucket": ("head", "middle")[i % 2]}


def dolma(i):
    metadata = {"bucket": "head", "cc_segment": "x", "date_download": iso(i), "language": "en", "source_domain": "x", "title": "t", "url": page(i)}
    if i % 4 == 0:
        del metadata["date_download"]    # other sources have no such member: the document's own time
    return {"added": "2023-04-11T09:57:03.044571+00:00", "attributes": {}, "created": iso(i), "id": f"http://doc/{i}", "metadata": metadata, "source": "common-crawl",
            "text": TEXT}


def dclm(i):
    return {"bff_contained_ngram_count_before_dedupe": 1, "language_id_whole_page_fasttext": {"en": 0.9},
            "metadata": {"Content-Length": "9", "Content-Type": "application/http; msgtype=response", "WARC-Date": iso(i), "WARC-Target-URI": page(i),
                         "WARC-Type": "response", "WARC-Record-ID": f"<urn:uuid:{i}>"},
            "previous_word_count": 9, "text": TEXT, "url": page(i), "warcinfo": "x", "fasttext_openhermes_reddit_eli5_vs_rw_v2_bigram_200k_train_prob": 0.1}


def hplt2(i):
    return {"f": "./path/to/1.warc.gz", "o": i, "s": 9, "rs": 10, "u": page(i), "c": "text/html", "ts": iso(i), "collection": ("cc40", "wide17")[i % 2], "lang": ["eng_Latn"],
            "prob": [0.9], "text": TEXT, "seg_langs": ["eng_Latn"], "robotstxt": "allowed", "id": f"{i}", "filter": "keep", "pii": [[1, 2]], "doc_scores": [8.0, 10.0]}


def laion(i):
    return {"SAMPLE_ID": i, "URL": image(i), "TEXT": f"picture {i}", "HEIGHT": 100.0, "WIDTH": 200.0, "LICENSE": "?", "LANGUAGE": "en" if i % 2 else None,
            "NSFW": "UNLIKELY", "similarity": 0.3}


# ------------------------------------------------------------------------------------- files

def write(path, rows, schema=None, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.name
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, **options)
        return
    if ".warc" in name or ".arc" in name:
        path.write_bytes(b"".join(gzip.compress(r.encode()) for r in rows))    # a member a record
        return
    if name.endswith(".csv"):
        lines = [",".join(rows[0])] + [",".join('"' + str(v).replace('"', '""') + '"' for v in r.values()) for r in rows]
    else:
        lines = [r if isinstance(r, str) else json.dumps(r) for r in rows]
    data = "".join(line + "\n" for line in lines).encode()
    if name.endswith(".gz"):
        half = data.index(b"\n", len(data) // 2) + 1
        data = gzip.compress(data[:half]) + gzip.compress(data[half:])    # several members, as a ZipNum shard has
    elif name.endswith(".zst"):
        data = subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
    path.write_bytes(data)


def made(make, *arguments):
    return [make(i, *arguments) for i in range(COUNT)]


def stored(root):
    """[(dataset, url, time or None, extras that are not null)] of the lake, as pyarrow reads it."""
    names = {d["dataset_id"]: d["name"] for d in json.loads((root / "registry.json").read_text())["datasets"]}
    rows = []
    for path in sorted(root.glob("urls/dataset_id=*/**/*.parquet")):
        dataset = names[int(re.search(r"dataset_id=(\d+)", str(path)).group(1))]
        for r in pq.ParquetFile(path).read().to_pylist():
            extras = {k: v for k, v in r.items() if k not in lake.OURS and v is not None}
            ts = r.get("ts")
            rows.append((dataset, f"{r['scheme']}://{r['host']}{r['path_query']}", None if ts is None else lake.iso(ts.replace(tzinfo=None)), extras))
    return sorted(rows, key=repr)


def row(dataset, url, ts, **extras):
    return (dataset, url, ts, {k: str(v) for k, v in extras.items() if v is not None})


POISON = {"url": "https://www.poison.com/", "timestamp": iso(0), "text": "x"}


# Each: [(folder, files: {path: (rows, schema)}, want: [row of each source row])]. A profile may have several.
def cases():
    yield "cc-index", {
        "crawl=CC-MAIN-2024-10/subset=warc/part-00000.c000.gz.parquet": (made(cc_index, "CC-MAIN-2024-10"), CC_INDEX),
        "crawl=CC-MAIN-2024-10/subset=robotstxt/part-00000.c000.gz.parquet": ([{**cc_index(0, "x"), "url": "https://www.poison.com/robots.txt"}], CC_INDEX),
        "crawl=CC-MAIN-2024-10/subset=crawldiagnostics/part-00000.c000.gz.parquet": ([{**cc_index(0, "x"), "url": "https://www.poison.com/404"}], CC_INDEX),
    }, [row("CC-MAIN-2024-10", r["url"], iso(i), content_type=r["content_mime_detected"], status=r["fetch_status"], digest=r["content_digest"],
            languages=r["content_languages"]) for i, r in enumerate(made(cc_index, "CC-MAIN-2024-10"))]
    # The columns of 2017, with INT96 times.
    older = pa.schema([f for f in CC_INDEX if f.name not in ("fetch_redirect", "content_charset", "content_languages", "content_truncated")])
    older = older.set(older.get_field_index("fetch_time"), pa.field("fetch_time", pa.timestamp("ns")))
    yield "cc-index", {
        "crawl=CC-MAIN-2017-04/subset=warc/part-00000.gz.parquet": ([{k: v for k, v in r.items() if k in older.names} for r in made(cc_index, "x")], older,
                                                                    {"use_deprecated_int96_timestamps": True}),
    }, [row("CC-MAIN-2017-04", r["url"], iso(i), content_type=r["content_mime_detected"], status=r["fetch_status"], digest=r["content_digest"])
        for i, r in enumerate(made(cc_index, "x"))]
    yield "cdxj", {
        "collections/CC-MAIN-2024-10/indexes/cdx-00000.gz": (made(cdxj),), "collections/CC-MAIN-2024-10/indexes/cluster.idx": (["com,a)/ 2024 cdx-00000.gz\t0\t9\t1"],),
        "collections/CC-MAIN-2024-10/notes.txt": ([page(99)],),
    }, [row("CC-MAIN-2024-10", page(i), iso(i), content_type="text/html", status=200 if i % 7 else 304, digest=f"D{i}", languages="eng" if i % 2 else None)
        for i in range(COUNT)]
    yield "cdx", {"a-collection.cdx.gz": ([" CDX N b a m s k r M S V g", *made(cdx)],)}, [
        row("a-collection", page(i), iso(i), content_type=kind(i), status=200 if i % 7 else None, digest=f"D{i}") for i in range(COUNT)]

    for name in ("warc", "wet"):
        kinds = {"warc": ("response", "application/http; msgtype=response"), "wet": ("conversion", "text/plain")}[name]
        files = {f"crawl-data/CC-MAIN-2024-10/segments/1/{name}/CC-MAIN-20240220211055-00000.warc{'.wet' if name == 'wet' else ''}.gz": (
            [warc(i, *kinds) for i in range(COUNT)],)}
        yield name, files, [row("CC-MAIN-2024-10", page(i), iso(i), content_type=kind(i) if name == "warc" else "text/plain",
                                status=200 if name == "warc" else None, digest=f"D{i}") for i in range(COUNT)]

    yield "arc", {"IA-2004/a-crawl-00000.arc.gz": ([arc("filedesc://a", 0, "text/plain", ""), *(arc(page(i), i, kind(i), f"HTTP/1.0 200 OK\r\nContent-Type: {kind(i)}\r\n\r\n")
                                                                                         for i in range(COUNT))],)}, [
        row("IA-2004", page(i), iso(i), content_type=kind(i), status=200) for i in range(COUNT)]
    c4 = [{"text": TEXT, "timestamp": iso(i), "url": page(i)} for i in range(COUNT)]
    want = [row("c4", page(i), iso(i)) for i in range(COUNT)]
    yield "c4", {"en/c4-train.00000-of-01024.json.gz": (c4,), "en/c4-validation.00000-of-00008.json.gz": ([POISON],)}, want
    yield "c4", {"en/train-0.parquet": ([{**r, "timestamp": moment(r["timestamp"])} for r in c4], pa.schema(
        [("text", pa.string()), ("timestamp", pa.timestamp("us")), ("url", pa.string())]))}, want
    yield "mc4", {"multilingual/c4-af.tfrecord-00000-of-00064.json.gz": (c4,), "multilingual/c4-af-validation.tfrecord-00000-of-00001.json.gz": ([POISON],),
                  "mc4_fi_cleaned.csv": ([{"url": page(100 + i), "timestamp": iso(i).replace("T", " ").rstrip("Z"), "text": TEXT} for i in range(COUNT)],)
                  }, [row("mc4", page(b + i), iso(i)) for b in (0, 100) for i in range(COUNT)]
    yield "fineweb", {"data/CC-MAIN-2023-14/000_00000.parquet": (made(fineweb),)}, [
        row("fineweb-" + r["dump"], r["url"], r["date"], language="en") for r in made(fineweb)]
    edu = [fineweb(i, score=3.5, int_score=i % 3 + 3) for i in range(COUNT)]
    yield "fineweb-edu", {"data/CC-MAIN-2023-14/train-00000-of-00014.parquet": (edu,)}, [
        row("fineweb-edu-" + r["dump"], r["url"], r["date"], language="en", int_score=r["int_score"]) for r in edu]
    yield "fineweb-edu", {"data/train-00000-of-00014.parquet": ([{k: v for k, v in r.items() if k != "date"} for r in edu],)}, [
        row("fineweb-edu-" + r["dump"], r["url"], None, language="en", int_score=r["int_score"]) for r in edu]
    two = [fineweb(i, language_script="Latn", minhash_cluster_size=3, top_langs="{}") | {"language": "fra"} for i in range(COUNT)]
    removed = [two[0] | {"url": "https://www.poison.com/"}]
    yield "fineweb-2", {"data/fra_Latn/train/000_00000.parquet": (two,), "data/fra_Latn/test/000_00000.parquet": (removed,),
                        "data/fra_Latn_removed/train/000_00000.parquet": (removed,)}, [
        row("fineweb-2-fra", r["url"], r["date"], dump=r["dump"], language_script="Latn") for r in two]
    yield "finemath", {"finemath-4plus/train-00000-of-00064.parquet": ([
        {"url": page(i), "fetch_time": calendar.timegm(time.strptime(iso(i), "%Y-%m-%dT%H:%M:%SZ")), "content_mime_type": kind(i), "warc_filename": "x",
         "warc_record_offset": 1, "warc_record_length": 2, "text": TEXT, "token_count": 9, "char_count": 9, "metadata": "{}", "score": 4.1, "int_score": 4,
         "crawl": "CC-MAIN-2023-14", "snapshot_type": "latest", "language": "en", "language_score": 0.9} for i in range(COUNT)],)}, [
        row("finemath", page(i), iso(i), content_type=kind(i), language="en", int_score=4) for i in range(COUNT)]

    yield "redpajama", {"c4/c4-train.00000-of-01024.jsonl": ([
        {"text": TEXT, "meta": {"timestamp": iso(i), "source": "c4", "language": "en", "url": page(i)}, "red_pajama_subset": "c4"} for i in range(COUNT)],)}, [
        row("redpajama", page(i), iso(i), source="c4", language="en") for i in range(COUNT)]
    yield "redpajama-v2", {f"documents/{c}/0000/en_head.json.gz": (made(rpj2, c),) for c in ("2023-06", "2022-49")}, [
        row(f"redpajama-v2-{c}", r["url"], r["date_download"], title=r["title"], digest=r["digest"], language="en", bucket=r["bucket"])
        for c in ("2023-06", "2022-49") for r in made(rpj2, c)]
    label = [("en", "fr")[i % 2] for i in range(COUNT)]
    for name, path, headers in (("oscar", "packaged/en/en_part_1.jsonl.gz", "headers"), ("oscar", "compressed/en_meta/en_meta_part_1.jsonl.gz", "warc_headers"),
                                ("oscar-23", "en_meta/en_meta_part_1.jsonl.zst", "warc_headers"),
                                ("colossal-oscar", "05-06-23/en_meta/en_meta_part_1.jsonl.zst", "warc_headers")):
        yield name, {path: (made(oscar, headers),)}, [row(name, page(i), iso(i), language=label[i]) for i in range(COUNT)]
    yield "oscar-23", {"OSCAR-2301/part-0.parquet": ([{"id": i, "text": TEXT, "meta": {"warc_headers": oscar(i, "h")["h"]}} for i in range(COUNT)],)}, [
        row("oscar-23", page(i), iso(i)) for i in range(COUNT)]
    yield "glotcc", {"v1.0/eng-Latn/eng-Latn_0.parquet": ([
        {"content": TEXT, "warc-type": "conversion", "warc-date": iso(i), "warc-target-uri": page(i), "content-length": "9"} for i in range(COUNT)],)}, [
        row("glotcc", page(i), iso(i)) for i in range(COUNT)]
    yield "dolma", {"documents/cc_en_head-0000.json.gz": (made(dolma),), "attributes/toxicity/cc_en_head-0000.json.gz": ([{"id": "1", "attributes": {}}],)}, [
        row("dolma", page(i), iso(i), source="common-crawl", language="en") for i in range(COUNT)]
    for path in ("global-shard_01_of_10/local-shard_0_of_10/shard_00000000_processed.jsonl.zst", "filtered/part_0.parquet"):
        yield "dclm", {path: (made(dclm),)}, [row("dclm", page(i), iso(i)) for i in range(COUNT)]
    yield "refinedweb", {"data/train-00000-of-05534.parquet": ([
        {"content": TEXT, "url": page(i), "timestamp": moment(iso(i)), "dump": "CC-MAIN-2013-20", "segment": "1368696381249", "image_urls": [[image(i), ""]]}
        for i in range(COUNT)],)}, [row("refinedweb", page(i), iso(i), dump="CC-MAIN-2013-20") for i in range(COUNT)]
    yield "culturax", {"af/af_part_00000.parquet": ([
        {"text": TEXT, "timestamp": iso(i).replace("T", " ").replace("Z", ""), "url": page(i), "source": ("mC4", "OSCAR-2301")[i % 2]} for i in range(COUNT)],)}, [
        row("culturax", page(i), iso(i), source=("mC4", "OSCAR-2301")[i % 2]) for i in range(COUNT)]
    yield "hplt", {"afr_Latn/train-0.parquet": (made(hplt2),)}, [row("hplt", page(i), iso(i), collection=r["collection"]) for i, r in enumerate(made(hplt2))]
    yield "hplt", {"af_1.jsonl.zst": ([{"id": i, "document_lang": "af", "scores": [0.9], "langs": ["af"], "text": TEXT, "url": page(i), "collection": "cc40"}
                                       for i in range(COUNT)],)}, [row("hplt", page(i), None, collection="cc40") for i in range(COUNT)]
    yield "madlad", {f"data/{lang}/{lang}_clean_0000.jsonl.gz": ([{"text": TEXT, "url": page(i), "timestamp": iso(i)} for i in range(COUNT)],) for lang in ("af", "sq")}, [
        row(f"madlad-{lang}", page(i), None) for lang in ("af", "sq") for i in range(COUNT)]
    yield "cc-news", {"plain_text/train-00000-of-00005.parquet": ([
        {"title": f"Title {i}", "text": TEXT, "domain": f"www.site{i % 5}.com", "date": iso(i).replace("T", " ").replace("Z", ""), "description": "d", "url": page(i),
         "image_url": image(i)} for i in range(COUNT)],)}, [row("cc-news", page(i), iso(i), title=f"Title {i}") for i in range(COUNT)]
    yield "cc-news", {"2024_0001.parquet": ([
        {"requested_url": page(i), "plain_text": TEXT, "published_date": "2001-01-01", "title": f"Title {i}", "language": "en", "responded_url": image(i),
         "warc_path": "x", "crawl_date": iso(i)} for i in range(COUNT)],)}, [row("cc-news", page(i), iso(i), title=f"Title {i}", language="en") for i in range(COUNT)]

    obelics = [{"images": [image(i), None], "metadata": json.dumps([{"document_url": image(i)}, None]), "texts": [None, TEXT],
                "general_metadata": json.dumps({"url": page(i), "warc_filename": "x", "warc_record_offset": 1, "warc_record_length": None})} for i in range(COUNT)]
    yield "obelics", {"data/train-00000-of-01439.parquet": (obelics,), "opt_out_docs_removed_2023_07_12/train-00000-of-01335.parquet": (
        [obelics[0] | {"general_metadata": json.dumps({"url": "https://www.poison.com/"})}],)}, [row("obelics", page(i), None) for i in range(COUNT)]
    yield "laion", {"laion2B-en/part-00000.snappy.parquet": (made(laion),)}, [
        row("laion", image(i), None, license="?", language="en" if i % 2 else None, nsfw="UNLIKELY") for i in range(COUNT)]
    yield "coyo", {"data/part-00000.parquet": ([
        {"id": i, "url": image(i), "text": "t", "width": 1, "height": 2, "image_phash": "ff", "text_length": 1, "num_faces": 0} for i in range(COUNT)],)}, [
        row("coyo", image(i), None) for i in range(COUNT)]


def ingest(root, *arguments, expect=0, **options):
    return dxtest.domaindex("ingest", "--root", root, "--memory", "64M", "--threads", 2, *arguments, expect=expect, **options)


def make(folder, files):
    for path, (rows, *more) in files.items():
        write(folder / path, rows, *more[:1], **(more[1] if len(more) > 1 else {}))


# Profiles without columns of their own are recognised as the corpora that have the same ones.
RECOGNISED = {"mc4": "c4", "madlad": "c4", "colossal-oscar": "oscar-23"}
AMBIGUOUS = {"compressed/en_meta/en_meta_part_1.jsonl.gz": "oscar-23", "OSCAR-2301/part-0.parquet": "none:", "af_1.jsonl.zst": "none:", "2024_0001.parquet": "none:"}


def recognised(name, folder, files):
    """What --detect says of the first file, before anything is stored."""
    first = next(iter(files))
    said = dxtest.domaindex("ingest", "--detect", folder / first).stdout.decode()
    want = AMBIGUOUS.get(first) or RECOGNISED.get(name, name)
    dxtest.check(f"  profile    {want}" in said, f"--detect {first}: {said}")


def end_to_end(tmp):
    tried = set()
    for number, (name, files, want) in enumerate(cases()):
        make(tmp / f"in{number}", files)
        if dxtest.WHOLE or number % 3 == 0 or name in RECOGNISED or next(iter(files)) in AMBIGUOUS:
            recognised(name, tmp / f"in{number}", files)
        ingest(tmp / f"root{number}", "--profile", name, "--max-rejects", "0", tmp / f"in{number}")
        got = stored(tmp / f"root{number}")
        want = sorted(want, key=repr)
        words = f"{name}: {next(iter(files))}"
        dxtest.equal(len(got), len(want), f"{words}: rows")
        dxtest.equal([g for g in got if g not in want][:3], [w for w in want if w not in got][:3], words)
        tried.add(name)
    listed = {line.split()[0] for line in dxtest.domaindex("profiles").stdout.decode().splitlines()}
    # warc_input tries the profile of WAT, counts_datasets that of the host index.
    dxtest.equal(sorted(listed - tried - {"wat", "host-index"}), [], "profiles without a test")


def explicit(tmp):
    """Options that are given win over the profile."""
    folder = tmp / "in"
    make(folder, {"data/CC-MAIN-2023-14/000_00000.parquet": (made(fineweb),), "other/000_00001.parquet": ([fineweb(100)],)})
    for number, (options, want) in enumerate((
            (("--dataset", "mine"), [row("mine", page(i), iso(i), language="en") for i in (*range(COUNT), 100)]),
            (("--dataset-column", "language", "--include", "other/*"), [row("en", page(100), iso(100), language="en")]),
            (("--dataset-from", "x-{folder}", "--exclude", "other/*"), [row("x-CC-MAIN-2023-14", page(i), iso(i), language="en") for i in range(COUNT)]),
            (("--dataset-from", "{file}", "--no-ts"), [row("000_00000", page(i), None, language="en") for i in range(COUNT)] + [row("000_00001", page(100), None, language="en")]),
            (("--dataset", "d", "--extra-column", "n=token_count"), [row("d", page(i), iso(i), n=100 + i) for i in (*range(COUNT), 100)]),
            (("--dataset", "d", "--ts-column", "id"), [row("d", page(i), None, language="en") for i in (*range(COUNT), 100)]))):
        ingest(tmp / f"root{number}", "--profile", "fineweb", *options, folder)
        dxtest.equal(stored(tmp / f"root{number}"), sorted(want, key=repr), f"options {options}")


def refusals(tmp):
    make(tmp, {"cdx-00000.gz": (made(cdxj),), "no.parquet": ([{"a": 1}],), "folder/test/a.parquet": (made(fineweb),)})
    for arguments, code, words in (
            (("--profile", "cc-indx", "x"), 2, "unknown profile 'cc-indx'; did you mean cc-index"),
            (("--profile", "host-index", "--locators", "x"), 2, "--counts and --locators exclude each other"),
            (("--profile", "zzzzzzzzzzzz", "x"), 2, "unknown profile 'zzzzzzzzzzzz'; 'domaindex profiles' lists them"),
            (("--profile", "cdxj", tmp / "cdx-00000.gz"), 1, "its path has no {crawl} to name the dataset by; give --dataset NAME"),
            (("--profile", "cdxj", "-"), 2, "standard input has no path to name the dataset by"),
            (("--profile", "fineweb", tmp / "no.parquet"), 1, "no.parquet: has none of the profile's column url for the URL; give --url-column, or leave the file out with --exclude; the file has: a"),
            (("--profile", "fineweb-2", tmp / "folder"), 1, "--include and --exclude leave out what it has"),
            (("--dataset-from", "{a}-{b}", "x"), 2, "the column {a} must stand last"),
            (("--dataset-from", "{a", "x"), 2, "is expected at '{a'"),
            (("--dataset-from", "a", "--dataset", "b", "x"), 2, "exclude each other"),
            (("--profile", "c4", "--from", "file-store", tmp), 2, "not of --from")):
        done = ingest(tmp / "root", *arguments, expect=code)
        dxtest.check(words in done.stderr.decode(), f"{arguments}: {done.stderr.decode()}")
    without_urls(tmp / "without")
    done = dxtest.domaindex("profiles", "oscr", expect=2)
    dxtest.check(b"did you mean oscar" in done.stderr, f"profiles oscr: {done.stderr}")


def without_urls(tmp):
    """A slice of a corpus that has no URLs is passed over, named and counted; a run of such alone stores nothing and fails."""
    book = [{"text": TEXT, "meta": {"title": "a", "short_book_title": "b"}} for _ in range(COUNT)]
    c4 = [{"text": TEXT, "meta": {"url": page(i), "timestamp": iso(i), "source": "c4", "language": "en"}} for i in range(COUNT)]
    make(tmp, {"rp/book.jsonl": (book,), "rp/c4.jsonl": (c4,), "p/part.parquet": ([{"a": 1}],), "rp/wiki.csv": ([{"a": "1", "b": "2"}],), "books/book.jsonl": (book,), "books/more.jsonl": (book,)})
    files = [tmp / "rp/book.jsonl", tmp / "rp/c4.jsonl", tmp / "p/part.parquet", tmp / "rp/wiki.csv"]
    for number, threads in enumerate(("1", "3")):
        root = tmp / f"root{number}"
        done = ingest(root, "--profile", "redpajama", "--threads", threads, "--json", *files)
        said = json.loads(done.stdout)
        dxtest.equal((said["inputs_without_urls"], [p.rpartition("/")[2] for p in said["first_without_urls"]], said["rows_stored"]), (3, ["book.jsonl", "part.parquet", "wiki.csv"], COUNT), "--json")
        done = ingest(root, "--profile", "redpajama", "--threads", threads, tmp / "rp", tmp / "rp" / "book.jsonl")
        dxtest.check(b"book.jsonl: jsonl; without URLs, passed over: no column meta.url" in done.stderr and b"passed over, as without URLs:" in done.stderr, f"{done.stderr.decode()}")
    done = ingest(tmp / "none", "--profile", "redpajama", tmp / "books", expect=1)
    dxtest.check(b"no input has a URL: 2 without the profile's columns of URLs, the first of them" in done.stderr, f"{done.stderr.decode()}")
    done = ingest(tmp / "none", "--profile", "redpajama", tmp / "books/book.jsonl", expect=1)
    dxtest.check(b"has a URL in the profile's column meta.url; give --url-column, or leave the file out with --exclude; the first record has: text, meta.title" in done.stderr, f"{done.stderr.decode()}")


def cell(text):
    return text.replace("`", "").strip()


def documented():
    """The table of docs/GUIDE.md is what the program says."""
    guide = (dxtest.SOURCE / "docs" / "GUIDE.md").read_text()
    table = guide[guide.index("| profile |"):].split("\n\n")[0].splitlines()
    labels = [cell(c) for c in table[0].strip("|").split("|")]
    lines = {cell(line.strip("|").split("|")[0]): dict(zip(labels, map(cell, line.strip("|").split("|")))) for line in table[2:]}
    listed = [line.split()[0] for line in dxtest.domaindex("profiles").stdout.decode().splitlines()]
    dxtest.equal(list(lines), listed, "profiles of docs/GUIDE.md")
    for name in listed if dxtest.WHOLE else listed[::5]:
        text = dxtest.domaindex("profiles", name).stdout.decode().splitlines()
        said = {"profile": name, **{line.split()[0]: line.split(None, 1)[1].strip() for line in text[1:]}}
        there = json.loads(dxtest.domaindex("profiles", "--json", name).stdout)
        dxtest.equal((len(there), there[0]["profile"], there[0]["dataset"], ", ".join(there[0]["extras"])), (1, name, said["dataset"], said.get("extras", "")),
                     f"profiles --json {name}")
        dxtest.equal(lines.get(name), {label: said.get(label, "") for label in labels}, f"docs/GUIDE.md: {name}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        end_to_end(tmp / "each")
        explicit(tmp / "explicit")
        refusals(tmp / "refusals")
    documented()
    dxtest.finish()


if __name__ == "__main__":
    main()
