# SPDX-License-Identifier: MIT
"""Rows as databases have them that were filled by other programs, years ago or by hand."""
import time

import pytest

from harness.jobs import OPEN
from harness.process import wait_until

YEAR_S = 365 * 24 * 3600


def nullable_columns(tables, table):
    rows = tables.rows(
        "SELECT column_name AS name FROM information_schema.columns"
        " WHERE table_schema = %s AND table_name = %s AND is_nullable = 'YES'",
        (tables.database, table),
    )
    return {row["name"] for row in rows}


@pytest.mark.parametrize("family", ["2.3", "3.5"])
def test_null_in_every_nullable_column(make_world, mariadb, family):
    world = make_world(mariadb, family=family)
    executor = world.executor(paths=("/run", "/trigger"))
    group = world.group(executor)
    nulls = dict.fromkeys(nullable_columns(world.tables, "xxl_job_info") - {"schedule_conf"})
    assert {"executor_handler", "executor_param", "executor_route_strategy", "glue_updatetime"} <= set(nulls)
    nowhere = world.tables.add_job(group, **nulls)
    del nulls["executor_route_strategy"]
    job = world.tables.add_job(group, **nulls)
    world.node()

    row = world.tables.wait_logs(job, "trigger_code <> 0")[0]
    assert row["trigger_code"] == 200, row["trigger_msg"]
    run = executor.runs(job)[0]
    assert run.json.get("executorParams") in (None, "")
    assert run.json["glueUpdatetime"] == 0
    assert run.broadcastTotal == 1
    row = world.tables.wait_logs(nowhere, "trigger_code <> 0")[0]
    assert row["trigger_code"] == 500
    assert "the job has no route strategy" in row["trigger_msg"]
    assert not executor.runs(nowhere)


@pytest.mark.parametrize("charset", ["latin1", "utf8mb3", "utf8mb4"])
def test_texts_arrive_as_they_stand_in_tables_of_any_charset(make_world, mariadb, charset):
    world = make_world(mariadb, family="2.3", charset=charset)
    text = ({"latin1": "naïve ÄÖ", "utf8mb3": "naïve 定时", "utf8mb4": "naïve 定时 😀"}[charset]
            + " 'q' \"d\" \\n %s <&>\n\t`")
    executor = world.executor()
    job = world.tables.add_job(world.group(executor), executor_param=text)
    world.node()

    run = executor.wait_runs(job)[0]

    assert run.executorParams == text
    assert world.tables.wait_logs(job, "trigger_code <> 0")[0]["executor_param"] == text


def test_next_time_a_year_ago_follows_the_misfire_strategy(world):
    executor = world.executor()
    group = world.group(executor)
    long_ago = (int(time.time()) - YEAR_S) * 1000
    # Far from the next occurrence, so that what arrives can only be the misfire.
    month = time.gmtime(time.time() + YEAR_S / 2).tm_mon
    old = {"trigger_next_time": long_ago, "cron": f"0 0 0 1 {month} ?"}
    nothing = world.tables.add_job(group, misfire_strategy="DO_NOTHING", **old)
    once = world.tables.add_job(group, misfire_strategy="FIRE_ONCE_NOW", **old)
    empty = world.tables.add_job(group, misfire_strategy="", **old)
    every_second = world.tables.add_job(group, trigger_next_time=long_ago)
    fix_rate = world.tables.add_job(group, trigger_next_time=long_ago, schedule_type="FIX_RATE", schedule_conf="1")
    started_at = time.time()
    world.node()

    executor.wait_runs(every_second, 4)
    executor.wait_runs(fix_rate, 3)
    executor.wait_runs(once)

    assert [len(executor.runs(job)) for job in (nothing, once, empty)] == [0, 1, 0]
    for job in (nothing, once, empty):
        row = world.tables.job(job)
        assert row["trigger_status"] == 1
        assert row["trigger_next_time"] > time.time() * 1000
    runs = len(executor.runs(every_second))
    assert runs <= time.time() - started_at + 2, "a year of missed seconds is not made up for"


@pytest.mark.asan
@pytest.mark.parametrize(
    "broken",
    [{"cron": "every now and then"}, {"cron": None}, {"cron": "0 0 0 31 2 ?"}, {"cron": "0 0 0 1 1 ? 2001"},
     {"schedule_type": "FIX_RATE", "schedule_conf": "abc"}, {"schedule_type": "FIX_DELAY", "schedule_conf": "5"}],
    ids=["no cron", "NULL", "31 February", "past years only", "no number", "unknown type"],
)
def test_broken_schedule_is_stopped_and_hurts_no_other(world, broken):
    executor = world.executor()
    group = world.group(executor)
    bad = world.tables.add_job(group, **broken)
    good = world.tables.add_job(group)
    node = world.node()

    wait_until(lambda: world.tables.job(bad)["trigger_status"] == 0, 10, "the broken job to be stopped")
    executor.wait_runs(good, 3)

    row = world.tables.job(bad)
    assert (row["trigger_last_time"], row["trigger_next_time"]) == (0, 0)
    assert world.tables.job(good)["trigger_status"] == 1
    lines = [line for line in node.log_text().splitlines() if f"job={bad}" in line.split()]
    assert lines, f"no log line names job={bad}"


def test_job_without_group_or_addresses_ends_as_failed(world):
    empty, _ = world.tables.add_single_fire(world.tables.add_group("empty", []), 2)
    orphan, _ = world.tables.add_single_fire(4711, 2)
    world.node()

    for job in (empty, orphan):
        row = world.tables.wait_logs(job, "trigger_code <> 0")[0]
        assert row["trigger_code"] == 500
        assert row["executor_address"] is None


def test_rows_that_the_java_admin_left_open_are_not_ours(world):
    tables = world.tables
    minute_ago = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() - 60))
    soon = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 3))
    executor = world.executor()
    job = tables.add_job(world.group(executor))
    rows = [
        tables.add_log(job, trigger_code=0, trigger_msg=None, trigger_time=moment) for moment in (minute_ago, soon)
    ]
    world.node()

    executor.wait_runs(job, 6, seconds=15)

    assert {row["id"] for row in tables.logs(job, f"{OPEN} AND trigger_msg IS NULL")} == set(rows)
    assert not set(rows) & {run.logId for run in executor.runs(job)}


@pytest.mark.parametrize("zone, offset_h", [("Asia/Shanghai", 8), ("GMT%2B8", 8), ("UTC", 0)])
def test_trigger_time_is_in_the_zone_of_the_url(world, zone, offset_h):
    executor = world.executor()
    world.node(keys={"spring.datasource.url": world.server.jdbc_url(world.tables.database, zone)})
    job, due = world.tables.add_single_fire(world.group(executor), 4)  # in time: what is planned late has a later time

    row = world.tables.wait_logs(job, "trigger_code = 200")[0]

    written = row["trigger_time"].replace(tzinfo=None)
    expected = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(due + offset_h * 3600))
    assert str(written) == expected
    assert executor.runs(job)[0].logDateTime == due * 1000
