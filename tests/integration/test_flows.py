# SPDX-License-Identifier: MIT
"""Flow runs: steps start once, in their order, with the values of those before them."""
import json
import threading
import time

import pytest

from harness.cluster import TOKEN
from harness.executors import Reply, callback_entry
from harness.flows import Flows
from harness.process import wait_until


@pytest.fixture
def flows(world):
    return Flows(world)


def job(name, job_id, **members):
    return {"name": name, "type": "job", "jobId": job_id, **members}


def edges(*pairs, **members):
    return [{"from": a, "to": b, **members} for a, b in pairs]


@pytest.mark.asan
def test_steps_run_in_a_line_with_values(world, flows):
    first, second = flows.add_job("first"), flows.add_job("second", executor_param="of the job")
    third = flows.add_job("third")
    flow = flows.add("line", parameters=[{"name": "region", "default": "cn"}],
                     steps=[job("a", first, param="${flow.region} ${run.id}"), job("b", second),
                            job("c", third, param="${steps.a.result/n} ${steps.b.result}")],
                     edges=edges(("a", "b"), ("b", "c")))
    node = flows.node

    run = flows.start(flow, {"region": "eu"})
    flows.answer(node, first, '{"n": 7}')
    flows.answer(node, second, "plain <text>")
    flows.answer(node, third, "end")
    assert flows.wait_end(run) == "succeeded"

    params = [flows.executor.runs(j)[0].executorParams for j in (first, second, third)]
    assert params == [f"eu {run}", "of the job", "7 plain <text>"]
    assert [len(world.tables.logs(j)) for j in (first, second, third)] == [1, 1, 1]
    row, = world.tables.logs(first)
    assert row["trigger_msg"].startswith("<!--sw:d:") and f":W{run}.0-->" in row["trigger_msg"]
    assert "trigger type: flow<br>" in row["trigger_msg"]
    steps = flows.steps(run)
    assert [(s["state"], s["code"], s["tries"]) for s in steps] == [("succeeded", 200, 1)] * 3
    assert steps[0]["result"] == '{"n": 7}' and steps[0]["log_id"] == row["id"]
    assert world.tables.value("SELECT COUNT(*) FROM shardwheel_flow_fire") == 0
    assert node.metrics()['shardwheel_flow_runs_total{result="succeeded"}'] == 1


def test_failures_are_retried_and_decide_what_follows(world, flows):
    bad = flows.add_job("bad", executor_fail_retry_count=2)
    good, handler = flows.add_job("good"), flows.add_job("handler")
    flow = flows.add("fails", steps=[job("bad", bad), job("good", good), job("handler", handler), job("last", good)],
                     edges=edges(("bad", "good"), ("good", "last")) + edges(("bad", "handler"), on="failure"))
    node = flows.node

    run = flows.start(flow)
    for nth in range(3):
        flows.answer(node, bad, "no", code=500, nth=nth)
    flows.answer(node, handler)
    assert flows.wait_end(run) == "succeeded"
    assert flows.states(run) == ["failed", "skipped", "succeeded", "skipped"]
    assert flows.steps(run)[0]["tries"] == 3 and flows.steps(run)[0]["message"] == "no"
    rows = world.tables.logs(bad)
    assert [row["executor_fail_retry_count"] for row in rows] == [0, 0, 0]
    assert world.tables.logs(good) == []


def test_lost_runs_of_a_step_are_sent_again_by_its_flow_alone(world, flows):
    """Three of them, which do not count as tries; then the job's own retries, and none by the failure monitor."""
    work = flows.add_job("work", executor_fail_retry_count=1)
    world.tables.execute("INSERT INTO shardwheel_job (job_id, resend_lost) VALUES (%s, 1)", (work,))
    flow = flows.add("lost", steps=[job("a", work)])

    run = flows.start(flow)
    for nth in range(5):
        log_id = flows.executor.wait_runs(work, nth + 1)[nth].logId
        wait_until(lambda: world.tables.log(log_id)["trigger_code"] == 200, 10, "the run to be accepted")
        world.tables.execute("UPDATE xxl_job_log SET handle_code = 500, handle_msg = '<!--sw:l-->lost: by a test' "
                             "WHERE id = %s", (log_id,))
    assert flows.wait_end(run) == "failed"
    step, = flows.steps(run)
    assert (step["tries"], step["lost"], step["message"]) == (5, 3, "lost: by a test")
    rows = world.tables.logs(work)
    assert [row["executor_fail_retry_count"] for row in rows] == [0] * 5
    wait_until(lambda: all(row["alarm_status"] > 0 for row in world.tables.logs(work)), 30, "the failure monitor")
    assert len(world.tables.logs(work)) == 5


def test_a_path_that_is_not_there_fails_the_step_and_names_it(world, flows):
    first, second = flows.add_job("first"), flows.add_job("second")
    flow = flows.add("nowhere", steps=[job("a", first), job("b", second, param="${steps.a.result/x}")],
                     edges=edges(("a", "b")))
    node = flows.node

    run = flows.start(flow)
    flows.answer(node, first, '{"y": 1}')
    assert flows.wait_end(run) == "failed"
    assert flows.states(run) == ["succeeded", "failed"]
    assert "steps.a.result/x" in flows.steps(run)[1]["message"]
    assert world.tables.logs(second) == []


@pytest.mark.asan
def test_a_map_runs_each_item_once_and_few_at_a_time(world, flows):
    source, last = flows.add_job("source"), flows.add_job("last")
    each = flows.add_job("each", executor_fail_retry_count=1)
    flow = flows.add("map", steps=[job("source", source),
                                   {"name": "each", "type": "map", "jobId": each, "items": "steps.source.result",
                                    "param": "${index}:${item/id}", "parallel": 3},
                                   job("last", last, param="${steps.each.result}")],
                     edges=edges(("source", "each"), ("each", "last")))
    node = flows.node

    run = flows.start(flow)
    flows.answer(node, source, json.dumps([{"id": f"s{i}"} for i in range(10)]))
    most, failed = 0, False
    answered = set()
    while len(answered) < 11:
        wait_until(lambda: [r for r in flows.executor.runs(each) if r.logId not in answered], 10, "more items")
        open_runs = [r for r in flows.executor.runs(each) if r.logId not in answered]
        most = max(most, len(open_runs))
        one = open_runs[0]
        code = 500 if one.executorParams == "4:s4" and not failed else 200
        failed |= code == 500
        flows.report(node, one.logId, f"r{one.executorParams[0]}", code)
        answered.add(one.logId)
    assert most <= 3
    flows.answer(node, last)
    assert flows.wait_end(run) == "succeeded"
    results = json.loads(flows.executor.runs(last)[0].executorParams)
    assert results == [f"r{i}" for i in range(10)]
    assert sorted(r.executorParams for r in flows.executor.runs(each)) == sorted(
        [f"{i}:s{i}" for i in range(10)] + ["4:s4"])
    assert (flows.steps(run)[1]["items"], flows.steps(run)[1]["items_failed"]) == (10, 0)


def test_a_broadcast_is_one_step(world, flows):
    second = world.executor()
    group = world.group(flows.executor, second, app_name="two")
    shards = world.tables.add_job(group, "shards", trigger_status=0, trigger_next_time=0,
                                  executor_route_strategy="SHARDING_BROADCAST", executor_fail_retry_count=1)
    flow = flows.add("broadcast", steps=[{"name": "all", "type": "broadcast", "jobId": shards}])
    node = flows.node

    run = flows.start(flow)
    a, = flows.executor.wait_runs(shards)
    b, = second.wait_runs(shards)
    flows.report(node, a.logId, "one", 200)
    flows.report(node, b.logId, "bad", 500)
    again = second.wait_runs(shards, 2)[1]
    assert (again.broadcastIndex, again.broadcastTotal) == (b.broadcastIndex, 2)
    flows.report(node, again.logId, "two", 200)
    assert flows.wait_end(run) == "succeeded"
    assert len(flows.executor.runs(shards)) == 1
    result = json.loads(flows.steps(run)[0]["result"])
    assert result[a.broadcastIndex] == "one" and result[b.broadcastIndex] == "two"


def test_waits_approvals_and_flows_as_steps(world, flows):
    work = flows.add_job("work")
    flows.add("inner", parameters=[{"name": "n", "type": "number"}], steps=[job("work", work, param="n=${flow.n}")])
    flow = flows.add("outer", steps=[{"name": "wait", "type": "wait", "seconds": 1},
                                     {"name": "ask", "type": "approval", "text": "Release ${run.id}?"},
                                     {"name": "sub", "type": "flow", "flow": "inner", "parameters": {"n": 5}},
                                     job("last", work, param="${steps.sub.result/work}")],
                     edges=edges(("wait", "ask"), ("ask", "sub"), ("sub", "last")))
    node = flows.node

    run = flows.start(flow)
    wait_until(lambda: flows.states(run)[:2] == ["succeeded", "running"], 10, "the question")
    assert flows.steps(run)[1]["message"] == f"Release {run}?"
    flows.ask(run, "approve", 1, remark="go")
    flows.answer(node, work, "inner result", nth=0)
    flows.answer(node, work, "x", nth=1)
    assert flows.wait_end(run) == "succeeded"
    assert [r.executorParams for r in flows.executor.runs(work)] == ["n=5", "inner result"]
    assert flows.steps(run)[1]["remark"] == "go"


def test_cancel_and_run_again_from_the_failed_step(world, flows):
    flows.executor.paths = ("/run", "/kill")
    first, second, third = (flows.add_job(n) for n in ("first", "second", "third"))
    flow = flows.add("again", steps=[job("a", first), job("b", second), job("c", third)],
                     edges=edges(("a", "b"), ("b", "c")))
    node = flows.node

    run = flows.start(flow)
    flows.answer(node, first)
    flows.executor.wait_runs(second)
    flows.ask(run, "cancel")
    assert flows.wait_end(run) == "cancelled"
    assert flows.states(run) == ["succeeded", "cancelled", "cancelled"]
    wait_until(lambda: flows.executor.questions("/kill"), 10, "a kill")
    wait_until(lambda: world.tables.logs(second)[0]["handle_code"] == 500, 10, "the end of the killed run")

    flows.ask(run, "rerun")
    flows.answer(node, second, code=500, nth=1)
    assert flows.wait_end(run) == "failed"
    assert flows.states(run) == ["succeeded", "failed", "skipped"]
    flows.ask(run, "retry", 1)
    flows.answer(node, second, nth=2)
    flows.answer(node, third)
    assert flows.wait_end(run) == "succeeded"
    assert len(world.tables.logs(first)) == 1 and len(world.tables.logs(second)) == 3

    run = flows.start(flow)
    flows.answer(node, first, code=500, nth=1)
    assert flows.wait_end(run) == "failed"
    flows.ask(run, "done", 0, remark="by me")
    flows.answer(node, second, nth=3)
    flows.answer(node, third, code=500, nth=1)
    assert flows.wait_end(run) == "failed"
    flows.ask(run, "skip", 2, remark="not needed")
    assert flows.wait_end(run) == "succeeded"
    assert flows.states(run) == ["succeeded", "succeeded", "skipped"]


def test_a_run_that_is_being_sent_is_stopped_when_it_has_arrived(world, flows):
    flows.executor.paths = ("/run", "/kill")
    answered = threading.Event()
    work = flows.add_job("work")
    flows.executor.replies["work"] = Reply(until=answered)
    run = flows.start(flows.add("slow", steps=[job("a", work)]))
    flows.executor.wait_runs(work)
    flows.ask(run, "cancel")
    assert flows.wait_end(run) == "cancelled"
    assert not flows.executor.questions("/kill")
    answered.set()
    wait_until(lambda: flows.executor.questions("/kill"), 10, "a kill")


def test_schedules_and_what_happens_while_a_run_is_open(world, flows):
    work = flows.add_job("work")
    now = int(time.time())
    skip = flows.add("skip", steps=[job("a", work)], schedule={"every": 1}, next_s=now + 1)
    node = flows.node
    wait_until(lambda: world.tables.value(
        "SELECT COUNT(*) FROM shardwheel_flow_run WHERE flow_id = %s AND state = 5", (skip,)) >= 2, 15, "skipped runs")
    world.tables.execute("UPDATE shardwheel_flow SET started = 0, next_s = NULL WHERE id = %s", (skip,))
    rows = world.tables.rows("SELECT * FROM shardwheel_flow_run WHERE flow_id = %s ORDER BY id", (skip,))
    assert [r["state"] for r in rows[:2]] == [1, 5] and rows[1]["message"] == "the previous run was still open"
    assert [r["due_s"] for r in rows] == list(range(now + 1, now + 1 + len(rows)))

    queue = flows.add("queue", steps=[job("a", work)], schedule={"every": 1}, whenRunning="queue", queueMax=1,
                      next_s=int(time.time()) + 1)
    wait_until(lambda: world.tables.value(
        "SELECT COUNT(*) FROM shardwheel_flow_run WHERE flow_id = %s AND state = 5", (queue,)) >= 1, 15, "a full line")
    world.tables.execute("UPDATE shardwheel_flow SET started = 0, next_s = NULL WHERE id = %s", (queue,))
    for nth in range(3):
        flows.answer(node, work, nth=nth)
    wait_until(lambda: world.tables.value(
        "SELECT COUNT(*) FROM shardwheel_flow_run WHERE flow_id = %s AND state = 2", (queue,)) == 2, 10, "both runs")


def test_very_many_flows_that_start_at_the_same_moment(world, flows):
    """More than are moved together, and more than are kept in memory."""
    step = {"name": "wait", "type": "wait", "seconds": 1}
    for number in range(700):
        flows.start(flows.add(f"flow-{number}", steps=[step]), look_ms=253402300799999)
    world.tables.execute("UPDATE shardwheel_flow_run SET look_ms = 0")
    wait_until(lambda: world.tables.value("SELECT COUNT(*) FROM shardwheel_flow_run WHERE state = 2") == 700, 30,
               "the ends of all runs")


def test_maps_begin_part_by_part(world, flows):
    """More fires than one move has, of several runs, at the start and with the ends of items; each once."""
    each = flows.add_job("each")
    flow = flows.add("map", parameters=[{"name": "items", "type": "json"}],
                     steps=[{"name": "each", "type": "map", "jobId": each, "items": "flow.items", "param": "${index}",
                             "parallel": 900}])
    runs = [flows.start(flow, {"items": list(range(1000))}, look_ms=253402300799999) for _ in range(5)]
    world.tables.execute("UPDATE shardwheel_flow_run SET look_ms = 0")
    for first, last in ((0, 4500), (4500, 5000)):
        wait_until(lambda: len(flows.executor.runs(each)) >= last, 60, f"{last} items")
        entries = [callback_entry(run.logId, 200, "x") for run in flows.executor.runs(each)[first:last]]
        assert flows.node.post("/api/callback", entries, TOKEN).code == 200
    for run in runs:
        assert flows.wait_end(run, 60) == "succeeded"
    assert len(flows.executor.runs(each)) == len(world.tables.logs(each)) == 5000


def test_a_fire_of_a_run_that_is_gone_is_forgotten(world, flows):
    flows.tables.insert("shardwheel_flow_fire", {"log_id": 999999, "run_id": 888888, "step": 0, "item": -1})

    def forgotten():
        flows.tables.execute("COMMIT")
        return flows.tables.value("SELECT COUNT(*) FROM shardwheel_flow_fire WHERE run_id = 888888") == 0
    flows.node.end_cleanly()
    world.node()  # it reads what is waited for when it begins
    wait_until(forgotten, 20, "the fire of a run that is gone")


def test_a_run_whose_row_somebody_holds_keeps_no_other(world, flows, mariadb):
    flow = flows.add("one", steps=[{"name": "wait", "type": "wait", "seconds": 1}])
    held = flows.start(flow, look_ms=253402300799999)
    stranger = mariadb.connect(world.tables.database)
    stranger.begin()
    with stranger.cursor() as cursor:
        cursor.execute("UPDATE shardwheel_flow_run SET look_ms = 0 WHERE id = %s", (held,))
        stranger.commit()
        stranger.begin()
        cursor.execute("SELECT id FROM shardwheel_flow_run WHERE id = %s FOR UPDATE", (held,))
        others = [flows.start(flow) for _ in range(3)]
        assert [flows.wait_end(run, 60) for run in others] == ["succeeded"] * 3
    stranger.rollback()
    assert flows.wait_end(held, 30) == "succeeded"
