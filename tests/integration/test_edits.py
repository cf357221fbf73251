# SPDX-License-Identifier: MIT
"""What people change a second or more before a fire counts for that fire; and broadcasts."""
import time

import pytest

from harness.jobs import OPEN, due_second
from harness.process import wait_until


@pytest.fixture
def planned(cluster):
    """(cluster, executor, group): a node is up, and jobs due soon are planned at once."""
    executor = cluster.executor()
    group = cluster.group(executor)
    cluster.node()
    return cluster, executor, group


def wait_planned(tables, *jobs):
    for job in jobs:
        tables.wait_logs(job, f"{OPEN} AND trigger_msg LIKE '<!--sw:p:%%'")


def wait_until_second(second):
    wait_until(lambda: time.time() >= second, second - time.time() + 2, f"second {second}")


def yearly(tables, group, count, in_seconds=8):
    """Jobs all due in the same second, and then not for a year: (ids, due second). They are planned 5 s before it."""
    due = int(time.time()) + in_seconds
    cron = time.strftime("%S %M %H %d %m ?", time.gmtime(due))
    return [tables.add_job(group, cron=cron, trigger_next_time=due * 1000) for _ in range(count)], due


@pytest.mark.asan
def test_stop_delete_and_edit_one_second_before_the_fire_count(planned):
    cluster, executor, group = planned
    tables = cluster.tables
    (stopped, deleted, edited, witness), due = yearly(tables, group, 4)
    wait_planned(tables, stopped, deleted, edited, witness)
    assert time.time() < due - 1.2, "planned too late for the test to mean anything"

    tables.stop_job(stopped)
    tables.execute("DELETE FROM xxl_job_info WHERE id = %s", (deleted,))
    tables.execute("DELETE FROM xxl_job_log WHERE job_id = %s", (deleted,))
    tables.execute(
        "UPDATE xxl_job_info SET executor_handler = 'otherHandler', executor_param = 'new' WHERE id = %s", (edited,)
    )
    assert time.time() < due - 1.0

    executor.wait_runs(witness)
    run = executor.wait_runs(edited)[0]
    assert (run.executorHandler, run.executorParams) == ("otherHandler", "new")
    wait_until_second(due + 3)
    assert executor.runs(stopped) == [] and executor.runs(deleted) == []
    assert tables.logs(stopped, "trigger_code = 200") == [] and tables.open_rows(to_s=due) == []
    assert tables.logs(deleted) == [], "a row came back for a job that is gone"


def test_a_job_moved_to_another_group_fires_there(planned):
    """
    Its rows are written; its next fire goes to the new group's executor, and a broadcast to the group it was planned
    for.
    """
    cluster, executor, group = planned
    tables = cluster.tables
    other = cluster.executor()
    other_group = cluster.group(other)
    other.wait_runs(tables.add_job(other_group))  # the node knows the group
    (moved, witness), due = yearly(tables, group, 2, in_seconds=5)
    broadcast = tables.add_job(
        group, cron=tables.job(moved)["schedule_conf"], trigger_next_time=due * 1000,
        executor_route_strategy="SHARDING_BROADCAST"
    )
    wait_planned(tables, moved, witness, broadcast)
    planned_row = tables.logs(moved)[0]
    assert (planned_row["job_group"], planned_row["executor_address"]) == (group, executor.address)
    tables.execute("UPDATE xxl_job_info SET job_group = %s WHERE id IN (%s, %s)", (other_group, moved, broadcast))
    assert time.time() < due - 1.2, "moved too late for the test to mean anything"

    run = other.wait_runs(moved)[0]
    executor.wait_runs(witness)
    executor.wait_runs(broadcast)
    row = tables.wait_logs(moved, "trigger_code = 200")[0]
    assert (row["id"], row["job_group"], row["executor_address"]) == (run.logId, other_group, other.address)
    assert run.logDateTime == due * 1000 and row["id"] == planned_row["id"]
    part = tables.wait_logs(broadcast, "trigger_code = 200")[0]
    assert (part["job_group"], part["executor_address"]) == (group, executor.address)
    wait_until_second(due + 2)
    assert executor.runs(moved) == [] and other.runs(broadcast) == [] and other.runs(witness) == []
    assert [len(e.runs(job)) for e, job in ((other, moved), (executor, broadcast), (executor, witness))] == [1, 1, 1]
    assert len(tables.logs(moved)) == 1


def test_stopped_job_stays_silent_until_it_is_started_again(planned):
    cluster, executor, group = planned
    tables = cluster.tables
    job = tables.add_job(group)
    executor.wait_runs(job, 2)

    tables.stop_job(job)
    stopped_at = time.time()
    wait_until_second(stopped_at + 6)
    assert all(run.logDateTime < (stopped_at + 1) * 1000 for run in executor.runs(job))
    assert tables.open_rows() == []
    count = len(executor.runs(job))
    next_s = int(time.time()) + 3
    tables.execute(
        "UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = %s WHERE id = %s", (next_s * 1000, job)
    )
    executor.wait_runs(job, count + 2)

    assert [run.logDateTime // 1000 for run in executor.runs(job)[count:count + 2]] == [next_s, next_s + 1]


@pytest.mark.asan
def test_broadcast_reaches_every_address_with_its_index(cluster):
    executors = sorted((cluster.executor() for _ in range(3)), key=lambda e: e.address)
    group = cluster.group(*executors)
    cluster.node()
    job, _ = cluster.tables.add_single_fire(group, 2, executor_route_strategy="SHARDING_BROADCAST")

    rows = cluster.tables.wait_logs(job, "trigger_code = 200", 3)

    assert len(rows) == 3
    assert {row["executor_sharding_param"] for row in rows} == {"0/3", "1/3", "2/3"}
    for index, executor in enumerate(executors):
        runs = executor.runs(job)
        assert [(run.broadcastIndex, run.broadcastTotal) for run in runs] == [(index, 3)]
        row = cluster.tables.log(runs[0].logId)
        assert (row["executor_address"], row["executor_sharding_param"]) == (executor.address, f"{index}/3")


def test_broadcast_without_addresses_ends_as_one_failed_row(cluster):
    group = cluster.tables.add_group("empty", [])
    cluster.node()
    job, _ = cluster.tables.add_single_fire(group, 2, executor_route_strategy="SHARDING_BROADCAST")

    row = cluster.tables.wait_logs(job, "trigger_code = 500")[0]

    assert row["executor_sharding_param"] == "0/1"
    assert len(cluster.tables.logs(job)) == 1


def test_fixed_rate_keeps_its_rhythm(cluster):
    executor = cluster.executor()
    group = cluster.group(executor)
    cluster.node()
    job = cluster.tables.add_job(group, schedule_type="FIX_RATE", schedule_conf="2")

    runs = executor.wait_runs(job, 4, seconds=15)

    due = [run.logDateTime // 1000 for run in runs[:4]]
    assert [b - a for a, b in zip(due, due[1:])] == [2, 2, 2]


def test_a_locked_job_holds_up_no_other(planned):
    """Somebody's open transaction holds the row of one job; it fires when the row is free, the others in time."""
    cluster, executor, group = planned
    tables = cluster.tables
    jobs = [tables.add_job(group, cron="* * * * * ?") for _ in range(40)]
    for job in jobs:
        executor.wait_runs(job, 1)
    locked = jobs[17]
    holder = cluster.server.connect(tables.database)
    try:
        holder.autocommit(False)
        with holder.cursor() as cursor:
            cursor.execute("SELECT id FROM xxl_job_info WHERE id = %s FOR UPDATE", (locked,))
        begun = int(time.time())
        wait_until_second(begun + 14)
    finally:
        holder.close()
    for job in jobs:
        if job == locked:
            continue
        dues = {run.logDateTime // 1000 for run in executor.runs(job)}
        assert set(range(begun + 2, begun + 12)) <= dues, f"job {job} waited for the locked one"
    # Its own due times are caught up, one by one; the mark says for which second each stands.
    wanted = set(range(begun + 2, begun + 15))
    wait_until(lambda: wanted <= {due_second(row) for row in tables.logs(locked)}, 15, "the locked job to catch up")


def one_shard(world, server_jobs, second):
    """(node, jobs due at each fifth second from that one on): all of one shard, so that they are claimed together."""
    group = world.group(world.executor())
    jobs = [
        world.tables.add_job(group, cron=f"{second % 5}/5 * * * * ?", trigger_next_time=second * 1000)
        for _ in range(server_jobs)
    ]
    return world.node(keys={"shardwheel.shards": 1}), jobs


def hold_jobs(world, jobs):
    """Somebody's open transaction on their rows; close it to let them go."""
    holder = world.server.connect(world.tables.database)
    holder.autocommit(False)
    with holder.cursor() as cursor:
        for job in jobs:  # many at once might be a scan, which locks all
            cursor.execute("SELECT id FROM xxl_job_info WHERE id = %s FOR UPDATE", (job,))
    return holder


@pytest.mark.parametrize("kind", ["mariadb", "mysql8"])
def test_many_locked_jobs_hold_up_no_other(request, make_world, kind):
    """A hundred of three hundred rows are held for half a minute; before, the others fell behind by minutes."""
    world = make_world(request.getfixturevalue(kind))
    tables = world.tables
    node, jobs = one_shard(world, 300, int(time.time()) // 5 * 5 + 15)
    held = jobs[::3]
    tables.wait_logs(jobs[-1], "1=1", seconds=30)
    holder = hold_jobs(world, held)
    try:
        begun = int(time.time())
        others = [job for job in jobs if job not in held]
        wanted = {second for second in range(begun + 1, begun + 26) if second % 5 == 0}
        wait_until_second(begun + 26)

        def planned(job):
            return {due_second(row) for row in tables.logs(job)}

        # All that was due meanwhile is planned while the rows are still held.
        wait_until(lambda: all(wanted <= planned(job) for job in others), 10, "the others to be planned")
        assert node.metrics()["shardwheel_jobs_left_out_total"] >= len(held)
        assert all(max(planned(job)) < begun + 11 for job in held)
    finally:
        holder.close()
    wait_until(lambda: all(wanted <= planned(job) for job in held), 20, "the locked jobs to catch up")
    for job in jobs:
        dues = [due_second(row) for row in tables.logs(job)]
        assert len(dues) == len(set(dues)), f"job {job} has a due time twice: {dues}"


def test_a_node_ends_although_all_its_jobs_are_locked(world):
    """It waits for none of them once it is asked to end; before, it went on for 150 s."""
    node, jobs = one_shard(world, 500, int(time.time()) + 10)
    world.tables.wait_logs(jobs[-1], "1=1", seconds=30)
    holder = hold_jobs(world, jobs)
    try:
        wait_until(lambda: node.metrics()["shardwheel_jobs_left_out_total"] > 0,
                   30, "the claim to meet the locked rows")
        assert node.terminate(seconds=60) == 0
    finally:
        holder.close()


# What trigger_next_time falls back to


def write_back(tables, row):
    """As the Java admin's edit of a job: all columns as they were read before, whatever they are by now."""
    columns = ", ".join(f"`{name}` = %s" for name in row)
    tables.execute(f"UPDATE xxl_job_info SET {columns} WHERE id = %s", (*row.values(), row["id"]))


@pytest.mark.asan
def test_a_next_time_that_falls_back_doubles_nothing(planned):
    cluster, executor, group = planned
    tables = cluster.tables
    jobs = [
        tables.add_job(group, cron="* * * * * ?"),
        tables.add_job(group, schedule_type="FIX_RATE", schedule_conf="2"),
        tables.add_job(group, cron="0/3 * * * * ?", misfire_strategy="FIRE_ONCE_NOW"),
    ]
    begun = time.time()
    for job in jobs * 3:
        before = tables.job(job)
        wait_until(
            lambda: tables.job(job)["trigger_next_time"] > before["trigger_next_time"], 10, "the next claim of the job"
        )
        write_back(tables, before)
        wait_until(
            lambda: tables.job(job)["trigger_next_time"] > before["trigger_next_time"], 10, "the job to be moved on"
        )
    wait_until_second(begun + 10)
    for job in jobs:
        tables.stop_job(job)
    for job in jobs:
        dues = [due_second(row) for row in tables.logs(job)]
        assert len(dues) == len(set(dues)), f"job {job} has a due time twice: {dues}"
        arrivals = [run.logDateTime for run in executor.runs(job)]
        assert len(arrivals) == len(set(arrivals)), f"job {job} went out twice: {arrivals}"
        dues.sort()
        rate = {jobs[0]: 1, jobs[1]: 2, jobs[2]: 3}[job]
        assert {b - a for a, b in zip(dues[1:], dues[2:])} == {rate}, f"job {job} lost a due time: {dues}"


def test_a_takeover_knows_what_was_planned(cluster):
    """The owner dies with a fire planned, and an edit writes the next time of before; the next owner sends it once."""
    executor = cluster.executor()
    group = cluster.group(executor)
    tables = cluster.tables
    first = cluster.node("node-a")
    (job, witness), due = yearly(tables, group, 2, in_seconds=9)
    before = tables.job(job)
    wait_planned(tables, job, witness)
    first.kill()
    assert time.time() < due - 1.2, "planned too late for the test to mean anything"
    write_back(tables, before)
    second = cluster.node("node-b")
    executor.wait_runs(witness, seconds=40)
    executor.wait_runs(job, seconds=40)
    wait_until(lambda: tables.job(job)["trigger_next_time"] > due * 1000, 20, "the job to be moved on")
    wait_until(lambda: second.metrics()["shardwheel_next_times_back_total"] == 1, 10, "the node to say so")
    assert [len(tables.logs(j)) for j in (job, witness)] == [1, 1]
    assert [len(executor.runs(j)) for j in (job, witness)] == [1, 1]
