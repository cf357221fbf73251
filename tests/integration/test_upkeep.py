# SPDX-License-Identifier: MIT
"""Duties that one node does for all: the log report, cleaning, settings of jobs that are gone."""
import time

import pytest

from harness.process import wait_until

DAY = 24 * 3600


def at(seconds):
    """DATETIME text; the zone of the databases of the tests is UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


def midnight(days_back=0):
    now = int(time.time())
    return now - now % DAY - days_back * DAY


def reports(tables):
    rows = tables.rows("SELECT * FROM xxl_job_log_report ORDER BY trigger_day")
    return {str(row["trigger_day"]): (row["running_count"], row["suc_count"], row["fail_count"]) for row in rows}


def original(tables, days_back):
    """The numbers as the original counts them."""
    day = midnight(days_back)
    row, = tables.rows(
        "SELECT COUNT(*) AS n, COALESCE(SUM(trigger_code IN (0, 200) AND handle_code = 0), 0) AS running,"
        " COALESCE(SUM(handle_code = 200), 0) AS good FROM xxl_job_log WHERE trigger_time BETWEEN %s AND %s",
        (at(day), at(day + DAY - 1)))
    return int(row["running"]), int(row["good"]), int(row["n"] - row["running"] - row["good"])


@pytest.mark.asan
@pytest.mark.parametrize("family", ["2.3", "3.5"])
def test_reports_and_cleaning(make_world, mariadb, family):
    world = make_world(mariadb, family=family)
    tables = world.tables
    group = world.group(world.executor())
    kept = tables.add_job(group, "plain", trigger_status=0)
    short = tables.add_job(group, "plain", trigger_status=0)
    plain = tables.add_job(group, "plain", trigger_status=0)
    old = {"trigger_time": at(midnight(40)), "handle_code": 200}
    rows = {job: [tables.add_log(job, **old) for _ in range(300)] for job in (kept, short, plain)}
    edge = tables.add_log(plain, **{**old, "trigger_time": at(midnight(7))})
    young = tables.add_log(plain, **{**old, "trigger_time": at(midnight(7) + 1)})
    own = tables.add_log(short, **{**old, "trigger_time": at(midnight(2))})
    planned = tables.add_log(plain, **{**old, "trigger_code": 0, "handle_code": 0, "alarm_status": 1,
                                       "trigger_msg": f"<!--sw:p:{midnight(40)}:1-->"})
    # None of these is anybody else's to settle.
    states = [{"handle_code": 200}, {"handle_code": 500, "alarm_status": 2}, {"trigger_code": 0},
              {"trigger_code": 500, "alarm_status": 2}, {"trigger_code": 500, "handle_code": 200}]
    for days_back in reversed(range(5)):
        for i, state in enumerate(states * (5 - days_back)):
            tables.add_log(plain, trigger_time=at(midnight(days_back) + i * 61), **state)
    tables.insert("xxl_job_log_report", {"trigger_day": at(midnight(1)), "running_count": 99, "suc_count": 99,
                                         "fail_count": 99})
    tables.insert("xxl_job_log_report", {"trigger_day": at(midnight(3)), "running_count": 7, "suc_count": 7,
                                         "fail_count": 7})

    # Makes the tables of ours, and cleans nothing.
    world.node("maker", keys={"xxl.job.logretentiondays": -1, "shardwheel.shards": 2}).terminate(20)
    for job, days in ((kept, 60), (short, 1), (987654, 5)):
        tables.insert("shardwheel_job", {"job_id": job, "retention_days": days, "update_time": at(time.time() - 3600)})
    node = world.node(keys={"xxl.job.logretentiondays": 7, "shardwheel.shards": 2})

    expected = {at(midnight(days)): original(tables, days) for days in range(3)}
    expected[at(midnight(3))] = (7, 7, 7)
    assert expected[at(midnight(0))] == (5, 10, 10)
    def report_is_right():
        found = reports(tables)
        assert found == expected, found
        return True

    wait_until(report_is_right, 20, f"the numbers {expected}")
    count = "SELECT COUNT(*) FROM xxl_job_log WHERE job_id = %s"
    wait_until(lambda: tables.value(count, (short,)) == 0, 20, "the rows of the job with one day to go")
    there = {r["id"] for r in tables.rows("SELECT id FROM xxl_job_log")}
    assert set(rows[kept]) <= there and {young, planned} <= there
    assert not ({edge, own} | set(rows[plain]) | set(rows[short])) & there
    wait_until(lambda: not tables.rows("SELECT * FROM shardwheel_job WHERE job_id = 987654"), 10, "orphan to go")
    assert len(tables.rows("SELECT * FROM shardwheel_job")) == 2
    assert node.metrics()["shardwheel_log_rows_cleaned_total"] >= 600


def test_the_next_owner_goes_on(cluster):
    """One node reports; when it is killed, the next owner of shard 0 does."""
    tables = cluster.tables
    nodes = [cluster.node(name, keys={"shardwheel.shards": 2}) for name in ("node-a", "node-b")]
    tables.wait_owners([1, 1])
    today = at(midnight())
    wait_until(lambda: today in reports(tables), 20, "a report of today")
    owner = tables.value("SELECT owner FROM shardwheel_shard WHERE shard = 0")
    tables.add_log(4711, trigger_time=at(midnight()), handle_code=200)
    tables.execute("DELETE FROM xxl_job_log_report")
    next(node for node in nodes if node.name == owner).kill()
    wait_until(lambda: reports(tables).get(today) == (0, 1, 0), 30, "the report of the next owner")
