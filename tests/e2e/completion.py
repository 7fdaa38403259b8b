#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Completion scripts in bash, zsh and fish themselves: commands, options, values and paths."""
import shutil
import subprocess

import dxtest
from dxtest import check, equal

ASK_BASH = """
source "$1"
shift
function_name=_$1
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$function_name
printf '%s\\n' "${COMPREPLY[@]}"
"""

# words on the line, the last one unfinished; what is offered: exactly these, or at least these
ROWS = (
    (("domaindex", "publ"), {"publish"}, True),
    (("domaindex", ""), {"ingest", "publish", "lookup", "doctor", "completion", "help"}, False),
    (("domaindex", "ingest", "--dataset-c"), {"--dataset-column"}, True),
    (("domaindex", "publish", "--"), {"--root", "--memory"}, False),
    (("domaindex", "ingest", "--ts-unit", ""), {"auto", "s", "ms", "us"}, True),
    (("domaindex", "ingest", "--ts-unit", "=", "m"), {"ms"}, True),
    (("domaindex", "verify", "--root", "some_f"), {"some_folder"}, True),
    (("domaindex", "completion", ""), {"bash", "zsh", "fish"}, True),
    (("domaindex", "suppress", ""), {"add", "lift", "list", "status", "accept"}, True),
    (("domaindex", "access", "--root", "x", "gr"), {"grant"}, True),
    (("domaindex", "access", "ac"), {"accept"}, True),
    (("domaindex", "help", "comp"), {"compact", "completion"}, True),
    (("domaindex", "ingest", "--profile", ""), {"cc-index", "fineweb"}, False),
    (("domaindex", "ingest", "some_f"), {"some_folder"}, True),
    (("domaindex", "publish", "some_f"), set(), True),
    (("domaindexd", "some_f"), set(), True),
    (("domaindexd", "--sandbox", ""), {"auto", "yes", "no"}, True),
    (("domaindexd", "--li"), {"--listen"}, True),
)


def script(program, shell):
    if program == "domaindex":
        return dxtest.domaindex("completion", shell).stdout
    return dxtest.run(dxtest.DOMAINDEXD, "--completion", shell).stdout


def offered(command, what):
    done = subprocess.run(command[0], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, cwd=command[1])
    equal((done.returncode, done.stderr), (0, b""), f"{what}: exit and errors")
    return {line.split("\t")[0].rstrip("/") for line in done.stdout.decode().splitlines() if line}


def judge(got, want, exact, what):
    check(got == want if exact else want <= got, f"{what}: offered {sorted(got)[:40]}, expected {sorted(want)}")


def in_bash(tmp):
    for words, want, exact in ROWS:
        got = offered((["bash", "-c", ASK_BASH, "bash", tmp / f"{words[0]}.bash", *words], tmp), f"bash {words}")
        judge(got, want, exact, f"bash: {' '.join(words)}")


def in_fish(tmp):
    for words, want, exact in ROWS:
        if "=" in words:
            words = (*words[:-3], f"{words[-3]}={words[-1]}")
            want = {f"{words[-1].split('=')[0]}={value}" for value in want}
        line = " ".join(words)
        got = offered((["fish", "--no-config", "-c", f"source {tmp}/{words[0]}.fish; complete -C '{line}'"], tmp), f"fish {words}")
        judge(got, want, exact, f"fish: {line}")


def in_zsh(tmp):
    """zsh completes in a terminal only: its script is parsed, and each option's line is checked by its own parser."""
    for program in ("domaindex", "domaindexd"):
        done = subprocess.run(["zsh", "-f", "-n", tmp / f"{program}.zsh"], stderr=subprocess.PIPE, check=False)
        equal((done.returncode, done.stderr), (0, b""), f"zsh parses the script of {program}")
    ask = ("autoload -Uz compinit && compinit -u -d {0}/dump; _arguments() {{ print -rl -- \"$@\" }}; _files() {{ : }}; "
           "_describe() {{ print -rl -- \"${{commands[@]}}\" }}; source {0}/domaindex.zsh; words=(domaindex ingest x); CURRENT=3; _domaindex")
    got = subprocess.run(["zsh", "-f", "-c", ask.format(tmp)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    words = got.stdout.decode()
    check("*--ts-unit=[" in words and ":(auto s ms us)" in words, f"zsh: options of ingest: {words[:400]}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        (tmp / "some_folder").mkdir()
        for shell in ("bash", "zsh", "fish"):
            for program in ("domaindex", "domaindexd"):
                (tmp / f"{program}.{shell}").write_bytes(script(program, shell))
        in_bash(tmp)
        missing = [name for name, shell in (("zsh", in_zsh), ("fish", in_fish)) if shutil.which(name) is None or shell(tmp)]
        dxtest.domaindex("completion", "csh", expect=2)
        dxtest.domaindex("completion", expect=2)
    dxtest.finish(f"completion: not here: {', '.join(missing)}" if missing else None)


if __name__ == "__main__":
    main()
