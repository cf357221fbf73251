# SPDX-License-Identifier: MIT
"""The number of shards changes while nodes run: no fire is lost, none goes out twice, and all of them go on."""
import re
import time

import pytest

from harness.process import wait_until
from test_cluster import check, load, settle
from test_ctl import done, nodes, refused, shards


def number(world):
    return world.tables.value("SELECT shards FROM shardwheel_cluster")


def standstill(result):
    return float(re.search(r"stood still for ([\d.]+) s", result.stdout)[1])


def wait_beats(world, count):
    wait_until(lambda: len(nodes(world)) == count, 15, f"rows of {count} nodes")


@pytest.fixture
def pair(cluster):
    a, b = cluster.node("node-a"), cluster.node("node-b")
    cluster.tables.wait_owners([4, 4])
    wait_beats(cluster, 2)
    return cluster, a, b


@pytest.mark.slow
@pytest.mark.asan
def test_more_and_fewer_shards_under_load(pair):
    cluster, a, b = pair
    executor, from_s = load(cluster, [a, b], 100)

    for to, owners in (16, [8, 8]), (3, [1, 2]), (8, [4, 4]):
        before = number(cluster)
        result = done(cluster.ctl("reshard", to), f"{before} -> {to} shards", f"cluster has {to} shards")
        assert standstill(result) < 10, result.stdout
        assert number(cluster) == to
        cluster.tables.wait_owners(owners)
        seen = shards(cluster)
        assert seen["shards"] == to and len(seen["rows"]) == to and seen["change"] is None
        assert len({row["epoch"] for row in seen["rows"]}) >= 1 and all(row["epoch"] > 0 for row in seen["rows"])
        executor.wait_arrivals(500, 15)
    to_s = int(time.time())
    settle(cluster, from_s, to_s, 70)

    check(cluster, executor, from_s, to_s, 100)
    assert sum(node.metrics().get(f'shardwheel_shard_owned{{shard="{k}"}}', 0)
               for node in (a, b) for k in range(8)) == 8
    assert 'shardwheel_shard_owned{shard="8"}' not in a.metrics()


@pytest.mark.slow
def test_one_node_alone(world):
    node = world.node()
    world.tables.wait_owners([8])
    wait_beats(world, 1)
    executor, from_s = load(world, [node], 50)

    done(world.ctl("reshard", 5), "cluster has 5 shards")
    world.tables.wait_owners([5])
    executor.wait_arrivals(250, 15)
    to_s = int(time.time())
    settle(world, from_s, to_s, 70)

    check(world, executor, from_s, to_s, 50)


@pytest.mark.slow
def test_node_that_dies_on_the_way_holds_nothing_up_for_ever(pair):
    cluster, a, b = pair
    executor, from_s = load(cluster, [b, a], 50)

    a.kill()
    killed_at = time.time()
    result = done(cluster.ctl("reshard", 12, "--wait", "90", seconds=120), "cluster has 12 shards")
    cluster.tables.wait_owners([12])
    executor.wait_arrivals(250, 15)
    to_s = int(time.time())
    assert killed_at < to_s
    settle(cluster, from_s, to_s, 70)

    # What was in flight at the kill is of unknown delivery, and nothing else is.
    check(cluster, executor, from_s, to_s, 50, unknown_at_most=100)
    assert standstill(result) < 15, result.stdout


@pytest.mark.slow
def test_node_that_slept_through_the_change_sends_nothing_of_before(pair):
    cluster, a, b = pair
    executor, from_s = load(cluster, [b, a], 50)

    a.pause()
    cluster.tables.wait_owners([8], 20)
    done(cluster.ctl("reshard", 12, "--wait", "90", seconds=120), "cluster has 12 shards")
    executor.wait_arrivals(250, 15)
    a.resume()
    cluster.tables.wait_owners([6, 6], 25)
    executor.wait_arrivals(250, 15)
    to_s = int(time.time())
    settle(cluster, from_s, to_s, 70)

    check(cluster, executor, from_s, to_s, 50, unknown_at_most=100)


@pytest.mark.slow
def test_node_that_is_drained_stays_so(pair):
    cluster, a, b = pair

    done(cluster.ctl("drain", "node-a"), "drained")
    done(cluster.ctl("reshard", 6), "cluster has 6 shards")
    cluster.tables.wait_owners([6])
    assert [(n["node"], n["state"]) for n in nodes(cluster)] == [("node-a", "drained"), ("node-b", "live")]
    done(cluster.ctl("undrain", "node-a"))
    cluster.tables.wait_owners([3, 3])


@pytest.mark.slow
def test_asked_while_nobody_lives_the_next_node_does_it(cluster):
    node = cluster.node("node-a")
    cluster.tables.wait_owners([8])
    assert node.terminate() == 0

    done(cluster.ctl("reshard", 4), "no node is live: the first node that starts changes the number from 8 to 4 shards")
    assert shards(cluster)["change"]["shards"] == 4
    assert "A change from 8 to 4 shards is in progress" in done(cluster.ctl("shards")).stdout
    refused(cluster.ctl("reshard", 5), "a change from 8 to 4 shards is in progress")
    done(cluster.ctl("reshard", "cancel"), "withdrawn")
    refused(cluster.ctl("reshard", "cancel"), "no change")
    assert shards(cluster)["change"] is None
    done(cluster.ctl("reshard", 4))

    node.start()
    wait_until(lambda: number(cluster) == 4, 40, "the change")
    cluster.tables.wait_owners([4])
    assert "event=reshard from=8 to=4" in node.log_text()


def test_nothing_to_do(cluster):
    cluster.node("node-a")
    cluster.tables.wait_owners([8])
    wait_beats(cluster, 1)

    done(cluster.ctl("reshard", 8), "the cluster has 8 shards: nothing to do")
    assert shards(cluster)["change"] is None


@pytest.mark.slow
def test_change_that_cannot_be_is_given_up(pair):
    cluster, a, b = pair
    # A shard that nobody may have: its cursor stands where it stood.
    cluster.tables.execute("UPDATE shardwheel_cursor SET shard = 1000 WHERE shard = 7")

    refused(cluster.ctl("reshard", 4, "--wait", "20"), "not done within 20 s and cancelled", "still has 8 shards")

    assert number(cluster) == 8 and shards(cluster)["change"] is None
    # Once more, with nobody to withdraw it: the nodes give up by themselves and say why.
    cluster.tables.execute("UPDATE shardwheel_reshard SET shards = 4, tries = 5, last_s = UNIX_TIMESTAMP() - 10")
    wait_until(lambda: shards(cluster)["change"] is None, 30, "the wish to be removed")
    text = a.log_text() + b.log_text()
    assert "event=reshard_postponed" in text
    given_up = re.search(r"event=reshard_given_up from=8 to=4 tries=5 .*", text)
    assert given_up and "1 without a row" in given_up[0], text[-3000:]
    cluster.tables.execute("UPDATE shardwheel_cursor SET shard = 7 WHERE shard = 1000")
    cluster.tables.wait_owners([4, 4], 20)
    executor, from_s = load(cluster, [a, b], 20)
    executor.wait_arrivals(60, 15)
    to_s = int(time.time())
    settle(cluster, from_s, to_s)
    check(cluster, executor, from_s, to_s, 20)


@pytest.mark.slow
def test_silent_node_is_warned_of(pair):
    cluster, a, b = pair

    a.pause()
    try:
        wait_until(lambda: any(n["state"] == "silent" for n in nodes(cluster)), 20, "node-a to be silent")
        result = cluster.ctl("reshard", 6, "--wait", "90", seconds=120)
    finally:
        a.resume()
    assert "warning: node node-a has been silent" in done(result, "cluster has 6 shards").stderr
    cluster.tables.wait_owners([3, 3], 25)
