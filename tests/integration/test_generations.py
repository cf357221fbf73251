# SPDX-License-Identifier: MIT
"""Each generation of the schema, on both kinds of servers: nodes start, fire and take the result."""
import pytest

import schemas
from harness.cluster import TOKEN
from harness.executors import callback_entry
from harness.jobs import DONE
from harness.process import wait_until


@pytest.mark.parametrize("family", schemas.FAMILIES)
@pytest.mark.parametrize("server", ["mariadb", "mysql8"])
def test_generation_boots_and_fires(request, make_world, zookeeper, server, family):
    world = make_world(request.getfixturevalue(server), zookeeper=zookeeper, family=family)
    latest = schemas.is_since(family, "3.5")
    executor = world.executor(paths=("/trigger",) if latest else ("/run",))
    group = world.group(executor, token="token of the group" if latest else None)
    job = world.tables.add_job(group, cron="* * * * * ?", executor_param="p")
    node = world.node()

    run = executor.wait_runs(job, 2)[0]
    if latest:
        assert run.headers["XXL-JOB-ACCESS-TOKEN"] == "token of the group"
        assert run.headers["XXL-JOB-APPNAME"] == "scripted"
        answer = node.post(
            "/api/callback", {"callbackList": [callback_entry(run.logId)]}, "token of the group",
            {"XXL-JOB-APPNAME": "scripted"},
        )
    else:
        assert run.headers["XXL-JOB-ACCESS-TOKEN"] == TOKEN
        answer = node.post("/api/callback", [callback_entry(run.logId)], TOKEN)

    assert answer.code == 200
    row = world.tables.wait_logs(job, DONE)[0]
    assert (row["id"], row["handle_msg"], row["executor_param"]) == (run.logId, "done", "p")
    beat = {"registryGroup": "EXECUTOR", "registryKey": "scripted", "registryValue": "http://10.9.8.7:9999/"}
    headers = {"XXL-JOB-APPNAME": "scripted"} if latest else {}
    for _ in range(2):
        assert node.post("/api/registry", beat, "token of the group" if latest else TOKEN, headers).code == 200
        wait_until(lambda: world.tables.value("SELECT COUNT(*) FROM xxl_job_registry"), 5, "the beat to be written")
    assert world.tables.value("SELECT COUNT(*) FROM xxl_job_registry") == 1
