# SPDX-License-Identifier: MIT
"""
A proxy between a node and a database server that knows the protocol, and does what proxies of this kind do: it sends
reads outside of transactions to a replica, or changes what passes through it.
"""
import asyncio
import re

from .proxy import _Loop

_READER = "splitter"  # of the replica; has no password
_COM_QUERY = b"\x03"
_FOUND_ROWS, _WITH_DB, _SECURE, _PLUGIN, _ATTRIBUTES = 1 << 1, 1 << 3, 1 << 15, 1 << 19, 1 << 20
_READ = re.compile(r"\s*SELECT\b(?!.*\b(FOR UPDATE|LOCK IN SHARE MODE|GET_LOCK|IS_USED_LOCK|SKIP LOCKED)\b)", re.S)

# What is made of statements, by the name of the fault.
CHANGES = {
    "no_row_locks": [(r" FOR UPDATE( NOWAIT| SKIP LOCKED)?", "")],
    "no_shared_locks": [(r" LOCK IN SHARE MODE", "")],
    "no_named_locks": [(r"GET_LOCK\(.*?, 0\)", "1")],
    "numbers_of_its_own": [(r"SELECT IS_USED_LOCK\(('sw_trial_\w+')\)", r"SELECT IS_USED_LOCK(\1) + 4711")],
    "isolation_lost": [("ISOLATION LEVEL READ COMMITTED", "ISOLATION LEVEL REPEATABLE READ")],
    "ids_apart": [(r"SELECT @@auto_increment_increment$", "SELECT 7")],
    "found_rows_lost": [],
}


async def _read_packet(reader):
    """(its number, its payload)"""
    head = await reader.readexactly(4)
    return head[3], await reader.readexactly(int.from_bytes(head[:3], "little"))


def _packet(number, payload):
    return len(payload).to_bytes(3, "little") + bytes((number,)) + payload


class Splitter:
    """
    primary, replica: servers, replica may be None. fault: a name of CHANGES. Statements of a client go to one server at
    a time and wait for its answer, so what comes back from either is handed on as it is.
    """

    def __init__(self, primary, replica=None, fault=None, database=None):
        self.primary = primary
        self.replica = replica
        self.fault = fault
        self.database = database
        self.read_elsewhere = 0
        self._changes = [(re.compile(was), now) for was, now in CHANGES[fault]] if fault else []
        self._tasks = set()
        if replica:
            replica.tell(f"CREATE USER IF NOT EXISTS {_READER}@'%'", f"GRANT SELECT ON *.* TO {_READER}@'%'")
        _Loop.run(self._listen())

    async def _listen(self):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _accept(self, client_reader, client):
        self._tasks.add(asyncio.current_task())
        writers = [client]
        pumps = []
        try:
            server_reader, server = await asyncio.open_connection("127.0.0.1", self.primary.port)
            writers.append(server)
            login = await self._log_in(client_reader, client, server_reader, server)
            pumps.append(asyncio.ensure_future(self._pump(server_reader, client, client)))
            reader = None
            if self.replica:
                replica_reader, reader = await self._log_in_as_reader(login)
                writers.append(reader)
                pumps.append(asyncio.ensure_future(self._pump(replica_reader, client, client)))
            await self._route(client_reader, server, reader)
        except (OSError, asyncio.IncompleteReadError):
            pass  # one of them said goodbye
        finally:
            for pump in pumps:
                pump.cancel()
            for writer in writers:
                writer.close()
            self._tasks.discard(asyncio.current_task())

    async def _log_in(self, client_reader, client, server_reader, server):
        """Hands the login on, without CLIENT_FOUND_ROWS if that is the fault; what the client has said."""
        login = None
        while True:
            number, payload = await _read_packet(server_reader)
            client.write(_packet(number, payload))
            if login and payload[:1] in (b"\x00", b"\xff"):
                return login
            number, payload = await _read_packet(client_reader)
            if login is None:
                login = payload
                if self.fault == "found_rows_lost":
                    flags = int.from_bytes(payload[:4], "little") & ~_FOUND_ROWS
                    payload = flags.to_bytes(4, "little") + payload[4:]
            server.write(_packet(number, payload))

    async def _log_in_as_reader(self, login):
        """The client's capabilities, so that answers have the form that it expects."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.replica.port)
        await _read_packet(reader)
        flags = (int.from_bytes(login[:4], "little") | _WITH_DB | _SECURE | _PLUGIN) & ~_ATTRIBUTES
        writer.write(_packet(1, flags.to_bytes(4, "little") + login[4:32] + _READER.encode() + b"\0\0"
                             + self.database.encode() + b"\0mysql_native_password\0"))
        while True:
            number, payload = await _read_packet(reader)
            assert payload[:1] != b"\xff", f"the replica refuses: {payload}"
            if payload[:1] == b"\x00":
                return reader, writer
            writer.write(_packet(number + 1, b""))  # asked for the password once more

    async def _pump(self, reader, writer, client):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        finally:
            client.close()

    async def _route(self, client_reader, server, reader):
        in_transaction = False
        while True:
            number, payload = await _read_packet(client_reader)
            text = payload[1:].decode("utf-8", "replace") if payload[:1] == _COM_QUERY else ""
            if text.startswith("START TRANSACTION"):
                in_transaction = True
            elif text in ("COMMIT", "ROLLBACK"):
                in_transaction = False
            to = server
            if reader and not in_transaction and _READ.match(text):
                self.read_elsewhere += 1
                to = reader
            for was, now in self._changes:
                text = was.sub(now, text)
            if self._changes and text:
                payload = _COM_QUERY + text.encode("utf-8", "replace")
            to.write(_packet(number, payload))
            await to.drain()

    async def _close(self):
        self._server.close()
        for task in list(self._tasks):
            task.cancel()

    def close(self):
        _Loop.run(self._close())
