# SPDX-License-Identifier: MIT
"""Runs that nobody will report: executors that were killed, that left, that say that they are idle."""
import threading
import time

import pytest

from harness.builds import go_executor, java_classpath, python_executor
from harness.cluster import TOKEN
from harness.executors import GoExecutor, JavaExecutor, PythonExecutor, Reply, callback_entry
from harness.process import wait_until

MARK = "<!--sw:l-->"


def beat(node, address, app, remove=False):
    answer = node.post("/api/registryRemove" if remove else "/api/registry",
                       {"registryGroup": "EXECUTOR", "registryKey": app, "registryValue": address}, token=TOKEN)
    assert answer.code == 200, answer


def lost(tables, log_id, reason, seconds):
    def ended():
        row = tables.log(log_id)
        assert row["handle_code"] == 500, row
        return row

    row = wait_until(ended, seconds, f"log {log_id} to end as lost")
    assert row["handle_msg"].startswith(MARK + "lost: ") and reason in row["handle_msg"], row["handle_msg"]
    return row


def test_ten_minutes_as_the_original(world):
    """Rows of anybody, found by the first look; a late success overwrites, a late failure does not."""
    tables = world.tables
    executor = world.executor()
    group = world.group(executor)
    job = tables.add_job(group, "plain", trigger_status=0)

    def at(seconds):
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() - seconds))

    tables.insert("xxl_job_registry", {"registry_group": "EXECUTOR", "registry_key": "other",
                                       "registry_value": "http://Alive:9999/", "update_time": at(0)})
    old = {"trigger_time": at(700), "executor_address": "http://gone:9999/"}
    gone = [tables.add_log(job, **old) for _ in range(3)]
    retried = tables.add_log(job, **old, executor_fail_retry_count=1, executor_param="again")
    kept = [tables.add_log(job, **{**old, **columns}) for columns in (
        {"executor_address": "http://alive:9999/"}, {"trigger_time": at(300)}, {"trigger_code": 0},
        {"handle_code": 200}, {"trigger_code": 500, "alarm_status": 2})]
    before = [tables.log(log_id)["handle_code"] for log_id in kept]
    node = world.node()
    for log_id in gone + [retried]:
        lost(tables, log_id, "10 minutes", 30)
    assert [tables.log(log_id)["handle_code"] for log_id in kept] == before
    node.post("/api/callback", [callback_entry(gone[0]), callback_entry(gone[1], 500)], token=TOKEN)
    assert tables.log(gone[0])["handle_code"] == 200 and tables.log(gone[0])["handle_msg"] == "done"
    lost(tables, gone[1], "10 minutes", 5)
    wait_until(lambda: any(r.json.get("executorParams") == "again" for r in executor.runs(job)), 30, "the retry")
    assert node.metrics()['shardwheel_runs_lost_total{reason="unregistered"}'] == 4


@pytest.mark.slow(170)
def test_executors_that_left_or_were_started_again(world):
    """
    One executor is started again and has forgotten its run, another one takes its registration back; a third is busy
    all the time. Both lost runs end within 3 minutes, and one is sent again without using up the job's retries.
    """
    tables = world.tables
    restarted, leaving, busy = (world.executor() for _ in range(3))
    node = world.node()
    groups = {}
    for executor, app in ((restarted, "restarted"), (leaving, "leaving"), (busy, "busy")):
        groups[app] = tables.add_group(app, [])
        tables.execute("UPDATE xxl_job_group SET address_type = 0 WHERE id = %s", (groups[app],))

    stop = threading.Event()
    left = threading.Event()

    def keep_alive():
        while not stop.is_set():
            for executor, app in ((restarted, "restarted"), (leaving, "leaving"), (busy, "busy")):
                if not (executor is leaving and left.is_set()):
                    beat(node, executor.address, app)
            stop.wait(10)

    threading.Thread(target=keep_alive, daemon=True).start()
    try:
        for executor in (restarted, leaving, busy):
            executor.replies["/idleBeat"] = Reply({"code": 500, "msg": "job thread is running"})
        wait_until(lambda: all(tables.rows("SELECT * FROM xxl_job_group WHERE app_name = %s AND address_list <> ''",
                                           (app,)) for app in groups), 20, "the lists")
        jobs = {app: tables.add_single_fire(group, 3, "plain")[0] for app, group in groups.items()}
        wait_until(lambda: tables.rows("SHOW TABLES LIKE 'shardwheel_job'"), 5, "our tables")
        tables.insert("shardwheel_job", {"job_id": jobs["restarted"], "resend_lost": 1,
                                         "update_time": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())})
        rows = {app: tables.wait_logs(job, "trigger_code = 200", seconds=20)[0]["id"] for app, job in jobs.items()}
        wait_until(lambda: all(any(r.path == "/idleBeat" for r in e.requests)
                               for e in (restarted, leaving, busy)), 120, "questions")

        begun = time.time()
        restarted.replies["/idleBeat"] = Reply()
        beat(node, leaving.address, "leaving", remove=True)
        left.set()
        lost(tables, rows["restarted"], "idle", 180)
        lost(tables, rows["leaving"], "has left", max(1, begun + 180 - time.time()))
        assert tables.log(rows["busy"])["handle_code"] == 0
        again = restarted.wait_runs(jobs["restarted"], 2, seconds=30)[1]
        assert again.logId != rows["restarted"]
        assert tables.log(again.logId)["executor_fail_retry_count"] == 0
        settled = wait_until(lambda: tables.log(rows["leaving"])["alarm_status"] == 2 and tables.logs(jobs["leaving"]),
                             30, "the failure monitor")
        assert len(settled) == 1  # no retry
    finally:
        stop.set()


@pytest.mark.slow(140)
def test_real_executors_that_are_killed_and_started_again(world):
    """Each forgets its run. That ends within 3 minutes, and is sent again, which no executor loses any more."""
    tables = world.tables
    node = world.node(keys={"xxl.job.timeout": "10"})
    tables.execute("UPDATE xxl_job_group SET address_list = NULL")
    executors = {
        "java": JavaExecutor(world.folder, "3.3.2", java_classpath("3.3.2"), [node.url], "java", TOKEN),
        "go": GoExecutor(world.folder, go_executor(), node.url, "go", TOKEN),
        "python": PythonExecutor(world.folder, *python_executor(), node.url, "python", TOKEN),
    }
    groups = {app: tables.add_group(app) for app in executors}
    for executor in executors.values():
        world.others.append(executor)
        executor.start()

    def listed(app):
        return tables.value("SELECT address_list FROM xxl_job_group WHERE id = %s", (groups[app],))

    for app, executor in executors.items():
        wait_until(lambda: listed(app) == executor.address, 45, f"{app} to be in its list")
    jobs = {app: tables.add_single_fire(
        group, 3, "sleepingJobHandler" + (".kill" if app == "go" else ""), executor_param="600000",
        executor_fail_retry_count=1)[0] for app, group in groups.items()}
    for job in jobs.values():
        tables.insert("shardwheel_job", {"job_id": job, "resend_lost": 1,
                                         "update_time": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())})
    rows = {app: tables.wait_logs(job, "trigger_code = 200", seconds=20)[0]["id"] for app, job in jobs.items()}
    begun = time.time()
    for executor in executors.values():
        executor.kill()
        executor.start()
        executor.wait_ready()
    for app, log_id in rows.items():
        lost(tables, log_id, "idle", max(1, begun + 180 - time.time()))
    again = {app: tables.wait_logs(job, "trigger_code = 200", 2, seconds=30)[1] for app, job in jobs.items()}
    assert [row["executor_fail_retry_count"] for row in again.values()] == [1, 1, 1]
    assert not any(tables.log(row["id"])["handle_code"] for row in again.values())
    assert node.metrics()['shardwheel_runs_lost_total{reason="idle"}'] == 3
