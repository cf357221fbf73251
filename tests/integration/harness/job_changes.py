# SPDX-License-Identifier: MIT
"""
Jobs that people start, stop and edit by api/v1 at random moments while they fire, and the audit of it: nothing goes out
whose second is more than one behind a stop, nothing that was due is lost, nothing happens twice, and no stopped job
runs again by itself.
"""
import calendar
import http.client
import json
import re
import threading
import time
import urllib.parse

from .process import wait_until

STOP_S = 1           # a stop counts for each second that begins so long after its commit
SETTLED_S = 12       # so long after a node was killed what it had planned may be late: it goes with a stop or an edit
CONFS = ("* * * * * ?", "0/2 * * * * ?")
MARK = re.compile(r"<!--sw:p:(\d+):\d+(?::L)?(?::M)?(?::K\w)?(?::G\d+)?(?::O(\d+))?-->")


def log_in(node, name="admin", password="123456"):
    """The cookie of dialect A, which is good on every node."""
    answer = node.request("POST", "/login", urllib.parse.urlencode({"userName": name, "password": password}),
                          {"Content-Type": "application/x-www-form-urlencoded", "Cookie": "XXL_JOB_LOGIN_IDENTITY="})
    assert answer.status == 200 and answer.json["code"] == 200, answer.text
    return answer.headers["Set-Cookie"].split(";")[0]


class V1:
    """Calls of api/v1 at whichever node answers."""

    def __init__(self, nodes):
        self.nodes = nodes  # a function
        self.cookie = log_in(nodes()[0])

    def call(self, node, method, path, body=None, headers=None):
        sent = {"Cookie": self.cookie, **(headers or {})}
        if body is not None:
            sent["Content-Type"] = "application/json"
        return node.request(method, "/api/v1" + path, None if body is None else json.dumps(body), sent, seconds=10)

    def insist(self, method, path, body=None, seconds=60):
        """Until a node has done it."""
        deadline, turn = time.monotonic() + seconds, 0
        while True:
            nodes = [node for node in self.nodes() if node.running()]
            turn += 1
            try:
                answer = self.call(nodes[turn % len(nodes)], method, path, body)
                if answer.status < 500:
                    assert answer.status < 300, f"{method} {path}: {answer.status} {answer.text}"
                    return answer
                problem = answer.text
            except (OSError, ZeroDivisionError, http.client.HTTPException) as error:
                problem = repr(error)
            assert time.monotonic() < deadline, f"{method} {path}: {problem}"
            time.sleep(0.05)


class Change:
    def __init__(self, job, kind, sent_s):
        self.job, self.kind, self.sent_s = job, kind, sent_s
        self.answered_s = self.next_s = self.conf = None


class JobChanges:
    """Some jobs of an executor of their own; `run` changes them until it is told to end."""

    def __init__(self, world, nodes, count, rng):
        self.tables = world.tables
        self.executor = world.executor()
        self.group = world.group(self.executor, app_name="changed")
        self.api = V1(nodes)
        self.rng = rng
        self.changes, self.kills, self.problems = [], [], []
        self.late_after_start = 0
        self.looked_at = 0  # due seconds that must have a row
        self.now = {}  # job -> (running, conf), as the last change left it
        for _ in range(count):
            job = self.api.insist("POST", "/jobs", {
                "jobGroup": self.group, "name": "changed", "author": "test", "executorHandler": "changed",
                "scheduleType": "CRON", "scheduleConf": CONFS[0]}).json["id"]
            self.now[job] = (False, CONFS[0])
        self._end = threading.Event()
        self._thread = None

    def killed(self):
        self.kills.append(time.time())

    def begin(self, pause_s=0.3):
        self._thread = threading.Thread(target=self._run, args=(pause_s,), daemon=True)
        self._thread.start()

    def end(self):
        self._end.set()
        self._thread.join(90)
        assert not self._thread.is_alive(), "a change is still under way"
        for job in self.now:
            self._change(job, "stop")

    def _run(self, pause_s):
        while not self._end.wait(self.rng.uniform(0, pause_s)):
            job = self.rng.choice(sorted(self.now))
            running, _ = self.now[job]
            kinds = ("rename",) * 7 + ("stop", "stop", "edit", "start") if running else ("start", "start", "edit")
            try:
                self._change(job, self.rng.choice(kinds))
            except Exception as error:  # told by the audit
                self.problems.append(repr(error))
                return

    def _change(self, job, kind):
        running, conf = self.now[job]
        row = self.api.insist("GET", f"/jobs/{job}").json
        if (row["running"], row["scheduleConf"]) != (running, conf):
            self.problems.append(f"job {job} was left as {running, conf} and is {row}")
        change = Change(job, kind, time.time())
        self.changes.append(change)
        if kind == "edit":
            conf = CONFS[1] if conf == CONFS[0] else CONFS[0]
            row = self.api.insist("PATCH", f"/jobs/{job}", {"scheduleConf": conf}).json
        elif kind == "rename":
            row = self.api.insist("PATCH", f"/jobs/{job}", {"name": f"n{len(self.changes)}"}).json
        else:
            row = self.api.insist("POST", f"/jobs/{job}/{kind}").json
            running = kind == "start"
        change.answered_s = time.time()
        change.conf = conf
        self.now[job] = (running, conf)
        if running and row["nextFireAt"] and kind != "rename":
            change.next_s = parse_instant(row["nextFireAt"])

    # What must be true

    def _rows(self, job):
        """{due second: log ids} of what was planned for it."""
        found = {}
        for row in self.tables.rows("SELECT id, trigger_msg FROM xxl_job_log WHERE job_id = %s", (job,)):
            mark = MARK.match(row["trigger_msg"] or "")
            if mark:
                found.setdefault(int(mark[2] or mark[1]), []).append(row["id"])
        return found

    def audit(self):
        self.problems += [f"log {log} arrived {count} times" for log, count in self._arrivals().items() if count > 1]
        for job in self.now:
            rows = self._rows(job)
            self.problems += [f"job {job}, second {due}: rows {ids}" for due, ids in rows.items() if len(ids) > 1]
            self._audit_stops(job)
            self._audit_due(job, rows)
        for job in self.now:  # the executor calls nobody back
            self.tables.execute("UPDATE xxl_job_log SET handle_code = 200 WHERE job_id = %s AND trigger_code = 200",
                                (job,))
        assert not self.problems, f"{len(self.problems)} problems: " + "; ".join(self.problems[:20])
        counts = {}
        for change in self.changes:
            counts[change.kind] = counts.get(change.kind, 0) + 1
        return {**counts, "fires": len(self.executor.runs()), "looked at": self.looked_at,
                "late after a start": self.late_after_start}

    def _arrivals(self):
        counts = {}
        for run in self.executor.runs():
            counts[run.logId] = counts.get(run.logId, 0) + 1
        return counts

    def _audit_stops(self, job):
        mine = [change for change in self.changes if change.job == job]
        for at, change in enumerate(mine):
            if change.kind != "stop":
                continue
            starts = [later.sent_s for later in mine[at + 1:] if later.kind == "start"]
            until_s = starts[0] if starts else float("inf")
            for run in self.executor.runs(job):
                due_s = run.logDateTime / 1000
                if not change.answered_s + STOP_S < due_s < until_s:
                    continue
                if run.at_s > until_s:  # nobody had looked at it while the job was stopped: see docs/jobs.md
                    self.late_after_start += 1
                else:
                    self.problems.append(f"job {job} was stopped at {change.answered_s:.3f}, and log {run.logId} went "
                                         f"out for {run.logDateTime / 1000:.0f}, at {run.at_s:.3f}")

    def _audit_due(self, job, rows):
        """From a start or an edit to the next one or a stop, each second of the schedule has its row."""
        mine = [change for change in self.changes if change.job == job and change.kind != "rename"]
        for change, follower in zip(mine, mine[1:]):
            if change.next_s is None:
                continue
            end_s = follower.sent_s - STOP_S
            kills = [kill for kill in self.kills if kill < end_s < kill + SETTLED_S]
            end_s = min([end_s] + [kill - 8 for kill in kills])
            step = 2 if change.conf == CONFS[1] else 1
            due_seconds = range(change.next_s, int(end_s) + 1, step)
            self.looked_at += len(due_seconds)
            lost = [due for due in due_seconds if due not in rows]
            if lost:
                self.problems.append(f"job {job}: from {change.kind} at {change.answered_s:.3f} (next {change.next_s}) "
                                     f"to {follower.kind} at {follower.sent_s:.3f} nothing for {lost[:10]}")

    def wait_over(self, seconds=90):
        """Nothing of these jobs is open any more."""
        jobs = ",".join(map(str, self.now))
        wait_until(lambda: not self.tables.value(
            f"SELECT COUNT(*) FROM xxl_job_log WHERE job_id IN ({jobs}) AND trigger_code = 0"), seconds,
            "the end of all fires of the jobs that were changed")


def parse_instant(text):
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))
