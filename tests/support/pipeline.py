# SPDX-License-Identifier: Apache-2.0
"""pipeline - clients that ask a server much at a time and give replies as bytes.

    for target, head, body in pipeline.Client(server).ask(targets):
        one connection, requests in batches; the head is without Date

    swarm = pipeline.Swarm(server, 64, next_target, on_reply)
    swarm.run(seconds=10, count=5000)
        64 connections, on each one request after the other: next_target() gives a target or None,
        on_reply(target, status, body, late_s) is told of each reply. Ends after so many seconds or
        replies, when all that was asked is answered.

Both read replies by Content-Length and raise ConnectionError when a connection ends early; a
swarm makes a new connection where a reply says that it is the last one.
"""
import asyncio
import re
import socket
import time

BATCH = 64
DATE = re.compile(rb"\r\nDate: [^\r]*", re.I)
LENGTH = re.compile(rb"\r\nContent-Length: (\d+)", re.I)


class Client:
    def __init__(self, server):
        self.link = socket.create_connection((server.host, server.port), timeout=120)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.link.close()

    def more(self):
        piece = self.link.recv(1 << 18)
        if not piece:
            raise ConnectionError(f"closed: {self.buffer[-300:]!r}")
        return piece

    def one(self):
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            self.buffer += self.more()
        head, rest = self.buffer[:end], self.buffer[end + 4:]
        size = int(LENGTH.search(head)[1])
        parts, have = [rest], len(rest)
        while have < size:
            parts.append(self.more())
            have += len(parts[-1])
        whole = b"".join(parts)
        self.buffer = whole[size:]
        return DATE.sub(b"", head), whole[:size]

    def ask(self, targets):
        for at in range(0, len(targets), BATCH):
            group = targets[at:at + BATCH]
            self.link.sendall("".join(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"
                                      for target in group).encode())
            for target in group:
                yield target, *self.one()


class _Link(asyncio.Protocol):
    def __init__(self, swarm):
        self.swarm, self.buffer, self.target = swarm, bytearray(), None

    def connection_made(self, transport):
        self.transport = transport
        self.next()

    def next(self):
        self.target = self.swarm.take()
        if self.target is None:
            self.transport.close()
            return
        self.begin = time.monotonic()
        self.need = None
        self.transport.write(f"GET {self.target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    def data_received(self, data):
        self.buffer += data
        if self.need is None:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            self.size = int(LENGTH.search(self.buffer[:end])[1])
            self.need = end + 4 + self.size
        if len(self.buffer) < self.need:
            return
        late = time.monotonic() - self.begin
        status, body = int(self.buffer[9:12]), bytes(self.buffer[self.need - self.size:self.need])
        closing = b"\r\nconnection: close" in bytes(self.buffer[:self.need - self.size]).lower()
        del self.buffer[:self.need]
        target, self.target = self.target, None
        self.swarm.told(target, status, body, late)
        if closing:     # another one in its place
            self.transport.close()
            self.swarm.renew()
        else:
            self.next()

    def connection_lost(self, error):
        self.swarm.gone(self, error)


class Swarm:
    def __init__(self, server, connections, next_target, on_reply):
        self.server, self.connections = server, connections
        self.next_target, self.on_reply = next_target, on_reply
        self.lag_s = 0.0     # the longest that this process itself was away: no fault of the server

    def take(self):
        over = time.monotonic() >= self.end or self.asked >= self.count
        target = None if over else self.next_target()
        if target is not None:
            self.asked += 1
        return target

    def told(self, target, status, body, late):
        self.replies += 1
        self.on_reply(target, status, body, late)

    def gone(self, link, error):
        self.links -= 1
        if link.target is not None:
            self.lost.append(f"{link.target}: the connection ended: {error}")
        if self.links == 0:
            self.done.set()

    def renew(self):
        self.links += 1
        task = asyncio.get_running_loop().create_task(self.connect())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def connect(self):
        await asyncio.get_running_loop().create_connection(
            lambda: _Link(self), self.server.host, self.server.port)

    async def watch(self):
        while True:
            begin = time.monotonic()
            await asyncio.sleep(0.01)
            self.lag_s = max(self.lag_s, time.monotonic() - begin - 0.01)

    async def work(self, patience_s):
        loop = asyncio.get_running_loop()
        self.done = asyncio.Event()
        watch = loop.create_task(self.watch())
        self.links = self.connections
        for _ in range(self.connections):
            await self.connect()
        try:
            await asyncio.wait_for(self.done.wait(), max(0, self.end - time.monotonic()) +
                                   patience_s)
        finally:
            watch.cancel()

    def run(self, seconds, count=1 << 60, patience_s=60):
        """How many replies there were. patience_s: for the last replies, behind the end."""
        self.end, self.count = time.monotonic() + seconds, count
        self.asked = self.replies = 0
        self.lost, self.lag_s, self.tasks = [], 0.0, set()
        try:
            asyncio.run(self.work(patience_s))
        except asyncio.TimeoutError:
            raise ConnectionError(f"{self.asked - self.replies} requests have no reply "
                                  f"{patience_s} s behind the end") from None
        if self.lost:
            raise ConnectionError(f"{len(self.lost)} connections ended: {self.lost[0]}")
        return self.replies
