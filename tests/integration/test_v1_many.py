# SPDX-License-Identifier: MIT
"""Many jobs at once through api/v1: batches over a filter, and documents that go from one cluster to another."""
import copy
import gzip
import http.client
import json
import subprocess

import pytest

from harness.v1 import Api, add_token, add_user


class Site:
    def __init__(self, world):
        self.world, self.tables = world, world.tables
        self.node = world.node()
        self.groups = [world.tables.add_group("ours", ["http://127.0.0.1:1"]), world.tables.add_group("theirs")]
        self.admin = Api(self.node, add_token(self.tables, add_user(self.tables, "v1-admin", role=1)))
        self.user = Api(self.node, add_token(self.tables, add_user(self.tables, "v1-user", groups=self.groups[:1])))

    def add(self, name, group=0, **members):
        job = {"jobGroup": self.groups[group], "name": name, "author": "me", "executorHandler": "h", **members}
        return self.admin.good("POST", "/jobs", job, status=201)["id"]

    def add_many(self, count, source_bytes):
        self.tables.execute(
            "INSERT INTO xxl_job_info (job_group, job_desc, author, alarm_email, schedule_type, schedule_conf, "
            "misfire_strategy, executor_route_strategy, executor_handler, executor_param, executor_block_strategy, "
            "glue_type, glue_source, glue_remark, child_jobid) "
            "SELECT %s, CONCAT('many ', seq), 'me', '', 'NONE', '', 'DO_NOTHING', 'FIRST', 'h', '', "
            "'SERIAL_EXECUTION', 'BEAN', REPEAT('x', %s), '', '' FROM seq_1_to_{}".format(count),
            (self.groups[0], source_bytes))

    def clear(self):
        self.tables.execute("DELETE FROM xxl_job_info")
        self.tables.execute("DELETE FROM shardwheel_job")
        self.tables.execute("DELETE FROM shardwheel_flow_version")
        self.tables.execute("DELETE FROM shardwheel_flow")

    def add_flow(self, name, *steps, **members):
        return self.admin.good("POST", "/flows", {"document": flow(name, *steps, **members)}, status=201)["id"]


def flow(name, *steps, **members):
    """A document: a number or a pair is a job, a text another flow."""
    made = []
    for number, step in enumerate(steps):
        made.append({"name": f"s{number}", "type": "flow" if isinstance(step, str) else "job"})
        if isinstance(step, tuple):
            made[-1]["job"] = {"appname": step[0], "name": step[1]}
        else:
            made[-1]["flow" if isinstance(step, str) else "jobId"] = step
    edges = [{"from": f"s{n}", "to": f"s{n + 1}"} for n in range(len(made) - 1)]
    return {"name": name, **members, "steps": made, "edges": edges}


@pytest.fixture(scope="module")
def site(make_module_world, mariadb):
    return Site(make_module_world(mariadb))


@pytest.fixture(scope="module")
def other(make_module_world, mariadb):
    """Another cluster, whose ids are others."""
    world = make_module_world(mariadb)
    world.tables.add_group("first")
    return Site(world)


def brief(result):
    return {name: result[name] for name in ("matched", "done", "same", "refused", "left")}


@pytest.mark.asan
def test_a_batch_over_a_filter(site):
    site.clear()
    ids = [site.add(f"clean {n}", scheduleType="CRON", scheduleConf="0 0 3 * * ?") for n in range(3)]
    site.add("other", group=1)
    order = {"action": "start", "filter": {"name": "clean", "running": False}, "dryRun": True}
    tried = site.admin.good("POST", "/batch", order)
    assert brief(tried) == {"matched": 3, "done": 3, "same": 0, "refused": 0, "left": 0} and tried["dryRun"]
    assert site.tables.value("SELECT SUM(trigger_status) FROM xxl_job_info") == 0

    order = {**order, "dryRun": False, "expected": 3}
    assert brief(site.admin.good("POST", "/batch", order))["done"] == 3
    assert site.tables.value("SELECT SUM(trigger_status) FROM xxl_job_info") == 3
    site.admin.refused("POST", "/batch", order, status=409, kind="state", field="expected")

    edit = {"action": "edit", "ids": ids + [99999],
            "edit": {"executorTimeout": 9, "settings": {"retryWaitSeconds": 30}}}
    done = site.admin.good("POST", "/batch", edit)
    assert brief(done) == {"matched": 4, "done": 3, "same": 0, "refused": 1, "left": 0}
    assert done["items"][3] == {"id": 99999, "name": None, "outcome": "refused", "kind": "unknown", "field": "id",
                                "detail": done["items"][3]["detail"]}
    assert site.tables.value("SELECT COUNT(*) FROM xxl_job_info i JOIN shardwheel_job s ON s.job_id = i.id "
                             "WHERE i.executor_timeout = 9 AND s.retry_wait_s = 30") == 3
    assert brief(site.admin.good("POST", "/batch", edit))["same"] == 3

    assert brief(site.user.good("POST", "/batch", {"action": "remove", "all": True}))["done"] == 3
    assert [row["job_desc"] for row in site.tables.rows("SELECT job_desc FROM xxl_job_info")] == ["other"]


def test_a_batch_adds_and_removes_tags(site):
    site.clear()
    tags = {"a": ["eu", "old"], "b": [], "c": ["x" * 100] * 1 + [f"{n:0100}" for n in range(4)]}
    ids = [site.add(name, settings={"tags": own}) for name, own in tags.items()]
    order = {"action": "edit", "ids": ids, "addTags": ["night ", "eu"], "removeTags": ["old", "none of theirs"]}
    tried = site.admin.good("POST", "/batch", {**order, "dryRun": True})
    done = site.admin.good("POST", "/batch", order)
    assert brief(tried) == brief(done) == {"matched": 3, "done": 2, "same": 0, "refused": 1, "left": 0}
    assert [(item["name"], item.get("field")) for item in done["items"]] == [("a", None), ("b", None), ("c", "addTags")]
    assert [site.admin.good("GET", f"/jobs/{job}")["settings"]["tags"] for job in ids] == [
        ["eu", "night"], ["night", "eu"], tags["c"]]
    audit = site.admin.good("GET", f"/jobs/{ids[0]}/changes?limit=1")["items"][0]
    assert audit["action"] == "job.update" and "night" in str(audit["after"])
    assert brief(site.admin.good("POST", "/batch", {**order, "ids": ids[:2]}))["same"] == 2
    both = {**order, "ids": ids[:1], "removeTags": ["eu"], "addTags": ["eu"], "edit": {"executorTimeout": 7}}
    assert brief(site.admin.good("POST", "/batch", both))["done"] == 1
    assert site.admin.good("GET", f"/jobs/{ids[0]}")["settings"]["tags"] == ["night", "eu"]


def test_tags_of_a_batch_that_cannot_be(site):
    for more, field in (
            ({"addTags": [""]}, "addTags"), ({"addTags": ["a,b"]}, "addTags"), ({"addTags": "a"}, "addTags"),
            ({"addTags": ["a"] * 101}, "addTags"), ({"removeTags": ["x" * 101]}, "removeTags"),
            ({"addTags": [], "removeTags": []}, "edit"), ({"action": "stop", "addTags": ["a"]}, "addTags"),
            ({"addTags": ["a"], "edit": {"settings": {"tags": ["b"]}}}, "edit.settings.tags")):
        site.admin.refused("POST", "/batch", {"action": "edit", "all": True, **more}, field=field)


def test_which_jobs_must_be_said(site):
    for order, field in (
            ({"action": "stop"}, "filter"), ({"action": "stop", "filter": {}}, "filter"),
            ({"action": "stop", "filter": {"name": ""}}, "filter"),
            ({"action": "stop", "all": True, "ids": [1]}, "filter"),
            ({"all": True}, "action"), ({"action": "edit", "all": True}, "edit"),
            ({"action": "edit", "all": True, "edit": {}}, "edit"),
            ({"action": "stop", "all": True, "edit": {"author": "x"}}, "edit"),
            ({"action": "stop", "filter": {"nmae": "x"}}, "nmae"), ({"action": "explode", "all": True}, "action"),
            ({"action": "edit", "all": True, "edit": {"triggerNextTime": 1}}, "triggerNextTime")):
        site.admin.refused("POST", "/batch", order, field=field)


@pytest.mark.asan
def test_a_document_goes_from_one_cluster_to_another(site, other):
    site.clear()
    child = site.add("child", group=1, settings={"tags": ["nightly", "eu"], "timeZone": "Asia/Shanghai"})
    parent = site.add("parent", scheduleType="CRON", scheduleConf="0 0 3 * * ?", childJobId=str(child),
                      executorParam='{"html":"<b>&amp;</b>"}\n', executorTimeout=60)
    site.admin.good("POST", f"/jobs/{parent}/start", status=200)
    answer = site.admin.call("GET", "/export")
    document = answer.json
    assert document["groups"] == [
        {"appname": "ours", "title": "ours", "addressType": "manual", "addressList": ["http://127.0.0.1:1"]},
        {"appname": "theirs", "title": "theirs", "addressType": "auto"}]
    assert document["jobs"] == [
        {"appname": "ours", "name": "parent", "author": "me", "scheduleType": "CRON", "scheduleConf": "0 0 3 * * ?",
         "executorHandler": "h", "executorParam": '{"html":"<b>&amp;</b>"}\n', "executorTimeout": 60,
         "children": [{"appname": "theirs", "name": "child"}], "running": True},
        {"appname": "theirs", "name": "child", "author": "me", "executorHandler": "h",
         "settings": {"timeZone": "Asia/Shanghai", "tags": ["nightly", "eu"]}, "running": False}]
    assert answer.text == json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    assert int(answer.headers["Content-Length"]) == len(answer.text.encode())
    assert site.admin.call("GET", "/export", headers={"If-None-Match": answer.headers["ETag"]}).status == 304

    tried = other.admin.good("POST", "/import?dryRun=true", answer.text, headers={"Content-Type": "application/json"})
    assert (tried["create"], tried["refused"], tried["dryRun"]) == (2, 0, True)
    assert other.tables.value("SELECT COUNT(*) FROM xxl_job_info") == 0
    done = other.admin.good("POST", "/import", document)
    assert (done["create"], done["refused"]) == (2, 0)
    assert other.admin.good("POST", "/import", document)["same"] == len(document["groups"]) + 2
    back = other.admin.good("GET", "/export")
    assert back["jobs"] == document["jobs"]
    assert other.tables.value("SELECT trigger_next_time > 0 FROM xxl_job_info WHERE job_desc = 'parent'") == 1

    document["jobs"][0]["executorTimeout"] = 90
    del document["jobs"][1]["settings"]
    changed = other.admin.good("POST", "/import?dryRun=true", document)
    assert [(job["name"], job["outcome"], job["before"], job["after"]) for job in changed["jobs"]] == [
        ("parent", "change", {"executorTimeout": 60}, {"executorTimeout": 90}),
        ("child", "change", {"time-zone": "Asia/Shanghai", "tags": "nightly,eu"}, {"time-zone": None, "tags": None})]


def test_what_is_wrong_in_a_document_is_named(site):
    site.clear()
    job = {"appname": "ours", "name": "a", "author": "me", "executorHandler": "h"}
    good = {"format": "shardwheel-jobs", "version": 1, "jobs": [job]}

    def refused(field, change, **expected):
        document = copy.deepcopy(good)
        change(document)
        site.admin.refused("POST", "/import", document, field=field, **expected)

    refused("format", lambda d: d.pop("format"))
    refused("version", lambda d: d.update(version=2))
    refused("jobs", lambda d: d["jobs"].append(job), item="ours/a")
    refused("author", lambda d: d["jobs"][0].pop("author"), item="jobs[0]")
    refused("jobGroup", lambda d: d["jobs"][0].update(jobGroup=1), item="jobs[0]")
    refused("colour", lambda d: d["jobs"].append({**job, "name": "b", "colour": "red"}), item="jobs[1]")
    refused("title", lambda d: d.update(groups=[{"appname": "ours"}]), item="groups[0]")
    site.admin.refused("POST", "/import", "x" * (5 << 20), status=413, headers={"Content-Type": "application/json"})
    bad = site.admin.good("POST", "/import", {**good, "jobs": [{**job, "scheduleType": "CRON", "scheduleConf": "x"}]})
    assert (bad["refused"], bad["jobs"][0]["field"]) == (1, "scheduleConf")
    assert site.tables.value("SELECT COUNT(*) FROM xxl_job_info") == 0


def read_slowly(site, headers=None):
    """The answer's head has come, the rest waits for its reader."""
    connection = http.client.HTTPConnection("127.0.0.1", site.node.port, timeout=30)
    connection.request("GET", "/api/v1/export", None, {**site.admin.headers, **(headers or {})})
    return connection, connection.getresponse()


def test_some_jobs_are_taken_out_with_their_groups(site):
    site.clear()
    first, child, theirs = site.add("picked"), site.add("a child"), site.add("of others", group=1)
    site.add("left out")
    site.admin.good("PATCH", f"/jobs/{first}", {"childJobId": str(child)})
    document = site.admin.good("POST", "/export", {"ids": [theirs, first]})
    assert [job["name"] for job in document["jobs"]] == ["picked", "of others"]
    assert [group["appname"] for group in document["groups"]] == ["ours", "theirs"]
    assert document["jobs"][0]["children"] == [{"appname": "ours", "name": "a child"}], "it need not be in the document"
    own = site.user.good("POST", "/export", {"ids": [first, theirs, 999999]})
    taken = ([job["name"] for job in own["jobs"]], [group["appname"] for group in own["groups"]])
    assert taken == (["picked"], ["ours"])
    assert site.admin.good("POST", "/export", {"ids": []})["jobs"] == []
    assert site.admin.call("POST", "/export", {"ids": list(range(1, 10002))}).status == 400


@pytest.mark.asan
def test_a_large_export_comes_in_pieces(site):
    site.clear()
    site.add_many(10_700, 10)
    for headers in ({}, {"Accept-Encoding": "gzip"}):
        connection, answer = read_slowly(site, headers)
        text = answer.read()
        connection.close()
        assert answer.status == 200 and answer.headers["Transfer-Encoding"] == "chunked"
        assert answer.headers["ETag"] is None
        text = (gzip.decompress(text) if headers else text).decode()
        document = json.loads(text)
        assert [job["name"] for job in document["jobs"]] == sorted(f"many {n + 1}" for n in range(10_700))
        assert text == json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def test_an_export_that_fails_does_not_look_whole(site):
    """Its reader takes nothing while a table goes: no session waits with it, and the answer has no end."""
    site.clear()
    site.add_many(2000, 20_000)
    connection, answer = read_slowly(site)
    assert answer.status == 200
    site.tables.execute("RENAME TABLE shardwheel_job TO shardwheel_job_away")
    try:
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            answer.read()
    finally:
        site.tables.execute("RENAME TABLE shardwheel_job_away TO shardwheel_job")
        connection.close()
    assert "event=export_broken" in site.node.log_text()
    site.clear()
    assert site.admin.good("GET", "/export")["jobs"] == []


def test_few_readers_may_be_slow(site):
    """Small exports need no place among them."""
    site.clear()
    site.add_many(2000, 20_000)
    slow = []
    try:
        while not slow or slow[-1][1].status == 200:
            assert len(slow) < 40
            slow.append(read_slowly(site))
        assert slow[-1][1].status == 503 and slow[-1][1].headers["Retry-After"]
        assert json.loads(slow[-1][1].read())["kind"] == "try-again"
        assert site.admin.call("GET", f"/export?group={site.groups[1]}").headers["ETag"]
    finally:
        for connection, _ in slow:
            connection.close()
    site.clear()


def test_an_export_stands_in_git(site, tmp_path):
    """Another number is another line, and nothing else."""
    site.clear()
    ids = [site.add(name) for name in ("b", "a", "c")]
    path = tmp_path / "jobs.json"

    def git(*arguments):
        return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=tmp_path,
                              check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    path.write_text(site.admin.call("GET", "/export").text)
    git("add", ".")
    git("commit", "-qm", "first")
    site.admin.good("PATCH", f"/jobs/{ids[1]}", {"author": "you"})
    path.write_text(site.admin.call("GET", "/export").text)
    assert git("diff", "--numstat").split()[:2] == ["1", "1"]


# ---- flows -----------------------------------------------------------------------------------------------------------

NIGHTLY = {"cron": "0 0 2 * * ?", "zone": "UTC"}


def outcomes(result):
    return {item["name"]: item["outcome"] for item in result["flows"]}


def with_flows(*flows, jobs=(), groups=()):
    return {"format": "shardwheel-jobs", "version": 1, "groups": list(groups),
            "jobs": [{"appname": app, "name": name, "author": "me", "executorHandler": "h"} for app, name in jobs],
            "flows": [{"document": document} for document in flows]}


@pytest.mark.asan
def test_flows_go_from_one_cluster_to_another(site, other):
    """Their jobs have other ids there; the one that runs another comes before it in the document."""
    site.clear()
    other.clear()
    for table in ("xxl_job_info", "shardwheel_flow"):
        other.tables.execute(f"ALTER TABLE {table} AUTO_INCREMENT = 70000")
    first, second = site.add("first"), site.add("second", group=1)
    site.add_flow("b-called", second)
    caller = site.add_flow("a-caller", first, "b-called", schedule=NIGHTLY)
    site.admin.good("POST", f"/flows/{caller}/start", status=200)
    answer = site.admin.call("GET", "/export")
    document = answer.json
    assert document["flows"] == [
        {"document": flow("a-caller", ("ours", "first"), "b-called", schedule=NIGHTLY), "running": True},
        {"document": flow("b-called", ("theirs", "second")), "running": False}]
    assert answer.text == json.dumps(document, indent=2, ensure_ascii=False) + "\n" and answer.headers["ETag"]

    tried = other.admin.good("POST", "/import?dryRun=true", document)
    assert outcomes(tried) == {"a-caller": "create", "b-called": "create"}
    assert (tried["create"], tried["same"]) == (4, 2)
    assert other.tables.value("SELECT COUNT(*) FROM shardwheel_flow") == 0
    done = other.admin.good("POST", "/import", document)
    assert outcomes(done) == outcomes(tried) and done["refused"] == 0
    ids = {item["name"]: item["id"] for item in done["flows"]}
    made = other.admin.good("GET", f"/flows/{ids['a-caller']}")
    there = other.tables.value("SELECT id FROM xxl_job_info WHERE job_desc = 'first'")
    assert made["document"]["steps"][0]["jobId"] == there != first
    assert (made["state"], made["version"], made["nextAt"] is not None) == ("started", 1, True)
    assert other.admin.good("GET", "/export")["flows"] == document["flows"]
    again = other.admin.good("POST", "/import", document)
    assert (again["same"], outcomes(again)) == (6, {"a-caller": "same", "b-called": "same"})

    document["flows"][1]["document"]["steps"][0]["param"] = "new"
    document["flows"][0]["running"] = False
    for path in ("/import?dryRun=true", "/import"):
        assert [(item["outcome"], item["before"], item["after"])
                for item in other.admin.good("POST", path, document)["flows"]] == [
            ("change", {"running": True}, {"running": False}),
            ("change", {"version": 1}, {"version": 2, "changes": ['~ step s0: param: none -> "new"']})], path
    made = other.admin.good("GET", f"/flows/{ids['b-called']}")
    assert (made["version"], made["document"]["steps"][0]["param"]) == (2, "new")
    assert other.admin.good("GET", f"/flows/{ids['a-caller']}")["state"] == "stopped"
    del document["flows"][0]["running"]
    assert other.admin.good("POST", "/import", document)["same"] == 6
    assert other.admin.good("GET", f"/flows/{ids['b-called']}")["version"] == 2
    del document["flows"]
    assert other.admin.good("POST", "/import", document)["same"] == 4
    assert other.tables.value("SELECT COUNT(*) FROM shardwheel_flow") == 2


def test_flows_are_taken_out_with_all_that_they_lead_to(site):
    site.clear()
    ours, theirs = site.add("of ours"), site.add("of theirs", group=1)
    site.add_flow("mine", ours)
    site.add_flow("of-both", ours, theirs)
    site.add_flow("calls-both", "of-both")
    gone = site.add("gone")
    site.add_flow("of-a-gone-job", gone)
    site.tables.execute("DELETE FROM xxl_job_info WHERE id = %s", (gone,))
    wait = flow("waits")
    wait["steps"] = [{"name": "w", "type": "wait", "seconds": 1}]
    site.admin.good("POST", "/flows", {"document": wait}, status=201)

    def taken(document):
        return [item["document"]["name"] for item in document.get("flows", ["none"]) if item != "none"]

    assert taken(site.admin.good("GET", "/export")) == ["calls-both", "mine", "of-both", "waits"]
    assert taken(site.admin.good("GET", f"/export?group={site.groups[0]}")) == ["mine"]
    assert taken(site.user.good("GET", "/export")) == ["mine"]
    assert taken(site.admin.good("POST", "/export", {"ids": [ours]})) == ["mine"]
    assert taken(site.admin.good("POST", "/export", {"ids": [theirs, ours]})) == ["calls-both", "mine", "of-both"]
    assert "flows" not in site.admin.good("POST", "/export", {"ids": [theirs]}), "as an older release reads it"


def test_many_flows_come_in_pieces(site):
    """In the order of their names, whichever page they are on."""
    site.clear()
    job = site.add("j")
    document = json.dumps({**flow("NAME", job), "description": "x" * 1000})
    site.tables.execute("INSERT INTO shardwheel_flow (name, started, next_s, version, changed_ms) "
                        "SELECT CONCAT('f-', LPAD(seq, 4, '0')), 0, 0, 1, 1 FROM seq_1_to_530")
    site.tables.execute("INSERT INTO shardwheel_flow_version (flow_id, version, at_ms, who, document) "
                        "SELECT id, 1, 1, 'me', REPLACE(%s, 'NAME', name) FROM shardwheel_flow", (document,))
    connection, answer = read_slowly(site)
    text = answer.read().decode()
    connection.close()
    assert answer.headers["ETag"] is None
    document = json.loads(text)
    assert [item["document"]["name"] for item in document["flows"]] == [f"f-{n + 1:04}" for n in range(530)]
    assert text == json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    site.admin.refused("POST", "/import", document, field="flows")
    site.clear()


def test_what_is_wrong_with_a_flow_has_its_place(site):
    site.clear()
    site.add("here")
    twice = [site.add("twice"), site.add("twice")]
    broadcast = flow("f", ("ours", "here"))
    broadcast["steps"][0]["type"] = "broadcast"
    for wrong, detail in (
            (flow("f", ("ours", "here"), ("ours", "nobody")), "/steps/1/job: there is no job ours/nobody"),
            (flow("f", ("nowhere", "here")), "/steps/0/job: there is no job nowhere/here"),
            (flow("f", ("ours", "twice")), "/steps/0/job: 2 jobs are called ours/twice"),
            (flow("f", twice[0]), "/steps/0/jobId: \"job\" with \"appname\" and \"name\" is expected here"),
            (broadcast, "/steps/0/job: here is not a broadcast job: its routing strategy is FIRST"),
            (flow("f", "f-that-nobody-has"), "/steps/0/flow: there is no flow \"f-that-nobody-has\""),
            (flow("f", "f"), "/steps/0/flow: the flow \"f\" leads back to this one"),
            (flow("f", ("ours", "a"), ("ours", "b")),
             "/steps/0/job: there is no job ours/a; /steps/1/job: there is no job ours/b"),
            ({**flow("f", ("ours", "here")), "colour": "red"}, "the member \"colour\" is unknown"),
            (flow("", ("ours", "here")), "/name: ")):
        for path in ("/import?dryRun=true", "/import"):
            item = site.admin.good("POST", path, with_flows(wrong))["flows"][0]
            assert (item["outcome"], item["kind"], item["field"]) == ("refused", "invalid", "document")
            assert detail in item["detail"] and item["id"] is None, (path, detail)
    result = site.admin.good("POST", "/import", with_flows(flow("f", ("ours", "here")), flow("g", "h"), flow("h", "g"),
                                                           flow("i", "g")))
    assert outcomes(result) == {"f": "create", "g": "refused", "h": "refused", "i": "refused"}
    assert "leads back" in result["flows"][1]["detail"] and "leads back" in result["flows"][2]["detail"]
    unscheduled = with_flows(flow("f", ("ours", "here")))
    unscheduled["flows"][0]["running"] = True
    item = site.admin.good("POST", "/import", unscheduled)["flows"][0]
    assert (item["outcome"], item["kind"], item["field"]) == ("refused", "state", "running")

    good = with_flows(flow("f", ("ours", "here")))
    for change, field, name in (
            (lambda d: d["flows"].append(d["flows"][0]), "flows", "f"),
            (lambda d: d["flows"][0].pop("document"), "document", "flows[0]"),
            (lambda d: d["flows"][0].update(document=None), "document", "flows[0]"),
            (lambda d: d["flows"][0].update(document="{}"), "document", "flows[0]"),
            (lambda d: d["flows"][0]["document"].pop("name"), "name", "flows[0]"),
            (lambda d: d["flows"][0]["document"].update(name=7), "name", "flows[0]"),
            (lambda d: d["flows"][0].update(id=7), "id", "flows[0]"),
            (lambda d: d["flows"].append("f"), "flows", None)):
        document = copy.deepcopy(good)
        change(document)
        site.admin.refused("POST", "/import", document, field=field, **({"item": name} if name else {}))


def test_a_dry_run_of_flows_looks_at_what_the_document_makes(site):
    """Jobs and groups that are not there yet, and a job that becomes a broadcast."""
    site.clear()
    site.add("to be one")
    broadcast = flow("b", ("ours", "to be one"))
    broadcast["steps"][0]["type"] = "broadcast"
    document = with_flows(broadcast, flow("f", ("ours", "new"), ("fresh", "new")), flow("g", "f"),
                          jobs=[("fresh", "new"), ("ours", "new"), ("ours", "to be one")],
                          groups=[{"appname": "fresh", "title": "new"}])
    document["jobs"][2]["executorRouteStrategy"] = "SHARDING_BROADCAST"
    try:
        for path in ("/import?dryRun=true", "/import"):
            result = site.admin.good("POST", path, document)
            assert outcomes(result) == {"b": "create", "f": "create", "g": "create"}, path
        assert site.admin.good("POST", "/import", document)["same"] == 7
        document["flows"][1]["document"] = flow("f", ("ours", "new"), "g")
        del document["flows"][2:]
        for path in ("/import?dryRun=true", "/import"):
            result = site.admin.good("POST", path, document)
            assert outcomes(result) == {"b": "same", "f": "refused"}, "it would go in a circle by one that stays"
    finally:
        site.clear()
        site.tables.execute("DELETE FROM xxl_job_group WHERE app_name = 'fresh'")


def test_who_may_not_save_a_flow_may_not_import_it(site):
    site.clear()
    site.add("of ours")
    site.add_flow("theirs", site.add("of theirs", group=1))
    reader = Api(site.node, add_token(site.tables, add_user(
        site.tables, "v1-reader", groups=site.groups[:1], own_role="reader")))
    mine, seen = flow("mine", ("ours", "of ours")), flow("theirs", ("ours", "of ours"))
    for path in ("/import?dryRun=true", "/import"):
        result = site.user.good("POST", path, with_flows(mine, seen, flow("calls", "theirs"),
                                                         flow("other", ("theirs", "of theirs"))))
        assert outcomes(result) == {"mine": "create", "theirs": "refused", "calls": "refused", "other": "refused"}
        assert [item["kind"] for item in result["flows"][1:]] == ["forbidden", "forbidden", "invalid"]
        assert result["flows"][1]["id"] is None and result["flows"][1]["before"] is None
        assert result["flows"][3]["detail"] == "/steps/0/job: there is no job theirs/of theirs"
    for path in ("/import?dryRun=true", "/import"):
        result = reader.good("POST", path, with_flows(mine, flow("fresh", ("ours", "of ours"))))
        assert [(item["outcome"], item["kind"]) for item in result["flows"]] == [("refused", "forbidden")] * 2
    document = with_flows(flow("m2", ("ours", "new")), jobs=[("ours", "new")])
    made = site.user.good("POST", "/import?dryRun=true", document)
    assert outcomes(made) == {"m2": "create"}, "of a job that he makes himself"
    assert site.tables.value("SELECT COUNT(*) FROM shardwheel_flow") == 2
