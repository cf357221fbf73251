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
  or does instead: sql (statements), pick ([variable, query]), login (who), cascade (a form, changed step by step: what
  is `set` counts for all that follows).

Whatever is refused must have written nothing: the tables are compared around it.
"""
import json
import re
import time
import urllib.parse

import schemas

from .console_answers import Answers
from .console_data import COOKIES, JOB, MESSAGES, load, path_of


class Player(Answers):
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
        latest = schemas.is_since(self.site.family, "3.5")
        value = value.replace("@JOBNAME", "`name`" if latest else "job_desc")
        value = value.replace("@GROUPNAME", "`name`" if latest else "title")
        value = value.replace("@JOBDESC", "name" if self.dialect == "D" else "jobDesc")
        if "$jobform" in value:
            value = value.replace("$jobform", urllib.parse.urlencode(self.form("job.add", "$job")))
        found = re.fullmatch(r"\$#(\w+)", value)
        if found:
            return int(self.site.vars.get(found[1], 0))
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
            if self.dialect in step.get("in", "ABCD"):
                form.update(step.get("set", {}))
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
            answer, changed = site.watch(lambda: self.send(step))
            if not self.check(step, answer):
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
