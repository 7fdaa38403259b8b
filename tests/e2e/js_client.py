#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""The JavaScript client in Node against a server's own JSON: domains, listings, lists of names, changes, pinned versions, problems, an abort; against a server that is
busy, breaks off, fails midway or leaves its summary out. Its types are those of docs/openapi.json, and TypeScript takes them.
"""
import http.server
import json
import pathlib
import shutil
import threading
from urllib.parse import unquote

import dxtest
from dxtest import check, equal

HERE = pathlib.Path(__file__).resolve().parent
TSC = dxtest.SOURCE / "build" / "web-tools" / "node_modules" / ".bin" / "tsc"
BIG = 12345
USE = """
import { connect, DomaindexError } from "../index.js";
const index = connect("http://127.0.0.1/", { retries: 1 });
const site = await index.domain("a.com");
const count: number | null | undefined = site?.datasets[0].url_count;
for await (const change of index.changes("a.com")) { const kind: "added" | "removed" | "changed" = change.change; void kind; }
for await (const name of index.domains(["a"], { progress: (n: number) => n })) { const found: boolean = name.found; void found; }
try { await index.get("/v1/tlds"); } catch (error) { if (error instanceof DomaindexError) { const slug: string = error.slug; void slug; } }
void count;
"""


class Odd(http.server.BaseHTTPRequestHandler):
    """Busy twice, or always; cut; an error line; no summary."""
    protocol_version = "HTTP/1.1"
    busy = 0

    def log_message(self, *arguments):
        pass

    def reply(self, status, body, cut=False, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) + (100 if cut else 0)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = cut

    def do_GET(self):
        path = unquote(self.path)
        if "busy" in path:
            Odd.busy += 1
            if Odd.busy > 2 and "long" not in path:
                return self.reply(200, b'{"domain":"busy.example"}')
            return self.reply(503, b'{"type":"urn:domaindex:problem:overloaded","status":503}', Retry_After="0")
        if "cut" in path:
            return self.reply(200, b'{"url":"http://cut.example/"}\n{"ur', cut=True)
        return self.reply(200, b'{"url":"http://a/"}\n{"error":{"type":"urn:domaindex:problem:data-damaged","status":500}}\n')

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(200, b'{"line":1,"asked":"example.com","domain":"example.com","found":true}\n')


def make_root(tmp):
    rows = [("blogs", "http://blog.example.com/", "2024-01-02"), ("news", "https://example.com/a b", "2024-06-15"), ("news", "https://www.example.com/c?q=ü", "")]
    for part in (rows, [("news", f"https://big.example/{i}", "2024-01-01") for i in range(BIG)] + [("late", "https://example.com/z", "")]):
        (tmp / "rows.tsv").write_text("dataset\turl\tts\n" + "".join("\t".join(row) + "\n" for row in part), encoding="utf-8")
        dxtest.domaindex("ingest", "--root", tmp / "root", "--dataset-column", "dataset", tmp / "rows.tsv")
        dxtest.domaindex("publish", "--root", tmp / "root", env={"SOURCE_DATE_EPOCH": str(1704067200 + 60 * (part is not rows))})
    return tmp / "root"


def types(tmp):
    version = json.loads((dxtest.SOURCE / "js" / "package.json").read_text())["version"]
    check(version in dxtest.domaindex("--version").stdout.decode(), f"the package has the version of the program, not {version}")
    dxtest.run("node", dxtest.SOURCE / "js" / "make_types.mjs", "--check")
    if not TSC.exists():
        return print("SKIPPED in part: no TypeScript (scripts/web_tools.sh)")
    shutil.copytree(dxtest.SOURCE / "js", tmp / "js")
    (tmp / "js" / "use").mkdir()
    (tmp / "js" / "use" / "use.ts").write_text(USE)
    done = dxtest.run(TSC, "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "--skipDefaultLibCheck", tmp / "js" / "use" / "use.ts", cwd=tmp / "js", expect=None)
    return equal(done.returncode, 0, f"TypeScript: {done.stdout.decode()[-2000:]}")


def main():
    dxtest.need_programs()
    if shutil.which("node") is None:
        dxtest.skip("no Node")
    odd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    threading.Thread(target=odd.serve_forever, daemon=True).start()
    with dxtest.tempdir() as tmp:
        types(tmp)
        with dxtest.Server(make_root(tmp)) as server:
            out = json.loads(dxtest.run("node", HERE / "js_client.mjs", f"http://127.0.0.1:{server.port}", f"http://127.0.0.1:{odd.server_port}/").stdout)
            site = server.get("/v1/domain/example.com").json
            equal((out["site"], out["absent"], out["pinned"]), (site, None, site["version"]), "a domain, one that is absent, a pinned version")
            news = server.get("/v1/domain/example.com/datasets/news/urls?fields=url,ts").json["items"]
            equal(out["one"], news, "rows of one dataset")
            equal((out["all"], len(out["some"]), [row["url"] for row in out["plus"]]), (BIG, 3, ["https://example.com/a%20b"]), "rows of all, of some, with a space")
            equal(out["tlds"], 2, "get")
            equal(out["changes"], server.get("/v1/domain/example.com/changes").json["changes"], "changes")
            oldest = min(v["version"] for v in server.get("/v1/versions").json["versions"])
            of_oldest = server.get(f"/v1/domain/example.com/changes?to={oldest}").json
            equal(out["ofOldest"], [oldest, of_oldest["changes"], of_oldest["version"], out["changes"]], "changes up to a pinned version, up to one that is said")
            check(of_oldest["changes"] != out["changes"], "the newest version changed something")
            equal((out["misasked"], out["asked"]), ([], ["?limit=5&version=V", "?cursor=C", "?cursor=C"]), "resources of openapi.json where a version is pinned")
            equal((out["diff"], out["comma"][0]), (site["version"], "RangeError"), "a diff up to a pinned version; a list of datasets with a comma in a name")
            equal((out["names"][:3], out["names"][3][-1], sum(out["bodies"][0])), ([12001, 6000, True], 12001, 12501), "names")
            check(max(out["bodies"][0]) <= 2000 and 20000 < out["bodies"][1] <= 24 * 1024, f"names and bytes of a request: {out['bodies']}")
    equal((out["refused"], out["reason"]), (["DomaindexError", 400, "bad-parameter", True], ["DomaindexError", 400, "not-a-domain", True]), "problems")
    equal((out["lineBreak"][0], out["aborted"][0], out["ownReason"]), ("RangeError", "AbortError", True), "a line break, an abort, one with a reason of its own")
    # URL drops dots: of a dataset called ".." it made the listing of all datasets.
    equal(([kind for kind, *_ in out["dots"]], out["emptyName"][0]), (["RangeError"] * 3, "RangeError"), "segments of dots, a name that is empty")
    equal(out["noList"], [f"TypeError: expected a list of names, got {what}" for what in ('the text "github.com"', "null", "undefined", "5")], "one text for a list of names")
    equal(out["noName"], ["TypeError: name 0 of the list, null, is not a string", "TypeError: name 1 of the list, 5, is not a string"], "a name that is not a string")
    equal((out["noText"], out["ofAll"]), ("TypeError: expected a text or a number, got null", True), "null for a name, and for all datasets")
    equal((out["retried"], out["gaveUp"]), ({"domain": "busy.example"}, ["DomaindexError", 503, "overloaded", True]), "busy")
    equal((out["cut"][0], out["isIncomplete"], out["noSummary"][0]), ("IncompleteError", True, "IncompleteError"), "replies that break off")
    equal(out["midway"], ["DomaindexError", 500, "data-damaged", True], "an error in a stream")
    odd.shutdown()
    dxtest.finish()


if __name__ == "__main__":
    main()
