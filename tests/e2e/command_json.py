#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""`--json` of the commands that report: one line of JSON on standard output, with the numbers that are true; the exit code is the same."""
import fcntl
import itertools
import json
import re
import threading
import time

import dxtest
from dxtest import check, equal

LISTS = {"a": ["https://www.example.com/1", "https://example.com/2", "https://example.org/"], "b": ["https://example.com/2", "https://example.net/x"]}


seen = {}  # command -> paths of members


def see(command, value, path=""):
    if isinstance(value, dict):
        for name, inner in value.items():
            seen.setdefault(command, set()).add(path + name)
            see(command, inner, f"{path}{name}.")
    elif isinstance(value, list):
        for inner in value:
            see(command, inner, f"{path[:-1]}[]." if path else "")


def result(*arguments, expect=0):
    done = dxtest.domaindex(*arguments, "--json", expect=expect)
    lines = done.stdout.decode().splitlines()
    equal(len(lines), 1, f"{arguments[0]} --json prints one line")
    value = json.loads(lines[0])
    see(arguments[0], value)
    return value


def has(got, want, what):
    equal({key: got.get(key) for key in want}, want, what)


def some(things, step=5):
    """All of them with DX_WHOLE=1, else every fifth."""
    return list(things)[::1 if dxtest.WHOLE else step]


def capacity():
    """Sums of its own table; bench/model.py compares it with real builds."""
    some = result("capacity", "--domains", 1000000, "--pairs", 1200000, "--urls", 2000000)
    twice = result("capacity", "--domains", 2000000, "--pairs", 2400000, "--urls", 4000000)
    check(0 < some["index_bytes"] - sum(some["files"].values()) < 1 << 20, "the index is its files and little more")
    check(abs(twice["lake_bytes"] - 2 * some["lake_bytes"]) <= 8, "twice as much has twice as many bytes")
    check(2 * some["mapped_bytes"] - 4000000 / 8 - 8 <= twice["mapped_bytes"] <= 2 * some["mapped_bytes"], "and of an id a bit less")
    check(0 <= some["disk_bytes"] - some["lake_bytes"] - 2 * some["index_bytes"] <= 2, "two versions; each number is rounded down")
    equal((some["work_bytes"], result("capacity", "--domains", 1000000, "--memory", "64M")["work_bytes"] > 0), (0, True), "work space beyond --memory")
    for bad in ((), ("--domains", 0), ("--domains", 10, "--pairs", 9), ("--domains", 10, "--urls", 5), ("--domains", 10, "x")):
        equal(dxtest.domaindex("capacity", *bad, expect=2).stdout, b"", f"capacity {bad}")


def rows(*arguments, expect=0, **options):
    values = [json.loads(line) for line in dxtest.domaindex(*arguments, "--json", expect=expect, **options).stdout.decode().splitlines()]
    for value in values:
        see(arguments[0], value)
    return values


def keys(root):
    """A line for each that is asked, keys and bounds as strings; the exit code is that of the text."""
    url = 'https://example.com/"\\'
    plain = dxtest.domaindex("key", "--scheme", "url_id", input=url.encode()).stdout.decode()
    equal(rows("key", "--scheme", "url_id", input=f"{url}\nhttp://\n".encode(), expect=1),
          [{"asked": url, "key": plain.split("\t")[0]}, {"asked": "http://", "reason": "host_missing"}], "key")
    at = ("key", "--scheme", "domain64", "--root", root)
    (row,) = rows(*at, "--format", "hex", input=b"https://example.com/2\n")
    back, unknown = rows(*at, "--decode", input=f"{row['key']}\n0x7f00000100000001\n".encode(), expect=1)
    equal((back["asked"], set(back), unknown["reason"]), (row["key"], {"asked", "name"}, "unknown"), "key --decode")
    (fields,) = rows("key", "--scheme", "domain64", "--decode", input=f"{row['key']}\n".encode())
    equal(fields["fields"].replace(":", ""), row["key"][2:], "key --decode without a registry")
    found, none = rows("domain64", "ranges", "--root", root, "com.example", "net.none", expect=1)
    plain = dxtest.domaindex("domain64", "ranges", "--root", root, "com.example").stdout.decode().rstrip("\n")
    equal(("\t".join(found[key] for key in ("name", "from", "to")), none), (plain, {"name": "net.none", "reason": "unknown"}), "ranges")
    dxtest.domaindex("domain64", "tree", "--root", root, "--json", expect=2)
    dxtest.domaindex("domain64", "status", "--root", root, "--dry-run", expect=2)


def policy(root):
    """Each edit dry, then done, then done again: the dry run changes nothing and prints no token."""
    turns = itertools.count()

    def edit(*words):
        compared = dxtest.WHOLE or next(turns) % 3 == 0
        before = compared and result("access", "status", "--root", root)
        dry = result("access", *words, "--root", root, "--dry-run")
        equal(compared and result("access", "status", "--root", root), before, f"{words}: a dry run changes nothing")
        done = result("access", *words, "--root", root)
        equal((dry["dry_run"], done["dry_run"], dry["changed"]), (True, False, done["changed"]), f"{words}")
        equal(dry["generation"], None if done["changed"] else done["generation"], f"{words}: generation")
        check("token" not in dry, f"{words}: a dry run makes no token")
        return done
    first = edit("init")
    has(first, {"action": "init", "changed": True}, "access init")
    has(edit("init"), {"changed": False, "generation": first["generation"]}, "access init again")
    granted = edit("grant", "a", "--to", "team")
    check(granted["action"] == "grant" and granted["changed"] and granted["generation"] > first["generation"], f"access grant: {granted}")
    made = edit("token", "new", "team")
    check(made["token"].startswith("dx") and len(made["token_id"]) == 16, f"access token new: {set(made)}")
    has(edit("token", "revoke", made["token_id"]), {"tokens_revoked": 1, "changed": True}, "access token revoke")
    has(edit("revoke", "a", "--from", "team"), {"action": "revoke", "changed": True}, "access revoke")
    dxtest.domaindex("access", "list", "--root", root, "--dry-run", expect=2)
    dxtest.domaindex("access", "remove", "--root", root, "--dry-run")
    dxtest.domaindex("access", "remove", "--root", root, expect=2)
    has(edit("accept"), {"action": "accept", "changed": False}, "access accept")
    has(edit("remove", "--yes"), {"action": "remove", "changed": True}, "access remove")


def exported(tmp, root):
    dry = result("export", "--root", root, "--file-store", tmp / "store", "--dry-run")
    check(not (tmp / "store").exists(), "a dry run makes no folder")
    done = result("export", "--root", root, "--file-store", tmp / "store")
    equal(dry, done | {"dry_run": True}, "export, dry and done")
    dxtest.domaindex("export", "--root", root, "--file-store", tmp / "store", "--dry-run", expect=1)
    has(done, {"file_store": str(tmp / "store"), "rows": 3, "rows_suppressed": 0, "pages": 3}, "export")


# What each command does: facts: prints some, changes: writes something that outlives it, locks: takes the lock of a directory for as
# long as it runs, talks: prints a summary or progress on standard error. A new command stands here before it passes.
KINDS = {
    "facts": set("adopt access backup bench capacity compact datasets diff doctor domain64 export files gc ingest inspect key lookup normalize overlap profiles "
                 "publish receipt remove rollback ship suppress top-domains verify versions fetch-record completion".split()),
    "changes": set("adopt access backup bench commit-table compact doctor domain64 export gc ingest publish remove rollback ship suppress".split()),
    "locks": set("access adopt compact domain64 gc ingest publish remove rollback suppress".split()),
    "talks": set("access adopt backup compact diff domain64 export gc ingest lookup publish remove rollback ship suppress top-domains verify".split()),
}
# The option that such a command has, and the commands that do without, with the reason.
RULES = {
    "json": ("facts", {"completion": "prints a script", "fetch-record": "prints a record's bytes; --list prints JSON anyway"}),
    "dry-run": ("changes", {"bench": "writes the page of --html only, which is named for it", "doctor": "--write is the wish to try a store, by objects that it removes",
                            "commit-table": "the last step of an update, for programs: all that is left is the condition"}),
    "wait": ("locks", {"access": "the lock is held for an instant, and waited for 30 s", "suppress": "likewise", "domain64": "likewise, 60 s"}),
    "quiet": ("talks", {}),
}
MORE = {"wait": {"ship": "how long to go on when the broker is away"}}  # an option of that name that means something else


def options_of_all(root):
    """The table of each command against the rules, and that each does what it says."""
    told = dxtest.domaindex("--help").stdout.decode().split("commands:\n")[1].split("\n\n")[0]
    helps = {name: dxtest.domaindex(name, "--help").stdout.decode() for name in re.findall(r"(?m)^  ([a-z0-9-]+) ", told)}
    check(len(helps) >= 30, f"commands: {sorted(helps)}")
    equal(set().union(*KINDS.values()), set(helps), "commands that KINDS names")
    for option, (kind, without) in RULES.items():
        equal(sorted(name for name, text in helps.items() if re.search(rf"(?m)^  --{option}\b", text)),
              sorted(KINDS[kind] - set(without) | set(MORE.get(option, ()))), f"commands with --{option}")
    equal(sorted(name for name, text in helps.items() if "--verbose" not in text), [], "commands without --verbose")
    for name in some(helps):  # a usage error is 2 everywhere, and says what is wrong
        done = dxtest.domaindex(name, "--no-such-option", expect=2)
        check(done.stdout == b"" and b"no-such-option" in done.stderr, f"{name}: a usage error: {done}")
    for command in (("overlap", "a", "b"), ("lookup", "example.com"), ("top-domains", "--dataset", "a")):
        equal(dxtest.domaindex(*command, "--root", root, "--json").stdout, dxtest.domaindex(*command, "--root", root).stdout, f"{command[0]} --json changes nothing")
    dxtest.domaindex("top-domains", "--dataset", "a", "--root", root, "--json", "--csv", expect=2)
    return helps


def suppressions(root):
    """Edits of the log: as JSON, dry, and without words on standard error."""
    at = ("--root", root, "--quiet")
    words = ("add", *at, "--host", "hidden.example", "--url", 'https://b.example/"', "--reason", "r")
    dry = result("suppress", *words, "--dry-run")
    has(result("suppress", "list", "--root", root), {"suppressions": []}, "a dry run adds nothing")
    done = result("suppress", *words)
    equal((done["rules"], dry["dry_run"], done["dry_run"]), (dry["rules"], True, False), "suppress add, dry and done")
    equal([(r["rule"], r["kind"], r["policy"], r["value"], r["added"]) for r in done["rules"]],
          [(1, "host", "withheld", "hidden.example", True), (2, "url", "withheld", "https://b.example/%22", True)], "suppress add")
    again = result("suppress", *words)
    equal([(r["rule"], r["added"]) for r in again["rules"]], [(None, False)] * 2, "suppress add again")
    for more, want in ((("--dry-run",), True), ((), False)):
        has(result("suppress", "lift", *at, 1, *more), {"action": "lift", "rules": [{"rule": 3, "lifts": 1}], "dry_run": want}, "suppress lift")
    for more, want in ((("--dry-run",), True), ((), False)):
        has(result("suppress", "accept", *at, *more), {"action": "accept", "lines": 3, "dry_run": want}, "suppress accept")
    dxtest.domaindex("suppress", "status", "--root", root, "--dry-run", expect=2)
    for command in (("suppress", "add", *at, "--domain", "q.example"), ("suppress", "lift", *at, 4), ("access", "init", *at), ("access", "principal", "add", "p", *at),
                    ("access", "token", "new", "p", *at), ("access", "remove", "--yes", *at), ("access", "accept", *at), ("access", "list", *at)):
        equal(dxtest.domaindex(*command).stderr, b"", f"{command[:2]} --quiet")


def waits(root, words):
    """gc --wait SECONDS: so long gc waits for another command."""
    with open(root / ".lock", "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = dxtest.domaindex(*words, "--wait", 0, expect=1)
        check(b"another domaindex is writing there" in done.stderr, f"gc --wait 0: {done.stderr!r}")
        threading.Timer(0.3, fcntl.flock, (lock, fcntl.LOCK_UN)).start()
        return result(*words, "--wait", 60)


def quiet(root, tmp):
    """Where all is well standard error is empty; what fails says why."""
    urls = tmp / "quiet"
    urls.write_text("https://quiet.example/\n")
    at = ("--root", root, "--quiet")
    for command in (("ingest", *at, "--dataset", "q", "--format", "list", urls), ("ingest", *at, "--dry-run", "--dataset", "q2", "--format", "list", urls), ("publish", *at), ("backup", *at, "--to", tmp / "quiet-copy"),
                    ("export", *at, "--file-store", tmp / "quiet-store"), ("remove", *at, "--dataset", "q"), ("publish", *at), ("compact", *at)):
        equal(dxtest.domaindex(*command).stderr, b"", f"{command[0]} --quiet")
    older = json.loads(dxtest.domaindex("versions", "--root", root, "--json").stdout)["versions"][1]["version"]
    done = dxtest.domaindex("rollback", *at, "--force", older)
    equal((done.stderr, done.stdout.decode()), (b"", f"{older}\n"), "rollback --quiet")
    check(dxtest.domaindex("remove", *at, "--dataset", "nowhere", expect=1).stderr != b"", "an error is printed all the same")


def errors(root, tmp, helps):
    """A command that fails prints one object with the error, and a usage error none; each command that has --json is tried, without
    DX_WHOLE=1 every other one, in one of three ways."""
    none, at = tmp / "no" / "root", ("--root", root)
    wrong = tmp / "wrong.parquet"
    wrong.write_bytes(b"PAR1")
    failing = {
        "access": ("status", "--root", none), "adopt": (*at, "--list", none), "backup": ("--root", none, "--to", tmp / "copy"),
        "bench": ("--names", none, "http://127.0.0.1:1"), "compact": ("--root", none), "datasets": ("--root", none), "diff": ("--root", none, 1, 2),
        "domain64": ("status", "--root", none), "export": ("--root", none, "--file-store", tmp / "no-store"), "files": ("--root", none), "gc": ("--root", none),
        "ingest": ("--root", tmp / "new", "--dataset", "d", none), "inspect": (wrong,), "key": ("--scheme", "url_id", "--psl", none), "lookup": ("--root", none, "a.com"),
        "normalize": ("--psl", none), "overlap": ("--root", none, "a", "b"), "profiles": ("cc-index", "--datasets-of", none), "publish": ("--root", none),
        "receipt": ("verify", "--key", none, none, none), "remove": ("--root", none, "--dataset", "a"), "rollback": ("--root", none, 1),
        "ship": ("--to", "amqp://127.0.0.1:1/%2f?queue=q", "--dataset", "d", none), "suppress": ("list", "--root", none), "top-domains": ("--root", none, "--dataset", "a"),
        "verify": ("--root", none), "versions": ("--root", none),
    }
    never = {"capacity", "doctor"}  # one only calculates; the other prints its findings
    equal(set(failing) | never, KINDS["facts"] - set(RULES["json"][1]), "commands whose failure is tried")
    for number, (command, words) in enumerate(failing.items()):
        if dxtest.WHOLE or number % 6 == 0:
            done = dxtest.domaindex(command, *words, "--json", expect=1)
            lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
            check(len(lines) == 1 and isinstance(lines[0].get("error"), str) and lines[0]["error"] in done.stderr.decode(), f"{command} --json that fails: {done}")
            check(re.search(r"(?:^|\s)(\S+: )\1", done.stderr.decode()) is None, f"{command}: the message repeats a name: {done.stderr}")
        if dxtest.WHOLE or number % 6 == 1:
            equal(dxtest.domaindex(command, *words, expect=1).stdout, b"", f"{command} that fails without --json")
        if dxtest.WHOLE or number % 6 == 2:
            done = dxtest.domaindex(command, *words, "--json", "--no-such-option", expect=2)
            equal(done.stdout, b"", f"{command} --json after a usage error")
            check(done.stderr.startswith(f"domaindex {command}: ".encode()), f"{command}: {done.stderr}")
    rooted = [command for command in sorted(KINDS["facts"] | KINDS["changes"]) if "--root ROOT" in helps[command].split("options:")[-1]]
    for command in some(rooted):  # an empty name of a root is a usage error that names the option
        done = dxtest.domaindex(command, "--root", "", expect=2)
        check(b"--root: the value is empty" in done.stderr, f"{command} --root '': {done.stderr}")
    for words in some((("datasets", *at, "x"), ("suppress", "list", *at, "x"), ("suppress", "status", *at, "x"), ("suppress", "accept", *at, "x"), ("versions", *at, "x"),
                  ("verify", *at, "x"), ("publish", *at, "x"), ("gc", *at, "x"), ("compact", *at, "x"), ("files", *at, "x"), ("capacity", "--domains", 1, "x"),
                  ("diff", *at, 1, 2, "x"), ("overlap", *at, "a", "b", "x"), ("rollback", *at, 1, 2), ("remove", *at, "--dataset", "a", "x"), ("doctor", "x"),
                  ("export", *at, "--file-store", tmp / "no-store", "x"), ("top-domains", *at, "--dataset", "a", "x"), ("backup", *at, "--to", tmp / "copy", "x"),
                  ("access", "status", *at, "x"), ("access", "log", *at, "x"), ("access", "init", *at, "x"), ("access", "list", *at, "x"),
                  ("domain64", "status", *at, "x"), ("domain64", "tree", *at, "x"), ("key", "--scheme", "url_id", "x"), ("normalize", "x"), ("completion", "bash", "x"),
                  ("profiles", "cc-index", "x"), ("adopt", *at, "--list", none, "x"), ("receipt", "verify", "--key", none, none, none, "x"), ("help", "gc", "x"))):
        done = dxtest.domaindex(*words, expect=2)
        equal(done.stdout, b"", f"{words}: an operand too many")
    full = dxtest.run("sh", "-c", "exec \"$@\" > /dev/full", "sh", dxtest.DOMAINDEX, "lookup", "--root", root, "example.com", expect=1)
    check(b"standard output: No space left" in full.stderr, f"lookup, nowhere to write: {full.stderr}")


def documented():
    """Members that were printed stand in docs/OPERATIONS.md; those that stand there are words of the program."""
    table = (dxtest.SOURCE / "docs" / "OPERATIONS.md").read_text(encoding="utf-8").split("### Members of `--json`")[1].split("\n## ")[0]
    told = {}
    for commands, member in re.findall(r"(?m)^\| ((?:`[a-z0-9-]+`(?:, )?)+) \| ((?:`[^`]+`(?:, )?)+) \|", table):
        for command in re.findall(r"`([^`]+)`", commands):
            told.setdefault(command, set()).update(re.findall(r"`([^`]+)`", member))
    for command in sorted(seen):
        pattern = "|".join(re.escape(name).replace(r"\*", ".+") for name in told.get(command, ()))
        equal([path for path in sorted(seen[command]) if not re.fullmatch(pattern, path)], [], f"members of {command} that OPERATIONS does not document")


def named_as_number(tmp):
    """Whoever makes a dataset called 1 neither adds its files to those of the dataset with this number nor keeps others from it."""
    root = tmp / "numbers"
    for name in ("one", "1"):
        dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-", input=f"https://site-{name}.example/\n".encode())
    dxtest.domaindex("publish", "--root", root)
    done = dxtest.domaindex("files", "--root", root, "--dataset", "1", expect=1)
    check(b"id:1 or name:1" in done.stderr, f"a dataset called as the number of another: {done.stderr}")
    for said, name in (("id:1", "one"), ("name:1", "1"), ("one", "one"), ("2", "1")):
        equal([file["dataset"] for file in result("files", "--root", root, "--dataset", said)["files"]], [name], f"files --dataset {said}")
        top = dxtest.domaindex("top-domains", "--root", root, "--dataset", said, "--json").stdout
        equal(json.loads(top)["domain"], f"site-{name}.example", f"top-domains --dataset {said}")


def main():
    dxtest.need_programs()
    capacity()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        for name, urls in LISTS.items():
            path = tmp / name
            path.write_text("".join(url + "\n" for url in urls))
            dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", path)
            has(result("publish", "--root", root, "--dry-run"), {"dry_run": True, "files_new": 1}, f"dry run, {name}")
            first = result("publish", "--root", root)
            has(first, {"unchanged": False, "complete": True, "files_left_out": 0, "left_out": [], "rows_twice": 0}, f"publish {name}")
            time.sleep(1)  # names of versions have whole seconds
        has(first, {"domains": 3, "datasets": 2, "pairs": 4, "rows": 5, "urls": 5, "rows_scanned": 2, "incremental": True}, "publish b")
        has(result("publish", "--root", root), {"unchanged": True, "version": first["version"]}, "publish of nothing new")
        versions = json.loads(dxtest.domaindex("versions", "--root", root, "--json").stdout)["versions"]

        sound = result("verify", "--root", root, "--deep")
        has(sound, {"sound": True, "deep": True, "damage_count": 0, "damages": [], "domains": 3, "rows": 5, "version": first["version"]}, "verify")

        older = versions[-1]["version"]
        has(result("rollback", "--root", root, older, "--dry-run"), {"from": first["version"], "to": older, "dry_run": True}, "rollback, dry")
        has(result("rollback", "--root", root, older), {"from": first["version"], "to": older, "unchanged": False, "dry_run": False}, "rollback")
        has(result("rollback", "--root", root, older), {"unchanged": True}, "rollback to what is current")
        has(result("rollback", "--root", root, first["version"]), {"to": first["version"]}, "and back")

        has(result("compact", "--root", root, "--dry-run"), {"dry_run": True, "files_left_out": 0}, "compact, dry")
        merged = result("compact", "--root", root)
        has(merged["publish"], {"domains": 3, "rows": 5, "complete": True}, "compact")

        helps = options_of_all(root)
        gone = result("remove", "--root", root, "--dataset", "b", "--dry-run")
        equal([(d["name"], gone["dry_run"]) for d in gone["datasets"]], [("b", True)], "remove, dry")
        gone = result("remove", "--root", root, "--dataset", "b")
        equal([(d["name"], d["files"] > 0) for d in gone["datasets"]], [("b", True)], "remove")
        has(result("publish", "--root", root), {"datasets": 1, "rows": 3}, "publish without b")

        listed = result("files", "--root", root)
        equal({file["dataset"] for file in listed["files"]}, {"a"}, "files")
        equal(dxtest.domaindex("suppress", "status", "--root", root).stdout, b"", "suppress status without suppressions")
        has(result("suppress", "list", "--root", root), {"suppressions": []}, "suppress list")
        at = ("--root", root)
        has(result("domain64", "init", *at, "--dry-run"), {"layout": "8-24-8-24", "id": None, "created": True, "dry_run": True}, "domain64 init, dry")
        dxtest.domaindex("domain64", "status", *at, expect=1)
        has(result("domain64", "init", *at), {"created": True, "dry_run": False}, "domain64 init")
        has(result("domain64", "init", *at), {"created": False}, "domain64 init again")
        has(result("domain64", "status", "--root", root), {"filled_from": None, "fillings": 0, "names": {"tlds": 0, "domains": 0, "subdomains": 0, "paths": 0}}, "domain64, empty")
        names = {"tlds": 2, "domains": 2, "subdomains": 1, "paths": 2}
        fill = {"rows": 3, "urls": 3, "urls_without_number": 0, "added": names, "files_merged": 0}
        has(result("domain64", "fill", *at, "--dry-run"), fill | {"dry_run": True}, "domain64 fill, dry")
        has(result("domain64", "status", *at), {"fillings": 0}, "a dry run fills nothing")
        has(result("domain64", "fill", *at), fill | {"dry_run": False}, "domain64 fill")
        equal(dxtest.domaindex("domain64", "fill", *at, "--quiet").stdout.count(b"\n"), 1, "domain64 fill --quiet: the version")
        filled = result("domain64", "status", "--root", root)
        has(filled, {"layout": "8-24-8-24", "fillings": 1, "urls_without_number": 0}, "domain64, filled")
        equal([filled["names"][part] for part in ("tlds", "domains", "paths")], [2, 2, 2], "names of com and org; the path / has the number 0")
        keys(root)
        policy(root)
        exported(tmp, root)
        asked = ["HTTP://WWW.Example.COM:80/b", "http://", 'http://a.example/"\\']
        done = dxtest.domaindex("normalize", "--json", input="".join(url + "\n" for url in asked).encode())
        got = [json.loads(line) for line in done.stdout.decode().splitlines()]
        equal(got[0], {"asked": asked[0], "url": "http://www.example.com/b", "domain": "example.com", "host": "www.example.com", "scheme": "http"}, "normalize")
        equal(got[1], {"asked": asked[1], "reason": "host_missing"}, "normalize, rejected")
        equal((len(got), got[2]["asked"]), (3, asked[2]), "normalize, quoted")

        none = ("--keep", 1, "--keep-for", 0, "--lease-ttl", 0, "--cursor-life", 0, "--max-share", 100)
        due = result("gc", "--root", root, *none)
        has(due, {"deleted": False}, "gc, dry")
        check(due["condemned"] > 0, f"gc finds versions that are due: {due}")
        has(waits(root, ("gc", "--root", root, *none, "--delete")), {"deleted": True, "condemned": due["condemned"]}, "gc")

        part = next((root / "index").rglob("domains.mphf"))
        whole = part.read_bytes()
        for part in (root / "index").rglob("domains.mphf"):
            part.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
        damaged = result("verify", "--root", root, expect=3)
        has(damaged, {"sound": False}, "verify of a damaged version")
        check(damaged["damage_count"] == len(damaged["damages"]) > 0 and "domains.mphf" in damaged["damages"][0], f"damages: {damaged}")
        dxtest.domaindex("verify", "--root", tmp / "none", "--json", expect=1)
        for words in (("suppress", "list"), ("suppress", "status"), ("access", "status"), ("access", "token", "list")):
            said = dxtest.domaindex(*words, "--root", tmp / "none", expect=1)
            check(b"neither a lake nor an index" in said.stderr, f"{words} of no root: {said.stderr}")
        # A full pipe or disk is a failure, not a short result.
        done = dxtest.run("sh", "-c", "exec \"$@\" > /dev/full", "sh", dxtest.DOMAINDEX, "gc", "--root", root, "--json", expect=1)
        check(b"standard output" in done.stderr, f"a result that cannot be written: {done.stderr!r}")
        suppressions(root)
        quiet(root, tmp)
        errors(root, tmp, helps)
    documented()
    with dxtest.tempdir() as tmp:
        named_as_number(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
