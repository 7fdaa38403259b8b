#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: tree
"""Names that docs/PROMISES.md promises are all there (tests/promises.txt), and every place says the same version.

    tests/e2e/promises.py --write       adds names that are new to tests/promises.txt; none is taken out
"""
import json
import re
import sys

import dxtest
from dxtest import check, equal

LIST = dxtest.SOURCE / "tests" / "promises.txt"
HEAD = "# Names that stay through 1.x (docs/PROMISES.md). `tests/e2e/promises.py --write` adds new ones, before a release; lines are not removed.\n"


def text(path):
    return (dxtest.SOURCE / path).read_text(encoding="utf-8")


def api():
    doc = json.loads(text("docs/openapi.json"))
    shared = doc["components"].get("parameters", {})
    for path, operations in doc["paths"].items():
        for method, operation in operations.items():
            yield f"api {method.upper()} {path}"
            for parameter in operation.get("parameters", ()):
                if "$ref" in parameter:
                    parameter = shared[parameter["$ref"].rsplit("/", 1)[1]]
                yield f"api {method.upper()} {path} {parameter['in']} {parameter['name']}"
    for name, schema in doc["components"]["schemas"].items():
        for member in members(schema):
            yield f"schema {name} {member}"


def members(schema, prefix=""):
    for name, inner in schema.get("properties", {}).items():
        yield f"{prefix}{name} {inner.get('type', '') if isinstance(inner.get('type', ''), str) else '|'.join(inner['type'])}".rstrip()
        yield from members(inner, f"{prefix}{name}.")
        yield from members(inner.get("items", {}), f"{prefix}{name}[].")


def documents():
    for codes, slugs in re.findall(r"(?m)^\| (\d{3}(?:, \d{3})*) \| ((?:`[a-z-]+`(?:, )?)+) \|", text("docs/API.md")):
        for slug in re.findall(r"`([a-z-]+)`", slugs):
            yield f"problem {slug} {codes}"
    for name, kind, labels in re.findall(r"(?m)^\| `(domaindex_\w+|process_\w+)` \| (\w+) \| (.*?) \|", text("docs/METRICS.md")):
        yield " ".join(["metric", name, kind, *re.findall(r"\w+", labels)])
    table = text("docs/OPERATIONS.md").split("## Exit codes and JSON")[1].split("\n## ")[0]
    for code, of in re.findall(r"(?m)^\| (\d) \| (.*?) \|", table):
        yield f"exit {code} {of}"
    for commands, names in re.findall(r"(?m)^\| ((?:`[a-z0-9-]+`(?:, )?)+) \| ((?:`[^`]+`(?:, )?)+) \|", table):
        for command in re.findall(r"`([^`]+)`", commands):
            yield from (f"json {command} {name}" for name in re.findall(r"`([^`]+)`", names))


def programs():
    top = dxtest.domaindex("--help").stdout.decode()
    for command in re.findall(r"(?m)^  ([a-z0-9-]+) ", top.split("commands:")[1]):
        yield f"command {command}"
        for option in options(dxtest.domaindex(command, "--help").stdout.decode()):
            yield f"option {command} {option}"
    for option in options(dxtest.run(dxtest.DOMAINDEXD, "--help").stdout.decode()):
        yield f"option domaindexd {option}"
    for key in re.findall(r"(?m)^#? ?([a-z0-9-]+) = ", text("config/domaindexd.conf.example")):
        yield f"setting {key}"


def options(words):
    """With = behind those that take a value."""
    return [name + "=" * bool(value) for name, value in re.findall(r"(?m)^  (--[a-z0-9-]+)( [A-Z]\S*)?", words)]


def one_version():
    numbers = re.search(r"project\(domaindex VERSION (\S+)", text("CMakeLists.txt"))[1]
    suffix = re.search(r'set\(DX_VERSION_SUFFIX "(.*)"\)', text("CMakeLists.txt"))[1]
    version = numbers + suffix
    for program in (dxtest.DOMAINDEX, dxtest.DOMAINDEXD):
        equal(dxtest.run(program, "--version").stdout.decode().split()[1], version, f"{program.name} --version")
    equal(json.loads(text("docs/openapi.json"))["info"]["version"], version, "docs/openapi.json")
    equal(json.loads(text("js/package.json"))["version"], version, "js/package.json")
    equal(re.findall(r"domaindexd:([\w.-]+)}", text("packaging/compose.yaml")), [version], "packaging/compose.yaml")
    equal(re.search(r"(?m)^version=(.*)$", text("scripts/package.sh"))[1].count("CMakeLists.txt"), 2, "scripts/package.sh takes it from CMakeLists.txt")
    space = {"re": re, "TREE": dxtest.SOURCE}
    exec(re.search(r"(?ms)^def version\(\):.*?(?=^def )", text("python/setup.py"))[0], space)
    equal(space["version"](), numbers + suffix.replace("-", ""), "python/setup.py, as PEP 440 writes it")
    check(f'__version__ = "{space["version"]()}"' in text("python/src/domaindex/__init__.py"), "domaindex.__version__")
    equal(re.findall(r"(?m)^Version: (.*)$", (dxtest.BIN / "domaindex.pc").read_text()), [version], "domaindex.pc")
    check(version in text("CHANGELOG.md"), "CHANGELOG.md names it")


def table():
    """Tests that docs/OPERATIONS.md names exist, and so do the commands."""
    part = text("docs/OPERATIONS.md").split("## Who expects it, command, test")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in part.splitlines() if line.startswith("| ") and not line.startswith("| who ")][1:]
    check(len(rows) > 20, f"{len(rows)} rows")
    for row in rows:
        for name in re.findall(r"`([a-z_]+)`", row[-1]):
            check(any((dxtest.SOURCE / "tests" / "e2e" / f"{name}.{ending}").exists() for ending in ("py", "sh")), f"{row[1]}: there is a test {name}")
        check("`" in row[-1], f"{row[1]} has a test")
        for command in re.findall(r"`domaindex ([a-z-]+)", row[2]):
            check(command.startswith("-") or dxtest.run(dxtest.DOMAINDEX, "help", command, expect=None).returncode == 0, f"{row[1]}: domaindex {command}")


def main():
    dxtest.need_programs()
    one_version()
    table()
    there = [*api(), *documents(), *programs()]
    kinds = {line.split()[0] for line in there}
    equal(kinds, {"api", "schema", "problem", "metric", "exit", "json", "command", "option", "setting"}, "kinds of names")
    promised = [line for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")] if LIST.exists() else []
    if sys.argv[1:] == ["--write"]:
        LIST.write_text(HEAD + "".join(f"{line}\n" for line in sorted({*promised, *there})), encoding="utf-8")
        return dxtest.finish()
    check(len(promised) > 1000, f"{len(promised)} names are promised")
    for line in promised:
        check(line in there, f"promised, and not there any more: {line}")
    print(f"not promised before the next --write: {sorted(set(there) - set(promised))}")
    return dxtest.finish()


if __name__ == "__main__":
    main()
