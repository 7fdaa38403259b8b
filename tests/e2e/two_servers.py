#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""Two servers behind each of the balancers of packaging/: what one client asks for, and a server that stops, is nothing to others.

A question about a version that is still to come is 503 from both; a balancer that took that for a broken server would
have none left for anybody.

In detail: two servers behind HAProxy and behind nginx, as `packaging/` sets them up: one client asks on and
on for a version that is still to come (503), and one of the servers stops; nobody else notices either.
"""
import collections
import contextlib
import signal
import threading

import dxtest
import front
import roots
from dxtest import check

ROUNDS = 60
TO_COME = "/v1/domain/example.com?version=999999-20991231T000000Z"


def two(kind, other_port):
    """The example with a second line like that of its server."""
    class Two(kind):
        def configuration(self, name, replace):
            text = super().configuration(name, replace)
            line = next(line for line in text.splitlines() if line.strip().startswith("server ") and f":{self.upstream}" in line)
            second = line.replace(str(self.upstream), str(other_port)).replace("server a ", "server b ")
            return text.replace(line, f"{line}\n{second}")
    return Two


def status(proxy, target):
    with proxy.connect() as link:
        link.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        return int(b"".join(iter(lambda: link.recv(65536), b""))[9:12])


def many(proxy, target, rounds):
    return dict(collections.Counter(status(proxy, target) for _ in range(rounds)))


def ask(name, kind, tmp, root):
    with dxtest.Server(root, "--lease", "no") as first, dxtest.Server(root, "--lease", "no") as second, \
            two(kind, second.port)(tmp, first.port) as proxy:
        stop = threading.Event()

        def ask_for_what_is_to_come():
            while not stop.wait(0.02):
                with contextlib.suppress(OSError, ValueError):
                    status(proxy, TO_COME)

        other = threading.Thread(target=ask_for_what_is_to_come)
        check(status(proxy, TO_COME) == 503, f"{name}: a version to come is 503")
        other.start()
        got = many(proxy, "/readyz", ROUNDS)
        stop.set()
        other.join()
        check(got == {200: ROUNDS}, f"{name}: beside who asks for a version to come: {got}")
        second.process.send_signal(signal.SIGTERM)
        second.process.wait(60)
        got = many(proxy, "/readyz", ROUNDS)
        check(got == {200: ROUNDS}, f"{name}: when one of two has stopped: {got}")


def main():
    dxtest.need_programs()
    kinds = {name: kind for name, kind in (("haproxy", front.Haproxy), ("nginx", front.Nginx)) if front.find(name)}
    with dxtest.tempdir() as tmp:
        root = roots.make(tmp, seed=7, count=50)
        for name, kind in kinds.items():
            ask(name, kind, tmp, root)
    if len(kinds) < 2:
        dxtest.skip("only " + ", ".join(kinds) + " (apt-get install haproxy nginx)") if not dxtest.failures() else None
    dxtest.finish()


if __name__ == "__main__":
    main()
