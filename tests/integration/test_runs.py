# SPDX-License-Identifier: MIT
"""Runs through api/v1 and the console of 2.x on a node with an executor: lists, logs, stop, clear; GLUE and its switch.

What is found by which filter, and what each dialect answers, is in unit tests."""
import pytest

from harness.cluster import TOKEN
from harness.executors import Reply, callback_entry
from harness.process import wait_until
from harness.v1 import Api, add_token, add_user

PATHS = ("/run", "/kill", "/log", "/beat")


class Site:
    def __init__(self, world, **keys):
        self.world, self.tables = world, world.tables
        self.executor = world.executor(paths=PATHS)
        self.group = world.group(self.executor)
        self.other_group = world.group(app_name="not-ours")
        self.node = world.node(keys=keys)
        admin = add_user(self.tables, "runs-admin", role=1)
        user = add_user(self.tables, "runs-user", groups=[self.group])
        runner = add_user(self.tables, "runs-runner", own_role="runner", groups=[self.group])
        self.admin, self.user, self.runner = (Api(self.node, add_token(self.tables, u)) for u in (admin, user, runner))
        self.reader = Api(self.node, add_token(self.tables, user, scopes="read"))

    def start_run(self, **columns):
        """A run that the executor has: its id, and that of its job."""
        job, _ = self.tables.add_single_fire(self.group, 2, **columns)
        self.executor.wait_runs(job)
        return self.tables.wait_logs(job, "trigger_code = 200")[0]["id"], job


@pytest.fixture(scope="module")
def site(make_module_world, mariadb):
    return Site(make_module_world(mariadb))


def page(content, to_line, end=False):
    lines = {"fromLineNum": 1, "toLineNum": to_line, "logContent": content, "isEnd": end}
    return Reply({"code": 200, "content": lines})


@pytest.mark.asan
def test_runs_are_listed_page_by_page(site):
    ids = [site.tables.add_log(job_id=1000 + n % 2, job_group=site.group, handle_code=200 if n else 500,
                               handle_msg="<!--sw:l-->the executor left" if not n else "fine") for n in range(5)]
    foreign = site.tables.add_log(job_id=1000, job_group=site.other_group, handle_code=200)

    first = site.admin.good("GET", "/runs?jobId=1000&limit=2&count=true")
    assert (first["total"], first["totalIsEstimate"]) == (4, False)
    rest = site.admin.good("GET", f"/runs?jobId=1000&limit=2&after={first['next']}")
    assert [run["id"] for run in first["items"] + rest["items"]] == sorted(ids[::2] + [foreign], reverse=True)
    assert rest["next"] is None and "incomplete" not in rest
    mine = site.user.good("GET", "/runs?jobId=1000")["items"]
    assert [run["id"] for run in mine] == sorted(ids[::2], reverse=True)
    site.user.refused("GET", f"/runs?jobGroup={site.other_group}", status=403, kind="forbidden")
    site.user.refused("GET", f"/runs/{foreign}", status=403, kind="forbidden")

    lost = site.admin.good("GET", "/runs?jobId=1000&result=lost,failed")["items"]
    assert [(run["id"], run["state"]) for run in lost] == [(ids[0], "lost")]
    assert lost[0]["handleMsg"] == "the executor left"
    assert lost[0]["sentence"] == "An executor accepted it and will not report a result: the executor left"
    assert site.admin.good("GET", "/runs?text=nowhere%25&jobId=1000") == {"items": [], "next": None}
    site.admin.refused("GET", "/runs?result=nice", kind="invalid", field="result")
    site.admin.refused("GET", "/runs?after=xxxxxxxxxx", kind="invalid", field="after")
    site.admin.refused("GET", "/runs?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", kind="invalid", field="to")
    site.admin.refused("GET", "/runs/999999999", status=404, kind="unknown")


def test_the_newest_runs_of_jobs_are_one_call(site):
    """What a row of ticks is made of, with the names that a list of runs has."""
    tables = site.tables
    jobs = [tables.add_job(site.group, next_in=3600) for _ in range(2)]
    foreign = tables.add_job(site.other_group, next_in=3600)
    ok = [tables.add_log(job_id=jobs[0], job_group=site.group, handle_code=200) for _ in range(3)]
    failed = tables.add_log(
        job_id=jobs[0], job_group=site.group, trigger_code=500, handle_code=0,
        trigger_msg="<!--sw:p:1700000010:1:O1700000000-->kind: cron<br>reason: connection refused"
        "<br><br><span>sent again</span><br>as log 9<!--sw:r:9-->")
    skipped = tables.add_log(job_id=foreign, job_group=site.other_group, trigger_code=500,
                             trigger_msg="<!--sw:s:4-->4 due times skipped")

    recent = site.admin.good("GET", f"/jobs/recent?ids={foreign},{jobs[1]},{jobs[0]}&limit=3")
    assert recent["complete"]
    assert [item["jobId"] for item in recent["items"]] == [foreign, jobs[1], jobs[0]]
    job = site.admin.good("GET", f"/jobs/{jobs[1]}")
    assert recent["items"][1] == {"jobId": jobs[1], "running": True, "nextFireAt": job["nextFireAt"],
                                  "meanDurationSeconds": None, "runs": []}
    site.admin.good("POST", f"/jobs/{jobs[1]}/stop", status=200)
    stopped = site.admin.good("GET", f"/jobs/recent?ids={jobs[1]}")["items"][0]
    assert (stopped["running"], stopped["nextFireAt"]) == (False, None)
    assert [(run["id"], run["state"], run["skipped"]) for run in recent["items"][0]["runs"]] == [
        (skipped, "skipped", 4)]
    runs = recent["items"][2]["runs"]
    assert [run["id"] for run in runs] == [failed, ok[2], ok[1]]
    assert runs[0]["outcome"] == {"code": "undelivered", "reason": "connection refused"}
    assert (runs[0]["retryRunId"], runs[0]["lateSeconds"], runs[0]["trigger"]) == (9, 10, "cron")
    mine = site.user.good("GET", f"/jobs/recent?ids={foreign},{jobs[0]},{jobs[0]}")["items"]
    assert [(item["jobId"], len(item["runs"])) for item in mine] == [(jobs[0], 4)]
    site.admin.refused("GET", "/jobs/recent", kind="required", field="ids")
    site.admin.refused("GET", "/jobs/recent?ids=1,,2", kind="invalid", field="ids")

    last = {job["id"]: job["lastRun"]["result"] for job in site.admin.good("GET", "/jobs")["items"] if job["lastRun"]}
    assert (last[jobs[0]], last[foreign]) == ("failed", "skipped")
    run = site.admin.good("GET", f"/runs/{failed}")
    job = site.admin.good("GET", f"/jobs/{jobs[0]}")
    group = site.admin.good("GET", f"/groups/{site.group}")
    assert (run["jobName"], run["groupTitle"], run["appname"]) == (job["name"], group["title"], group["appname"])
    tables.execute("DELETE FROM xxl_job_info WHERE id = %s", (jobs[0],))
    assert site.admin.good("GET", f"/runs?jobId={jobs[0]}")["items"][0]["jobName"] is None


def test_runs_that_belong_together_are_linked(site):
    tables = site.tables
    child = tables.add_job(site.group, next_in=3600)
    foreign = tables.add_job(site.other_group, next_in=3600)
    parent = tables.add_job(site.group, next_in=3600, child_jobid=f"{foreign}, {child}")

    def add(job, group, **columns):
        return tables.add_log(job_id=job, job_group=group, **columns)

    parent_run = add(parent, site.group, handle_code=200)
    child_run = add(child, site.group, trigger_code=500, trigger_msg="<!--sw:d:abc:1700000000:P:G1-->failed")
    foreign_run = add(foreign, site.other_group, trigger_msg="<!--sw:d:abc:1700000000:P:G1-->")
    retry = add(child, site.group, trigger_msg="<!--sw:d:abc:1700000001:R:G1-->")
    tables.execute("UPDATE xxl_job_log SET handle_msg = %s WHERE id = %s", (
        f"fine<br>1/2: job {foreign} triggered as log {foreign_run}<br>2/2: job {child} triggered as log {child_run}",
        parent_run))
    tables.execute("UPDATE xxl_job_log SET trigger_msg = CONCAT(trigger_msg, %s) WHERE id = %s", (
        f"<!--sw:r:{retry}-->", child_run))

    def links(run, who=site.admin):
        found = who.good("GET", f"/runs/{run}/links")
        assert found.pop("complete")
        found["children"] = [item["id"] for item in found["children"]]
        return {name: value["id"] if isinstance(value, dict) else value for name, value in found.items() if value}

    assert links(parent_run) == {"children": [foreign_run, child_run]}
    assert links(parent_run, site.user) == {"children": [child_run]}
    assert links(child_run) == {"parent": parent_run, "retry": retry}
    assert links(retry) == {"retryOf": child_run}
    shown = site.admin.good("GET", f"/runs/{retry}/links")["retryOf"]
    assert shown == {"id": child_run, "jobId": child, "state": "failed",
                     "jobName": site.admin.good("GET", f"/jobs/{child}")["name"]}
    site.user.refused("GET", f"/runs/{foreign_run}/links", status=403, kind="forbidden")


def test_executors_tell_what_they_do(site):
    """By rows of the log; and one address is asked whether somebody is there."""
    address = site.executor.address
    for state in ({"trigger_code": 200}, {"trigger_code": 200}, {"trigger_code": 500}):
        site.tables.add_log(job_id=7000, job_group=site.group, executor_address=address, **state)
    site.tables.add_log(job_id=7000, job_group=site.other_group, executor_address=address)

    def executor():
        items = site.reader.good("GET", f"/groups/{site.group}/executors")["items"]
        return next(item for item in items if item["address"] == address)

    wait_until(lambda: executor()["failuresHour"], 15, "the rows to be counted")
    assert executor()["runsUnderWay"] >= 2 and executor()["lastFailureAt"]

    def check(address, **more):
        return site.admin.good("POST", "/groups/check-address", {"address": address, **more})

    site.executor.replies["/beat"] = Reply({"code": 200})
    there = check(address, jobGroup=site.group)
    assert (there["ok"], there["code"]) == (True, "answered")
    site.executor.replies["/beat"] = Reply({"code": 500, "msg": "The access token is wrong."})
    assert {k: v for k, v in check(address).items() if k != "milliseconds"} == {
        "ok": False, "code": "refused", "detail": "The access token is wrong."}
    stranger = check(site.node.url)
    assert (stranger["code"], stranger["detail"]) == ("no-executor", None)
    assert check("http://127.0.0.1:9/")["code"] == "unreachable"
    site.admin.refused("POST", "/groups/check-address", {"address": "http://169.254.169.254/"}, kind="invalid",
                       field="address")
    site.admin.refused("POST", "/groups/check-address", {"address": "file:///etc"}, kind="invalid", field="address")
    site.user.refused("POST", "/groups/check-address", {"address": address}, status=403, kind="forbidden")


def test_a_list_of_groups_has_figures(site):
    """Who beats, jobs and runs of several groups in one call."""
    site.tables.add_job(site.group, next_in=3600)
    empty = site.tables.add_group("grp-of-none", ["http://127.0.0.1:1/", "http://127.0.0.1:2/"])
    site.tables.add_log(job_id=7001, job_group=site.group, trigger_code=500)
    for at, age in (("http://one/", 5), ("http://two/", 20), ("http://gone/", 300)):
        site.tables.execute("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) "
                            "VALUES ('EXECUTOR', 'scripted', %s, NOW() - INTERVAL %s SECOND)", (at, age))

    def figures(api, ids):
        return api.good("GET", f"/groups/figures?ids={ids}")["items"]

    def is_counted():
        mine = figures(site.reader, site.group)[0]
        return mine["failuresHour"] and mine["jobsRunning"]

    wait_until(is_counted, 15, "the rows to be counted")
    wait_until(lambda: len(figures(site.admin, empty)) == 1, 15, "the group to be read")
    both = figures(site.admin, f"{empty},{site.group},{empty},999999")
    assert [item["id"] for item in both] == [empty, site.group]
    assert {k: v for k, v in both[0].items() if k != "id"} == {
        "online": 0, "lastBeat": None, "listed": 2, "jobs": 0, "jobsRunning": 0, "runsUnderWay": 0,
        "failuresHour": 0, "lastFailureAt": None}
    assert both[1]["jobs"] >= both[1]["jobsRunning"] >= 1 and both[1]["lastFailureAt"]
    assert (both[1]["online"], both[1]["listed"]) == (2, 1) and both[1]["lastBeat"]
    assert figures(site.user, f"{site.other_group},{site.group}")[0]["id"] == site.group
    site.admin.refused("GET", "/groups/figures", kind="required", field="ids")
    site.admin.refused("GET", "/groups/figures?ids=1,x", kind="invalid", field="ids")


def test_a_log_is_followed_to_its_end(site):
    log_id, job = site.start_run()
    run = site.admin.good("GET", f"/runs/{log_id}")
    assert (run["state"], run["trigger"], run["jobId"]) == ("running", "cron", job)
    assert "sw:" not in run["triggerMsg"]

    site.executor.replies["/log"] = page("<b>one</b>\r\ntwo\n", 2)
    assert site.reader.good("GET", f"/runs/{log_id}/log") == {
        "fromLine": 1, "lines": ["<b>one</b>", "two"], "nextLine": 3, "ended": False, "reason": None, "trouble": None,
        "source": "executor", "keptAt": None, "isCut": False}
    site.executor.replies["/log"] = page("", 2, end=True)
    assert not site.admin.good("GET", f"/runs/{log_id}/log?fromLine=3")["ended"]  # the run goes on
    site.executor.replies["/log"] = page("readLog fail, logFile not exists", 0, end=True)
    waits = site.admin.good("GET", f"/runs/{log_id}/log?fromLine=3")
    assert (waits["ended"], waits["trouble"]) == (False, "readLog fail, logFile not exists")

    assert site.node.post("/api/callback", [callback_entry(log_id)], TOKEN).code == 200
    gone = site.admin.good("GET", f"/runs/{log_id}/log?fromLine=3")
    assert (gone["ended"], gone["reason"], gone["lines"]) == (True, "no-file", [])
    site.executor.replies["/log"] = page("", 2, end=False)
    assert site.admin.good("GET", f"/runs/{log_id}/log?fromLine=3")["reason"] == "end"
    failed = site.tables.add_log(job_id=job, job_group=site.group, trigger_code=500)
    assert site.admin.good("GET", f"/runs/{failed}/log")["reason"] == "never-sent"
    elsewhere = site.tables.add_log(job_id=job, job_group=site.group, executor_address="http://127.0.0.1:9/")
    unlisted = site.admin.good("GET", f"/runs/{elsewhere}/log")
    assert (unlisted["ended"], unlisted["reason"]) == (True, "no-executor") and unlisted["trouble"]
    site.executor.replies["/log"] = Reply({"code": 500, "msg": "The access token is wrong."})
    refuses = site.admin.good("GET", f"/runs/{log_id}/log")
    assert refuses["reason"] == "no-executor" and "The access token is wrong." in refuses["trouble"]


def test_a_run_is_stopped_once(site):
    log_id, _ = site.start_run()
    site.executor.replies["/kill"] = Reply({"code": 500, "msg": "Task kill err"})
    problem = site.runner.refused("POST", f"/runs/{log_id}/kill", status=502, kind="executor").json
    assert problem["detail"] == "Task kill err" and site.tables.log(log_id)["handle_code"] == 0
    site.reader.refused("POST", f"/runs/{log_id}/kill", status=403, kind="forbidden")

    site.executor.replies["/kill"] = Reply({"code": 200, "msg": "Success"})
    assert site.runner.good("POST", f"/runs/{log_id}/kill") == {"executorMessage": "Success"}
    row = site.tables.log(log_id)
    assert (row["handle_code"], row["handle_msg"]) == (500, "killed by hand (runs-runner): Success")
    asked = len([r for r in site.executor.requests if r.path == "/kill"])
    site.runner.refused("POST", f"/runs/{log_id}/kill", status=409, kind="state")
    assert len([r for r in site.executor.requests if r.path == "/kill"]) == asked  # nothing else was stopped
    site.user.refused("POST", "/runs/999999999/kill", status=404, kind="unknown")
    audit = site.tables.rows("SELECT who, target, after_json FROM shardwheel_audit WHERE action = 'run.kill'")
    assert [(row["who"], row["target"]) for row in audit] == [("runs-runner", log_id)]


def test_runs_are_counted_then_cleared(site):
    job = 2000
    for n in range(12):
        site.tables.add_log(job_id=job, job_group=site.group, handle_code=200,
                            trigger_time=f"2024-01-{n + 1:02} 00:00:00")
    planned = site.tables.add_log(job_id=job, job_group=site.group, trigger_code=0, trigger_time="2024-01-01 00:00:00",
                                  trigger_msg="<!--sw:h-->waits")

    wanted = {"jobGroup": site.group, "jobId": job, "before": "2024-01-04T00:00:00Z"}
    assert site.user.good("POST", "/runs/clear", {**wanted, "dryRun": True}) == {
        "dryRun": True, "matched": 5, "matchedIsEstimate": False}
    assert site.user.good("POST", "/runs/clear", wanted) == {"dryRun": False, "deleted": 4, "done": True}
    del wanted["before"]
    assert site.user.good("POST", "/runs/clear", {**wanted, "keepNewest": 2})["deleted"] == 6
    assert len(site.tables.logs(job)) == 3 and site.tables.log(planned)
    site.user.refused("POST", "/runs/clear", wanted, kind="required", field="type")
    piece = {**wanted, "keepNewest": 1, "forSeconds": 20}
    assert site.user.good("POST", "/runs/clear", piece) == {"dryRun": False, "deleted": 1, "done": True, "next": None}
    site.user.refused("POST", "/runs/clear", {**piece, "after": "nowhere"}, kind="invalid", field="after")
    site.user.refused("POST", "/runs/clear", {"type": 9}, status=403, kind="forbidden")
    site.runner.refused("POST", "/runs/clear", {**wanted, "type": 9}, status=403, kind="forbidden")


def test_sources_have_versions(site):
    job = site.tables.add_job(site.group, glue_type="GLUE_SHELL", trigger_status=0)
    path = f"/jobs/{job}/glue"
    answer = site.user.call("GET", path)
    assert answer.json["glueSource"] == "" and answer.json["glueType"] == "GLUE_SHELL"
    first = site.user.good("POST", path, {"glueSource": "one\ntwo\n", "glueRemark": "first try"},
                           headers={"If-Match": answer.headers["ETag"]})
    site.user.refused("POST", path, {"glueSource": "three\n", "glueRemark": "blind"}, status=412, kind="changed",
                      headers={"If-Match": answer.headers["ETag"]})
    second = site.user.good("POST", path, {"glueSource": "one\n2\n", "glueRemark": "second try"})
    assert second["glueUpdatetime"] > first["glueUpdatetime"]
    versions = site.user.good("GET", path + "/versions")["items"]
    assert [v["glueRemark"] for v in versions] == ["second try", "first try"]
    assert site.user.good("GET", f"{path}/versions/{versions[1]['id']}")["glueSource"] == "one\ntwo\n"
    diff = site.user.good("GET", f"{path}/diff?from={versions[1]['id']}")
    assert diff == {"added": 1, "removed": 1, "rough": False, "diff": "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"}
    assert site.user.good("GET", f"{path}/diff") == diff  # what the last save changed
    newest, oldest = versions[0]["id"], versions[1]["id"]
    assert site.user.good("GET", f"{path}/diff?from={newest}&to={oldest}")["diff"].endswith("-2\n+two\n")
    site.user.refused("GET", f"{path}/diff?from=999999", kind="unknown")
    site.user.refused("GET", f"{path}/versions/999999", status=404, kind="unknown", field="version")
    site.user.refused("POST", path, {"glueSource": "x", "glueRemark": "abc"}, kind="length", field="glueRemark")
    site.user.refused("POST", path, {"glueSource": " ", "glueRemark": "abcd"}, kind="required", field="glueSource")
    site.runner.refused("POST", path, {"glueSource": "x", "glueRemark": "abcd"}, status=403, kind="forbidden")
    large = site.user.good("POST", path, {"glueSource": "x" * (4 << 20), "glueRemark": "as large as it may be"})
    assert len(large["glueSource"]) == 4 << 20
    site.user.refused("POST", path, {"glueSource": "x" * (4 << 20) + "y", "glueRemark": "one more"}, kind="length")


def test_an_executor_gets_the_source_that_was_saved(site):
    job, _ = site.tables.add_single_fire(site.group, 4, glue_type="GLUE_SHELL", glue_source="old")
    saved = site.user.good("POST", f"/jobs/{job}/glue", {"glueSource": "echo new\r\n", "glueRemark": "another one"})
    request = site.executor.wait_runs(job)[0]
    assert (request.glueType, request.glueSource) == ("GLUE_SHELL", "echo new\r\n")
    seconds = saved["glueUpdatetime"][:19]
    assert request.glueUpdatetime % 1000 == 0 and seconds.startswith("20")


def test_glue_is_not_sent_where_it_is_switched_off(make_world, mariadb):
    site = Site(make_world(mariadb), **{"shardwheel.glue": "bean-only"})
    glue, _ = site.tables.add_single_fire(site.group, 2, glue_type="GLUE_SHELL", glue_source="echo")
    _, bean = site.start_run()

    row = site.tables.wait_logs(glue, "trigger_code <> 0")[0]
    assert row["trigger_code"] == 500 and "GLUE is switched off (shardwheel.glue=bean-only)" in row["trigger_msg"]
    assert not site.executor.runs(glue) and site.executor.runs(bean)
    site.user.refused("POST", f"/jobs/{glue}/glue", {"glueSource": "x", "glueRemark": "abcd"}, status=403, kind="off")
