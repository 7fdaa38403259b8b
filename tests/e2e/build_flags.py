# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""What the hardening of cmake/options.cmake leaves in the programs, by readelf: position-independent, read-only after relocation, bound
at the start, no executable stack, stack protector, fortified calls, no path to search libraries in, and control-flow notes on x86-64. And by
objdump, that no function has a frame of over FRAME_MAX bytes, but those that are named: `publish` and `compact` run with small stacks (`process_limits`).

Not seen in a binary by this test: -fstack-clash-protection, and which level of _FORTIFY_SOURCE it was.
"""
import platform
import re
import shutil

import dxtest
from dxtest import check


FRAME_MAX = 17408  # of a function with what was inlined into it: four paths, and something
# These two are not called from deep down, nor on the way of a publish.
LARGER = {"take_line": 24832, "dx_answer_suffix": 22528}


def frames(path):
    """(bytes of the frame, function), from the instructions: what is taken from the stack pointer, also in the steps of -fstack-clash-protection."""
    taken, name = {}, None
    # grep: of a million lines some ten thousand are looked at.
    lines = dxtest.run("sh", "-c", r"""objdump -d --no-show-raw-insn "$0" | LC_ALL=C grep -E '^[0-9a-f]+ <|%rsp$|\(%rsp\),%r11'""", path).stdout.decode().splitlines()
    for line in lines:
        begins = re.match(r"^([0-9a-f]+) <(.+)>:$", line)
        name = begins.groups() if begins else name
        for pattern, steps in ((r"sub +\$0x([0-9a-f]{1,7}),%rsp", 0), (r"lea +-0x([0-9a-f]+)\(%rsp\),%r11", 4096)):
            found = None if begins else re.search(pattern, line)
            if found:
                taken[name] = taken.get(name, 0) + int(found.group(1), 16) - steps
    return [(size, function) for (_, function), size in taken.items()]


def check_frames(path):
    found = frames(path)
    check(len(found) > 1000, f"{path.name}: {len(found)} functions have a frame")
    for size, function in found:
        limit = LARGER.get(function.split(".")[0], FRAME_MAX)
        check(size <= limit, f"{path.name}: {function} has a frame of {size} bytes, {limit} are allowed: take large buffers from the heap")


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
        if platform.machine() == "x86_64" and shutil.which("objdump") and not dxtest.SANITIZED:
            check_frames(path)
    dxtest.finish()


if __name__ == "__main__":
    main()
