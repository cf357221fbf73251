# SPDX-License-Identifier: MIT
"""Child jobs: once for each run that ends well, whatever becomes of callbacks and nodes."""
import threading

import pytest

from harness.cluster import TOKEN
from harness.executors import Reply, callback_entry
from harness.process import wait_until

HEADING = '<br><br><span style="color:#00c0ef;" > >>>>>>>>>>>child jobs<<<<<<<<<<< </span><br>'
UNKNOWN = "delivery unknown"


def add_idle_job(tables, group, handler="plain", **columns):
    """A stopped job: it is fired as a child all the same."""
    return tables.add_job(group, handler, **{"trigger_status": 0, "trigger_next_time": 0, **columns})


def report(node, log_id, code=200, message="done"):
    return node.post("/api/callback", [callback_entry(log_id, code, message)], TOKEN)


@pytest.fixture(params=["2.3", "3.5", "3.4 on mysql8"])
def generation(request, make_world):
    server = request.getfixturevalue("mysql8" if "mysql8" in request.param else "mariadb")
    return make_world(server, family=request.param.split()[0])


@pytest.mark.asan
def test_children_run_when_their_parent_ends_well(generation):
    world, tables = generation, generation.tables
    executors = sorted((world.executor() for _ in range(2)), key=lambda e: e.address)
    group = world.group(*executors)
    leaf = add_idle_job(tables, group, "leaf", executor_param="of the leaf", executor_fail_retry_count=2)
    shards = add_idle_job(tables, group, "shards", executor_route_strategy="SHARDING_BROADCAST")
    node = world.node()
    parent, _ = tables.add_single_fire(group, 2, "parent", child_jobid=f"{leaf},{shards},{leaf},987654,x y,")

    run, = executors[0].wait_runs(parent)
    assert report(node, run.logId).code == 200

    # Answered means that the children stand in the log.
    rows = tables.logs(leaf) + tables.logs(shards)
    assert len(rows) == 4
    ids = sorted(row["id"] for row in rows)
    message = tables.log(run.logId)["handle_msg"]
    assert message == (
        f"done{HEADING}1/5: job {leaf} triggered as log {ids[0]}<br>"
        f"2/5: job {shards} triggered as log {ids[1]}, and 1 more<br>3/5: job {leaf} triggered as log {ids[3]}<br>"
        f"4/5: job 987654 does not exist<br>5/5: no job id: x y<br>")
    executors[0].wait_runs(leaf, 2)
    for number, executor in enumerate(executors):
        run_of_shard, = executor.wait_runs(shards)
        assert (run_of_shard.broadcastIndex, run_of_shard.broadcastTotal) == (number, 2)
    row = tables.wait_logs(leaf, "trigger_code = 200", 2)[0]
    assert (row["executor_param"], row["executor_fail_retry_count"]) == ("of the leaf", 2)
    assert row["trigger_msg"].startswith("<!--sw:d:") and "trigger type: parent<br>" in row["trigger_msg"]
    assert executors[0].runs(leaf)[0].executorParams == "of the leaf"
    assert node.metrics()["shardwheel_children_total"] == 4
    assert len(executors[0].runs(leaf)) == 2


def test_ends_that_are_no_success_start_nothing(world):
    tables = world.tables
    executor = world.executor()
    group = world.group(executor)
    child = add_idle_job(tables, group)
    parent = add_idle_job(tables, group, child_jobid=str(child))
    node = world.node()

    for code in (201, 500, 502, 0, -1):
        report(node, tables.add_log(parent, job_group=group), code)
    gone = tables.add_log(987654, job_group=group)
    report(node, gone)
    last = tables.add_log(parent, job_group=group, trigger_code=500)  # its trigger failed, and it ran all the same
    report(node, last)

    executor.wait_runs(child)
    assert len(tables.logs(child)) == 1
    assert tables.log(gone)["handle_msg"] == "done"


@pytest.mark.asan
def test_callback_at_several_nodes_at_once_runs_children_once(cluster):
    tables = cluster.tables
    executor = cluster.executor()
    group = cluster.group(executor)
    child = add_idle_job(tables, group)
    parent = add_idle_job(tables, group, child_jobid=str(child))
    nodes = [cluster.node("node-a"), cluster.node("node-b")]
    rounds = 20
    logs = [tables.add_log(parent, job_group=group) for _ in range(rounds)]

    for log_id in logs:
        barrier = threading.Barrier(10)

        def send(number, log_id=log_id, barrier=barrier):
            barrier.wait()
            assert report(nodes[number % 2], log_id, 200, f"sender {number}").code == 200

        threads = [threading.Thread(target=send, args=(number,)) for number in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(tables.logs(child)) == rounds
    wait_until(lambda: len(executor.runs(child)) == rounds, 10, f"{rounds} runs, not {len(executor.runs(child))}")
    for log_id in logs:
        message = tables.log(log_id)["handle_msg"]
        assert message.count("triggered as log") == 1 and message.count("sender") == 1


def test_jobs_that_are_each_others_children_come_to_an_end(world):
    tables = world.tables
    executor = world.executor()
    group = world.group(executor)
    one = add_idle_job(tables, group)
    two = add_idle_job(tables, group, child_jobid=str(one))
    tables.execute("UPDATE xxl_job_info SET child_jobid = %s WHERE id = %s", (f"{two}", one))
    node = world.node()
    # The executor reports at once, so that callbacks also come before the answer to the call.
    executor.replies["plain"] = Reply(before=lambda request: report(node, request.logId))

    report(node, tables.add_log(one, job_group=group))

    def ended():
        rows = tables.rows("SELECT handle_msg FROM xxl_job_log WHERE handle_msg LIKE '%%generations%%'")
        assert len(rows) == 1, f"{tables.value('SELECT COUNT(*) FROM xxl_job_log')} rows"
        return rows[0]["handle_msg"]

    assert "not triggered: 100 generations of children are the most" in wait_until(ended, 60, "the last generation")
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code = 200") == 101, 10, "results")
    assert tables.value("SELECT COUNT(*) FROM xxl_job_log") == 101


def test_limits_of_a_child_are_told_in_its_row(world):
    tables = world.tables
    executor = world.executor()
    group = world.group(executor)
    lost = add_idle_job(tables, 987, "lost")
    blind = add_idle_job(tables, tables.add_group("odd", ["no-url"]), "blind")
    strange = add_idle_job(tables, group, "strange", executor_route_strategy="NEW_ROUTE")
    fine = add_idle_job(tables, group, "fine")
    parent = add_idle_job(tables, group, child_jobid=f"{lost},{blind},{strange},{fine}")
    node = world.node()

    report(node, tables.add_log(parent, job_group=group))

    executor.wait_runs(fine)
    for job, words in ((lost, "executor group 987 does not exist"), (blind, "not sent: the address is no http URL"),
                       (strange, "unknown route strategy")):
        row, = tables.wait_logs(job, "trigger_code = 500")
        assert words in row["trigger_msg"]


@pytest.mark.slow
def test_child_of_a_node_that_is_killed_ends_as_unknown(cluster):
    """Between the commit and the end of its sending."""
    tables = cluster.tables
    executor = cluster.executor()
    group = cluster.group(executor)
    answer = threading.Event()
    executor.replies["slow"] = Reply(until=answer)
    child = add_idle_job(tables, group, "slow")
    parent = add_idle_job(tables, group, child_jobid=str(child))
    a = cluster.node("node-a")
    log_id = tables.add_log(parent, job_group=group)
    report(a, log_id)
    executor.wait_runs(child)
    a.kill()
    b = cluster.node("node-b")

    row, = tables.wait_logs(child, "trigger_code = 500", 1, 110)
    answer.set()

    assert UNKNOWN in row["trigger_msg"]
    report(b, log_id)  # the executor sends it again
    assert len(tables.logs(child)) == 1


def test_what_remains_beside_a_java_admin(world):
    """
    A Java admin reads the row, starts the children and writes the row without a condition. What it read before our
    commit makes it start them a second time: no rule of ours can keep it from that. Once our commit is done it finds
    the row ended, and ignores the callback.
    """
    tables = world.tables
    executor = world.executor()
    group = world.group(executor)
    child = add_idle_job(tables, group)
    parent = add_idle_job(tables, group, child_jobid=str(child))
    node = world.node()

    def java_reads(log_id):
        return tables.log(log_id)

    def java_completes(row):
        if row["handle_code"] > 0:
            return
        tables.add_log(child, job_group=group, trigger_code=0, trigger_msg=None)
        tables.execute("UPDATE xxl_job_log SET handle_code = 200, handle_msg = 'by Java' WHERE id = %s", (row["id"],))

    crossing, after = (tables.add_log(parent, job_group=group) for _ in range(2))
    read = java_reads(crossing)
    report(node, crossing)
    java_completes(read)
    assert len(tables.logs(child)) == 2, "both started it"

    report(node, after)
    java_completes(java_reads(after))
    assert len(tables.logs(child)) == 3

    before = tables.add_log(parent, job_group=group)
    java_completes(java_reads(before))
    report(node, before)
    assert len(tables.logs(child)) == 4 and tables.log(before)["handle_msg"] == "by Java"
