#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""`domaindex lookup`: lines from standard input, strangers by the hundred thousand, long lines, usage."""
import json

import dxtest

STRANGERS = 100_000
NAMES = 40


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def lookup(root, *arguments, **options):
    return dxtest.domaindex("lookup", "--root", root, *arguments, **options)


def check_lines(root):
    asked = [f"name{i}.com" for i in range(NAMES)]
    done = lookup(root, "-", input="\n".join(asked).encode())  # no line end behind the last
    dxtest.equal([j["domain"] for j in lines(done)], asked, "domains of standard input, in order")
    by_operand = lookup(root, *asked)
    dxtest.equal(by_operand.stdout, done.stdout, "operands and lines give the same")
    done = lookup(root, "-", input=b"WWW.Name1.COM.\r\nhttp://name2.com:8080/x?y#z\r\n")
    dxtest.equal([j["domain"] for j in lines(done)], ["name1.com", "name2.com"], "hosts and URLs, CRLF")
    both = lookup(root, "name3.com", "-", "name4.com", input=b"name5.com\n")
    dxtest.equal([j["domain"] for j in lines(both)], ["name3.com", "name5.com", "name4.com"], "'-' among operands")
    dxtest.equal(lookup(root, "-", input=b"").stdout, b"", "no lines")


def check_strangers(root):
    text = "".join(f"stranger{i}.com\n" for i in range(STRANGERS))
    done = lookup(root, "-", input=text.encode(), expect=1)
    answers = lines(done)
    dxtest.equal(len(answers), STRANGERS, "lines for strangers")
    dxtest.equal({a["problem"] for a in answers}, {"domain-not-found"}, "what is said of strangers")
    dxtest.equal([a["asked"] for a in answers], text.split(), "what was asked, in order")
    dxtest.check(f"0 found, {STRANGERS} absent, 0 failed" in done.stderr.decode(), done.stderr[-200:])


def check_bad_lines(root):
    bad = [b"", b"   ", b"com", b"\xff\xfe.com", b"a\0b.com", b"mailto:x@y.z", b"." * 300, b"x" * 70000 + b".com",
           b"http://name1.com/" + b"a" * (1 << 20)]
    done = lookup(root, "-", input=b"\n".join(bad) + b"\nname1.com\n", expect=1)
    answers = lines(done)
    dxtest.equal(len(answers), len(bad) + 1, "a line for each line")
    for asked, answer in zip(bad, answers):
        dxtest.check(answer.get("problem") in ("not-a-domain", "domain-not-found"), f"{asked[:40]!r}: {answer!r:.200}")
    dxtest.equal(answers[-1].get("domain"), "name1.com", "the line behind the bad ones")


def check_urls(root):
    seen = []
    for offset in range(0, 13, 3):
        j = lines(lookup(root, "--dataset", 1, "--offset", offset, "--limit", 3, "name7.com"))[0]
        seen += [item["url"] for item in j["items"]]
        dxtest.equal(j["total"], 12, "total of the pair")
    dxtest.equal(sorted(seen), sorted(f"http://name7.com/p/{k}" for k in range(12)), "all windows together")
    j = lines(lookup(root, "--dataset", 2, "name7.com", expect=1))[0]
    dxtest.equal(j["problem"], "dataset-not-found", "a dataset that is not there")
    j = lines(lookup(root, "--dataset", 1, "--fields", "ts,url", "--limit", 1, "name7.com"))[0]
    dxtest.equal(sorted(j["items"][0]), ["ts", "url"], "--fields")


def check_usage(root, tmp):
    for arguments in ([], ["--dataset", "1", "--limit", "0", "a.com"], ["--dataset", "1", "--limit", "10001", "a.com"],
                      ["--dataset", "1", "--offset", "1e3", "a.com"], ["--dataset", "1", "--fields", "uri", "a.com"],
                      ["--dataset", "1", "--fields", "", "a.com"], ["--no-such", "a.com"]):
        done = lookup(root, *arguments, expect=2)
        dxtest.check(done.stderr.startswith(b"domaindex") and not done.stdout, f"{arguments}: {done.stderr!r}")
    for word in ("x", "-1", "4294967296", "name:1", "id:9", "1,1", "", "name:"):
        done = lookup(root, "--dataset", word, "a.com", expect=1)
        dxtest.check(b"domaindex lookup: --dataset: " in done.stderr and not done.stdout, f"--dataset {word}: {done.stderr!r}")
    dxtest.domaindex("lookup", "a.com", expect=2)
    for arguments in (["--root", tmp / "nothing", "a.com"], ["--root", root, "--version", "000009-20200101T000000Z", "a.com"]):
        done = dxtest.domaindex("lookup", *arguments, expect=1)
        dxtest.check(b"domaindex lookup: " in done.stderr and not done.stdout, f"{arguments}: {done.stderr!r}")


def check_datasets(root, tmp):
    """Datasets by name where an id may stand; the table of all of them."""
    by_id = lookup(root, "--dataset", "1", "name7.com").stdout
    for word in ("all", "name:all", "id:1"):
        dxtest.equal(lookup(root, "--dataset", word, "name7.com").stdout, by_id, f"--dataset {word}")
    other = tmp / "names"
    for name in ("2", "one, two", "three"):
        dxtest.domaindex("ingest", "--root", other, "--dataset", name, "--format", "list", "-", input=b"https://a.com/" + name[0].encode())
    dxtest.domaindex("publish", "--root", other)
    for word, dataset in (("1", "2"), ("one, two", "one, two"), ("id:2", "one, two"), ("name:2", "2"), ("3", "three")):
        dxtest.equal(lines(lookup(other, "--dataset", word, "a.com"))[0]["dataset"], dataset, f"--dataset {word}")
    for command in (("lookup", "a.com"), ("top-domains",)):
        done = dxtest.domaindex(command[0], "--root", other, "--dataset", "2", *command[1:], expect=None)
        dxtest.check(b"say id:2 or name:2" in done.stderr and done.returncode != 0 and not done.stdout, f"{command}: {done.stderr!r}")
    with dxtest.Server(other) as server:
        for target in ("/v1/domain/a.com/urls?dataset=one%2C%20two", "/index?url=a.com/*&dataset=one%2C%20two"):
            dxtest.check("by its id" in server.get(target).json["detail"], f"{target}: {server.get(target).body}")
    with dxtest.Server(root) as server:
        dxtest.equal(dxtest.domaindex("datasets", "--root", root, "--json").stdout.rstrip(b"\n"), server.get("/v1/datasets").body, "datasets --json")
    table = dxtest.domaindex("datasets", "--root", root).stdout.decode().splitlines()
    dxtest.equal([line.split() for line in table[1:]], [["1", str(NAMES), str(12 * NAMES), str(12 * NAMES), "-", "-", "all"]], "datasets")
    dxtest.domaindex("datasets", expect=2)
    done = dxtest.domaindex("datasets", "--root", tmp / "nothing", expect=1)
    dxtest.check(b"domaindex datasets: " in done.stderr and not done.stdout, f"no root: {done.stderr!r}")


def check_suffix_list(root):
    """Names are reduced by the version's suffix list, whatever the root's says; the root's is read in its place only if it is the same."""
    names = ["name1.com", "www.name1.com", "com", "x.name1.com"]
    said = [lookup(root, name, expect=None).stdout for name in names]
    listed = root / "psl.dat"
    kept = listed.read_bytes()
    for other in (kept + b"\nname1.com\n", kept.replace(b"\ncom\n", b"\n"), b"", None):
        listed.unlink(missing_ok=True)
        if other is not None:
            listed.write_bytes(other)
        dxtest.equal([lookup(root, name, expect=None).stdout for name in names], said, f"the root's list has {other and len(other)} bytes")
    listed.write_bytes(kept)
    own = next(root.glob("index/*/psl.dat.zst"))
    whole = own.read_bytes()
    own.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    done = lookup(root, names[0], expect=1)
    dxtest.check(b"psl.dat.zst: its hash is not" in done.stderr and not done.stdout, f"the version's is damaged: {done.stderr!r}")
    own.unlink()
    dxtest.check(b"psl.dat.zst: cannot open" in lookup(root, names[0], expect=1).stderr, "the version's is missing")
    own.write_bytes(whole)
    dxtest.equal(lookup(root, names[0]).stdout, said[0], "as before")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        rows = "".join(f"http://name{i}.com/p/{k}\n" for i in range(NAMES) for k in range(12))
        dxtest.domaindex("ingest", "--root", root, "--dataset", "all", "--format", "list", "-", input=rows.encode())
        dxtest.domaindex("publish", "--root", root)
        check_lines(root)
        check_strangers(root)
        check_bad_lines(root)
        check_urls(root)
        check_usage(root, tmp)
        check_datasets(root, tmp)
        check_suffix_list(root)
    dxtest.finish()


main()
