# SPDX-License-Identifier: Apache-2.0
"""relay - between two programs, and remembers what they said to each other.

    with relay.Relay(port) as r:
        ... a client of r.port ...
        r.links          a Link for each connection so far: up and down are all bytes of both directions

Bytes go on as they come, and ends too: half-closed stays half-closed. One thread of its own; a bytearray only grows, so
others may read it at any time.
"""
import asyncio
import contextlib
import threading


class Link:
    def __init__(self):
        self.up, self.down, self.closed = bytearray(), bytearray(), False


class Relay:
    def __init__(self, port):
        self.to, self.links = port, []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self):
        self.thread.start()
        future = asyncio.run_coroutine_threadsafe(asyncio.start_server(self.serve, "127.0.0.1", 0), self.loop)
        self.server = future.result(30)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *trace):
        asyncio.run_coroutine_threadsafe(self.stop(), self.loop).result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)
        self.loop.close()

    async def stop(self):
        self.server.close()
        tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def copy(self, reader, writer, kept):
        with contextlib.suppress(OSError):
            while piece := await reader.read(1 << 16):
                kept += piece
                writer.write(piece)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()

    async def serve(self, reader, writer):
        link, below = Link(), None
        self.links.append(link)
        link.task = asyncio.current_task()      # asyncio itself holds it too weakly
        try:
            from_below, below = await asyncio.open_connection("127.0.0.1", self.to)
            up = asyncio.ensure_future(self.copy(reader, below, link.up))
            down = asyncio.ensure_future(self.copy(from_below, writer, link.down))
            # A server that has said its last word closes; what a client still sends to it is of no use to anybody.
            await down
            if not up.done():
                await asyncio.wait([up], timeout=0.2)
                up.cancel()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            link.closed = True
            for end in (writer, below):
                if end:
                    end.close()
