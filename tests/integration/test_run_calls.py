# SPDX-License-Identifier: MIT
"""One run, stopped and shown by shardwheelctl; what real executors make of it is in test_executor_matrix.py."""
import time

import pytest

from harness.cluster import TOKEN
from harness.executors import Reply, callback_entry
from harness.v1 import Api, add_token, add_user

PATHS = ("/run", "/kill", "/log")


@pytest.fixture(scope="module")
def run(make_module_world, mariadb):
    """(world, executor, node, id of a run that is under way)"""
    world = make_module_world(mariadb)
    executor = world.executor(paths=PATHS)
    group = world.group(executor)
    node = world.node()
    job, _ = world.tables.add_single_fire(group, 2)
    executor.wait_runs(job)
    return world, executor, node, world.tables.wait_logs(job, "trigger_code = 200")[0]["id"]


def page(content, to_line, end=False):
    lines = {"fromLineNum": 1, "toLineNum": to_line, "logContent": content, "isEnd": end}
    return Reply({"code": 200, "content": lines})


def test_log_is_printed_page_by_page(run):
    world, executor, _, log_id = run
    asked = []

    def lines(request):
        asked.append(request)
        executor.replies["/log"].body = pages[min(len(asked), len(pages)) - 1].body

    pages = [page("first\nsecond\n", 2), page("größer\n", 3), page("", 0)]
    executor.replies["/log"] = Reply(before=lines)

    done = world.ctl("log", str(log_id))

    assert (done.returncode, done.stdout, done.stderr) == (0, "first\nsecond\ngrößer\n", "")
    assert [r.fromLineNum for r in asked] == [1, 3, 4]
    row = world.tables.log(log_id)
    assert {r.logDateTim for r in asked} == {r.logDateTime for r in asked} == {
        int(row["trigger_time"].timestamp() * 1000)}
    assert asked[0].headers["XXL-JOB-ACCESS-TOKEN"] == TOKEN


def test_lines_of_a_log_are_found(run):
    world, executor, _, log_id = run

    def found(text):
        pages = [page("Error: one\nfine\n", 2), page("größer ERROR\r\n\n%d error", 5), page("", 0)]
        reply = executor.replies["/log"] = Reply(before=lambda _: setattr(reply, "body", pages.pop(0).body))
        done = world.ctl("log", str(log_id), "--find", text)
        return done.returncode, done.stdout, done.stderr

    assert found("error") == (0, "1:Error: one\n3:größer ERROR\n5:%d error\n", "")
    assert found("GRößer") == (0, "3:größer ERROR\n", "")
    assert found("e\nfine")[:2] == (1, "")
    assert found("%d error and more") == (1, "", 'shardwheelctl: no line of the log has "%d error and more"\n')
    assert "--find: the text is empty" in found("")[2]
    assert "--colour: unknown option" in world.ctl("log", str(log_id), "--colour", "red").stderr


def test_log_that_is_not_there(run):
    world, executor, _, log_id = run
    executor.replies["/log"] = page("readLog fail, logFile not exists", 0, end=True)

    done = world.ctl("log", str(log_id))

    assert done.returncode == 1 and not done.stdout
    assert f"the executor has no log of run {log_id} yet: readLog fail, logFile not exists" in done.stderr
    executor.replies["/log"] = Reply({"code": 500, "msg": "The access token is wrong."})
    done = world.ctl("log", str(log_id))
    assert done.returncode == 1 and "cannot be read: The access token is wrong." in done.stderr


def test_reasons_have_codes(run):
    world, executor, node, first = run
    api = Api(node, add_token(world.tables, add_user(world.tables, "reasons", role=1)))
    group = world.tables.log(first)["job_group"]
    dead = world.tables.add_group("dead", ["http://127.0.0.1:1"])

    def outcome(group, reply=None, result=None):
        executor.replies["demoJobHandler"] = reply or Reply()
        job, due = world.tables.add_single_fire(group, 2)
        log_id = world.tables.wait_logs(job, "trigger_code = 200" if result else "trigger_code > 200")[0]["id"]
        if result:
            assert node.post("/api/callback", [callback_entry(log_id, *result)], TOKEN).code == 200
            world.tables.wait_logs(job, "handle_code > 0")
        told = api.good("GET", f"/runs/{log_id}")["outcome"]
        second = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(due))
        after = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(due + 1))
        explained = api.good("GET", f"/jobs/{job}/explain?from={second}&to={after}")["items"]
        end = next(item["facts"]["end"] for item in explained if item["facts"].get("end", {}).get("run") == log_id)
        for name in ("reasonCode", "reasonValue"):
            assert end.get(name) == told.get(name), end
        return told["code"], told.get("reasonCode"), told.get("reasonValue")

    assert outcome(dead) == ("undelivered", "connection-refused", None)
    assert outcome(group, Reply("busy", status=503)) == ("undelivered", "http-status", "503")
    assert outcome(group, Reply({"code": 500, "msg": "job handler [h<1>] not found."})) == (
        "undelivered", "no-handler", "h<1>")
    assert outcome(group, Reply({"code": 500, "msg": "block strategy effect：Discard Later"})) == (
        "blocked", "block-discard-later", None)
    assert outcome(group, result=(500, "script exit value(3) is failed")) == ("failed", "script-exit", "3")
    assert outcome(group, result=(500, "my own words: Connection refused")) == ("failed", None, None)


def test_log_is_followed_until_the_run_has_ended(run):
    world, executor, node, first = run
    job, _ = world.tables.add_single_fire(world.tables.log(first)["job_group"], 2)
    log_id = executor.wait_runs(job)[0].logId
    asked = []

    def lines(request):
        asked.append(request)
        text = {1: page("line\n", 1), 2: page("", 1), 3: page("last\n", 2)}.get(len(asked), page("", 0))
        executor.replies["/log"].body = text.body
        if len(asked) == 3:
            assert node.post("/api/callback", [callback_entry(log_id)], TOKEN).code == 200

    executor.replies["/log"] = Reply(before=lines)

    done = world.ctl("log", str(log_id), "--follow")

    assert (done.returncode, done.stdout) == (0, "line\nlast\n")


def test_kill_ends_the_row_as_a_failure(run):
    world, executor, node, log_id = run
    executor.replies["/kill"] = Reply({"code": 500, "msg": "Task kill err"})
    done = world.ctl("kill", str(log_id))
    assert done.returncode == 1 and f"run {log_id} was not stopped: Task kill err" in done.stderr
    assert world.tables.log(log_id)["handle_code"] == 0

    executor.replies["/kill"] = Reply({"code": 200, "msg": "Success"})
    done = world.ctl("kill", str(log_id))

    assert (done.returncode, done.stdout) == (0, f"run {log_id}: stopped\n")
    row = world.tables.log(log_id)
    assert (row["handle_code"], row["handle_msg"]) == (500, "killed by hand (shardwheelctl): Success")
    kills = [r for r in executor.requests if r.path == "/kill"]
    assert [r.json for r in kills] == [{"jobId": row["job_id"]}] * 2
    assert node.post("/api/callback", [callback_entry(log_id)], TOKEN).code == 200
    assert world.tables.log(log_id)["handle_code"] == 500
    (audit,) = world.tables.audit("run.%")
    assert (audit["action"], audit["target"], audit["job_group"]) == ("run.kill", log_id, row["job_group"])
    assert audit["after"] == {"jobId": row["job_id"], "executorAddress": row["executor_address"], "said": "Success"}

    done = world.ctl("kill", str(log_id))
    assert done.returncode == 1 and f"run {log_id} has ended already, with code 500" in done.stderr


def test_rows_that_are_with_no_executor(run):
    world, _, _, _ = run
    failed = world.tables.add_log(trigger_code=500)

    for verb in ("kill", "log"):
        done = world.ctl(verb, str(failed))
        assert done.returncode == 1 and f"run {failed} was not sent to an executor: its trigger failed" in done.stderr
        done = world.ctl(verb, "999999999")
        assert done.returncode == 1 and "there is no such row" in done.stderr
        assert world.ctl(verb, "x").returncode == 2


def test_group_with_a_token_of_its_own(make_world, mariadb):
    world = make_world(mariadb, family="3.5")
    executor = world.executor(paths=("/trigger", "/kill", "/log"))
    group = world.group(executor, token="of the group")
    world.node()
    job, _ = world.tables.add_single_fire(group, 2)
    executor.wait_runs(job)
    log_id = world.tables.wait_logs(job, "trigger_code = 200")[0]["id"]
    executor.replies["/log"] = page("", 0)

    assert world.ctl("log", str(log_id)).returncode == 0
    assert world.ctl("kill", str(log_id)).returncode == 0

    asked = [r for r in executor.requests if r.path in ("/log", "/kill")]
    assert [r.headers["XXL-JOB-ACCESS-TOKEN"] for r in asked] == ["of the group"] * 2
    assert [r.headers["XXL-JOB-APPNAME"] for r in asked] == ["scripted"] * 2
