# SPDX-License-Identifier: MIT
"""
Plays the calls of tests/vectors/console against a node: requests and expected answers as data, for the four dialects.

A topic (jobs.json) is a list of steps, played in order. What a step says:

    step                    its name in a report
    in                      the dialects that it is for ("ABCD" when absent)
    as                      admin (when absent), ann (group 1), eve (group 2), bob (no group), nobody (no session)
    call or path, suffix    a name of calls.json, or a path below the context
    method                  POST when absent
    form, query, multipart  parameters; one that is null is left out, "..." names a set that they change
    body, type, json        a body as it is
    headers, cookies, app   sent besides; app: the token of group 1
  and what it expects:
    code      the code alone, where the call does not show its dialect
    ok        the payload of a success: a value, or {re, each, length, ids, has, fields}
    list      a page: {total, ids (in order), set (in any), fields, has (of the first row)}
    msg       a refusal with exactly this message: names of messages.json, literals behind ' (· stands for a blank)
    begins    a refusal whose message begins so
    ex        the form that the original gives exceptions, with all of these texts in its message
    refused   any refusal
    norole    the answer to somebody who is no administrator
    anonymous the answer to somebody without a session
    or400     in these dialects HTTP 400 will do too
    status    one of these; names: what the body says; header: what a header says; page, toLogin: where it redirects to
    cookie    null: none is set; {session: true|false}, {cleared: true}
    no        texts that must not be in the answer
    rows      [query, value] of the database afterwards; wait: the same, within some seconds
  or does instead: sql (statements), pick ([variable, query]), login (who), cascade (a form, changed step by step).

Whatever is refused must have written nothing: the tables are compared around it.
"""
import base64
import hashlib
import json
import os
import re
import time
import urllib.parse

from .node import ROOT

VECTORS = os.path.join(ROOT, "tests", "vectors", "console")
NATURAL = {"2.3": "A", "2.5": "A", "3.2": "B", "3.4": "C", "3.5": "D"}
COOKIES = {"A": "XXL_JOB_LOGIN_IDENTITY", "B": "xxl_job_login_token", "C": "xxl_job_login_token",
           "D": "xxl_job_login_token"}
LOGIN_PAGES = {"A": "/toLogin", "B": "/auth/login", "C": "/auth/login", "D": "/auth/login"}
NO_ROLE = "permission limit, current login-user does not have role:ADMIN"
JOB = {"jobGroup": "$g1", "jobDesc": "a job", "author": "me", "scheduleType": "CRON",
       "scheduleConf": "0 0 0 1 1 ? 2099", "misfireStrategy": "DO_NOTHING", "executorRouteStrategy": "FIRST",
       "executorBlockStrategy": "SERIAL_EXECUTION", "glueType": "BEAN", "executorHandler": "demoJobHandler"}
FIELDS = {
    "job": "id jobGroup jobDesc addTime updateTime author alarmEmail scheduleType scheduleConf misfireStrategy "
           "executorRouteStrategy executorHandler executorParam executorBlockStrategy executorTimeout "
           "executorFailRetryCount glueType glueSource glueRemark glueUpdatetime childJobId triggerStatus "
           "triggerLastTime triggerNextTime",
    "group": "id appname title addressType addressList updateTime registryList",
    "log": "id jobGroup jobId executorAddress executorHandler executorParam executorShardingParam "
           "executorFailRetryCount triggerTime triggerCode triggerMsg handleTime handleCode handleMsg alarmStatus",
    "user": "id username password role permission",
    "piece": "fromLineNum toLineNum logContent end",
    "chart": "triggerDayList triggerDayCountRunningList triggerDayCountSucList triggerDayCountFailList "
             "triggerCountRunningTotal triggerCountSucTotal triggerCountFailTotal",
}
DATES = ("addTime", "updateTime", "glueUpdatetime", "triggerTime", "handleTime")
DATE_FORMS = {
    "A": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00",
    "B": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00",
    "C": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
    "D": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
}
TABLES = ("xxl_job_info", "xxl_job_group", "xxl_job_user", "xxl_job_log", "xxl_job_logglue")


def load(name):
    with open(os.path.join(VECTORS, name), encoding="utf-8") as text:
        return json.load(text)


CALLS = load("calls.json")
MESSAGES = load("messages.json")


def path_of(call, dialect):
    """None where the dialect has no such call."""
    return CALLS[call]["ABCD".index(dialect)]


def fields_of(kind, dialect):
    names = FIELDS[kind].split()
    if dialect == "D":
        names = [{"jobDesc": "name", "title": "name"}.get(name, name) for name in names]
        if kind == "group":
            names.insert(5, "accessToken")
    if kind == "user" and dialect != "A":
        names.insert(3, "token")
    return names


def is_in_order(names, dialect, expected):
    """As declared; from 3.3.1 on the original sorts them."""
    return names == expected or (dialect in "CD" and names == sorted(expected))


class Site:
    """A node of one schema generation, with groups, jobs, logs and users that the steps know by name."""

    def __init__(self, world, language="zh_CN", keys=None):
        self.world = world
        self.tables = world.tables
        self.family = world.tables.family
        self.language = language
        self.executor = world.executor(paths=("/run", "/trigger", "/log", "/kill"))
        self.vars = {"executor": self.executor.address}
        self._seed()
        self.node = world.node(keys={"xxl.job.i18n": language, **(keys or {})})

    def hash(self, password):
        return (hashlib.md5 if self.family < "3.2" else hashlib.sha256)(password.encode()).hexdigest()

    def _seed(self):
        tables, names = self.tables, self.vars
        group_name = "name" if self.family == "3.5" else "title"
        job_name = "name" if self.family == "3.5" else "job_desc"
        token = "token-of-one" if self.family == "3.5" else None
        names["g1"] = tables.add_group("grp-one", [self.executor.address], token)
        names["g2"] = tables.add_group("grp-two")
        for group, name in (("g1", "One"), ("g2", "Two")):
            tables.execute(f"UPDATE xxl_job_group SET `{group_name}` = %s WHERE id = %s", (name, names[group]))
        for name, groups in (("ann", names["g1"]), ("bob", None), ("eve", names["g2"])):
            names[name] = tables.insert("xxl_job_user", {
                "username": name, "password": self.hash("123456"), "role": 0, "permission": groups})
        stopped = {"cron": "0 0 0 1 1 ? 2099", "trigger_status": 0, "trigger_next_time": 0, "author": "seeder"}
        names["j1"] = tables.add_job(names["g1"], **stopped, **{job_name: "seed one"})
        names["sh"] = tables.add_job(names["g1"], **stopped, **{
            job_name: "seed shell", "glue_type": "GLUE_SHELL", "executor_handler": "", "glue_source": "echo"})
        names["jn"] = tables.add_job(names["g1"], **stopped, **{
            job_name: "seed none", "schedule_type": "NONE", "schedule_conf": ""})
        names["j2"] = tables.add_job(names["g2"], **stopped, **{job_name: "seed two"})
        self._seed_logs()
        names["ann_hash"] = self.hash("123456")
        ann = {"id": names["ann"], "username": "ann", "password": names["ann_hash"], "role": 0, "permission": "1"}
        for name, row in (("a_cookie", ann), ("a_cookie_wrong", {**ann, "password": "0" * 32})):
            names[name] = json.dumps(row, separators=(",", ":")).encode().hex()
        session = json.dumps({"userId": str(names["ann"]), "expireTime": 0,
                              "signature": "0123456789abcdef0123456789abcdef"}, separators=(",", ":"))
        names["sso_cookie"] = base64.urlsafe_b64encode(session.encode()).decode().rstrip("=")

    def _seed_logs(self):
        tables, names = self.tables, self.vars
        shell = {"job_group": names["g1"], "executor_address": self.executor.address}
        for name, columns in (
            ("l_ok", {"trigger_time": "2024-05-01 10:00:00", "handle_code": 200, "handle_time": "2024-05-01 10:00:05"}),
            ("l_fail", {"trigger_time": "2024-05-01 11:00:00", "handle_code": 500, "handle_msg": "no"}),
            ("l_run", {}),
            ("l_tf", {"trigger_code": 500, "executor_address": None, "alarm_status": 1}),
        ):
            names[name] = tables.add_log(names["sh"], **{**shell, **columns})
        names["l_foreign"] = tables.add_log(names["j2"], **{**shell, "job_group": names["g2"]})
        names["l_orphan"] = tables.add_log(999999, **shell)
        names["l_last"] = names["l_orphan"]
        content = {"fromLineNum": 1, "toLineNum": 2, "logContent": "a <i> <b>bold</b><br>\"'&\n", "isEnd": False}

        def piece(request):
            content["fromLineNum"] = request.json["fromLineNum"]
            content["logContent"] = content["logContent"] if request.json["fromLineNum"] <= 2 else ""
            reply.body = json.dumps({"code": 200, "msg": None, "content": content, "data": content}).encode()

        from .executors import Reply
        reply = Reply(before=piece)
        self.executor.replies["/log"] = reply

    def sums(self):
        rows = self.tables.rows("CHECKSUM TABLE " + ", ".join(TABLES) + " EXTENDED")
        return {row["Table"].split(".")[1]: row["Checksum"] for row in rows}


class Player:
    """One dialect at one site. `problems` has what differed, one text each."""

    def __init__(self, site, dialect, context="/xxl-job-admin"):
        self.site = site
        self.dialect = dialect
        self.context = context
        self.jars = {"nobody": {}}
        self.problems = []
        self.played = 0

    # Texts

    def fill(self, value):
        """Puts variables and the words of the dialect and the schema in."""
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if isinstance(value, dict):
            return {key: self.fill(item) for key, item in value.items()}
        if not isinstance(value, str):
            return value
        if value.startswith("@ABC:"):
            value = value[5:].split("|D:")[self.dialect == "D"]
        repeat = re.fullmatch(r"=(.)\*(\d+)", value)
        if repeat:
            return repeat[1] * int(repeat[2])
        latest = self.site.family == "3.5"
        value = value.replace("@JOBNAME", "`name`" if latest else "job_desc")
        value = value.replace("@GROUPNAME", "`name`" if latest else "title")
        value = value.replace("@JOBDESC", "name" if self.dialect == "D" else "jobDesc")
        if "$jobform" in value:
            value = value.replace("$jobform", urllib.parse.urlencode(self.form("job.add", "$job")))
        found = re.fullmatch(r"\$#(\w+)", value)
        if found:
            return int(self.site.vars[found[1]])
        value = re.sub(r"\$(\w+)", lambda m: str(self.site.vars.get(m[1], m[0])), value)
        value = re.sub(r"\{hash:(\w+)\}", lambda m: self.site.hash(m[1]), value)
        return re.sub(r"\{(\w+)\}", lambda m: self.word(m[1]) if m[1] in MESSAGES else m[0], value)

    def word(self, key):
        entry = MESSAGES[key]
        language = self.site.language
        if self.dialect == "D" and language in entry.get("D", {}):
            return entry["D"][language]
        return entry[language]

    def message(self, keys):
        words = [self.fill(key[1:]).replace("·", " ") if key.startswith("'") else self.word(key)
                 for key in keys.split()]
        return "".join(words)

    # Requests

    def form(self, call, given):
        """Parameters under the names of the dialect."""
        if given == "$job":
            given = JOB
        elif "..." in given:
            given = {**JOB, **{key: value for key, value in given.items() if key != "..."}}
        named = {}
        for key, value in given.items():
            if value is None:
                continue
            if self.dialect in "CD":
                key = {"from": "offset", "count": "pagesize", "one": "ids[]"}.get(key, key)
            else:
                key = {"from": "start", "count": "length", "one": "id"}.get(key, key)
            if self.dialect == "D" and (call or "").split(".")[0] in ("job", "group"):
                key = {"jobDesc": "name", "title": "name"}.get(key, key)
            named[key] = self.fill(value)
        return named

    def url(self, step):
        path = step["path"] if "path" in step else path_of(step["call"], self.dialect)
        url = self.context + path + step.get("suffix", "")
        if "query" in step:
            url += "?" + urllib.parse.urlencode(self.form(step.get("call"), step["query"]))
        return url

    def body(self, step):
        """(bytes or None, headers)"""
        headers = dict(step.get("headers", {}))
        if "form" in step:
            body = urllib.parse.urlencode(self.form(step.get("call"), step["form"])).encode()
            headers.setdefault("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")
        elif "multipart" in step:
            body = b"".join(
                f'--x7x\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
                for key, value in self.form(step.get("call"), step["multipart"]).items()) + b"--x7x--\r\n"
            headers["Content-Type"] = "multipart/form-data; boundary=x7x"
        elif "json" in step:
            body = json.dumps(self.fill(step["json"])).encode()
            headers["Content-Type"] = "application/json"
        elif "body" in step:
            body = self.fill(step["body"]).encode()
            headers["Content-Type"] = step.get("type", "application/x-www-form-urlencoded")
        else:
            body = None
        if step.get("app"):
            headers.update({"XXL-JOB-ACCESS-TOKEN": "token-of-one", "XXL-JOB-APPNAME": "grp-one"})
        return body, headers

    def send(self, step):
        who = step.get("as", "admin")
        if who not in self.jars:
            self.login(who)
        body, headers = self.body(step)
        jar = self.fill(step["cookies"]) if "cookies" in step else {} if step.get("app") else self.jars[who]
        if jar:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in jar.items())
        return self.site.node.request(step.get("method", "POST"), self.url(step), body, headers)

    def login(self, who):
        step = {"call": "login", "as": "nobody", "form": {"userName": who, "password": "123456"}}
        answer = self.send(step)
        cookie = re.match(rf"{COOKIES[self.dialect]}=([^;]+)", answer.headers.get("Set-Cookie", ""))
        if not cookie:
            self.jars[who] = {}
            self.problems.append(f"{who} cannot log in: {answer}")
        else:
            self.jars[who] = {COOKIES[self.dialect]: cookie[1]}

    # Steps

    def play_topic(self, topic):
        for entry in load(f"{topic}.json"):
            if self.dialect in entry.get("in", "ABCD"):
                if "cascade" in entry:
                    self.play_cascade(topic, entry)
                else:
                    self.play(topic, entry)

    def play_cascade(self, topic, entry):
        form = dict(entry["form"])
        for step in entry["steps"]:
            form.update(step.get("set", {}))
            if self.dialect in step.get("in", "ABCD"):
                plain = {key: value for key, value in step.items() if key != "set"}
                self.play(topic, {**plain, "step": f"{entry['cascade']}: {step['step']}", "call": entry["call"],
                                  "form": dict(form)})

    def play(self, topic, step):
        self.played += 1
        try:
            self._act(step)
        except Exception as error:  # the report names every step that differs, not the first alone
            text = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            self.problems.append(
                f"{self.dialect} on {self.site.family}, {topic}: {step['step']}{self.describe(step)}\n    {text}")

    def describe(self, step):
        if "call" not in step and "path" not in step:
            return ""
        body = (self.body(step)[0] or b"").decode("utf-8", "replace")
        return f"\n    sent {step.get('method', 'POST')} {self.url(step)} {body[:600]} as {step.get('as', 'admin')}"

    def _act(self, step):
        site = self.site
        for statement in step.get("sql", ()):
            site.tables.execute(self.fill(statement))
        if "pick" in step:
            site.vars[step["pick"][0]] = site.tables.value(self.fill(step["pick"][1]))
        if "login" in step:
            self.login(step["login"])
        if "call" in step or "path" in step:
            before = site.sums()
            answer = self.send(step)
            accepted = self.check(step, answer)
            if not accepted:
                changed = [name for name, value in site.sums().items() if value != before[name]]
                assert not changed, f"refused, and yet {changed} changed: {answer}"
        if "rows" in step:
            self.check_rows(step["rows"])
        if "wait" in step:
            self.wait_rows(step["wait"])

    def check_rows(self, expected):
        query, value = expected
        found = self.site.tables.value(self.fill(query))
        assert str(found) == str(self.fill(value)), f"the row has {found!r}, not {self.fill(value)!r}"

    def wait_rows(self, expected, seconds=8):
        end = time.monotonic() + seconds
        while True:
            try:
                return self.check_rows(expected)
            except AssertionError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    # Answers

    def check(self, step, answer):
        """False when the answer is a refusal, which must have written nothing."""
        for text in step.get("no", ()):
            assert self.fill(text) not in answer.text, f"{text} is in {answer.text[:2000]}"
        if "cookie" in step:
            self.check_cookie(step["cookie"], answer)
        if "status" in step:
            return self.check_status(step, answer)
        if answer.status == 400 and self.dialect in step.get("or400", ""):
            return False
        if step.get("anonymous"):
            self.check_anonymous(answer, path_of(step["call"], self.dialect))
            return False
        if step.get("refused"):
            refused = answer.status >= 400 or answer.json["code"] != 200
            assert refused and answer.status < 500, f"no refusal: {answer}"
            if "has" in step:
                assert self.message(step["has"]) in answer.text, f"no {step['has']} in {answer}"
            return False
        assert answer.status == 200, f"{answer}"
        assert answer.headers["Content-Type"].startswith("application/json"), answer.headers["Content-Type"]
        return self.check_json(step, answer)

    def check_json(self, step, answer):
        if step.get("norole"):
            self.check_exception(answer, [self.word("system_permission_limit") if self.dialect == "A" else NO_ROLE])
        elif "ex" in step:
            self.check_exception(answer, [self.message(text) for text in step["ex"]])
        elif "msg" in step:
            self.check_envelope(answer, 500)
            wanted = self.message(step["msg"])
            assert answer.json["msg"] == wanted, f"the message is {answer.json['msg']!r}, not {wanted!r}: {answer}"
        elif "begins" in step:
            self.check_envelope(answer, 500)
            wanted = self.message(step["begins"])
            assert answer.json["msg"].startswith(wanted), f"the message does not begin with {wanted!r}: {answer}"
        elif "list" in step:
            self.check_list(step["list"], answer)
            return True
        elif "code" in step:
            assert answer.json["code"] == step["code"], f"{answer}"
            return True
        else:
            payload = self.check_envelope(answer, 200)
            self.check_payload(step["ok"], payload, answer)
            if "save" in step:
                self.site.vars[step["save"]] = int(payload)
            return True
        return False

    def check_status(self, step, answer):
        assert answer.status in step["status"], f"HTTP {answer.status}, not {step['status']}: {answer}"
        if "names" in step:
            assert step["names"] in answer.text, f"'{step['names']}' is not named: {answer}"
        for name, value in step.get("header", {}).items():
            assert value in (answer.headers[name] or ""), f"{name} is {answer.headers[name]!r}, not {value!r}"
        where = answer.headers["Location"] or ""
        if 300 <= answer.status < 400:
            assert re.match(r"/(?!/)", where), f"Location is {where!r}, which is not relative to the server"
        if step.get("toLogin"):
            assert "login" in where.lower(), f"Location is {where!r}"
        elif "page" in step and 300 <= answer.status < 400:
            assert "login" not in where.lower(), f"Location is {where!r}"
            assert step["page"] is True or self.fill(step["page"]) in where, f"Location is {where!r}"
        return answer.status < 400

    def check_anonymous(self, answer, path):
        if self.dialect == "A":
            assert answer.status == 302, f"{answer}"
            assert answer.headers["Location"] == self.context + "/toLogin", answer.headers["Location"]
            assert not answer.text, f"{answer}"
        else:
            assert answer.status == 200, f"{answer}"
            self.check_exception(answer, [f"not login for path:{path}"])

    def check_cookie(self, expected, answer):
        cookies = answer.headers.get_all("Set-Cookie") or []
        if expected is None:
            assert not cookies, f"cookies {cookies}"
            return
        cookies = [text for text in cookies if text.startswith(COOKIES[self.dialect] + "=")]
        assert len(cookies) == 1, f"cookies {answer.headers.get_all('Set-Cookie')}: {answer}"
        name_value, *flags = [part.strip() for part in cookies[0].split(";")]
        flags = {flag.split("=")[0].lower(): flag for flag in flags}
        assert flags.get("path") == "Path=/", cookies[0]
        if expected.get("cleared"):
            assert name_value.endswith("=") and ("max-age" in flags or "expires" in flags), cookies[0]
            return
        assert "httponly" in flags and "domain" not in flags, cookies[0]
        if expected["session"]:
            assert "max-age" not in flags and "expires" not in flags, cookies[0]
        else:
            assert flags.get("max-age", "").lower() == "max-age=2147483647", cookies[0]
        value = name_value.split("=", 1)[1]
        if self.dialect == "A":
            assert re.fullmatch("[0-9a-f]+", value), cookies[0]

    def check_envelope(self, answer, code):
        """The payload."""
        assert answer.status == 200, f"{answer}"
        envelope = answer.json
        content = "content" if self.dialect in "AB" else "data"
        names = ["code", "msg", content] + (["success"] if self.dialect != "A" else [])
        assert is_in_order(list(envelope), self.dialect, names), f"members are {list(envelope)}: {answer}"
        assert envelope["code"] == code, f"{answer}"
        if self.dialect != "A":
            assert envelope["success"] is (code == 200), f"{answer}"
        if code == 200:
            words = (None,) if self.dialect == "A" else ("Success", "成功") if self.dialect == "B" else ("Success",)
            assert envelope["msg"] in words, f"{answer}"
        else:
            assert envelope[content] is None, f"{answer}"
        return envelope[content]

    def check_exception(self, answer, texts):
        envelope = answer.json
        names = ["code", "msg", "content"] if self.dialect == "A" else ["code", "msg"]
        assert list(envelope) == names, f"members are {list(envelope)}: {answer}"
        assert envelope["code"] == (203 if self.dialect == "B" else 500), f"{answer}"
        assert envelope["msg"] and envelope.get("content") is None, f"{answer}"
        for text in texts:
            assert text in envelope["msg"], f"no {text!r} in {answer}"

    def check_payload(self, expected, payload, answer):
        expected = self.fill(expected)
        if not isinstance(expected, dict):
            assert payload == expected, f"the payload is {payload!r}, not {expected!r}: {answer}"
            return
        if "re" in expected:
            assert isinstance(payload, str) and re.search(expected["re"], payload), f"{answer}"
        if "length" in expected:
            assert len(payload) == expected["length"], f"{answer}"
        for item in payload if "each" in expected else ():
            assert re.search(expected["each"], item), f"{answer}"
        if "ids" in expected:
            assert [str(row["id"]) for row in payload] == [str(i) for i in expected["ids"]], f"{answer}"
        rows = payload if isinstance(payload, list) else [payload]
        self.check_members(expected, rows)

    def check_members(self, expected, rows):
        if "fields" in expected:
            names = fields_of(expected["fields"], self.dialect)
            for row in rows:
                in_order = is_in_order(list(row), self.dialect, names)
                assert in_order or (expected["fields"] == "chart" and sorted(row) == sorted(names)), (
                    f"members are {list(row)}, not {names}")
                for name in set(DATES) & set(row):
                    assert row[name] is None or re.fullmatch(DATE_FORMS[self.dialect], row[name]), (
                        f"{name} is {row[name]!r}")
        for name, value in expected.get("has", {}).items():
            value = int(value) if isinstance(value, str) and name == "id" else value
            assert rows[0][name] == value, f"{name} is {rows[0][name]!r}, not {value!r}"

    def check_list(self, expected, answer):
        expected = self.fill(expected)
        if self.dialect in "AB":
            page = answer.json
            assert list(page) == ["recordsFiltered", "data", "recordsTotal"], f"members are {list(page)}: {answer}"
            total, rows = page["recordsTotal"], page["data"]
            assert page["recordsFiltered"] == total, f"{answer}"
        else:
            page = self.check_envelope(answer, 200)
            assert is_in_order(list(page), self.dialect, ["offset", "pagesize", "data", "total"]), f"{answer}"
            total, rows = page["total"], page["data"]
            assert page["offset"] == page["pagesize"] == 0, f"{answer}"
        ids = [str(row["id"]) for row in rows]
        if "total" in expected:
            assert total == expected["total"], f"total is {total}, not {expected['total']} (ids {ids})"
        if "ids" in expected:
            assert ids == [str(i) for i in expected["ids"]], f"ids are {ids}, not {expected['ids']}"
        if "set" in expected:
            assert sorted(ids) == sorted(str(i) for i in expected["set"]), f"ids are {ids}, not {expected['set']}"
        self.check_members(expected, rows)
