# SPDX-License-Identifier: Apache-2.0
"""A RabbitMQ of a test's own, and as much of AMQP 0-9-1 as it takes to put messages into a queue.

    with rabbit.Broker(folder, max_message_size=65536) as broker:     skips where there is none
        sender = broker.sender("queue")
        sender.send(body, message_id="m", headers={"dataset": "d"})    returns when it is confirmed
        sender.depth()                                                 messages that wait there
        broker.kill(); broker.start()                                  its data stay

Everything listens on 127.0.0.1, on free ports: the broker, its distribution port and an epmd. No
service of the machine is touched; all of them end with the block.
"""
import contextlib
import glob
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import time

import dxtest


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def short(text):
    data = text.encode()
    return struct.pack("B", len(data)) + data


def long(data):
    return struct.pack(">I", len(data)) + data


def table(entries):
    return long(b"".join(short(k) + b"S" + long(v.encode()) for k, v in entries.items()))


class Closed(Exception):
    pass


class Sender:
    """One connection, one channel, publisher confirms, one queue (made durable)."""

    def __init__(self, port, queue):
        self.queue = queue
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.sendall(b"AMQP\0\0\x09\x01")
        self.expect(10, 10)
        self.method(0, 10, 11, table({}) + short("PLAIN") + long(b"\0guest\0guest") + short("en_US"))
        self.expect(10, 30)
        self.method(0, 10, 31, struct.pack(">HIH", 1, 131072, 0))
        self.method(0, 10, 40, short("/") + short("") + b"\0")
        self.expect(10, 41)
        self.method(1, 20, 10, short(""))
        self.expect(20, 11)
        self.depth()
        self.method(1, 85, 10, b"\0")
        self.expect(85, 11)

    def frame(self, kind, channel, payload):
        self.socket.sendall(struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce")

    def method(self, channel, klass, number, arguments):
        self.frame(1, channel, struct.pack(">HH", klass, number) + arguments)

    def exactly(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise Closed("the broker closed the connection")
            data += piece
        return data

    def expect(self, klass, number):
        while True:
            kind, _, size = struct.unpack(">BHI", self.exactly(7))
            payload = self.exactly(size)
            self.exactly(1)
            if kind != 1:
                continue
            got = struct.unpack(">HH", payload[:4])
            if got == (klass, number):
                return payload[4:]
            if got in ((10, 50), (20, 40)):
                raise Closed(payload[7:].decode("utf-8", "replace"))

    def depth(self):
        self.method(1, 50, 10, b"\0\0" + short(self.queue) + b"\x02" + table({}))
        reply = self.expect(50, 11)
        return struct.unpack(">I", reply[1 + reply[0]:5 + reply[0]])[0]

    def purge(self):
        self.method(1, 50, 30, b"\0\0" + short(self.queue) + b"\0")
        self.expect(50, 31)

    def send(self, body, message_id=None, headers=None):
        flags, values = 1 << 12, b""
        if headers is not None:
            flags |= 1 << 13
            values += table(headers)
        values += b"\x02"  # persistent
        if message_id is not None:
            flags |= 1 << 7
            values += short(message_id)
        self.method(1, 60, 40, b"\0\0" + short("") + short(self.queue) + b"\0")
        self.frame(2, 1, struct.pack(">HHQH", 60, 0, len(body), flags) + values)
        for at in range(0, len(body), 131000):
            self.frame(3, 1, body[at:at + 131000])
        self.expect(60, 80)

    def close(self):
        self.socket.close()


def program():
    found = sorted(glob.glob("/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server"))
    if not found or not shutil.which("epmd"):
        dxtest.skip("there is no rabbitmq-server (scripts/packages.txt, section test)")
    return found[-1]


class Broker:
    def __init__(self, folder, max_message_size):
        self.folder = pathlib.Path(folder)
        self.program = program()
        self.port, self.epmd_port = free_port(), free_port()
        self.process = self.epmd = None
        (self.folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            f"max_message_size = {max_message_size}\n"
            "disk_free_limit.absolute = 1MB\nlog.console = false\nlog.file.level = warning\n")
        (self.folder / "plugins").write_text("[].\n")
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8",
            "ERL_EPMD_PORT": str(self.epmd_port), "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"dxtest{os.getpid()}@localhost",
            "RABBITMQ_NODE_PORT": str(self.port), "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS":
                "+S 1:1 -kernel inet_dist_use_interface {127,0,0,1}",
        }

    def __enter__(self):
        self.epmd = subprocess.Popen(["epmd", "-port", str(self.epmd_port), "-address", "127.0.0.1"],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def launch(self):
        with open(self.folder / "out", "ab") as out:
            self.process = subprocess.Popen([self.program], env=self.environment, stdout=out,
                                            stderr=out, stdin=subprocess.DEVNULL,
                                            start_new_session=True)

    def start(self):
        self.launch()
        end = time.monotonic() + 90
        while time.monotonic() < end:
            if self.process.poll() is not None:
                time.sleep(1)  # a node that was killed may still hold its name or its port
                self.launch()
            with contextlib.suppress(OSError, Closed, struct.error):
                self.sender("probe").close()
                return
            time.sleep(0.2)
        words = (self.folder / "out").read_text(errors="replace")[-1500:]
        dxtest.skip(f"rabbitmq-server did not start: {words}")

    def sender(self, queue):
        return Sender(self.port, queue)

    def url(self, queue):
        return f"amqp://127.0.0.1:{self.port}/?queue={queue}"

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    def __exit__(self, *_):
        if self.process is not None:
            self.kill()
        if self.epmd is not None:
            self.epmd.kill()
            self.epmd.wait(30)
