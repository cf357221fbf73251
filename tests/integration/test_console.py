# SPDX-License-Identifier: MIT
"""
The four dialects of the console, on each generation of the schema: tests/vectors/console has the requests and the
answers, see harness/console.py.
"""
import pytest

import schemas
from harness.console import CALLS, NATURAL, Player, Site, path_of

TOPICS = ("login", "pages", "binding", "chart", "jobs", "groups", "glue", "users", "logs")


def finish(*players):
    problems = [problem for player in players for problem in player.problems]
    played = sum(player.played for player in players)
    assert not problems, f"{len(problems)} of {played} steps differ:\n\n" + "\n\n".join(problems)


@pytest.mark.parametrize("family", [pytest.param(f, marks=[pytest.mark.asan] * (f == "3.4")) for f in schemas.FAMILIES])
def test_the_dialect_of_the_schema_in_full(make_world, mariadb, family):
    player = Player(Site(make_world(mariadb, family=family)), NATURAL[family])

    for topic in TOPICS + (("api",) if family == "3.5" else ()):
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
                player.play("nobody", {**step, "step": f"{call} by GET", "method": "GET", "query": {"id": 1}})
                player.play("nobody", {**step, "step": f"{call} that takes HTML alone", "form": {"one": "$j1"},
                                       "headers": {"Accept": "text/html"}})

    finish(*players)


@pytest.mark.parametrize("dialect, family", [("A", "2.5"), ("C", "3.4"), ("D", "3.5")])
def test_messages_in_english(make_world, mariadb, dialect, family):
    player = Player(Site(make_world(mariadb, family=family), language="en"), dialect)

    for topic in ("login", "jobs", "groups", "glue", "users"):
        player.play_topic(topic)

    finish(player)
