#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow tree long alone
"""The OCI image that `scripts/package.sh image` makes: what its configuration says, and its root, run as that says.

In detail: user without rights, port, entry point, version; the unpacked root serves an index as that user, on a read-only file system without
devices, capabilities or a network but its own loopback, and ends by SIGTERM with 0. No container engine is needed. Needs root, buildah, mmdebstrap and a
Debian mirror; skips loudly without.
"""
import json
import os
import shutil
import subprocess
import tarfile

import dxtest
from dxtest import check, equal

# $1: rootfs, $2: the index, $3: user; then the command. In name spaces of its own.
RUN = r"""
set -e
root=$1 index=$2 user=$3
shift 3
ip link set lo up
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for d in null urandom; do : > "$root/dev/$d"; mount --bind "/dev/$d" "$root/dev/$d"; done
mount --bind -o ro "$index" "$root/var/lib/domaindex"
mount -o remount,ro,bind "$root"
exec chroot "$root" setpriv --reuid="$user" --regid="$user" --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs /bin/bash -c '
"$@" &
for i in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/8080) 2>/dev/null && break; sleep 0.1; done
for target in /readyz /v1/domain/example.com; do
    exec 3<>/dev/tcp/127.0.0.1/8080
    printf "GET $target HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" >&3
    cat <&3
done
(: > /written) 2>/dev/null && echo "IT WRITES"
echo "UID $(id -u) $(id -un)"
kill %1
wait %1
echo "EXIT $?"' bash "$@"
"""


def blob(folder, descriptor):
    return folder / "blobs" / descriptor["digest"].replace(":", "/")


def unpack(image, tmp):
    """The configuration, and the folder of its root."""
    folder, root = tmp / "oci", tmp / "rootfs"
    dxtest.run("mkdir", folder, root)
    dxtest.run("tar", "-xf", image, "-C", folder)
    manifest = json.loads(blob(folder, json.loads((folder / "index.json").read_text())["manifests"][0]).read_text())
    for layer in manifest["layers"]:
        dxtest.run("tar", "-xf", blob(folder, layer), "-C", root, "--exclude", "./dev/*")
    return json.loads(blob(folder, manifest["config"]).read_text())["config"], root


def main():
    dxtest.need_programs()
    missing = [name for name in ("buildah", "mmdebstrap", "ip") if not shutil.which(name)]
    if os.geteuid() != 0 or missing:
        dxtest.skip(f"needs root and {', '.join(missing)}")
    done = dxtest.run(dxtest.SOURCE / "scripts/package.sh", "image", timeout=1800, expect=None)
    if done.returncode != 0:
        dxtest.skip(f"scripts/package.sh image failed: {done.stderr.decode()[-500:]}")
    image = done.stdout.decode().split()[-1]
    version = dxtest.run(dxtest.DOMAINDEXD, "--version").stdout.decode().split()[1]
    check(image.endswith(f"domaindexd-{version}.oci.tar") and tarfile.is_tarfile(image), f"the image: {image}")
    with dxtest.tempdir() as tmp:
        config, root = unpack(image, tmp)
        equal((config["User"], list(config["ExposedPorts"]), config["StopSignal"]), ("domaindexd", ["8080/tcp"], "SIGTERM"), "configuration")
        index = tmp / "index"
        (tmp / "urls.txt").write_text("https://www.example.com/a\n")
        dxtest.domaindex("ingest", "--root", index, "--dataset", "d", "--format", "list", tmp / "urls.txt")
        dxtest.domaindex("publish", "--root", index)
        dxtest.run("chmod", "-R", "a+rX", index)
        tmp.chmod(0o755)
        seen = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "--propagation", "private", "bash", "-c", RUN, "bash",
                               root, index, config["User"], *config["Entrypoint"], *config["Cmd"]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=300, check=False, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **dict(v.split("=", 1) for v in config["Env"])})
        words = seen.stdout.decode(errors="replace")
        check('"ready":true' in words and '"domain":"example.com"' in words, f"it serves: {words[-3000:]}")
        check("EXIT 0" in words and "IT WRITES" not in words, f"it ends, and writes nothing: {words[-1500:]}")
        check("UID 0" not in words and " domaindexd\n" in words, f"as a user without rights: {words[-500:]}")
    dxtest.finish()


if __name__ == "__main__":
    main()
