# SPDX-License-Identifier: MIT
"""Faults of the database, which all nodes share."""
import contextlib
import random
import threading
import time

import pymysql

from .scenarios import fault
from .stage import SHARDS

BACK_S = 5 + 5  # promised are 5 s; the machine is shared


@fault(hurts="database", seconds=(0.2, 6))
def database_killed(stage, rng):
    """kill -9 of the server under load, and started again."""
    stage.database.process.kill()
    yield
    stage.database.start()
    stage.measure_back(time.time(), BACK_S)


# The server carries out a move of the cursor after the node has given up on it and on the shard: the next owner cannot
# know that nobody has sent the fires of that second.
@fault(hurts="database", seconds=(0.5, 8), leaves_unknown=True)
def database_stopped(stage, rng):
    """The server stands still: connections stay open and nothing answers."""
    stage.database.process.pause()
    yield
    stage.database.process.resume()
    stage.measure_back(time.time(), BACK_S)


@fault(hurts="database", seconds=(0.5, 8))
def read_only(stage, rng):
    """The server takes no writes, as after a failover."""
    _set_global(stage, "read_only = 1")
    yield
    _set_global(stage, "read_only = 0")
    stage.measure_back(time.time(), BACK_S)


def _set_global(stage, what):
    with stage.database.root() as root, root.cursor() as cursor:
        cursor.execute(f"SET GLOBAL {what}")


@contextlib.contextmanager
def _meanwhile(work, *threads_arguments):
    """Runs work(stop, ...) in threads until the block ends; what they raise is raised."""
    stop, problems = threading.Event(), []

    def run(*arguments):
        try:
            work(stop, *arguments)
        except Exception as error:  # handed over to the test below
            problems.append(error)

    threads = [threading.Thread(target=run, args=arguments) for arguments in threads_arguments]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if problems:
        raise problems[0]


def _kill_connections(stop, stage, root, rng):
    with root.cursor() as cursor:
        while not stop.wait(rng.uniform(0.02, 0.3)):
            cursor.execute("SELECT id FROM information_schema.processlist WHERE user = %s", (stage.database.user,))
            ids = [row[0] for row in cursor.fetchall()]
            for victim in rng.sample(ids, min(len(ids), rng.choice((1, 1, 2, 5)))):
                try:
                    cursor.execute(f"KILL CONNECTION {victim}")
                except pymysql.err.OperationalError as error:
                    if error.args[0] != 1094:  # no such connection any more
                        raise


def _spoiler(rng):
    """Some commits are carried out and never answered, some never arrive; other statements now and then, too."""

    def judge(data):
        chance = 0.15 if b"COMMIT" in data else 0.02 if data[4:5] == b"\x03" else 0
        return rng.choice(("unanswered", "unanswered", "unsent")) if rng.random() < chance else None

    return judge


@fault(hurts="database", seconds=(2, 6), leaves_unknown=True)
def connection_reset(stage, rng):
    """Connections end at random: killed in the server, or cut around a commit, so that its outcome is unknown."""
    if rng.random() < 0.5:
        with stage.database.root() as root, _meanwhile(_kill_connections, (stage, root, random.Random(rng.random()))):
            yield
        return
    proxies = [links["database"] for links in stage.links.values()]
    for proxy in proxies:
        proxy.spoil(_spoiler(random.Random(rng.random())))
    yield
    for proxy in proxies:
        proxy.heal()


def _lock_rows(stop, stage, rng, backwards):
    """Transactions over jobs, shards, cursors and log rows, in our order of locks or against it."""
    statements = [
        ("SELECT shard FROM shardwheel_shard WHERE shard = %s FOR UPDATE", SHARDS),
        ("SELECT shard FROM shardwheel_cursor WHERE shard = %s FOR UPDATE", SHARDS),
        ("SELECT id FROM xxl_job_info WHERE id %% 37 = %s FOR UPDATE", 37),
        ("SELECT id FROM xxl_job_log WHERE handle_code = 0 AND id %% 7 = %s FOR UPDATE", 7),
    ]
    connection = stage.database.connect(stage.world.tables.database)
    with connection, connection.cursor() as cursor:
        while not stop.wait(rng.uniform(0, 0.3)):
            chosen = sorted(rng.sample(range(len(statements)), rng.choice((1, 2, 2, 3))), reverse=backwards)
            try:
                cursor.execute("BEGIN")
                for sql, values in (statements[i] for i in chosen):
                    cursor.execute(sql, (rng.randrange(values),))
                    stop.wait(rng.uniform(0, 0.4))
                stop.wait(rng.choice((0, 0.2, 1.5)))
            except pymysql.err.OperationalError as error:
                if error.args[0] not in (1205, 1213):  # lock wait timeout, deadlock
                    raise
            cursor.execute("ROLLBACK")


@fault(hurts="database", seconds=(3, 7), leaves_unknown=True)
def deadlocks_and_lock_waits(stage, rng):
    """Other sessions hold rows that the nodes want, in orders that deadlock."""
    sessions = [(stage, random.Random(rng.random()), backwards) for backwards in (False, True, True)]
    with _meanwhile(_lock_rows, *sessions):
        yield


@fault(hurts="database", seconds=(1, 7), leaves_unknown=True)
def too_many_connections(stage, rng):
    """The server has no room for another connection, and those of the nodes break one by one."""
    with stage.database.root() as root, stage.database.root() as killer:
        before = int(stage.value("SELECT @@max_connections"))
        with root.cursor() as cursor:
            cursor.execute("SET GLOBAL max_connections = 10")
        with _meanwhile(_kill_connections, (stage, killer, random.Random(rng.random()))):
            with contextlib.ExitStack() as eaten:
                _eat_connections(stage, eaten)
                yield
        with root.cursor() as cursor:
            cursor.execute(f"SET GLOBAL max_connections = {before}")
    stage.measure_back(time.time(), BACK_S)


def _eat_connections(stage, eaten):
    """As many sessions as the server still takes. One may be killed as soon as it has begun."""
    for _ in range(300):
        try:
            connection = pymysql.connect(
                host="127.0.0.1", port=stage.database.port, user=stage.database.user, password=stage.database.password
            )
        except pymysql.err.OperationalError as error:
            if error.args[0] == 1040:  # too many connections
                return
            if error.args[0] not in (1927, 2006, 2013):  # killed, gone, lost
                raise
            continue
        eaten.callback(connection.close)
