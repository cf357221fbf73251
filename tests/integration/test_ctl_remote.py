# SPDX-License-Identifier: MIT
"""shardwheelctl over api/v1: jobs, runs, start, stop, export and apply, with a token and without the database."""
import contextlib
import http.server
import json
import os
import subprocess
import threading

import pytest

from harness.cluster import TOKEN
from harness.executors import callback_entry
from harness.node import binary, environment
from harness.v1 import Api, add_token, add_user


class Site:
    def __init__(self, world):
        self.world, self.tables = world, world.tables
        self.node = world.node()
        self.group = self.tables.add_group("orders", ["http://127.0.0.1:1"])
        self.tables.add_group("orders-old")
        self.token = add_token(self.tables, add_user(self.tables, "ctl-admin", role=1))
        self.reader = add_token(self.tables, add_user(self.tables, "ctl-reader", groups=[self.group]), "read")
        self.admin = Api(self.node, self.token)

    def add(self, name, **members):
        job = {"jobGroup": self.group, "name": name, "author": "me", "executorHandler": "h", **members}
        return self.admin.good("POST", "/jobs", job, status=201)["id"]

    def environment(self, **more):
        # No database at all: whatever needs one fails.
        names = {"SHARDWHEEL_CTL_URL": self.node.url, "SHARDWHEEL_CTL_TOKEN": self.token, **more}
        return {**environment(), **names}

    def run(self, *arguments, status=0, stdin=None, **more):
        done = subprocess.run([binary(), "ctl", *map(str, arguments)], env=self.environment(**more), input=stdin,
                              capture_output=True, text=True, timeout=60, cwd=self.world.folder)
        assert done.returncode == status, f"status {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def said(self, *arguments, **options):
        return self.run(*arguments, **options).stdout

    def refused(self, *arguments, status=1, **options):
        return self.run(*arguments, status=status, **options).stderr


@pytest.fixture(scope="module")
def site(make_module_world, mariadb):
    return Site(make_module_world(mariadb))


@pytest.fixture(autouse=True)
def no_jobs(site):
    site.tables.execute("DELETE FROM xxl_job_info")
    site.tables.execute("DELETE FROM shardwheel_job")
    site.tables.execute("DELETE FROM xxl_job_log")


@pytest.mark.asan
def test_jobs_are_found_started_and_stopped(site):
    first = site.add("nightly & more", scheduleType="CRON", scheduleConf="0 0 2 * * ?", settings={"tags": ["money"]})
    site.add("nightly & more, too")
    table = site.said("jobs")
    assert f"{first}   nightly & more  " in table and "CRON 0 0 2 * * ?" in table and "stopped" in table
    assert [job["id"] for job in json.loads(site.said("jobs", "--json", "--tag", "money"))["items"]] == [first]
    assert "1 of 2 jobs" in site.said("jobs", "--limit", 1)
    assert site.said("jobs", "--group", "orders-old", "--running", "yes").count("\n") == 1

    assert f"job {first}, nightly & more, is running; it fires next at 20" in site.said("start", "nightly & more")
    assert json.loads(site.said("start", "orders/nightly & more", "--json"))["running"] is True
    assert "nightly & more  running" in site.said("jobs", "--running", "yes")
    assert f"job {first}, nightly & more, is stopped" in site.said("stop", first)


@pytest.mark.asan
def test_what_is_wrong_is_named(site):
    twice = [site.add("twice") for _ in range(2)]
    assert '2 jobs are called "twice"' in site.refused("start", "twice")
    assert 'there is no job called "none"' in site.refused("stop", "none")
    assert 'there is no executor group "order s"' in site.refused("stop", "order s/twice")
    assert 'no executor group "order"' in site.refused("jobs", "--group", "order")  # not those that begin so
    assert "99999" in site.refused("start", 99999)
    assert "--running: expected yes or no" in site.refused("jobs", "--running", "maybe")
    assert "--colour: unknown option" in site.refused("jobs", "--colour", "red")
    assert "limit" in site.refused("jobs", "--limit", "many")
    assert "result" in site.refused("runs", "--result", "good")
    assert "-f and the file" in site.refused("apply")
    assert "apply" in site.refused("apply", "--wait", 3)  # a wrong line is not taken for drift
    assert "the token is missing" in site.refused("jobs", SHARDWHEEL_CTL_TOKEN="")
    assert "does not accept the token" in site.refused("jobs", SHARDWHEEL_CTL_TOKEN="swt_wrong")
    assert "http://" in site.refused("jobs", SHARDWHEEL_CTL_URL="ftp://x")
    assert "127.0.0.1:1" in site.refused("jobs", SHARDWHEEL_CTL_URL="http://127.0.0.1:1")
    assert "is there a node at this address" in site.refused("jobs", SHARDWHEEL_CTL_URL=site.node.url + "/metrics")
    assert site.reader not in site.refused("start", twice[0], SHARDWHEEL_CTL_TOKEN=site.reader)
    assert site.admin.good("GET", f"/jobs/{twice[0]}")["running"] is False


@contextlib.contextmanager
def stranger(answer):
    """The URL of a server that answers this to everything."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer.encode())

        do_POST = do_GET

        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.asan
@pytest.mark.parametrize("answer, status", [
    ("[]", 1), ("7", 1), ("null", 1), ("{", 1), ("{}", 0), ('{"next":"x"}', 0),
    ('{"items":"x","next":"y","total":{}}', 0),
    ('{"items":[7,null,[],{"tags":"x","lastRun":3}],"next":7,"total":null}', 0)])
def test_answers_of_a_stranger_are_no_fault(site, tmp_path, answer, status):
    path = tmp_path / "document.json"
    path.write_text("{}")
    with stranger(answer) as url:
        for arguments in (["jobs"], ["runs"], ["alarm-rules"]):
            site.run(*arguments, status=status, SHARDWHEEL_CTL_URL=url)
        assert site.refused("start", "one", SHARDWHEEL_CTL_URL=url)
        site.run("apply", "-f", path, status=status, SHARDWHEEL_CTL_URL=url)


@pytest.mark.asan
def test_a_document_is_planned_and_applied(site):
    job = site.add("nightly", scheduleType="CRON", scheduleConf="0 0 2 * * ?")
    document = json.loads(site.said("export", "--group", "orders"))
    path = os.path.join(site.world.folder, "jobs.json")

    def write():
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)

    write()
    assert "plan: 0 created, 0 changed, 2 the same" in site.said("apply", "-f", path, "--dry-run")
    assert "0 created, 0 changed" in site.said("apply", "-f", path)
    document["jobs"][0]["scheduleConf"] = "0 0 3 * * ?"
    document["jobs"].append({"appname": "orders", "name": "new", "author": "me", "executorHandler": "h"})
    write()
    plan = site.said("apply", "-f", path, "--dry-run", status=2)  # drift
    assert 'change   job orders/nightly\n    scheduleConf: "0 0 2 * * ?" -> "0 0 3 * * ?"' in plan
    assert "create   job orders/new" in plan and "plan: 1 created, 1 changed, 1 the same" in plan
    assert site.admin.good("GET", f"/jobs/{job}")["scheduleConf"] == "0 0 2 * * ?"  # nothing was written

    assert json.loads(site.said("apply", "-f", "-", "--dry-run", "--json", stdin=json.dumps(document),
                                status=2))["create"] == 1
    assert "applied: 1 created, 1 changed" in site.said("apply", "-f", path)
    assert site.admin.good("GET", f"/jobs/{job}")["scheduleConf"] == "0 0 3 * * ?"
    assert "plan: 0 created, 0 changed, 3 the same" in site.said("apply", "-f", path, "--dry-run")

    document["jobs"][1]["executorHandler"] = "other"
    document["jobs"][0]["scheduleConf"] = "every day"
    write()
    done = site.run("apply", "-f", path, status=1)  # all or nothing, as far as can be known before
    assert "refused  job orders/nightly: scheduleConf: " in done.stdout and "nothing was applied" in done.stderr
    assert {j["name"]: j["executorHandler"] for j in site.admin.good("GET", "/jobs")["items"]}["new"] == "h"


def test_flows_of_a_document_are_planned_and_applied(site):
    site.add("step of a flow")
    step = {"name": "a", "type": "job", "job": {"appname": "orders", "name": "step of a flow"}}
    document = {"format": "shardwheel-jobs", "version": 1,
                "flows": [{"document": {"name": "applied", "steps": [step]}, "running": False}]}

    def apply(*options, **expected):
        return site.said("apply", "-f", "-", *options, stdin=json.dumps(document), **expected)

    assert "create   flow applied\n" in apply("--dry-run", status=2)
    assert "applied: 1 created" in apply() and "1 the same" in apply("--dry-run")
    step["param"] = "x"
    changed = apply("--dry-run", status=2)
    assert 'change   flow applied\n    version: 1 -> 2\n    ~ step a: param: none -> "x"\n' in changed
    assert "applied: 0 created, 1 changed" in apply()
    step["job"]["name"] = "nobody"
    done = site.run("apply", "-f", "-", stdin=json.dumps(document), status=1)
    assert "refused  flow applied: document: /steps/0/job: there is no job orders/nobody\n" in done.stdout


@pytest.mark.asan
@pytest.mark.parametrize("content, said", [("", "empty"), ("{", ""), ("[1]", ""),
                                           ('{"format":"x","version":1}', "format"),
                                           ('{"format":"shardwheel-jobs","version":1,"jobs":[{}]}', "appname"),
                                           ("\0", "NUL"), ("x" * (5 << 20), "more than")],
                         ids=range(7))
def test_a_document_that_is_none(site, content, said):
    path = os.path.join(site.world.folder, "wrong.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    assert said in site.refused("apply", "-f", path)
    assert "No such file" in site.refused("apply", "-f", path + ".none")


@pytest.mark.asan
def test_rules_of_alarms_are_set_and_deleted(site):
    def said(*arguments):
        return json.loads(site.said("set-alarm-rule", *arguments, "--json"))

    first = said("no_success", "--limit", 86400, "--tag", "billing")
    assert first["outcome"] == "added" and said("no_success", "--limit", 3600)["id"] != first["id"]
    assert said("no_success", "--tag", "billing", "--limit", 86400) == {**first, "outcome": "is so already"}
    assert said("no_success", "--tag=billing", "--limit=7200") == {**first, "limit": 7200, "outcome": "changed"}
    assert site.said("set-alarm-rule", "not_done", "--done-by", "06:00", "--group", "orders").endswith(
        ", not_done, 06:00: added\n")
    assert said("not_done", "--done-by", "06:30", "--group", "orders")["outcome"] == "changed"
    said("long_run", "--limit", 0)
    said("few_executors", "--group", "orders", "--limit", 2)
    lines = [line.split(maxsplit=4)[1:] for line in site.said("alarm-rules").splitlines()]
    assert lines == [["KIND", "TAG", "GROUP", "LIMIT"], ["no_success", "billing", "-", "7200 s"],
                     ["no_success", "-", "-", "3600 s"], ["not_done", "-", "orders", "06:30"],
                     ["long_run", "-", "-", "3 times the usual"], ["few_executors", "-", "orders", "2 executors"]]
    rules = json.loads(site.said("alarm-rules", "--json"))["items"]
    assert rules == site.admin.good("GET", "/alarms/rules")["items"] and rules[0]["id"] == first["id"]
    for rule in rules:
        assert site.said("delete-alarm-rule", rule["id"]) == f"rule {rule['id']}: deleted\n"
    assert site.said("alarm-rules").count("\n") == 1


@pytest.mark.asan
@pytest.mark.parametrize("arguments, said", [
    (("set-alarm-rule", "no_success"), "--limit must be given"),
    (("set-alarm-rule", "no_success", "--limit", 60, "--done-by", "06:00"), "exclude each other"),
    (("set-alarm-rule", "no_success", "--limit", "many"), '--limit: expected a number, 0 to 2147483647, not "many"'),
    (("set-alarm-rule", "no_success", "--limit", 59), "limit: a rule of kind no_success needs seconds from 60"),
    (("set-alarm-rule", "no_success", "--limit", ""), "--limit: expected a number"),
    (("set-alarm-rule", "not_done", "--done-by", ""), "--done-by: expected a time of day"),
    (("set-alarm-rule", "not_done", "--done-by", "6"), "doneBy must be a time of day"),
    (("set-alarm-rule", "no-success", "--limit", 60), "kind must be one of"),
    (("set-alarm-rule", "", "--limit", 60), "kind"),
    (("set-alarm-rule", "no_success", "--limit", 60, "--colour", "red"), "--limit, --done-by, --tag and --group"),
    (("set-alarm-rule", "late_shard", "--limit", 60, "--tag", "a"), "tag: a rule of kind late_shard"),
    (("set-alarm-rule", "no_success", "--limit", 60, "--tag", "x" * 200), "tag"),
    (("delete-alarm-rule", 999999), "there is no such rule")], ids=range(13))
def test_a_rule_that_cannot_be(site, arguments, said):
    assert said in site.refused(*arguments)
    assert site.admin.good("GET", "/alarms/rules")["items"] == []


def test_a_line_of_rules_that_is_wrong(site):
    assert "the kind of the rule is missing" in site.refused("set-alarm-rule", status=2)
    assert "expected the id of a rule" in site.refused("delete-alarm-rule", "no_success", status=2)
    assert "this command takes no argument" in site.refused("alarm-rules", "all", status=2)
    reads = {"SHARDWHEEL_CTL_TOKEN": site.reader}
    assert site.said("alarm-rules", **reads).count("\n") == 1
    assert "no right" in site.refused("set-alarm-rule", "no_success", "--limit", 60, **reads)


@pytest.mark.asan
def test_drift_in_rules_is_found(site):
    site.said("set-alarm-rule", "not_done", "--done-by", "06:00")
    site.said("set-alarm-rule", "no_success", "--limit", 86400, "--tag", "billing")
    document = site.said("export")
    rules = json.loads(document)["rules"]
    assert rules == [{"kind": "no_success", "tag": "billing", "limit": 86400}, {"kind": "not_done", "doneBy": "06:00"}]
    assert "0 created, 0 changed" in site.said("apply", "-f", "-", "--dry-run", stdin=document)

    site.said("set-alarm-rule", "no_success", "--limit", 60, "--tag", "billing")
    site.said("delete-alarm-rule", next(rule["id"] for rule in site.admin.good("GET", "/alarms/rules")["items"]
                                        if rule["doneBy"]))
    plan = site.said("apply", "-f", "-", "--dry-run", stdin=document, status=2)
    assert "change   rule no_success tag=billing\n    limit: 60 -> 86400\n" in plan
    assert "create   rule not_done\n" in plan
    assert site.admin.good("GET", "/alarms/rules")["items"][0]["limit"] == 60  # nothing was written
    assert "applied: 1 created, 1 changed" in site.said("apply", "-f", "-", stdin=document)
    assert json.loads(site.said("export"))["rules"] == rules
    assert "0 created, 0 changed" in site.said("apply", "-f", "-", stdin=document)
    for rule in site.admin.good("GET", "/alarms/rules")["items"]:
        site.said("delete-alarm-rule", rule["id"])


@contextlib.contextmanager
def followed(site, *arguments):
    """The runs that it tells, one after the other. Where it tells no more for long, a test fails, and does not hang."""
    following = subprocess.Popen([binary(), "ctl", "runs", *arguments, "--follow", "--json"], env=site.environment(),
                                 stdout=subprocess.PIPE, text=True, cwd=site.world.folder)
    end = threading.Timer(60, following.kill)
    end.start()
    try:
        yield map(json.loads, following.stdout)
    finally:
        end.cancel()
        following.terminate()  # not SIGINT: who runs tests in the background may have it ignored
        following.wait(10)
        following.stdout.close()


def test_runs_are_listed_and_followed(site):
    executor = site.world.executor()
    site.tables.execute("UPDATE xxl_job_group SET address_list = %s WHERE id = %s", (executor.address, site.group))
    job = site.add("seen")
    assert site.said("runs", "seen").count("\n") == 1
    with followed(site, "seen") as runs:
        site.admin.good("POST", f"/jobs/{job}/trigger", {}, status=202)
        states = []
        while "running" not in states:
            run = next(runs)
            states.append(run["state"])
        assert run["jobId"] == job
        site.node.post("/api/callback", [callback_entry(run["id"])], TOKEN)
        while "success" not in states:
            states.append(next(runs)["state"])
        assert len(states) == len(set(states))  # each state is shown once
    assert "success" in site.said("runs", "--result", "success", "--group", "orders")
    assert json.loads(site.said("runs", job, "--json"))["items"][0]["id"] == run["id"]


def test_a_run_is_followed_to_its_end_behind_newer_ones(site):
    executor = site.world.executor()
    site.tables.execute("UPDATE xxl_job_group SET address_list = %s WHERE id = %s", (executor.address, site.group))
    long, other = site.add("long"), site.add("other")
    with followed(site, "--limit", "1") as runs:
        def find(job, state):
            return next(run for run in runs if (run["jobId"], run["state"]) == (job, state))

        site.admin.good("POST", f"/jobs/{long}/trigger", {}, status=202)
        run = find(long, "running")
        site.admin.good("POST", f"/jobs/{other}/trigger", {}, status=202)
        find(other, "running")
        site.node.post("/api/callback", [callback_entry(run["id"])], TOKEN)
        find(long, "success")
