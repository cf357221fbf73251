# SPDX-License-Identifier: MIT
"""Tokens, contexts, the registry, health and metrics."""
import http.client
import json
import time

import pytest

from harness.cluster import TOKEN
from harness.executors import callback_entry
from harness.process import wait_until

BEAT = {"registryGroup": "EXECUTOR", "registryKey": "beating", "registryValue": "http://10.9.8.7:9999/"}


@pytest.fixture(scope="module")
def admin(make_module_world, mariadb):
    world = make_module_world(mariadb)
    return world.tables, world.node()


@pytest.mark.asan
@pytest.mark.parametrize("method", ["registry", "registryRemove", "callback"])
@pytest.mark.parametrize("context", ["", "/xxl-job-admin"])
def test_token_is_wanted_for_every_call(admin, method, context):
    tables, node = admin
    log_id = tables.add_log()
    stranger = f"stranger of {context}/{method}"  # others have registered theirs in the end
    body = [callback_entry(log_id)] if method == "callback" else {**BEAT, "registryKey": stranger}
    path = f"{context}/api/{method}"

    for token in (None, "", "wrong", TOKEN + "x", TOKEN[:-1], TOKEN.upper()):
        answer = node.post(path, body, token)
        assert answer.status == 200
        assert answer.json["code"] == 500, f"token {token!r}"
        assert "token" in answer.json["msg"]
    assert tables.log(log_id)["handle_code"] == 0
    time.sleep(0.2)  # a heartbeat that was taken in is written by now
    assert not tables.rows("SELECT * FROM xxl_job_registry WHERE registry_key = %s", (stranger,))

    assert node.post(path, body, headers={"xxl-job-access-TOKEN": TOKEN}).code == 200


def test_without_a_configured_token_any_will_do(make_world, mariadb):
    node = make_world(mariadb).node(keys={"xxl.job.accessToken": ""})

    for token in (None, "", "any"):
        assert node.post("/api/registry", BEAT, token).code == 200


def test_tokens_of_groups_close_a_database_of_3_5(make_world, mariadb):
    world = make_world(mariadb, family="3.5")
    world.tables.add_group("own", token="own-token")
    world.tables.add_group("without")
    log_id, other_id = world.tables.add_log(), world.tables.add_log()
    node = world.node(keys={"xxl.job.accessToken": ""})
    own = {"XXL-JOB-APPNAME": "own", "XXL-JOB-ACCESS-TOKEN": "own-token"}

    for headers in ({}, {"XXL-JOB-ACCESS-TOKEN": "own-token"}, {**own, "XXL-JOB-APPNAME": "unknown"},
                    {**own, "XXL-JOB-APPNAME": "without"}, {**own, "XXL-JOB-ACCESS-TOKEN": "wrong"}):
        for method, body in (("registry", BEAT), ("callback", [callback_entry(log_id)])):
            answer = node.post(f"/api/{method}", body, headers=headers)
            assert answer.status == 200
            assert answer.json["code"] == 500 and "accessToken or appname" in answer.json["msg"], headers
    assert node.post("/api/callback", [callback_entry(other_id)], headers=own).code == 200
    assert world.tables.log(log_id)["handle_code"] == 0
    assert world.tables.log(other_id)["handle_code"] == 200
    assert not world.tables.rows("SELECT * FROM xxl_job_registry WHERE registry_value = %s", (BEAT["registryValue"],))
    assert "event=group_tokens_only" in node.log_text()


def test_own_context_path_is_served_too(make_world, mariadb):
    node = make_world(mariadb).node(keys={"server.servlet.context-path": "/jobs"})

    assert node.post("/jobs/api/registry", BEAT, TOKEN).code == 200
    assert node.post("/api/registry", BEAT, TOKEN).code == 200
    assert node.post("/xxl-job-admin/api/registry", BEAT, TOKEN).code == 200


def test_address_list_follows_the_beats(admin):
    tables, node = admin
    beating, silent = tables.add_group("beating"), tables.add_group("silent")
    second = {**BEAT, "registryValue": "http://10.9.8.10:9999/"}
    gone = {**BEAT, "registryValue": "http://10.9.8.11:9999/"}
    tables.execute("UPDATE xxl_job_group SET address_list = 'http://10.1.1.1:1/' WHERE id = %s", (silent,))
    tables.insert("xxl_job_registry", {
        "registry_group": "EXECUTOR", "registry_key": "silent", "registry_value": "http://10.1.1.1:1/",
        "update_time": "2024-01-01 00:00:00",
    })

    for beat in (BEAT, second, gone, BEAT):
        assert node.post("/api/registry", beat, TOKEN).code == 200
    assert node.post("/api/registryRemove", gone, TOKEN).code == 200

    def addresses(group):
        return tables.value("SELECT address_list FROM xxl_job_group WHERE id = %s", (group,))

    # Sorted as text: 10.9.8.10 comes before 10.9.8.7.
    wait_until(
        lambda: addresses(beating) == "http://10.9.8.10:9999/,http://10.9.8.7:9999/",
        45, "the two addresses in the list"
    )
    wait_until(lambda: addresses(silent) is None, 10, "the address that has stopped beating to be taken out")
    assert tables.value("SELECT COUNT(*) FROM xxl_job_registry WHERE registry_key = 'beating'") == 2
    assert not tables.rows("SELECT 1 FROM xxl_job_registry WHERE registry_key = 'silent'")


@pytest.mark.parametrize("missing", ["registryGroup", "registryKey", "registryValue"])
@pytest.mark.parametrize("method", ["registry", "registryRemove"])
def test_beat_with_a_blank_field_is_refused(admin, method, missing):
    tables, node = admin
    before = tables.value("SELECT COUNT(*) FROM xxl_job_registry")

    for value in (None, "", "  "):
        assert node.post(f"/api/{method}", {**BEAT, missing: value}, TOKEN).code == 500

    assert tables.value("SELECT COUNT(*) FROM xxl_job_registry") == before


@pytest.mark.asan
def test_what_is_no_call_is_answered_with_an_error(admin):
    _, node = admin

    assert node.get("/api/registry").json["code"] == 500
    assert node.post("/api/noSuchMethod", {}, TOKEN).json["code"] == 500
    assert node.get("/no/such/page").status == 404


def test_a_connection_carries_many_calls(admin):
    _, node = admin
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=5)
    connection.connect()
    first = connection.sock
    for _ in range(5):
        headers = {"XXL-JOB-ACCESS-TOKEN": TOKEN, "Connection": "keep-alive"}
        connection.request("POST", "/api/registry", json.dumps(BEAT), headers)
        answer = connection.getresponse()
        assert json.loads(answer.read())["code"] == 200
        assert connection.sock is first, "the server closed the connection after one answer"
    connection.close()


@pytest.mark.asan
def test_health_and_metrics(make_world, mariadb, zookeeper):
    world = make_world(mariadb, zookeeper=zookeeper)
    executor = world.executor()
    job = world.tables.add_job(world.group(executor))
    node = world.node()
    executor.wait_runs(job, 3)
    world.tables.wait_logs(job, "trigger_code = 200", 3)

    assert node.get("/actuator/health").json["status"] == "UP"
    assert node.get("/metrics").headers["Content-Type"].startswith("text/plain")
    metrics = node.metrics()
    assert all(name.startswith(("shardwheel_", "process_")) for name in metrics)
    assert metrics["shardwheel_db_up"] == metrics["shardwheel_coordination_up"] == metrics["shardwheel_nodes_live"] == 1
    for shard in range(8):
        assert metrics[f'shardwheel_shard_owned{{shard="{shard}"}}'] == 1
        assert metrics[f'shardwheel_shard_epoch{{shard="{shard}"}}'] >= 1
        assert metrics[f'shardwheel_shard_cursor_lag_seconds{{shard="{shard}"}}'] < 3
    assert metrics['shardwheel_fires_total{outcome="delivered"}'] >= 3
    assert metrics["shardwheel_fires_planned_total"] >= metrics['shardwheel_fires_total{outcome="delivered"}']
    assert metrics['shardwheel_fire_lateness_seconds_bucket{le="+Inf"}'] >= 3
    delivered = metrics['shardwheel_fires_total{outcome="delivered"}']
    wait_until(
        lambda: node.metrics()['shardwheel_fires_total{outcome="delivered"}'] > delivered,
        5, "the counter of fires to rise"
    )
