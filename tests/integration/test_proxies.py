# SPDX-License-Identifier: MIT
"""Proxies that part reads from writes, and servers that do not do what they say: refused, with the reason."""
import contextlib

import pytest

from harness.cluster import World
from harness.doctor import examine
from harness.node import free_ports, options, run_shardwheel
from harness.pair import start_pair
from harness.splitter import Splitter


@pytest.fixture(scope="module")
def pair(mariadb_template):
    pair = start_pair(mariadb_template, semi_sync=False)
    yield pair
    pair.remove()


@pytest.fixture(scope="module")
def installed(pair, tmp_path_factory):
    """A world with tables and no node."""
    world = World(pair, tmp_path_factory.mktemp("world"))
    assert run_shardwheel(["install-schema", *options(world.keys())]).returncode == 0
    yield world
    world.close()


@contextlib.contextmanager
def behind(world, **of_splitter):
    """The keys of nodes that have a splitter before the database."""
    splitter = Splitter(world.server, database=world.tables.database, **of_splitter)
    url = world.server.primary.jdbc_url(world.tables.database, port=splitter.port)
    try:
        yield splitter, {**world.keys(), "spring.datasource.url": url}
    finally:
        splitter.close()


def start(keys):
    """What a start that is refused says."""
    done = run_shardwheel(options({**keys, "server.port": free_ports()}))
    assert done.returncode == 1, f"status {done.returncode}: {done.stderr}"
    return done.stderr


def wait_replica(pair):
    done = pair.replica.ask("SELECT MASTER_GTID_WAIT(%s, 30) AS done", (pair.primary.variable("gtid_binlog_pos"),))
    assert done["done"] == 0


def test_reads_that_go_to_a_replica(installed, pair):
    """Whether the replica is behind or not: it says which server answered, and which settings of proxies do this."""
    wait_replica(pair)
    with behind(installed, replica=pair.replica) as (splitter, keys):
        said = start(keys)
        assert splitter.read_elsewhere > 0
        assert f":{pair.primary.port}, server_id 1 accepts the writes" in said, said
        # A replica that has not got the row yet does not say who it is.
        assert any(f"{who} answered a read outside of a transaction" in said
                   for who in (f":{pair.replica.port}, server_id 2", "another one")), said
        assert "readconnroute" in said and "ProxySQL" in said and "writer endpoint" in said, said

        found = examine(installed, keys=keys).find("reads_elsewhere")
        assert found and found[0]["level"] == "critical" and "ProxySQL" in found[0]["change"], found

        pair.replica.tell("STOP SLAVE SQL_THREAD")
        said = start(keys)
        pair.replica.tell("START SLAVE SQL_THREAD")
        assert "another one answered a read outside of a transaction, without the newest write" in said, said


@pytest.mark.parametrize("fault, code, words", [
    ("no_row_locks", "row_locks", "locked by FOR UPDATE can be locked by another one"),
    ("no_shared_locks", "row_locks", "locked by LOCK IN SHARE MODE can be locked by another one"),
    ("no_named_locks", "named_locks", "GET_LOCK gives the same lock to two connections"),
    ("numbers_of_its_own", "named_locks", "a proxy between them uses its own connection ids"),
    ("isolation_lost", "isolation", "READ COMMITTED and autocommit=1 were set"),
    ("ids_apart", "ids_of_rows", "in steps of 7"),
    ("found_rows_lost", "matched_rows", "counts 0 rows, not the one that it found"),
])
def test_what_something_between_takes_away(installed, fault, code, words):
    with behind(installed, fault=fault) as (_, keys):
        said = start(keys)
        assert words in said and "No node starts before" in said, said
        found = examine(installed, keys=keys).find(code)
        assert found and found[0]["level"] == "critical" and words in found[0]["what"], found


def test_named_locks_are_for_the_guard_and_standalone_nodes(installed, zookeeper):
    """Without both a node does without."""
    with behind(installed, fault="no_named_locks") as (_, keys):
        keys.update({
            "shardwheel.coordination": "zookeeper", "shardwheel.zookeeper.servers": zookeeper.servers,
            "shardwheel.zookeeper.base-path": installed.base_path, "shardwheel.java-guard": "off",
        })
        node = installed.node(keys=keys)
        assert "event=named_locks_absent" in node.log_text()
        found = examine(installed, keys=keys).find("named_locks")
        assert found and found[0]["level"] == "warning", found
        node.kill()


def test_trials_leave_nothing_behind(installed):
    """Nor do they wait for each other, or touch what nodes work with."""
    with behind(installed) as (_, keys):
        before = installed.tables.rows("SELECT shard, epoch, owner FROM shardwheel_shard")
        node = installed.node(keys=keys)
        node.kill()
    rows = installed.tables.rows
    assert not rows("SELECT * FROM shardwheel_primary WHERE id >= 1000")
    assert not rows("SELECT * FROM shardwheel_event WHERE kind = 'trial'")
    assert len(rows("SELECT shard FROM shardwheel_shard")) >= len(before)
