# SPDX-License-Identifier: MIT
"""A TCP proxy on 127.0.0.1 between a node and a server, which a test cuts, holds up, slows down and makes forget."""
import asyncio
import socket
import struct
import threading

_CHUNK = 65536


class _Loop:
    """The one event loop of all proxies of this process, in a thread of its own."""

    loop = None

    @classmethod
    def run(cls, coroutine):
        if cls.loop is None:
            cls.loop = asyncio.new_event_loop()
            threading.Thread(target=cls.loop.run_forever, name="proxies", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(coroutine, cls.loop).result(10)


def _reset(writer):
    """Ends a connection with a reset instead of a goodbye."""
    sock = writer.get_extra_info("socket")
    if sock is not None and sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class _Link:
    """One connection through the proxy."""

    def __init__(self, client, server):
        self.client = client
        self.server = server
        self.is_dead = False  # open on both sides, and nothing comes through ever again

    def reset(self):
        _reset(self.client)
        _reset(self.server)


class Proxy:
    """
    Forwards connections to a port. What goes wrong is one of these, until `heal`:

    cut      connections are reset, new ones too
    hold     nothing comes through; what was sent meanwhile arrives afterwards, in order (packets lost and repeated)
    forget   nothing comes through, on these connections never again (a firewall that forgot them: half open)
    delay    everything takes so much longer, in each direction
    spoil    a predicate on what the client sends chooses what becomes of it: None goes through, "unanswered" reaches
             the server and the connection is reset before the answer, "unsent" resets the connection at once
    """

    def __init__(self, target_port):
        self.target_port = target_port
        self.spoiled = 0
        self._links = set()
        self._mode = "pass"
        self._delay_s = 0.0
        self._spoil = None
        self._tasks = set()
        _Loop.run(self._listen())

    async def _listen(self):
        self._open = asyncio.Event()
        self._open.set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _accept(self, client_reader, client):
        self._tasks.add(asyncio.current_task())
        try:
            await self._open.wait()
            if self._mode == "cut":
                _reset(client)
                return
            if self._mode == "forget":
                # Accepted by nobody: as good as a packet that was dropped.
                while await client_reader.read(_CHUNK):
                    pass
                return
            server_reader, server = await asyncio.open_connection("127.0.0.1", self.target_port)
            link = _Link(client, server)
            self._links.add(link)
            try:
                await asyncio.gather(
                    self._pump(link, client_reader, server, self._judge), self._pump(link, server_reader, client, None)
                )
            finally:
                self._links.discard(link)
                server.close()
        except OSError:
            _reset(client)  # the target refuses, or either side has reset the connection
        finally:
            client.close()
            self._tasks.discard(asyncio.current_task())

    def _judge(self, data):
        return self._spoil(data) if self._spoil else None

    async def _pump(self, link, reader, writer, judge):
        try:
            while data := await reader.read(_CHUNK):
                await self._open.wait()
                if self._mode == "cut":
                    link.reset()
                    return
                if link.is_dead:
                    continue
                if self._delay_s:
                    await asyncio.sleep(self._delay_s)
                verdict = judge(data) if judge else None
                if verdict:
                    self.spoiled += 1
                if verdict == "unsent":
                    link.reset()
                    return
                writer.write(data)
                await writer.drain()
                if verdict == "unanswered":
                    _reset(link.client)
                    writer.close()
                    return
            await self._open.wait()
        finally:
            # A side that has said goodbye is a goodbye to the other: neither protocol here half-closes.
            writer.close()

    async def _set(self, mode):
        self._mode = mode
        if mode == "hold":
            self._open.clear()
        else:
            self._open.set()
        if mode == "cut":
            for link in list(self._links):
                link.reset()
        elif mode == "forget":
            for link in list(self._links):
                link.is_dead = True

    def cut(self):
        _Loop.run(self._set("cut"))

    def hold(self):
        _Loop.run(self._set("hold"))

    def forget(self):
        _Loop.run(self._set("forget"))

    def delay(self, seconds):
        self._delay_s = seconds

    def spoil(self, judge):
        self._spoil = judge

    def heal(self):
        self._delay_s = 0.0
        self._spoil = None
        _Loop.run(self._set("pass"))

    async def _close(self):
        self._open.set()
        self._server.close()
        for link in list(self._links):
            link.reset()
        for task in list(self._tasks):
            task.cancel()

    def close(self):
        _Loop.run(self._close())
