#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow tree
"""What is installed for systemd, how much its units leave open, and how the programs are hardened, in the gate the server alone."""
import configparser
import os
import re
import shutil
import subprocess

import dxtest
from dxtest import check, equal

UNITS = ("domaindexd.service", "domaindexd.socket", "domaindexd-admin.socket", "domaindex-gc.service",
         "domaindex-gc.timer")


def lines_of(unit, key):
    return re.findall(rf"(?m)^{key}=(.*)$", unit)


def units(prefix, tmp):
    folder = prefix / "lib" / "systemd" / "system"
    equal(sorted(p.name for p in folder.iterdir()), sorted(UNITS), "units")
    for name in ("sysusers.d", "tmpfiles.d"):
        check((prefix / "lib" / name / "domaindex.conf").exists(), name)
    here = tmp / "units"
    here.mkdir()
    for name in UNITS:  # programs as they lie here, so that verify finds them
        text = (folder / name).read_text()
        check("@" not in re.sub(r"(?m)^#.*$|SystemCallFilter=.*", "", text), f"{name}: a variable is left")
        (here / name).write_text(re.sub(r"ExecStart=\S*/(domaindexd?) ", rf"ExecStart={prefix}/bin/\1 ", text))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *(here / name for name in UNITS)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    equal((done.returncode, done.stdout), (0, b""), "systemd-analyze verify")
    for name in UNITS:
        if not name.endswith(".service"):
            continue
        done = subprocess.run(["systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=15", here / name],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        words = done.stdout.decode()
        exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", words)
        print(f"{name}: exposure {exposure and exposure.group(1)}")
        equal(done.returncode, 0, f"{name}: exposure over 1.5:\n{words}")
    return here


def users_and_folders(prefix, tmp):
    """Made in an empty system below a folder: both users, and what docs/OPERATIONS.md then writes to."""
    system = tmp / "system"
    for name in ("sysusers.d", "tmpfiles.d"):
        (system / "usr" / "lib" / name).mkdir(parents=True)
        shutil.copy(prefix / "lib" / name / "domaindex.conf", system / "usr" / "lib" / name)
    (system / "etc").mkdir()
    if os.geteuid() != 0:
        print("not shown here: users and folders (needs root)")
        return
    for program in ("systemd-sysusers", "systemd-tmpfiles"):
        done = subprocess.run([program, f"--root={system}", *(["--create"] if "tmpfiles" in program else [])],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        equal(done.returncode, 0, f"{program}: {done.stdout.decode()}")
    users = dict(re.findall(r"(?m)^(domaindexd?):[^:]*:(\d+):", (system / "etc" / "passwd").read_text()))
    equal(sorted(users), ["domaindex", "domaindexd"], "users")
    leases = (system / "var" / "lib" / "domaindex" / "leases").stat()
    equal((leases.st_uid, oct(leases.st_mode)), (int(users["domaindexd"]), "0o42775"), "leases/")
    check((system / "etc" / "domaindex").is_dir(), "/etc/domaindex, where the key and the settings go")


def fits(here):
    """What the unit says and what the program and its example of settings say are the same."""
    unit = (here / "domaindexd.service").read_text()
    equal(lines_of(unit, "ReadWritePaths"), ["-/var/lib/domaindex/leases"], "what may be written")
    equal(lines_of(unit, "LimitCORE"), ["0"], "no core files")
    equal(lines_of(unit, "Type"), ["notify"], "type")
    names = [lines_of((here / s).read_text(), "FileDescriptorName")[0] for s in lines_of(unit, "Sockets")[0].split()]
    equal(names, ["http", "admin"], "names of sockets")
    example = (dxtest.SOURCE / "config" / "domaindexd.conf.example").read_text()
    settings = configparser.ConfigParser(inline_comment_prefixes="#")
    settings.read_string("[all]\n" + re.sub(r"(?m)^# ([a-z0-9-]+ = )", r"\1", example))
    wait = (int(settings["all"]["grace-ms"]) + int(settings["all"]["drain-delay-ms"])) / 1000
    check(wait < int(lines_of(unit, "TimeoutStopSec")[0]), "an end by the example's settings is waited for")
    equal(settings["all"]["root"], lines_of(unit, "ReadOnlyPaths")[0], "root")
    # Not exposed less because of a line that this test does not read.
    open_unit = re.sub(r"(?m)^(CapabilityBoundingSet|PrivateUsers|SystemCallFilter|RestrictNamespaces)=.*\n", "", unit)
    (here / "open.service").write_text(open_unit)
    done = subprocess.run(["systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=15", here / "open.service"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    check(done.returncode != 0, "a unit that leaves more open is noticed")


def hardened():
    for program in (dxtest.DOMAINDEX, dxtest.DOMAINDEXD)[0 if dxtest.WHOLE else 1:]:     # build_flags looks at all
        done = subprocess.run(["hardening-check", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        words = done.stdout.decode()
        found = dict(re.findall(r"(?m)^ ([A-Za-z -]+): (\S+)", words))
        equal((done.returncode, len(found)), (0, 7), f"hardening-check: {words}")
        # It knows stack probes only by the loop of an array whose size is not constant, and there is none here.
        probes = found.pop("Stack clash protection").rstrip(",")
        if probes != "yes":
            begin = subprocess.run(["sh", "-c", 'objdump -d "$0" | grep -m 200 -A 1 "sub  *[$]0x1000,%rsp"', program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
            code = begin.stdout.decode()
            count = len(re.findall(r"sub +\$0x1000,%rsp\n[^\n]*orq +\$0x0,\(%rsp\)", code))
            print(f"{program.name}: {count} frames are probed page by page")
            check(count > 0, f"{program.name}: stack clash protection: {probes}")
        equal(set(value.rstrip(",") for value in found.values()), {"yes"}, words)
    done = subprocess.run(["hardening-check", shutil.which("true")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    check(b"Position Independent" in done.stdout, "hardening-check works")


def main():
    dxtest.need_programs()
    for program in ("systemd-analyze", "hardening-check", "cmake", "objdump"):
        if not shutil.which(program):
            dxtest.skip(f"needs {program} (scripts/install_packages.sh build test)")
    with dxtest.tempdir() as tmp:
        dxtest.run("cmake", "--install", dxtest.BIN, "--prefix", tmp / "usr")
        users_and_folders(tmp / "usr", tmp)
        fits(units(tmp / "usr", tmp))
        cache = (dxtest.BIN / "CMakeCache.txt").read_text()
        if re.search(r"(?m)^CMAKE_BUILD_TYPE:\S*=Debug$|^DX_HARDEN:BOOL=OFF$|^DX_SANITIZE:\S*=.+$", cache):
            print("not shown here: hardening (a debug build, or one with sanitizers)")
        else:
            hardened()
    dxtest.finish()


if __name__ == "__main__":
    main()
