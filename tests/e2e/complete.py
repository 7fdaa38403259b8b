#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""/v1/complete against a recount of the source, of two principals, and while suppressions of each kind hold."""
import time
from urllib.parse import quote

import dxtest
from dxtest import equal

NAMES = {
    "a": ("example.com", "examples.com", "exam.net", "example.org", "example.co.uk", "example.museum", "user.github.io", "other.com", "xn--bcher-kva.de"),
    "b": ("exams.com", "example.de", "exa.org", "example.com", "user2.github.io"),
}
ORDER = ("com", "org", "net", "de", "co.uk", "github.io")
WITHIN_S = 60
# What is typed; what is completed; the registered domain of it.
TYPED = (("exam", "exam", None), ("EXAMPLE", "example", None), ("example.", "example.", None), ("example.co", "example.co", None),
         ("https://www.example.museum/x?y", "example.museum", "example.museum"), ("http://www.exa", "exa", None), ("user", "user", None),
         ("bücher", "xn--bcher-kva", None), ("xn--b", "xn--b", None), ("BÜCHER.de", "xn--bcher-kva.de", "xn--bcher-kva.de"), ("zzz", "zzz", None), ("", None, None),
         ("a.b.example.com", "a.b.example.com", "example.com"))


def recount(names, text, domain):
    """By text alone: the registered domain, equal labels, longer ones."""
    label, dot, behind = (text or "").partition(".")
    suffixes = [s for s in ORDER if s.startswith(behind)]
    found = [domain] if domain in names else []
    if label:
        found += [f"{label}.{s}" for s in suffixes if f"{label}.{s}" in names]
    if label and not dot:
        for s in suffixes:
            found += sorted(n for n in names if n.partition(".")[2] == s and n.partition(".")[0].startswith(label) and n.partition(".")[0] != label)
    return list(dict.fromkeys(found))


def compare(server, names, words, headers=None):
    for q, text, domain in TYPED:
        want = recount(names, text, domain)
        for limit in (1, 2, 100):
            target = f"/v1/complete?q={quote(q)}&limit={limit}"
            end = time.monotonic() + WITHIN_S
            reply = server.get(target, headers=headers)
            while (reply.status == 503 or (reply.status == 200 and reply.json["domains"] != want[:limit])) and time.monotonic() < end:
                time.sleep(0.05)
                reply = server.get(target, headers=headers)
            if equal(reply.status, 200, f"{words}: {target}: {reply.body[:300]}"):
                readable = {d: d.encode().decode("idna") for d in reply.json["domains"] if "xn--" in d}
                equal(reply.json.get("domains_unicode"), readable or None, f"{words}: {target}: in Unicode")
                equal((reply.json["completed"], reply.json["domains"], reply.json["more"], reply.json["complete"]),
                      (text, want[:limit], len(want) > limit, True), f"{words}: {target}")


def refusals(server):
    for target, slug in (("/v1/complete", "missing-parameter"), ("/v1/complete?q=a&limit=101", "limit-too-large"), ("/v1/complete?q=%zz", "bad-percent-encoding"),
                         ("/v1/complete?q=a&offset=1", "unknown-parameter"), ("/v1/complete?q=a&q=b", "duplicate-parameter")):
        reply = server.get(target)
        equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (400, slug), target)


def suppressed(root, server, names):
    left = set(names)
    for words, gone in ((("--domain", "examples.com"), "examples.com"), (("--domain", "example.org", "--policy", "absent"), "example.org"),
                        (("--host", "exams.com"), "exams.com"), (("--url", "https://exa.org/1", "--policy", "absent"), "exa.org"),
                        (("--prefix", "https://example.com/1"), None)):
        dxtest.domaindex("suppress", "add", "--root", root, *words)
        left -= {gone}
        compare(server, left, f"suppressed: {words}")
    return left


def restricted(root, left):
    def access(*words):
        return dxtest.domaindex("access", *words, "--root", root).stdout.decode().strip()
    access("init")
    for who in NAMES:
        access("principal", "add", who)
        access("grant", who, "--to", who)
    tokens = {who: {"Authorization": f"Bearer {access('token', 'new', who)}"} for who in NAMES}
    with dxtest.Server(root, "--poll-ms", 50) as server:
        for who, names in NAMES.items():
            compare(server, left & set(names), f"as {who} sees it", tokens[who])
        equal(server.get("/v1/complete?q=e").status, 401, "without a token")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        for name, domains in NAMES.items():
            text = "".join(f"https://{d}/{n}\n" for d in domains for n in ((1, 2) if d == "example.com" else (1,)))
            dxtest.domaindex("ingest", "--root", root, "--dataset", name, "-", input=text.encode())
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root, "--poll-ms", 50) as server:
            names = {d for of in NAMES.values() for d in of}
            compare(server, names, "all")
            refusals(server)
            left = suppressed(root, server, names)
        restricted(root, left)
    dxtest.finish()


if __name__ == "__main__":
    main()
