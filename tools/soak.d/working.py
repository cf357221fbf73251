# SPDX-License-Identifier: MIT
"""Who uses the nodes while they are hurt: callers of api/v1, and users of the original's console."""
import collections
import http.client
import itertools
import random
import threading
import time
import urllib.parse

from harness.v1 import Api, add_token, add_user

PAUSE_S = 0.3
ELSEWHERE = (502, 503, 504)  # a node that is starting, stopping, or without its database says so
LOOKS = ("/overview", "/jobs?limit=20", "/runs?limit=20", "/nodes", "/shards", "/groups", "/events?{span}",
         "/alarms/sent", "/history/minutes?{span}", "/figures")


def _last_hour():
    """As a query. Instants are text."""
    ends = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago)) for ago in (3600, 0)]
    return f"from={ends[0]}&to={ends[1]}"


class Work:
    """
    Threads, two for each kind, until `end`. What nodes answer is counted. All that is asked may be asked, so a refusal
    is a problem, also of a job that the caller has just made on another node; "not now" is none.
    """

    def __init__(self, stage, seed):
        self.ended = threading.Event()
        self.counts = collections.Counter()
        self.problems = []
        tables = stage.world.tables
        self.nodes = list(stage.nodes)
        self.token = add_token(tables, add_user(tables, "soak-caller", role=1))
        # Its jobs are triggered by hand, never by their schedule.
        self.group = stage.world.group(stage.world.executor(), app_name="called")
        self.threads = [threading.Thread(target=self._run, args=(work, random.Random(f"{seed}/{number}")), daemon=True)
                        for number, work in enumerate((self._call, self._call, self._visit, self._visit))]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def end(self):
        self.ended.set()
        for thread in self.threads:
            if thread.is_alive():
                thread.join(60)

    def _run(self, work, rng):
        for turn in itertools.count():
            if self.ended.wait(PAUSE_S):
                return
            try:
                work(rng, turn)
            except (OSError, http.client.HTTPException):
                self.counts["no answer"] += 1
            except Exception as error:  # told in the report
                self.problems.append(f"{work.__name__}: {error!r}"[:400])

    def _note(self, what, answer):
        unsure = answer.status == 500 and answer.json.get("kind") == "unsure"
        self.counts["unsure" if unsure else answer.status] += 1
        if answer.status >= 400 and answer.status not in ELSEWHERE and not unsure:
            self.problems.append(f"{what}: {answer}")
        return answer

    def _call(self, rng, turn):
        api = Api(rng.choice(self.nodes), self.token)
        if turn % 5:
            path = rng.choice(LOOKS).format(span=_last_hour())
            self._note(path, api.call("GET", path))
            return
        made = self._note("POST /jobs", api.call("POST", "/jobs", {
            "jobGroup": self.group, "name": "made", "author": "soak", "scheduleType": "CRON",
            "scheduleConf": "0 0 0 1 1 ? 2099", "executorHandler": "demoJobHandler"}))
        if made.status not in (200, 201):
            return
        path = f"/jobs/{made.json['id']}"
        for method, end, body in (("POST", "/start", None), ("POST", "/trigger", {"executorParam": "soak"}),
                                  ("DELETE", "", None)):
            self._note(f"{method} {path}{end}", api.call(method, path + end, body))

    def _visit(self, rng, _):
        """Logs in to the original's console and looks at its lists."""
        node = rng.choice(self.nodes)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        login = self._note("login", node.request("POST", "/xxl-job-admin/auth/doLogin", urllib.parse.urlencode(
            {"userName": "admin", "password": "123456"}), form))
        cookie = login.headers.get("Set-Cookie", "").split(";")[0]
        if login.status != 200 or login.code != 200 or not cookie:
            self.counts["no login"] += 1
            return
        for path, fields in (
            ("jobinfo", {"jobGroup": 1, "triggerStatus": -1, "jobDesc": "", "executorHandler": "", "author": ""}),
            ("joblog", {"jobGroup": 0, "jobId": 0, "logStatus": -1, "filterTime": ""}),
        ):
            answer = self._note(path, node.request(
                "POST", f"/xxl-job-admin/{path}/pageList", urllib.parse.urlencode(
                    {**fields, "start": 0, "length": 10, "offset": 0, "pagesize": 10}), {**form, "Cookie": cookie}))
            if answer.status == 200:
                self._check_page(path, answer)

    def _check_page(self, path, answer):
        """A node without its database says so in the page's own way."""
        code = answer.json.get("code", 200)
        self.counts[f"{path} {code}"] += 1
