# SPDX-License-Identifier: MIT
"""shardwheelctl flow: documents are applied, compared and made of child jobs; runs are started, shown and worked on."""
import json

import pytest

from harness.flows import Flows
from harness.node import options, run_shardwheel
from harness.process import wait_until


@pytest.fixture
def empty(world):
    """The tables, and no node: nothing moves what is written."""
    assert run_shardwheel(["install-schema", *options(world.keys())]).returncode == 0
    return world


@pytest.fixture
def jobs(empty):
    group = empty.tables.add_group("scripted", ["http://127.0.0.1:1/"])
    return [empty.tables.add_job(group, name, trigger_status=0, trigger_next_time=0) for name in ("first", "second")]


def flow(world, *arguments):
    result = world.ctl("flow", *map(str, arguments))
    assert result.returncode == 0, f"status {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


def answer(world, *arguments):
    return json.loads(flow(world, *arguments, "--json"))


def refused(world, *arguments, status=1):
    """What it says on stderr."""
    result = world.ctl("flow", *map(str, arguments))
    assert result.returncode == status and not result.stdout, result.stdout + result.stderr
    return result.stderr


def document(jobs, **members):
    return {"name": "report", "steps": [{"name": "load", "type": "job", "jobId": jobs[0]},
                                        {"name": "ask", "type": "approval", "text": "Send it?"},
                                        {"name": "send", "type": "job", "jobId": jobs[1]}],
            "edges": [{"from": "load", "to": "ask"}, {"from": "ask", "to": "send"}], **members}


def write(tmp_path, content):
    path = tmp_path / "flow.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def audit(world, action):
    return [(row["target"], row["target_name"]) for row in world.tables.audit(action)]


def test_a_document_is_applied(empty, jobs, tmp_path):
    world = empty
    assert "There are no flows" in flow(world, "list") and answer(world, "list") == []
    path = write(tmp_path, document(jobs, schedule={"cron": "0 0 2 * * ?", "zone": "Asia/Shanghai"}))

    said = flow(world, "apply", "-f", path, "--dry-run")
    assert "flow report would get version 1" in said and "Nothing was written" in said
    assert answer(world, "list") == []

    made = answer(world, "apply", "-f", path)
    assert made == {"dryRun": False, "name": "report", "isNew": True, "id": made["id"], "version": 1, "differences": []}
    assert audit(world, "flow.create") == [(made["id"], "report")]
    (row,) = answer(world, "list")
    assert row == {"id": made["id"], "name": "report", "started": False, "version": 1, "steps": 3,
                   "schedule": "cron 0 0 2 * * ?, Asia/Shanghai", "nextSeconds": None, "openRuns": 0}
    assert "report  stopped" in flow(world, "list")

    assert "flow report is the same already: version 1" in flow(world, "apply", "-f", path)
    turned = dict(reversed(json.loads(path.read_text()).items()))
    path = write(tmp_path, json.dumps(turned, indent=2))
    assert "flow report is the same already: version 1" in flow(world, "apply", "-f", path)
    turned["steps"] = turned["steps"][::-1]
    path = write(tmp_path, turned)
    assert "flow report would get version 2" in flow(world, "apply", "-f", path, "--dry-run")
    path = write(tmp_path, document(jobs, deadline=60, schedule={"every": 600}))
    changes = ['~ schedule: {"cron":"0 0 2 * * ?","zone":"Asia/Shanghai"} -> {"every":600}', "~ deadline: none -> 60"]
    assert sorted(answer(world, "apply", "--file", path, "--dry-run")["differences"]) == sorted(changes)
    assert answer(world, "apply", "-f", path)["version"] == 2
    assert sorted(flow(world, "diff", "report", 1, 2).splitlines()) == sorted(changes)
    assert "do not differ" in flow(world, "diff", "report", 2, 2)

    shown = answer(world, "show", "report")
    assert (shown["version"], [v["version"] for v in shown["versions"]]) == (2, [2, 1])
    assert shown["document"] == document(jobs, deadline=60, schedule={"every": 600})
    assert {v["who"] for v in shown["versions"]} == {"shardwheelctl"}
    text = flow(world, "show", "report")
    assert f"flow      report ({made['id']})" in text and "every 600 s" in text


def test_what_is_wrong_with_a_document_is_said(empty, jobs, tmp_path):
    wrong = document(jobs, deadline=0)
    wrong["steps"][0]["jobId"] = "x"
    said = refused(empty, "apply", "-f", write(tmp_path, wrong))
    assert "/deadline: " in said and "/steps/0/jobId: " in said and "the document has 2 errors" in said
    gone = document(jobs)
    gone["steps"][0]["jobId"] = 99999
    assert "/steps/0/jobId: " in refused(empty, "apply", "-f", write(tmp_path, gone), "--dry-run")
    assert "not JSON" in refused(empty, "apply", "-f", write(tmp_path, "{'"))
    assert "it is empty" in refused(empty, "apply", "-f", write(tmp_path, ""))
    assert "No such file" in refused(empty, "apply", "-f", tmp_path / "none")
    assert "unknown option" in refused(empty, "apply", "--folder", "x")
    assert "usage: shardwheelctl flow apply" in refused(empty, "apply", status=2)
    assert "expected list, show, apply" in refused(empty, "copy", status=2)
    for arguments in (["show", "none"], ["start", "none"], ["run", "none"], ["runs", "none"], ["diff", "none", 1, 2]):
        assert 'there is no flow "none"' in refused(empty, *arguments)
    assert answer(empty, "list") == []


def test_versions_that_are_not_there(empty, jobs, tmp_path):
    flow(empty, "apply", "-f", write(tmp_path, document(jobs)))
    assert "there is no version 2: the newest one is 1" in refused(empty, "diff", "report", 1, 2)
    assert "expected the number of a version" in refused(empty, "diff", "report", "x", 1)


def test_child_jobs_become_a_flow(empty):
    world, tables = empty, empty.tables
    group = tables.add_group("scripted", ["http://127.0.0.1:1/"])
    stopped = {"trigger_status": 0, "trigger_next_time": 0}
    last = tables.add_job(group, "last", **stopped)
    left = tables.add_job(group, "left side", child_jobid=str(last), **stopped)
    right = tables.add_job(group, "right", child_jobid=str(last), executor_route_strategy="SHARDING_BROADCAST",
                           **stopped)
    first = tables.add_job(group, "first", child_jobid=f"{left},{right}", **stopped)

    made = json.loads(flow(world, "from-children", first))
    assert made == {
        "name": "first",
        "steps": [{"name": "first", "type": "job", "jobId": first},
                  {"name": "left-side", "type": "job", "jobId": left, "description": "left side"},
                  {"name": "right", "type": "broadcast", "jobId": right},
                  {"name": "last", "type": "job", "jobId": last, "join": "any"}],
        "edges": [{"from": "first", "to": "left-side"}, {"from": "first", "to": "right"},
                  {"from": "left-side", "to": "last"}, {"from": "right", "to": "last"}]}
    assert answer(world, "list") == []
    assert "flow first has version 1" in flow(world, "from-children", first, "--apply")
    assert answer(world, "show", "first")["document"] == made
    assert "there is already a flow first" in refused(world, "from-children", first, "--apply")
    assert tables.job(first)["child_jobid"] == f"{left},{right}"

    tables.execute("UPDATE xxl_job_info SET child_jobid = %s WHERE id = %s", (first, last))
    assert "circle: " in refused(world, "from-children", first)
    tables.execute("UPDATE xxl_job_info SET child_jobid = '99999' WHERE id = %s", (last,))
    assert "there is no job 99999" in refused(world, "from-children", first)
    tables.execute("UPDATE xxl_job_info SET child_jobid = '5,x' WHERE id = %s", (last,))
    assert f'job {last} has the child "x"' in refused(world, "from-children", first)
    assert "there is no job 99999" in refused(world, "from-children", 99999)


def test_runs_are_started_once_for_a_key(empty, jobs, tmp_path):
    world = empty
    parameters = [{"name": "region", "required": True}, {"name": "n", "type": "number"}, {"name": "j", "type": "json"}]
    flow(world, "apply", "-f", write(tmp_path, document(jobs, parameters=parameters, whenRunning="parallel")))
    assert "There are no runs" in flow(world, "runs") and answer(world, "runs", "report") == []

    for arguments, why in ((["--param", "n=1"], "region"), (["--param", "region"], "NAME=VALUE"),
                           (["--param", "n=x"], '"n" must be a number'), (["--param", "m=1"], 'no parameter "m"'),
                           (["--param", "region=cn", "--key", "a b"], "key"), (["--speed", "1"], "unknown option")):
        assert why in refused(world, "run", "report", *arguments)
    assert answer(world, "runs") == []

    given = ["--param", "region=a=\"b\"", "--param", "n=1.5", "--param", "j={\"x\": [1]}", "--key", "k1"]
    made = answer(world, "run", "report", *given)
    assert made == {"run": made["run"], "isNew": True}
    assert answer(world, "run", "report", *given) == {"run": made["run"], "isNew": False}
    assert "already has this key" in flow(world, "run", "report", *given)
    (run,) = answer(world, "runs", "report")
    assert (run["run"], run["flow"], run["version"], run["state"], run["kind"], run["who"]) == \
        (made["run"], "report", 1, "running", "manual", "shardwheelctl")
    shown = answer(world, "run-show", made["run"])
    assert shown["parameters"] == {"region": "a=\"b\"", "n": 1.5, "j": {"x": [1]}}
    assert [(s["name"], s["type"], s["state"]) for s in shown["steps"]] == \
        [("load", "job", "waiting"), ("ask", "approval", "waiting"), ("send", "job", "waiting")]
    assert shown["steps"][1]["reason"]
    text = flow(world, "run-show", made["run"])
    assert f"flow run  {made['run']} of report, version 1" in text and "ask   approval  waiting" in text
    assert "report" in flow(world, "runs")
    assert answer(world, "list")[0]["openRuns"] == 1


def test_what_is_asked_of_runs_waits_for_their_owner(empty, jobs, tmp_path):
    world, tables = empty, empty.tables
    flow(world, "apply", "-f", write(tmp_path, document(jobs)))
    run = answer(world, "run", "report")["run"]
    assert "run" in refused(world, "run", "report")  # one is open

    assert "remark" in refused(world, "step", run, "send", "done")
    assert "approve" in refused(world, "step", run, "send", "agree")
    assert "the state of the step is waiting" in refused(world, "step", run, "send", "approve")
    assert refused(world, "step", run, "gone", "skip")
    assert "expected the id of a flow run" in refused(world, "step", "x", "send", "skip")
    assert refused(world, "rerun", run) and refused(world, "cancel", 99999) and refused(world, "run-show", 99999)
    assert tables.rows("SELECT * FROM shardwheel_flow_request") == []

    assert "step send: done was requested" in flow(world, "step", run, "send", "done", "--remark", "sent by hand")
    flow(world, "step", run, "load", "skip")
    assert "cancel was requested" in flow(world, "cancel", run)
    asked = tables.rows("SELECT run_id, step, action, who, remark FROM shardwheel_flow_request ORDER BY id")
    assert [tuple(row.values()) for row in asked] == [
        (run, 2, "done", "shardwheelctl", "sent by hand"), (run, 0, "skip", "shardwheelctl", ""),
        (run, -1, "cancel", "shardwheelctl", "")]
    assert len(audit(world, "flow.step_%")) == 2 and len(audit(world, "flow.cancel")) == 1


def test_the_schedule_is_started_and_stopped(world, tmp_path):
    group = world.tables.add_group("scripted", ["http://127.0.0.1:1/"])
    job = world.tables.add_job(group, "first", trigger_status=0, trigger_next_time=0)
    world.node()
    content = {"name": "nightly", "steps": [{"name": "a", "type": "job", "jobId": job}]}
    assert "has version 1: shardwheelctl flow run nightly starts a run" in flow(
        world, "apply", "-f", write(tmp_path, content))
    assert "schedule" in refused(world, "start", "nightly")
    content["schedule"] = {"cron": "0 0 2 1 1 ?"}
    flow(world, "apply", "-f", write(tmp_path, content))

    assert "flow nightly is started, next " in flow(world, "start", "nightly")
    (row,) = answer(world, "list")
    assert row["started"] and row["nextSeconds"] % 60 == 0
    assert "state     started, next " in flow(world, "show", "nightly")
    assert "flow nightly is stopped" in flow(world, "stop", "nightly")
    assert not answer(world, "list")[0]["started"]
    assert len(audit(world, "flow.start")) == len(audit(world, "flow.stop")) == 1


@pytest.mark.asan
def test_a_run_fails_is_run_again_and_approved(world, tmp_path):
    flows = Flows(world)
    load, send = flows.add_job("load"), flows.add_job("send")
    flow(world, "apply", "-f", write(tmp_path, document([load, send])))
    run = answer(world, "run", "report")["run"]

    def state(number):
        return answer(world, "run-show", run)["steps"][number]["state"]

    flows.answer(flows.node, load, "no", code=500)
    assert flows.wait_end(run) == "failed"
    assert "load  job       failed" in flow(world, "run-show", run)
    assert answer(world, "runs")[0]["state"] == "failed"

    flow(world, "rerun", run)
    flows.answer(flows.node, load, "yes", nth=1)
    wait_until(lambda: state(1) == "running", 15, "the question to be asked")
    shown = answer(world, "run-show", run)
    assert (shown["state"], shown["steps"][0]["result"], shown["steps"][2]["state"]) == ("running", "yes", "waiting")
    flow(world, "step", run, "ask", "approve", "--remark", "go on")
    flows.answer(flows.node, send)
    assert flows.wait_end(run) == "succeeded"
    text = flow(world, "run-show", run)
    assert "shardwheelctl: go on" in text and "send  job       succeeded" in text
