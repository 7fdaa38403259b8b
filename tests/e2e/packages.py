#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow tree long alone
"""What scripts/package.sh makes, used in fresh Debian 12 and 13 roots: install, serve, upgrade, remove, purge.

The source archive has the same bytes twice, the SBOM names what the programs load, lintian finds nothing. In
each root: an older version of the packages is installed, a root is published and served by the user of the package, the
packages are upgraded, removed and purged; the data stays. Needs root, debootstrap and a Debian mirror; skips
loudly without. DX_FRESH_DIR (/var/tmp/domaindex-fresh) keeps the bare roots.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess

import dxtest
from dxtest import check, equal

SUITES = ("bookworm", "trixie")
FRESH = pathlib.Path(os.environ.get("DX_FRESH_DIR", "/var/tmp/domaindex-fresh"))
MIRROR = os.environ.get("DX_FRESH_MIRROR", "http://deb.debian.org/debian")
OUT = dxtest.SOURCE / "build" / "packages"

SERVE = """
set -eu
printf 'https://www.example.com/a\\nhttps://example.org/\\n' > /tmp/urls.txt
runuser -u domaindex -- domaindex ingest --root /var/lib/domaindex --dataset d /tmp/urls.txt
runuser -u domaindex -- domaindex publish --root /var/lib/domaindex --quiet
runuser -u domaindexd -- domaindexd --root /var/lib/domaindex --listen 127.0.0.1:0 --sandbox auto > /tmp/log 2>&1 &
pid=$!
for i in $(seq 100); do
    port=$(sed -n 's/.*serving .*127\\.0\\.0\\.1:\\([0-9]*\\).*/\\1/p' /tmp/log | head -n 1)
    [ -z "$port" ] || break
    sleep 0.1
done
exec 3<>/dev/tcp/127.0.0.1/$port
printf 'GET /v1/domain/example.com HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' >&3
cat <&3
kill $pid
wait $pid || true
"""

USE_LIBRARY = """
set -eu
apt-get -qq install -y --no-install-recommends gcc libc6-dev pkg-config
cc /usr/share/doc/domaindex/packaging/library_example.c $(pkg-config --cflags --libs domaindex) -o /tmp/example
/tmp/example /var/lib/domaindex example.com | grep -q '"domain":"example.com"'
"""


def bare_root(suite):
    """A minimal system, made once."""
    root = FRESH / suite
    if not (root / "etc" / "debian_version").exists():
        shutil.rmtree(root, ignore_errors=True)
        FRESH.mkdir(parents=True, exist_ok=True)
        new = FRESH / f"{suite}.new"
        shutil.rmtree(new, ignore_errors=True)
        done = subprocess.run(["debootstrap", "--variant=minbase", suite, new, MIRROR], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            dxtest.skip(f"debootstrap {suite} failed: {done.stdout[-300:]!r}")
        new.rename(root)
    return root


def inside(root, script, what, expect=0):
    """bash in the root, with /proc and devices, and nothing left behind."""
    setup = (f"mount -t proc proc {root}/proc; mount -t tmpfs -o mode=755 tmpfs {root}/dev;"
             f" for d in null zero full random urandom tty; do : > {root}/dev/$d; mount --bind /dev/$d {root}/dev/$d; done;"
             f" ln -s /proc/self/fd {root}/dev/fd; exec chroot {root} /bin/bash -c \"$1\"")
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "bash", "-ec", setup,
                           "bash", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=900,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LANG": "C.UTF-8"})
    words = done.stdout.decode(errors="replace")
    check(done.returncode == expect, f"{root.name}: {what}: exit {done.returncode}: {words[-2000:]}")
    return words


def older(deb, folder):
    """The same package under a lower version, to upgrade from."""
    tree = folder / deb.name.removesuffix(".deb")
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    control = tree / "DEBIAN" / "control"
    text = control.read_text()
    version = re.search(r"(?m)^Version: (.*)$", text).group(1)
    control.write_text(text.replace(version, "0.1.0-1"))
    made = folder / f"old-{deb.name}"
    subprocess.run(["dpkg-deb", "-b", tree, made], stdout=subprocess.DEVNULL, check=True)
    shutil.rmtree(tree)
    return made


def try_in(suite, debs, tmp):
    root = tmp / suite
    subprocess.run(["cp", "-a", f"{bare_root(suite)}/.", root], check=True)
    for name in ("resolv.conf", "hosts"):
        if pathlib.Path("/etc", name).exists():
            shutil.copy(f"/etc/{name}", root / "etc" / name)
    (root / "pkg").mkdir()
    for deb in debs:
        shutil.copy(deb, root / "pkg")
        old = older(deb, tmp)
        shutil.copy(old, root / "pkg")
    new = " ".join(f"/pkg/{deb.name}" for deb in debs)
    old = " ".join(f"/pkg/old-{deb.name}" for deb in debs)
    inside(root, f"apt-get -qq update && apt-get -qq install -y --no-install-recommends {old}", "install")
    equal(sorted(re.findall(r"(?m)^(domaindexd?):", (root / "etc/passwd").read_text())), ["domaindex", "domaindexd"], "users")
    words = inside(root, SERVE, "ingest, publish, serve")
    check('"url_count":1' in words and '"domain":"example.com"' in words, f"{suite}: an answer: {words[-600:]}")
    inside(root, f"apt-get -qq install -y --no-install-recommends {new}", "upgrade")
    inside(root, USE_LIBRARY, "a program of the library")
    words = inside(root, "dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\\n' domaindex domaindexd", "versions")
    check("0.1.0-1" not in words and words.count("installed") == 2, f"{suite}: upgraded: {words}")
    inside(root, "domaindex verify --root /var/lib/domaindex --deep && domaindex doctor --root /var/lib/domaindex", "verify after the upgrade")
    for link in broken_links(root / "usr/share/doc/domaindex"):
        check(False, f"{suite}: dead link: {link}")
    inside(root, "apt-get -qq remove -y domaindex domaindexd libdomaindex1 libdomaindex-dev && ! command -v domaindexd", "remove")
    inside(root, "dpkg --purge domaindex domaindexd libdomaindex1 libdomaindex-dev && ! dpkg -L domaindexd", "purge")
    left = inside(root, "find / -xdev -name '*domaindex*' -not -path '/var/lib/domaindex*' -not -path '/pkg/*' -not -path '/proc/*' -not -path '/var/log/*'", "what is left")
    # What dpkg never removes: the users' entries stand in /etc/passwd; folders that tmpfiles made are the administrator's.
    equal([line for line in left.split() if line != "/etc/domaindex"], [], f"{suite}: files after a purge")
    check((root / "var/lib/domaindex/index/manifest.json").exists(), f"{suite}: the data stays")
    shutil.rmtree(root)


def broken_links(folder):
    """Of relative links in the installed documents, those that lead nowhere."""
    for page in folder.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(errors="replace")):
            if "://" not in target and not (page.parent / target).exists():
                yield f"{page.relative_to(folder)}: {target}"


def tarball_twice():
    digests = set()
    for _ in range(2):
        path = pathlib.Path(dxtest.run(dxtest.SOURCE / "scripts/package.sh", "tarball").stdout.decode().split()[-1])
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
        path.unlink()
    equal(len(digests), 1, "the source archive has the same bytes twice")


def main():
    dxtest.need_programs()
    if os.geteuid() != 0 or not shutil.which("debootstrap") or not shutil.which("dpkg-buildpackage"):
        dxtest.skip("needs root, debootstrap and scripts/install_packages.sh package")
    tarball_twice()
    shutil.rmtree(OUT, ignore_errors=True)
    dxtest.run(dxtest.SOURCE / "scripts/package.sh", timeout=1800)  # lintian's findings make it fail
    debs = sorted(OUT.glob("*.deb"))
    equal([deb.name.split("_")[0] for deb in debs], ["domaindex", "domaindexd", "libdomaindex-dev", "libdomaindex1"], "packages")
    content = subprocess.run(["dpkg-deb", "-c", debs[0]], stdout=subprocess.PIPE, check=True).stdout.decode()
    equal(re.findall(r"/packaging/.*\.gz$", content, re.M), [], "examples are there as they are used")
    check("/packaging/fleet/fleet.py\n" in content, "the fleet is there")
    sbom = json.loads(next(OUT.glob("*.spdx.json")).read_text())
    names = {p["name"] for p in sbom["packages"]}
    check({"domaindex", "libc6", "preact"} <= names and any(n.startswith("libevent") for n in names), f"SBOM: {names}")
    with dxtest.tempdir(FRESH.parent) as tmp:
        for suite in SUITES:
            try_in(suite, debs, tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
