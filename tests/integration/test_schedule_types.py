# SPDX-License-Identifier: MIT
"""Schedules and what is set of a job beyond them: zone, validity, fixed delay; due times without a fire."""
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.cluster import TOKEN
from harness.executors import callback_entry
from harness.process import wait_until

DAY = 86400


@pytest.fixture
def node(world):
    """(world, its node that owns all shards)."""
    node = world.node()
    world.tables.wait_owners([8])
    return world, node


def set_job(world, job, *values):
    """What the job is after that; fails unless it went well."""
    result = world.ctl("set-job", str(job), "--json", *values)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def refused(world, job, *values, words=()):
    result = world.ctl("set-job", str(job), *values)
    assert result.returncode == 1, f"{result.stdout}{result.stderr}"
    for word in words:
        assert word in result.stderr, f"'{word}' is not in: {result.stderr}"


def midnight_after(now, hours_east):
    local = now + hours_east * 3600
    return local - local % DAY + DAY - hours_east * 3600


# Settings


def test_settings_are_shown_set_and_unset(node):
    world, _ = node
    job = world.tables.add_job(world.group(world.executor()), cron="0 0 0 * * ?", next_in=40000)

    settings = set_job(world, job, "--time-zone", "Asia/Tokyo", "--hold=60", "--tags", "a, b",
                       "--valid-until", "2090-01-01 09:00", "--resend-lost", "on")["settings"]

    assert {key: value for key, value in settings.items() if value} == {
        "time-zone": "Asia/Tokyo", "hold": "60", "tags": "a,b", "valid-until": "2090-01-01 09:00:00",
        "resend-lost": "on"}
    row = world.tables.rows("SELECT * FROM shardwheel_job")[0]
    assert (row["job_id"], row["hold_s"], row["valid_until_s"]) == (job, 60, 3786912000)
    text = world.ctl("job", str(job)).stdout
    assert "time-zone       Asia/Tokyo\n" in text and "fixed-delay     none\n" in text, text
    assert "schedule        CRON 0 0 0 * * ?\nstate           running, next " in text, text
    set_job(world, job, "--time-zone", "", "--hold", "none", "--tags=", "--valid-until", "none",
            "--resend-lost", "off")
    assert world.tables.rows("SELECT * FROM shardwheel_job") == []

    set_job(world, job, "--resend-lost", "off", "--hold", "none")
    first, second = world.tables.audit("job.%")
    name = world.tables.job(job)["job_desc"]
    assert (first["action"], first["target"], first["target_name"]) == ("job.update", job, name)
    assert first["after"] == {"time-zone": "Asia/Tokyo", "valid-until": "2090-01-01 00:00:00", "hold": "60",
                              "resend-lost": "on", "tags": "a,b"}
    assert first["before"] == dict.fromkeys(first["after"])
    assert (second["before"], second["after"]) == (first["after"], first["before"])

    for name, value in (("--time-zone", "Mars/Olympus"), ("--fixed-delay", "0"), ("--valid-from", "soon"),
                        ("--retry-wait", "1e3"), ("--hold", "-1"), ("--retention-days", "x"), ("--tags", "x" * 600)):
        refused(world, job, f"{name}={value}", words=(name[2:] + ": expected",))
    refused(world, job, "--colour", "red", words=('unknown setting "colour"', "time-zone, fixed-delay"))
    refused(world, job, "--valid-from", "2031-01-02", "--valid-until", "2031-01-01", words=("valid-until",))
    refused(world, 4711, "--hold", "5", words=("there is no job 4711",))
    assert world.tables.rows("SELECT * FROM shardwheel_job") == []


def test_settings_of_many_at_once_are_not_lost(node):
    world, _ = node
    job = world.tables.add_job(world.group(world.executor()), cron="0 0 0 * * ?", next_in=40000)
    values = {"hold": "60", "tags": "a", "time-zone": "Asia/Tokyo", "retry-wait": "5", "retention-days": "9",
              "resend-lost": "on"}

    with ThreadPoolExecutor(len(values)) as pool:
        list(pool.map(lambda item: set_job(world, job, f"--{item[0]}", item[1]), values.items()))

    result = json.loads(world.ctl("job", str(job), "--json").stdout)
    assert {key: value for key, value in result["settings"].items() if value} == values


def test_a_next_time_is_not_written_beside_java_admins(world):
    node = world.node()
    world.tables.wait_owners([8])
    assert node.terminate() == 0
    job = world.tables.add_job(world.group(world.executor()), cron="0 0 0 * * ?", next_in=40000)

    refused(world, job, "--time-zone", "Asia/Tokyo", words=("no node keeps Java admins on standby", "try again"))
    set_job(world, job, "--hold", "60")  # nothing that its next time depends on
    world.tables.stop_job(job)
    set_job(world, job, "--time-zone", "Asia/Tokyo")


# Zones


def test_each_job_is_due_in_its_own_zone(node):
    world, _ = node
    tables, group = world.tables, world.group(world.executor())
    job = tables.add_job(group, cron="0 0 0 * * ?", next_in=40000)

    for zone, east in (("Asia/Tokyo", 9), ("UTC", 0), ("-03:00", -3)):
        # Right before a midnight the next one may be that of the day after.
        before = midnight_after(int(time.time()), east)
        set_job(world, job, "--time-zone", zone)
        assert tables.job(job)["trigger_next_time"] // 1000 in (before, before + DAY)


def test_a_claim_goes_on_in_the_zone_of_the_job(node):
    world, _ = node
    executor = world.executor()
    job = world.tables.add_job(world.group(executor), cron="0 0 0 * * ?", next_in=40000)
    set_job(world, job, "--time-zone", "Asia/Tokyo")

    now = int(time.time())
    world.tables.execute("UPDATE xxl_job_info SET trigger_next_time = %s WHERE id = %s", ((now + 3) * 1000, job))

    executor.wait_runs(job)
    assert world.tables.job(job)["trigger_next_time"] // 1000 in (midnight_after(now, 9), midnight_after(now + 3, 9))


def test_a_zone_that_does_not_exist_stops_its_job_alone(node):
    world, node = node
    executor = world.executor()
    group = world.group(executor)
    job, other = (world.tables.add_job(group, next_in=60) for _ in range(2))
    world.tables.execute("INSERT INTO shardwheel_job (job_id, time_zone) VALUES (%s, 'Mars/Olympus')", (job,))
    now = int(time.time())
    world.tables.execute("UPDATE xxl_job_info SET trigger_next_time = %s", ((now + 3) * 1000,))

    executor.wait_runs(other, 5)

    assert world.tables.job(job)["trigger_status"] == 0
    assert len(executor.runs(job)) == 1, "as with every schedule that is broken"
    assert "event=job_stopped" in node.log_text() and "Mars/Olympus" in node.log_text()


# Validity


def test_no_run_before_and_none_after_the_validity(node):
    world, _ = node
    executor = world.executor()
    job = world.tables.add_job(world.group(executor), next_in=3600)
    start = int(time.time()) + 9
    stamp = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start + k)) for k in (0, 4)]

    shown = set_job(world, job, "--valid-from", stamp[0], "--valid-until", stamp[1])
    assert shown["nextMs"] == start * 1000

    executor.wait_runs(job, 4, seconds=25)
    wait_until(lambda: world.tables.job(job)["trigger_status"] == 0, 10, "the job to be stopped")
    rows = world.tables.wait_logs(job, where="1=1", count=4)
    assert [row["trigger_time"].timestamp() for row in rows] == [start + k for k in range(4)]
    refused(world, job, "--valid-until", "2000-01-01", words=("valid-until",))


def test_a_validity_that_would_leave_nothing_is_refused(node):
    world, _ = node
    job = world.tables.add_job(world.group(world.executor()), cron="0 0 0 1 1 ?", next_in=40000)

    refused(world, job, "--valid-until", "2020-01-01", words=("no next time", "stop it first"))
    world.tables.stop_job(job)
    set_job(world, job, "--valid-until", "2020-01-01")


# Fixed delay: rows of jobs whose executor says nothing until the test calls back


def add_delayed(world, executor, delay, **columns):
    job = world.tables.add_job(world.group(executor), next_in=3600, **columns)
    set_job(world, job, "--fixed-delay", str(delay))
    row = world.tables.job(job)
    assert (row["schedule_type"], row["schedule_conf"]) == ("FIX_RATE", str(delay)), "what a Java admin can run"
    set_up = world.tables.audit("job.update")[-1]
    assert (set_up["target"], set_up["target_name"]) == (job, row["job_desc"])
    assert set_up["after"] == {"scheduleType": "FIX_RATE", "scheduleConf": str(delay), "fixed-delay": str(delay)}
    assert set_up["before"]["scheduleType"] == "CRON" and set_up["before"]["fixed-delay"] is None
    world.tables.execute("UPDATE xxl_job_info SET trigger_next_time = %s WHERE id = %s",
                         ((int(time.time()) + 3) * 1000, job))
    return job


def next_in(world, job):
    return world.tables.job(job)["trigger_next_time"] / 1000 - time.time()


def call_back(node, log_id, code=200):
    assert node.post("/api/callback", [callback_entry(log_id, code)], TOKEN).code == 200


def check_next_run(world, executor, job, count, delay):
    """The run comes, no sooner than the delay after the end of the one before."""
    ended = int(time.time())
    executor.wait_runs(job, count, seconds=delay + 8)
    due = world.tables.logs(job)[-1]["trigger_time"].timestamp()
    assert ended + delay <= due <= ended + delay + 4


def test_a_fixed_delay_counts_from_the_end_of_the_run(node):
    world, node = node
    executor = world.executor()
    job = add_delayed(world, executor, 3)

    for count in (1, 2):
        run = executor.wait_runs(job, count)[-1]
        wait_until(lambda: next_in(world, job) > DAY - 100, 5, "the next time to wait for the end")
        last = world.tables.job(job)["trigger_last_time"]
        call_back(node, run.logId, code=200 if count == 1 else 500)
        check_next_run(world, executor, job, count + 1, 3)
        assert world.tables.job(job)["trigger_last_time"] > last


def test_a_run_that_cannot_be_sent_has_ended(node):
    world, _ = node
    executor = world.executor()
    executor.close()
    job = add_delayed(world, executor, 2)

    rows = world.tables.wait_logs(job, "trigger_code = 500", count=2, seconds=15)
    assert rows[1]["trigger_time"].timestamp() - rows[0]["trigger_time"].timestamp() >= 2


def test_a_chain_of_retries_ends_with_its_last_row(node):
    world, node = node
    executor = world.executor()
    job = add_delayed(world, executor, 2, executor_fail_retry_count=1)

    first = executor.wait_runs(job)[0]
    call_back(node, first.logId, code=500)
    retry = executor.wait_runs(job, 2, seconds=20)[-1]
    assert retry.logId != first.logId
    # A run by hand has nothing to do with it.
    other = world.tables.add_log(job, trigger_msg="")
    call_back(node, other)
    assert next_in(world, job) > DAY - 100
    call_back(node, retry.logId, code=500)
    check_next_run(world, executor, job, 3, 2)


def test_a_broadcast_ends_with_its_last_row(world):
    executors = [world.executor() for _ in range(2)]
    group = world.group(*executors)  # a node learns of a later one up to a second after its jobs are planned
    node = world.node()
    world.tables.wait_owners([8])
    job = world.tables.add_job(group, next_in=3600, executor_route_strategy="SHARDING_BROADCAST")
    set_job(world, job, "--fixed-delay", "2")
    world.tables.execute("UPDATE xxl_job_info SET trigger_next_time = %s WHERE id = %s",
                         ((int(time.time()) + 3) * 1000, job))
    runs = [executor.wait_runs(job)[0] for executor in executors]

    call_back(node, runs[0].logId)
    world.tables.wait_logs(job, "handle_code = 200", count=1)
    # The look after that callback has been made when another job's end was seen.
    other = add_delayed(world, executors[0], 1)
    call_back(node, executors[0].wait_runs(other)[0].logId)
    executors[0].wait_runs(other, 2)
    assert next_in(world, job) > DAY - 100
    call_back(node, runs[1].logId)
    check_next_run(world, executors[1], job, 2, 2)


def test_a_fixed_delay_survives_a_crash(cluster):
    a = cluster.node("node-a")
    cluster.tables.wait_owners([8])
    executor = cluster.executor()
    job = add_delayed(cluster, executor, 3)
    run = executor.wait_runs(job)[0]
    open_job = add_delayed(cluster, executor, 3)
    open_run = executor.wait_runs(open_job)[0]
    b = cluster.node("node-b")

    a.kill()
    call_back(b, run.logId)

    executor.wait_runs(job, 2, seconds=30)
    assert next_in(cluster, open_job) > DAY - 200, "its run is under way"
    call_back(b, open_run.logId)
    check_next_run(cluster, executor, open_job, 2, 3)


def test_whoever_changes_the_schedule_overrules_the_delay(node):
    world, node = node
    executor = world.executor()
    job = add_delayed(world, executor, 3600)
    run = executor.wait_runs(job)[0]

    world.tables.execute("UPDATE xxl_job_info SET schedule_type = 'CRON', schedule_conf = '* * * * * ?', "
                         "trigger_next_time = %s WHERE id = %s", ((int(time.time()) + 3) * 1000, job))
    executor.wait_runs(job, 4)
    call_back(node, run.logId)
    executor.wait_runs(job, 6)
    assert next_in(world, job) < 10


# Due times without a fire


def skipped(world, job):
    return world.tables.logs(job, "trigger_msg LIKE '<!--sw:s:%%'")


def test_an_outage_of_a_day_is_one_row(node):
    world, node = node
    executor = world.executor()
    group = world.group(executor)
    now = int(time.time())
    first = now - DAY
    confs = (("FIX_RATE", "1", "DO_NOTHING"), ("FIX_RATE", "60", "FIRE_ONCE_NOW"),
             ("CRON", "* * * * * ?", "DO_NOTHING"))
    node.kill()
    jobs = [world.tables.add_job(group, schedule_type=kind, schedule_conf=conf, misfire_strategy=misfire,
                                 trigger_next_time=first * 1000, executor_fail_retry_count=3, alarm_email="a@b.c")
            for kind, conf, misfire in confs]
    # A cluster that had an owner before: what nobody planned is caught up for a minute.
    started = int(time.time())
    world.node("node-b")

    for job in jobs:
        executor.wait_runs(job, 2, seconds=70)
    wait_until(lambda: all(skipped(world, job) for job in jobs), 10, "a row for each outage")
    for job, (kind, conf, misfire) in zip(jobs, confs):
        rows = skipped(world, job)
        assert len(rows) == 1, rows
        row = rows[0]
        step = int(conf) if kind == "FIX_RATE" else 1
        once = misfire == "FIRE_ONCE_NOW"
        assert row["trigger_time"].timestamp() == first + once * step
        count = int(row["trigger_msg"][9:].split("-->")[0])
        if kind == "CRON":
            assert count == 20001 and "20001" in row["trigger_msg"] and " ...<br>" in row["trigger_msg"]
        else:
            end = started - 60
            assert (end - first) / step - 1 - once <= count <= (end - first + 25) / step + 1
        assert misfire in row["trigger_msg"]
        assert (row["trigger_code"], row["handle_code"], row["alarm_status"]) == (500, 0, 1)
    time_of_rows = max(row["id"] for job in jobs for row in skipped(world, job))
    executor.wait_runs(jobs[0], len(executor.runs(jobs[0])) + 12, seconds=30)  # a pass of the failure monitor, and more
    assert [row["alarm_status"] for job in jobs for row in skipped(world, job)] == [1, 1, 1]
    assert not world.tables.rows("SELECT id FROM xxl_job_log WHERE trigger_msg LIKE '<!--sw:d:%%'"), "a retry"
    assert time_of_rows == max(row["id"] for job in jobs for row in skipped(world, job))


def test_a_next_time_in_the_past_and_the_switch(world):
    for value, rows in (("on", 1), ("off", 0)):
        node = world.node(f"node-{value}", keys={"shardwheel.skipped-rows": value})
        world.tables.wait_owners([8])
        executor = world.executor()
        job = world.tables.add_job(world.group(executor), cron="0 0 0 * * ?", next_in=40000)
        other = world.tables.add_job(world.group(executor))
        executor.wait_runs(other)
        past = (int(time.time()) - 3 * DAY) // DAY * DAY
        world.tables.execute("UPDATE xxl_job_info SET trigger_next_time = %s WHERE id = %s", (past * 1000, job))
        wait_until(lambda: world.tables.job(job)["trigger_next_time"] > time.time() * 1000, 10, "the job to go on")
        assert world.tables.job(job)["trigger_last_time"] == past * 1000
        found = skipped(world, job)
        assert len(found) == rows
        for row in found:
            assert row["trigger_msg"].startswith("<!--sw:s:4-->"), row["trigger_msg"]
            assert row["trigger_time"].timestamp() == past
        assert node.terminate() == 0
