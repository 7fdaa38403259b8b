# SPDX-License-Identifier: Apache-2.0
"""leases - a process that holds versions as a server does: tests/unit/loader/test_lease.c as a driver.

    driver = leases.Driver(root, "server=web", "ttl=1", env=store.env)     driver.opened: its words
    driver.hold([version, ...])         {version: until, on time.monotonic}; None if it failed
    driver.ask("held", version, ...)    the fields of its reply
    driver.end(kill=True)
"""
import os
import subprocess

import dxtest

DRIVER = dxtest.BIN / "tests" / "test_lease"


class Driver:
    def __init__(self, root, *settings, env=None):
        self.process = subprocess.Popen([DRIVER, root, *settings], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **(env or {})})
        self.opened = self.process.stdout.readline().rstrip("\n").split("\t")

    def ask(self, *fields):
        print(*fields, sep="\t", file=self.process.stdin, flush=True)
        return self.process.stdout.readline().rstrip("\n").split("\t")

    def hold(self, versions):
        """{version: until, on time.monotonic}; None if it failed."""
        reply = self.ask("hold", *versions)
        if reply[0] != "ok":
            return None
        return {v: int(until) / 1000 for v, until in (f.split("=") for f in reply[2:])}

    def end(self, kill=False):
        if kill:
            self.process.kill()
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
