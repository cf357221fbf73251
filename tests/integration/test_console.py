# SPDX-License-Identifier: MIT
"""
The four dialects of the console, on each generation of the schema: tests/vectors/console has the requests and the
answers, see harness/console.py.
"""
import os
import re
import subprocess

import pytest

import schemas
from harness.console import Player
from harness.console_data import CALLS, NATURAL, NO_ROLE, load, path_of
from harness.console_site import Site
from harness.node import ROOT
from harness.process import wait_until

TOPICS = ("login", "pages", "binding", "chart", "jobs", "groups", "glue", "users", "logs")


def finish(*players):
    problems = [problem for player in players for problem in player.problems]
    played = sum(player.played for player in players)
    assert not problems, f"{len(problems)} of {played} steps differ:\n\n" + "\n\n".join(problems)


@pytest.mark.parametrize("family", [pytest.param(f, marks=[pytest.mark.asan] * (f == "3.4")) for f in schemas.FAMILIES])
def test_the_dialect_of_the_schema_in_full(make_world, mariadb, family):
    player = Player(Site(make_world(mariadb, family=family)), NATURAL[family])

    for topic in TOPICS + (("api",) if schemas.is_since(family, "3.5") else ()):
        player.play_topic(topic)

    finish(player)


@pytest.mark.parametrize("family", schemas.FAMILIES)
def test_all_dialects_on_every_schema(make_world, mariadb, family):
    """Log in, add, list, start, trigger, remove: told apart by cookie, path and names; both contexts."""
    site = Site(make_world(mariadb, family=family))
    players = [Player(site, dialect, context) for dialect, context in
               (("A", ""), ("B", "/xxl-job-admin"), ("C", ""), ("D", "/xxl-job-admin"))]

    for player in players:
        player.play_topic("short")

    finish(*players)


@pytest.mark.parametrize("family", ["2.5", "3.2", "3.4", "3.5"])
def test_no_call_is_answered_without_a_session(make_world, mariadb, family):
    site = Site(make_world(mariadb, family=family))
    dialect = NATURAL[family]
    players = [Player(site, dialect, context) for context in ("", "/xxl-job-admin")]

    for call in sorted(CALLS):
        if path_of(call, dialect) and call.split(".")[0] not in ("login", "logout", "page"):
            for player in players:
                step = {"as": "nobody", "call": call, "anonymous": True}
                player.play("nobody", {**step, "step": f"{call}, nothing sent", "form": {}})
                player.play("nobody", {**step, "step": f"{call} by GET", "method": "GET", "query": {"one": 1}})
                player.play("nobody", {**step, "step": f"{call} that takes HTML alone", "form": {"one": "$j1"},
                                       "headers": {"Accept": "text/html"}})

    finish(*players)


@pytest.mark.parametrize("dialect, family", [("A", "2.5"), ("C", "3.4"), ("D", "3.5")])
def test_messages_in_english(make_world, mariadb, dialect, family):
    player = Player(Site(make_world(mariadb, family=family), language="en"), dialect)

    for topic in ("login", "jobs", "groups", "glue", "users"):
        player.play_topic(topic)

    finish(player)


def is_let_in(player, row, answer):
    """Whether the answer is that of somebody who may: what else is refused for its input, has another text."""
    if row["call"].startswith("page."):
        return answer.status < 400 and "login" not in (answer.headers["Location"] or "").lower()
    if answer.status == 302:
        return False
    assert answer.status == 200, f"{answer}"
    words = (player.word("system_permission_limit"), NO_ROLE, "not login for path")
    if any(word in answer.text for word in words):
        return False
    member = answer.json
    assert row.get("refused") or member.get("code", 200) == 200, f"neither let in nor kept out: {answer}"
    return True


def _answer_under_guard(player, step):
    """A node that has lost its guard for a moment says "try again"."""
    answer = player.send(step)
    if "no node keeps Java admins on standby" in answer.text:
        wait_until(lambda: player.site.node.metrics()["shardwheel_java_guard_held"], 20, "the guard to be held again")
        answer = player.send(step)
    return answer


@pytest.mark.parametrize("family", ["2.5", "3.2", "3.4", "3.5"])
def test_who_may_call_what(make_world, mariadb, family):
    """Every call of every dialect by every role. rita is a runner and ruth a reader of ours, both of group 1."""
    site = Site(make_world(mariadb, family=family))
    site.add_ours()
    player = Player(site, NATURAL[family])
    table = load("roles.json")
    calls = [row for row in table["calls"]
             if path_of(row["call"], player.dialect) and player.dialect in row.get("dialects", "ABCD")]
    assert {row["call"] for row in calls} == {
        call for call in CALLS if path_of(call, player.dialect) and call not in (
            "login", "logout", "page.login", "page.error")}

    wrong = []
    for row in calls:
        for who, may in zip(table["who"], row["may"]):
            if "fresh" in row:
                site.vars["fresh"] = site.fresh(row["fresh"])
            method = "GET" if row["call"].startswith("page.") else "POST"
            step = {"method": method, "as": who, **{key: row[key] for key in ("call", "form", "query") if key in row}}
            try:
                answer = _answer_under_guard(player, step)
                let_in = is_let_in(player, row, answer)
                if may != "?" and let_in != (may == "+"):
                    wrong.append(f"{who} is {'let in' if let_in else 'kept out'}:{player.describe(step)}\n    {answer}")
            except AssertionError as error:
                wrong.append(f"{who}:{player.describe(step)}\n    {error}")

    assert not wrong + player.problems, "\n".join(wrong + player.problems)


@pytest.mark.parametrize("family", ["2.5", "3.2", "3.4", "3.5"])
def test_recipes_with_curl(make_world, mariadb, family):
    site = Site(make_world(mariadb, family=family))

    for context in ("/xxl-job-admin", ""):
        done = subprocess.run(
            [os.path.join(ROOT, "tests", "recipes", "console.sh"), NATURAL[family], site.node.url + context,
             str(site.vars["g1"])],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        assert done.returncode == 0, done.stdout


def test_messages_in_traditional_chinese(make_world, mariadb):
    """The facts do not give these texts: they are Chinese, whole, and not all of them the simplified ones."""
    site = Site(make_world(mariadb, family="2.5"), language="zh_TC")
    player = Player(site, "A")

    texts = [player.send({"call": call, "form": form}).json["msg"] for call, form in (
        ("job.add", {"jobGroup": 999999}), ("job.add", {"jobGroup": "$g1"}), ("job.start", {"one": 999999}),
        ("job.start", {"one": "$jn"}), ("log.cat", {"logId": 999999, "fromLineNum": 1}),
        ("log.clear", {"jobGroup": 0, "jobId": 0, "type": 99}), ("group.remove", {"one": "$g1"}),
        ("user.remove", {"one": 1}), ("glue.save", {"id": 1, "glueRemark": ""}))]

    assert not player.problems
    assert all(re.search("[\u4e00-\u9fff]", text) for text in texts), texts
    assert re.search("[請選執務類據數號長調過責錄該碼]", "".join(texts)), texts
    assert not re.search("[请选执务类据数号长调过责录该码]", "".join(texts)), texts
