#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_words.py [--self-test | FILE…] - words and phrases that documents, comments and messages must not use, and long lines.

Checked are the prose of *.md, and the comments and string literals of *.c, *.h and *.def; in tests/ the comments only, since literals
there are data. Of C code the identifiers are checked for the few words of BANNED_NAMES; inline code, fenced blocks and link targets are not. Lines
of prose in *.md have at most 160 characters; tables may be wider. Without FILE: all files of the tree. A line that has to quote such a word is in
ALLOWED below, with its reason.

Exit: 0 none found, 1 some (each printed as file:line: what, and what to write instead).
"""
import pathlib
import re
import subprocess
import sys

# pattern, what to write instead
BANNED = (
    (r"(?<!there )(?<!there must )(?<!there will )(?<!there can )(?<!there may )\b(?:is|are|was|were|be) no(?! (?:longer|more|less|later|better|worse|larger|smaller|earlier|fewer|greater|sooner)\b)\b(?![-,.;:)])",
     "'is not a', 'has no', 'cannot be'"),
    (r"(?<!there )\b(?:is|are|was|were) none\b(?! of\b)", "'is not one', 'has none', 'there is none'"),
    (r"\btold\b", "'gets', 'is given', 'prints', 'reports'"),
    (r"\bnobody\b|\bsomebody\b|\bwhoever\b|\bwho asks\b", "the client, the caller, the process"),
    (r"\b(?:he|him|his|himself)\b", "the client, the caller, the process"),
    (r"\banew\b", "'again', 're-…', 'rebuilt'"),
    (r"\b(?:in|with) words\b", "'with a message', 'a problem document'"),
    (r"\bhave (?:its|their) bytes gone\b", "'removed'"),
    (r"\bis no matter of\b|\bno matter of\b", "'is independent of'"),
    (r"\bof late\b", "'recently'"),
    (r"\bthat cannot be taken\b", "'rejected'"),
    (r"\b(?:tell|tells|telling) (?:of|one)\b", "'says', 'lists', 'describes'"),
    (r"\b(?:tolls?|residents)\b", "'charge', 'open versions'"),
    (r"\b(?:to|for|of|by|but|than|from|with|at|on|in|as|is|are|after|before|unless|whether|because|so) who\b|(?:[.;:!?)] |/\* ?|\n\n)who\b(?![^.;]*\?)",
     "name the actor: 'the client', 'the caller', 'a process that'"),
)
BANNED = tuple((re.compile(pattern, re.I), instead) for pattern, instead in BANNED)

# Parts of identifiers, between underscores, and what to write instead.
BANNED_NAMES = {"told": "'reported', 'commands', what it holds", "lent": "'ref'", "toll": "'charge'", "tolls": "'charges'",
                "residents": "'open_versions'", "bringing": "'fetching'", "nobody": "'none'", "anew": "'again'"}

# path suffix, text of the line: why it may stand
ALLOWED = (
    ("STYLE.md", "", "a style sheet quotes what it forbids"),
)
WIDE = ("CHANGELOG.md", "bench/RESULTS.md")     # one line an entry; written by bench/report.py
LINE_MAX = 160

C_PIECE = re.compile(r'(/\*.*?\*/|//[^\n]*)|("(?:\\.|[^"\\\n])*")|(\'(?:\\.|[^\'\\\n])*\')', re.S)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def prose_of_c(text, literals):
    """The text with everything but comments and, if `literals`, string literals blanked."""
    kept, at = [], 0
    for piece in C_PIECE.finditer(text):
        gap = text[at:piece.start()]
        kept.append(re.sub(r"[^\n]", " ", gap))
        at = piece.end()
        is_prose = piece.group(1) or (piece.group(2) and literals and not gap.rstrip().endswith("#include"))
        kept.append(piece.group() if is_prose else blank(piece))
    kept.append(re.sub(r"[^\n]", " ", text[at:]))
    return "".join(kept)


def names_of_c(text):
    """(offset, identifier) of C code, which is all but comments and literals."""
    for match in re.finditer(r"[A-Za-z_]\w*", C_PIECE.sub(blank, text)):
        yield match.start(), match.group()


def prose_of_md(text):
    text = re.sub(r"^```.*?^```", blank, text, flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`", lambda m: "x" * len(m.group()), text)
    return re.sub(r"\]\([^()\s]*\)", blank, text)


def findings(name, text):
    """(line, found, instead) for each banned phrase; a phrase may go over the end of a line."""
    prose = prose_of_md(text) if name.endswith(".md") else prose_of_c(text, not name.startswith("tests/"))
    lines = text.split("\n")
    # A phrase goes on behind the star of a comment, the quotes of a literal, the bar of a table.
    flat = re.sub(r'"\s*"|\n[ \t]*\*?(?!/)', lambda m: re.sub(r"[^\n]", " ", m.group()), prose).replace("\n", " ")
    flat = re.sub(r" {2,}", lambda m: " " + "\0" * (len(m.group()) - 1), flat)
    offsets = [i for i, c in enumerate(flat) if c != "\0"]
    packed = flat.replace("\0", "")
    if name.endswith(".md") and not name.endswith(WIDE):
        for number, line in enumerate(prose.split("\n"), 1):
            if len(line.rstrip()) > LINE_MAX and not line.startswith("|"):
                yield number, f"{len(line)} characters", f"at most {LINE_MAX} a line"
    for at, identifier in names_of_c(text) if name.endswith((".c", ".h")) else ():
        for part in set(identifier.lower().split("_")) & set(BANNED_NAMES):
            yield text.count("\n", 0, at) + 1, identifier, BANNED_NAMES[part]
    for pattern, instead in BANNED:
        for match in pattern.finditer(packed):
            if match.group().isupper():     # a name of the code
                continue
            line = text.count("\n", 0, offsets[match.start()]) + 1
            if not any(name.endswith(suffix) and part in lines[line - 1] for suffix, part, _ in ALLOWED):
                yield line, match.group(), instead


TRIES = (
    ("a.md", "A queue is no INPUT.", 1),
    ("a.md", "A queue is\nno INPUT.", 1),
    ("a.md", "There is no queue. It is no longer there, and no more than 3.", 0),
    ("a.md", "`is no` and [x](told.md)", 0),
    ("a.md", "```\nnobody\n```\n", 0),
    ("a.md", "The caller is told.", 1),
    ("a.md", "If it is none of these; the other is none.", 1),
    ("a.c", "/* made anew */", 1),
    ("a.c", "/* made\n * anew */", 1),
    ("a.c", "int anew, told; char c = '\"'; int nobody;", 3),
    ("a.c", "int tolded = the_told, TOLD_MAX; /* it is a name */", 2),
    ("a.md", "A file for who reads. Who reads gets it; who does not, not.", 3),
    ("a.md", "Who reads? It says who reads, and clients who read.", 0),
    ("a.c", "/* Who reads\n * gets it. */", 1),
    ("a.c", 'say("which is no "\n    "root");', 1),
    ("a.c", 'say("ok"); /* he said: "told" */', 2),
    ("a.c", '#include "server/told.h"', 0),
    ("a.c", 'say("it has no root");', 0),
    ("tests/a.c", 'say("nobody"); /* nobody */', 1),
    ("a.md", "x" * 161, 1),
    ("a.md", "|" + "x" * 161, 0),
)


def self_test():
    bad = 0
    for name, text, want in TRIES:
        got = len(list(findings(name, text)))
        if got != want:
            print(f"self-test: {text!r}: {got} found, expected {want}")
            bad += 1
    print(f"self-test: {len(TRIES)} texts, {bad} judged wrongly")
    return 1 if bad else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    tree = pathlib.Path(__file__).parent.parent.resolve()
    names = sys.argv[1:] or subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md", "*.[ch]", "*.def"], cwd=tree,
                                           capture_output=True, text=True, check=True).stdout.split()
    bad = 0
    for name in names:
        if (tree / name).exists():
            for line, found, instead in sorted(findings(name, (tree / name).read_text(encoding="utf-8"))):
                print(f"{name}:{line}: '{found}': write {instead}")
                bad += 1
    print(f"{len(names)} files, {bad} banned phrases")
    return 1 if bad or not names else 0


if __name__ == "__main__":
    sys.exit(main())
