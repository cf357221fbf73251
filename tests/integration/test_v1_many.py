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
