# SPDX-License-Identifier: MIT
"""Flows in api/v1: documents, versions, schedules, runs that are started, and what is asked of them; who may what."""
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.process import wait_until
from harness.v1 import Api, add_token, add_user


class Site:
    """Two groups with a job each; users of one, of both, and of none, readers, and tokens of one scope."""

    def __init__(self, world):
        self.world = world
        self.tables = world.tables
        self.node = world.node()
        self.hold_runs()
        self.one, self.two = world.group(app_name="one"), world.group(app_name="two")
        self.serial = 0
        self.job_one = self.job(self.one, job_desc="first job")
        self.job_two = self.job(self.two, job_desc="second job")
        self.broadcast = self.job(self.one, executor_route_strategy="SHARDING_BROADCAST")
        self.admin = self.api("admin", role=1)
        self.ann = self.api("ann", groups=[self.one])
        self.bob = self.api("bob", groups=[self.one, self.two])
        self.nobody = self.api("nobody")
        self.reader = self.api("reader", groups=[self.one], own_role="reader")
        self.all_reader = self.api("all-reader", own_role="reader")
        self.runner = self.api("runner", groups=[self.one, self.two], own_role="runner")

    def hold_runs(self):
        """With a node that does not know flows, nobody moves their runs: what is in the tables stays as it is. Of its
        own name, as a node that stands alone starts beside no other."""
        self.tables.insert("shardwheel_node", {
            "incarnation": "old", "node": self.node.name, "url": "http://127.0.0.1:1", "version": "0", "started_ms": 1,
            "beat_ms": 1 << 60, "clock_ms": 0, "owned": 0, "drain": 0, "release_shard": -1, "flows": 0})
        wait_until(lambda: "event=flows_wait_for_nodes" in self.node.log_text(), 15, "flows to wait for the old node")

    def job(self, group, **columns):
        return self.tables.add_job(group, cron="0 0 0 1 1 ? 2099", trigger_status=0, trigger_next_time=0, **columns)

    def api(self, name, scopes="read,run,write,admin", **user):
        return Api(self.node, add_token(self.tables, add_user(self.tables, "flow-" + name, **user), scopes))

    def name(self):
        self.serial += 1
        return f"flow-{self.serial}"

    def document(self, *jobs, **members):
        steps = [{"name": f"s{i}", "type": "job", "jobId": job} for i, job in enumerate(jobs or [self.job_one])]
        edges = [{"from": f"s{i}", "to": f"s{i + 1}"} for i in range(len(steps) - 1)]
        return {"name": self.name(), "steps": steps, "edges": edges, **members}

    def add(self, *jobs, **members):
        return self.admin.good("POST", "/flows", {"document": self.document(*jobs, **members)}, status=201)

    def start(self, flow, body=None, status=201):
        return self.admin.good("POST", f"/flows/{flow['id']}/runs", body, status=status)

    def settle(self, run, state, steps=(), message=None):
        """As the run's owner would have left it."""
        ended = None if state < 2 else 5000
        self.tables.execute("UPDATE shardwheel_flow_run SET state = %s, ended_ms = %s, look_ms = NULL, message = %s "
                            "WHERE id = %s", (state, ended, message, run["id"]))
        self.tables.execute("DELETE FROM shardwheel_flow_step WHERE run_id = %s", (run["id"],))
        for step, columns in enumerate(steps):
            if columns is not None:
                self.tables.insert("shardwheel_flow_step", {"run_id": run["id"], "step": step, "tries": 1, **columns})

    def audit(self, flow):
        return [row["action"] for row in self.tables.rows(
            f"SELECT action FROM shardwheel_audit WHERE action LIKE 'flow.%' AND target = {flow['id']} ORDER BY id")]

    def requests(self, run):
        return [(row["step"], row["action"], row["remark"]) for row in self.tables.rows(
            f"SELECT step, action, remark FROM shardwheel_flow_request WHERE run_id = {run['id']} ORDER BY id")]


@pytest.fixture(scope="module")
def site(make_module_world, mariadb):
    return Site(make_module_world(mariadb))


def where(faults):
    return {fault["where"]: fault["text"] for fault in faults}


# ---- documents


@pytest.mark.asan
def test_a_flow_is_created_and_shown(site):
    document = site.document(site.job_one, site.job_two, description="It says why.", tags=["etl", "nightly"],
                             schedule={"cron": "0 0 2 * * ?", "zone": "Asia/Shanghai"})
    answer = site.admin.call("POST", "/flows", {"document": document})
    assert answer.status == 201, answer
    flow = answer.json
    assert answer.headers["Location"] == f"/api/v1/flows/{flow['id']}"
    assert flow["document"] == document
    assert (flow["name"], flow["description"], flow["state"], flow["version"], flow["tags"], flow["schedule"]) == (
        document["name"], "It says why.", "stopped", 1, ["etl", "nightly"], document["schedule"])
    assert (flow["nextAt"], flow["steps"], flow["groups"], flow["openRuns"], flow["lastRuns"]) == (
        None, 2, sorted([site.one, site.two]), 0, [])
    assert flow["canChange"] and flow["canRun"]
    assert site.admin.good("GET", f"/flows/{flow['id']}") == flow
    listed = [item for item in site.admin.good("GET", f"/flows?name={document['name'].upper()}")["items"]
              if item["id"] == flow["id"]]
    assert listed == [{name: value for name, value in flow.items() if name != "document"}]
    assert [item["id"] for item in site.admin.good("GET", "/flows?tag=nightly")["items"]] == [flow["id"]]
    assert site.admin.good("GET", "/flows?tag=night")["items"] == []
    assert site.audit(flow) == ["flow.create"]
    site.admin.refused("POST", "/flows", {"document": {**site.document(), "name": document["name"]}}, kind="taken",
                       field="document")


@pytest.mark.asan
def test_faults_are_told_together_and_with_their_places(site):
    shop = site.add()
    document = {"name": site.name(), "steps": [
        {"name": "gone", "type": "job", "jobId": 999999},
        {"name": "all", "type": "broadcast", "jobId": site.job_one},
        {"name": "good", "type": "broadcast", "jobId": site.broadcast},
        {"name": "sub", "type": "flow", "flow": "no-such-flow"},
        {"name": "shop", "type": "flow", "flow": shop["name"]}]}
    verdict = site.admin.good("POST", "/flows/validate", {"document": document})
    assert where(verdict["faults"]) == {
        "/steps/0/jobId": "there is no job 999999",
        "/steps/1/jobId": f"job {site.job_one} is not a broadcast job: its routing strategy is FIRST",
        "/steps/3/flow": 'there is no flow "no-such-flow"'}
    assert verdict["groups"] == [site.one]
    before = site.tables.rows("SELECT COUNT(*) AS n FROM shardwheel_flow")[0]["n"]
    problem = site.admin.refused("POST", "/flows", {"document": document}, kind="invalid", field="document").json
    assert problem["faults"] == verdict["faults"]
    assert problem["detail"] == "/steps/0/jobId: there is no job 999999"
    assert site.tables.rows("SELECT COUNT(*) AS n FROM shardwheel_flow")[0]["n"] == before
    broken = {"name": "has blanks", "steps": [{"name": "a", "type": "job", "jobId": site.job_one, "colour": "red"}],
              "edges": [{"from": "a", "to": "b"}], "schedule": {"cron": "never"}}
    verdict = site.admin.good("POST", "/flows/validate", {"document": broken})
    assert {"/name", "/schedule/cron", "/steps/0", "/edges/0/to"} <= set(where(verdict["faults"])), verdict
    assert verdict["groups"] == []
    circle = {"name": site.name(), "steps": [{"name": n, "type": "job", "jobId": site.job_one} for n in "ab"],
              "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]}
    assert list(where(site.admin.good("POST", "/flows/validate", {"document": circle})["faults"])) == ["/edges"]
    assert site.admin.good("POST", "/flows/validate", {"document": site.document()}) == {
        "faults": [], "groups": [site.one]}


def test_flows_do_not_lead_back_to_themselves(site):
    def calls(name, flow):
        return {"name": name, "steps": [{"name": "sub", "type": "flow", "flow": flow}]}

    inner = site.add(site.job_two)
    outer = site.admin.good("POST", "/flows", {"document": calls(site.name(), inner["name"])}, status=201)
    assert outer["groups"] == [site.two]
    back = calls(inner["name"], outer["name"])
    problem = site.admin.refused("PUT", f"/flows/{inner['id']}", {"document": back, "version": 1},
                                 field="document").json
    assert where(problem["faults"]) == {"/steps/0/flow": f'the flow "{outer["name"]}" leads back to this one'}
    assert where(site.admin.good("POST", "/flows/validate", {"document": back})["faults"]) == where(problem["faults"])
    itself = site.name()
    assert "leads back" in site.admin.refused("POST", "/flows", {"document": calls(itself, itself)}).json["detail"]
    # By the name that it has now, while it gets another one.
    site.admin.refused("PUT", f"/flows/{outer['id']}", {"document": calls(site.name(), outer["name"]), "version": 1})
    # Who is run by others keeps its name, and stays.
    renamed = site.document()
    site.admin.refused("PUT", f"/flows/{inner['id']}", {"document": renamed, "version": 1}, status=409, kind="in-use")
    site.admin.refused("DELETE", f"/flows/{inner['id']}", status=409, kind="in-use")
    site.admin.good("DELETE", f"/flows/{outer['id']}", status=204)
    saved = site.admin.good("PUT", f"/flows/{inner['id']}", {"document": renamed, "version": 1})
    assert saved["name"] == renamed["name"]


def test_two_changes_at_once_make_no_circle(site):
    """Each is good by itself, and looked at the other before it was written."""
    def calls(name, flow):
        return {"name": name, "steps": [{"name": "sub", "type": "flow", "flow": flow}]}

    one, two = site.add(site.job_one), site.add(site.job_one)
    lock = site.tables.server.connect(site.tables.database)
    lock.begin()
    with lock.cursor() as cursor:
        cursor.execute("SELECT id FROM shardwheel_flow WHERE id = %s FOR UPDATE", (one["id"],))
    with ThreadPoolExecutor(2) as threads:
        def save(flow, other):
            return threads.submit(site.admin.call, "PUT", f"/flows/{flow['id']}",
                                  {"document": calls(flow["name"], other["name"]), "version": 1})

        def waits(what):
            return site.tables.value("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE %s AND id <> "
                                     "CONNECTION_ID()", (f"%FROM shardwheel_flow WHERE id % {what}",)) > 0

        first = save(one, two)
        wait_until(lambda: first.done() or waits("FOR UPDATE"), 15, "the first change to wait for the row")
        second = save(two, one)
        wait_until(lambda: second.done() or waits("LOCK IN SHARE MODE"), 15, "the second change to wait, too")
        lock.rollback()
        answers = [first.result(), second.result()]
    lock.close()
    assert sorted(answer.status for answer in answers) == [200, 400], answers
    assert "leads back to this one" in answers[0].text + answers[1].text


def test_flows_of_flows_are_no_more_than_32_deep(site):
    name = site.add()["name"]
    for _ in range(32):
        name = site.admin.good("POST", "/flows", {"document": {
            "name": site.name(), "steps": [{"name": "sub", "type": "flow", "flow": name}]}}, status=201)["name"]
    problem = site.admin.refused("POST", "/flows", {"document": {
        "name": site.name(), "steps": [{"name": "sub", "type": "flow", "flow": name}]}}).json
    assert where(problem["faults"]) == {
        "/steps/0/flow": f'with the flow "{name}", flows are nested more than 32 levels deep'}


def test_bodies_that_are_no_documents(site):
    flow = site.add()
    for path, method in (("/flows", "POST"), ("/flows/validate", "POST"), (f"/flows/{flow['id']}", "PUT")):
        site.admin.refused(method, path, kind="invalid")
        site.admin.refused(method, path, {}, kind="required", **({} if method == "PUT" else {"field": "document"}))
        site.admin.refused(method, path, {"document": [], "version": 1}, kind="invalid", field="document")
        site.admin.refused(method, path, "{", headers={"Content-Type": "application/json"})
        large = {"version": 1, "document": {**site.document(), "description": "x" * 1_100_000}}
        body = large if method == "PUT" else {"document": large["document"]}
        answer = site.admin.call(method, path, body)
        text = answer.json["faults"][0]["text"]
        assert text.startswith("the document has 11") and text.endswith("1000000 are allowed"), answer
        huge = '{"document":{"name":"' + "x" * (4 << 20) + '"}}'
        site.admin.refused(method, path, huge, status=413, headers={"Content-Type": "application/json"})
    site.admin.refused("POST", "/flows", {"document": site.document(), "extra": 1}, field="extra")
    assert site.admin.good("POST", "/flows/validate", {"document": {}})["faults"]


# ---- versions


@pytest.mark.asan
def test_a_version_is_saved_once(site):
    flow = site.add()
    second = {**flow["document"], "description": "second"}
    saved = site.admin.good("PUT", f"/flows/{flow['id']}", {"document": second, "version": 1})
    assert (saved["version"], saved["document"]) == (2, second)
    third = {**second, "description": "third"}
    problem = site.admin.refused("PUT", f"/flows/{flow['id']}", {"document": third, "version": 1}, status=409,
                                 kind="changed", field="version").json
    assert problem["detail"] == "version 2 is now the newest one"
    same = site.admin.good("PUT", f"/flows/{flow['id']}", {"document": second, "version": 2})
    assert same["version"] == 2
    turned = json.dumps({"document": dict(reversed(second.items())), "version": 2}, indent=2)
    answer = site.admin.call("PUT", f"/flows/{flow['id']}", turned, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.json["version"]) == (200, 2), answer
    site.admin.good("PUT", f"/flows/{flow['id']}", {"document": third, "version": 2})
    versions = site.admin.good("GET", f"/flows/{flow['id']}/versions?limit=2")
    assert [item["version"] for item in versions["items"]] == [3, 2]
    assert {item["who"] for item in versions["items"]} == {"flow-admin"} and versions["items"][0]["at"]
    rest = site.admin.good("GET", f"/flows/{flow['id']}/versions?after={versions['next']}")
    assert [item["version"] for item in rest["items"]] == [1] and rest["next"] is None
    assert site.admin.good("GET", f"/flows/{flow['id']}/versions/1")["document"] == flow["document"]
    assert site.admin.good("GET", f"/flows/{flow['id']}/versions/3")["document"] == third
    path = f"/flows/{flow['id']}/versions"
    assert site.admin.good("GET", path + "/3/diff") == {
        "from": 2, "version": 3, "lines": ['~ description: "second" -> "third"']}
    assert site.admin.good("GET", path + "/1/diff?from=3")["lines"] == ['~ description: "third" -> none']
    assert site.admin.good("GET", path + "/3/diff?from=3")["lines"] == []
    for wrong in ("/1/diff", "/3/diff?from=0", "/3/diff?from=x"):
        site.admin.refused("GET", path + wrong, field="from")
    for unknown in ("/4/diff", "/3/diff?from=9"):
        site.admin.refused("GET", path + unknown, status=404, field="version")
    site.admin.refused("GET", f"/flows/{flow['id']}/versions/4", status=404, kind="unknown", field="version")
    assert site.audit(flow) == ["flow.create", "flow.update", "flow.update"]
    after = json.loads(site.tables.value("SELECT after_json FROM shardwheel_audit WHERE action = 'flow.update' AND "
                                         f"target = {flow['id']} ORDER BY id LIMIT 1"))
    assert after["version"] == 2 and json.loads(after["document"]) == second


def test_unknown_flows_and_runs(site):
    body = {"document": site.document(), "version": 1}
    for method, path, sent in (("GET", "", None), ("PUT", "", body), ("DELETE", "", None), ("POST", "/start", None),
                               ("POST", "/stop", None), ("GET", "/versions", None), ("GET", "/versions/1", None),
                               ("POST", "/runs", {})):
        site.admin.refused(method, "/flows/999999" + path, sent, status=404, kind="unknown", field="id")
    site.admin.refused("GET", "/flow-runs/999999", status=404, kind="unknown", field="id")
    site.admin.refused("POST", "/flow-runs/999999/cancel", status=404, kind="unknown", field="id")
    site.admin.refused("GET", "/flows/0", kind="invalid", field="id")
    run = site.start(site.add())
    for action in ("retry", "skip", "done", "approve", "reject"):
        site.admin.refused("POST", f"/flow-runs/{run['id']}/steps/nothing/{action}", {"remark": "x"}, status=404,
                           kind="unknown", field="name")
    site.admin.refused("GET", f"/flow-runs/{run['id']}/steps/nothing/items", status=404, field="name")


# ---- lists


def test_lists_go_on_where_they_stopped(site):
    names = sorted(site.add(site.job_two, tags=["paged"])["name"] for _ in range(45))
    found, after = [], ""
    while after is not None:
        page = site.admin.good("GET", "/flows?tag=paged&limit=7" + (f"&after={after}" if after else ""))
        found += [item["name"] for item in page["items"]]
        after = page["next"]
    assert found == names
    assert site.ann.good("GET", "/flows?tag=paged")["items"] == []
    assert len(site.bob.good("GET", "/flows?tag=paged&limit=500")["items"]) == 45
    site.admin.refused("GET", "/flows?after=x", field="after")
    site.admin.refused("GET", "/flows?state=running", field="state")
    site.admin.refused("GET", "/flows?count=true", field="count")


# ---- the schedule


@pytest.mark.asan
def test_a_schedule_is_started_and_stopped(site):
    flow = site.add(schedule={"cron": "0 0 2 1 1 ?", "zone": "Asia/Shanghai"})
    path = f"/flows/{flow['id']}"
    started = site.admin.good("POST", path + "/start")
    assert started["state"] == "started" and started["nextAt"].endswith("-12-31T18:00:00.000Z")
    assert flow["id"] in [item["id"] for item in site.admin.good("GET", "/flows?state=started&limit=500")["items"]]
    changed = {**flow["document"], "schedule": {"cron": "0 0 3 1 1 ?", "zone": "Asia/Shanghai"}}
    saved = site.admin.good("PUT", path, {"document": changed, "version": 1})
    assert saved["state"] == "started" and saved["nextAt"].endswith("-12-31T19:00:00.000Z")
    described = {**changed, "description": "the same times"}
    assert site.admin.good("PUT", path, {"document": described, "version": 2})["nextAt"] == saved["nextAt"]
    stopped = site.admin.good("POST", path + "/stop")
    assert (stopped["state"], stopped["nextAt"]) == ("stopped", None)
    assert site.audit(flow) == ["flow.create", "flow.start", "flow.update", "flow.update", "flow.stop"]
    site.admin.good("POST", path + "/start")
    without = {name: value for name, value in described.items() if name != "schedule"}
    saved = site.admin.good("PUT", path, {"document": without, "version": 3})
    assert (saved["state"], saved["nextAt"]) == ("stopped", None)
    site.admin.refused("POST", path + "/start", status=409, kind="state", field="schedule")


def test_rates_and_schedules_that_are_over(site):
    for schedule in ({"every": 3600}, {"delay": 3600}):
        flow = site.add(schedule=schedule)
        before = site.tables.value("SELECT UNIX_TIMESTAMP()")
        next_at = site.admin.good("POST", f"/flows/{flow['id']}/start")["nextAt"]
        after = site.tables.value("SELECT UNIX_TIMESTAMP()")
        next_s = site.tables.value(f"SELECT next_s FROM shardwheel_flow WHERE id = {flow['id']}")
        ahead = 5 + 3600  # as with jobs, and then the next whole second
        assert next_at and before + ahead <= next_s <= after + ahead + 1
    over = site.add(schedule={"cron": "0 0 2 * * ?", "until": "2020-01-01T00:00:00Z"})
    site.admin.refused("POST", f"/flows/{over['id']}/start", status=409, kind="state", field="schedule")


# ---- runs


@pytest.mark.asan
def test_a_run_is_started_once_for_a_key(site):
    flow = site.add(whenRunning="parallel", deadline=3600,
                    parameters=[{"name": "day", "required": True}, {"name": "count", "type": "number", "default": 3}])
    path = f"/flows/{flow['id']}/runs"
    for body, text in ((None, 'the parameter "day" is missing'), ({"parameters": {"day": 1}}, 'must be a text'),
                       ({"parameters": {"day": "x", "other": 1}}, 'no parameter "other"')):
        problem = site.admin.refused("POST", path, body, kind="invalid", field="parameters").json
        assert text in problem["detail"]
    site.admin.refused("POST", path, {"parameters": {"day": "x" * 70000}}, kind="length", field="parameters")
    for key in ("", "two words", "umlaut-ä"):
        site.admin.refused("POST", path, {"parameters": {"day": "x"}, "key": key}, field="key")
    site.admin.refused("POST", path, {"parameters": {"day": "x"}, "key": "x" * 101}, kind="length", field="key")
    body = {"parameters": {"day": "2026-11-24"}, "key": "order-17"}
    answer = site.admin.call("POST", path, body)
    run = answer.json
    assert answer.status == 201 and answer.headers["Location"] == f"/api/v1/flow-runs/{run['id']}", answer
    assert (run["flowId"], run["flowName"], run["version"], run["state"], run["kind"], run["parameters"]) == (
        flow["id"], flow["name"], 1, "running", "api", body["parameters"])
    assert (run["who"], run["parentRun"], run["parentStep"], run["endedAt"], run["late"], run["canRun"]) == (
        "flow-admin", None, None, None, False, True)
    assert run["createdAt"] == run["startedAt"] and run["deadlineAt"] > run["startedAt"]
    assert site.start(flow, body, status=200)["id"] == run["id"]
    again = {**body, "parameters": {"day": "2026-11-25"}}
    assert site.start(flow, again, status=200)["parameters"] == body["parameters"]
    other = site.start(flow, {**body, "key": "order-18"})
    assert other["id"] != run["id"]
    assert site.audit(flow) == ["flow.create", "flow.run", "flow.run"]
    row = site.tables.rows(f"SELECT look_ms, depth, request_key FROM shardwheel_flow_run WHERE id = {run['id']}")[0]
    assert (row["look_ms"], row["depth"], row["request_key"]) == (0, 0, "order-17")
    shown = site.admin.good("GET", f"/flows/{flow['id']}")
    assert shown["openRuns"] == 2 and [tick["id"] for tick in shown["lastRuns"]] == [other["id"], run["id"]]
    site.admin.refused("DELETE", f"/flows/{flow['id']}", status=409, kind="state")
    for each in (run, other):
        site.settle(each, 2)
    site.admin.good("DELETE", f"/flows/{flow['id']}", status=204)
    assert site.tables.rows(f"SELECT id FROM shardwheel_flow_run WHERE flow_id = {flow['id']}") == []
    site.admin.refused("GET", f"/flow-runs/{run['id']}", status=404)


@pytest.mark.asan
def test_a_flow_that_is_running_does_as_it_says(site):
    skip, queue = site.add(), site.add(whenRunning="queue", queueMax=1)
    first = site.start(skip)
    problem = site.admin.refused("POST", f"/flows/{skip['id']}/runs", status=409, kind="state").json
    assert "still open" in problem["detail"]
    site.settle(first, 2)
    site.start(skip)
    site.start(queue)
    waiting = site.start(queue)
    assert (waiting["state"], waiting["startedAt"]) == ("queued", None)
    site.admin.refused("POST", f"/flows/{queue['id']}/runs", status=429, kind="limit")
    steps = site.admin.good("GET", f"/flow-runs/{waiting['id']}")["steps"]
    assert steps[0]["state"] == "waiting" and "runs before it" in steps[0]["reason"]


def test_a_person_starts_it_by_hand(site):
    site.tables.execute("UPDATE xxl_job_user SET password = SHA2('123456', 256) WHERE username = 'flow-bob'")
    flow = site.add()
    login = site.node.request("POST", "/api/v1/session", json.dumps({"username": "flow-bob", "password": "123456"}),
                              {"Content-Type": "application/json"})
    cookie = login.headers["Set-Cookie"].split(";")[0]
    answer = site.node.request("POST", f"/api/v1/flows/{flow['id']}/runs", None, {"Cookie": cookie})
    assert answer.status == 201 and (answer.json["kind"], answer.json["who"]) == ("manual", "flow-bob"), answer


def test_runs_are_listed(site):
    flow = site.add(whenRunning="parallel")
    runs = [site.start(flow) for _ in range(7)]
    for i, run in enumerate(runs):
        site.settle(run, i % 6, message="why" if i == 3 else None)
    ids = [run["id"] for run in reversed(runs)]
    page = site.admin.good("GET", f"/flow-runs?flow={flow['id']}&limit=3")
    assert [run["id"] for run in page["items"]] == ids[:3]
    rest = site.admin.good("GET", f"/flow-runs?flow={flow['id']}&after={page['next']}")
    assert [run["id"] for run in rest["items"]] == ids[3:] and rest["next"] is None
    failed = site.admin.good("GET", f"/flow-runs?flow={flow['id']}&state=failed")["items"]
    assert [(run["id"], run["message"], run["state"]) for run in failed] == [(runs[3]["id"], "why", "failed")]
    both = site.admin.good("GET", f"/flow-runs?flow={flow['id']}&state=failed,cancelled")["items"]
    assert [run["id"] for run in both] == [runs[4]["id"], runs[3]["id"]]
    assert runs[3]["id"] in [run["id"] for run in site.admin.good("GET", "/flow-runs?state=failed&limit=500")["items"]]
    open_runs = site.add(whenRunning="parallel")
    started = site.start(open_runs)
    assert started["id"] in [run["id"] for run in site.admin.good("GET", "/flow-runs?state=running,queued")["items"]]
    assert site.admin.good("GET", "/flow-runs?flow=999999")["items"] == []
    site.admin.refused("GET", "/flow-runs?state=broken", kind="invalid", field="state")


@pytest.mark.asan
def test_a_run_is_shown_with_its_steps(site):
    document = {"name": site.name(), "steps": [
        {"name": "extract", "type": "job", "jobId": site.job_one, "param": "x"},
        {"name": "shops", "type": "map", "jobId": site.job_one, "items": "steps.extract.result/shops"},
        {"name": "ask", "type": "approval", "text": "go?"},
        {"name": "last", "type": "job", "jobId": site.job_one}],
        "edges": [{"from": "extract", "to": "shops"}, {"from": "extract", "to": "ask"},
                  {"from": "shops", "to": "last"}, {"from": "ask", "to": "last"}]}
    flow = site.admin.good("POST", "/flows", {"document": document}, status=201)
    run = site.start(flow)
    log_id = site.tables.add_log(site.job_one, job_group=site.one, executor_param="as it was sent")
    site.settle(run, 1, [
        {"state": 2, "log_id": log_id, "code": 200, "result": '{"shops":[1,2,3]}', "address": "http://10.0.0.1:9999/",
         "started_ms": 1000, "ended_ms": 2000},
        {"state": 1, "items": 3, "items_begun": 2, "items_ended": 2, "items_failed": 1, "started_ms": 2000},
        {"state": 1, "started_ms": 2000}])
    for item, state in enumerate((2, 3)):
        site.tables.insert("shardwheel_flow_item", {"run_id": run["id"], "step": 1, "item": item, "state": state,
                                                    "tries": 1, "code": 200 if state == 2 else 500, "result": "r"})
    shown = site.admin.good("GET", f"/flow-runs/{run['id']}")
    assert shown["document"] == document
    extract, shops, ask, last = shown["steps"]
    assert (extract["name"], extract["type"], extract["state"], extract["closed"], extract["jobId"]) == (
        "extract", "job", "succeeded", False, site.job_one)
    assert (extract["jobName"], extract["param"], extract["logId"], extract["code"], extract["result"]) == (
        "first job", "as it was sent", log_id, 200, '{"shops":[1,2,3]}')
    assert (extract["startedAt"], extract["items"], extract["reason"]) == ("1970-01-01T00:00:01.000Z", None, None)
    assert shops["items"] == {"total": 3, "begun": 2, "ended": 2, "failed": 1} and shops["code"] is None
    assert (ask["type"], ask["state"], ask["jobId"]) == ("approval", "running", None)
    assert (last["state"], last["tries"]) == ("waiting", 0)
    assert last["reason"] == "It waits for: the success of shops, the success of ask."
    items = site.admin.good("GET", f"/flow-runs/{run['id']}/steps/shops/items?limit=1")
    assert [(item["item"], item["state"]) for item in items["items"]] == [(0, "succeeded")]
    rest = site.admin.good("GET", f"/flow-runs/{run['id']}/steps/shops/items?after={items['next']}")["items"]
    assert [(item["item"], item["state"], item["code"], item["result"]) for item in rest] == [(1, "failed", 500, "r")]
    assert len(site.admin.good("GET", f"/flow-runs/{run['id']}/steps/shops/items?state=failed")["items"]) == 1
    # It keeps the version that it began with.
    site.admin.good("PUT", f"/flows/{flow['id']}", {"document": {**document, "description": "new"}, "version": 1})
    assert site.admin.good("GET", f"/flow-runs/{run['id']}")["document"] == document


def test_a_run_names_the_step_that_it_is(site):
    inner = site.add(site.job_two)
    outer = site.admin.good("POST", "/flows", {"document": {"name": site.name(), "steps": [
        {"name": "own", "type": "job", "jobId": site.job_one},
        {"name": "sub", "type": "flow", "flow": inner["name"]}]}}, status=201)
    parent, child = site.start(outer), site.start(inner)
    site.tables.execute("UPDATE shardwheel_flow_run SET kind = 'P', parent_run = %s, parent_step = 1 WHERE id = %s",
                        (parent["id"], child["id"]))
    site.settle(parent, 1, [None, {"state": 1, "child_run": child["id"]}])
    shown = site.admin.good("GET", f"/flow-runs/{child['id']}")
    assert (shown["kind"], shown["parentRun"], shown["parentStep"]) == ("parent", parent["id"], "sub")
    assert site.admin.good("GET", f"/flow-runs/{parent['id']}")["steps"][1]["childRun"] == child["id"]
    listed = site.admin.good("GET", f"/flow-runs?flow={inner['id']}")["items"][0]
    assert listed["parentStep"] == "sub"
    closed = site.reader.good("GET", f"/flow-runs/{parent['id']}")["steps"][1]
    assert closed == {"name": "sub", "type": "flow", "state": "running", "closed": True, "startedAt": None,
                      "endedAt": None}


@pytest.mark.asan
def test_a_row_of_the_log_names_the_step_that_it_is(site):
    flow = site.add(site.job_one, site.job_two)
    run = site.start(flow)

    def links(mark, who=site.admin, job=site.job_one, group=site.one):
        log_id = site.tables.add_log(job, job_group=group, trigger_msg=f"<!--sw:d:abc:1700000000:{mark}-->sent")
        return who.good("GET", f"/runs/{log_id}/links")["flow"]

    step = {"run": run["id"], "flowId": flow["id"], "flowName": flow["name"]}
    assert links(f"W{run['id']}.0") == {**step, "step": "s0"}
    assert links(f"W{run['id']}.1", site.ann) == {**step, "step": "s1"}  # a box to her, but no secret
    assert links(f"W{run['id']}.2") == {**step, "step": None}
    assert links("W999999.0") is None and links("M") is None
    # A run of which he sees no other job: the row alone is his.
    foreign = site.start(site.add(site.job_two))
    assert links(f"W{foreign['id']}.0", site.ann) is None
    assert links(f"W{foreign['id']}.0", site.bob)["run"] == foreign["id"]
    site.tables.execute("DELETE FROM shardwheel_flow_run WHERE id = %s", (run["id"],))
    assert links(f"W{run['id']}.0") is None


@pytest.mark.asan
def test_child_jobs_are_shown_as_a_flow(site):
    last = site.job(site.two, job_desc="last one")
    first = site.job(site.one, job_desc="first", child_jobid=str(last))
    count = site.tables.value("SELECT COUNT(*) FROM shardwheel_flow")
    made = site.bob.good("GET", f"/jobs/{first}/flow")["document"]
    assert made == {"name": "first", "steps": [
        {"name": "first", "type": "job", "jobId": first},
        {"name": "last-one", "type": "job", "jobId": last, "description": "last one"}],
        "edges": [{"from": "first", "to": "last-one"}]}
    assert site.bob.good("POST", "/flows/validate", {"document": made})["faults"] == []
    assert site.tables.value("SELECT COUNT(*) FROM shardwheel_flow") == count
    alone = site.ann.good("GET", f"/jobs/{site.job_one}/flow")["document"]
    assert [step["name"] for step in alone["steps"]] == ["first-job"] and alone["edges"] == []
    site.ann.refused("GET", f"/jobs/{first}/flow", status=403, kind="forbidden")  # the child is not hers
    site.nobody.refused("GET", f"/jobs/{first}/flow", status=403, kind="forbidden")
    site.admin.refused("GET", "/jobs/999999/flow", status=404, field="id")

    def broken(children):
        site.tables.execute("UPDATE xxl_job_info SET child_jobid = %s WHERE id = %s", (children, last))
        return site.admin.refused("GET", f"/jobs/{first}/flow", status=409, kind="state").text

    assert "circle" in broken(first)
    assert "there is no job 999999" in broken("999999")
    assert "which is not a job id" in broken("5,x")


# ---- what is asked of runs


@pytest.mark.asan
def test_a_run_is_asked_once(site):
    flow = site.add()
    run = site.start(flow)
    path = f"/flow-runs/{run['id']}"
    site.admin.refused("POST", path + "/rerun", status=409, kind="state")
    site.settle(run, 1)
    assert site.admin.good("POST", path + "/cancel", {"remark": "wrong day"}, status=202) == {}
    site.admin.good("POST", path + "/cancel", status=202)
    assert site.requests(run) == [(-1, "cancel", "wrong day")]
    assert site.tables.rows(f"SELECT look_ms FROM shardwheel_flow_run WHERE id = {run['id']}")[0]["look_ms"] == 0
    site.tables.execute("DELETE FROM shardwheel_flow_request")
    site.settle(run, 4)
    site.admin.refused("POST", path + "/cancel", status=409, kind="state")
    site.admin.good("POST", path + "/rerun", status=202)
    assert site.requests(run) == [(-1, "rerun", "")]
    assert site.audit(flow) == ["flow.create", "flow.run", "flow.cancel", "flow.rerun"]
    site.admin.refused("POST", path + "/cancel", {"remark": "x" * 501}, kind="length", field="remark")


def events(api, run):
    found = api.good("GET", f"/flow-runs/{run['id']}/events")
    assert found["incomplete"] is False
    assert [e["at"] for e in found["items"]] == sorted(e["at"] for e in found["items"])
    return [tuple(e[key] for key in ("what", "step", "state", "action", "who", "text")) for e in found["items"]]


@pytest.mark.asan
def test_a_run_tells_what_happened_in_order(site):
    flow = site.add(site.job_one, site.job_two, whenRunning="parallel")
    run, other = site.start(flow), site.start(flow)
    who = "flow-admin"
    site.tables.execute("UPDATE shardwheel_flow_run SET created_ms = created_ms - 60000 WHERE id = %s", (run["id"],))
    now = site.tables.value("SELECT created_ms FROM shardwheel_flow_run WHERE id = %s", (run["id"],))
    site.settle(run, 3, [
        {"state": 2, "started_ms": now + 1, "ended_ms": now + 5},
        {"state": 3, "started_ms": now + 5, "ended_ms": now + 7, "message": "it broke"}])
    site.tables.execute("UPDATE shardwheel_flow_run SET started_ms = created_ms, ended_ms = %s, message = 'so did all' "
                        "WHERE id = %s", (now + 7, run["id"]))
    site.admin.good("POST", f"/flow-runs/{run['id']}/steps/s1/done", {"remark": "by <hand>"}, status=202)
    site.admin.good("POST", f"/flow-runs/{other['id']}/cancel", status=202)
    told = [("created", None, None, None, who, None), ("started", None, None, None, None, None),
            ("stepStarted", "s0", None, None, None, None), ("stepEnded", "s0", "succeeded", None, None, None),
            ("stepStarted", "s1", None, None, None, None), ("stepEnded", "s1", "failed", None, None, "it broke"),
            ("ended", None, "failed", None, None, "so did all"), ("asked", "s1", None, "done", who, "by <hand>")]
    assert events(site.admin, run) == told
    # Who does not see the job of the step sees that something happened.
    assert events(site.ann, run) == told[:5] + [("stepEnded", "s1", "failed", None, None, None), told[6],
                                                ("asked", "s1", None, "done", who, None)]
    assert [e[0] for e in events(site.admin, other)][-1] == "asked"
    site.nobody.refused("GET", f"/flow-runs/{run['id']}/events", status=403)
    site.admin.refused("GET", "/flow-runs/999/events", status=404)


def test_what_may_be_asked_goes_by_the_step(site):
    flow = site.admin.good("POST", "/flows", {"document": {"name": site.name(), "steps": [
        {"name": "job", "type": "job", "jobId": site.job_one}, {"name": "ask", "type": "approval", "text": "?"},
        {"name": "wait", "type": "wait", "seconds": 60}]}}, status=201)
    run = site.start(flow)
    waiting, running, succeeded, failed, skipped, cancelled = range(6)
    allowed = {
        "retry": {("job", failed), ("job", cancelled), ("ask", failed), ("ask", cancelled), ("wait", failed),
                  ("wait", cancelled)},
        "skip": {("job", waiting), ("ask", waiting), ("wait", waiting), ("job", failed), ("ask", failed),
                 ("wait", failed), ("ask", running), ("wait", running)},
        "approve": {("ask", running)},
    }
    allowed["done"], allowed["reject"] = allowed["skip"], allowed["approve"]
    for state in range(6):
        site.settle(run, 1, [{"state": state}] * 3)
        for action, good in allowed.items():
            for step in ("job", "ask", "wait"):
                site.tables.execute("DELETE FROM shardwheel_flow_request")
                answer = site.admin.call("POST", f"/flow-runs/{run['id']}/steps/{step}/{action}", {"remark": "why"})
                wanted = 202 if (step, state) in good else 409
                assert answer.status == wanted, f"{action} of {step} in state {state}: {answer}"
    path = f"/flow-runs/{run['id']}/steps/job"
    site.settle(run, 3, [{"state": failed}, {"state": cancelled}, {"state": cancelled}])
    site.tables.execute("DELETE FROM shardwheel_flow_request")
    site.admin.refused("POST", path + "/done", kind="required", field="remark")
    site.admin.refused("POST", path + "/done", {"remark": "  "}, kind="required", field="remark")
    site.admin.good("POST", path + "/done", {"remark": "checked"}, status=202)
    assert site.requests(run) == [(0, "done", "checked")]
    row = site.tables.rows(f"SELECT action, after_json FROM shardwheel_audit WHERE target = {flow['id']} "
                           "ORDER BY id DESC LIMIT 1")[0]
    assert row["action"] == "flow.step_done"
    assert json.loads(row["after_json"]) == {"run": run["id"], "step": "job", "remark": "checked"}
    site.settle(run, 0)
    site.admin.refused("POST", path + "/skip", status=409, kind="state")


# ---- rights


@pytest.mark.asan
def test_rights_are_those_in_all_groups(site):
    flow = site.add(site.job_one, site.job_two, schedule={"every": 3600}, whenRunning="parallel")
    run = site.start(flow)
    path, run_path = f"/flows/{flow['id']}", f"/flow-runs/{run['id']}"
    for api in (site.ann, site.reader, site.all_reader, site.runner):
        shown = api.good("GET", path)
        assert not shown["canChange"] and shown["canRun"] == (api is site.runner)
        assert api.good("GET", run_path)["canRun"] == (api is site.runner)
        assert run["id"] in [item["id"] for item in api.good("GET", "/flow-runs?limit=500")["items"]]
        body = {"document": flow["document"], "version": 1}
        for method, below, sent in (("PUT", "", body), ("DELETE", "", None), ("POST", "/start", None),
                                    ("POST", "/stop", None)):
            api.refused(method, path + below, sent, status=403, kind="forbidden")
        for below in ("/cancel", "/rerun", "/steps/s0/retry", "/steps/s1/skip"):
            if api is not site.runner:
                api.refused("POST", run_path + below, {}, status=403, kind="forbidden")
        if api is not site.runner:
            api.refused("POST", path + "/runs", status=403, kind="forbidden")
    for method, below in (("GET", path), ("GET", path + "/versions"), ("GET", path + "/versions/1"), ("GET", run_path),
                          ("GET", run_path + "/steps/s0/items")):
        site.nobody.refused(method, below, status=403, kind="forbidden")
    assert site.nobody.good("GET", "/flows")["items"] == site.nobody.good("GET", "/flow-runs")["items"] == []
    site.runner.good("POST", path + "/runs", status=201)
    site.runner.good("POST", run_path + "/cancel", status=202)
    site.bob.good("POST", path + "/start")
    site.bob.good("PUT", path, {"document": {**flow["document"], "description": "bob"}, "version": 1})
    site.ann.refused("POST", "/flows", {"document": site.document(site.job_one, site.job_two)}, status=403)
    own = site.ann.good("POST", "/flows", {"document": site.document(site.job_one)}, status=201)
    grown = {**own["document"], "steps": [{"name": "s0", "type": "job", "jobId": site.job_two}]}
    site.ann.refused("PUT", f"/flows/{own['id']}", {"document": grown, "version": 1}, status=403)
    site.ann.good("DELETE", f"/flows/{own['id']}", status=204)


def test_a_flow_has_the_groups_of_those_that_it_runs(site):
    inner = site.add(site.job_two)
    document = {"name": site.name(), "steps": [{"name": "own", "type": "job", "jobId": site.job_one},
                                               {"name": "sub", "type": "flow", "flow": inner["name"]}]}
    site.ann.refused("POST", "/flows", {"document": document}, status=403, kind="forbidden")
    outer = site.bob.good("POST", "/flows", {"document": document}, status=201)
    assert outer["groups"] == sorted([site.one, site.two])
    site.ann.refused("POST", f"/flows/{outer['id']}/runs", status=403)
    site.ann.refused("GET", f"/flows/{inner['id']}", status=403)
    shown = site.ann.good("GET", f"/flows/{outer['id']}")["document"]["steps"]
    assert shown == [document["steps"][0], {"name": "sub", "type": "flow", "closed": True}]


def test_a_flow_without_jobs_is_for_who_sees_all(site):
    flow = site.admin.good("POST", "/flows", {"document": {"name": site.name(), "steps": [
        {"name": "ask", "type": "approval", "text": "?"}]}}, status=201)
    assert flow["groups"] == []
    assert site.all_reader.good("GET", f"/flows/{flow['id']}")["name"] == flow["name"]
    site.bob.refused("GET", f"/flows/{flow['id']}", status=403)
    site.bob.refused("POST", "/flows", {"document": {**flow["document"], "name": site.name()}}, status=403)
    assert site.admin.good("POST", f"/flows/{flow['id']}/runs", status=201)


def test_scopes_of_tokens(site):
    flow = site.add(whenRunning="parallel")
    path = f"/flows/{flow['id']}"
    read, run, write, admin = (site.api(f"scope-{scope}", scope, role=1) for scope in ("read", "run", "write", "admin"))
    read.good("GET", path)
    read.refused("POST", path + "/runs", status=403)
    started = run.good("POST", path + "/runs", status=201)
    run.good("POST", f"/flow-runs/{started['id']}/cancel", status=202)
    run.refused("GET", path, status=403)
    write.refused("POST", "/flows", {"document": site.document()}, status=403)
    write.refused("POST", path + "/runs", status=403)
    admin.refused("GET", path, status=403)
    write.good("DELETE", f"/flows/{site.add()['id']}", status=204)


@pytest.mark.asan
def test_who_sees_one_group_sees_the_rest_as_boxes(site):
    steps = [{"name": "mine", "type": "job", "jobId": site.job_one, "param": "p"},
             {"name": "theirs", "type": "job", "jobId": site.job_two, "param": "secret ${flow.token}"},
             {"name": "ask", "type": "approval", "text": "go?"}]
    edges = [{"from": "mine", "to": "theirs", "on": "end"},
             {"from": "theirs", "to": "ask",
              "when": {"all": [{"path": "steps.theirs.result/key", "is": "=", "value": "hidden"}]}}]
    flow = site.admin.good("POST", "/flows", {"document": {
        "name": site.name(), "parameters": [{"name": "token", "default": "t"}], "steps": steps, "edges": edges}},
        status=201)
    run = site.start(flow)
    log_id = site.tables.add_log(site.job_two, job_group=site.two, executor_param="secret t")
    site.settle(run, 1, [{"state": 2, "result": "open"}, {
        "state": 3, "log_id": log_id, "result": "hidden", "message": "hidden", "address": "hidden", "code": 500,
        "started_ms": 1000, "ended_ms": 2000, "items": 1}])
    changed = {**flow["document"],
               "steps": [{**steps[0], "param": "q"}, {**steps[1], "param": "other secret"}, steps[2]]}
    site.admin.good("PUT", f"/flows/{flow['id']}", {"document": changed, "version": 1})
    diff = f"/flows/{flow['id']}/versions/2/diff"
    assert len(site.admin.good("GET", diff)["lines"]) == 2
    assert site.ann.good("GET", diff)["lines"] == ['~ step mine: param: "p" -> "q"']
    site.nobody.refused("GET", diff, status=403)
    site.admin.good("PUT", f"/flows/{flow['id']}", {"document": flow["document"], "version": 2})
    box = {"name": "theirs", "type": "job", "closed": True}
    closed_edges = [edges[0], {"from": "theirs", "to": "ask"}]
    for path in (f"/flows/{flow['id']}", f"/flows/{flow['id']}/versions/1", f"/flow-runs/{run['id']}"):
        answer = site.reader.call("GET", path)
        assert "hidden" not in answer.text and "secret" not in answer.text and "second job" not in answer.text, answer
        assert answer.json["document"]["steps"] == [steps[0], box, steps[2]]
        assert answer.json["document"]["edges"] == closed_edges
    mine, theirs, ask = site.reader.good("GET", f"/flow-runs/{run['id']}")["steps"]
    assert theirs == {**box, "state": "failed", "startedAt": "1970-01-01T00:00:01.000Z",
                      "endedAt": "1970-01-01T00:00:02.000Z"}
    assert mine["result"] == "open" and ask["reason"]
    site.reader.refused("GET", f"/flow-runs/{run['id']}/steps/theirs/items", status=403)
    site.reader.good("GET", f"/flow-runs/{run['id']}/steps/mine/items")
    whole = site.all_reader.good("GET", f"/flow-runs/{run['id']}")
    assert whole["document"]["steps"] == steps and whole["document"]["edges"] == edges
    assert whole["steps"][1]["result"] == "hidden" and whole["steps"][1]["jobName"] == "second job"


def test_rows_of_audit_are_seen_by_the_one_group(site):
    one, both = site.add(site.job_one), site.add(site.job_one, site.job_two)
    rows = {row["target"]: row["job_group"] for row in site.tables.rows(
        "SELECT target, job_group FROM shardwheel_audit WHERE action = 'flow.create'")}
    assert (rows[one["id"]], rows[both["id"]]) == (site.one, 0)
    assert [row["targetName"] for row in site.admin.good("GET", "/audit?kind=flow&limit=2")["items"]] == [
        both["name"], one["name"]]
    rows = site.ann.good("GET", f"/audit?action=flow.create&target={one['id']}")["items"]
    assert [row["targetName"] for row in rows] == [one["name"]]
    assert site.ann.good("GET", f"/audit?kind=flow&target={both['id']}")["items"] == []
