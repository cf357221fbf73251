# SPDX-License-Identifier: MIT
"""shardwheelctl: what it shows, what it moves, what it refuses."""
import json
import os
import subprocess
import time

import pytest

from harness.node import Node, binary, environment, options, run_shardwheel
from harness.process import wait_until

FAIR = [4, 4]


@pytest.fixture
def pair(cluster):
    """(cluster, node a, node b), four shards each."""
    a, b = cluster.node("node-a"), cluster.node("node-b")
    cluster.tables.wait_owners(FAIR)
    wait_until(lambda: sorted(n["owned"] for n in nodes(cluster)) == FAIR, 15, "both nodes to say what they own")
    return cluster, a, b


def done(result, *words):
    """It went well, and said so."""
    assert result.returncode == 0, f"status {result.returncode}\n{result.stdout}{result.stderr}"
    for word in words:
        assert word in result.stdout, f"'{word}' is not in:\n{result.stdout}"
    return result


def refused(result, *words, status=1):
    assert result.returncode == status, f"status {result.returncode}\n{result.stdout}{result.stderr}"
    for word in words:
        assert word in result.stderr, f"'{word}' is not in:\n{result.stderr}"
    return result


def shards(world):
    return json.loads(done(world.ctl("shards", "--json")).stdout)


def nodes(world):
    return json.loads(done(world.ctl("nodes", "--json")).stdout)


def node_named(world, name):
    found = [n for n in nodes(world) if n["node"] == name]
    assert len(found) == 1, found
    return found[0]


def wishes(world):
    return world.tables.rows("SELECT node, drain, release_shard FROM shardwheel_node ORDER BY node")


# What it shows


@pytest.mark.asan
def test_shards_and_nodes(pair):
    cluster, a, b = pair
    executor = cluster.executor()
    job = cluster.tables.add_job(cluster.group(executor))
    executor.wait_runs(job)

    seen = shards(cluster)
    assert (seen["shards"], seen["change"]) == (8, None)
    assert [row["shard"] for row in seen["rows"]] == list(range(8))
    assert sorted(row["owner"] for row in seen["rows"]) == ["node-a"] * 4 + ["node-b"] * 4
    for row in seen["rows"]:
        assert row["epoch"] >= 1 and 0 <= row["heldSeconds"] < 60 and -1 < row["cursorLagSeconds"] < 60, row
    assert seen["rows"][job % 8]["planned"] >= 2, seen

    for found, node in zip(nodes(cluster), (a, b)):
        assert (found["node"], found["state"], found["owned"], found["drain"]) == (node.name, "live", 4, False)
        assert found["url"].startswith("http://") and found["url"].endswith(f":{node.port}")
        assert 0 <= found["upSeconds"] < 60 and found["beatAgoSeconds"] < 60 and abs(found["clockAheadMs"]) < 60000
        assert len(found["incarnation"]) == 16 and found["version"]
        assert abs(node.metrics()["shardwheel_clock_difference_seconds"]) < 60

    table = done(cluster.ctl("shards")).stdout.splitlines()
    assert table[0].split() == ["SHARD", "OWNER", "EPOCH", "HELD", "LAG_S", "PLANNED", "OPEN_BEFORE"]
    assert len(table) == 9 and all(len(line.split()) == 7 for line in table)
    table = done(cluster.ctl("nodes"), "node-a", "node-b", "live").stdout.splitlines()
    assert len(table) == 3 and all(len(line.split()) == 9 for line in table)


def test_the_same_by_its_own_name_and_with_a_file(pair, tmp_path):
    cluster, a, b = pair
    path = tmp_path / "nodes.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in cluster.keys().items()))
    program = os.path.join(os.path.dirname(binary()), "shardwheelctl")

    result = subprocess.run([program, "nodes", "--config", str(path)], capture_output=True, text=True, timeout=20,
                            env=environment())

    done(result, "node-a", "node-b")
    usage = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=20, env=environment())
    done(usage, "usage: shardwheelctl", "reshard N")


@pytest.mark.asan
def test_where_nobody_lives_and_where_nobody_has_been(world):
    refused(world.ctl("shards"), "no shardwheel tables")
    done(run_shardwheel(["install-schema", *options(world.keys())]))
    done(world.ctl("shards"), "No node has used this database yet")
    assert shards(world) == {"shards": 0, "change": None, "rows": []}
    done(world.ctl("nodes"), "No node uses this database")
    assert nodes(world) == []
    refused(world.ctl("drain", "a"), 'no node "a"', "no other node")
    refused(world.ctl("release", "0"), "there are no shards")
    refused(world.ctl("reshard", "4"), "no node has used this database yet")

    node = world.node()
    world.tables.wait_owners([8])
    assert node.terminate() == 0
    assert nodes(world) == [], "a node that has ended leaves its row behind"
    seen = shards(world)
    assert len(seen["rows"]) == 8 and all(row["cursorLagSeconds"] >= 0 for row in seen["rows"])
    refused(world.ctl("release", "0"), "is not live")


def test_database_away(cluster):
    keys = {**cluster.keys(), "spring.datasource.url": "jdbc:mysql://127.0.0.1:1/nowhere"}
    refused(run_shardwheel(["ctl", "nodes", *options(keys)]), "shardwheelctl: database", "127.0.0.1")


def test_private_database_of_a_standalone_node(tmp_path):
    data = str(tmp_path / "data")
    node = Node("alone", str(tmp_path), {}, ["standalone", "--data", data])
    node.start(40)
    try:
        wait_until(lambda: "alone" in run_shardwheel(["ctl", "nodes", "--data", data]).stdout, 20, "the node's row")
        result = done(run_shardwheel(["ctl", "shards", "--data", data, "--json"]))
        assert len(json.loads(result.stdout)["rows"]) == 8
        refused(run_shardwheel(["ctl", "drain", "alone", "--data", data]), "no other live node")
    finally:
        node.end_cleanly()
    refused(run_shardwheel(["ctl", "nodes", "--data", data]), "mysql.sock")


# Wrong usage


@pytest.mark.parametrize("arguments", [[], ["show"], ["drain"], ["reshard", "0"], ["reshard", "1025"], ["release", "x"],
                                       ["nodes", "--wait", "3"], ["nodes", "--shardwheel.shrads=3"]])
def test_wrong_usage(cluster, arguments):
    refused(cluster.ctl(*arguments), "shardwheelctl: command line: ", status=2)


def test_settings_without_a_database():
    refused(run_shardwheel(["ctl", "nodes"]), "spring.datasource.url is not set", status=2)


# Drain


@pytest.mark.slow
@pytest.mark.asan
def test_drain_and_undrain(pair):
    cluster, a, b = pair

    done(cluster.ctl("drain", "node-a"), "node node-a: drain requested, owns 4 shards", "node node-a: drained")
    cluster.tables.wait_owners([8], 15)
    assert list(cluster.tables.owners()) == ["node-b"]
    assert (node_named(cluster, "node-a")["state"], node_named(cluster, "node-a")["owned"]) == ("drained", 0)
    assert a.is_healthy()
    done(cluster.ctl("drain", "node-a"), "drained")  # again
    # The last one that takes part is not drained by mistake: node-a lives, but takes nothing.
    refused(cluster.ctl("drain", "node-b"), "no other live node", "--force")
    assert [row["drain"] for row in wishes(cluster)] == [1, 0]

    done(cluster.ctl("undrain", "node-a"), "can own shards again")
    cluster.tables.wait_owners(FAIR, 15)
    done(cluster.ctl("undrain", "node-a"), "not drained")


@pytest.mark.slow
def test_drained_by_force_nothing_fires_and_nothing_is_lost(cluster):
    node = cluster.node("node-a")
    cluster.tables.wait_owners([8])
    executor = cluster.executor()
    job, due = cluster.tables.add_single_fire(cluster.group(executor), 10)

    refused(cluster.ctl("drain", "node-a"), "no other live node can take the shards of node-a")
    done(cluster.ctl("drain", "node-a", "--force"), "drained")
    wait_until(lambda: time.time() > due + 2, due + 4 - time.time(), "the due second to pass")
    assert not executor.runs(job)
    done(cluster.ctl("undrain", "node-a"))
    executor.wait_runs(job)
    assert node.is_healthy()


def test_unknown_and_ambiguous_names_change_nothing(pair):
    cluster, a, b = pair
    before = wishes(cluster)

    refused(cluster.ctl("drain", "node-x"), 'there is no node "node-x"; there are: node-a (', "node-b (")
    refused(cluster.ctl("undrain", "x"), 'there is no node "x"')
    refused(cluster.ctl("drain", "node-"), '"node-" can mean: node-a (', "node-b (")
    refused(cluster.ctl("drain", ""), 'there is no node ""')

    assert wishes(cluster) == before
    # By its incarnation, or the beginning of it.
    done(cluster.ctl("undrain", node_named(cluster, "node-b")["incarnation"]), "node node-b")


@pytest.mark.slow
def test_node_that_was_killed_is_silent(pair):
    cluster, a, b = pair

    a.kill()
    wait_until(lambda: node_named(cluster, "node-a")["state"] == "silent", 20, "node-a to be silent")
    refused(cluster.ctl("drain", "node-a"), "node node-a is silent", "cannot see the request")
    refused(cluster.ctl("drain", "node-b"), "no other live node")
    # Under its old name it comes back as another run: the name means that.
    cluster.tables.wait_owners([8])
    a.start()
    cluster.tables.wait_owners(FAIR, 20)
    assert sorted(n["state"] for n in nodes(cluster) if n["node"] == "node-a") == ["live", "silent"]
    done(cluster.ctl("drain", "node-a"), "drained")


def test_drain_that_does_not_come_to_an_end_is_told(pair):
    cluster, a, b = pair

    a.pause()
    try:
        refused(cluster.ctl("drain", "node-a", "--wait", "1"), "still owns 4 shards after 1 s", "undrain")
    finally:
        a.resume()


# Release


@pytest.mark.asan
def test_release_moves_one_shard(pair):
    cluster, a, b = pair
    before = shards(cluster)["rows"][3]

    done(cluster.ctl("release", "3"), f"shard 3: release requested from node {before['owner']}",
         "shard 3: owned by node ")

    after = shards(cluster)["rows"][3]
    assert {before["owner"], after["owner"]} == {"node-a", "node-b"} and after["epoch"] > before["epoch"]
    cluster.tables.wait_owners(FAIR)
    wait_until(lambda: all(row["release_shard"] == -1 for row in wishes(cluster)), 15, "the wish to be taken")


def test_release_that_cannot_be(pair):
    cluster, a, b = pair

    refused(cluster.ctl("release", "8"), "there is no shard 8", "0 to 7")
    owner = a if shards(cluster)["rows"][0]["owner"] == "node-a" else b
    owner.pause()
    try:
        refused(cluster.ctl("release", "0", "--wait", "1"), "still owned by node " + owner.name)
    finally:
        owner.resume()
    assert all(row["release_shard"] == -1 for row in wishes(cluster)), "the wish stands although it was given up"
    cluster.tables.execute("UPDATE shardwheel_shard SET owner = '' WHERE shard = 5")
    refused(cluster.ctl("release", "5"), "shard 5 has no owner")


def test_release_with_nobody_to_take_it(cluster):
    cluster.node("node-a")
    cluster.tables.wait_owners([8])
    wait_until(lambda: nodes(cluster), 15, "the node's row")

    refused(cluster.ctl("release", "3"), "no other live node can take shard 3")
