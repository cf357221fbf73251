# SPDX-License-Identifier: MIT
"""Jobs by api/v1 on a running node; and what starts, stops and edits do while the jobs fire."""
import random
import threading
import time

import pytest

from harness.job_changes import JobChanges, V1
from harness.process import wait_until


@pytest.fixture(scope="module")
def site(make_module_world, mariadb):
    """(world, node, calls of api/v1, executor, its group)"""
    world = make_module_world(mariadb)
    executor = world.executor()
    group = world.group(executor)
    node = world.node()
    api = V1(lambda: [node])
    return world, node, lambda *call, **more: api.call(node, *call, **more), executor, group


def new_job(call, group, **members):
    answer = call("POST", "/jobs", {"jobGroup": group, "name": "n", "author": "a", "executorHandler": "h", **members})
    assert answer.status == 201, answer.text
    return answer


def test_a_job_is_made_changed_fired_and_removed(site):
    world, _, call, executor, group = site
    answer = new_job(call, group, scheduleType="CRON", scheduleConf="* * * * * ?", settings={
        "timeZone": "Asia/Tokyo", "tags": ["x", "y"], "retryWaitSeconds": 5, "validFrom": "2020-01-01T00:00:00.000Z"})
    job = answer.json
    assert answer.headers["Location"] == f"/api/v1/jobs/{job['id']}"
    assert (job["running"], job["settings"]["tags"], job["settings"]["validFrom"], job["lastRun"]) == (
        False, ["x", "y"], "2020-01-01T00:00:00.000Z", None)

    path = f"/jobs/{job['id']}"
    tag = call("GET", path).headers["ETag"]
    assert tag == answer.headers["ETag"]
    changed = call("PATCH", path, {"name": "other", "settings": {"tags": None}}, {"If-Match": tag})
    assert changed.status == 200 and changed.json["name"] == "other" and changed.json["settings"]["tags"] == []
    assert changed.json["settings"]["timeZone"] == "Asia/Tokyo"
    assert call("PATCH", path, {"name": "third"}, {"If-Match": tag}).status == 412
    assert call("DELETE", path, None, {"If-Match": tag}).status == 412

    started = call("POST", path + "/start")
    assert started.status == 200 and started.json["running"] and started.json["nextFireAt"]
    executor.wait_runs(job["id"], 2)
    assert call("GET", path).headers["ETag"] == started.headers["ETag"], "fires are no changes"
    assert call("POST", path + "/stop").json["running"] is False
    wait_until(lambda: call("GET", "/jobs?tag=x&name=oth&limit=1").status == 200, 5, "a list")
    fired = call("POST", path + "/trigger", {"executorParam": "by hand"})
    assert fired.status == 202 and len(fired.json["runs"]) == 1
    wait_until(lambda: "by hand" in [run.json.get("executorParams") for run in executor.runs(job["id"])], 10, "the run")
    wait_until(lambda: call("GET", path).json["lastRun"]["id"] == fired.json["runs"][0], 10, "it to be the last run")
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 3600))
    later = call("POST", path + "/trigger", {"at": at}).json["later"]
    assert [(row["id"], row["dueAt"]) for row in call("GET", path + "/later").json["items"]] == [(later, at)]
    assert call("DELETE", f"{path}/later/{later}").status == 204
    assert call("DELETE", f"{path}/later/{later}").status == 404
    assert call("DELETE", path).status == 204
    assert call("GET", path).status == call("POST", path + "/stop").status == 404
    assert world.tables.value("SELECT COUNT(*) FROM xxl_job_log WHERE job_id = %s", (job["id"],)) == 0


def test_what_is_wrong_is_named(site):
    _, _, call, _, group = site
    job = {"jobGroup": group, "name": "n", "author": "a", "executorHandler": "h"}
    for change, field in (({"name": None}, "name"), ({"name": ""}, "name"), ({"jobGroup": 9999}, "jobGroup"),
                          ({"nosuch": 1}, "nosuch"), ({"scheduleType": "CRON", "scheduleConf": "x"}, "scheduleConf"),
                          ({"executorTimeout": -1}, "executorTimeout"), ({"author": "x" * 65}, "author"),
                          ({"settings": {"timeZone": "Mars/X"}}, "timeZone"), ({"childJobId": "99999"}, "childJobId"),
                          ({"settings": {"fixedDelaySeconds": 5}, "scheduleConf": "6"}, "fixedDelaySeconds")):
        answer = call("POST", "/jobs", {**job, **change})
        assert (answer.status, answer.json.get("field")) == (400, field), f"{change}: {answer.text}"
    assert call("GET", "/jobs?nosuch=1").json["field"] == "nosuch"
    verdict = call("POST", "/schedule/validate", {"scheduleType": "CRON", "scheduleConf": "0 0 25 * * ?"}).json
    assert (verdict["ok"], verdict["position"], verdict["length"]) == (False, 4, 2)
    assert len(call("POST", "/schedule/next", {"scheduleType": "CRON", "scheduleConf": "0 0 3 * * ?", "count": 7,
                                               "zone": "Asia/Tokyo"}).json["items"]) == 7
    none = new_job(call, group).json
    assert call("POST", f"/jobs/{none['id']}/start").status == 409


def test_pages_go_on_where_they_ended(site):
    _, _, call, _, group = site
    made = [new_job(call, group, name="paged").json["id"] for _ in range(5)]
    found, after = [], ""
    while after is not None:
        page = call("GET", f"/jobs?name=paged&limit=2&count=true{after}").json
        assert page["total"] == 5 and page["totalIsEstimate"] is False
        found += [job["id"] for job in page["items"]]
        after = page["next"] and "&after=" + page["next"]
    assert found == made[::-1]


def test_a_job_made_running_without_a_next_time_begins_with_the_present(site):
    world, _, call, executor, group = site
    made = [world.tables.add_job(group, trigger_next_time=0, misfire_strategy=misfire)
            for misfire in ("DO_NOTHING", "FIRE_ONCE_NOW")]
    for job in made:
        executor.wait_runs(job, 3)
        dues = [run.logDateTime // 1000 for run in executor.runs(job)]
        dues = dues[1:] if job == made[1] else dues  # the misfire itself
        assert dues == list(range(dues[0], dues[0] + len(dues))), dues
        assert not world.tables.rows("SELECT id FROM xxl_job_log WHERE job_id = %s AND trigger_msg LIKE '<!--sw:s%%'",
                                     (job,))
        world.tables.stop_job(job)


def test_changes_hold_while_the_jobs_fire(site):
    """Stops, starts and edits at random, by three people at once; the fault suite has it with nodes that die."""
    world, node, *_ = site
    changes = [JobChanges(world, lambda: [node], 4, random.Random(seed)) for seed in range(3)]
    for each in changes:
        each.begin(pause_s=0.8)
    threading.Event().wait(17)  # as long as it takes for some to begin, fire and be stopped
    for each in changes:
        each.end()
    for each in changes:
        each.wait_over()
    counts = [each.audit() for each in changes]
    assert sum(each["looked at"] for each in counts) > 5, counts
    assert not any(each["late after a start"] for each in counts), counts  # that takes a node that died
