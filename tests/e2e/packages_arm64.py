#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow tree long alone
"""What `scripts/package.sh --arch arm64` makes on this machine: four packages of arm64 whose dependencies name arm64's libraries, and whose programs
run under qemu-user: a root is ingested, published, looked up and served from the unpacked packages. Skips loudly where the cross compiler, qemu-user or
Debian's arm64 packages cannot be had. DX_PACKAGES_ARE_MADE: takes those in build/packages.
"""
import os
import re
import subprocess

import dxtest
from dxtest import check, equal

OUT = dxtest.SOURCE / "build" / "packages"
SYSROOT = dxtest.SOURCE / "build" / "arm64-sysroot"
NEEDS = {"domaindex": ("libbz2-1.0", "libc6", "libcurl4", "liblzma5", "libpq5", "librabbitmq4", "libssl3", "publicsuffix", "zlib1g"), "domaindexd": ("libc6", "libevent-2.1-7", "libseccomp2", "libssl3"),
         "libdomaindex1": ("libc6", "libroaring0"), "libdomaindex-dev": ("libdomaindex1",)}


def field(deb, name):
    return dxtest.run("dpkg-deb", "--field", deb, name).stdout.decode().strip()


def examine(deb, into):
    name = deb.name.split("_")[0]
    equal(field(deb, "Architecture"), "arm64", f"{name}: architecture")
    needs = re.findall(r"(?:^|, )([a-z0-9.+-]+)", field(deb, "Depends"))
    equal([want for want in NEEDS[name] if want not in needs], [], f"{name}: dependencies of {needs}")
    check("<<" not in field(deb, "Depends"), f"{name}: works with later libraries, too: {field(deb, 'Depends')}")
    dxtest.run("dpkg-deb", "--extract", deb, into)


def programs(root):
    """Each file that is a program or a library is arm64's, without its debugging information; manuals have words."""
    count = 0
    for path in sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink()):
        if path.read_bytes()[:4] != b"\x7fELF":
            continue
        count += 1
        told = dxtest.run("readelf", "--file-header", "--sections", "--wide", path).stdout.decode()
        check("AArch64" in told and ".debug_info" not in told, f"{path.name}: arm64, stripped")
    check(count >= 4, f"{count} programs and libraries")
    pages = list((root / "usr/share/man").rglob("*.gz"))
    check(len(pages) > 30 and all(page.stat().st_size > 300 for page in pages), f"{len(pages)} manual pages")
    for path in ("bash-completion/completions/domaindex", "bash-completion/completions/domaindexd", "fish/vendor_completions.d/domaindex.fish"):
        check((root / "usr/share" / path).stat().st_size > 300, path)


def use(tmp, root):
    def emulated(path, *arguments):
        return dxtest.run("qemu-aarch64", "-L", SYSROOT, root / path, *arguments).stdout.decode()
    own = "usr/libexec/domaindex/domaindex"
    for program in (own, "usr/bin/domaindexd"):  # usr/bin/domaindex starts the first of them, which qemu-user alone cannot
        check(emulated(program, "--version").startswith("domaindex"), f"{program} --version")
    (tmp / "urls").write_text("https://www.example.com/a\nhttps://example.org/\n")
    emulated(own, "ingest", "--root", tmp / "root", "--dataset", "d", "--quiet", tmp / "urls")
    version = emulated(own, "publish", "--root", tmp / "root", "--quiet").strip()
    for lookup in (emulated("usr/bin/domaindex", "lookup", "--root", tmp / "root", "example.com"), dxtest.domaindex("lookup", "--root", tmp / "root", "example.com").stdout.decode()):
        check('"dataset_count":1' in lookup and version in lookup, f"an index that arm64 made: {lookup}")
    path = tmp / "domaindexd"
    path.write_text(f'#!/bin/sh\nexec qemu-aarch64 -L {SYSROOT} {root}/usr/bin/domaindexd "$@"\n')
    path.chmod(0o755)
    with dxtest.Server(tmp / "root", "--sandbox", "no", "--threads", 2, program=path) as server:
        equal(server.get("/v1/domain/example.com").json["dataset_count"], 1, "an answer of the emulated server")


def main():
    dxtest.need_programs()
    if "DX_PACKAGES_ARE_MADE" not in os.environ:
        done = subprocess.run([dxtest.SOURCE / "scripts/package.sh", "--arch", "arm64"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode == 77:
            dxtest.skip(done.stderr.decode().strip())
        equal(done.returncode, 0, f"package.sh: {done.stdout[-2000:].decode('utf-8', 'replace')}{done.stderr[-3000:].decode('utf-8', 'replace')}")
    debs = sorted(OUT.glob("*_arm64.deb"))
    equal([deb.name.split("_")[0] for deb in debs], sorted(NEEDS), "packages of arm64")
    with dxtest.tempdir() as tmp:
        for deb in debs:
            examine(deb, tmp / "unpacked")
        programs(tmp / "unpacked")
        use(tmp, tmp / "unpacked")
    dxtest.finish()


if __name__ == "__main__":
    main()
