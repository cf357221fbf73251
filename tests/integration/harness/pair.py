# SPDX-License-Identifier: MIT
"""
Two MariaDB servers on 127.0.0.1, of which one takes writes and the other one replicates from it.

Both start read-only, as they should in real life: who promotes a server makes it writable. The user of the nodes has no
right that overrides it. Both have all commits since their first start in their binlogs, so a server that is made from
nothing gets everything by replication.
"""
import os
import shutil
import tempfile

import pymysql

from .databases import DatabaseServer
from .process import wait_until

_REPLICATOR = "replicator"
_DIVERGED = 1236  # the primary does not know the commit that a replica wants to go on from
_NEVER_MS = 2 ** 63  # how long a commit waits for a replica before it goes on without


class Diverged(Exception):
    """A server has commits that the primary has not: it cannot become its replica."""


class PairServer(DatabaseServer):
    """One of the two."""

    def __init__(self, template, name, number, options):
        folder = tempfile.mkdtemp(prefix="swdb-")
        shutil.copytree(os.path.join(template, "data"), os.path.join(folder, "data"))
        super().__init__(name, folder, ["/usr/sbin/mariadbd", "--no-defaults", "--skip-name-resolve"], [
            "--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=64M", "--log-bin=bin",
            "--log-slave-updates=1", "--sync-binlog=1", "--binlog-format=ROW", "--gtid-strict-mode=1", "--read-only=1",
            "--skip-slave-start", "--slave-net-timeout=5", *options,
        ])
        self.name = name
        self.number = number
        self._plain = list(self.process.command)

    def launch(self, options=()):
        """Starts it with further options and does not wait."""
        self.process.command = self._plain + [f"--server-id={self.number}", *options]
        self.process.start()

    def wait_up(self, seconds=40):
        wait_until(self._up, seconds, f"{self.name} to accept connections on {self.socket}")
        return self

    def ask(self, sql, values=()):
        """The first row, by name; None when there is none."""
        with self.root() as connection, connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute(sql, values)
            return cursor.fetchone()

    def tell(self, *statements):
        """In a session of root's own, none of it in the binlog."""
        with self.root() as connection, connection.cursor() as cursor:
            cursor.execute("SET SESSION sql_log_bin = 0")
            for statement in statements:
                cursor.execute(statement)

    def variable(self, name):
        return str(self.ask(f"SELECT @@GLOBAL.{name} AS value")["value"])

    def create_own_users(self):
        """Once on each server, and not by replication: they are there before it begins."""
        self.tell("DELETE FROM mysql.global_priv WHERE User = ''", "FLUSH PRIVILEGES",
                  f"CREATE USER {_REPLICATOR}@'%'", f"GRANT REPLICATION SLAVE ON *.* TO {_REPLICATOR}@'%'")
        self.create_user(may_all=False)
        self.tell("RESET MASTER")

    def writable(self, yes=True):
        self.tell(f"SET GLOBAL read_only = {int(not yes)}")

    def follow(self, primary):
        """Replicates from there, behind all that it has itself."""
        self.tell("SET GLOBAL gtid_slave_pos = @@GLOBAL.gtid_current_pos",
                  f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {primary.port},"
                  f" MASTER_USER = '{_REPLICATOR}', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1,"
                  " MASTER_HEARTBEAT_PERIOD = 1",
                  "START SLAVE")

    def replication(self):
        """SHOW SLAVE STATUS, or {} where it replicates from nobody."""
        return self.ask("SHOW SLAVE STATUS") or {}

    def is_following(self, position):
        """It replicates and has all up to there."""
        seen = self.replication()
        if seen["Last_IO_Errno"] == _DIVERGED:
            raise Diverged(seen["Last_IO_Error"])
        assert not seen["Last_SQL_Error"], f"{self.name} does not replicate: {seen['Last_SQL_Error']}"
        if seen["Slave_IO_Running"] != "Yes" or seen["Slave_SQL_Running"] != "Yes":
            return False
        return self.ask("SELECT MASTER_GTID_WAIT(%s, 0) AS done", (position,))["done"] == 0

    def apply_received(self, seconds=30):
        """What it has of the primary's commits is in its tables. Whether there are more, only the primary knows."""
        self.tell("STOP SLAVE IO_THREAD")
        position = self.replication()["Gtid_IO_Pos"]
        done = self.ask("SELECT MASTER_GTID_WAIT(%s, %s) AS done", (position, seconds))
        assert done["done"] == 0, f"{self.name} did not apply what it had received up to {position} in {seconds} s"


class Pair:
    """
    `primary` takes writes, `replica` is the other one, both live. What worlds ask of a database server is asked of the
    present primary; `hosts` are both in a fixed order, so a JDBC URL of the nodes stays the same.

    semi_sync: a commit is there for others, and is confirmed, when the replica has received it, however long that
    takes. Not while there is one server alone: it goes on without, until the other one is back.
    """

    kind = "mariadb"
    user = DatabaseServer.user
    password = DatabaseServer.password

    def __init__(self, template, semi_sync=True, options=()):
        self.template = template
        self.semi_sync = semi_sync
        self.options = list(options) + ([
            "--rpl-semi-sync-master-wait-point=AFTER_SYNC", f"--rpl-semi-sync-master-timeout={_NEVER_MS}",
        ] if semi_sync else [])
        self.hosts = []

    def start(self):
        try:
            for number in (1, 2):
                server = PairServer(self.template, f"mariadb-{number}", number, self.options)
                self.hosts.append(server)
                server.launch(self._role("SLAVE"))
            for server in self.hosts:
                server.wait_up().create_own_users()
            self.primary, self.replica = self.hosts
            self.primary.writable()
            self._join()
        except BaseException:
            self.remove()
            raise
        return self

    def _role(self, role):
        """
        Of a semi-synchronous server at its start. SLAVE: after a crash it throws away the commits at its end that no
        replica may have; otherwise it has what nobody else has, and cannot replicate.
        """
        return [f"--init-rpl-role={role}", "--rpl-semi-sync-slave-enabled=1"] if self.semi_sync else []

    def _join(self):
        """The replica gets all that the primary has, and follows it; commits wait for it from now on."""
        primary, replica = self.primary, self.replica
        replica.follow(primary)
        position = primary.variable("gtid_binlog_pos")
        wait_until(lambda: replica.is_following(position), 60, f"{replica.name} to replicate from {primary.name}")
        if self.semi_sync:
            primary.tell("SET GLOBAL rpl_semi_sync_slave_enabled = 0", "SET GLOBAL rpl_semi_sync_master_enabled = 1")
            wait_until(self.is_confirming, 30, "commits to wait for the replica")

    def is_confirming(self):
        """Commits wait for a replica, and there is one."""
        rows = {}
        with self.primary.root() as connection, connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_master_%'")
            rows = dict(cursor.fetchall())
        return rows["Rpl_semi_sync_master_status"] == "ON" and int(rows["Rpl_semi_sync_master_clients"]) > 0

    def set_semi_sync(self, on):
        """Of a pair that was started as semi-synchronous: whether it is at present."""
        self.semi_sync = on
        self.replica.tell("STOP SLAVE IO_THREAD", f"SET GLOBAL rpl_semi_sync_slave_enabled = {int(on)}",
                          "START SLAVE IO_THREAD")
        self.primary.tell(f"SET GLOBAL rpl_semi_sync_master_enabled = {int(on)}")
        if on:
            wait_until(self.is_confirming, 30, "commits to wait for the replica")

    # Failover

    def promote(self):
        """
        The replica takes writes when it has applied what it has received; what else the primary has committed is lost.
        The other one, if it lives, is not told: the caller has killed it, made it read-only, or wants a second writer.
        """
        self.replica.apply_received()
        self.replica.tell("STOP SLAVE", "RESET SLAVE ALL")
        self.replica.writable()
        self.primary, self.replica = self.replica, self.primary

    def rejoin(self):
        """The server that is down comes back as a replica; it is made anew if it has what the promoted one lost."""
        assert not self.replica.process.running(), f"{self.replica.name} runs: demote it"
        self.replica.launch(self._role("SLAVE"))
        self.replica.wait_up()
        try:
            self._join()
        except Diverged:
            self.rebuild()

    def rebuild(self):
        """
        The replica is thrown away and made anew, as another server: one leaves out what it once wrote itself, which
        this one no longer has.
        """
        old = self.replica
        old.stop()
        shutil.rmtree(os.path.join(old.folder, "data"))
        shutil.copytree(os.path.join(self.template, "data"), os.path.join(old.folder, "data"))
        old.number += len(self.hosts)
        old.launch(self._role("SLAVE"))
        old.wait_up().create_own_users()
        self._join()

    def switch_over(self):
        """As planned: writes end, the replica gets all of them, takes over, and the old one becomes its replica."""
        self.primary.writable(False)
        position = self.primary.variable("gtid_binlog_pos")
        done = self.replica.ask("SELECT MASTER_GTID_WAIT(%s, 30) AS done", (position,))
        assert done["done"] == 0, f"{self.replica.name} did not get to {position}"
        self.promote()
        self.demote()

    def demote(self):
        """The old primary, which lives, replicates from the new one; it must not have had commits of its own since."""
        self.replica.writable(False)
        if self.semi_sync:
            self.replica.tell("SET GLOBAL rpl_semi_sync_master_enabled = 0",
                              "SET GLOBAL rpl_semi_sync_slave_enabled = 1")
        self._join()

    def stop_sending(self):
        """The replica gets nothing from now on: what an asynchronous primary commits is lost at its promotion."""
        assert not self.semi_sync, "a semi-synchronous primary would wait"
        self.replica.tell("STOP SLAVE IO_THREAD")

    # As a server

    @property
    def port(self):
        return self.primary.port

    @property
    def process(self):
        return self.primary.process

    def root(self):
        return self.primary.root()

    @property
    def folder(self):
        return self.primary.folder

    def connect(self, database):
        return self.primary.connect(database)

    def create_database(self):
        return self.primary.create_database()

    def drop_database(self, name):
        self.primary.drop_database(name)

    def audit_url(self, database):
        return self.primary.audit_url(database)

    def jdbc_url(self, database, zone="UTC", port=None, ports=None):
        """
        ports: in the order in which a node is to have them, such as those of proxies; port: of one address that leads
        to the primary.
        """
        ports = [port] if port else ports or [server.port for server in self.hosts]
        hosts = ",".join(f"127.0.0.1:{number}" for number in ports)
        return (
            f"jdbc:mysql://{hosts}/{database}?useUnicode=true&characterEncoding=UTF-8&autoReconnect=true"
            f"&serverTimezone={zone}"
        )

    def stop(self):
        for server in self.hosts:
            server.stop()

    def remove(self):
        self.stop()
        for server in self.hosts:
            shutil.rmtree(server.folder, ignore_errors=True)


def start_pair(template, semi_sync=True, options=()):
    """options: of both servers."""
    return Pair(template, semi_sync, options).start()
