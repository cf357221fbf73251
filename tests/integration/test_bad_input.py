# SPDX-License-Identifier: MIT
"""
Every parameter of every call with what nobody should send: the answer names the parameter or takes the text as it is,
what is refused has written nothing, and nothing is answered with 5xx. tests/vectors/console/{params,bad}.json.
"""
import json
import urllib.parse

import pytest

from harness.api_v1 import Caller, Document, has_refused_items, load_calls
from harness.console import Player
from harness.console_data import NATURAL, load, path_of
from harness.console_site import Site, is_refused


def wire_name(player, call, name):
    return next(iter(player.form(call, {name: "x"})))


def encode(player, call, form, name, value):
    """The form with that parameter as it is given, percent signs and all when the value is raw."""
    pairs = player.form(call, {key: item for key, item in form.items() if key != name})
    body = urllib.parse.urlencode(pairs)
    text = player.fill(value["value"])
    if text is None:
        return body
    text = text if value.get("raw") else urllib.parse.quote_plus(text)
    return f"{body}&{urllib.parse.quote_plus(wire_name(player, call, name))}={text}"


def check(player, call, form, name, value):
    """What is wrong with the answer; None when nothing is."""
    body = encode(player, call, form, name, value)
    who = "nobody" if call == "login" else "admin"
    answer, changed = player.site.watch(lambda: player.send({"call": call, "as": who, "body": body}))
    refused = is_refused(answer)
    if answer.status >= 500:
        return f"{answer}"
    if value.get("refused") and not refused:
        return f"accepted: {answer}"
    if refused and changed:
        return f"refused, and yet {changed} changed: {answer}"
    if refused and value.get("names") and wire_name(player, call, name).rstrip("[]") not in answer.text:
        return f"not named: {answer}"
    return None


@pytest.mark.parametrize("family", ["2.5", pytest.param("3.4", marks=pytest.mark.asan)])
def test_bad_parameters_of_the_console(make_world, mariadb, family):
    site = Site(make_world(mariadb, family=family), language="en")
    player = Player(site, NATURAL[family])
    bad = load("bad.json")
    wrong = []

    for call, params in load("params.json").items():
        if path_of(call, player.dialect):
            form = bad["good"][call]
            form = {**player.form(call, {"...": "$job"}), **form} if "..." in form else form
            form = {key: item for key, item in form.items() if key != "..."}
            for name, kind in params.items():
                for value in bad["values"]:
                    if kind in value["for"].split():
                        problem = check(player, call, form, name, value)
                        if problem:
                            wrong.append(f"{call}, {name}, {value['name']}: {problem}")

    assert not wrong + player.problems, f"{len(wrong)} differ:\n" + "\n".join(wrong + player.problems)
    assert site.node.is_healthy()
    assert site.tables.value("SELECT COUNT(*) FROM xxl_job_lock") == 1


# api/v1, by its document

TEXTS = ["a\u0000b", "1' OR '1'='1' -- \\'; DROP TABLE xxl_job_lock; #", "<script>alert(\"1\")</script>&lt;"]
RAW = {"no UTF-8": "%C3%28%FF", "NUL": "a%00b", "a bad escape": "%zz"}


def types_of(schema):
    types = schema.get("type", [])
    return types if isinstance(types, list) else [types]


def bad_members(schema):
    """(value, must it be refused) for one member."""
    types = types_of(schema)
    if not types:
        return [({"a": [None]}, False)]
    wrong = {"integer": [1.5, 10 ** 30, "12abc", True, []], "number": ["x", True], "boolean": ["true", 1, {}],
             "string": [5, {}, ["x"], False], "array": ["x", {}, 5], "object": ["x", [], 5]}
    values = [(value, True) for name in types if name in wrong for value in wrong[name]
              if not fits(value, types)]
    if "integer" in types and "minimum" in schema:
        values.append((schema["minimum"] - 1, True))
    if "integer" in types and "maximum" in schema:
        values.append((schema["maximum"] + 1, True))
    if "enum" in schema:
        values.append(("no such value", True))
    if "null" not in types:
        values.append((None, True))
    if "string" in types:
        values += [(text, "\u0000" in text) for text in TEXTS + ["x" * 70000]]
    return values


def fits(value, types):
    kinds = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object", float: "number"}
    return kinds[type(value)] in types


def bad_texts(schema):
    """(raw text of a query or path, must it be refused)"""
    types = types_of(schema)
    values = [(text, text != "%zz") for text in RAW.values()]
    if {"integer", "boolean", "number"} & set(types) and "string" not in types:
        values += [("12abc", True), ("99999999999999999999", True), ("1%20OR%201=1", True), ("", True)]
    if "enum" in schema:
        values.append(("nosuch", True))
    if schema.get("format") == "date-time":
        values.append(("yesterday", True))
    return values + [(urllib.parse.quote(text), False) for text in TEXTS[1:] + ["x" * 30000]]


class Api:
    def __init__(self, site, document):
        self.site = site
        self.document = document
        self.caller = Caller(site, Player(site, NATURAL[site.family]))
        self.wrong = []

    def hold(self, row, what, must_refuse, name=None, **sent):
        answer, changed = self.site.watch(lambda: self.caller.send("all", row, **sent))
        refused = answer.status >= 400 or has_refused_items(answer)
        problem = None
        if answer.status >= 500:
            problem = "answered with 5xx"
        elif must_refuse and not refused:
            problem = "accepted"
        elif refused and changed:
            problem = f"refused, and yet {changed} changed"
        elif refused and must_refuse and name and name not in answer.text:
            problem = f"'{name}' is not named"
        elif answer.status >= 400 and not (answer.headers["Content-Type"].startswith("application/problem+json")
                                           or "the path of the request is not valid" in answer.text):
            problem = "no problem document"
        if problem:
            self.wrong.append(f"{row['call']}, {what}: {problem}: {answer}")

    def play(self, row, operation):
        document = self.document
        for name, schema in document.parameters(operation, "query").items():
            for text, must in bad_texts(schema):
                query = dict(row.get("query", {}))
                query.pop(name, None)
                encoded = urllib.parse.urlencode(self.caller.player.fill(query))
                url = self.caller.url(row, query=f"{encoded}&{name}={text}".lstrip("&"))
                self.hold(row, f"{name}={text[:30]}", must, name, url=url)
        for name, schema in document.parameters(operation, "path").items():
            for text, must in bad_texts(schema):
                if text and len(text) < 1000:
                    url = self.caller.url({**row, "path": {**row["path"], name: "@@"}}).replace("@@", text)
                    self.hold(row, f"{name}={text[:30]}", must, url=url)
        self.hold(row, "an unknown parameter", True, "nosuch", url=self.caller.url(row) + (
            "&" if "?" in self.caller.url(row) else "?") + "nosuch=1")
        members = document.members(operation)
        if members is not None:
            self.play_body(row, members)

    def hold_member(self, row, good, name, value, must, named):
        body = json.dumps({**good, name: value}).encode()
        self.hold(row, f"{name}: {json.dumps(value)[:60]}", must, named, body=body)

    def play_body(self, row, members):
        good = self.caller.player.fill(row.get("body", {}))
        for name, schema in members.items():
            for value, must in bad_members(schema):
                self.hold_member(row, good, name, value, must, name)
            for inner, part in self.document.parts(schema).items():
                for value, must in bad_members(part):
                    whole = {inner: value} if inner else [value]
                    self.hold_member(row, good, name, whole, must, inner or name)
        self.hold(row, "an unknown member", True, "nosuch", body=json.dumps({**good, "nosuch": 1}).encode())
        for what, body in (("no object", b"[1]"), ("no JSON", b"{"), ("no UTF-8", b'{"nosuch": "\xff\xfe"}'),
                           ("deep", b"[" * 5000), ("a lone surrogate", b'{"nosuch": "\\ud800"}')):
            self.hold(row, what, True, body=body)
        self.hold(row, "a form", True, body=b"a=b", headers={"Content-Type": "application/x-www-form-urlencoded"})


def test_bad_parameters_of_api_v1(make_world, mariadb):
    site = Site(make_world(mariadb, family="3.4"), language="en")
    document = Document(site.node)
    rows = {row["call"]: row for row in load_calls()["calls"]}
    api = Api(site, document)

    for call, operation in document.operations().items():
        if "fresh" in rows[call]:
            site.vars["fresh"] = site.fresh(rows[call]["fresh"])
        api.play(rows[call], operation)

    assert not api.wrong, f"{len(api.wrong)} differ:\n" + "\n".join(api.wrong)
    assert site.node.is_healthy()
    assert site.tables.value("SELECT COUNT(*) FROM xxl_job_lock") == 1
