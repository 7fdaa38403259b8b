#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""libdomaindex from outside: the example program answers as a server does, byte for byte; the exports are those of lib/domaindex.map
and of domaindex.h, and no others; what `cmake --install` puts in place is enough to build the example with pkg-config and with CMake.
"""
import json
import re
import shutil
import subprocess
import urllib.parse

import dxtest
from dxtest import check, equal

EXAMPLE = dxtest.BIN / "library_example"
LIBRARY = dxtest.BIN / "libdomaindex.so"
URLS = [f"http://www.name{i % 7}.com/page/{i}?q=ü{i}" for i in range(60)] + ["https://xn--mnchen-3ya.de/a"]


def make_root(root):
    for number, dataset in enumerate(("one", "two", "three")):
        text = "\n".join(URLS[number * 5:]).encode()
        dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "--format", "list", "-", input=text)
    dxtest.domaindex("publish", "--root", root)


def pages(server, domain):
    """What the example prints of a domain: the answer, its listing by pages of two, the canonical form."""
    quoted = urllib.parse.quote(domain, safe="")
    answer = server.get(f"/v1/domain/{quoted}")
    yield answer.body
    target = f"/v1/domain/{quoted}/urls?limit=2"
    while answer.status == 200 and target:
        page = server.get(target)
        equal(page.status, 200, target)
        yield page.body
        cursor = page.json["next_cursor"]
        target = f"/v1/domain/{quoted}/urls?limit=2&cursor={cursor}" if cursor else None


def without_cursors(line):
    """Cursors say when their listing began."""
    return re.sub(rb'"next_cursor":"[^"]*"', b'"next_cursor":"..."', line)


def check_answers(root, program):
    names = ["name3.com", "WWW.Name1.COM.", "münchen.de", "stranger.example", "http://name2.com:8080/x?y#z", "com"]
    done = dxtest.run(program, root, *names, expect=1)
    lines = [line for line in done.stdout.split(b"\n") if line.startswith(b"{")]
    canonical = [line for line in done.stdout.split(b"\n") if line and not line.startswith(b"{")]
    with dxtest.Server(root) as server:
        want = [body for name in names for body in pages(server, name)]
    equal(len(lines), len(want), "answers and pages")
    for got, other in zip(lines, want):
        equal(without_cursors(got), without_cursors(other), "bytes of the library and of the server")
    equal(json.loads(lines[0])["domain"], "name3.com", "the first answer")
    text = "\n".join(names).encode()
    equal([line.split(b" ")[0] for line in canonical],
          dxtest.domaindex("normalize", input=text).stdout.split(), "canonical forms")
    lost = dxtest.run(program, root / "nowhere", "a.com", expect=1)
    check(b"nowhere" in lost.stderr, f"no root: {lost.stderr!r}")


def check_exports():
    header = (dxtest.SOURCE / "lib" / "domaindex.h").read_text()
    declared = set(re.findall(r"^\w[^(\n]*?\b(domaindex_\w+)\(", header, re.M))
    listed = set(re.findall(r"^    (domaindex_\w+);", (dxtest.SOURCE / "lib" / "domaindex.map").read_text(), re.M))
    equal(listed, declared, "lib/domaindex.map and the declarations of domaindex.h")
    names = dxtest.run("nm", "-D", "--defined-only", "--format=posix", LIBRARY).stdout.decode().split("\n")
    exported = {line.split("@")[0].split(" ")[0] for line in names if line and not re.match(r"DOMAINDEX_\d+ |_{1,2}(asan|ubsan|tsan|sanitizer)", line)}
    equal(exported - {"DOMAINDEX_1", "DOMAINDEX_1@@DOMAINDEX_1"}, declared, "symbols that the library exports")
    dynamic = dxtest.run("readelf", "-d", LIBRARY).stdout.decode()
    check("[libdomaindex.so.1]" in dynamic, "the SONAME is libdomaindex.so.1")


def check_installed(root, tmp):
    """A stranger's build: nothing of this tree but what was installed."""
    prefix = tmp / "prefix"
    dxtest.run("cmake", "--install", dxtest.BIN, "--prefix", prefix)
    example = prefix / "share" / "doc" / "domaindex" / "packaging" / "library_example.c"
    pc = next(prefix.rglob("domaindex.pc"))
    flags = dxtest.run("pkg-config", "--cflags", "--libs", "domaindex", env={"PKG_CONFIG_PATH": str(pc.parent)}).stdout.decode().split()
    library = pc.parent.parent
    dxtest.run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", example, *flags, f"-Wl,-rpath,{library}", "-o", tmp / "by_pkg_config")
    check_answers(root, tmp / "by_pkg_config")
    project = tmp / "project"
    project.mkdir()
    shutil.copy(example, project)
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(stranger LANGUAGES C)\nfind_package(domaindex REQUIRED)\n"
        "add_executable(stranger library_example.c)\ntarget_link_libraries(stranger PRIVATE domaindex::domaindex)\n")
    dxtest.run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    dxtest.run("cmake", "--build", project / "build")
    done = subprocess.run([project / "build" / "stranger", root, "name3.com"], stdout=subprocess.PIPE, check=False)
    equal(done.returncode, 0, "the example built by find_package(domaindex)")
    cpp = tmp / "header.cpp"
    cpp.write_text("#include <domaindex.h>\nint main() { return domaindex_abi() - DOMAINDEX_ABI; }\n")
    if shutil.which("c++"):
        dxtest.run("c++", "-Wall", "-Wextra", "-Werror", cpp, *flags, f"-Wl,-rpath,{library}", "-o", tmp / "cpp")
        dxtest.run(tmp / "cpp")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        make_root(root)
        check_answers(root, EXAMPLE)
        if not dxtest.SANITIZED:  # the run time of a sanitizer is linked to programs, and has symbols of its own
            check_exports()
            check_installed(root, tmp)
    dxtest.finish()


main()
