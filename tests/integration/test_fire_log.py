# SPDX-License-Identifier: MIT
"""The log at debug: the way of each fire by its log id, through all areas; levels and format on a node that runs."""
import json
import signal

import pytest

from harness.executors import Reply, callback_entry
from harness.process import free_ports, wait_until

AREAS = "schedule=debug,dispatch=debug,record=debug,follow=debug"
SENT = ["fire_taken", "fire_sent", "fire_answered"]


def lines(node):
    """All are JSON; what another program of the process wrote would not be."""
    return [json.loads(line) for line in node.log_text().splitlines()]


def way(nodes, log_id):
    """Events of that fire in the order of their times: [(node, line)]."""
    found = [(line["time"], i, node.name, line) for node in nodes for i, line in enumerate(lines(node))
             if line.get("log_id") == log_id]
    return [(name, line) for _, _, name, line in sorted(found, key=lambda f: f[:2])]


def events(steps):
    return [line["event"] for _, line in steps]


@pytest.fixture
def nodes(cluster):
    keys = {"shardwheel.log.format": "json", "shardwheel.log.levels": AREAS,
            "shardwheel.zookeeper.session-timeout": "2s"}
    a = cluster.node("node-a", keys)
    b = cluster.node("node-b", keys)
    cluster.tables.wait_owners([4, 4])
    return a, b


def test_way_of_a_fire(cluster, nodes):
    a, b = nodes
    executor = cluster.executor()
    executor.replies = {"failHandler": Reply(body=b'{"code":500,"msg":"no"}')}
    group = cluster.group(executor)
    good, _ = cluster.tables.add_single_fire(group, 3, "goodHandler")
    bad, _ = cluster.tables.add_single_fire(group, 3, "failHandler", executor_fail_retry_count=1)
    often = [cluster.tables.add_job(group, "goodHandler") for _ in range(16)]

    log_id = executor.wait_runs(good)[0].logId
    wait_until(lambda: "fire_answered" in events(way(nodes, log_id)), 10, "its answer to be read")
    assert b.post("/api/callback", [callback_entry(log_id)], token="default_token").code == 200
    wait_until(lambda: {"callback_written", "result_written"} <= set(events(way(nodes, log_id))), 10, "its end")
    steps = way(nodes, log_id)
    assert events(steps)[:5] == ["fire_planned", "fire_handed_over", *SENT]
    assert sorted(events(steps)[5:]) == ["callback_taken", "callback_written", "result_written"]
    assert events(steps).index("callback_taken") < events(steps).index("callback_written")
    assert {line["job"] for _, line in steps if "job" in line} == {good}
    sent = next(line for _, line in steps if line["event"] == "fire_sent")
    assert sent["address"] == executor.address and sent["area"] == "dispatch" and sent["level"] == "debug"

    failed, again = (run.logId for run in executor.wait_runs(bad, 2, 20))
    assert events(way(nodes, failed)) == [
        "fire_planned", "fire_handed_over", *SENT, "result_written", "failure_followed"]
    followed = way(nodes, failed)[-1][1]
    assert followed["retry_log_id"] == again and followed["area"] == "follow"
    wait_until(lambda: "failure_followed" in events(way(nodes, again)), 20, "the end of the retry")
    assert events(way(nodes, again)) == ["fire_direct", *SENT, "result_written", "failure_followed"]
    assert way(nodes, again)[0][1]["kind"] == "retry" and way(nodes, again)[-1][1]["retry_log_id"] == 0

    executor.wait_runs(often[0], 2)
    a.kill()

    def taken_over():
        return [line["log_id"] for line in lines(b) if line.get("event") == "fire_taken_over"]
    wait_until(taken_over, 20, "planned fires to be taken over")
    moved = taken_over()[-1]
    wait_until(lambda: "result_written" in events(way(nodes, moved)), 10, "its end")
    steps = [(name, line["event"]) for name, line in way(nodes, moved)]
    assert steps[:2] == [("node-a", "fire_planned"), ("node-b", "fire_taken_over")]
    assert steps[2:] == [("node-b", event) for event in ("fire_handed_over", *SENT, "result_written")]


def test_levels_and_format_are_reloaded(world, tmp_path):
    path, port = tmp_path / "a.properties", free_ports()
    keys = {"server.port": port, **world.keys()}

    def write(more):
        path.write_text("".join(f"{key}={value}\n" for key, value in {**keys, **more}.items()))

    def reload(event):
        node.signal(signal.SIGHUP)
        wait_until(lambda: event in node.log_text(), 10, event)

    write({})
    node = world.node_from_file(path, port)
    executor = world.executor()
    job = world.tables.add_job(world.group(executor))
    executor.wait_runs(job, 2)
    assert "level=debug" not in node.log_text()

    write({"shardwheel.log.levels": "dispatch=debug", "shardwheel.log.format": "json"})
    reload('"event":"reloaded"')
    wait_until(lambda: '"event":"fire_sent"' in node.log_text(), 10, "a fire in the log")
    assert "fire_planned" not in node.log_text()

    write({"shardwheel.log.levels": "scheduler=debug"})
    reload('"event":"reload_refused"')
    refused = json.loads([line for line in node.log_text().splitlines() if "reload_refused" in line][-1])
    assert 'there is no area "scheduler"; there are main, admin, alarm' in refused["error"]
    assert refused["level"] == "error" and refused["area"] == "config"
