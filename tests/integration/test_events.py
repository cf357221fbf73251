# SPDX-License-Identifier: MIT
"""Events by webhook: signed, in order for each job, over outages of receivers and nodes that die; filters; API."""
import json

import pytest

from harness.cluster import TOKEN
from harness.executors import callback_entry
from harness.flows import Flows
from harness.process import wait_until
from harness.v1 import Api, add_token, add_user
from harness.webhooks import JSON_SECRET, Webhooks

LOOK = 20  # seconds: a look of who sends, and of the other nodes at the webhooks


@pytest.fixture
def hooks():
    server = Webhooks()
    yield server
    server.close()


def admin_of(world, node, name="events-admin"):
    return Api(node, add_token(world.tables, add_user(world.tables, name, role=1)))


def add_hook(admin, hooks, name="json", **members):
    return admin.good("POST", "/events/hooks", {"name": name, "url": hooks.url(name) + "?token=hidden-part",
                                                "secret": JSON_SECRET, **members}, status=201)["id"]


def idle_job(tables, group, tags=None, **columns):
    job = tables.add_job(group, "plain", **{"trigger_status": 0, "trigger_next_time": 0, **columns})
    if tags:
        tables.insert("shardwheel_job", {"job_id": job, "tags": tags})
    return job


def open_run(tables, job, **columns):
    now = tables.value("SELECT NOW()")
    group = tables.value("SELECT job_group FROM xxl_job_info WHERE id = %s", (job,))
    return tables.add_log(job, **{"job_group": group, "trigger_code": 200, "trigger_time": now, "handle_code": 0,
                                  **columns})


def end(node, log_id, code=200, message="fine"):
    entry = {**callback_entry(log_id, code), "handleMsg": message}
    assert node.post("/api/callback", [entry], TOKEN).code == 200


def ended(node, tables, job, code=200, **columns):
    log_id = open_run(tables, job, **columns)
    end(node, log_id, code)
    return log_id


def runs(hooks, path="json"):
    return [c.json["run"]["logId"] for c in hooks.at(path) if c.json["event"] == "run_ended"]


def deliveries(admin, **query):
    return admin.good("GET", "/events/deliveries?" + "&".join(f"{k}={v}" for k, v in query.items()))["items"]


def test_a_run_that_ends_is_told_once_and_signed(world, hooks):
    tables = world.tables
    group = tables.add_group("pay-app", [])
    job = idle_job(tables, group, job_desc="日报 <b>")
    node = world.node()
    admin = admin_of(world, node)
    before = ended(node, tables, job)
    hook = add_hook(admin, hooks)
    wait_until(lambda: ended(node, tables, job) and hooks.at("json"), LOOK, "the node to know the webhook")
    log_id = open_run(tables, job, executor_fail_retry_count=2, executor_address="http://10.0.0.1:9999/")
    end(node, log_id, 500, "<!--sw:x-->it broke<br>twice " + "é" * 5000)
    wait_until(lambda: log_id in runs(hooks), LOOK, "the event")
    assert hooks.refused == [] and before not in runs(hooks)
    call = next(c for c in hooks.at("json") if c.json["run"]["logId"] == log_id)
    assert call.query == {"token": "hidden-part"} and call.headers["X-Shardwheel-Event"] == "run_ended"
    assert call.headers["X-Shardwheel-Event-Id"] == str(call.json["id"])
    assert call.headers["X-Shardwheel-Signature"].startswith("sha256=")
    assert call.json["job"] == {"id": job, "name": "日报 <b>", "group": "pay-app"}
    run = call.json["run"]
    assert (run["ok"], run["code"], run["address"], run["retriesLeft"]) == (False, 500, "http://10.0.0.1:9999/", 2)
    assert run["triggeredMs"] and run["endedMs"]
    assert run["message"].startswith("it broke\ntwice é") and len(run["message"].encode()) <= 4100

    wait_until(lambda: not deliveries(admin, state="waiting"), LOOK, "all to be sent")
    sent = deliveries(admin, jobId=job, state="sent")
    assert {d["logId"] for d in sent} == set(runs(hooks)) and len(sent) == len(runs(hooks))
    one = next(d for d in sent if d["logId"] == log_id)
    assert (one["hookId"], one["hook"], one["kind"], one["tries"], one["status"], one["error"]) == (
        hook, "json", "run_ended", 1, 200, "")
    assert json.loads(admin.good("GET", f"/events/deliveries/{one['id']}")["body"]) == call.json
    listed, = admin.good("GET", "/events/hooks")["items"]
    assert (listed["target"], listed["hasSecret"], listed["waiting"]) == (hooks.url("").rstrip("/"), True, 0)
    assert listed["lastSentMs"] and listed["lastError"] == ""
    metrics = node.metrics()
    assert metrics["shardwheel_events_sent_total"] == len(sent) and metrics["shardwheel_events_failed_total"] == 0

    admin.good("POST", f"/events/deliveries/{one['id']}/resend", status=204)
    wait_until(lambda: runs(hooks).count(log_id) == 2, LOOK, "it to come again")
    again = [c for c in hooks.at("json") if c.json["run"]["logId"] == log_id]
    assert again[0].headers["X-Shardwheel-Event-Id"] == again[1].headers["X-Shardwheel-Event-Id"]

    admin.good("PATCH", f"/events/hooks/{hook}", {"url": hooks.url("json-moved")}, status=204)
    moved = ended(node, tables, job)
    wait_until(lambda: moved in runs(hooks, "json-moved"), LOOK, "it to come to the other URL")
    assert moved not in runs(hooks)
    for text in (admin.call("GET", "/events/hooks").text, admin.call("GET", "/audit?kind=hook").text,
                 node.log_text()):
        assert "hidden-part" not in text and JSON_SECRET not in text


@pytest.mark.slow
def test_an_outage_of_an_hour_and_a_node_that_dies_lose_nothing(cluster, hooks):
    tables = cluster.tables
    group = tables.add_group("pay-app", [])
    jobs = [idle_job(tables, group) for _ in range(3)]
    a = cluster.node("node-a")
    hook = add_hook(admin_of(cluster, a), hooks)
    hooks.close()  # nobody is there any more
    expected = {job: [] for job in jobs}
    for _ in range(4):
        for job in jobs:
            expected[job].append(ended(a, tables, job))
    wait_until(lambda: tables.value("SELECT failures FROM shardwheel_hook") >= 1, LOOK, "a try that fails")
    assert tables.value("SELECT COUNT(*) FROM shardwheel_delivery WHERE state = 0") == 12
    assert tables.value("SELECT COUNT(*) FROM shardwheel_delivery WHERE tries > 0") == tables.value(
        "SELECT COUNT(*) FROM shardwheel_delivery WHERE tries > 0 AND next_ms > 0")
    a.kill()
    # An hour goes by, as far as the rows know.
    tables.execute("UPDATE shardwheel_delivery SET made_ms = made_ms - 3600000, since_ms = since_ms - 3600000, "
                   "next_ms = 0")
    tables.execute("UPDATE shardwheel_hook SET next_ms = 0, failures = 8")
    hooks.start()
    b = cluster.node("node-b")
    admin = admin_of(cluster, b, "events-admin-b")
    wait_until(lambda: len(set(runs(hooks))) == 12, 60, "all of them")
    for job in jobs:
        told = [c.json["run"]["logId"] for c in hooks.at("json") if c.json["job"]["id"] == job]
        assert sorted(set(told)) == expected[job]
        assert [log for n, log in enumerate(told) if log not in told[:n]] == expected[job], "out of order"
    wait_until(lambda: not deliveries(admin, state="waiting"), LOOK, "all to be sent")
    assert {d["hookId"] for d in deliveries(admin, state="sent")} == {hook}
    assert admin.good("GET", "/events/hooks")["items"][0]["lastError"] == ""

    # What has waited for a day when a try fails is given up, and can be sent again.
    hooks.replies["json"] = (503, "maintenance")
    late = ended(b, tables, jobs[0])
    wait_until(lambda: tables.value("SELECT tries FROM shardwheel_delivery WHERE log_id = %s", (late,)), LOOK, "a try")
    tables.execute("UPDATE shardwheel_delivery SET since_ms = since_ms - 86400000, next_ms = 0 WHERE state = 0")
    tables.execute("UPDATE shardwheel_hook SET next_ms = 0")
    lost = wait_until(lambda: deliveries(admin, state="given_up"), LOOK, "it to be given up")[0]
    assert (lost["logId"], lost["status"], lost["error"]) == (late, 503, "HTTP status 503: maintenance")
    assert b.metrics()["shardwheel_events_given_up_total"] == 1
    hooks.replies.clear()
    admin.good("POST", f"/events/deliveries/{lost['id']}/resend", status=204)
    wait_until(lambda: late in runs(hooks), LOOK, "it to come at last")


def test_one_that_is_not_taken_holds_up_its_job_alone(world, hooks):
    tables = world.tables
    group = tables.add_group("pay-app", [])
    bad, good = idle_job(tables, group), idle_job(tables, group)
    node = world.node()
    admin = admin_of(world, node)
    add_hook(admin, hooks)
    hooks.replies["json"] = (400, "no such job")
    first, second = ended(node, tables, bad), ended(node, tables, bad)
    tried = "SELECT COUNT(*) FROM shardwheel_delivery WHERE tries > 0"
    wait_until(lambda: tables.value(tried) == 1, LOOK, "a try")
    # Long enough for it not to be due again while this test runs.
    tables.execute("UPDATE shardwheel_delivery SET next_ms = next_ms + 3600000 WHERE tries > 0")
    hooks.replies.clear()
    other = ended(node, tables, good)
    wait_until(lambda: deliveries(admin, state="sent"), LOOK, "the other job's")
    waiting = deliveries(admin, state="waiting")
    assert [(d["logId"], d["tries"]) for d in reversed(waiting)] == [(first, 1), (second, 0)]
    assert runs(hooks) == [other]
    admin.good("POST", f"/events/deliveries/{waiting[1]['id']}/resend", status=204)
    wait_until(lambda: len(runs(hooks)) == 3, LOOK, "both of them")
    assert runs(hooks) == [other, first, second]


def test_a_receiver_that_hangs_delays_no_other(world, hooks):
    tables = world.tables
    job = idle_job(tables, tables.add_group("pay-app", []))
    node = world.node()
    admin = admin_of(world, node)
    hooks.hanging.add("json-slow")
    add_hook(admin, hooks, "json-slow")
    add_hook(admin, hooks)

    def quick_while_slow_hangs():
        log_id = ended(node, tables, job)
        wait_until(lambda: log_id in runs(hooks), LOOK, "the event of the quick one")
        hung = hooks.hung.count("json-slow")
        return hung > tables.value("SELECT MAX(tries) FROM shardwheel_delivery d JOIN shardwheel_hook h ON h.id = "
                                   "d.hook_id WHERE h.name = 'json-slow'")

    wait_until(quick_while_slow_hangs, 60, "an event that comes while another receiver hangs")
    assert runs(hooks) == sorted(runs(hooks)) and hooks.at("json-slow") == []


def test_filters_changes_of_jobs_and_what_is_refused(world, hooks):
    tables = world.tables
    pay, other = tables.add_group("pay-app", []), tables.add_group("other-app", [])
    node = world.node()
    admin = admin_of(world, node)
    person = Api(node, add_token(tables, add_user(tables, "person", groups=[pay])))
    add_hook(admin, hooks, "json-failed", kinds=["run_ended"], only="failed", groups=["pay-app"], tags=["night", "x"])
    changes = add_hook(admin, hooks, "json-changes", kinds=["job_changed"])
    off = add_hook(admin, hooks, "json-off", enabled=False)
    for bad, field in (({"name": "a b"}, "name"), ({"url": "ftp://x/"}, "url"),
                       ({"url": "http://169.254.169.254/"}, "url"),
                       ({"url": "http://u:p@host/"}, "url"), ({"url": "http://"}, "url"), ({"url": ""}, "url"),
                       ({"kinds": []}, "kinds"), ({"kinds": ["x"]}, "kinds"), ({"only": "some"}, "only"),
                       ({"tags": ["a,b"]}, "tags"), ({"name": ""}, "name")):
        members = {"name": "n", "url": hooks.url("json"), **bad}
        assert admin.refused("POST", "/events/hooks", members, 400).json["field"] == field, bad
    admin.refused("POST", "/events/hooks", {"url": hooks.url("json")}, 400, field="name")
    admin.refused("POST", "/events/hooks", {"name": "json-off", "url": hooks.url("json")}, kind="taken")
    for method, path, body in (("GET", "/events/hooks", None), ("GET", "/events/deliveries", None),
                               ("POST", "/events/hooks", {"name": "n", "url": hooks.url("json")}),
                               ("POST", f"/events/hooks/{off}/test", None)):
        assert person.call(method, path, body).status == 403
    for method, path in (("DELETE", "/events/hooks/999"), ("POST", "/events/hooks/999/test"),
                         ("GET", "/events/deliveries/999"), ("POST", "/events/deliveries/999/resend")):
        admin.refused(method, path, status=404)

    wanted = idle_job(tables, pay, tags="a,night")
    wait_until(lambda: ended(node, tables, wanted, 500) and runs(hooks, "json-failed"), LOOK, "the node to know it")
    for job, code in ((wanted, 200), (idle_job(tables, pay, tags="nightly"), 500), (idle_job(tables, pay), 500),
                      (idle_job(tables, other, tags="night"), 500)):
        ended(node, tables, job, code)
    last = ended(node, tables, wanted, 502)
    wait_until(lambda: last in runs(hooks, "json-failed"), LOOK, "the last one")
    assert {c.json["job"]["id"] for c in hooks.at("json-failed")} == {wanted}
    assert all(not c.json["run"]["ok"] for c in hooks.at("json-failed"))

    admin.good("PATCH", f"/jobs/{wanted}", {"name": "renamed"})
    admin.good("DELETE", f"/jobs/{wanted}", status=204)
    wait_until(lambda: len(hooks.at("json-changes")) == 2, LOOK, "the changes")
    told = [c.json for c in hooks.at("json-changes")]
    assert [t["change"]["operation"] for t in told] == ["job.update", "job.remove"]
    assert told[0]["change"]["who"] == "events-admin" and told[0]["change"]["after"] == {"name": "renamed"}
    assert told[1]["job"] == {"id": wanted, "name": "renamed", "group": "pay-app"}
    assert told[1]["change"]["after"] is None

    assert admin.good("POST", f"/events/hooks/{changes}/test") == {"delivered": True, "status": 200, "error": ""}
    hooks.replies["json-changes"] = (404, "gone")
    answer = admin.good("POST", f"/events/hooks/{changes}/test")
    assert answer == {"delivered": False, "status": 404, "error": "HTTP status 404: gone"}
    admin.good("PATCH", f"/events/hooks/{changes}", {"secret": None, "enabled": False, "groups": ["pay-app"]},
               status=204)
    shown = next(h for h in admin.good("GET", "/events/hooks")["items"] if h["id"] == changes)
    assert (shown["hasSecret"], shown["enabled"], shown["groups"], shown["kinds"]) == (
        False, False, ["pay-app"], ["job_changed"])
    admin.good("DELETE", f"/events/hooks/{off}", status=204)
    assert hooks.at("json-off") == []
    assert [row["action"] for row in admin.good("GET", "/audit?kind=hook")["items"]] == [
        "hook.remove", "hook.update", "hook.test", "hook.test", "hook.add", "hook.add", "hook.add"]


def test_a_flow_that_ends(world, hooks):
    flows = Flows(world, app_name="flow-app")
    admin = admin_of(world, flows.node)
    work = flows.add_job("work", executor_fail_retry_count=0)
    flow = flows.add("nightly", steps=[{"name": "a", "type": "job", "jobId": work}])
    add_hook(admin, hooks, kinds=["flow_ended"])
    add_hook(admin, hooks, "json-failed", kinds=["flow_ended"], only="failed")
    add_hook(admin, hooks, "json-group", kinds=["flow_ended"], groups=["flow-app"])
    wait_until(lambda: admin.good("GET", "/events/hooks")["items"][2], LOOK, "the webhooks")

    def run(code):
        done = len(flows.executor.runs(work))
        one = flows.start(flow)
        flows.answer(flows.node, work, "no disk" if code == 500 else "ok", code, nth=done)
        flows.wait_end(one)
        return one

    wait_until(lambda: run(200) and hooks.at("json"), 60, "the node to know the webhook")
    bad = run(500)
    wait_until(lambda: bad in [c.json["flowRun"]["runId"] for c in hooks.at("json")], LOOK, "the failure")
    call = next(c.json for c in hooks.at("json") if c.json["flowRun"]["runId"] == bad)
    assert call["flow"] == {"id": flow, "name": "nightly"} and call["event"] == "flow_ended"
    assert (call["flowRun"]["ok"], call["flowRun"]["state"]) == (False, "failed")
    wait_until(lambda: hooks.at("json-failed"), LOOK, "the other webhook")
    assert [c.json["flowRun"]["runId"] for c in hooks.at("json-failed")] == [bad]
    assert hooks.at("json-group") == []
