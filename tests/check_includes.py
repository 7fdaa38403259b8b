#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_includes.py [TREE] - who may include whom, and what every file must carry.

    4   server                                builder          never meet
    3   query
    2   loader
    1   format  canon  parquet  cache  fetch  config           none includes another
    0   base

check_includes.py --self-test breaks each rule once in a small tree and expects to see it named.
Exit: 0 all rules hold, 1 some do not (each printed as file:line: words).
"""
import pathlib
import re
import sys
import tempfile

LEVEL = {
    "base": 0,
    "format": 1, "canon": 1, "parquet": 1, "cache": 1, "fetch": 1, "config": 1,
    "loader": 2,
    "query": 3,
    "server": 4, "builder": 4,
}
FREE = ("tests", "bench")  # may include any layer
NO_IO = ("format", "parquet")  # spans in, spans out
IO_HEADERS = re.compile(
    r"^(unistd\.h|fcntl\.h|dirent\.h|poll\.h|netdb\.h|sys/(stat|mman|socket|file|uio|"
    r"epoll|select|sendfile)\.h|netinet/.*|arpa/.*)$")
IO_OURS = ("base/file.h", "base/map.h", "base/log.h")
# <stdio.h> is there for snprintf; what moves bytes in or out is not.
IO_WORDS = re.compile(
    r"\b(FILE|std(in|out|err)|[fv]?v?printf|v?dprintf|f?puts|f?put[cs]|putchar|perror|"
    r"f(open|dopen|reopen|read|write|close|seeko?|tello?|flush|gets|scanf)|getc|getline|scanf|"
    r"tmpfile|open|openat|creat|mmap|pread|pwrite|readv|writev|socket)\s*(?=\()|\bFILE\s*\*|"
    r"\bstd(in|out|err)\b")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')


def layer_problem(folder, target):
    """Why `folder` may not include `target`, or None."""
    other = target.split("/", 1)[0]
    if folder in FREE or other == folder:
        return None
    if other not in LEVEL:
        return f'"{target}" is in no layer'
    if LEVEL[other] > LEVEL[folder]:
        return f'"{target}" is above {folder}/: includes go down only'
    if LEVEL[other] == LEVEL[folder]:
        return f'"{target}": {folder}/ and {other}/ are on one level and must not meet'
    return None


def system_problem(folder, stem, header):
    if header.startswith("curl/") and folder not in ("fetch", *FREE):
        return f"<{header}>: only fetch/ knows libcurl"
    if header.startswith("amqp") and folder not in ("fetch", *FREE):
        return f"<{header}>: only fetch/ knows librabbitmq"
    if header.startswith(("libpq", "postgresql/", "postgres_ext")) and folder not in ("fetch", *FREE):
        return f"<{header}>: only fetch/ knows libpq"
    libevent = header.startswith("event2/") or header in ("event.h", "evhttp.h")
    if libevent and folder not in ("server", *FREE) and (folder, stem) != ("fetch", "fetch_loop"):
        return f"<{header}>: only server/ and fetch/fetch_loop know libevent"
    if folder in NO_IO and IO_HEADERS.match(header):
        return f"<{header}>: {folder}/ does no I/O"
    return None


def check_lines(tree, path, folder):
    stem = path.stem
    own = f"{path.relative_to(tree).parent.as_posix()}/{stem}.h"
    first_seen = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        ours, system = match.groups()
        if system is not None:
            problem = system_problem(folder, stem, system)
        elif "/" not in ours or ours.startswith((".", "/")):
            problem = f'"{ours}": write the path from the root of the tree'
        elif not (tree / ours).is_file():
            problem = f'"{ours}" does not exist'
        elif folder in NO_IO and ours in IO_OURS:
            problem = f'"{ours}": {folder}/ does no I/O'
        else:
            problem = layer_problem(folder, ours)
        if problem:
            yield number, problem
        if not first_seen and path.suffix == ".c" and (tree / own).is_file() and ours != own:
            yield number, f'the first include of a .c file is its own header, "{own}"'
        first_seen = True


def check_words(path, folder):
    if folder not in NO_IO:
        return
    text = COMMENT.sub(lambda m: "\n" * m.group().count("\n"), path.read_text(encoding="utf-8"))
    for number, line in enumerate(text.splitlines(), 1):
        match = IO_WORDS.search(line)
        if match and not line.startswith("#"):
            yield number, f"'{match.group().strip()}': {folder}/ does no I/O"


def check_form(tree, path):
    """SPDX line and include guard."""
    text = path.read_text(encoding="utf-8")
    if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.splitlines()[:2]):
        yield 1, "the first line must carry SPDX-License-Identifier: Apache-2.0"
    if path.suffix != ".h":
        return
    relative = path.relative_to(tree).as_posix()
    guard = "DX_" + re.sub(r"[^A-Za-z0-9]", "_", relative).upper()
    directives = [line.split() for line in text.splitlines() if line.startswith("#")]
    if relative.startswith("tests/") and directives and len(directives[0]) == 2:
        name = re.sub(r"[^A-Za-z0-9]", "_", path.name).upper()
        if re.fullmatch(rf"DX_([A-Z]+_)*{name}", directives[0][1]):
            guard = directives[0][1]  # the folders may be left out: nothing else has the name
    if directives[:2] != [["#ifndef", guard], ["#define", guard]]:
        yield 1, f"the include guard must be {guard}"


def sources(tree):
    for folder in (*LEVEL, *FREE):
        for suffix in ("*.c", "*.h"):
            yield from ((folder, p) for p in sorted((tree / folder).rglob(suffix)))


def check_names(tree):
    """A file is one noun; its name is unique among the layers."""
    seen = {}
    for folder, path in sources(tree):
        if folder in FREE:
            continue
        if path.stem in ("util", "utils", "helpers", "misc", "common"):
            yield path, 1, f"{path.name} is no noun: a helper has a name or stays with its user"
        if path.parent != tree / folder:
            yield path, 1, "layers have no folders of their own"
        other = seen.setdefault(path.name, path)
        if other is not path:
            yield path, 1, f"the name is taken by {other.relative_to(tree)}"


def check(tree):
    problems, count = [], 0
    for folder, path in sources(tree):
        count += 1
        for number, words in (*check_form(tree, path), *check_lines(tree, path, folder),
                              *check_words(path, folder)):
            problems.append((path, number, words))
    problems.extend(check_names(tree))
    return [f"{p.relative_to(tree)}:{n}: {words}" for p, n, words in problems], count


SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"


def good_tree(tree):
    for folder in LEVEL:
        (tree / folder).mkdir()
        guard = f"DX_{folder}_A_{folder}_H".upper()
        (tree / folder / f"a_{folder}.h").write_text(
            f"{SPDX}#ifndef {guard}\n#define {guard}\n#endif\n")
        (tree / folder / f"a_{folder}.c").write_text(
            f'{SPDX}#include "{folder}/a_{folder}.h"\n#include <string.h>\n')
    (tree / "fetch" / "fetch_loop.c").write_text(
        f"{SPDX}#include <curl/curl.h>\n#include <event2/event.h>\n")


def self_test():
    def include(name):
        return f"{SPDX}#include {name}\n"

    rows = [  # file, its text, words that must be said
        ("format/b.c", include('"loader/a_loader.h"'), "above format/"),
        ("canon/b.c", include('"format/a_format.h"'), "on one level"),
        ("server/b.c", include('"builder/a_builder.h"'), "on one level"),
        ("builder/b.c", include('"server/a_server.h"'), "on one level"),
        ("query/b.c", include('"server/a_server.h"'), "above query/"),
        ("base/b.c", include('"cache/a_cache.h"'), "above base/"),
        ("base/b.c", include('"tests/x.h"'), "does not exist"),
        ("loader/b.c", include("<curl/curl.h>"), "only fetch/ knows libcurl"),
        ("builder/q.c", include("<amqp.h>"), "only fetch/ knows librabbitmq"),
        ("builder/q.c", include("<libpq-fe.h>"), "only fetch/ knows libpq"),
        ("query/b.c", include("<event2/event.h>"), "know libevent"),
        ("fetch/b.c", include("<event2/event.h>"), "know libevent"),
        ("format/b.c", include("<stdio.h>") + "int x(void) { return puts(0); }\n", "does no I/O"),
        ("format/b.c", f"{SPDX}void f(void)\n{{\n    (void)fprintf(stderr, 0);\n}}\n", "does no I/O"),
        ("parquet/b.c", f"{SPDX}int f(void) {{ return open(0, 0); }}\n", "does no I/O"),
        ("parquet/b.c", include("<fcntl.h>"), "does no I/O"),
        ("parquet/b.c", include("<sys/mman.h>"), "does no I/O"),
        ("cache/b.c", include('"b.h"'), "path from the root"),
        ("cache/a_cache.c", include("<string.h>") + '#include "cache/a_cache.h"\n', "own header"),
        ("cache/b.c", "int x;\n", "SPDX"),
        ("cache/b.h", f"{SPDX}#ifndef B_H\n#define B_H\n#endif\n", "must be DX_CACHE_B_H"),
        ("cache/b.h", f"{SPDX}#pragma once\n", "must be DX_CACHE_B_H"),
        ("cache/a_base.c", SPDX, "name is taken"),
        ("cache/util.c", SPDX, "no noun"),
    ]
    failed = 0
    for name, text, words in [("", "", ""), *rows]:
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            good_tree(tree)
            if name:
                (tree / name).write_text(text)
            problems, _ = check(tree)
            fine = any(words in p and p.startswith(name) for p in problems) if name else not problems
            if not fine:
                failed += 1
                print(f"self-test: {name or 'good tree'}: expected {words!r}, got {problems}")
    print(f"self-test: {len(rows) + 1} trees, {failed} judged wrongly")
    return 1 if failed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    problems, count = check(tree.resolve())
    print("\n".join(problems), end="\n" if problems else "")
    print(f"{count} files, {len(problems)} problems")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
