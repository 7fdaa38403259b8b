#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short
"""docs/openapi.json and docs/API.md against a server: endpoints, members, parameters, problem slugs, methods.

docs/openapi.json is what the server says at /openapi.json, indented; with --write this script makes it so.
"""
import base64
import hashlib
import json
import re
import sys

import dxtest
from dxtest import check, equal

ROWS = """\
dataset\turl\tts\tnote\ttags
a\thttp://example.com/x\t2024-01-01\tk\t["news","a/b é"]
a\thttps://Example.com/x?b=1&a=2\t\t\t
b\thttps://example.com/y\t2024-01-01T10:00:00.5Z\t\t["news"]
b\thttps://other.example.net/\t\t\t["news"]
"""
MORE = """\
dataset\turl\tts\tnote\ttags
a\thttp://example.com/new\t2024-01-02\t\t["more"]
c\thttp://new.example.org/\t2024-01-02\t\t
"""


URL_ID = None  # of http://example.com/x, in whatever bits the programs have


def kind(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return {int: "integer", float: "number", str: "string", list: "array", dict: "object"}[type(value)]


class Api:
    def __init__(self, doc):
        self.doc = doc

    def resolve(self, schema):
        while "$ref" in schema:
            at = self.doc
            for part in schema["$ref"].lstrip("#/").split("/"):
                at = at[part]
            schema = at
        return schema

    def faults(self, schema, value, where=""):
        """What of value is not as the schema says; unlike JSON Schema, unknown members are faults."""
        schema = self.resolve(schema)
        if "oneOf" in schema:
            return min((self.faults(one, value, where) for one in schema["oneOf"]), key=len)
        if "const" in schema:
            return [] if value == schema["const"] else [f"{where} is {value!r}"]
        if "enum" in schema:
            return [] if value in schema["enum"] else [f"{where} is {value!r}"]
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if kind(value) not in kinds and not (kind(value) == "integer" and "number" in kinds):
            return [f"{where} is {kind(value)}, not {kinds}"]
        found = []
        if "pattern" in schema and value is not None and not re.search(schema["pattern"], value):
            found.append(f"{where}: {value!r} is not {schema['pattern']}")
        if kind(value) == "integer" and value < schema.get("minimum", value):
            found.append(f"{where}: {value} is too small")
        if kind(value) == "array":
            for i, item in enumerate(value):
                found += self.faults(schema["items"], item, f"{where}[{i}]")
        if kind(value) == "object":
            known = schema.get("properties", {})
            found += [f"{where}.{name} is missing" for name in schema.get("required", []) if name not in value]
            for one, others in schema.get("dependentRequired", {}).items():
                found += [f"{where}.{name} is missing beside {one}" for name in others
                          if one in value and name not in value]
            for name, member in value.items():
                if name in known:
                    found += self.faults(known[name], member, f"{where}.{name}")
                elif schema.get("additionalProperties") is True:
                    continue
                elif "additionalProperties" in schema:
                    found += self.faults(schema["additionalProperties"], member, f"{where}.{name}")
                else:
                    found.append(f"{where}.{name} is not in the schema")
        return found

    def answer(self, path, status="200"):
        content = self.doc["paths"][path]["get"]["responses"][status]["content"]
        return next(iter(content.values()))["schema"]

    def parameters(self, operation):
        return [self.resolve(parameter) for parameter in operation.get("parameters", ())]


def answers(api, server):
    fields = "url_id,url,ts,raw_url,extras,title,content_type,tags,locator"
    asks = {
        "/v1/domain/{domain}": ["/v1/domain/example.com", "/v1/domain/example.com?fields=share", "/v1/domain/example.com?fields=rank,name", "/v1/domain/example.com?view=icann", "/v1/domain/example.com?view=icann&fields=rank,name"],
        "/v1/domains": ["/v1/domains", "/v1/domains?limit=1", "/v1/domains?tld=com&prefix=ex&dataset=1", "/v1/domains?suffix=example.com", "/v1/domains?match=ex*&fields=domain", "/v1/domains?regex=x&plan=2"],
        "/v1/domain/{domain}/datasets/{dataset}/urls":
            ["/v1/domain/example.com/datasets/1/urls", f"/v1/domain/example.com/datasets/1/urls?fields={fields}",
             "/v1/domain/example.com/datasets/1/urls?limit=1", "/v1/domain/example.com/datasets/1/urls?plan=3",
             "/v1/domain/example.com/datasets/2/urls?offset=9",
             "/v1/domain/example.com/datasets/1/urls?prefix=/&limit=1",
             "/v1/domain/example.com/datasets/1/urls?from=2024&to=20240102&lang=en&status=200&filter=!note:k", "/v1/domain/example.com/datasets/1/urls?tag=none&mime=text/*&plan=2"],
        "/v1/domain/{domain}/dataset/{dataset}/urls": ["/v1/domain/example.com/dataset/1/urls"],
        "/v1/domain/{domain}/urls":
            ["/v1/domain/example.com/urls", f"/v1/domain/example.com/urls?fields={fields}&dataset=1", "/v1/domain/example.com/urls?limit=1&offset=1",
             "/v1/domain/example.com/urls?plan=3", "/v1/domain/example.com/urls?from=2024&filter=!note:k&limit=3", "/v1/domain/example.com/urls?to=2001&plan=2", "/v1/domain/example.com/urls?offset=9",
             "/v1/domain/example.com/urls?sort=url", "/v1/domain/example.com/urls?sort=time&reverse=yes&collapse=host&limit=1", "/v1/domain/example.com/urls?closest=2024&from=2001"],
        "/v1/host/{host}/urls":
            ["/v1/host/example.com/urls", "/v1/host/example.com/urls?prefix=/&limit=1", "/v1/host/example.com/urls?subdomains=yes&limit=2", "/v1/host/example.com/urls?plan=2",
             "/v1/host/example.com/urls?subdomains=yes&sort=url&collapse=url"],
        "/v1/domain/{domain}/hosts": ["/v1/domain/example.com/hosts", "/v1/domain/example.com/hosts?dataset=1&order=name&limit=1"],
        "/v1/domain/{domain}/timeline": ["/v1/domain/example.com/timeline", "/v1/domain/example.com/timeline?by=day&dataset=1,name:b"],
        "/v1/domain/{domain}/datasets/{dataset}/paths":
            ["/v1/domain/example.com/datasets/1/paths", "/v1/domain/example.com/datasets/1/paths?by=section&limit=1"],
        "/v1/datasets": ["/v1/datasets", "/v1/datasets?limit=1"],
        "/v1/datasets/{dataset}": ["/v1/datasets/1"],
        "/v1/datasets/{dataset}/top-domains":
            ["/v1/datasets/1/top-domains", "/v1/datasets/2/top-domains?share=50%25&limit=1", "/v1/datasets/2/top-domains?offset=1"],
        "/v1/datasets/{a}/overlap/{b}": ["/v1/datasets/1/overlap/2", "/v1/datasets/2/overlap/2"],
        "/v1/url": ["/v1/url?u=http://example.com/x", "/v1/url?u=https://example.com/y&limit=1"],
        "/v1/urlid/{url_id}": [f"/v1/urlid/{URL_ID}"],
        "/v1/normalize": ["/v1/normalize?q=a.example.com/b", "/v1/normalize?q=co.uk", "/v1/normalize?q="],
        "/v1/tags": ["/v1/tags", "/v1/tags?limit=1", "/v1/tags?dataset=1&prefix=n", "/v1/tags?prefix=x"],
        "/v1/tags/{tag}": ["/v1/tags/news", "/v1/tags/news?limit=1", "/v1/tags/a%2Fb%20%C3%A9?dataset=1", "/v1/tags/news?of=urls",
                           f"/v1/tags/news?of=urls&limit=1&fields={fields}", "/v1/tags/news?of=urls&fields=ts&dataset=2"],
        "/v1/tlds": ["/v1/tlds", "/v1/tlds?limit=1", "/v1/tlds?dataset=1"],
        "/v1/domain/{domain}/datasets/{dataset}/rows": ["/v1/domain/example.com/datasets/1/rows", "/v1/domain/example.com/datasets/1/rows?limit=1&columns=a", "/v1/domain/example.com/datasets/1/rows?prefix=/a"],
        "/v1/suffix/{suffix}": ["/v1/suffix/com", "/v1/suffix/com?limit=1", "/v1/suffix/example.net?dataset=1", "/v1/suffix/%D1%80%D1%84"],
        "/v1/suffix/{suffix}/urls": ["/v1/suffix/com/urls", f"/v1/suffix/com/urls?limit=1&fields={fields}", "/v1/suffix/example.net/urls?dataset=1&from=2024", "/v1/suffix/%D1%80%D1%84/urls", "/v1/suffix/com/urls?plan=2"],
        "/v1/complete": ["/v1/complete?q=exam", "/v1/complete?q=https://www.example.com/x&limit=1", "/v1/complete?q="],
        "/v1/keys": ["/v1/keys?url=http://example.com/x", "/v1/keys?url=http://nobody.example/", "/v1/keys?url=example.com/a%7Cb"],
        "/v1/range": ["/v1/range?from=0", "/v1/range?from=0&to=MAXVALUE&limit=1&dataset=1", f"/v1/range?from=0&fields={fields}", "/v1/range?from=0&plan=2",
                      "/v1/range?from=0&from_ts=2024&to_ts=2030&prefix=/a&filter=!x:y&limit=1"],
        "/v1/versions": ["/v1/versions"],
        "/v1/domain/{domain}/diff": ["/v1/domain/example.com/diff", "/v1/domain/new.example.org/diff"],
        "/v1/domain/{domain}/changes": ["/v1/domain/example.com/changes", "/v1/domain/new.example.org/changes?limit=1", "/v1/domain/nobody.example/changes"],
        "/v1/changes": ["/v1/changes", "/v1/changes?limit=1", "/v1/changes?since=1"],
        "/collinfo.json": ["/collinfo.json"],
        "/healthz": ["/healthz"],
        "/readyz": ["/readyz"],
        "/openapi.json": ["/openapi.json"],
    }
    # The POST of /v1/domains is tried by `posts`; /docs is no JSON: `page_for_people`; those of CDX are lines: cdx_server.py.
    equal(set(asks) | {"/docs", "/receipt-key", "/cdx", "/cdx/search/cdx", "/index", "/{dataset}-index"}, set(api.doc["paths"]), "paths of openapi.json")
    for path, targets in asks.items():
        for target in targets:
            reply = server.get(target)
            equal(reply.status, 200, target)
            equal(api.faults(api.answer(path), reply.json), [], target)
            if "304" in api.doc["paths"][path]["get"]["responses"]:
                equal(server.get(target, headers={"If-None-Match": reply.headers["etag"]}).status, 304, target)


def posts(api, server):
    content = api.resolve(api.doc["paths"]["/v1/domains"]["post"]["responses"]["200"])["content"]
    schema = content["application/x-ndjson"]["x-item-schema"]
    body = b"www.example.com\nnobody.example\nco.uk\n"
    lines = server.get("/v1/domains", method="POST", body=body).body.splitlines()
    equal(len(lines), 4, "three names and the summary")
    for line in lines:
        equal(api.faults(schema, json.loads(line)), [], line)
    for name in ("nobody", "limit", "tld"):
        reply = server.get(f"/v1/domains?{name}=1", method="POST", body=body)
        equal((reply.status, api.faults({"$ref": "#/components/schemas/Problem"}, reply.json)), (400, []), name)
    for name in ("format", "datasets", "version"):
        check(name in reply.json["detail"], f"/v1/domains: the detail names {name}")
    equal(server.get("/v1/domains", method="PUT").headers["allow"], "GET, HEAD, POST", "methods of /v1/domains")


def parameters(api, server):
    for path, methods in api.doc["paths"].items():
        if "get" not in methods or not path.startswith("/v1/"):
            continue
        concrete = path.format(domain="example.com", host="example.com", dataset="a", a=1, b=2, url_id=URL_ID, tag="news", suffix="com")
        taken = {p["name"]: p["schema"] for p in api.parameters(methods["get"]) if p["in"] == "query"}
        reply = server.get(concrete + "?nobody=1")
        equal((reply.status, api.faults({"$ref": "#/components/schemas/Problem"}, reply.json)), (400, []), concrete)
        for name in taken:
            check(name in reply.json["detail"], f"{concrete}: the detail names {name}")
        for name, schema in taken.items():
            if schema.get("type") != "integer":
                continue
            for value, status in ((schema["maximum"], 200), (schema["maximum"] + 1, 400),
                                  (schema["minimum"], 200), (schema["minimum"] - 1, 400)):
                target = f"{concrete}?{name}={value}" + {"/v1/url": "&u=http://example.com/x", "/v1/range": "&from=0", "/v1/complete": "&q=a"}.get(path, "")
                target += "&format=ndjson" if name == "limit" and "ndjson" in taken.get("format", {}).get("enum", ()) else "" # JSON has a cap of its own
                equal(server.get(target).status, status, target)


def methods(api, server):
    """Each method that a resource does not have is 405, and Allow names those that it has."""
    for path, operations in api.doc["paths"].items():
        concrete = path.format(domain="example.com", host="example.com", dataset="a", a=1, b=2, url_id=URL_ID, tag="news", suffix="com")
        allowed = ({"GET", "HEAD"} if "get" in operations else set()) | ({"POST"} if "post" in operations else set())
        for where in (concrete, concrete.removeprefix("/v1"), concrete + "?nobody=1"):
            for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "get"):
                if method in allowed:
                    continue
                reply = server.get(where, method=method, headers={"Content-Length": "0"} if method == "POST" else {})
                equal((reply.status, set(reply.headers.get("allow", "").split(", "))), (405, allowed), f"{method} {where}")


def page_for_people(server):
    """It loads nothing, runs nothing, and its policy names the hash of its one style."""
    reply = server.get("/docs")
    text = reply.body.decode("utf-8")
    style = re.search(r"(?s)<style>(.*?)</style>", text)[1]
    hashed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    equal(reply.headers["content-security-policy"],
          f"default-src 'none'; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", "policy of /docs")
    equal((reply.status, reply.headers["content-type"]), (200, "text/html; charset=utf-8"), "/docs")
    equal(re.findall(r"<(script|img|link|iframe|object)|\bsrc=|https?://(?!example\.com/|teaching)", text), [], "/docs loads nothing")
    equal(set(re.findall(r'href="([^#"]*)', text)) - {""}, {"openapi.json"}, "links of /docs")
    for path, operations in json.loads(server.get("/openapi.json").body)["paths"].items():
        check(f"<code>{path}</code>" in text or f" {path}</code>" in text, f"/docs has {path}")
    equal(server.get("/docs", headers={"If-None-Match": reply.headers["etag"]}).status, 304, "/docs again")


def page(api):
    text = (dxtest.SOURCE / "docs" / "API.md").read_text(encoding="utf-8")
    schemas = ("DomainAnswer", "DomainAnswer", "UrlsAnswer", "UrlsAnswer", "ForeignRowsAnswer", "AllUrlsAnswer", "HostsAnswer", "PathsAnswer", "TimelineAnswer", "DiffAnswer", "DomainChangesAnswer", "DatasetsAnswer", "TopDomainsAnswer", "OverlapAnswer",
               "UrlAnswer", "UrlIdAnswer", "NormalizeAnswer", "KeysAnswer", "RangeAnswer", "TagsAnswer", "TagAnswer", "TldsAnswer", "SuffixAnswer", "SuffixUrlsAnswer", "CompleteAnswer", "DomainsAnswer",
               "VersionsAnswer", "ChangesAnswer", "Collinfo", "Problem")
    examples = [json.loads(block) for block in re.findall(r"(?s)```json\n(.*?)```", text)]
    equal(len(examples), len(schemas), "examples of API.md")
    for name, example in zip(schemas, examples):
        equal(api.faults({"$ref": f"#/components/schemas/{name}"}, example, name), [], "example of API.md")
    slugs = set()
    for folder in ("server", "query"):
        for path in (dxtest.SOURCE / folder).rglob("*.c"):
            source = path.read_text(encoding="utf-8")
            slugs |= set(re.findall(r'DX_PROBLEM_[A-Z_]+,\s*"([a-z-]+)"', source))
            slugs |= set(re.findall(r'(?m)^ *\{ [45]\d\d, "[^"]*", "([a-z-]+)"', source))
    check(len(slugs) > 20, f"slugs in the sources: {slugs}")
    slugs.discard("internal-error")  # of no status that is used: 500 is always data-damaged
    for slug in sorted(slugs):
        check(f"`{slug}`" in text, f"API.md tells of {slug}")


def endpoints(api):
    """The endpoints of openapi.json, of the first table of API.md and of the server's routes are the same."""
    described = {f"{method.upper()} {path}" for path, methods in api.doc["paths"].items() for method in methods}
    shape = {re.sub(r"\{[^}]*\}", "{}", name) for name in described}
    text = (dxtest.SOURCE / "docs" / "API.md").read_text(encoding="utf-8")
    table = re.search(r"(?s)\n\| endpoint \|(.*?)\n\n", text).group(1)
    listed = set(re.findall(r"(?m)^\| \[`([A-Z]+ [^`]*)`\]\(#", table))
    equal(listed, described, "table of API.md and paths of openapi.json")
    routed = set()
    for path in (dxtest.SOURCE / "server" / "routes").glob("route_*.c"):
        for route in re.findall(r"(?s)const struct dx_route dx_route_\w+ = \{(.*?)\};", path.read_text(encoding="utf-8")):
            method = "POST" if ".post = true" in route else "GET"
            for pattern in re.findall(r'\.(?:pattern|alias) = "([^"]*)"', route) if ".admin = true" not in route else ():
                routed.add(f"{method} {'/' if '.own = true' in route or '.bare = true' in route else '/v1/'}{re.sub(r'{[^}]*}', '{}', pattern)}")
    equal(routed, shape, "routes of server/routes and paths of openapi.json")


def main():
    dxtest.need_programs()
    committed = dxtest.SOURCE / "docs" / "openapi.json"
    with dxtest.tempdir() as tmp:
        (tmp / "list").write_text("https://example.com/\n", encoding="utf-8")
        dxtest.domaindex("ingest", "--root", tmp / "root", "--dataset", "d", tmp / "list")
        dxtest.domaindex("publish", "--root", tmp / "root")
        with dxtest.Server(tmp / "root", "--foreign", tmp) as server:
            text = json.dumps(server.get("/openapi.json").json, indent=1, ensure_ascii=False) + "\n"
    if "--write" in sys.argv[1:]:
        committed.write_text(text, encoding="utf-8")
    check(committed.read_text(encoding="utf-8") == text, "docs/openapi.json is not what the server says; run tests/e2e/http_openapi.py --write")
    api = Api(json.loads((dxtest.SOURCE / "docs" / "openapi.json").read_text(encoding="utf-8")))
    page(api)
    endpoints(api)
    with dxtest.tempdir() as tmp:
        (tmp / "rows.tsv").write_text(ROWS, encoding="utf-8")
        dxtest.domaindex("ingest", "--root", tmp / "root", "--format", "tsv", "--dataset-column", 1, "--url-column", 2,
                         "--ts-column", 3, "--extra-column", "note", "--extra-column", "tags", tmp / "rows.tsv")
        dxtest.domaindex("publish", "--root", tmp / "root")
        (tmp / "more.tsv").write_text(MORE, encoding="utf-8")
        dxtest.domaindex("ingest", "--root", tmp / "root", "--format", "tsv", "--dataset-column", 1, "--url-column", 2,
                         "--ts-column", 3, "--extra-column", "note", "--extra-column", "tags", tmp / "more.tsv")
        dxtest.domaindex("publish", "--root", tmp / "root")
        for step in ("init", "fill"):
            dxtest.domaindex("domain64", step, "--root", tmp / "root")
        with dxtest.Server(tmp / "root", "--foreign", tmp) as server:
            global URL_ID
            URL_ID = server.get("/v1/normalize?q=http://example.com/x").json["url_id"]
            answers(api, server)
            parameters(api, server)
            posts(api, server)
            methods(api, server)
            page_for_people(server)
    dxtest.finish()


if __name__ == "__main__":
    main()
