#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: tree
"""packaging/compose.yaml and packaging/fleet/: files are there, programs take their parts of it, and both ways start the same.

In detail: `domaindexd --check` takes the command of each service, HAProxy and promtool take their configuration, mounts exist, the image is
that of this version, ports are open on 127.0.0.1 alone; fleet.py gives servers the same options. The containers themselves are not run.
"""
import json
import os
import pathlib
import re
import shutil
import sys

import dxtest
import stores
from dxtest import check, equal

PACKAGING = dxtest.SOURCE / "packaging"
sys.path.insert(1, str(PACKAGING / "fleet"))
import fleet as laptop  # noqa: E402


def option_names(command):
    return {re.match(r"--([a-z-]+)", word)[1] for word in map(str, command) if word.startswith("--")}


def compose(tmp):
    import yaml
    services = yaml.safe_load((PACKAGING / "compose.yaml").read_text(encoding="utf-8"))["services"]
    equal(set(services), {"s3", "haproxy", "prometheus", "grafana", *laptop.Fleet.names}, "services")
    version = dxtest.run(dxtest.DOMAINDEXD, "--version").stdout.decode().split()[1]
    (tmp / "key").write_bytes(b"k" * 64)
    for name in laptop.Fleet.names:
        service = services[name]
        equal(service["image"], f"${{DOMAINDEXD_IMAGE:-domaindexd:{version}}}", f"image of {name}")
        command = [word.replace("/run/configs/cursor.key", str(tmp / "key")) for word in service["command"]]
        dxtest.run(dxtest.DOMAINDEXD, "--check", "--listen", "0.0.0.0:8080", *command, env=service["environment"])
        check(f"--server-name={name}" in command and service["read_only"], f"service {name}")
        dxtest.run(dxtest.DOMAINDEXD, "--check", *command, "--no-such-option", expect=2)
    for name, service in services.items():
        for port in service.get("ports", ()):
            check(port.startswith("127.0.0.1:"), f"{name} listens on {port}")
        for mount in service.get("volumes", ()):
            source = mount.split(":")[0]
            check(not source.startswith(".") or (PACKAGING / source).exists(), f"{name} mounts {source}")
    for file in sorted((PACKAGING / "fleet" / "grafana").iterdir()):
        check(yaml.safe_load(file.read_text(encoding="utf-8"))["apiVersion"] == 1, file.name)
    return services["a"]["command"]


def haproxy(tmp):
    text = (PACKAGING / "fleet" / "haproxy.cfg").read_text(encoding="utf-8")
    for name in laptop.Fleet.names:  # the names of containers cannot be looked up here, and need not be
        check(f"server {name} {name}:8080\n" in text, f"server {name}")
    (tmp / "haproxy.cfg").write_text(text)
    done = dxtest.run(laptop.find("haproxy"), "-c", "-f", tmp / "haproxy.cfg", expect=None)
    check(done.returncode == 0, f"haproxy -c: {done.stderr.decode()}")


def prometheus(tmp, promtool):
    text = (PACKAGING / "fleet" / "prometheus.yml").read_text(encoding="utf-8")
    equal(re.findall(r'"(\w):9180"', text), list(laptop.Fleet.names), "targets")
    check("/etc/prometheus/alerts.yaml" in text, "the rules' place")
    (tmp / "prometheus.yml").write_text(text.replace("/etc/prometheus/alerts.yaml", str(PACKAGING / "prometheus" / "alerts.yaml")))
    dxtest.run(promtool, "check", "config", tmp / "prometheus.yml")


def dashboard():
    panels = json.loads((PACKAGING / "grafana" / "domaindex.json").read_text(encoding="utf-8"))
    check(len({p["id"] for p in panels["panels"]}) == len(panels["panels"]) and panels["uid"], "panels of the dashboard have ids")


def main():
    dxtest.need_programs()
    missing = []
    with dxtest.tempdir() as tmp:
        dashboard()
        try:
            command = compose(tmp)
            fleet = laptop.Fleet(tmp, [dxtest.BIN])
            equal(option_names(fleet.server_command("a")) - {"listen", "cache-dir"}, option_names(command), "options of both ways")
        except ImportError:
            missing.append("PyYAML")
        if laptop.find("haproxy"):
            haproxy(tmp)
        else:
            missing.append("haproxy")
        promtool = shutil.which(os.environ.get("DX_PROMTOOL", "promtool")) or stores.find("promtool")
        if promtool:
            prometheus(tmp, pathlib.Path(promtool))
        else:
            missing.append("promtool")
    dxtest.finish(skipped=f"not here: {', '.join(missing)}" if missing else None)


if __name__ == "__main__":
    main()
