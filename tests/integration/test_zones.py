# SPDX-License-Identifier: MIT
"""The zones that all nodes of a cluster have in common: on record, compared at start, changed while no node runs."""
import os
import subprocess

import pytest

from harness.node import Node, binary, environment, options, run_shardwheel
from harness.process import free_ports, wait_until


def start_refused(world, keys, *words, zone="UTC"):
    """A start with these keys ends, and says these words."""
    command = [binary(), *options({"server.port": free_ports(), **world.keys(), **keys})]
    done = subprocess.run(command, capture_output=True, text=True, timeout=40, env={**environment(), "TZ": zone})
    assert done.returncode == 1, done.stderr
    for word in words:
        assert word in done.stderr, f"'{word}' is not in:\n{done.stderr}"


def on_record(world):
    return tuple(world.tables.rows("SELECT zone_database, zone_cron FROM shardwheel_cluster")[0].values())


def url(world, zone):
    return {"spring.datasource.url": world.server.jdbc_url(world.tables.database, zone)}


@pytest.mark.asan
def test_a_node_with_another_zone_refuses_to_start(cluster):
    first = cluster.node("node-a")
    assert on_record(cluster) == ("UTC", "UTC")

    start_refused(cluster, url(cluster, "Asia/Shanghai"), "the cluster's zone of DATETIME columns is UTC",
                  "this node's is Asia/Shanghai", "serverTimezone", "shardwheelctl set-zone database Asia/Shanghai")
    # The zone of the process counts where the URL names none: as in a container without TZ, the other way round.
    start_refused(cluster, url(cluster, "LOCAL"), "this node's is Asia/Shanghai", zone="Asia/Shanghai")
    start_refused(cluster, {"shardwheel.time-zone": "Europe/Berlin"}, "the cluster's zone of cron expressions is UTC",
                  "this node's is Europe/Berlin", "shardwheelctl set-zone cron Europe/Berlin")
    assert on_record(cluster) == ("UTC", "UTC")

    # Another name of the same zone is no other zone. That on record stays.
    second = cluster.node("node-b", {**url(cluster, "Etc/UTC"), "shardwheel.time-zone": "+00:00"})
    assert 'event=zone_synonym of=database node=Etc/UTC cluster=UTC' in second.log_text()
    assert on_record(cluster) == ("UTC", "UTC")
    cluster.tables.wait_owners([4, 4])
    executor = cluster.executor()
    job = cluster.tables.add_job(cluster.group(executor))
    executor.wait_runs(job)
    assert first.is_healthy()


def test_set_zone_when_no_node_runs(cluster):
    refused = cluster.ctl("set-zone", "database", "Asia/Shanghai")
    assert refused.returncode == 1 and "no shardwheel tables" in refused.stderr
    node = cluster.node("node-a")
    wait_until(lambda: cluster.tables.rows("SELECT 1 FROM shardwheel_node"), 15, "the node's row")
    refused = cluster.ctl("set-zone", "database", "Asia/Shanghai")
    assert refused.returncode == 1 and "node node-a is running" in refused.stderr, refused.stderr
    assert node.terminate() == 0

    done = cluster.ctl("set-zone", "database", "Asia/Shanghai")
    assert done.returncode == 0 and done.stdout == "zone of DATETIME columns: UTC -> Asia/Shanghai\n", done.stderr
    done = cluster.ctl("set-zone", "cron", "PRC")
    assert done.returncode == 0 and done.stdout == "zone of cron expressions: UTC -> PRC\n", done.stderr
    assert on_record(cluster) == ("Asia/Shanghai", "PRC")
    start_refused(cluster, {}, "is Asia/Shanghai, this node's is UTC")
    keys = {**url(cluster, "Asia/Shanghai"), "shardwheel.time-zone": "Asia/Shanghai"}
    assert cluster.node("node-b", keys).is_healthy()


@pytest.mark.parametrize("zone, words", [
    ("Asia/Shanghi", "Asia/Shanghi"), ("localtime", "depends on the machine"),
])
def test_set_zone_takes_zones_only(cluster, zone, words):
    assert cluster.node().terminate() == 0
    refused = cluster.ctl("set-zone", "cron", zone)
    assert refused.returncode == 1 and words in refused.stderr, refused.stderr
    assert on_record(cluster) == ("UTC", "UTC")


def test_set_zone_beside_the_data_of_a_standalone_node(tmp_path):
    data = str(tmp_path / "data")
    node = Node("alone", str(tmp_path), {}, ["standalone", "--data", data])
    node.start(40)
    refused = run_shardwheel(["ctl", "set-zone", "database", "Asia/Shanghai", "--data", data])
    assert refused.returncode == 1 and "data" in refused.stderr, refused.stderr
    assert node.terminate() == 0

    done = run_shardwheel(["ctl", "set-zone", "database", "Asia/Shanghai", "--data", data])
    assert done.returncode == 0, done.stderr
    assert not os.path.exists(os.path.join(data, "mysql.sock")), "the server of the command still runs"
    node.env = {**node.env, "TZ": "Asia/Shanghai"}
    node.command += ["--shardwheel.time-zone=UTC"]
    node.start(40)
    node.end_cleanly()
