# SPDX-License-Identifier: MIT
"""Every operation of api/v1 by every role and by tokens of each scope: tests/vectors/v1/calls.json."""
from harness.api_v1 import Caller, Document, has_refused_items, load_calls
from harness.console import Player
from harness.console_data import NATURAL
from harness.console_site import Site


def test_who_may_call_what(make_world, mariadb):
    """A new operation needs a row. ann: user of group 1, eve: of group 2, bob: of none; rita: runner of group 1,
    ruth: reader of group 1, rose: reader of all groups; then tokens of an administrator with one scope each."""
    site = Site(make_world(mariadb, family="3.4"), language="en")
    site.add_ours()
    caller = Caller(site, Player(site, NATURAL["3.4"]))
    table = load_calls()
    operations = set(Document(site.node).operations())
    rows = {row["call"] for row in table["calls"]}
    assert operations - rows == set(), "operations without a row in tests/vectors/v1/calls.json"
    assert rows - operations == set(), "rows without an operation"

    wrong = []
    for row in table["calls"]:
        for who, may in zip(table["who"], row["may"]):
            if "fresh" in row:
                site.vars["fresh"] = site.fresh(row["fresh"])
            answer, changed = site.watch(lambda: caller.send(who, row))
            if row.get("ends"):
                caller.player.jars.pop(who, None)
                caller.player.jars["nobody"] = {}
            let_in = answer.status not in (401, 403) and not has_refused_items(answer)
            if not let_in and changed:
                wrong.append(f"{row['call']} as {who}: refused, and yet {changed} changed: {answer}")
            if answer.status >= 500 or (may != "?" and let_in != (may == "+")):
                wrong.append(f"{row['call']} {row.get('body', '')} as {who}: {answer}")
            elif who == "nobody" and may == "-" and answer.status != 401:
                wrong.append(f"{row['call']} as {who}: not 401 but {answer}")

    assert not wrong + caller.player.problems, f"{len(wrong)} differ:\n" + "\n".join(wrong + caller.player.problems)
