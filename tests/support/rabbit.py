# SPDX-License-Identifier: Apache-2.0
"""A RabbitMQ of a test's own, and as much of AMQP 0-9-1 as it takes to fill and to look into a queue.

    with rabbit.Broker(folder, max_message_size=65536) as broker:     skips where there is none
        queue = broker.queue("name")
        queue.send(body, message_id="m", headers={"dataset": "d"})     returns when it is confirmed
        queue.send_all([(body, message_id, headers), ...])             and when all of them are
        queue.depth(), queue.consumers()                               messages that wait there
        queue.take_all()                                               [(body, message_id, headers)]
        broker.set_disk_free_limit(10**6)                              bytes; below it the broker blocks
        broker.kill(); broker.start()                                  its data stay

Everything listens on 127.0.0.1, on free ports: the broker, its distribution port and an epmd. No
service of the machine is touched; all of them end with the block, or with this process. A broker that does not come up
skips the test the first time, with the end of its log, and fails it when it did come up before.

A start is mostly Erlang looking for modules in each of 60 plugins, so the broker runs from a folder of
links to what `rabbit` itself needs: 2.7 s of computing in place of 4.5.
"""
import contextlib
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import time

import dxtest
import stores

UP_WITHIN_S = 180
UNTIL_WE_END = ["setpriv", "--pdeathsig", "KILL", "--"]  # also if this process is killed


def short(text):
    data = text.encode()
    return struct.pack("B", len(data)) + data


def long(data):
    return struct.pack(">I", len(data)) + data


def table(entries):
    return long(b"".join(short(k) + b"S" + long(v.encode()) for k, v in entries.items()))


def read_short(data, at):
    return data[at + 1:at + 1 + data[at]].decode(), at + 1 + data[at]


def read_table(data, at):
    """Of texts; others end it."""
    end, found = at + 4 + struct.unpack_from(">I", data, at)[0], {}
    at += 4
    while at < end:
        key, at = read_short(data, at)
        if data[at:at + 1] != b"S":
            break
        size = struct.unpack_from(">I", data, at + 1)[0]
        found[key] = data[at + 5:at + 5 + size].decode()
        at += 5 + size
    return found, end


class Closed(Exception):
    pass


class Queue:
    """One connection, one channel, publisher confirms, one queue (made durable)."""

    def __init__(self, port, queue, arguments=None):
        self.queue, self.sent, self.data = queue, 0, b""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(b"AMQP\0\0\x09\x01")
        self.expect(10, 10)
        self.method(0, 10, 11, table({}) + short("PLAIN") + long(b"\0guest\0guest") + short("en_US"))
        self.expect(10, 30)
        self.method(0, 10, 31, struct.pack(">HIH", 1, 131072, 0))
        self.method(0, 10, 40, short("/") + short("") + b"\0")
        self.expect(10, 41)
        self.method(1, 20, 10, short(""))
        self.expect(20, 11)
        self.arguments = arguments or {}
        self.depth()
        self.method(1, 85, 10, b"\0")
        self.expect(85, 11)

    def frame(self, kind, channel, payload):
        return struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce"

    def method(self, channel, klass, number, arguments):
        self.socket.sendall(self.frame(1, channel, struct.pack(">HH", klass, number) + arguments))

    def read_frame(self):
        while len(self.data) < 7 or len(self.data) < 8 + struct.unpack_from(">I", self.data, 3)[0]:
            piece = self.socket.recv(1 << 18)
            if not piece:
                raise Closed("the broker closed the connection")
            self.data += piece
        kind, _, size = struct.unpack_from(">BHI", self.data)
        payload, self.data = self.data[7:7 + size], self.data[8 + size:]
        return kind, payload

    def expect(self, klass, *numbers):
        """The arguments of the next such method; with several numbers (which, arguments)."""
        while True:
            kind, payload = self.read_frame()
            if kind != 1:
                continue
            got = struct.unpack(">HH", payload[:4])
            if got[0] == klass and got[1] in numbers:
                return payload[4:] if len(numbers) == 1 else (got[1], payload[4:])
            if got in ((10, 50), (20, 40)):
                raise Closed(payload[7:].decode("utf-8", "replace"))

    def declare(self):
        """(messages that wait, consumers)"""
        self.method(1, 50, 10, b"\0\0" + short(self.queue) + b"\x02" + table(self.arguments))
        reply = self.expect(50, 11)
        return struct.unpack_from(">II", reply, 1 + reply[0])

    def depth(self):
        return self.declare()[0]

    def consumers(self):
        return self.declare()[1]

    def purge(self):
        self.method(1, 50, 30, b"\0\0" + short(self.queue) + b"\0")
        self.expect(50, 31)

    def delete(self):
        self.method(1, 50, 40, b"\0\0" + short(self.queue) + b"\0")
        self.expect(50, 41)

    def send(self, body, message_id=None, headers=None):
        self.send_all([(body, message_id, headers)])

    def send_all(self, messages):
        for body, message_id, headers in messages:
            flags, values = 1 << 12, b""
            if headers is not None:
                flags |= 1 << 13
                values += table(headers)
            values += b"\x02"  # persistent
            if message_id is not None:
                flags |= 1 << 7
                values += short(message_id)
            parts = [self.frame(1, 1, struct.pack(">HHH", 60, 40, 0) + short("") + short(self.queue) + b"\0"),
                     self.frame(2, 1, struct.pack(">HHQH", 60, 0, len(body), flags) + values)]
            parts += [self.frame(3, 1, body[at:at + 131000]) for at in range(0, len(body), 131000)]
            self.socket.sendall(b"".join(parts))
        self.sent += len(messages)
        confirmed = set(range(1, self.sent - len(messages) + 1))
        while len(confirmed) < self.sent:
            tag, multiple = struct.unpack(">QB", self.expect(60, 80)[:9])
            confirmed |= set(range(1, tag + 1)) if multiple else {tag}

    def take_all(self):
        found = []
        while True:
            self.method(1, 60, 70, b"\0\0" + short(self.queue) + b"\1")
            if self.expect(60, 71, 72)[0] == 72:
                return found
            header = self.read_frame()[1]
            size, flags = struct.unpack_from(">QH", header, 4)
            at, headers, message_id, body = 14, None, None, b""
            if flags & 1 << 13:
                headers, at = read_table(header, at)
            if flags & 1 << 12:
                at += 1
            if flags & 1 << 7:
                message_id = read_short(header, at)[0]
            while len(body) < size:
                body += self.read_frame()[1]
            found.append((body, message_id, headers))

    def close(self):
        self.socket.close()


def home_of_package():
    found = sorted(glob.glob("/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server"))
    if not found or not shutil.which("epmd"):
        dxtest.skip("there is no rabbitmq-server (scripts/packages.txt, section test)")
    return pathlib.Path(found[-1]).parents[1]


def needed(plugins):
    """The applications that `rabbit` names, and what they name, as far as they lie here."""
    found, todo = {}, ["rabbit"]
    paths = {path.name.rsplit("-", 1)[0]: path for path in plugins.iterdir()}
    while todo:
        name = todo.pop()
        file = paths[name] / "ebin" / f"{name}.app" if name in paths else None
        if name in found or file is None or not file.exists():
            continue
        found[name] = paths[name]
        listed = re.search(r"\{applications,\s*\[(.*?)\]", file.read_text(errors="replace"), re.S)
        todo += re.findall(r"\w+", listed[1]) if listed else []
    return found.values()


def lean_copy(package, to):
    """The package's scripts, beside links to the libraries they need."""
    (to / "plugins").mkdir(parents=True)
    shutil.copytree(package / "sbin", to / "sbin")
    (to / "escript").symlink_to(package / "escript")
    for path in needed(package / "plugins"):
        (to / "plugins" / path.name).symlink_to(path)
    return to


class Broker:
    """users: {name: password} beside guest; vhosts beside "/", open to all users; strangers: users who come in
    at "/" and may do nothing."""

    def __init__(self, folder, max_message_size, heartbeat_s=60, users=None, vhosts=(), tls=None, strangers=None):
        self.folder = pathlib.Path(folder)
        self.home = lean_copy(home_of_package(), self.folder / "home")
        self.port, self.tls_port, self.epmd_port, self.dist_port = (stores.free_port() for _ in range(4))
        self.process = self.epmd = None
        self.was_up = False
        self.configure(max_message_size, heartbeat_s, tls)
        self.define({"guest": "guest", **(users or {})}, ["/", *vhosts], strangers or {})
        (self.folder / "plugins").write_text("[].\n")
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8",
            "ERL_EPMD_PORT": str(self.epmd_port), "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"dxtest{os.getpid()}@localhost",
            "RABBITMQ_NODE_PORT": str(self.port), "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_DIST_PORT": str(self.dist_port),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
            "RUNNING_UNDER_SYSTEMD": "true",  # then the script becomes the broker, in place of a shell that waits
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS":
                "+S 1:1 -kernel inet_dist_use_interface {127,0,0,1}",
        }

    def configure(self, max_message_size, heartbeat_s, tls):
        lines = [f"listeners.tcp.1 = 127.0.0.1:{self.port}", f"max_message_size = {max_message_size}",
                 f"heartbeat = {heartbeat_s}", "disk_free_limit.absolute = 1MB",
                 "vm_memory_high_watermark.absolute = 2GB", "log.console = false",
                 "log.file.level = warning", f"load_definitions = {self.folder / 'definitions.json'}"]
        if tls:
            certificate, key = tls
            lines += [f"listeners.ssl.1 = 127.0.0.1:{self.tls_port}",
                      f"ssl_options.cacertfile = {certificate}", f"ssl_options.certfile = {certificate}",
                      f"ssl_options.keyfile = {key}", "ssl_options.verify = verify_none"]
        (self.folder / "rabbitmq.conf").write_text("\n".join(lines) + "\n")

    def define(self, users, vhosts, strangers):
        (self.folder / "definitions.json").write_text(json.dumps({
            "users": [{"name": name, "password": password, "tags": "administrator"}
                      for name, password in {**users, **strangers}.items()],
            "vhosts": [{"name": name} for name in vhosts],
            "permissions": [{"user": user, "vhost": vhost, "configure": ".*", "write": ".*", "read": ".*"}
                            for user in users for vhost in vhosts]
                           + [{"user": user, "vhost": "/", "configure": "^$", "write": "^$", "read": "^$"}
                              for user in strangers]}))

    def __enter__(self):
        self.epmd = subprocess.Popen([*UNTIL_WE_END, "epmd", "-port", str(self.epmd_port), "-address", "127.0.0.1"],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def launch(self):
        # Without its epmd the node would start one that stays.
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.epmd_port), 5):
                break
            time.sleep(0.1)
        with open(self.folder / "out", "ab") as out:
            self.process = subprocess.Popen([*UNTIL_WE_END, self.home / "sbin" / "rabbitmq-server"],
                                            env=self.environment, stdout=out, stderr=out,
                                            stdin=subprocess.DEVNULL, start_new_session=True)

    def start(self):
        begun, launches = time.monotonic(), 1
        self.launch()
        while time.monotonic() - begun < UP_WITHIN_S:
            if self.process.poll() is not None and launches < 10:
                time.sleep(1)  # a node that was killed may still hold its name or its port
                self.launch()
                launches += 1
            with contextlib.suppress(OSError, Closed, struct.error, ssl.SSLError):
                self.queue("probe").close()
                self.was_up = True
                print(f"rabbitmq-server is up after {time.monotonic() - begun:.1f} s", flush=True)
                return
            time.sleep(0.1)
        words = (self.folder / "out").read_text(errors="replace")[-1500:]
        if not self.was_up:
            dxtest.skip(f"rabbitmq-server did not start: {words}")
        raise AssertionError(f"rabbitmq-server did not come back: {words}")

    def queue(self, name, arguments=None):
        return Queue(self.port, name, arguments)

    def url(self, queue, port=None):
        return f"amqp://127.0.0.1:{port or self.port}/?queue={queue}"

    def set_disk_free_limit(self, count):
        """As rabbitmqctl does, which takes two seconds to start."""
        program = next(iter(sorted(glob.glob("/usr/lib/erlang/erts-*/bin/erl_call"))), "erl_call")
        dxtest.run(program, "-address", f"127.0.0.1:{self.dist_port}", "-a", f"rabbit_disk_monitor set_disk_free_limit [{count}]", env=self.environment)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

    def __exit__(self, *_):
        if self.process is not None:
            self.kill()
        if self.epmd is not None:
            self.epmd.kill()
            self.epmd.wait(60)
