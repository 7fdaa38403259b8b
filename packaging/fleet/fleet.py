#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fleet.py - a fleet on one machine without containers: what packaging/compose.yaml starts, as processes of this user.

    packaging/fleet/fleet.py                                  until Ctrl-C; a demonstration is ingested and published
    packaging/fleet/fleet.py --dataset crawl pages.tsv.zst    with data of your own
    packaging/fleet/fleet.py --home DIR                       keeps store and logs there, and goes on with them

Starts an S3 server (versitygw), three domaindexd on one root in it, HAProxy before them, and Prometheus, if it is there, with
packaging/prometheus/alerts.yaml. Prints addresses, process ids and the environment for `domaindex`, so that you can kill, break,
publish and roll back yourself. Programs are looked for in --bin, the PATH, /usr/sbin and build/storage-servers/bin. Everything
listens on 127.0.0.1. Grafana is not started: import packaging/grafana/domaindex.json into yours. Only the standard library.

tests/e2e/fleet.py does a drill with it.
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
KEY, SECRET, BUCKET = "fleet", "fleet-secret", "domaindex"
ROOT = f"s3://{BUCKET}/fleet"
UP_WITHIN_S = 120


def find(name, folders=()):
    """Where a program is, or None."""
    places = [*map(str, folders), *os.environ.get("PATH", "").split(":"), "/usr/sbin", "/sbin", str(HERE.parents[1] / "build/storage-servers/bin")]
    return shutil.which(name, path=":".join(places))


def free_port():
    with socket.socket() as link:
        link.bind(("127.0.0.1", 0))
        return link.getsockname()[1]


def get(port, target, timeout=5):
    """status, body."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        link.request("GET", target)
        reply = link.getresponse()
        return reply.status, reply.read()
    finally:
        link.close()


def answers(port, target, status=200):
    with contextlib.suppress(OSError, http.client.HTTPException):
        return get(port, target)[0] == status
    return False


class Part:
    """A process with a log; `ready` says whether it serves."""

    def __init__(self, name, command, log, environment, ready):
        self.name, self.command, self.log, self.environment, self.ready = name, [str(word) for word in command], log, environment, ready
        self.process = None

    def start(self, wait=True):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment,
                                            start_new_session=True)  # Ctrl-C is for fleet.py, which ends them in order
        if wait:
            self.wait()

    def wait(self):
        end = time.monotonic() + UP_WITHIN_S
        while not self.ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{self.name} does not come up:\n{self.log.read_text('utf-8', 'replace')[-3000:]}")
            time.sleep(0.05)

    def send(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()


class Fleet:
    """`with Fleet(home) as fleet`: the store runs; publish something, then fleet.serve()."""

    names = ("a", "b", "c")

    def __init__(self, home, folders=(), port=free_port, front=None, rules=HERE.parent / "prometheus" / "alerts.yaml", prometheus_interval="15s",
                 options=()):
        self.home, self.folders, self.rules, self.interval = pathlib.Path(home), folders, rules, prometheus_interval
        self.parts = {}
        self.ports = {name: port() for name in ("s3", "prometheus", *self.names, *(f"admin-{name}" for name in self.names))}
        self.ports["haproxy"] = front or port()
        self.options = options
        self.environment = {**{name: value for name, value in os.environ.items() if not name.startswith("AWS_")}, **self.store_environment(),
                            "NO_PROXY": "127.0.0.1,localhost"}

    def store_environment(self):
        return {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1",
                "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{self.ports['s3']}"}

    def program(self, name):
        path = find(name, self.folders)
        if not path:
            raise SystemExit(f"fleet.py: {name} is not here (--bin, PATH); scripts/storage_servers.sh gets versitygw and prometheus, Debian has haproxy")
        return path

    def __enter__(self):
        (self.home / "objects" / BUCKET).mkdir(parents=True, exist_ok=True)
        (self.home / "cursor.key").write_bytes(os.urandom(32))
        (self.home / "cursor.key").chmod(0o600)
        try:
            self.add("s3", [self.program("versitygw"), "--port", f"127.0.0.1:{self.ports['s3']}", "--access", KEY, "--secret", SECRET,
                            "--region", "us-east-1", "posix", self.home / "objects"], self.store_is_up)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *trace):
        for part in reversed(self.parts.values()):
            part.end()

    def add(self, name, command, ready):
        self.parts[name] = Part(name, command, self.home / f"{name}.log", self.environment, ready)
        self.parts[name].start()

    def store_is_up(self):
        return answers(self.ports["s3"], "/", 403)  # it asks who is there

    def domaindex(self, *arguments, check=True):
        """The command, with the store's environment."""
        return subprocess.run([self.program("domaindex"), *map(str, arguments)], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=check)

    def has_version(self):
        return self.domaindex("versions", "--root", ROOT, check=False).returncode == 0

    def serve(self):
        """Servers, then what stands before them and what watches them."""
        for name in self.names:
            self.add(name, self.server_command(name), lambda port=self.ports[name]: answers(port, "/readyz"))
        self.write_haproxy()
        self.add("haproxy", [self.program("haproxy"), "-db", "-f", self.home / "haproxy.cfg"], lambda: answers(self.ports["haproxy"], "/readyz"))
        prometheus = find("prometheus", self.folders)
        if prometheus:
            self.write_prometheus()
            self.add("prometheus", [prometheus, "--config.file", self.home / "prometheus.yml", "--storage.tsdb.path", self.home / "prometheus",
                                    "--web.listen-address", f"127.0.0.1:{self.ports['prometheus']}"],
                     lambda: answers(self.ports["prometheus"], "/-/ready"))

    def server_command(self, name):
        return [self.program("domaindexd"), "--root", ROOT, "--listen", f"127.0.0.1:{self.ports[name]}", "--admin",
                f"127.0.0.1:{self.ports[f'admin-{name}']}", "--server-name", name, "--lease", "yes", "--web", "yes", "--cache-dir",
                self.home / f"cache-{name}", "--cursor-key-file", self.home / "cursor.key", "--trusted-proxy", "127.0.0.1",
                "--address-header", "X-Forwarded-For", *self.options]

    def write_haproxy(self):
        text = (HERE / "haproxy.cfg").read_text(encoding="utf-8")
        text = text.replace("bind :8080", f"bind 127.0.0.1:{self.ports['haproxy']}")
        for name in self.names:
            text = text.replace(f"server {name} {name}:8080", f"server {name} 127.0.0.1:{self.ports[name]}")
        (self.home / "haproxy.cfg").write_text(text)

    def write_prometheus(self):
        text = (HERE / "prometheus.yml").read_text(encoding="utf-8").replace("/etc/prometheus/alerts.yaml", str(self.rules))
        text = text.replace("15s", self.interval)
        for name in self.names:
            text = text.replace(f'"{name}:9180"', f'"127.0.0.1:{self.ports[f"admin-{name}"]}"')
        (self.home / "prometheus.yml").write_text(text)

    # ---- what Prometheus says

    def query(self, expression):
        """[{"metric": labels, "value": [time, text]}]; RuntimeError with its words where it is refused."""
        link = http.client.HTTPConnection("127.0.0.1", self.ports["prometheus"], timeout=20)
        try:
            body = "query=" + re.sub(r"[^A-Za-z0-9._~-]", lambda m: "".join(f"%{b:02X}" for b in m[0].encode()), expression)
            link.request("POST", "/api/v1/query", body, {"Content-Type": "application/x-www-form-urlencoded"})
            reply = json.loads(link.getresponse().read())
        finally:
            link.close()
        if reply["status"] != "success":
            raise RuntimeError(f"{expression}: {reply.get('error')}")
        return reply["data"]["result"]

    def alerts(self, state="firing"):
        """{name: set of instances that it names}"""
        found = {}
        for alert in json.loads(get(self.ports["prometheus"], "/api/v1/alerts")[1])["data"]["alerts"]:
            if alert["state"] == state:
                found.setdefault(alert["labels"]["alertname"], set()).add(alert["labels"].get("instance", ""))
        return found


def demonstration(home):
    """A dataset or two of made-up pages."""
    for number, dataset in enumerate(("spring", "autumn")):
        path = home / f"{dataset}.txt"
        path.write_text("".join(f"https://www.example{i % 97}.org/{dataset}/{i}\n" for i in range(number * 500, 3000)))
        yield dataset, path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=pathlib.Path, help="folder for store, caches and logs; else a temporary one, removed at the end")
    parser.add_argument("--bin", type=pathlib.Path, action="append", default=[], help="where domaindex and domaindexd are; may be given again")
    parser.add_argument("--port", type=int, default=8080, help="of HAProxy; the others are free ones (default: 8080)")
    parser.add_argument("--dataset", help="name of the dataset of INPUT")
    parser.add_argument("input", nargs="*", metavar="INPUT", help="files for `domaindex ingest`")
    options = parser.parse_args()
    if bool(options.input) != bool(options.dataset):
        parser.error("--dataset and INPUT belong together")
    home = options.home or pathlib.Path(tempfile.mkdtemp(prefix="domaindex-fleet-"))
    folders = [*options.bin, HERE.parents[1] / "build" / "release"]
    try:
        with Fleet(home, folders, front=options.port) as fleet:
            if options.input:
                fleet.domaindex("ingest", "--root", ROOT, "--dataset", options.dataset, *options.input)
            elif not fleet.has_version():
                for dataset, path in demonstration(home):
                    fleet.domaindex("ingest", "--root", ROOT, "--format", "list", "--dataset", dataset, path)
            fleet.domaindex("publish", "--root", ROOT)
            fleet.serve()
            tell(fleet)
            with contextlib.suppress(KeyboardInterrupt):
                signal.pause()
    except subprocess.CalledProcessError as error:
        sys.exit(f"fleet.py: {error.stderr.decode('utf-8', 'replace')}")
    finally:
        if not options.home:
            shutil.rmtree(home, ignore_errors=True)


def tell(fleet):
    print(f"HAProxy     http://127.0.0.1:{fleet.ports['haproxy']}/")
    for name in fleet.names:
        print(f"server {name}    http://127.0.0.1:{fleet.ports[name]}/    metrics: http://127.0.0.1:{fleet.ports[f'admin-{name}']}/metrics")
    print(f"Prometheus  http://127.0.0.1:{fleet.ports['prometheus']}/alerts" if "prometheus" in fleet.parts else
          "Prometheus  is not here (Debian: prometheus)")
    print("Grafana     is not started: import packaging/grafana/domaindex.json")
    print("processes   " + ", ".join(f"{name} {part.process.pid}" for name, part in fleet.parts.items()) + f"; logs in {fleet.home}")
    print("\nexport " + " ".join(f"{name}={value}" for name, value in fleet.store_environment().items()))
    print(f"domaindex versions --root {ROOT}\n\nCtrl-C ends all of them.", flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    main()
