# SPDX-License-Identifier: MIT
"""Executors that answer oddly or not at all: one POST each, and a row that says what happened."""
import socket
import threading

import pytest

from harness.cluster import TOKEN
from harness.executors import Reply, callback_entry
from harness.jobs import DONE
from harness.process import wait_until

GO_REFUSAL = [{"logId": 1, "logDateTim": 1, "executeResult": {"code": 500, "msg": "Task not registered"},
               "handleCode": 500, "handleMsg": "Task not registered"}]

ODD = {
    "refused": Reply({"code": 500, "msg": "block strategy effect：Discard Later"}),
    "empty": Reply(b""),
    "closed": Reply(close=True),
    "no_json": Reply(b"<html>hello</html>"),
    "cut_json": Reply(b'{"code":200'),
    "null": Reply(b"null"),
    "array": Reply(GO_REFUSAL),
    "no_code": Reply({"msg": "no code"}),
    "http_500": Reply({"code": 200}, status=500),
    "http_201": Reply({"code": 200}, status=201),
    "too_short": Reply(b'{"code":200', length=100),
}


@pytest.fixture(scope="module")
def odd(make_module_world, mariadb):
    """A node, and an executor that knows all handlers of ODD."""
    world = make_module_world(mariadb)
    executor = world.executor()
    executor.replies.update(ODD)
    group = world.group(executor)
    node = world.node(keys={"xxl.job.timeout": 3})
    return world, executor, group, node


@pytest.mark.asan
def test_every_odd_answer_is_a_failed_dispatch_and_one_post(odd):
    world, executor, group, _ = odd
    # A good fire first, so that the odd answers come on a connection that was used before: an HTTP client likes to
    # send again by itself when such a connection ends without an answer.
    good, _ = world.tables.add_single_fire(group, 2)
    executor.wait_runs(good)
    jobs = {name: world.tables.add_single_fire(group, 2, name)[0] for name in ODD}

    for name, job in jobs.items():
        row = world.tables.wait_logs(job, "trigger_code <> 0")[0]
        assert row["trigger_code"] == 500, f"{name}: {row}"
        assert row["handle_code"] == 0, name
        assert len(executor.runs(job)) == 1, f"{name}: the executor got {len(executor.runs(job))} POSTs"
        assert row["executor_address"] == executor.address, name
    assert "Discard Later" in world.tables.logs(jobs["refused"])[0]["trigger_msg"]
    assert "Task not registered" in world.tables.logs(jobs["array"])[0]["trigger_msg"]
    assert world.tables.wait_logs(good, "trigger_code <> 0")[0]["trigger_code"] == 200


def test_connection_that_dies_under_each_fire_is_never_used_twice_for_one(odd):
    world, executor, group, _ = odd
    kept = Reply()
    executor.replies["flaky"] = kept
    job = world.tables.add_job(group, "flaky")
    executor.wait_runs(job, 2)
    executor.replies["flaky"] = Reply(close=True)
    seen = len(executor.runs(job))
    executor.wait_runs(job, seen + 3)
    world.tables.stop_job(job)
    executor.replies["flaky"] = kept

    ids = [run.logId for run in executor.runs(job)]
    assert len(ids) == len(set(ids)), f"one log id was sent twice: {ids}"
    world.tables.wait_logs(job, "trigger_code = 500", 3)


def test_executor_that_never_answers_costs_only_its_own_fires(odd):
    world, executor, group, _ = odd
    release = threading.Event()
    executor.replies["silent"] = Reply(until=release)
    other = world.executor()
    neighbour = world.tables.add_job(world.group(other, app_name="other"))
    job, _ = world.tables.add_single_fire(group, 2, "silent")

    try:
        executor.wait_runs(job)
        before = len(other.runs(neighbour))
        row = world.tables.wait_logs(job, "trigger_code <> 0", seconds=12)[0]
        assert len(other.runs(neighbour)) >= before + 2, "the neighbour waited for the silent executor"
    finally:
        release.set()
        world.tables.stop_job(neighbour)
    assert (row["trigger_code"], row["handle_code"]) == (500, 0)
    assert len(executor.runs(job)) == 1


def test_nobody_listens_at_the_address(odd):
    world, _, _, _ = odd
    with socket.socket() as taken:  # bound, so that nobody else comes to listen there
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        job, _ = world.tables.add_single_fire(world.tables.add_group("nobody", [address]), 2)

        row = world.tables.wait_logs(job, "trigger_code <> 0")[0]

    assert row["trigger_code"] == 500
    assert row["executor_address"] == address


def test_callback_of_a_fire_whose_dispatch_failed_counts(odd):
    world, executor, group, node = odd
    executor.replies["lost_answer"] = Reply(close=True)
    job, _ = world.tables.add_single_fire(group, 2, "lost_answer")
    log_id = executor.wait_runs(job)[0].logId
    world.tables.wait_logs(job, "trigger_code = 500")

    assert node.post("/api/callback", [callback_entry(log_id, 200, "it ran")], TOKEN).code == 200

    row = world.tables.log(log_id)
    assert (row["handle_code"], row["handle_msg"]) == (200, "it ran")


@pytest.mark.asan
def test_callback_may_come_before_the_answer_to_the_run(odd):
    world, executor, group, node = odd
    answers = []
    executor.replies["eager"] = Reply(
        before=lambda run: answers.append(node.post("/api/callback", [callback_entry(run.logId, 200, "early")], TOKEN))
    )
    job, _ = world.tables.add_single_fire(group, 2, "eager")

    row = world.tables.wait_logs(job, DONE)[0]
    wait_until(lambda: answers, 10, "the answer to the callback, which follows the commit")

    assert [answer.code for answer in answers] == [200]
    assert row["handle_msg"] == "early"


@pytest.mark.parametrize("path", ["/run", "/trigger"])
def test_the_path_of_an_executor_is_found_and_remembered(odd, path):
    world, _, _, _ = odd
    executor = world.executor(paths=(path,))
    job = world.tables.add_job(world.group(executor, app_name=path.strip("/")))

    executor.wait_runs(job, 3)
    world.tables.stop_job(job)

    assert {run.path for run in executor.runs(job)} == {path}
    world.tables.wait_logs(job, "trigger_code = 200", 3)
    assert not world.tables.logs(job, "trigger_code = 500")


def test_request_holds_what_an_executor_needs(odd):
    world, executor, group, _ = odd
    job, due = world.tables.add_single_fire(
        group, 3, executor_param='{"a":"ö😀"}', executor_block_strategy="COVER_EARLY", executor_timeout=17,
    )

    run = executor.wait_runs(job)[0]

    row = world.tables.wait_logs(job, "trigger_code = 200")[0]
    assert run.json == {
        "jobId": job, "executorHandler": "demoJobHandler", "executorParams": '{"a":"ö😀"}',
        "executorBlockStrategy": "COVER_EARLY", "executorTimeout": 17, "logId": row["id"], "logDateTime": due * 1000,
        "glueType": "BEAN", "glueSource": "", "glueUpdatetime": 1714979289000, "broadcastIndex": 0, "broadcastTotal": 1,
    }
    assert run.headers["XXL-JOB-ACCESS-TOKEN"] == TOKEN
    assert run.headers["XXL-JOB-APPNAME"] == "scripted"
    assert run.headers["Content-Type"].startswith("application/json")
    assert due - 0.3 <= run.at_s < due + 2
