# SPDX-License-Identifier: MIT
"""Three members of a Galera cluster: what row locks fence on one server, certification fences here."""
import contextlib
import re

import pytest

from harness.cluster import World
from harness.galera import start_galera
from harness.process import wait_until


@pytest.fixture(scope="module")
def galera(mariadb_template):
    cluster = start_galera(mariadb_template)
    yield cluster
    cluster.remove()


@pytest.fixture
def world(galera, tmp_path_factory):
    """A node that stands alone, at the first member."""
    world = World(galera.members[0], tmp_path_factory.mktemp("world"))
    yield world
    world.close()


def add_jobs(world, per_second):
    executor = world.executor()
    return world.tables.add_load(world.group(executor), per_second)


@contextlib.contextmanager
def lagging(member, other, database):
    """Nothing that is committed elsewhere is applied at that member, which takes statements all the same."""
    with other.connect(database) as there, there.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS held_up (id INT PRIMARY KEY AUTO_INCREMENT)")
    with member.connect(database) as here, here.cursor() as holder:
        wait_until(lambda: holder.execute("SHOW TABLES LIKE 'held_up'"), 10, "the table at the member that is to lag")
        holder.execute("LOCK TABLES held_up READ")
        with other.connect(database) as there, there.cursor() as cursor:
            cursor.execute("INSERT INTO held_up VALUES ()")
        yield
        holder.execute("UNLOCK TABLES")


def take_over(member, database):
    """What a takeover writes, of every shard; the epoch of before."""
    with member.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION wsrep_sync_wait = 1")
        for _ in range(20):
            try:
                cursor.execute("BEGIN")
                cursor.execute("SELECT MAX(epoch) AS epoch FROM shardwheel_shard")
                epoch = cursor.fetchone()["epoch"]
                cursor.execute("UPDATE shardwheel_shard SET epoch = %s, owner = 'another'", (epoch + 1,))
                cursor.execute("UPDATE shardwheel_cursor SET epoch = %s", (epoch + 1,))
                cursor.execute("COMMIT")
                return epoch
            except connection.OperationalError as error:
                assert error.args[0] == 1213, error
    raise AssertionError("the takeover was certified away twenty times")


def rows_of_epoch(member, database, epoch):
    with member.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION wsrep_sync_wait = 1")
        cursor.execute("SELECT id FROM xxl_job_log WHERE trigger_msg REGEXP %s", (f"^<!--sw:p:[0-9]+:{epoch}[:-]",))
        return {row["id"] for row in cursor.fetchall()}


def commits_under_way(member):
    with member.root() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM information_schema.processlist WHERE user = %s AND info = 'COMMIT'",
                       (member.user,))
        return cursor.fetchone()[0]


def test_a_claim_behind_a_takeover_of_another_member_is_not_committed(world, galera):
    member, other, _ = galera.members
    database = world.tables.database
    node = world.node()
    assert "event=galera_guard" in node.log_text() and "event=galera_standalone" in node.log_text()
    add_jobs(world, 20)
    wait_until(lambda: world.tables.value("SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code > 0") > 20, 20, "fires")
    with lagging(member, other, database):
        epoch = take_over(other, database)
        before = rows_of_epoch(other, database, epoch)
        assert before, "no row has the mark of that epoch"
        wait_until(lambda: commits_under_way(member), 15, "a claim that wants to commit")
    wait_until(lambda: world.tables.value("SELECT MIN(epoch) AS e FROM shardwheel_shard") > epoch, 20, "the takeover")

    assert rows_of_epoch(other, database, epoch) <= before, "planned under an epoch that was over"
