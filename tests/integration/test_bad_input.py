# SPDX-License-Identifier: MIT
"""
Every parameter of every call with what nobody should send: the answer names the parameter or takes the text as it is,
what is refused has written nothing, and nothing is answered with 5xx. tests/vectors/console/{params,bad}.json.
"""
import urllib.parse

import pytest

from harness.console import Player
from harness.console_data import NATURAL, load, path_of
from harness.console_site import Site


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


def is_refused(answer):
    if answer.status >= 400:
        return True
    if not answer.headers["Content-Type"].startswith("application/json"):
        return False
    return answer.json.get("code", 200) != 200 if isinstance(answer.json, dict) else False


def check(player, call, form, name, value):
    """What is wrong with the answer; None when nothing is."""
    site = player.site
    body = encode(player, call, form, name, value)
    who = "nobody" if call == "login" else "admin"
    before = site.sums()
    answer = player.send({"call": call, "as": who, "body": body})
    after = site.sums()
    refused = is_refused(answer)
    if answer.status >= 500:
        return f"{answer}"
    if value.get("refused") and not refused:
        return f"accepted: {answer}"
    if refused and before != after:
        return f"refused, and yet {[t for t in after if after[t] != before[t]]} changed: {answer}"
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
