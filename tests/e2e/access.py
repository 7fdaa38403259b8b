# SPDX-License-Identifier: Apache-2.0
# labels: threads timed plain
"""Who may see which datasets, on servers that run: no table, a new one, grants, tokens that are
rotated, expire and are revoked (the time until the first 401 is measured), names that a proxy tells and that
somebody else forges, tables that are damaged, older, changed by hand or gone while a server serves, and
tables that stay as they are through publish, rollback, gc and compact. In a directory and on an S3
server, where several write at once and nothing is lost.

In detail: who may see what, on a server of a directory and on versitygw: no table, a new one, grants, tokens
that are rotated, expire and are revoked (the time until the first 401 is printed; at most 1 s, on a store 5
s), names that a proxy tells and another address forges, tables that are cut, older, changed by hand or gone
while it serves, publish, rollback, compact and gc, which leave the table alone, and many writers at once. Under sanitizers,
without DX_WHOLE, what a running server does when a table changes, on a store too.
"""
import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

import dxtest
import stores
from dxtest import check, equal

PART = dxtest.SANITIZED and not dxtest.WHOLE
WITHIN_S = 5.0          # what was asked for, each time
USUALLY_S = 1.0         # in a directory, half of them
PROXY, OTHER = "127.0.0.1", "127.0.0.2"     # addresses that requests come from
HEADERS = ("--principal-header", "X-User", "--address-header", "X-Forwarded-For", "--trusted-proxy", PROXY)


def ingest(root, dataset):
    text = f"https://all.com/{dataset}\nhttps://only{dataset}.com/\n"
    dxtest.domaindex("ingest", "--root", root, "--dataset", f"set{dataset}", "--format", "tsv",
                     "--url-column", 1, "--no-header", "-", input=text.encode())


def make_root(tmp):
    for dataset in (1, 2, 3):
        ingest(tmp / "root", dataset)
    dxtest.domaindex("publish", "--root", tmp / "root")
    return tmp / "root"


class Table:
    """The command, of one root."""

    def __init__(self, root):
        self.root, self.tokens = root, []

    def run(self, *words, expect=0, **options):
        return dxtest.domaindex("access", *words, "--root", self.root, expect=expect, **options)

    def json(self, *words):
        return json.loads(self.run(*words, "--json").stdout)

    def token(self, principal, *more):
        done = self.run("token", "new", principal, *more)
        token = done.stdout.decode().strip()
        check(re.fullmatch(r"dxk_[0-9A-Za-z]{49}", token), f"a token: {token!r}")
        check(token not in done.stderr.decode(), "standard error does not have the token")
        self.tokens.append(token)
        return token

    def ids(self, principal):
        return [t["token"] for t in self.json("token", "list", "--principal", principal)["tokens"]]


def ask(server, target="/v1/datasets", token=None, source=PROXY, fields=()):
    """A request on a connection of its own: fields may come twice, and from which address matters."""
    link = http.client.HTTPConnection(server.host, server.port, timeout=60, source_address=(source, 0))
    with contextlib.closing(link):
        link.putrequest("GET", target)
        for name, value in (*fields, *([("Authorization", f"Bearer {token}")] if token else [])):
            link.putheader(name, value)
        link.endheaders()
        reply = link.getresponse()
        return dxtest.Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())


def sees(server, **how):
    """The ids that a list of datasets has; or the status."""
    reply = ask(server, **how)
    return [d["dataset_id"] for d in reply.json["datasets"]] if reply.status == 200 else reply.status


took = []


def until(want, server, words, **how):
    """Returns the seconds until it is so."""
    begin = time.monotonic()
    dxtest.wait_until(lambda: sees(server, **how) == want)
    seconds = time.monotonic() - begin
    equal(sees(server, **how), want, words)
    dxtest.in_time(seconds, WITHIN_S, words)
    took.append(seconds)
    return seconds


def begins(table, server):
    equal(sees(server, source=OTHER), [1, 2, 3], "no table: all")
    equal(sees(server, token="dxk_wrong"), [1, 2, 3], "no table: tokens are not looked at")
    table.run("grant", "set1", "--to", "*", expect=1)
    check(not (table.root / "index/access.json").exists(), "a grant does not begin a table")
    table.run("init")
    until(401, server, "init: nobody sees anything")
    table.run("init")
    equal(len(table.json("log")["history"]), 1, "init of a table that is there changes nothing")
    table.run("grant", "set1", "--to", "*")
    until([1], server, "what everybody may see")
    table.run("revoke", 1, "--from", "*")
    until(401, server, "everybody may see nothing again")


def refusals(table, server):
    """All of them are the same bytes, but for the date."""
    token = table.token(add(table, "somebody"))
    good = token[:-1] + ("x" if token[-1] != "x" else "y")
    replies = [ask(server, **how) for how in (
        {}, {"token": "x"}, {"token": good}, {"token": token[:-7] + "0000000"}, {"source": OTHER},
        {"token": "dxk_000000000000000000000000000000000000000000001AYOi5"},
        {"fields": [("Authorization", "Basic YTpi")]}, {"target": "/v1/domain/all.com"},
        {"target": "/v1/domain/nosuch.com"}, {"target": "/v1/datasets/9"})]
    first = {k: v for k, v in replies[0].headers.items() if k != "date"}
    equal(first.get("www-authenticate"), 'Bearer realm="domaindex"', "what to do about it")
    equal(replies[0].json["type"], "urn:domaindex:problem:unauthorized", "the problem")
    for i, reply in enumerate(replies):
        equal((reply.status, {k: v for k, v in reply.headers.items() if k != "date"}, reply.body),
              (401, first, replies[0].body), f"refusal {i}")
    twice = ask(server, token=token, fields=[("Authorization", f"Bearer {token}")])
    equal((twice.status, twice.json["type"]), (400, "urn:domaindex:problem:identity-twice"), "two tokens")
    for path in ("/healthz", "/readyz"):
        equal(ask(server, path).status, 200, f"{path} asks for no token")
    table.run("principal", "remove", "somebody")


def add(table, name, *more):
    table.run("principal", "add", name, *more)
    return name


def grants(table, server):
    table.run("grant", "set1", "--to", "*")
    table.run("grant", "name:set2", "--to", add(table, "team-a"))
    team = table.token("team-a")
    until([1, 2], server, "a grant", token=team)
    equal(sees(server), [1], "who says nothing")
    equal(ask(server, "/v1/domain/only2.com", token=team).status, 200, "a domain that is granted")
    equal(ask(server, "/v1/domain/only3.com", token=team).status, 404, "one that is not")
    equal(ask(server, "/v1/domain/only2.com").status, 404, "nor for everybody")
    datasets = [d["dataset_id"] for d in ask(server, "/v1/domain/all.com", token=team).json["datasets"]]
    equal(datasets, [1, 2], "of a domain of all datasets, those")
    boss = table.token(add(table, "boss", "--all"))
    until([1, 2, 3], server, "who sees all", token=boss)
    table.run("principal", "add", "boss", "--not-all")
    until([1], server, "and does no more", token=boss)
    table.run("revoke", "id:2", "--from", "team-a")
    seconds = until([1], server, "a revocation", token=team)
    print(f"a revoked dataset is gone after {seconds * 1000:.0f} ms", flush=True)
    table.run("grant", "set2", "--to", "team-a")
    until([1, 2], server, "granted again", token=team)
    return team


def tokens(table, server, team):
    new = table.token("team-a", "--expires", "1h")
    until([1, 2], server, "the second token", token=new)
    equal(sees(server, token=team), [1, 2], "the first holds on")
    third = table.run("token", "new", "team-a", expect=1)
    check(b"two tokens" in third.stderr and third.stdout == b"", "no third one")
    table.run("token", "revoke", table.ids("team-a")[0])
    seconds = until(401, server, "a token that was revoked", token=team)
    print(f"a revoked token is refused after {seconds * 1000:.0f} ms", flush=True)
    equal(sees(server, token=new), [1, 2], "the other one holds")
    for life_s in (2, 8, 32):   # a longer one, where it ended before the server knew it
        begun = time.time()
        short = table.token("team-a", "--expires", f"{life_s}s")
        issued = time.time()
        dxtest.wait_until(lambda: sees(server, token=short) == [1, 2], life_s)
        if time.time() < begun + life_s:
            break
        table.run("token", "revoke", "-", input=short.encode() + b"\n")
    time.sleep(max(0.0, issued + life_s - time.time()) + 0.2)
    equal(sees(server, token=short), 401, "a token whose time is over")
    check(life_s < 32, "a short one was seen in its time")
    last = table.token("team-a")
    until([1, 2], server, "its place is free", token=last)
    table.run("token", "revoke", "-", input=last.encode() + b"\n")
    until(401, server, "revoked by its own text", token=last)
    return new


def proxies(server):
    for name, want in (("team-a", [1, 2]), ("boss", [1]), ("nobody", [1])):
        equal(sees(server, fields=[("X-User", name)]), want, f"a proxy says {name}")
        equal(sees(server, source=OTHER, fields=[("X-User", name)]), [1], f"somebody says {name}")
    equal(ask(server, fields=[("X-User", "team-a"), ("X-User", "team-a")]).status, 400, "said twice")
    equal(sees(server, source=OTHER, fields=[("X-User", "team-a")] * 2), [1], "not by a proxy")
    equal(sees(server, fields=[("X-User", "team-a"), ("Authorization", "Basic YTpi")]), [1, 2],
          "what a proxy has checked itself")
    equal(sees(server, token="dxk_wrong", fields=[("X-User", "team-a")]), 401, "a token comes first")


def put(path, text):
    """As a file is put in place by anybody: at once."""
    aside = path.with_name("aside")
    aside.write_bytes(text)
    aside.rename(path)


def refused_tables(table, server, team):
    path = table.root / "index/access.json"
    older = path.read_bytes()
    table.run("grant", 3, "--to", "team-a")
    until([1, 2, 3], server, "one more", token=team)
    text = path.read_bytes()
    generation = json.loads(text)["generation"]
    other = text.replace(b'"name":"boss","all":false', b'"name":"boss","all":true')
    check(other != text, "a table that was changed by hand")
    for words, bad, said in (("cut", text[:-40], "line "), ("older", older, "older"), ("other", other, "by hand"),
                             ("gone", None, "is gone"), ("empty", b"", "line 1"),
                             ("unknown", text.replace(b'"format"', b'"fromat"'), "format 1")):
        before = len(server.words())
        path.unlink() if bad is None else put(path, bad)
        dxtest.wait_until(lambda: said in server.words()[before:])
        check(said in server.words()[before:], f"a table that is {words}: the server says so")
        equal((sees(server, token=team), sees(server)), ([1, 2, 3], [1]), f"a table that is {words}: the last holds")
        ready = ask(server, "/readyz")
        check(ready.status == 200 and "access:" in ready.json.get("detail", ""), f"{words}: readyz: {ready.body}")
        put(path, text)
        dxtest.wait_until(lambda: f"generation {generation}," in server.words()[before:])
        check(f"generation {generation}," in server.words()[before:], f"{words}: the table is back")
    path.unlink()
    table.run("init")
    until(401, server, "a new table in place of one that was lost is the newest", token=team)
    put(path, text)
    done = table.run("revoke", 3, "--from", "team-a", expect=1)
    check(b"older copy" in done.stderr and b"access accept" in done.stderr, f"a copy that is older than the manifest says: {done.stderr}")
    table.run("accept")
    table.run("revoke", 3, "--from", "team-a")
    until([1, 2], server, "a copy that was fetched back and accepted is, once it is changed", token=team)


def stays(table, server, team):
    """What is done with versions does not touch the table, and what comes new is hidden."""
    root, path = table.root, table.root / "index/access.json"
    first = json.loads((root / "index/manifest.json").read_text())["current_version"]
    ingest(root, 4)
    dxtest.domaindex("publish", "--root", root)
    check(dxtest.wait_until(lambda: "000002-" in ask(server, token=team).headers.get("x-domaindex-version", "")), "the new version")
    equal(sees(server, token=team), [1, 2], "a dataset that came later is hidden")
    table.run("grant", "set4", "--to", "team-a")
    until([1, 2, 4], server, "until it is granted", token=team)
    text = path.read_bytes()
    current = json.loads((root / "index/manifest.json").read_text())["current_version"]
    dxtest.domaindex("rollback", "--root", root, first)
    check(json.loads((root / "index/manifest.json").read_text())["current_version"] == first != current, "rolled back")
    dxtest.domaindex("compact", "--root", root)
    dxtest.domaindex("publish", "--root", root, "--full")
    dxtest.domaindex("gc", "--root", root, "--keep", 1, "--keep-for", "0s", "--max-share", 100, "--delete")
    equal(path.read_bytes() == text, True, "publish, rollback, compact and gc leave the table alone")


class Longest:
    """A list of names that its client does not end."""

    def __init__(self, server, token=None, kind="ndjson"):
        fields = f"Authorization: Bearer {token}\r\n" if token else ""
        self.link = socket.create_connection((server.host, server.port), timeout=60)
        self.link.sendall(f"POST /v1/domains?format={kind} HTTP/1.1\r\nHost: x\r\n{fields}Content-Type: text/plain\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n".encode())

    def say(self, name):
        """What comes for it, which may be the end."""
        self.link.sendall(f"{len(name) + 1:x}\r\n{name}\n\r\n".encode())
        got = b""
        while not (name.encode() in got and got.endswith(b"\n\r\n")) and (piece := self.link.recv(1 << 16)):
            got += piece
        return got


def lasting(root, table):
    """Who keeps a list open is told no more than whoever asks anew."""
    with dxtest.Server(root) as server:
        if not PART:
            table.run("revoke", "set4", "--from", "team-a")
        token = table.token("team-a")
        until([1, 2], server, "before", token=token)
        lists = {"team": Longest(server, token), "all": Longest(server), "csv": Longest(server, token, "csv")}
        for name, one in lists.items():
            check(b"only1.com" in one.say("only1.com"), f"{name}: what may be seen")
        table.run("grant", "set3", "--to", "team-a")
        until([1, 2, 3], server, "more", token=token)
        check(b'"found":true' in lists["team"].say("only2.com"), "who may see more goes on")
        table.run("revoke", "set3", "--from", "team-a")
        until([1, 2], server, "and as before", token=token)
        check(b'"found":true' in lists["team"].say("only2.com"), "as does who may see what he could")
        table.run("token", "revoke", "-", input=token.encode() + b"\n")
        until(401, server, "revoked", token=token)
        end = lists["team"].say("only2.com")
        check(b"only2.com" not in end and b'{"error":' in end and b"problem:unauthorized" in end, f"the list ends: {end}")
        equal(lists["csv"].say("only2.com"), b"", "and one without lines")
        check(b'"found":true' in lists["all"].say("only1.com"), "another one's goes on")
        table.run("revoke", "set1", "--from", "*")
        until(401, server, "nobody")
        check(b"problem:unauthorized" in lists["all"].say("only1.com"), "until it may not")
        table.run("grant", "set1", "--to", "*")


def of_an_older_version(root):
    """One that has to be opened for the question; and what a cursor goes on with after its dataset was taken away."""
    dxtest.domaindex("publish", "--root", root, "--full")
    old = json.loads((root / "index/manifest.json").read_text())["versions"][0]["version"]
    for method, target, body in (("POST", f"/v1/domains?version={old}", b"all.com\nonly2.com\n"),
                                 ("GET", f"/v1/domain/all.com?version={old}", None),
                                 ("GET", f"/v1/domain/all.com/hosts?version={old}", None)):
        with dxtest.Server(root) as server:
            reply = server.get(target, method, {"Content-Type": "text/plain"} if body else None, body)
            equal(reply.status, 200, target)
            lines = [json.loads(line) for line in reply.body.splitlines()]
            counts = [n for line in lines for n in [line, *line.get("hosts", [])] if "dataset_count" in n or "found" in n]
            check(counts and all(n.get("dataset_count", 1) == 1 for n in counts), f"{target}: {reply.body}")
            check(not body or not lines[1]["found"], f"{target}: {reply.body}")


def cursors_after(root, table):
    """A cursor shows no more than the question that it goes on with."""
    with dxtest.Server(root) as server:
        token = table.token("team-a")
        until([1, 2], server, "before", token=token)
        plan = ask(server, "/v1/domain/all.com/datasets/2/urls?plan=2", token=token).json["cursors"]
        target = f"/v1/domain/all.com/datasets/2/urls?cursor={plan[0]}"
        equal(ask(server, target, token=token).status, 200, "a cursor")
        equal(ask(server, target).json["type"], "urn:domaindex:problem:bad-cursor", "another one's")
        behind = ask(server, "/v1/domain/all.com/urls?reverse=yes&limit=1", token=token).json
        equal([row["dataset_id"] for row in behind["items"]], [2], "an order that begins with the dataset")
        table.run("revoke", "set2", "--from", "team-a")
        until([1], server, "taken away", token=token)
        equal(ask(server, target, token=token).json["type"], "urn:domaindex:problem:dataset-not-found", "the cursor as well")
        rest = ask(server, f"/v1/domain/all.com/urls?cursor={behind['next_cursor']}", token=token)
        equal((rest.status, {row["dataset_id"] for row in rest.json["items"]}), (200, {1}), "an order goes on without the dataset, behind where its row stood")
        table.run("grant", "set2", "--to", "team-a")


def behind_a_long_row(tmp):
    """A cursor does not hold a long URL: where its row was, is looked up, and gone with its dataset."""
    root = tmp / "long"
    for dataset, path in ((1, "b"), (2, "z" * 1100)):
        dxtest.domaindex("ingest", "--root", root, "--dataset", f"set{dataset}", "--format", "list", "-", input=f"https://all.com/a\nhttps://all.com/{path}\n".encode())
    dxtest.domaindex("publish", "--root", root)
    table = Table(root)
    table.run("init")
    with dxtest.Server(root, *HEADERS) as server:
        add(table, "team-l")
        for dataset in ("set1", "set2"):
            table.run("grant", dataset, "--to", "team-l")
        token = table.token("team-l")
        until([1, 2], server, "before", token=token)
        scopes = ("/v1/domain/all.com/urls?reverse=yes", "/v1/suffix/com/urls?sort=url&reverse=yes", "/v1/suffix/com/urls?sort=url&reverse=yes&collapse=url")
        pages = [ask(server, f"{scope}&limit=1", token=token).json for scope in scopes]
        equal([[row["dataset_id"] for row in page["items"]] for page in pages], [[2]] * len(scopes), "orders that begin with the long one")
        cursors = [f"{scope.split('?')[0]}?cursor={page['next_cursor']}" for scope, page in zip(scopes, pages)]
        rest = [[(row["dataset_id"], row["url"]) for row in ask(server, target + "&limit=10", token=token).json["items"]] for target in cursors]
        equal(rest[:2], [[(1, "https://all.com/b"), (2, "https://all.com/a"), (1, "https://all.com/a")]] * 2, "what comes behind it")
        table.run("revoke", "set2", "--from", "team-l")
        until([1], server, "taken away", token=token)
        replies = [ask(server, target, token=token) for target in cursors]
        equal([(reply.status, reply.json["type"]) for reply in replies], [(410, "urn:domaindex:problem:cursor-expired")] * len(scopes), "none goes on")
        check(all(reply.json["restart"].startswith("/v1/") for reply in replies), f"each says how to begin again: {replies[0].body}")


def asked_only(root, table):
    """Without looks of its own a server looks when it is told to."""
    with dxtest.Server(root, "--poll-ms", 0) as server:
        equal(sees(server), [1], "the table from the start")
        table.run("grant", 2, "--to", "*")
        time.sleep(0.8)
        equal(sees(server), [1], "not asked")
        server.process.send_signal(signal.SIGHUP)
        until([1, 2], server, "asked")
        table.run("revoke", 2, "--from", "*")


def starts(tmp, root, table):
    """A server does not begin with a table that cannot be read, or without one that is required."""
    def refused(words, *arguments):
        done = dxtest.run(dxtest.DOMAINDEXD, "--root", root, "--listen", "127.0.0.1:0", *arguments,
                          expect=1, timeout=120)
        check(words in done.stderr, f"{words} in {done.stderr!r}")
    path = root / "index/access.json"
    text = path.read_bytes()
    put(path, text[:-9])
    refused(b"access.json: line")
    own = tmp / "own.json"
    refused(b"own.json", "--access-file", own)
    own.write_bytes(text)
    with dxtest.Server(root, "--access-file", own, "--access", "require") as server:
        equal(sees(server), [1], "a table of the server's own")
    path.unlink()
    refused(b"the table was lost", "--access", "require")
    table.run("accept", "--yes")
    refused(b"require", "--access", "require")
    put(path, text)
    with dxtest.Server(root, "--access", "require") as server:
        table.run("remove", expect=2)
        table.run("remove", "--yes")
        time.sleep(0.7)
        equal(sees(server), [1], "where a table is required, one that is out of force is refused")
    with dxtest.Server(root) as server:
        equal(sees(server), [1, 2, 3, 4], "out of force: all")
    refused(b"not in force", "--access", "require")
    equal(table.json("status")["enforced"], False, "and the table says so")


def writers(table, count, each):
    """All that several do at once is in the table."""
    def one(i):
        for k in range(each):
            table.run("grant", 1, "--to", f"w{i}.{k}")
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        list(pool.map(one, range(count)))
    names = {n for d in table.json("list")["datasets"] for n in d["principals"]}
    equal({n for n in names if n[0] == "w"}, {f"w{i}.{k}" for i in range(count) for k in range(each)},
          "grants of writers at once")
    history = [h["generation"] for h in table.json("log")["history"]]
    equal(history, sorted(set(history)), "generations grow")


def on_s3(tmp, root):
    store = next((s for s in (stores.Versitygw(), stores.Minio()) if stores.find(s.program)), None)
    if store is None:
        print("no S3 server here: that part was left out", flush=True)
        return
    with store, stores.environment(store.env):
        store.bucket("bucket")
        store.upload("bucket", "r", root)
        os.environ["XDG_CACHE_HOME"] = str(tmp / "cache")
        table = Table(store.root("bucket", "r"))
        with dxtest.Server(table.root, "--poll-ms", 500) as server:
            table.run("init", "--public")
            until([1, 2, 3, *([] if PART else [4])], server, "init --public")
            table.run("revoke", *([3] if PART else [3, 4]), "--from", "*")
            until([1, 2], server, "on a store")
            writers(table, *((2, 1) if PART else (4, 2)))
            table.run("grant", "set3", "--to", add(table, "team-a"))
            token = table.token("team-a")
            until([1, 2, 3], server, "a token on a store", token=token)
            table.run("token", "revoke", "--principal", "team-a")
            seconds = until(401, server, "revoked on a store", token=token)
            print(f"on {store.program}, looked at each 500 ms: refused after {seconds * 1000:.0f} ms", flush=True)
            store.put("bucket", "r/index/access.json", b"{}")
            time.sleep(1)
            equal(sees(server), [1, 2], "damaged on a store: the last holds")
            check(not any(t in server.words() for t in table.tokens), "no token in the log")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = make_root(tmp)
        table = Table(root)
        with dxtest.Server(root, *HEADERS) as server:
            begins(table, server)
            refusals(table, server)
            team = tokens(table, server, grants(table, server))
            proxies(server)
            refused_tables(table, server, team)
            if not PART:
                stays(table, server, team)
            check(not any(t in server.words() for t in table.tokens), "no token in the log")
        took.sort()
        print(f"{len(took)} changes in a directory: seen after {took[len(took) // 2] * 1000:.0f} ms in the middle, "
              f"{took[-1] * 1000:.0f} ms at most", flush=True)
        dxtest.in_time(took[len(took) // 2], USUALLY_S, "half of the changes")
        asked_only(root, table)
        lasting(root, table)
        if not PART:
            of_an_older_version(root)
            cursors_after(root, table)
            behind_a_long_row(tmp)
            writers(table, 4, 3)
        stored = b"".join(p.read_bytes() for p in root.rglob("*") if p.is_file())
        check(not any(t.encode() in stored for t in table.tokens), "no token is stored")
        if PART:
            table.run("remove", "--yes")
        else:
            starts(tmp, root, table)
        on_s3(tmp, root)
    dxtest.finish()


if __name__ == "__main__":
    main()
