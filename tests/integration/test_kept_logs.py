# SPDX-License-Identifier: MIT
"""Logs of runs that nodes keep, and that are read when their executors are gone."""
import json
import threading
import time

import pytest

from harness.builds import java_classpath
from harness.cluster import TOKEN
from harness.executors import JavaExecutor, Reply, callback_entry
from harness.process import wait_until
from harness.v1 import Api, add_token, add_user

PATHS = ("/run", "/kill", "/log")
FAILED = {"shardwheel.kept-logs": "failed"}


def page(content, to_line, end=True):
    lines = {"fromLineNum": 1, "toLineNum": to_line, "logContent": content, "isEnd": end}
    return Reply({"code": 200, "content": lines})


def kept(world, log_id):
    return world.tables.rows("SELECT * FROM shardwheel_kept_log WHERE log_id = %s", (log_id,))


def wait_kept(world, log_id, seconds=20):
    return wait_until(lambda: kept(world, log_id), seconds, f"the log of run {log_id} to be kept")[0]


def count(node, result):
    return node.metrics()[f'shardwheel_kept_logs_total{{result="{result}"}}']


def start(world, executor, group, **columns):
    """The id of a run that the executor has."""
    job, _ = world.tables.add_single_fire(group, 2, **columns)
    log_id = executor.wait_runs(job)[0].logId
    world.tables.wait_logs(job, "trigger_code IN (0, 200)")
    return log_id


def end(node, log_id, code=500):
    assert node.post("/api/callback", [callback_entry(log_id, code)], TOKEN).code == 200


@pytest.fixture
def scene(world):
    """(world, executor, group, node, caller of api/v1)"""
    executor = world.executor(paths=PATHS)
    executor.replies["/log"] = page("first\nwhy it failed: größer\n", 2)
    group = world.group(executor)
    node = world.node(keys=FAILED)
    user = add_user(world.tables, "kept-admin", role=1)
    return world, executor, group, node, Api(node, add_token(world.tables, user))


def test_the_log_of_a_failed_run_outlives_its_executor(scene):
    world, executor, group, node, api = scene
    failed, good = start(world, executor, group), start(world, executor, group)
    end(node, good, 200)
    end(node, failed)
    wait_kept(world, failed)
    assert not kept(world, good)

    live = api.good("GET", f"/runs/{failed}/log")
    assert (live["source"], live["keptAt"], live["isCut"]) == ("executor", None, False)
    executor.close()

    log = api.good("GET", f"/runs/{failed}/log")
    assert log["lines"] == ["first", "why it failed: größer"]
    assert (log["source"], log["ended"], log["reason"], log["nextLine"]) == ("kept", True, "end", 3)
    assert log["keptAt"] and not log["isCut"]
    assert api.good("GET", f"/runs/{failed}/log?source=kept&fromLine=2")["lines"] == ["why it failed: größer"]
    assert api.good("GET", f"/runs/{failed}/log?source=kept&fromLine=9")["lines"] == []
    gone = api.good("GET", f"/runs/{failed}/log?source=executor")
    assert (gone["source"], gone["lines"], gone["reason"]) == ("executor", [], "no-executor")
    api.refused("GET", f"/runs/{good}/log?source=kept", status=404)
    api.refused("GET", f"/runs/{failed}/log?source=other", status=400)
    assert api.good("GET", f"/runs/{good}/log")["reason"] == "no-executor"

    done = world.ctl("log", str(failed))
    assert (done.returncode, done.stdout) == (0, "first\nwhy it failed: größer\n")
    assert "this is the log that was kept at 20" in done.stderr
    assert world.ctl("log", str(failed), "--find", "FAILED").stdout == "2:why it failed: größer\n"
    assert world.ctl("log", str(good)).returncode == 1

    # Who may not see the run may not see its log.
    other = add_user(world.tables, "kept-other", groups=[group + 1])
    Api(node, add_token(world.tables, other)).refused("GET", f"/runs/{failed}/log?source=kept", status=403)

    # It goes with its run.
    api.good("POST", "/runs/clear", {"type": 9})
    wait_until(lambda: not kept(world, failed), 20, "the kept log to be removed")


def test_a_stopped_run_and_a_job_of_its_own(scene):
    world, executor, group, node, api = scene
    job, _ = world.tables.add_single_fire(group, 2)
    wait_until(lambda: world.tables.rows("SHOW TABLES LIKE 'shardwheel_job'"), 5, "our tables")
    api.good("PATCH", f"/jobs/{job}", {"settings": {"keptLogs": "all"}})
    assert api.good("GET", f"/jobs/{job}")["settings"]["keptLogs"] == "all"
    stopped = executor.wait_runs(job)[0].logId
    world.tables.wait_logs(job, "trigger_code = 200")
    api.good("POST", f"/runs/{stopped}/kill")
    wait_kept(world, stopped)

    # What a job says counts within 10 s: its good runs are kept too.
    def good_run_is_kept():
        api.good("POST", f"/jobs/{job}/trigger", {}, status=202)
        run = executor.wait_runs(job, len(executor.runs(job)))[-1].logId
        end(node, run, 200)
        time.sleep(1.5)
        return kept(world, run)

    wait_until(good_run_is_kept, 40, "a good run to be kept")
    off, _ = world.tables.add_single_fire(group, 3)
    assert world.ctl("set-job", str(off), "--kept-logs", "off").returncode == 0
    quiet = executor.wait_runs(off)[0].logId
    end(node, quiet)
    loud = start(world, executor, group)
    end(node, loud)
    wait_kept(world, loud)
    assert not kept(world, quiet)


def test_lost_runs_are_kept(scene):
    world, executor, group, node, _ = scene
    before = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() - 700))
    job = world.tables.add_job(group, "plain", trigger_status=0)
    log_id = world.tables.add_log(job, job_group=group, trigger_time=before, executor_address=executor.address)
    wait_until(lambda: world.tables.log(log_id)["handle_code"] == 500, 40, "the run to be lost")
    wait_kept(world, log_id)


def test_what_executors_answer_is_bounded(scene):
    """Too long, no JSON, no UTF-8, NULs, cut off, nothing at all, never: nothing of it is kept but what is a log."""
    world, executor, group, node, api = scene
    long = "".join(f"line {i:06d}\n" for i in range(1, 200_001))

    def lines(request):
        first = request.fromLineNum
        text = long[(first - 1) * 12:]
        executor.replies["/log"].body = json.dumps({"code": 200, "content": {
            "fromLineNum": first, "toLineNum": 200_000, "logContent": text, "isEnd": True}}).encode()

    executor.replies["/log"] = Reply(before=lines)
    log_id = start(world, executor, group)
    end(node, log_id)
    row = wait_kept(world, log_id)
    assert row["is_cut"] == 1 and row["text_bytes"] < 66_000 and row["bytes"] < 40_000
    asked = [r.fromLineNum for r in executor.requests if r.path == "/log"]
    assert len(asked) == 2 and asked[1] > 190_000  # its end, and not what is between
    got = api.good("GET", f"/runs/{log_id}/log?source=kept")["lines"]
    assert got[0] == "line 000001" and got[-1] == "line 200000"
    mark = next(i for i, line in enumerate(got) if line.startswith("--- shardwheel: "))
    assert int(got[mark + 1].split()[1]) - int(got[mark - 1].split()[1]) - 1 == int(got[mark].split()[2])

    strange = [Reply(b"no JSON"), Reply(b"[]"), Reply(b'{"code":200,"content":{"logContent":7}}'), Reply(b""),
               Reply({"code": 500, "msg": "no"}), Reply(close=True), Reply({"code": 200, "content": None}),
               Reply(b'{"code":200,"content":{"fromLineNum":1,"toLineNum":1,"logContent":"cut'),
               page("readLog fail, logFile not exists", 0), Reply(status=503)]
    for reply in strange:
        executor.replies["/log"] = reply
        before = count(node, "no_log")
        log_id = start(world, executor, group)
        end(node, log_id)
        wait_until(lambda: count(node, "no_log") == before + 1, 20, f"{reply.body} to be refused")
        assert not kept(world, log_id), reply.body

    executor.replies["/log"] = Reply(
        b'{"code":200,"content":{"fromLineNum":1,"toLineNum":1,"isEnd":true,'
        b'"logContent":"a\\u0000b\xff\xfe\\ud800c\\n"}}')
    log_id = start(world, executor, group)
    end(node, log_id)
    wait_kept(world, log_id)
    assert api.good("GET", f"/runs/{log_id}/log?source=kept")["lines"][0][0] == "a"


def test_a_flood_of_failures_is_dropped_and_counted(world):
    """Far more ends than are kept: the node answers all of them, keeps some, counts the rest, and stops in time."""
    executor = world.executor(paths=PATHS)
    executor.replies["/log"] = page("text\n", 1)
    executor.replies["/log"].before = lambda request: time.sleep(0.05)  # two at a time: 40 logs per second
    group = world.group(executor)
    node = world.node(keys=FAILED)
    job = world.tables.add_job(group, "plain", trigger_status=0)
    ids = [world.tables.add_log(job, job_group=group, executor_address=executor.address) for _ in range(3000)]
    for at in range(0, len(ids), 500):
        answer = node.post("/api/callback", [callback_entry(log_id, 500) for log_id in ids[at:at + 500]], TOKEN)
        assert answer.code == 200
    results = ("kept", "too_many", "executor_busy")
    wait_until(lambda: sum(count(node, r) for r in results) == len(ids), 60, "all to be kept or counted")
    assert count(node, "kept") >= 20
    assert count(node, "too_many") + count(node, "executor_busy") > 2000
    assert world.tables.value("SELECT COUNT(*) FROM shardwheel_kept_log") == count(node, "kept")
    # One that never answers holds up no stop.
    executor.replies["/log"] = Reply(until=threading.Event())
    end(node, start(world, executor, group))
    wait_until(lambda: any(r.path == "/log" for r in executor.requests[-3:]), 20, "the request")
    node.terminate()


def test_old_ones_and_too_many_are_removed(world):
    world.node(keys=FAILED).terminate()  # makes the tables
    tables = world.tables
    now_ms = int(time.time() * 1000)
    tables.execute("INSERT INTO shardwheel_kept_log (log_id, job_id, at_ms, bytes, text_bytes, is_cut, data) VALUES "
                   "(1, 1, %s, 1, 1, 0, 'x')", (now_ms - 40 * 86400_000,))
    for log_id in range(2, 12):
        tables.execute("INSERT INTO shardwheel_kept_log (log_id, job_id, at_ms, bytes, text_bytes, is_cut, data) "
                       "VALUES (%s, 1, %s, 200000, 1, 0, REPEAT('x', 200000))", (log_id, now_ms + log_id))
    node = world.node("node-b", keys={**FAILED, "shardwheel.kept-logs-total": "1m"})
    wait_until(lambda: tables.value("SELECT SUM(bytes) FROM shardwheel_kept_log") < 1024 * 1024, 30, "room")
    assert [row["log_id"] for row in tables.rows("SELECT log_id FROM shardwheel_kept_log ORDER BY log_id")] == [
        8, 9, 10, 11]
    wait_until(lambda: node.metrics()["shardwheel_kept_logs_cleaned_total"] == 7, 20, "these to be counted")


@pytest.mark.slow(40)
def test_a_real_executor_that_is_stopped_after_its_run(world):
    tables = world.tables
    node = world.node(keys={"shardwheel.kept-logs": "all"})
    group = tables.add_group("java")
    executor = JavaExecutor(world.folder, "3.3.2", java_classpath("3.3.2"), [node.url], "java", TOKEN)
    world.others.append(executor)
    executor.start()
    wait_until(lambda: tables.value("SELECT address_list FROM xxl_job_group WHERE id = %s", (group,)), 45, "its list")
    job, _ = tables.add_single_fire(group, 3)
    log_id = tables.wait_logs(job, "handle_code <> 0", seconds=30)[0]["id"]
    wait_kept(world, log_id)
    executor.kill()
    user = add_user(tables, "kept-admin", role=1)
    log = Api(node, add_token(tables, user)).good("GET", f"/runs/{log_id}/log")
    assert log["source"] == "kept" and any("xxl-job" in line or "job" in line for line in log["lines"]), log
