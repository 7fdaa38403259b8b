#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_includes.py [TREE] - who may include whom, and what every file must carry.

The rooms and their arrows are the dx_room() lines of cmake/layers.cmake, which the linker follows too: a room may
include what its line names, and what those name in turn. A line names only rooms above it, so arrows go down only.
Inside a room the includes form no circle, where a .c file and its header count as one; KNOT lists the circles that
are still there, and a new one is an error. A room has at most ROOM_MAX files.

A header of two functions and more says what threads may do with them, and each test has its line (docs/TESTING.md).

check_includes.py --self-test breaks each rule once in a small tree and expects to see it named.
Exit: 0 all rules hold, 1 some do not (each printed as file:line: words).
"""
import pathlib
import re
import sys
import tempfile

FREE = ("tests", "bench")  # may include any room
ROOM_MAX = 60
# (room, files that are tied together): circles that still have to be opened.
KNOT = (
)
# Besides documents, which go through base/json_in: any JSON of a record, and text of ours.
JANSSON = ("builder/check/inspect", "builder/input/files/input_detect", "builder/input/records/input_columns", "format/text/name_list",
           "loader/build_info")
ROOM = re.compile(r"^dx_room\(([^)]*)\)", re.M)
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
PROTOTYPE = re.compile(r"^(?!#|typedef\b|extern\b|struct \w+ \{)[a-z][^;{}]*?\b(\w+)\s*\([^;{}]*\)[^;{}]*(?:;|\n\{)", re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')


class Rooms:
    """The dx_room() lines: for each room the rooms that it may include."""

    def __init__(self, tree):
        self.may = {}
        self.problems = []
        path = tree / "cmake" / "layers.cmake"
        for match in ROOM.finditer(path.read_text(encoding="utf-8")):
            words = match.group(1).split()
            room, below = words[0], words[1:]
            below = below[:below.index("LIBRARIES")] if "LIBRARIES" in below else below
            self.may[room] = {room}
            for other in below:
                if other in self.may:
                    self.may[room] |= self.may[other]
                else:
                    self.problems.append((path, 1, f"{room} names {other}, which is not above its line"))

    def of(self, path):
        return path.rsplit("/", 1)[0] if "/" in path else ""

    def problem(self, room, target):
        """Why `room` may not include `target`, or None."""
        other = self.of(target)
        if room in FREE or other == room:
            return None
        if other not in self.may:
            return f'"{target}" is in no room'
        if other not in self.may[room]:
            return f'"{target}": no arrow from {room}/ to {other}/ in cmake/layers.cmake'
        return None


def top(room):
    return room.split("/", 1)[0]


def system_problem(room, stem, header):
    folder = top(room)
    if header.startswith("curl/") and folder not in ("fetch", *FREE):
        return f"<{header}>: only fetch/ knows libcurl"
    if header.startswith("amqp") and room not in ("builder/exchange/queue", *FREE):
        return f"<{header}>: only builder/exchange/queue/ knows librabbitmq"
    if header.startswith(("libpq", "postgresql/", "postgres_ext")) and room not in ("builder/exchange/postgres", *FREE):
        return f"<{header}>: only builder/exchange/postgres/ knows libpq"
    if header == "jansson.h" and folder not in FREE and f"{room}/{stem}" not in JANSSON:
        return f"<{header}>: documents are read with base/json_in.h"
    if header == "expat.h" and (room, stem) != ("fetch/store", "s3_xml"):
        return f"<{header}>: only fetch/store/s3_xml knows expat"
    libevent = header.startswith("event2/") or header in ("event.h", "evhttp.h")
    if libevent and folder not in ("server", *FREE) and (folder, stem) != ("fetch", "fetch_loop"):
        return f"<{header}>: only server/ and fetch/fetch_loop know libevent"
    if folder in NO_IO and IO_HEADERS.match(header):
        return f"<{header}>: {folder}/ does no I/O"
    return None


def check_lines(tree, rooms, path, room):
    stem = path.stem
    own = f"{path.relative_to(tree).parent.as_posix()}/{stem}.h"
    first_seen = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        ours, system = match.groups()
        if system is not None:
            problem = system_problem(room, stem, system)
        elif "/" not in ours or ours.startswith((".", "/")):
            problem = f'"{ours}": write the path from the root of the tree'
        elif not (tree / ours).is_file():
            problem = f'"{ours}" does not exist'
        elif top(room) in NO_IO and ours in IO_OURS:
            problem = f'"{ours}": {top(room)}/ does no I/O'
        else:
            problem = rooms.problem(room, ours)
        if problem:
            yield number, problem
        if not first_seen and path.suffix == ".c" and (tree / own).is_file() and ours != own:
            yield number, f'the first include of a .c file is its own header, "{own}"'
        first_seen = True


def check_words(path, room):
    folder = top(room)
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


def check_manual(path):
    """A header of two functions and more says what threads may do with them."""
    text = path.read_text(encoding="utf-8")
    functions = set(PROTOTYPE.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.S))) - {"__attribute__"}
    comments = " ".join(re.findall(r"/\*.*?\*/", text, re.S))
    if len(functions) > 1 and not re.search(r"\bthreads?\b", comments, re.I):
        yield 1, f"{len(functions)} functions, and no word on threads"


def sources(tree, rooms):
    """(room, path) of each C file; tests and bench are one room each."""
    folders = sorted({top(room) for room in rooms.may}) + list(FREE)
    for folder in folders:
        for suffix in ("*.c", "*.h"):
            for path in sorted((tree / folder).rglob(suffix)):
                room = path.parent.relative_to(tree).as_posix()
                yield folder if folder in FREE else room, path


def check_names(tree, rooms):
    """A file is one noun; its name is unique among the rooms, and it stands in one."""
    seen, count = {}, {}
    for room, path in sources(tree, rooms):
        if room in FREE:
            continue
        if path.stem in ("util", "utils", "helpers", "misc", "common"):
            yield path, 1, f"{path.name} is no noun: a helper has a name or stays with its user"
        if room not in rooms.may:
            yield path, 1, f"{room}/ is not a room of cmake/layers.cmake"
        other = seen.setdefault(path.name, path)
        if other is not path:
            yield path, 1, f"the name is taken by {other.relative_to(tree)}"
        count[room] = count.get(room, 0) + 1
        if count[room] == ROOM_MAX + 1:
            yield path, 1, f"{room}/ has more than {ROOM_MAX} files: it needs rooms inside"


def check_unit_tests(tree, rooms):
    """tests/unit/ mirrors the tree: test_x.c stands in the room of x, or else of what it tests."""
    room_of = {path.stem: room for room, path in sources(tree, rooms) if room not in FREE}
    for path in sorted((tree / "tests" / "unit").rglob("test_*.c")):
        room = path.parent.relative_to(tree / "tests" / "unit").as_posix()
        of_source = room_of.get(path.stem.removeprefix("test_"), room)
        if room not in rooms.may and not (room.startswith("bench/") and (tree / room).is_dir()):
            yield path, 1, f"tests stand in a room: move it to tests/unit/{of_source if of_source != '.' else 'ROOM'}/"
        elif room != of_source:
            yield path, 1, f"its source is in {of_source}/: move it to tests/unit/{of_source}/"


def check_test_lines(tree):
    """What each test shows stands in a line: of a unit test in its first comment, of a script in docs/TESTING.md."""
    for path in sorted((tree / "tests" / "unit").rglob("test_*.c")):
        if not re.match(r"/\* SPDX[^\n]*\n \* \S", path.read_text(encoding="utf-8")):
            yield path, 1, "behind the SPDX line, say in a line what the test shows"
    listing = tree / "docs" / "TESTING.md"
    lines = listing.read_text(encoding="utf-8") if listing.exists() else ""
    for path in sorted((tree / "tests" / "e2e").glob("*.*")):
        if path.suffix in (".py", ".sh") and f"| `{path.stem}`" not in lines and f", `{path.stem}`" not in lines:
            yield path, 1, "docs/TESTING.md has no line for it"


def knots(graph):
    """Strongly connected components of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = set(stack[stack.index(node):])
            del stack[stack.index(node):]
            if len(part) > 1:
                found.append(part)

    for node in graph:
        if node not in index:
            visit(node)
    return found


def check_circles(tree, rooms):
    graph, where = {}, {}
    for room, path in sources(tree, rooms):
        if room in FREE:
            continue
        node = f"{room}/{path.stem}"
        where[node] = path  # the header, where there is one
        for line in path.read_text(encoding="utf-8").splitlines():
            match = INCLUDE.match(line)
            if match and match.group(1) and rooms.of(match.group(1)) == room:
                other = match.group(1).rsplit(".", 1)[0]
                if other != node:
                    graph.setdefault(node, set()).add(other)
    known = [{f"{room}/{name}" for name in names.split()} for room, names in KNOT]
    for part in knots(graph):
        if not any(part <= k for k in known):
            yield where.get(min(part), tree), 1, f"includes form a circle: {' '.join(sorted(part))}"
    for k in known if (tree / "cmake" / "install.cmake").exists() else ():
        if not any(part <= k for part in knots(graph)):
            yield tree / "tests/check_includes.py", 1, f"KNOT: {min(k)} is untied; take its line out"


def check(tree):
    rooms = Rooms(tree)
    problems, count = list(rooms.problems), 0
    for room, path in sources(tree, rooms):
        count += 1
        found = list(check_form(tree, path))
        if room in rooms.may or room in FREE:
            found += check_lines(tree, rooms, path, room)
            found += check_words(path, room)
            found += check_manual(path) if path.suffix == ".h" and room not in FREE else []
        problems.extend((path, number, words) for number, words in found)
    problems.extend(check_names(tree, rooms))
    problems.extend(check_unit_tests(tree, rooms))
    problems.extend(check_test_lines(tree))
    problems.extend(check_circles(tree, rooms))
    return [f"{p.relative_to(tree)}:{n}: {words}" for p, n, words in problems], count


SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"


LAYERS = """
dx_room(base LIBRARIES m)
dx_room(canon base)
dx_room(parquet base)
dx_room(cache base)
dx_room(fetch base)
dx_room(format/core base)
dx_room(format/version format/core)
dx_room(loader format/version canon parquet cache fetch)
dx_room(query/rows loader)
dx_room(server/engine query/rows)
dx_room(builder/lake query/rows)
"""


def good_tree(tree):
    (tree / "cmake").mkdir()
    (tree / "cmake" / "layers.cmake").write_text(LAYERS)
    for room in Rooms(tree).may:
        name = "a_" + room.replace("/", "_")
        (tree / room).mkdir(parents=True)
        guard = f"DX_{room}_{name}_H".replace("/", "_").upper()
        (tree / room / f"{name}.h").write_text(
            f"{SPDX}#ifndef {guard}\n#define {guard}\n#endif\n")
        (tree / room / f"{name}.c").write_text(
            f'{SPDX}#include "{room}/{name}.h"\n#include <string.h>\n')
    (tree / "fetch" / "fetch_loop.c").write_text(
        f"{SPDX}#include <curl/curl.h>\n#include <event2/event.h>\n")


def self_test():
    def include(name):
        return f"{SPDX}#include {name}\n"

    rows = [  # file, its text, words that must be said
        ("format/core/b.c", include('"loader/a_loader.h"'), "no arrow"),
        ("format/core/b.c", include('"format/version/a_format_version.h"'), "no arrow"),
        ("canon/b.c", include('"format/core/a_format_core.h"'), "no arrow"),
        ("server/engine/b.c", include('"builder/lake/a_builder_lake.h"'), "no arrow"),
        ("builder/lake/b.c", include('"server/engine/a_server_engine.h"'), "no arrow"),
        ("query/rows/b.c", include('"server/engine/a_server_engine.h"'), "no arrow"),
        ("base/b.c", include('"cache/a_cache.h"'), "no arrow"),
        ("base/b.c", include('"tests/x.h"'), "does not exist"),
        ("loader/b.c", include("<curl/curl.h>"), "only fetch/ knows libcurl"),
        ("format/core/b.c", include("<jansson.h>"), "documents are read with base/json_in.h"),
        ("fetch/other.c", include("<expat.h>"), "only fetch/store/s3_xml knows expat"),
        ("builder/lake/q.c", include("<amqp.h>"), "only builder/exchange/queue/ knows librabbitmq"),
        ("builder/lake/q.c", include("<libpq-fe.h>"), "only builder/exchange/postgres/ knows libpq"),
        ("query/rows/b.c", include("<event2/event.h>"), "know libevent"),
        ("fetch/b.c", include("<event2/event.h>"), "know libevent"),
        ("format/core/b.c", include("<stdio.h>") + "int x(void) { return puts(0); }\n", "does no I/O"),
        ("format/core/b.c", f"{SPDX}void f(void)\n{{\n    (void)fprintf(stderr, 0);\n}}\n", "does no I/O"),
        ("parquet/b.c", f"{SPDX}int f(void) {{ return open(0, 0); }}\n", "does no I/O"),
        ("parquet/b.c", include("<fcntl.h>"), "does no I/O"),
        ("parquet/b.c", include("<sys/mman.h>"), "does no I/O"),
        ("cache/b.c", include('"b.h"'), "path from the root"),
        ("cache/a_cache.c", include("<string.h>") + '#include "cache/a_cache.h"\n', "own header"),
        ("cache/b.c", "int x;\n", "SPDX"),
        ("cache/b.h", f"{SPDX}#ifndef B_H\n#define B_H\n#endif\n", "must be DX_CACHE_B_H"),
        ("cache/b.h", f"{SPDX}#pragma once\n", "must be DX_CACHE_B_H"),
        ("cache/b.h", f"{SPDX}#ifndef DX_CACHE_B_H\n#define DX_CACHE_B_H\nint f(void);\nstatic inline int g(void)\n{{\n"
         "    return 0;\n}\n#endif\n", "2 functions, and no word on threads"),
        ("cache/a_base.c", SPDX, "name is taken"),
        ("cache/util.c", SPDX, "no noun"),
        ("server/b.c", SPDX, "not a room"),
        ("server/attic/b.c", SPDX, "not a room"),
        ("cache/a_cache.h", f'{SPDX}#ifndef DX_CACHE_A_CACHE_H\n#define DX_CACHE_A_CACHE_H\n'
         '#include "cache/circle.h"\n#endif\n', "circle"),
        ("cmake/layers.cmake", LAYERS + "dx_room(attic roof)\n", "not above its line"),
        ("tests/unit/test_a_cache.c", SPDX, "move it to tests/unit/cache/"),
        ("tests/unit/test_all.c", SPDX, "move it to tests/unit/ROOM/"),
        ("tests/unit/base/test_a_cache.c", SPDX, "move it to tests/unit/cache/"),
        ("tests/unit/cache/test_a_cache.c", SPDX, "what the test shows"),
        ("tests/e2e/odd.py", "", "has no line for it"),
    ]
    failed = 0
    for name, text, words in [("", "", ""), *rows]:
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            good_tree(tree)
            if name:
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                (tree / name).write_text(text)
            if "circle" in words:
                (tree / "cache" / "circle.h").write_text(
                    f'{SPDX}#ifndef DX_CACHE_CIRCLE_H\n#define DX_CACHE_CIRCLE_H\n'
                    '#include "cache/a_cache.h"\n#endif\n')
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
