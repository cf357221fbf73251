# SPDX-License-Identifier: MIT
"""Three nodes under load go from the release before this one to this one, node by node, and back again."""
import time
import warnings

import pytest

from faults.theatre import NOT_ACCEPTED
from harness import v1
from harness.node import binary
from harness.previous import previous_release, read_pinned
from harness.process import wait_until

FAIR = [2, 3, 3]
FIRES_PER_SECOND = 100
ROLLED_S = 25  # a node stops, starts, and all have their share again
LATER = "of_a_later_release"


@pytest.fixture(scope="session")
def previous():
    program = previous_release()
    if program is None:
        warnings.warn(f"{read_pinned()[0]} is not in this history: the restart is from this release to itself")
    return program or binary()


def own_columns(tables):
    return {(row["t"], row["c"]) for row in tables.rows(
        "SELECT table_name AS t, column_name AS c FROM information_schema.columns "
        "WHERE table_schema = %s AND table_name LIKE 'shardwheel%%'", (tables.database,))}


def roll(cluster, nodes, program):
    """Node by node, as docs/upgrades.md has it: stop, start with that program, wait until each has its share."""
    for node in nodes:
        assert node.terminate(30) == 0, node.tail()
        node.command[0] = program
        node.start(ROLLED_S)
        cluster.tables.wait_owners(FAIR, ROLLED_S)


def check_all_answer(cluster, nodes, token):
    """Pages of ours that show what nodes of the other release have written."""
    for node in nodes:
        api = v1.Api(node, token)
        assert node.is_healthy()
        told = api.call("GET", "/nodes").text
        assert all(f'"{other.name}"' in told for other in nodes), told
        for path in ("/overview", "/health", "/shards", "/events", "/audit"):
            api.good("GET", path)
    shown = cluster.ctl("nodes")
    assert shown.returncode == 0 and all(node.name in shown.stdout for node in nodes), shown.stdout + shown.stderr


def write_as_a_later_release(tables):
    """What a later release may leave behind: columns, kinds of events and actions that nobody knows."""
    names = {table for table, _ in own_columns(tables)}
    for name in sorted(names):
        tables.execute(f"ALTER TABLE {name} ADD COLUMN {LATER} VARCHAR(40) NULL")
    now_ms = int(time.time() * 1000)
    tables.insert("shardwheel_event", {"at_ms": now_ms, "kind": LATER, "node": "node-x", "job_group": 0,
                                       "detail": "something new", "data_json": '{"new": [1]}'})
    tables.insert("shardwheel_audit", {"at_ms": now_ms, "user_id": 0, "who": "later", "address": "", "via": LATER,
                                       "action": LATER, "target": 1, "target_name": "", "job_group": 0,
                                       "after_json": '{"new": {"of": "later"}}'})


def check_later_is_shown(node, token):
    api = v1.Api(node, token)
    assert any(LATER in str(row) for row in api.good("GET", f"/events?kind={LATER}")["items"])
    assert any(LATER in str(row) for row in api.good("GET", "/audit?limit=200")["items"])


@pytest.mark.slow
def test_rolling_upgrade_and_back_lose_and_double_nothing(make_world, mariadb, zookeeper, previous):
    cluster = make_world(mariadb, zookeeper=zookeeper)
    nodes = []
    for name in ("node-a", "node-b", "node-c"):
        nodes.append(cluster.node(name, program=previous))
    tables = cluster.tables
    tables.wait_owners(FAIR)
    token = v1.add_token(tables, v1.add_user(tables, "root", role=1))
    executor = cluster.load_executor(nodes, addresses=40, answer_delay_ms=50)
    from_s = tables.add_load(tables.add_group("load", executor.addresses), FIRES_PER_SECOND)
    executor.wait_arrivals(FIRES_PER_SECOND, 20)
    columns = own_columns(tables)

    roll(cluster, nodes[:1], binary())
    version = tables.value("SELECT version FROM shardwheel_schema")
    assert columns <= own_columns(tables)
    check_all_answer(cluster, nodes, token)
    roll(cluster, nodes[1:], binary())
    check_all_answer(cluster, nodes, token)

    # And back by one release, with what this one has left in the tables, and more than that.
    write_as_a_later_release(tables)
    columns = own_columns(tables)
    check_later_is_shown(nodes[0], token)
    roll(cluster, nodes[:1], previous)
    check_all_answer(cluster, nodes, token)
    check_later_is_shown(nodes[0], token)
    roll(cluster, nodes[1:], previous)
    check_all_answer(cluster, nodes, token)
    assert own_columns(tables) == columns
    assert tables.value("SELECT version FROM shardwheel_schema") == version

    executor.wait_arrivals(2 * FIRES_PER_SECOND, 20)
    to_s = int(time.time())
    wait_until(lambda: time.time() > to_s + 1, 5, f"second {to_s}")
    wait_until(lambda: not tables.open_rows(from_s, to_s), 20, "the end of all fires")
    found, done = cluster.audit(executor, from_s, to_s)
    assert found["due"] == (to_s - from_s) * FIRES_PER_SECOND, done.stdout
    wrong = {name: found[name] for name in (*NOT_ACCEPTED, "unknown") if found[name]}
    assert not wrong and done.returncode == 0, done.stdout
    assert found["delivered"] == found["due"], done.stdout
