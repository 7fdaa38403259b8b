#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutate.py - does a test fail when the code is broken?

    tests/mutation/mutate.py --count 300 --seed 1            N random mutants of the build `dev`, which must be complete
    tests/mutation/mutate.py --count 300 --seed 1 --list     what they are, without running anything
    tests/mutation/mutate.py --only 17,42 --seed 1           some of them again, by number
    tests/mutation/mutate.py --count 300 --seed 1 --scripts  those that survived so far, against end-to-end scripts
    tests/mutation/mutate.py --rerun tests/mutation/survivors.txt      survivors again, after tests were added

A mutant is one change of one token in a function of format/, query/, loader/, fetch/ or builder/: another comparison, + for -, && for ||,
a condition negated, a call or an assignment left out, a number one larger, another return value. Its file is compiled with the flags of the build, and
its object is linked in front of the libraries, so that the tree and the build stay as they are. Then run the unit tests of its room, that of the same name
first, then those of the rooms that use it, cheapest first, up to --seconds. With --scripts the survivors in the results run against OF_ALL and OF_ROOM.

    killed       a test failed that passes without the change, or took ten times as long
    equivalent   the compiler makes the same code of both
    unbuilt      it does not compile, or does not link
    survived     all tests passed

Results go to build/mutation/SEED.jsonl as they come; a run that was stopped goes on from there. Survivors are printed as FILE:LINE: change.
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
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = SOURCE / "build" / "dev"
OUT = SOURCE / "build" / "mutation"
ROOMS = ("format", "query", "loader", "fetch", "builder")
# Tests that damage files take the samples of scripts/test.sh short.
STEPS = {"DX_DAMAGE_STEP": "1009", "DX_VERIFY_STEP": "4999", "DX_BELIEVED_STEP": "101", "DX_INSPECT_STEP": "101", "DX_FLIP_STEP": "31"}
# End-to-end scripts that take a few seconds and need no peers: of every mutant, and by where it is.
OF_ALL = ("http_answers", "timeline", "tlds", "publish_commands", "single_urls", "top_domains", "url_order")
OF_ROOM = {
    "builder": ("doctor", "lookup_lines", "store_tombstones", "unregistered_folders"),
    "format": ("suffix", "all_urls"),
    "loader": ("suffix", "two_servers"),
    "query": ("suffix", "all_urls"),
}
LINK_S = 1.0      # what linking a runner counts as
SLOWER = 10       # times its usual time, and a test is stopped
TEST_MAX_S = 15.0 # tests that take longer are left out
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.)*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|0[xX][0-9a-fA-F]+\w*|\d[\w.]*'
                   r'|<<=|>>=|->|\+\+|--|&&|\|\||[<>=!+\-*/%&|^]=|<<|>>|\s+|.', re.S | re.M)
SWAPS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",),
         "+=": ("-=",), "-=": ("+=",), "++": ("--",), "--": ("++",)}
KEYWORDS = {"if", "else", "for", "while", "do", "switch", "case", "default", "return", "break", "continue", "goto", "sizeof", "struct", "enum", "union",
            "const", "static", "unsigned", "int", "long", "char", "void", "bool", "double", "float", "size_t", "extern", "volatile", "_Atomic", "assert"}

Mutant = collections.namedtuple("Mutant", "file line start end new kind")


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


def bodies_of(tokens):
    """(first, last) of each function's braces."""
    i = 0
    while i < len(tokens):
        if tokens[i][0] == "{":
            end = closing(tokens, i)
            if tokens[i - 1][0] == ")":
                yield i, end
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
    for first, last in bodies_of(tokens):
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
                yield Mutant(file, text.count("\n", 0, start) + 1, start, end, new, kind)
            i += 1


def change_of(mutant):
    text = (SOURCE / mutant.file).read_text(encoding="utf-8")
    words = " ".join(text[mutant.start:mutant.end].split())
    line = text.splitlines()[mutant.line - 1].strip()
    return f"{words or '-'} -> {' '.join(mutant.new.split()) or '(nothing)'}   in: {line}"


class Tests:
    """The unit tests of the build: where they are, how long each takes."""

    def __init__(self):
        sys.path.insert(0, str(SOURCE / "tests"))
        import check_includes
        self.may = check_includes.Rooms(SOURCE).may
        self.of_room = {}
        for room in self.may:
            sources = sorted((SOURCE / "tests" / "unit" / room).glob("test_*.c"))
            if sources:
                self.of_room[room] = [s.stem for s in sources]
        self.links = {}
        self.lock = threading.Lock()
        self.times = {}

    def measure(self, jobs):
        """CPU seconds of each test that passes as it is; kept for later runs."""
        kept = OUT / "times.json"
        if kept.exists():
            self.times = json.loads(kept.read_text())
            return
        every = [(room, name) for room, names in self.of_room.items() for name in names]

        def one(item):
            room, name = item
            code, cpu = run_test(BUILD / "tests" / runner_of(room), name, 120, 600)
            return name, cpu if code == 0 else None

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for name, cpu in pool.map(one, every):
                if cpu is not None and cpu <= TEST_MAX_S:
                    self.times[name] = cpu
        kept.write_text(json.dumps(self.times, indent=1))

    def plan(self, file, seconds):
        """[(room, [test…])]: its own room whole, then those that use it, cheapest first."""
        room, stem = str(pathlib.Path(file).parent), pathlib.Path(file).stem
        own = sorted((n for n in self.of_room.get(room, ()) if n in self.times), key=lambda n: (n != f"test_{stem}", self.times[n]))
        steps = [(room, own)] if own else []
        above = []
        for other, names in self.of_room.items():
            names = sorted((n for n in names if n in self.times), key=self.times.get)
            if other != room and room in self.may[other] and names:
                above.append((sum(self.times[n] for n in names) + LINK_S, other, names))
        for cost, other, names in sorted(above):
            if cost > seconds:
                break
            seconds -= cost
            steps.append((other, names))
        return steps

    def link_command(self, target):
        with self.lock:
            if target not in self.links:
                done = subprocess.run(["ninja", "-C", str(BUILD), "-t", "commands", "-s", target], capture_output=True, text=True, check=True)
                self.links[target] = done.stdout.strip().splitlines()[-1].removeprefix(": && ").removesuffix(" && :")
        return self.links[target]


def runner_of(room):
    return "unit_" + room.replace("/", "_")


def run_test(program, name, cpu_s, wall_s, env=None):
    """(exit code, CPU seconds); a test that is stopped has failed."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 30, 4 << 30))
        os.setsid()
    python = os.environ.get("DX_PEERS_PYTHON", str(SOURCE / "build" / "peers" / "bin" / "python"))
    command = [python, str(program)] if name is None else [str(program), name]
    process = subprocess.Popen(command, cwd=SOURCE, env={**os.environ, **STEPS, **(env or {})}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit)
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
            return -9, wall_s
        time.sleep(0.01)


class Compiler:
    def __init__(self):
        entries = json.loads((BUILD / "compile_commands.json").read_text())
        self.commands = {}
        for entry in entries:
            if "/collide/" not in entry.get("output", "") and entry["file"].startswith(str(SOURCE)):
                self.commands.setdefault(str(pathlib.Path(entry["file"]).relative_to(SOURCE)), shlex.split(entry["command"]))

    def compile(self, file, source, out):
        """Without debugging information, so that two objects can be compared; no warning counts."""
        command = list(self.commands[file])
        command[command.index("-o") + 1] = str(out)
        command[command.index("-c") + 1] = str(source)
        return subprocess.run([*command, "-g0", "-w", f"-iquote{(SOURCE / file).parent}"], cwd=BUILD, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=300, check=False).returncode == 0


def link(tests, target, out, mutant):
    command = re.sub(r" -o \S+", lambda _: f" {mutant} -o {out}", tests.link_command(target), count=1)
    return subprocess.run(command, shell=True, cwd=BUILD, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False).returncode == 0


def run_scripts(tests, file, folder, mutant):
    """The name of the script that failed; None: none did."""
    bin_dir = folder / "bin"
    bin_dir.mkdir()
    for entry in BUILD.iterdir():
        if entry.name not in ("domaindex", "domaindexd", "libexec"):
            (bin_dir / entry.name).symlink_to(entry)
    (bin_dir / "libexec" / "domaindex").mkdir(parents=True)
    linked = 0
    for target in ("domaindex", "domaindexd", "libexec/domaindex/domaindex"):
        if link(tests, target, bin_dir / target, mutant):
            linked += 1
        else:  # which does not have this file
            (bin_dir / target).unlink(missing_ok=True)
            (bin_dir / target).symlink_to(BUILD / target)
    if linked == 0:
        raise RuntimeError(f"{file}: no program links")
    env = {"DX_BIN_DIR": str(bin_dir), "DX_SOURCE_DIR": str(SOURCE), "PYTHONPATH": str(SOURCE / "tests" / "support")}
    for script in (*OF_ALL, *OF_ROOM.get(file.split("/", maxsplit=1)[0], ())):
        code, _ = run_test(SOURCE / "tests" / "e2e" / f"{script}.py", None, 200, 400, env)
        if code not in (0, 77):
            return f"e2e_{script}"
    return None


def judge(tests, compiler, mutant, seconds, scripts):
    """(verdict, by): of unit tests, or of scripts."""
    text = (SOURCE / mutant.file).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="dx-mutant-") as name:
        folder = pathlib.Path(name)
        source = folder / pathlib.Path(mutant.file).name
        source.write_text(text, encoding="utf-8")
        if not compiler.compile(mutant.file, source, folder / "whole.o"):
            raise RuntimeError(f"{mutant.file} does not compile as it is")
        source.write_text(text[:mutant.start] + mutant.new + text[mutant.end:], encoding="utf-8")
        if not compiler.compile(mutant.file, source, folder / "mutant.o"):
            return "unbuilt", "compiler"
        if (folder / "whole.o").read_bytes() == (folder / "mutant.o").read_bytes():
            return "equivalent", "compiler"
        if scripts:
            script = run_scripts(tests, mutant.file, folder, folder / "mutant.o")
            return ("killed", script) if script else ("survived", "")
        for room, names in tests.plan(mutant.file, seconds):
            program = folder / runner_of(room)
            if not link(tests, f"tests/{runner_of(room)}", program, folder / "mutant.o"):
                return "unbuilt", runner_of(room)
            for test in names:
                usual = tests.times[test]
                code, _ = run_test(program, test, 3 + SLOWER * usual, 60 + 60 * usual)
                if code not in (0, 77):
                    return "killed", test
            program.unlink()
        return "survived", ""


def draw(count, seed):
    every = [m for room in ROOMS for path in sorted((SOURCE / room).rglob("*.c")) for m in mutants_of(path)]
    return len(every), random.Random(seed).sample(every, min(count, len(every)))


def survivors_in(path):
    """The mutants of a list of survivors that are still there: by file, text of the line, and change."""
    wanted = [line.split(": ", 1) for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith(("#", " "))]
    files = {}
    for place, change in wanted:
        file = place.rsplit(":", 1)[0]
        if file not in files:
            files[file] = collections.defaultdict(list)
            for m in mutants_of(SOURCE / file):
                files[file][change_of(m)].append(m)
        yield from files[file][change.strip()][:1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="numbers of mutants, separated by commas")
    parser.add_argument("--rerun", type=pathlib.Path, help="a list of survivors")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20, help="of tests of rooms that use the mutant's")
    parser.add_argument("--scripts", action="store_true", help="run end-to-end scripts, of what has survived so far")
    options = parser.parse_args()

    places, mutants = draw(options.count, options.seed)
    if options.rerun:
        mutants = list(survivors_in(options.rerun))
    numbered = list(enumerate(mutants))
    if options.only:
        numbered = [numbered[int(n)] for n in options.only.split(",")]
    if options.list:
        for n, m in numbered:
            print(f"{n} {m.file}:{m.line}: {m.kind}: {change_of(m)}")
        return
    OUT.mkdir(parents=True, exist_ok=True)
    results = OUT / f"{options.seed}.jsonl"
    fresh = options.rerun or options.only
    done = {} if fresh or not results.exists() else {r["n"]: r for r in map(json.loads, results.read_text().splitlines())}
    tests, compiler = Tests(), Compiler()
    tests.measure(options.jobs)

    def one(item):
        n, m = item
        verdict, by = judge(tests, compiler, m, options.seconds, options.scripts)
        return {"n": n, "verdict": verdict, "by": by, "scripts": options.scripts, "file": m.file, "line": m.line, "kind": m.kind, "change": change_of(m)}

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(os.devnull if fresh else results, "a", encoding="utf-8") as log:
        def is_due(n):
            if fresh or not options.scripts:
                return n not in done
            return n in done and done[n]["verdict"] == "survived" and not done[n].get("scripts")
        for result in pool.map(one, [item for item in numbered if is_due(item[0])]):
            done[result["n"]] = result
            log.write(json.dumps(result) + "\n")
            log.flush()
            print(f"{result['n']:4} {result['verdict']:10} {result['by']:28} {result['file']}:{result['line']}: {result['change']}", flush=True)
    counts = collections.Counter(r["verdict"] for r in done.values())
    judged = counts["killed"] + counts["survived"]
    print(f"{len(done)} of {places} places: {dict(counts)}; killed {counts['killed']} of {judged}"
          f" ({100 * counts['killed'] / max(1, judged):.1f} %)")
    for r in sorted((r for r in done.values() if r["verdict"] == "survived"), key=lambda r: (r["file"], r["line"])):
        print(f"{r['file']}:{r['line']}: {r['change']}")


if __name__ == "__main__":
    main()
