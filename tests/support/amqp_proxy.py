# SPDX-License-Identifier: Apache-2.0
"""amqp_proxy - between a client and a broker, frame by frame; breaks the line where a test wants it.

    def tell(up, method, number):        of each method frame, before it goes on; up: from the client
        return amqp_proxy.CUT            both ends are reset, this frame is not sent on
               amqp_proxy.SILENT         nothing more goes on in either direction; both ends stay open
               None                      it goes on

    with amqp_proxy.Proxy(broker.port, tell, heartbeat_s=2) as proxy:
        ... a client of proxy.port, for which the broker seems to want heartbeats of 2 s ...
        proxy.links                      connections so far

method is (class, method), number counts that method in that direction over the proxy's life, from 1.
One thread of its own, which also runs tell.
"""
import asyncio
import collections
import contextlib
import socket
import struct
import threading

CUT, SILENT = "cut", "silent"
TUNE = (10, 30)
ACK, NACK, DELIVER, PUBLISH, CANCEL = (60, 80), (60, 120), (60, 60), (60, 40), (60, 30)


class Proxy:
    def __init__(self, port, tell, heartbeat_s=None):
        self.to, self.tell, self.heartbeat_s, self.links = port, tell, heartbeat_s, 0
        self.seen = collections.Counter()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self):
        self.thread.start()
        start = asyncio.start_server(self.serve, "127.0.0.1", 0, limit=1 << 20)
        self.server = asyncio.run_coroutine_threadsafe(start, self.loop).result(60)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_):
        asyncio.run_coroutine_threadsafe(self.stop(), self.loop).result(60)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(60)
        self.loop.close()

    async def stop(self):
        self.server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def copy(self, reader, writer, up, state):
        if up:
            writer.write(await reader.readexactly(8))
        while True:
            head = await reader.readexactly(7)
            payload = await reader.readexactly(struct.unpack(">BHI", head)[2] + 1)
            verdict = None
            if head[0] == 1:
                method = struct.unpack_from(">HH", payload)
                self.seen[up, method] += 1
                verdict = self.tell(up, method, self.seen[up, method])
                if method == TUNE and self.heartbeat_s:
                    payload = payload[:-3] + struct.pack(">HB", self.heartbeat_s, 0xce)
            if verdict == CUT:
                return
            if verdict == SILENT:
                state["silent"] = True
            if state.get("silent"):
                continue
            writer.write(head + payload)
            await writer.drain()

    async def serve(self, reader, writer):
        self.links += 1
        ends, tasks = [writer], []
        try:
            from_broker, to_broker = await asyncio.open_connection("127.0.0.1", self.to, limit=1 << 20)
            ends.append(to_broker)
            state = {}
            tasks = [asyncio.ensure_future(self.copy(reader, to_broker, True, state)),
                     asyncio.ensure_future(self.copy(from_broker, writer, False, state))]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for task in tasks:
                task.cancel()
            for end in ends:
                with contextlib.suppress(OSError):
                    # A reset, as a line that breaks: nothing that is on its way arrives.
                    end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                                            struct.pack("ii", 1, 0))
                end.close()
            await asyncio.gather(*tasks, return_exceptions=True)
