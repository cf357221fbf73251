# SPDX-License-Identifier: MIT
"""A private database server for measurements: full durability, binary log, own folder, free port."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import pymysql
from pymysql.constants import CLIENT

START_S = 60
USER = "bench"
PASSWORD = "bench"


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class PrivateServer:
    """A mariadbd of our own; start() returns when it answers."""

    def __init__(self, folder, database="xxl_job", buffer_pool="512M"):
        self.folder = pathlib.Path(folder).resolve()
        self.database = database
        self.buffer_pool = buffer_pool
        self.socket = self.folder / "server.sock"
        self.port = None
        self.process = None

    @property
    def url(self):
        return self.url_of(self.database)

    def url_of(self, database):
        return f"mysql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{database}?socket={self.socket}&serverTimezone=UTC"

    def _install(self):
        tool = shutil.which("mariadb-install-db")
        if not tool:
            raise OSError("mariadb-install-db is not installed (Debian: mariadb-server)")
        # A tmpdir of its own: a starting server removes the temporary tables of all that share it.
        with subprocess.Popen([tool, "--no-defaults", f"--datadir={self.folder / 'data'}", "--skip-test-db",
                               f"--tmpdir={self.folder}", "--auth-root-authentication-method=normal",
                               f"--user={_account()}"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as script:
            try:
                out, err = script.communicate()
            except BaseException:
                os.killpg(script.pid, signal.SIGKILL)  # the server that it runs, too
                raise
        if script.returncode != 0:
            raise OSError(f"mariadb-install-db: {err.strip() or out.strip()}")

    def _root(self):
        return pymysql.connect(unix_socket=str(self.socket), user="root", autocommit=True,
                               client_flag=CLIENT.MULTI_STATEMENTS)

    def start(self):
        if len(str(self.socket)) > 100:
            raise ValueError(f"{self.socket}: too long for the name of a socket, choose a shorter folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "data" / "mysql").is_dir():
            self._install()
        self.port = free_port()
        with open(self.folder / "server.log", "ab") as log:
            self.process = subprocess.Popen(
                ["mariadbd", "--no-defaults", f"--user={_account()}", f"--datadir={self.folder / 'data'}",
                 f"--socket={self.socket}", f"--pid-file={self.folder / 'server.pid'}", "--bind-address=127.0.0.1",
                 f"--port={self.port}", f"--tmpdir={self.folder}", "--skip-name-resolve",
                 "--character-set-server=utf8mb4", f"--innodb-buffer-pool-size={self.buffer_pool}",
                 "--innodb-log-file-size=1G", "--innodb-flush-log-at-trx-commit=1",
                 "--sync-binlog=1", f"--log-bin={self.folder / 'binlog'}", "--server-id=1", "--max-connections=500"],
                stdout=log, stderr=log, start_new_session=True)
        self._wait()
        with self._root() as root, root.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS `{self.database}`")
            _drain(cursor)
            for host in ("localhost", "127.0.0.1"):
                cursor.execute(f"CREATE USER IF NOT EXISTS '{USER}'@'{host}' IDENTIFIED BY '{PASSWORD}'")
                cursor.execute(f"GRANT ALL ON *.* TO '{USER}'@'{host}'")

    def _wait(self):
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            try:
                self._root().close()
                return
            except pymysql.MySQLError:
                time.sleep(0.1)
        self.stop()
        raise OSError(f"mariadbd did not start, see {self.folder / 'server.log'}")

    def load(self, path):
        """Loads a file of SQL statements into the database, if that has no tables yet."""
        with self._root() as root, root.cursor() as cursor:
            root.select_db(self.database)
            cursor.execute("SHOW TABLES")
            if cursor.fetchall():
                return False
            cursor.execute("SET @admin_password_sha256 = SHA2(%s, 256)", (PASSWORD,))  # sql/schema.sql asks for it
            cursor.execute(pathlib.Path(path).read_text(encoding="utf-8"))
            _drain(cursor)
            return True

    def create(self, database):
        """One more database, empty."""
        with self._root() as root, root.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE `{database}`")

    def drop(self, database):
        """Takes a database away, and the binary logs so far: nobody reads them, and they would fill the disk."""
        with self._root() as root, root.cursor() as cursor:
            cursor.execute(f"DROP DATABASE `{database}`")
            cursor.execute("RESET MASTER")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def _account():
    """The account to run as: mariadbd refuses to be root unless told so."""
    return "root" if os.geteuid() == 0 else os.environ.get("USER", str(os.geteuid()))


def _drain(cursor):
    while cursor.nextset():
        pass


def serve(arguments):
    """`bench server`: a server that stays until SIGTERM or Ctrl-C."""
    stopped = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.append(1))
    server = PrivateServer(arguments.data, arguments.database, arguments.buffer_pool)
    server.start()
    try:
        if arguments.schema:
            server.load(arguments.schema)
        print(json.dumps({"url": server.url, "jdbc": f"jdbc:mysql://127.0.0.1:{server.port}/{server.database}"
                          f"?serverTimezone=UTC", "user": USER, "password": PASSWORD, "port": server.port,
                          "socket": str(server.socket), "pid": server.process.pid}), flush=True)
        while not stopped and server.process.poll() is None:
            time.sleep(0.2)
    finally:
        server.stop()
    if not stopped:
        raise OSError(f"mariadbd ended by itself, see {server.folder / 'server.log'}")
    return 0
