# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""`domaindex` answers lookups in directories itself, without the libraries of the network, and starts the program of all commands for the
rest: same arguments, exit codes and messages; found beside it or in ../libexec; an error that names it where it is not there."""
import os
import shutil
import subprocess

import dxtest
from dxtest import check

ALL = dxtest.BIN / "libexec" / "domaindex" / "domaindex"
NETWORK = ("libcurl", "libpq", "librabbitmq", "libssl", "libevent", "libexpat", "libcrypto")

PAGES = ("example.com/a b", "example.com/2", "example.co.uk/", "b.ck/", "a.b.ck/", "www.ck/", "y.github.io/", "a.b.kobe.jp/", "city.kobe.jp/", "a.no-such-tld/")


def said(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def libraries(program):
    if not shutil.which("readelf"):
        return None
    return [line for line in dxtest.run("readelf", "--dynamic", "--wide", program).stdout.decode().splitlines() if "(NEEDED)" in line]


def check_same(root):
    for arguments in (("lookup", "--root", root, "example.com"), ("lookup", "--root", root, "example.com", "absent.example"), ("lookup", "--root", root),
                      ("lookup", "example.com"), ("lookup", "--root", root, "--no-such"), ("lookup", "--root", root / "none", "example.com"),
                      ("lookup", "--help"), ("lookup", "--root", "ftp://a/b", "example.com"), ("lookup", "--root", root, "--url", "https://example.com/a b"),
                      ("lookup", "--root", root, "--all-urls", "--limit", 1, "example.com"), ("lookup", "--root", root, "--dataset", "one", "--limit", 1, "example.com"),
                      ("normalize", "--help"), ("versions", "--root", root), ("help",), (), ("lokup",), ("--version",)):
        check(said(dxtest.DOMAINDEX, *arguments) == said(ALL, *arguments), f"{arguments}: {said(dxtest.DOMAINDEX, *arguments)}\n not {said(ALL, *arguments)}")
    remote = said(dxtest.DOMAINDEX, "lookup", "--root", "http://127.0.0.1:1/x", "example.com")
    check(remote[0] == 1 and b"127.0.0.1" in remote[2] and b"directories alone" not in remote[2], f"a remote root: {remote}")


def check_labels(root):
    """Names of one top-level domain are reduced by its rules alone; with a name of another one beside it all rules are read."""
    for name in ("www.example.co.uk", "co.uk", "a.b.ck", "www.ck", "x.y.github.io", "github.io", "a.b.kobe.jp", "city.kobe.jp", "a.no-such-tld", "example.com", "uk",
                 "example.com.", "EXAMPLE.com", "b\u00fccher.com", "a.xn--55qx5d.cn", "192.0.2.1", "https://a.example.co.uk:80/x"):
        one, both = (said(dxtest.DOMAINDEX, "lookup", "--quiet", "--root", root, name, *other) for other in ((), ("a.org", "a.example.net")))
        check(one[1].splitlines() == both[1].splitlines()[:1] and one[1], f"{name}: {one}\n not {both}")


def check_places(root, tmp):
    installed = tmp / "bin" / "domaindex"
    installed.parent.mkdir()
    shutil.copy(dxtest.DOMAINDEX, installed)
    code, _, words = said(installed, "versions", "--root", root)
    check(code == 1 and b"../libexec/domaindex/domaindex" in words and b"No such file" in words and b"install both programs" in words,
          f"alone: {code} {words}")
    check(said(installed, "lookup", "--root", root, "example.com")[0] == 0, "a lookup needs no other program")
    (tmp / "libexec" / "domaindex").mkdir(parents=True)
    os.symlink(ALL, tmp / "libexec" / "domaindex" / "domaindex")
    check(said(installed, "versions", "--root", root) == said(ALL, "versions", "--root", root), "below the prefix")
    (tmp / "elsewhere").symlink_to(installed)
    check(said(tmp / "elsewhere", "versions", "--root", root)[0] == 0, "through a link")


def main():
    dxtest.need_programs()
    needed = libraries(dxtest.DOMAINDEX)
    if needed is not None:
        check(needed and not [line for line in needed if any(name in line for name in NETWORK)], f"libraries: {needed}")
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        dxtest.domaindex("ingest", "--root", root, "--format", "list", "--dataset", "one", "-", input="".join(f"https://{name}\n" for name in PAGES).encode())
        dxtest.domaindex("publish", "--root", root)
        check_same(root)
        check_labels(root)
        check_places(root, tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
