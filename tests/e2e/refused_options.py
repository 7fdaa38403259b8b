#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""Options that contradict each other, lack their operand or hold what cannot be are refused with a message that says why, before anything is written.

Each row is a command line, its exit code and words of the message; the root is the same before and behind all of them. What is allowed beside: reports of
`access` without a table, tokens of one principal, numbers and names of datasets, `help --man`.
"""
import hashlib
import json

import dxtest
from dxtest import check, equal

USAGE, REFUSED = 2, 1
HEX = "0123456789abcdef"


def rows(root, urls, tmp):
    """(exit code, words, arguments)"""
    ingest = ("ingest", "--root", root)
    into = (*ingest, "--dataset", "d")
    lookup = ("lookup", "--root", root)
    access = ("access", "--root", root)
    store = (*into, "--from", "file-store")
    queue = "amqp://localhost/?queue=q"
    many = tuple(word for n in range(33) for word in ("--extra-column", f"c{n}"))
    yield from (
        (USAGE, "--header and --no-header exclude each other", *into, "--header", "--no-header", urls),
        (USAGE, "--no-ts and --ts-column exclude each other", *into, "--no-ts", "--ts-column", "date", urls),
        (USAGE, "at most 32 extra columns", *into, *many, urls),
        (USAGE, "at most 32 columns beside URL, time and dataset", *into, *many[:64], "--canonical-column", "final", urls),
        (USAGE, "--dataset-from, --dataset and --dataset-column exclude each other", *into, "--dataset-from", "{file}", urls),
        (USAGE, "--dataset-from, --dataset and --dataset-column exclude each other", *ingest, "--dataset-column", "set", "--dataset-from", "{file}", urls),
        (USAGE, "--dataset-from: ", *ingest, "--dataset-from", "{}", urls),
        (USAGE, "standard input has no path to name the dataset by ({file})", *ingest, "--dataset-from", "{file}", urls, "-"),
        (USAGE, "give --dataset NAME, --dataset-column C, --dataset-from TEMPLATE", *ingest, urls),
        (USAGE, "give --dataset NAME, --dataset-column C, --dataset-from TEMPLATE", *into, "--dataset-column", "set", urls),
        (USAGE, "--dataset: a name is 1..", *ingest, "--dataset", "a\tb", urls),
        (USAGE, "--dataset-meta 'license': KEY=VALUE is expected", *into, "--dataset-meta", "license", urls),
        (USAGE, "--set-aside goes with --from file-store", *into, "--set-aside", urls),
        (USAGE, "--suppress-tombstones goes with --from file-store", *into, "--suppress-tombstones", urls),
        (USAGE, "--dry-run writes nothing", *store, "--dry-run", "--set-aside", tmp),
        (USAGE, "--dry-run writes nothing", *store, "--dry-run", "--suppress-tombstones", tmp),
        (USAGE, "--suppress-tombstones needs --dataset", *ingest, "--dataset-column", "set", "--from", "file-store", "--suppress-tombstones", tmp),
        (USAGE, "--from is file-store, amqp://", *into, "--from", "ftp://user:word@a.com/", tmp),
        (USAGE, "--from file-store takes one directory", *store, tmp, tmp),
        (USAGE, "INPUT is missing", *store),
        (USAGE, "a file store has its own columns", *store, "--url-column", "u", tmp),
        (USAGE, "a file store has its own columns", *store, "--header", tmp),
        (USAGE, "a file store has its own columns", *store, "--no-header", tmp),
        (USAGE, "--profile and --dataset-from are of files, not of --from", *store, "--profile", "cdxj", tmp),
        (USAGE, "--profile and --dataset-from are of files, not of --from", *ingest, "--dataset-from", "{file}", "--from", "file-store", tmp),
        (USAGE, "--locators and --from exclude each other", *into, "--locators", "--from", queue),
        (USAGE, "--in-place and --from exclude each other", *into, "--in-place", "--from", queue),
        (USAGE, "--dry-run cannot read a queue: what is read is taken", *into, "--dry-run", "--from", queue),
        (USAGE, "--require-ts and --no-ts exclude each other", *into, "--require-ts", "--no-ts", urls),
        (USAGE, "an AMQP URL cannot be an INPUT; use --from URL", *into, queue),
        (USAGE, "--root ROOT is missing", "ingest", "--dataset", "d", urls),
        (USAGE, "--root: the value is empty", "ingest", "--root", "", "--dataset", "d", urls),
        (USAGE, "--work-dir is for roots on object storage", *into, "--work-dir", tmp, urls),
        (USAGE, "--threads 9 needs --memory of at least 72M", *into, "--threads", "9", "--memory", "64M", urls),
        (USAGE, "INPUT is missing; give a file, or - for standard input", *into),
        (USAGE, "--detect needs an INPUT that is a file, and no --from", *into, "--detect"),
        (USAGE, "--detect needs an INPUT that is a file, and no --from", *into, "--detect", "--from", "file-store", tmp),
        (REFUSED, "the lists name no file", *into, "--detect", f"@{tmp}/empty"),
        (USAGE, "--journal-step goes with --journal", *into, "--journal-step", "1", urls),
        (USAGE, "--journal and --replace exclude each other", *into, "--journal", tmp / "j", "--replace", urls),
        (USAGE, "--journal: standard input has no name", *into, "--journal", tmp / "j", "-"),

        (USAGE, "--input and --datasets go with --names or --format", *lookup, "--datasets", "d", "a.com"),
        (USAGE, "--input and --datasets go with --names or --format", *lookup, "--input", "csv", "a.com"),
        (USAGE, "--tag does not go with --names or --format", *lookup, "--tag", "--format", "ndjson", "a.com"),
        (USAGE, "--dataset lists URLs, one name at a time", *lookup, "--dataset", "d", "--format", "ndjson", "a.com"),
        (USAGE, "--all-urls does not go with", *lookup, "--all-urls", "--dataset", "d", "a.com"),
        (USAGE, "--all-urls does not go with", *lookup, "--all-urls", "--url", "http://a.com/"),
        (USAGE, "--all-urls does not go with", *lookup, "--all-urls", "--tag", "a"),
        (USAGE, "--all-urls does not go with", *lookup, "--all-urls", "--names", urls),
        (USAGE, "--all-urls does not go with", *lookup, "--all-urls", "--format", "ndjson", "a.com"),
        (USAGE, "--url looks up URLs, in all datasets", *lookup, "--url", "--dataset", "d", "http://a.com/"),
        (USAGE, "--url looks up URLs, in all datasets", *lookup, "--url", "--names", urls),
        (USAGE, "--url looks up URLs, in all datasets", *lookup, "--url", "--format", "ndjson", "http://a.com/"),
        (USAGE, "--of goes with --tag", *lookup, "--of", "urls", "a.com"),
        (USAGE, "--tag does not go with --url or --offset", *lookup, "--tag", "--url", "a"),
        (USAGE, "--tag does not go with --url or --offset", *lookup, "--tag", "--offset", "1", "a"),
        (USAGE, "--fields: 'nothing' is not a field", *lookup, "--fields", "url,nothing", "--dataset", "d", "a.com"),
        (USAGE, "--root is missing", "lookup", "a.com"),
        (USAGE, "no domain is given", *lookup),

        (USAGE, "which datasets? ids or names", *access, "grant", "--to", "p"),
        (USAGE, "--to PRINCIPAL is missing", *access, "grant", "d"),
        (USAGE, "--from PRINCIPAL is missing", *access, "revoke", "d"),
        (USAGE, "principal add NAME, or principal remove NAME", *access, "principal", "change", "p"),
        (USAGE, "principal add NAME, or principal remove NAME", *access, "principal"),
        (USAGE, "principal add whom?", *access, "principal", "add"),
        (USAGE, "unexpected argument 'q'", *access, "principal", "add", "p", "q"),
        (USAGE, "--all and --not-all", *access, "principal", "add", "p", "--all", "--not-all"),
        (USAGE, "token new, token list or token revoke", *access, "token"),
        (USAGE, "token new, token list or token revoke", *access, "token", "change"),
        (USAGE, "token new for whom?", *access, "token", "new"),
        (USAGE, "an id of a token is 8 or more hex digits", *access, "token", "revoke", "0123456"),
        (USAGE, "an id of a token is 8 or more hex digits", *access, "token", "revoke", HEX * 5),
        (USAGE, "an id of a token is 8 or more hex digits", *access, "token", "revoke", "0123456X"),
        (USAGE, "which? ids of 'access token list'", *access, "token", "revoke"),
        (USAGE, "--dry-run goes with actions that change the table", *access, "list", "--dry-run"),
        (USAGE, "say --yes", *access, "remove"),
        (USAGE, "standard input does not hold a token", *access, "token", "revoke", "-"),

        (USAGE, "give --root ROOT", "domain64", "status"),
        (USAGE, "give one of init, fill, status, tree, ddl", "domain64", "--root", root),
        (USAGE, "give one of init, fill, status, tree, ddl", "domain64", "--root", root, "ranges"),
        (USAGE, "--dry-run goes with init and fill", "domain64", "--root", root, "status", "--dry-run"),
        (USAGE, "--quiet goes with fill", "domain64", "--root", root, "status", "--quiet"),
        (USAGE, "--json goes with init, fill, status and ranges", "domain64", "--root", root, "tree", "--json"),
        (USAGE, "--json goes with init, fill, status and ranges", "domain64", "--root", root, "ddl", "--json"),

        (USAGE, "give --scheme", "key"),
        (USAGE, "give no operands", "key", "--scheme", "url_id", "http://a.com/"),
        (USAGE, "--clean works with --scheme store_key only", "key", "--scheme", "url_id", "--clean"),
        (USAGE, "--decode: a url_id is a hash", "key", "--scheme", "url_id", "--decode"),
        (USAGE, "--scheme domain64 needs --root ROOT", "key", "--scheme", "domain64"),
        (USAGE, "--root works with --scheme domain64 only", "key", "--scheme", "url_id", "--root", root),
        (USAGE, "--root works with --scheme domain64 only", "key", "--scheme", "domain64", "--root", root, "--layout", "8-24-24-8"),

        (USAGE, "one URL or locator is expected", "fetch-record", "--root", root),
        (USAGE, "--list and --dataset go with a URL, not with a locator", "fetch-record", "--list", "a.gz#warc=0+9"),
        (USAGE, "--list and --dataset go with a URL, not with a locator", "fetch-record", "--root", root, "--dataset", "d", "a.gz#warc=0+9"),
        (USAGE, "--url goes with a locator", "fetch-record", "--root", root, "--url", "http://a.com/", "http://a.com/"),
        (USAGE, "--root is missing; 'http://a.com/' is not a locator", "fetch-record", "http://a.com/"),

        (USAGE, "--root ROOT is needed", "gc"),
        (USAGE, "--delete and --dry-run exclude each other", "gc", "--root", root, "--delete", "--dry-run"),
        (USAGE, "--root ROOT and --to DEST are needed", "backup", "--root", root),
        (USAGE, "more: no operand is expected", "backup", "--root", root, "--to", tmp / "b", "more"),
        (USAGE, "--all and --version exclude each other", "backup", "--root", root, "--to", tmp / "b", "--all", "--version", "1"),
        (USAGE, "--field is url, domain, host or scheme, not 'path'", "normalize", "--field", "path"),
        (USAGE, "give no operands", "normalize", "http://a.com/"),
        (USAGE, "give --to URL", "ship", urls),
        (USAGE, "give --dataset NAME", "ship", "--to", queue, urls),
        (USAGE, "--dataset a", "ship", "--to", queue, "--dataset", "a\nb", urls),
        (USAGE, "give one FILE", "ship", "--to", queue, "--dataset", "d"),
        (USAGE, "the URL of a server is missing", "bench"),
        (USAGE, "--path x: begins with /", "bench", "--path", "x", "http://127.0.0.1:1"),
        (USAGE, "begins with / and is below", "bench", "--path", "/" + "x" * 9000, "http://127.0.0.1:1"),
        (USAGE, "--cacert and --insecure go with https:// only", "bench", "--insecure", "http://127.0.0.1:1"),
        (USAGE, "--cacert and --insecure exclude each other", "bench", "--insecure", "--cacert", urls, "https://127.0.0.1:1"),
        (USAGE, "is not the number of a rule", "suppress", "--root", root, "lift", "x", "--reason", "r"),
        (USAGE, "is not the number of a rule", "suppress", "--root", root, "lift", "1234567890", "--reason", "r"),
        (USAGE, "is not the number of a rule", "suppress", "--root", root, "lift", "1x", "--reason", "r"),
        (USAGE, "the number of a rule is missing", "suppress", "--root", root, "lift", "--reason", "r"),
        (USAGE, "the first line is not a token of up to", "bench", "--token-file", tmp / "empty", "http://127.0.0.1:1"),
        (USAGE, "the first line is not a token of up to", "bench", "--token-file", tmp / "long", "http://127.0.0.1:1"),
        (USAGE, "the first line is not a token of up to", "bench", "--token-file", tmp / "none", "http://127.0.0.1:1"),
        (USAGE, "the first line is not a token of up to", "bench", "--token-file", tmp / "letters", "http://127.0.0.1:1"),
        (REFUSED, "no names", "bench", "--names", tmp / "lines", "http://127.0.0.1:1"),
        (REFUSED, "no names", "bench", "--names", tmp / "none", "--token-file", tmp / "cr", "http://127.0.0.1:1"),
        (USAGE, "--root, --table, --number and FILE are needed", "commit-table", "--root", root, "--table", "urls", urls),
        (USAGE, "nothing", "help", "nothing"),
        (USAGE, "--limit: at most", *lookup, "--url", "--limit", "1001", "http://a.com/"),
        (USAGE, "--limit: at most", *lookup, "--tag", "--limit", "1001", "a"),
        (REFUSED, "has no dataset '12345678901'", *lookup, "--dataset", "12345678901", "a.com"),
        (REFUSED, "has no dataset 'id:9'", *lookup, "--dataset", "id:9", "a.com"),
        (REFUSED, "has no dataset '1x'", *lookup, "--dataset", "1x", "a.com"),
        (REFUSED, "'2' is the name of dataset 1, and the number of another one: say id:2 or name:2", *lookup, "--dataset", "2", "a.com"),
        (USAGE, "--table Bad: use 1 to 40 of a-z", "domain64", "--root", root, "ddl", "--table", "Bad"),
        (USAGE, "--table ", "domain64", "--root", root, "ddl", "--table", "a" * 41),
        (USAGE, "--table : use 1 to 40", "domain64", "--root", root, "ddl", "--table", ""),
        (USAGE, "--table 9a: use 1 to 40", "domain64", "--root", root, "ddl", "--table", "9a"),
    )


def files_of(root):
    return {path.relative_to(root): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(root.rglob("*")) if path.is_file()}


def refusals(root, tmp):
    urls = tmp / "urls.txt"
    urls.write_text("http://a.com/\n")
    (tmp / "empty").write_text("# nothing\n")
    for name, text in (("long", "x" * 5000), ("none", ""), ("letters", "tök\n"), ("lines", "\n\t\n\r\n"), ("cr", "token\r\n")):
        (tmp / name).write_text(text)
    before = files_of(root)
    for code, words, *arguments in rows(root, urls, tmp):
        done = dxtest.domaindex(*arguments, input=b"no token\n", expect=None)
        said = done.stderr.decode()
        shown = " ".join(str(word)[:40] for word in arguments[:12])
        equal(done.returncode, code, f"exit code of {shown}: {said[-300:]}")
        check(words in said, f"{shown}: {words!r} is not in {said[-400:]!r}")
        check(not done.stdout, f"{shown}: prints {done.stdout[:200]}")
        check("user:word" not in said, f"{shown}: a password is repeated")
    equal(files_of(root), before, "files of the root behind all refusals")


def access(root):
    """Tables of tokens; what there is to say where no table is in force."""
    def run(*arguments, expect=0):
        done = dxtest.domaindex("access", "--root", root, *arguments, expect=expect)
        return done.stdout.decode().strip(), done.stderr.decode()

    check("no table is in force: everybody may see all" in run("list")[1], "a list without a table")
    equal(run("list", "--quiet")[1], "", "a quiet list without a table")
    check("it is so already" in run("remove", "--yes")[1], "no table is removed")
    check("it is so already" in run("accept", "--yes", "--dry-run")[1], "no table is the newest one")
    run("init")
    check("there is no principal 'p'" in run("token", "new", "p", expect=1)[1], "a token for nobody")
    run("principal", "add", "p", "--all", "--cost-per-s", "5")
    check("it is so already" in run("principal", "add", "p", "--all", "--cost-per-s", "5")[1], "the same once more")
    check("generation" in run("principal", "add", "p", "--cost-per-s", "6")[1], "another rate")
    check("generation" in run("principal", "add", "p", "--cost-burst", "70")[1], "another burst")
    run("grant", "a", "--to", "q", "--to", "*")
    said = run("revoke", "a", "--from", "q")[1]
    check("is granted to everybody, so q sees it all the same" in said, f"a grant to everybody: {said}")
    said = run("revoke", "a", "--from", "p")[1]
    check("p sees every dataset all the same: 'access principal add p --not-all'" in said, f"one that sees all: {said}")
    check("generation" in run("principal", "add", "p", "--not-all")[1], "sees all no more")
    tokens = [run("token", "new", "p")[0] for _ in range(2)]
    check("p has two tokens, " in run("token", "new", "p", expect=1)[1], "a third token")
    ids = [hashlib.sha256(token.encode()).hexdigest() for token in tokens]
    check("no such token is in the table" in run("token", "revoke", "0" * 8, expect=1)[1], "a token of nobody")
    check("would change" in run("token", "revoke", ids[0][:8], "--dry-run")[1], "a dry run")
    check("1 token revoked" in run("token", "revoke", ids[0])[1], "by all of its id")
    check("no such token is in the table" in run("token", "revoke", ids[0], expect=1)[1], "once more")
    run("token", "new", "p", "--quiet")
    check("2 tokens revoked" in run("token", "revoke", "--principal", "p")[1], "all of one")
    run("token", "new", "q", "--dry-run", expect=1)  # its grant was revoked, and it was never added
    run("remove", "--yes", "--quiet")
    equal(run("status", "--json", "--quiet")[1], "", "a status is on standard output")


def names_of_datasets(root):
    """A dataset is called "2", and another one has that number."""
    def lookup(said):
        return dxtest.domaindex("lookup", "--root", root, "--dataset", said, "a.com").stdout.decode()

    equal(lookup("id:1"), lookup("name:2"), "by id and by name")
    equal(lookup("1"), lookup("id:1"), "a number that is not the name of a dataset")
    equal(lookup("id:2"), lookup("name:a"), "the other one")
    check(lookup("id:1") != lookup("id:2"), "two datasets")


def help_pages():
    """Manual pages have no line that begins with what mdoc takes for a macro, but for its own."""
    overview = dxtest.domaindex("help", "--man").stdout.decode()
    commands = [line.split()[2] for line in overview.splitlines() if line.startswith(".It Cm ")]
    check(len(commands) > 20 and "ingest" in commands, f"commands: {commands}")
    for name in ("ingest", "key", "bench"):
        page = dxtest.domaindex("help", "--man", name).stdout.decode()
        for line in page.splitlines():
            check(not line.startswith(("'", "..")) and (not line.startswith(".") or line[1:3].isalpha()), f"{name}: {line!r}")
        check(".Sh EXIT STATUS" in page and f".Nm domaindex-{name}" in page, f"{name}: {page[:300]}")
        equal(dxtest.domaindex(name, "-h").stdout, dxtest.domaindex("help", name).stdout, f"{name} -h")
    done = dxtest.domaindex("normalize", "--", "--help", expect=2)
    check("'--help': URLs are read from standard input" in done.stderr.decode(), f"behind -- all are operands: {done.stderr}")
    done = dxtest.domaindex("normalize", "--", "--verbose", expect=2)
    check("'--verbose': URLs are read from standard input" in done.stderr.decode(), f"behind -- all are operands: {done.stderr}")


def fields_of_urls():
    """`normalize --field`: one part of the URL."""
    text = b"HTTP://www.A.co.uk:80/x\nnot a url\n"
    for field, want in (("url", "http://www.a.co.uk/x"), ("domain", "a.co.uk"), ("host", "www.a.co.uk"), ("scheme", "http")):
        done = dxtest.domaindex("normalize", "--field", field, input=text, expect=None)
        check(want in done.stdout.decode().splitlines()[0].split("\t"), f"{field}: {done.stdout}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        for name, count in (("2", 1), ("a", 2)):
            dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-",
                             input="".join(f"http://a.com/{i}\n" for i in range(count)).encode())
        dxtest.domaindex("publish", "--root", root)
        before = files_of(root)
        dxtest.domaindex("domain64", "--root", root, "init", "--dry-run")
        equal(files_of(root), before, "a dry run of domain64 init")
        dxtest.domaindex("domain64", "--root", root, "init")
        equal(json.loads((root / "index" / "manifest.json").read_text())["versions"][0]["sequence"], 1, "one version")
        refusals(root, tmp)
        names_of_datasets(root)
        access(root)
    help_pages()
    fields_of_urls()
    dxtest.finish()


if __name__ == "__main__":
    main()
