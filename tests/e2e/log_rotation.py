#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""packaging/logrotate/domaindexd, run by logrotate while a server answers: each request has its line in one of the files, once and whole."""
import gzip
import json
import os
import shutil
import threading

import dxtest
from dxtest import check, equal

LOGROTATE = shutil.which("logrotate") or shutil.which("logrotate", path="/usr/sbin:/sbin")
ROTATIONS = 8
THREADS = 3


def configuration(tmp, pid):
    """The file that is installed, with another folder, no other user and a signal without systemd."""
    text = (dxtest.SOURCE / "packaging" / "logrotate" / "domaindexd").read_text(encoding="utf-8")
    for old, new in (("/var/log/domaindexd/", f"{tmp}/log/"), ("    su domaindexd domaindexd\n", ""),
                     ("systemctl kill --kill-who=main --signal=USR1 domaindexd.service", f"kill -USR1 {pid}")):
        check(text.count(old) == 1 or old.startswith("/var"), f"the file has {old!r}")
        text = text.replace(old, new)
    path = tmp / "logrotate.conf"
    path.write_text(text)
    path.chmod(0o644)
    return path


def lines_of(folder):
    for path in sorted(folder.iterdir()):
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as log:
            text = log.read()
        check(text.endswith(b"\n"), f"{path.name} ends with a line")
        for line in text.splitlines():
            yield json.loads(line)


def main():
    dxtest.need_programs()
    if not LOGROTATE:
        dxtest.skip("logrotate is not here")
    with dxtest.tempdir() as tmp:
        (tmp / "urls").write_text("https://example.com/a\n")
        dxtest.domaindex("ingest", "--root", tmp / "root", "--dataset", "d", "--format", "list", tmp / "urls")
        dxtest.domaindex("publish", "--root", tmp / "root")
        folder = tmp / "log"
        folder.mkdir(mode=0o750)
        log = folder / "requests"
        with dxtest.Server(tmp / "root", "--threads", 2, "--log-requests", log) as server:
            conf = configuration(tmp, server.process.pid)
            asked, over = [0] * THREADS, threading.Event()

            def ask(number):
                link = dxtest.http.client.HTTPConnection(server.host, server.port, timeout=60)
                while not over.is_set():
                    link.request("GET", "/v1/domain/example.com")
                    link.getresponse().read()
                    asked[number] += 1
                link.close()
            workers = [threading.Thread(target=ask, args=(n,)) for n in range(THREADS)]
            for worker in workers:
                worker.start()
            for _ in range(ROTATIONS):
                check(dxtest.wait_until(lambda: log.exists() and log.stat().st_size > 20000), "the server writes into a new file")
                before = log.stat().st_ino
                dxtest.run(LOGROTATE, "--force", "--state", tmp / "state", conf)
                check(dxtest.wait_until(lambda before=before: log.exists() and log.stat().st_ino != before), "the file of that name is another one")
            over.set()
            for worker in workers:
                worker.join()
            server.close()
            told = server.metrics()
            equal([told[f'domaindex_log_dropped_total{{log="{which}"}}'] for which in ("program", "requests")], [0, 0], "dropped lines")
            begun = told["domaindex_connections_accepted_total"]
        got = list(lines_of(folder))
        of_domain = [line["request"] for line in got if line["route"] == "domain"]
        equal(len(of_domain), sum(asked), "a line for each request")
        equal(len(set(of_domain)), len(of_domain), "each once")
        files = sorted(path.name for path in folder.iterdir())
        equal(files, sorted(["requests", "requests.1", *(f"requests.{n}.gz" for n in range(2, ROTATIONS + 1))]), "files of the rotations")
        check(begun >= THREADS and os.stat(log).st_size > 0, "the newest file is in use")
        dxtest.run(LOGROTATE, "--force", "--state", tmp / "state", conf)  # no error without a server
    dxtest.finish()


if __name__ == "__main__":
    main()
