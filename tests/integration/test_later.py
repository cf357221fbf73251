# SPDX-License-Identifier: MIT
"""Later rows: triggers for a time, retries and fires that wait, and what a Java admin would not do."""
import json
import time

import pytest

from harness.executors import Reply, ScriptedExecutor
from harness.process import wait_until

PERIOD = 10  # seconds between two passes of the failure monitor
HELD = "<!--sw:h-->"


def idle_job(tables, group, handler="later", **columns):
    """A stopped job: nothing fires it but what is asked for."""
    return tables.add_job(group, handler, **{"trigger_status": 0, "trigger_next_time": 0, **columns})


def ctl(world, *arguments, status=0):
    result = world.ctl(*arguments)
    assert result.returncode == status, f"status {result.returncode}\n{result.stdout}{result.stderr}"
    return result


def trigger(world, job, *options):
    return json.loads(ctl(world, "trigger", str(job), *options, "--json").stdout)


def later(world):
    return json.loads(ctl(world, "later", "--json").stdout)


def settings(world, job, **values):
    columns = ", ".join(values)
    world.tables.execute(
        f"INSERT INTO shardwheel_job (job_id, {columns}) VALUES (%s{', %s' * len(values)})", (job, *values.values()))


def wait_gone(tables, seconds=20):
    """Until the later rows of runs that have ended are deleted."""
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM shardwheel_later") == 0, seconds, "no later row to be left")


@pytest.fixture(params=["2.3", "3.5", "3.4 on mysql8"])
def generation(request, make_world):
    server = request.getfixturevalue("mysql8" if "mysql8" in request.param else "mariadb")
    return make_world(server, family=request.param.split()[0])


@pytest.mark.asan
def test_a_trigger_fires_now_and_at_its_time(generation):
    world, tables = generation, generation.tables
    first, second = world.executor(), world.executor()
    group = world.group(first)
    job = idle_job(tables, group, executor_param="of the job", executor_fail_retry_count=2)
    everywhere = idle_job(tables, group, "all", executor_route_strategy="SHARDING_BROADCAST")
    node = world.node()

    trigger(world, job)
    (run,) = first.wait_runs(job)
    assert (run.executorParams, run.broadcastIndex, run.broadcastTotal) == ("", 0, 1)
    (row,) = tables.wait_logs(job, "trigger_code = 200")
    assert "trigger type: manual" in row["trigger_msg"] and ":KM" in row["trigger_msg"]
    assert (row["executor_param"], row["executor_fail_retry_count"]) == ("", 2)

    at = int(time.time()) + 8
    made = trigger(world, job, "--param", "it's \"ä\" 5 %", "--addresses", second.address, "--at",
                   time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(at)))
    assert (made["job"], made["dueSeconds"]) == (job, at)
    assert [(r["id"], r["kind"], r["param"], r["log"]) for r in later(world)] == \
        [(made["id"], "manual", "it's \"ä\" 5 %", None)]
    (run,) = second.wait_runs(job, 1, 15)
    assert run.executorParams == "it's \"ä\" 5 %"
    assert run.at_s >= at
    assert len(first.runs(job)) == 1

    trigger(world, everywhere, "--addresses", f"{first.address},{second.address}", "--param", "x")
    runs = first.wait_runs(everywhere) + second.wait_runs(everywhere)
    assert [(r.broadcastIndex, r.broadcastTotal, r.executorParams) for r in runs] == [(0, 2, "x"), (1, 2, "x")]
    wait_gone(tables)
    assert node.metrics()["shardwheel_fires_planned_total"] >= 4


def test_what_is_wrong_with_a_trigger_is_said(world):
    tables = world.tables
    group = world.group(world.executor())
    job = idle_job(tables, group)
    world.node()

    def refused(*words, status=1):
        result = world.ctl("trigger", *words[:-1])
        assert result.returncode == status, f"{words}: status {result.returncode}\n{result.stdout}{result.stderr}"
        assert words[-1] in result.stderr, result.stderr

    refused("77", "job id: there is no job 77")
    refused("2147483648", "expected the id of a job", status=2)
    refused("x", "expected the id of a job", status=2)
    refused(str(job), "--param", "x" * 70000, "parameter: ")
    refused(str(job), "--addresses", "nonsense", "addresses: \"nonsense\" is not an http URL")
    refused(str(job), "--addresses", " , ", "addresses: there is no address")
    refused(str(job), "--at", "2001-01-01 00:00", "at: \"2001-01-01 00:00\" is in the past")
    refused(str(job), "--at", "tomorrow", "at: expected")
    refused(str(job), "--shape", "round", "--shape: unknown option")
    assert later(world) == []
    tables.execute("UPDATE xxl_job_info SET job_group = 999 WHERE id = %s", (job,))
    refused(str(job), "executor group: ")


def test_what_waits_is_cancelled_once(world):
    tables = world.tables
    executor = world.executor()
    job = idle_job(tables, world.group(executor))
    world.node()
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 600))
    made = trigger(world, job, "--at", at)

    assert "is cancelled" in ctl(world, "cancel-later", str(made["id"])).stdout
    assert "there is no waiting run" in ctl(world, "cancel-later", str(made["id"]), status=1).stderr
    assert "No run is waiting" in ctl(world, "later").stdout
    asked, cancelled = tables.audit("job.%")
    assert (asked["action"], asked["target"], asked["before"]) == ("job.trigger", job, None)
    assert asked["after"] == {"executorParam": "", "atSeconds": made["dueSeconds"]}
    assert (cancelled["action"], cancelled["target"], cancelled["after"]) == ("job.cancel-later", job, None)
    assert cancelled["before"] == {"later": made["id"], "atSeconds": made["dueSeconds"]}
    assert asked["job_group"] == cancelled["job_group"] == tables.job(job)["job_group"]
    trigger(world, job)
    executor.wait_runs(job)
    assert len(executor.runs(job)) == 1


@pytest.mark.slow
def test_triggers_survive_a_kill(cluster):
    """Written while nobody lives, and while the node that has planned them is killed: each once, with its parameter."""
    tables = cluster.tables
    executor, other = cluster.executor(), cluster.executor()
    group = cluster.group(executor)
    jobs = [idle_job(tables, group, "plain") for _ in range(8)]
    a, b = cluster.node("node-a"), cluster.node("node-b")
    cluster.tables.wait_owners([4, 4])
    now = int(time.time())
    rows = [(0, now + 4 + n % 12, jobs[n % 8], "M", f"p{n}", other.address, -1, 0, now) for n in range(240)]
    with tables.connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO shardwheel_later (planned, due_s, job_id, kind, param, addresses, retries_left, generation,"
            " original_due_s) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)", rows)
    wait_until(lambda: len(other.runs()) >= 60, 30, "the first to arrive")
    a.kill()

    wait_gone(tables, 90)
    params = sorted(r.executorParams for r in other.runs())
    assert len(params) == len(set(params)), "some were sent twice"
    unknown = tables.value("SELECT COUNT(*) FROM xxl_job_log WHERE trigger_msg LIKE '%%-->delivery unknown%%'")
    logs = tables.value("SELECT COUNT(*) FROM xxl_job_log")
    assert logs == 240, f"{logs} log rows"
    assert len(params) + unknown >= 240
    assert not executor.runs(), "sent without their addresses"
    assert b.running()


@pytest.mark.slow
def test_retries_wait_and_survive_a_kill(cluster):
    tables = cluster.tables
    executor = cluster.executor()
    group = cluster.group(executor)
    job = idle_job(tables, group, "flaky", executor_fail_retry_count=2)
    executor.replies["flaky"] = Reply({"code": 500, "msg": "no"})
    nodes = [cluster.node("node-a"), cluster.node("node-b")]
    settings(cluster, job, retry_wait_s=4, retry_wait_max_s=60)
    trigger(cluster, job, "--param", "kept")
    executor.wait_runs(job)

    (row,) = wait_until(lambda: later(cluster), 2 * PERIOD + 5, "the retry to wait")
    assert (row["kind"], row["job"], row["param"]) == ("retry", job, "kept")
    nodes[0].kill()
    executor.wait_runs(job, 3, 120)
    rows = wait_until(lambda: len(tables.logs(job, "trigger_code = 500")) == 3 and tables.logs(job), 30, "three rows")
    assert [r["executor_fail_retry_count"] for r in rows] == [2, 1, 0]
    assert [r["executor_param"] for r in rows] == ["kept"] * 3
    assert "retry: at " in rows[0]["trigger_msg"] and "trigger type: retry" in rows[1]["trigger_msg"]
    wait_gone(tables)
    assert len(executor.runs(job)) == 3
    # It doubled: from the failure of the first retry to the second at least eight seconds.
    assert executor.runs(job)[2].at_s - executor.runs(job)[1].at_s >= 8


def test_a_fire_waits_for_its_executor(world):
    tables = world.tables
    executor = world.executor()
    address = executor.address
    executor.close()
    group = tables.add_group("away", [address])
    empty = tables.add_group("empty", [])
    node = world.node()
    held = tables.add_single_fire(group, 8, "held")[0]
    lonely = tables.add_single_fire(empty, 8, "lonely")[0]
    fails = tables.add_single_fire(group, 8, "fails")[0]
    short = tables.add_single_fire(group, 8, "short", executor_fail_retry_count=0)[0]
    for job in (held, lonely):
        settings(world, job, hold_s=300)
    settings(world, short, hold_s=7)

    tables.wait_logs(fails, "trigger_code = 500", 1, 25)
    wait_until(lambda: len(later(world)) >= 2, 15, "the fires to wait")
    (row,) = tables.logs(held)
    assert (row["trigger_code"], row["alarm_status"]) == (0, 0) and row["trigger_msg"].startswith(HELD)
    tables.wait_logs(short, "trigger_code = 500", 1, 30)  # its time is over
    assert "connection" in tables.logs(short)[0]["trigger_msg"].lower()
    assert "wait for an executor" in ctl(world, "going-back").stdout

    back = ScriptedExecutor()
    world.others.append(back)
    tables.execute("UPDATE xxl_job_group SET address_list = %s WHERE id IN (%s, %s)", (back.address, group, empty))
    back.wait_runs(held, 1, 30)
    back.wait_runs(lonely, 1, 30)
    for job in (held, lonely):
        (row,) = tables.wait_logs(job, "trigger_code = 200", 1, 10)
        assert "trigger type: cron" in row["trigger_msg"]
        assert len(tables.logs(job)) == 1, tables.brief(job)
    wait_gone(tables)
    assert len(back.runs()) == 2
    assert node.metrics()["shardwheel_fires_held_total"] >= 3


def test_going_back_lists_what_a_java_admin_will_not_do(world):
    """One of every kind, at the command and in the log of the last node."""
    tables = world.tables
    group = world.group(world.executor())
    job = idle_job(tables, group)
    node = world.node()
    assert "Nothing" in ctl(world, "going-back").stdout
    assert set(json.loads(ctl(world, "going-back", "--json").stdout)) >= {"manual", "retry", "held", "timeZone"}
    due = int(time.time()) + 3600
    for n, kind in enumerate("CFRMPA"):
        tables.execute(
            "INSERT INTO shardwheel_later (planned, due_s, job_id, kind, retries_left, generation, original_due_s)"
            " VALUES (0, %s, %s, %s, -1, 0, 0)", (due + n, job, kind))
    tables.execute("UPDATE shardwheel_later SET hold_until_s = %s WHERE kind = 'F'", (due + 9,))
    flow = tables.insert("shardwheel_flow", {"name": "nightly", "started": 1, "version": 1, "next_s": due + 7,
                                             "changed_ms": 1})
    tables.insert("shardwheel_flow_version", {"flow_id": flow, "version": 1, "at_ms": 1, "who": "test", "document": (
        '{"name":"nightly","schedule":{"every":60},"steps":[{"name":"a","type":"approval","text":"?"}]}')})
    tables.insert("shardwheel_flow_run", {"flow_id": flow, "version": 1, "state": 1, "kind": "M", "due_s": 1,
                                          "depth": 0, "who": "", "created_ms": 1, "look_ms": 0, "late_told": 0})
    settings(world, job, time_zone="Asia/Tokyo", fixed_delay_s=60, valid_until_s=due, retry_wait_s=5, hold_s=5,
             resend_lost=1, retention_days=3, done_by="06:00")

    facts = json.loads(ctl(world, "going-back", "--json").stdout)
    for name in ("schedule", "retry", "manual", "parent", "api", "held", "timeZone", "fixedDelay", "validity",
                 "retryWait", "hold", "resendLost", "retention", "flowRuns", "flows", "watch"):
        assert facts[name]["count"] == 1, name
    assert facts["manual"]["firstDueSeconds"] == due + 3
    assert facts["flows"]["firstDueSeconds"] == due + 7
    text = ctl(world, "going-back").stdout
    assert "flow runs that are open" in text and "flows with a schedule: they do not start; first " in text
    assert "waiting retries; first " in text and "jobs with a time zone" in text

    assert node.terminate(40) == 0
    line = next(line for line in node.log_text().splitlines() if "event=going_back" in line)
    for word in ("retries=1", "triggers=2", "children=1", "held=1", "time_zones=1", "fixed_delays=1", "retentions=1",
                 "watches=1", "flow_runs=1", "flows=1"):
        assert word in line, line
