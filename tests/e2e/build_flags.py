# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""What the hardening of cmake/options.cmake leaves in the programs, by readelf: position-independent, read-only after relocation, bound
at the start, no executable stack, stack protector, fortified calls, no path to search libraries in, and control-flow notes on x86-64.

Not seen in a binary by this test: -fstack-clash-protection, and which level of _FORTIFY_SOURCE it was.
"""
import platform
import re
import shutil

import dxtest
from dxtest import check


def readelf(what, path):
    return dxtest.run("readelf", what, "--wide", path).stdout.decode()


def check_program(path):
    name = path.name
    dynamic, segments = readelf("--dynamic", path), readelf("--segments", path)
    check(re.search(r"Type: +DYN", readelf("--file-header", path)) and re.search(r"FLAGS_1.*\bPIE\b", dynamic), f"{name}: PIE")
    check(re.search(r"FLAGS_1.*\bNOW\b", dynamic) and "BIND_NOW" in dynamic, f"{name}: bound at the start")
    check("GNU_RELRO" in segments, f"{name}: RELRO")
    stack = re.search(r"GNU_STACK.* (\S+) +0x\w+$", segments, re.M)
    check(stack and stack.group(1) == "RW", f"{name}: the stack is not executable: {stack and stack.group(0)}")
    check(not re.search(r"LOAD.* RWE ", segments), f"{name}: writable and executable memory")
    for tag in ("TEXTREL", "RPATH", "RUNPATH"):
        check(f"({tag})" not in dynamic, f"{name}: {tag}")
    symbols = readelf("--dyn-syms", path)
    check("__stack_chk_fail" in symbols, f"{name}: stack protector")
    for call in ("__memcpy_chk", "__snprintf_chk", "__vsnprintf_chk"):
        check(call in symbols, f"{name}: fortified calls: {call}")
    if platform.machine() == "x86_64":
        notes = readelf("--notes", path)
        check("IBT" in notes and "SHSTK" in notes, f"{name}: control-flow notes: {notes[-200:]}")


def main():
    dxtest.need_programs()
    if not shutil.which("readelf"):
        dxtest.skip("no readelf (Debian: binutils)")
    for path in (dxtest.DOMAINDEX, dxtest.BIN / "libexec" / "domaindex" / "domaindex", dxtest.DOMAINDEXD):
        check_program(path)
    dxtest.finish()


if __name__ == "__main__":
    main()
