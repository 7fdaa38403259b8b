#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutate.py - does a test of the gate fail when the code is broken?

    tests/mutation/mutate.py --map --minutes 30              once: which test executes which function, see below
    tests/mutation/mutate.py --count 300 --seed 1            N random mutants of the build `dev` (--preset), which must be complete
    tests/mutation/mutate.py --count 300 --seed 1 --list     what they are, without running anything
    tests/mutation/mutate.py --only 17,42 --seed 1           some of them again, by number
    tests/mutation/mutate.py --rerun tests/mutation/survivors.txt      survivors again, after tests were added
    tests/mutation/mutate.py --count 300 --seed 1 --again --seconds 200     the survivors of a sample again, with further tests
    tests/mutation/mutate.py --count 300 --seed 1 --again --preset asan --seconds 20     the survivors, in the build with sanitizers
    tests/mutation/mutate.py --summary --seed 1              counts the results so far

A mutant is one change of one token in a function of format/, query/, loader/, fetch/ or builder/: another comparison, + for -, && for ||,
a condition negated, a call or an assignment left out, a number one larger or smaller, another return value. Its file is compiled with the flags of the
build, and its object is linked in front of the libraries, so that the tree and the build stay as they are. Then the tests run that execute the
function, one after the other until one fails, as far as --seconds of CPU go: first the unit test of the same name, then whichever test adds most
counters of the function for its time, then the cheapest.

    killed       a test failed that passes without the change, twice; or it crashed; or it took ten times as long; or the compiler of the build warns
    equivalent   the compiler makes the same code of both
    unbuilt      it does not compile, or does not link
    survived     all tests passed

--map runs each test of the gate once with the programs of the build `coverage` (scripts/coverage.py; an older one will do, since the map only
chooses tests) and keeps in build/mutation/map.jsonl its time and which counters of which functions it moved. Tests that take longer than
MAP_WALL_S there do not run on mutants. DX_PEERS_PYTHON and the variables of storage_servers.sh as for ctest. What all of them together reached is in
build/coverage/profiles then, for `scripts/coverage.py --count`.

Results go to build/mutation/SEED.jsonl as they come. A run that was stopped, or that --minutes ended, goes on from there. Survivors are printed as
FILE:LINE:COLUMN: change; in a list of them what follows `   --` is a remark.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
COVERAGE = SOURCE / "build" / "coverage"
OUT = SOURCE / "build" / "mutation"
ROOMS = ("format", "query", "loader", "fetch", "builder")
STEPS = dict(re.findall(r"(?m)^(\w+)=(\d+)$", (SOURCE / "tests" / "support" / "few_steps.env").read_text(encoding="utf-8")))
NOT_IN_GATE = {"long", "alone", "tree", "compilers"}  # labels of tests that do not run on mutants
PROGRAMS = ("domaindex", "domaindexd", "libexec/domaindex/domaindex")
LINK_S = 0.2        # what linking a program counts as
SLOWER = 10         # times its usual time, and a test is stopped
MAP_WALL_S = 600.0  # tests that take longer are not in the map
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.)*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|0[xX][0-9a-fA-F]+\w*|\d[\w.]*'
                   r'|<<=|>>=|->|\+\+|--|&&|\|\||[<>=!+\-*/%&|^]=|<<|>>|\s+|.', re.S | re.M)
SWAPS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",),
         "+=": ("-=",), "-=": ("+=",), "++": ("--",), "--": ("++",)}
KEYWORDS = {"if", "else", "for", "while", "do", "switch", "case", "default", "return", "break", "continue", "goto", "sizeof", "struct", "enum", "union",
            "const", "static", "unsigned", "int", "long", "char", "void", "bool", "double", "float", "size_t", "extern", "volatile", "_Atomic", "assert"}

Mutant = collections.namedtuple("Mutant", "file line column start end new kind function")


def tokens_of(text):
    """(text, offset) of each token that is code."""
    for match in TOKEN.finditer(text):
        word = match.group()
        if not (word.isspace() or word.startswith(("/*", "//", '"', "'")) or word.lstrip().startswith("#")):
            yield word, match.start()


def closing(tokens, i):
    """The place of the bracket that ends the one at i."""
    depth = 0
    for j in range(i, len(tokens)):
        depth += tokens[j][0] in "([{"
        depth -= tokens[j][0] in ")]}"
        if depth == 0:
            return j
    return len(tokens) - 1


def name_before(tokens, i):
    """The name of the function whose arguments end at i."""
    depth = 0
    while i > 0:
        depth += tokens[i][0] == ")"
        depth -= tokens[i][0] == "("
        i -= 1
        if depth == 0:
            break
    return tokens[i][0]


def bodies_of(tokens):
    """(first, last, name) of each function's braces."""
    i = 0
    while i < len(tokens):
        if tokens[i][0] == "{":
            end = closing(tokens, i)
            if tokens[i - 1][0] == ")":
                yield i, end, name_before(tokens, i - 1)
            i = end
        i += 1


def statement_end(tokens, i):
    """The place of the `;` of an expression statement that begins at i; None: it is none."""
    word, after = tokens[i][0], tokens[i + 1][0]
    if word == "(" and after == "void" and tokens[i + 2][0] == ")":
        i, word, after = i + 3, tokens[i + 3][0], tokens[i + 4][0]
    if not re.match(r"[A-Za-z_*]", word) or word in KEYWORDS or re.match(r"[A-Za-z_]", after) or after == ":":
        return None
    if after == "*" and re.match(r"[A-Za-z_*]", tokens[i + 2][0]) and word != "*":
        return None
    while tokens[i][0] != ";":
        if tokens[i][0] == "{" or tokens[i][0] == "}":
            return None
        i = closing(tokens, i) + 1 if tokens[i][0] in "([" else i + 1
    return i


def sites_of_token(tokens, i, text, ends):
    """(start, end, new, kind) of the changes that begin at token i of a function. ends: the brackets that close a condition."""
    word, at = tokens[i]
    before, end = tokens[i - 1][0], at + len(word)
    if word in SWAPS:
        kind = "logic" if word in ("&&", "||") else "step" if word in ("++", "--", "+=", "-=") else "compare"
        for new in SWAPS[word]:
            yield at, end, new, kind
    elif word in "+-" and re.match(r"[\w)\]]", before) and before not in KEYWORDS:
        yield at, end, "-" if word == "+" else "+", "sum"
    elif re.fullmatch(r"\d+", word) and before != "case":
        yield at, end, str(int(word) + 1), "number"
        if int(word) > 0:
            yield at, end, str(int(word) - 1), "number"
    elif word in ("if", "while") and tokens[i + 1][0] == "(":
        last = closing(tokens, i + 1)
        first = tokens[i + 1][1] + 1
        yield first, tokens[last][1], f"!({text[first:tokens[last][1]]})", "negation"
    elif word == "return" and tokens[i + 1][0] != ";":
        last = next(j for j in range(i, len(tokens)) if tokens[j][0] == ";")
        value = text[tokens[i + 1][1]:tokens[last][1]]
        swapped = {"true": "false", "false": "true", "DX_OK": "1", "0": "1", "1": "0"}.get(value)
        yield tokens[i + 1][1], tokens[last][1], swapped or f"!({value})", "return"
    if before in (";", "{", "}", "else") or (before == ")" and i - 1 in ends):
        last = statement_end(tokens, i)
        if last is not None and any(t in ("=", "(", "+=", "-=", "|=", "&=", "++", "--") for t, _ in tokens[i:last]):
            yield at, tokens[last][1], "", "removal"


def mutants_of(path):
    text = path.read_text(encoding="utf-8")
    tokens = list(tokens_of(text))
    file = str(path.relative_to(SOURCE))
    for first, last, function in bodies_of(tokens):
        i = first + 1
        head, ends = 0, set()    # the end of a loop's head: nothing in it is a statement
        while i < last:
            if tokens[i][0] in ("assert", "_Static_assert"):
                i = closing(tokens, i + 1)
            if tokens[i][0] in ("if", "for", "while", "switch"):
                head = closing(tokens, i + 1)
                ends.add(head)
            for start, end, new, kind in sites_of_token(tokens, i, text, ends):
                if kind == "removal" and i < head:
                    continue
                yield Mutant(file, text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start), start, end, new, kind, f"{path.name}:{function}")
            i += 1


def change_of(mutant):
    text = (SOURCE / mutant.file).read_text(encoding="utf-8")
    words = " ".join(text[mutant.start:mutant.end].split())
    line = text.splitlines()[mutant.line - 1].strip()
    return f"{words or '-'} -> {' '.join(mutant.new.split()) or '(nothing)'}   in: {line}"


class Test:
    """One of ctest's: how to run it, and, where the map has it, what it costs and which counters it moves."""

    def __init__(self, row):
        properties = {p["name"]: p["value"] for p in row["properties"]}
        self.name = row["name"]
        self.labels = set(properties.get("LABELS", ()))
        self.command = row.get("command")  # None: not built
        self.env = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", ()))
        self.folder = properties.get("WORKING_DIRECTORY", str(SOURCE))
        self.program = None if "e2e" in self.labels or not self.command else pathlib.Path(self.command[0]).name  # of a unit test
        self.cpu = self.wall = 0.0
        self.hits = {}
        self.is_mapped = False
        self.passes = None  # without a change; None: not known

    def learn(self, row):
        self.is_mapped = True
        self.cpu, self.wall = row["cpu"], row["wall"]
        self.hits = {name: int(mask, 16) for name, mask in row["hits"].items()}
        if row["code"] == 77 or row["code"] < 0:  # skipped, or stopped
            self.passes = False

    def run(self, programs, cpu_s, wall_s, env=None):
        """(exit code, CPU seconds) with the programs of that folder; negative: it crashed or was stopped."""
        command = list(self.command)
        if self.program:
            command[0] = str(programs / "tests" / self.program)
        env = {**os.environ, **self.env, **STEPS, "DX_BIN_DIR": str(programs), **(env or {})}
        return run_bounded(command, self.folder if pathlib.Path(self.folder).is_dir() else SOURCE, env, cpu_s, wall_s)


def run_bounded(command, folder, env, cpu_s, wall_s):
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 30, 4 << 30))
        os.setsid()
    process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=limit)
    end = time.monotonic() + wall_s
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime
        if time.monotonic() > end:
            try:
                os.killpg(process.pid, 9)
            except ProcessLookupError:
                pass
            os.wait4(process.pid, 0)
            process.returncode = -9
            return -9, wall_s
        time.sleep(0.02)


def tests_of_gate(build):
    done = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    tests = [Test(row) for row in json.loads(done.stdout)["tests"]]
    tests = [test for test in tests if not test.labels & NOT_IN_GATE and test.command]
    rows = rows_of(OUT / "map.jsonl")
    for row in rows:
        for test in tests:
            if test.name == row["test"]:
                test.learn(row)
    learned = sum(test.is_mapped for test in tests)
    if 4 * learned < 3 * len(rows):  # mutants would survive that the gate kills
        sys.exit(f"{build} has {learned} of the {len(rows)} tests of the map; configure it with -DDX_UNIT_TESTS=all")
    return tests


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def functions_of_rooms():
    """FUNCTION and FILE:FUNCTION -> FILE:FUNCTION. Names of files are unique in the tree."""
    names = {}
    for room in ROOMS:
        for path in (SOURCE / room).rglob("*.c"):
            for _, _, name in bodies_of(list(tokens_of(path.read_text(encoding="utf-8")))):
                names[name] = names[f"{path.name}:{name}"] = f"{path.name}:{name}"
    return names


def merge_profiles(folder, path):
    """Whether there were any."""
    path.parent.mkdir(exist_ok=True)
    files = list(folder.glob("*.profraw"))
    return bool(files) and subprocess.run(["llvm-profdata-14", "merge", "-sparse", "-failure-mode=all", *files, "-o", path], stderr=subprocess.DEVNULL,
                                          check=False).returncode == 0


def counters_in(profile, names):
    """FILE:FUNCTION -> the counters that are not zero, as a mask in hexadecimal."""
    text = subprocess.run(["llvm-profdata-14", "merge", "-text", profile], capture_output=True, text=True, check=False).stdout
    hits = collections.defaultdict(int)
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith(("#", ":"))]
        if len(lines) > 3 and lines[0] in names:
            hits[names[lines[0]]] |= sum(1 << i for i, count in enumerate(lines[3:]) if count != "0")
    return {name: f"{mask:x}" for name, mask in hits.items() if mask}


def as_they_end(pool, one, items):
    for future in concurrent.futures.as_completed([pool.submit(one, item) for item in items]):
        yield future.result()


def make_map(coverage, jobs, end):
    names = functions_of_rooms()
    tests = [test for test in tests_of_gate(SOURCE / "build" / "dev") if not test.is_mapped]
    tests.sort(key=lambda test: (test.program is None, "short" not in test.labels, "slow" in test.labels, "peers" in test.labels))  # the cheap ones first

    def one(test):
        if time.monotonic() > end:
            return None
        profiles = pathlib.Path(tempfile.mkdtemp(prefix="dx-map-"))
        profiles.chmod(0o1777)  # some tests change their user
        begin = time.monotonic()
        try:
            code, cpu = test.run(coverage, MAP_WALL_S, MAP_WALL_S, {"LLVM_PROFILE_FILE": f"{profiles}/%c%m.profraw"})
        except FileNotFoundError:
            return None  # newer than the build
        wall = time.monotonic() - begin
        profile = coverage / "profiles" / f"{test.name}.profdata"
        hits = counters_in(profile, names) if merge_profiles(profiles, profile) else {}
        shutil.rmtree(profiles, ignore_errors=True)
        return {"test": test.name, "code": code, "cpu": round(cpu, 3), "wall": round(wall, 2), "hits": hits}

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool, open(OUT / "map.jsonl", "a", encoding="utf-8") as file:
        for row in as_they_end(pool, one, tests):
            if row:
                file.write(json.dumps(row) + "\n")
                file.flush()
                print(f"{row['test']:40} {row['code']:4} {row['cpu']:8.2f} s CPU {row['wall']:7.1f} s {len(row['hits']):6} functions", flush=True)


def plan(tests, mutant, seconds, ran):
    """The tests to run, in order, but for those that ran before."""
    room, stem = pathlib.Path(mutant.file).parent.as_posix(), pathlib.Path(mutant.file).stem
    known = any(mutant.function in test.hits for test in tests)
    left, linked, chosen, covered = [], set(), [], 0
    for test in tests:
        mask = test.hits.get(mutant.function, 0)
        if not known:  # newer than the map: what reaches the file
            for name, other in test.hits.items():
                if name.startswith(f"{stem}.c:"):
                    mask |= other
        if not mask and (test.name == f"test_{stem}" or not test.is_mapped and test.program == "unit_" + room.replace("/", "_")):
            mask = 1  # the map may be older
        if mask and test.passes is not False and test.name not in ran:
            left.append((test, mask))

    def cost(test):
        return max(test.cpu, 0.1) + test.wall / 20 + (0 if test.program in linked else LINK_S * (1 if test.program else len(PROGRAMS)))

    def worth(item):
        test, mask = item
        return (test.name == f"test_{stem}", bin(mask & ~covered).count("1") / cost(test), -cost(test))

    while left:
        left = [item for item in left if cost(item[0]) <= seconds]
        if not left:
            break
        if not any(mask & ~covered for _, mask in left):
            covered = 0
        test, mask = best = max(left, key=worth)
        left.remove(best)
        seconds -= cost(test)
        covered |= mask
        linked.add(test.program)
        chosen.append(test)
    return chosen


class Compiler:
    """The commands of the build."""

    def __init__(self, build):
        self.build, self.links = build, {}
        self.lock = threading.Lock()
        self.commands = {}
        for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
            if "/collide/" not in entry.get("output", "") and entry["file"].startswith(str(SOURCE)):
                self.commands.setdefault(str(pathlib.Path(entry["file"]).relative_to(SOURCE)), shlex.split(entry["command"]))

    def compile(self, file, source, out, warnings="-w"):
        """Without debugging information, so that two objects can be compared; warnings: "-w", or "-Werror"."""
        command = list(self.commands[file])
        command[command.index("-o") + 1] = str(out)
        command[command.index("-c") + 1] = str(source)
        return subprocess.run([*command, "-g0", warnings, f"-iquote{(SOURCE / file).parent}"], cwd=self.build, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=300, check=False).returncode == 0

    def link(self, target, out, file, mutant):
        """A target that does not have the mutant's file links too, or does not link: False."""
        with self.lock:
            if target not in self.links:
                done = subprocess.run(["ninja", "-C", str(self.build), "-t", "commands", "-s", target], capture_output=True, text=True, check=True)
                self.links[target] = done.stdout.strip().splitlines()[-1].removeprefix(": && ").removesuffix(" && :")
        objects = re.sub(rf" \S+/{re.escape(file)}\.o\b", "", self.links[target])  # of a file with main, which is in no library
        command = re.sub(r" -o \S+", lambda _: f" -Wl,-S {mutant} -o {out}", objects, count=1)
        return subprocess.run(command, shell=True, cwd=self.build, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300,
                              check=False).returncode == 0


class Programs:
    """A folder like the build's, in which what the tests run has the mutant."""

    def __init__(self, compiler, folder, file, mutant):
        self.compiler, self.folder, self.file, self.mutant, self.linked = compiler, folder, file, mutant, set()
        (folder / "tests").mkdir(parents=True)
        (folder / "libexec" / "domaindex").mkdir(parents=True)
        for entry in compiler.build.iterdir():
            if entry.name not in ("domaindex", "domaindexd", "libexec", "tests"):
                (folder / entry.name).symlink_to(entry)
        for entry in (compiler.build / "tests").iterdir():
            (folder / "tests" / entry.name).symlink_to(entry)

    def need(self, test):
        """Whether they are linked; a program without the mutant's file stays as it is."""
        targets = [f"tests/{test.program}"] if test.program else PROGRAMS
        for target in targets:
            if target in self.linked:
                continue
            self.linked.add(target)
            (self.folder / target).unlink(missing_ok=True)
            if not self.compiler.link(target, self.folder / target, self.file, self.mutant):
                (self.folder / target).unlink(missing_ok=True)
                shutil.copy2(self.compiler.build / target, self.folder / target)  # no symbolic link: `domaindex` runs what lies beside it
                if test.program:
                    return False
        return True


def fails(test, programs):
    """None, or how it failed."""
    usual = max(test.cpu, 0.5)
    for n in range(2):
        code, _ = test.run(programs.folder, 5 + SLOWER * usual, 60 + SLOWER * max(test.wall, 1))
        if code in (0, 77):
            return None
        if test.passes is None:  # the map is of another build
            test.passes = test.run(programs.compiler.build, 30 + SLOWER * usual, 120 + SLOWER * max(test.wall, 1))[0] in (0, 77)
        if not test.passes:
            return None
        if code < 0:
            return f"signal {-code}"
    return "failed"


def judge(tests, compiler, mutant, seconds, ran):
    """(verdict, by, how, names of the tests that ran now). ran: before."""
    text = (SOURCE / mutant.file).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="dx-mutant-", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        source = folder / pathlib.Path(mutant.file).name
        source.write_text(text[:mutant.start] + mutant.new + text[mutant.end:], encoding="utf-8")
        if not compiler.compile(mutant.file, source, folder / "mutant.o", "-Werror"):
            if not compiler.compile(mutant.file, source, folder / "mutant.o"):
                return "unbuilt", "compiler", "", []
            return "killed", "compiler", "a warning, which is an error in the gate", []
        programs = Programs(compiler, folder / "bin", mutant.file, folder / "mutant.o")
        chosen = []
        for test in plan(tests, mutant, seconds, ran):
            chosen.append(test.name)
            how = fails(test, programs) if programs.need(test) else None
            if how:
                return "killed", test.name, how, chosen
        source.write_text(text, encoding="utf-8")
        if not compiler.compile(mutant.file, source, folder / "whole.o"):
            raise RuntimeError(f"{mutant.file} does not compile as it is")
        if (folder / "whole.o").read_bytes() == (folder / "mutant.o").read_bytes():
            return "equivalent", "compiler", "", chosen
        return "survived", "", "", chosen


def draw(count, seed):
    every = [m for room in ROOMS for path in sorted((SOURCE / room).rglob("*.c")) for m in mutants_of(path)]
    return len(every), random.Random(seed).sample(every, min(count, len(every)))


def survivors_in(path):
    """The mutants of a list of survivors that are still there: by file, text of the line, and change; of several in a line by the column."""
    wanted = [line.split(": ", 1) for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith(("#", " "))]
    files = {}
    for place, change in wanted:
        file, _, column = [*place.split(":"), ""][:3]
        if file not in files:
            files[file] = collections.defaultdict(list)
            for m in mutants_of(SOURCE / file):
                files[file][change_of(m)].append(m)
        found = files[file][change.split("   --")[0].strip()]
        if not found:
            print(f"gone: {place}: {change}")
        yield from [m for m in found if str(m.column) == column][:1] or found[:1]


def room_of(file):
    return "builder/cli" if file.startswith("builder/cli/") else file.split("/", 1)[0]


def print_summary(places, done):
    rooms = collections.defaultdict(collections.Counter)
    for row in done.values():
        for name in (room_of(row["file"]), "all"):
            rooms[name][row["verdict"]] += 1
            rooms[name]["by a script"] += row["verdict"] == "killed" and row["by"].startswith("e2e_")
    print("| room | mutants | killed | of them by scripts | survived | equivalent or unbuilt |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in (*ROOMS, "builder/cli", "all"):
        n = rooms[name]
        judged = n["killed"] + n["survived"]
        print(f"| {name} | {judged} | {n['killed']} ({100 * n['killed'] / max(1, judged):.0f} %) | {n['by a script']} | {n['survived']} "
              f"| {n['equivalent'] + n['unbuilt']} |")
    print(f"{len(done)} of {places} places")
    for row in sorted((row for row in done.values() if row["verdict"] == "survived"), key=lambda row: (row["file"], row["line"])):
        print(f"{row['file']}:{row['line']}:{row['column']}: {row['change']}" + ("" if row["ran"] else "   (no test of the map executes it)"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="numbers of mutants, separated by commas")
    parser.add_argument("--rerun", type=pathlib.Path, help="a list of survivors")
    parser.add_argument("--again", action="store_true", help="those that survived so far, with other tests than before")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--map", action="store_true", help="find out which test executes which function")
    parser.add_argument("--coverage", type=pathlib.Path, default=COVERAGE, metavar="DIR", help="the build with counters, for --map")
    parser.add_argument("--preset", default="dev", help="the build, also one with sanitizers")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30, help="CPU seconds of tests that a mutant gets")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing after this time")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes

    OUT.mkdir(parents=True, exist_ok=True)
    if options.map:
        make_map(options.coverage.resolve(), options.jobs, end)
        return
    places, mutants = draw(options.count, options.seed)
    if options.rerun:
        mutants = list(survivors_in(options.rerun))
    numbered = list(enumerate(mutants))
    if options.only:
        numbered = [numbered[int(n)] for n in options.only.split(",")]
    if options.list:
        for n, m in numbered:
            print(f"{n} {m.file}:{m.line}:{m.column}: {m.function}: {m.kind}: {change_of(m)}")
        return
    results, build = OUT / f"{options.seed}.jsonl", SOURCE / "build" / options.preset
    fresh = options.rerun or options.only
    done = {} if fresh else {row["n"]: row for row in rows_of(results)}  # the last row of a mutant holds
    if options.summary:
        print_summary(places, done)
        return
    tests, compiler = tests_of_gate(build), Compiler(build)

    def one(item):
        n, m = item
        if time.monotonic() > end:
            return None
        before = done[n]["ran"] if n in done else []
        verdict, by, how, ran = judge(tests, compiler, m, options.seconds, before)
        return {"n": n, "verdict": verdict, "by": by, "how": how, "ran": before + ran, "file": m.file, "line": m.line, "column": m.column,
                "function": m.function, "kind": m.kind, "change": change_of(m)}

    def is_due(n):
        return done[n]["verdict"] == "survived" if options.again and n in done else n not in done and not options.again

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(os.devnull if fresh else results, "a", encoding="utf-8") as log:
        for row in as_they_end(pool, one, [item for item in numbered if is_due(item[0])]):
            if row is None:
                continue
            done[row["n"]] = row
            log.write(json.dumps(row) + "\n")
            log.flush()
            print(f"{row['n']:4} {row['verdict']:10} {row['by']:28} {len(row['ran']):3} {row['file']}:{row['line']}:{row['column']}: {row['change']}", flush=True)
    print_summary(places, done)


if __name__ == "__main__":
    main()
