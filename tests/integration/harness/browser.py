# SPDX-License-Identifier: MIT
"""The console with everything real behind it: database, ZooKeeper, two nodes, an executor; and a browser before it."""
import hashlib
import json
import os
import subprocess
import time
import xml.etree.ElementTree
import zlib

from .builds import java_classpath
from .cluster import TOKEN
from .executors import JavaExecutor
from .node import ROOT
from .process import wait_until

WEB = os.path.join(ROOT, "build", "web")
RESULTS = os.path.join(ROOT, "build", "results", "browser")
APP = "orders"
PASSWORD = "secret-123"

# Text of strangers, in every field that takes text: it must be seen as it is, and never do anything.
XSS = "<img src=x onerror=alert(1)><script>alert(2)</script>"


class Stage:
    """A world with two nodes and a Java executor; jobs and users that the tasks need, by name."""

    def __init__(self, world):
        assert os.path.exists(os.path.join(WEB, "index.html")), "there is no build/web: run tools/web build"
        self.world = world
        self.tables = world.tables
        self.group = self.tables.add_group(APP)
        self.other_group = self.tables.add_group("invoices", ["http://127.0.0.1:1/"])
        self.jobs = {}
        self.users = {"admin": PASSWORD}
        self._add_jobs()
        self.nodes = [world.node("node-a"), world.node("node-b")]
        self._add_users()
        self.runs = {"kept": self._add_kept_run(), "late": self._add_late_run()}
        admins = [f"{node.url}/xxl-job-admin" for node in self.nodes]
        self.executor = JavaExecutor(world.folder, "3.3.2", java_classpath("3.3.2"), admins, APP, TOKEN)
        world.others.append(self.executor)
        self.executor.start()
        wait_until(
            lambda: self.tables.value("SELECT address_list FROM xxl_job_group WHERE id = %s", (self.group,)), 45,
            "the executor to be in the address list of its group",
        )
        failed = "SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code = 500 AND job_id = %s"
        wait_until(lambda: self.tables.value(failed, (self.jobs["nobody"],)), 30, "a fire that did not go")

    def _add_users(self):
        hashed = hashlib.sha256(PASSWORD.encode()).hexdigest()
        self.tables.execute("DELETE FROM xxl_job_user")
        people = [("admin", 1, None, None), ("groupie", 0, str(self.group), None),
                  ("reader", 0, None, "reader"), ("runner", 0, None, "runner")]
        for number, (name, role, groups, own) in enumerate(people, 1):
            self.users[name] = PASSWORD
            self.tables.insert("xxl_job_user", {
                "id": number, "username": name, "password": hashed, "role": role, "permission": groups})
            if own:
                self.tables.insert("shardwheel_role", {"user_id": number, "role": own, "job_groups": None})

    def _add_kept_run(self):
        """A run that failed on an executor that is gone; its log was kept."""
        text = "".join(f"line {number} of the kept log\n" for number in range(1, 41)) + XSS + "\n"
        data = zlib.compress(text.encode())
        run = self.tables.add_log(
            self.jobs["breaking"], job_group=self.group, executor_address="http://127.0.0.1:1/", handle_code=500,
            handle_time=time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()), handle_msg="it broke", alarm_status=1)
        self.tables.insert("shardwheel_kept_log", {
            "log_id": run, "job_id": self.jobs["breaking"], "at_ms": int(time.time() * 1000), "bytes": len(data),
            "text_bytes": len(text), "is_cut": 1, "data": data})
        return run

    def _add_late_run(self):
        """A run of yesterday: due at midnight in Shanghai, sent 5 s later, ended 75 s later still."""
        due = (int(time.time()) // 86400 - 1) * 86400 + 16 * 3600
        sent, ended = (time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(due + after)) for after in (5, 80))
        return self.tables.add_log(
            self.jobs["stopped"], job_group=self.group, executor_address="http://127.0.0.1:1/", trigger_time=sent,
            trigger_msg=f"<!--sw:p:{due + 5}:1:O{due}-->", handle_code=200, handle_time=ended)

    def job(self, key, name, handler="demoJobHandler", running=1, group=None, **columns):
        self.jobs[key] = self.tables.add_job(
            group or self.group, handler, **{"job_desc": name, "trigger_status": running, "author": "ann", **columns})
        return self.jobs[key]

    def _add_jobs(self):
        self.job("steady", "order-sync", cron="*/5 * * * * ?", executor_param="region=cn")
        self.job("failing", "invoice-export", "failingJobHandler", cron="*/10 * * * * ?")
        self.job("breaking", "always-breaks", "failingJobHandler", running=0)
        self.job("mended", "mended", "failingJobHandler", running=0)
        last = self.job("child", "close-books", running=0)
        self.job("parent", "count-orders", running=0, child_jobid=str(last))
        self.job("sleeping", "long-report", "sleepingJobHandler", running=0, executor_param="600000")
        self.job("talking", "talkative", "talkingJobHandler", running=0, executor_param="40")
        self.job("stopped", "nightly-close", running=0, cron="0 30 2 * * ?")
        self.job("edited", "price-import", cron="0 0 3 * * ?", next_in=3600)
        self.job("shared", "two-editors", running=0, cron="0 0 4 * * ?")
        self.job("glue", "cleanup-script", "", running=0, glue_type="GLUE_SHELL", glue_source="echo one\n",
                 glue_remark="first version")
        self.job("nobody", "has no executor", group=self.other_group, cron="*/20 * * * * ?", next_in=3)
        self.job("strange", XSS[:250], XSS[:250], running=0, executor_param=XSS, author=XSS[:64], alarm_email=XSS[:255])
        for number in range(1, 25):
            self.job(f"batch{number}", f"batch {number:02}", running=1, cron="0 0 5 * * ?", next_in=7200)

    def describe(self, language, out):
        return {
            "nodes": [{"name": node.name, "url": f"{node.url}/xxl-job-admin"} for node in self.nodes],
            "password": PASSWORD, "group": {"id": self.group, "appname": APP}, "jobs": self.jobs, "users": self.users,
            "runs": self.runs, "language": language, "out": out,
        }


def run_tasks(stage, language, files, name, seconds=600, environment=None):
    """Runs those files of web/e2e in a browser; fails with what failed there."""
    out = os.path.join(RESULTS, name)
    os.makedirs(out, exist_ok=True)
    junit = os.path.join(out, "junit.xml")
    env = {**os.environ, "SW_STAGE": json.dumps(stage.describe(language, out)), "SW_JUNIT": junit, "CI": "1",
           **(environment or {})}
    started = time.time()
    done = subprocess.run(
        [os.path.join(ROOT, "tools", "web"), "e2e", *files],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False,
    )
    assert done.returncode == 0, done.stdout[-20000:]
    suites = xml.etree.ElementTree.parse(junit).getroot()
    assert int(suites.get("tests")) > 0, "no task ran"
    print(f"{name}: {suites.get('tests')} tasks in {time.time() - started:.0f} s")
