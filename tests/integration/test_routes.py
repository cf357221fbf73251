# SPDX-License-Identifier: MIT
"""Which executor a fire goes to, and what its row tells of it."""
import threading

import pytest

from harness.executors import Reply
from harness.process import free_ports

BUSY = Reply({"code": 500, "msg": "job thread is running"})
QUESTION = {"FAILOVER": "/beat", "BUSYOVER": "/idleBeat"}
TITLE = {"FAILOVER": "heartbeat", "BUSYOVER": "idle check"}


@pytest.fixture
def three(world):
    """Executors in the order of their group's list."""
    return sorted((world.executor() for _ in range(3)), key=lambda e: e.address)


def test_routes_that_ask_nobody(world, three):
    tables = world.tables
    group = world.group(*three)
    jobs = {
        route: tables.add_job(group, next_in=4, executor_route_strategy=route)
        for route in ("FIRST", "LAST", "ROUND", "RANDOM", "CONSISTENT_HASH", "LEAST_FREQUENTLY_USED",
                      "LEAST_RECENTLY_USED")
    }
    unknown = tables.add_job(group, next_in=4, executor_route_strategy="NO_SUCH")
    world.node()
    for job in jobs.values():
        tables.wait_logs(job, "trigger_code = 200", 9, seconds=30)

    def used(route):
        """The places in the list, in the order of the due times; what a catch-up sends late is routed by itself."""
        rows = tables.logs(jobs[route], "trigger_code = 200")
        places = {executor.address: i for i, executor in enumerate(three)}
        return [places[row["executor_address"]] for row in rows][:9]

    assert set(used("FIRST")) == {0}
    assert set(used("LAST")) == {2}
    assert len(set(used("CONSISTENT_HASH"))) == 1
    for route in ("ROUND", "LEAST_RECENTLY_USED"):  # a claim that was held up at the start had taken turns
        start = used(route)[0]
        assert used(route) == [(start + i) % 3 for i in range(9)]
    assert all(abs(used("LEAST_FREQUENTLY_USED").count(place) - 3) <= 2 for place in range(3))
    assert set(used("RANDOM")) <= {0, 1, 2}
    row = tables.wait_logs(unknown, "trigger_code = 500")[0]
    assert "unknown route strategy &quot;NO_SUCH&quot;" in row["trigger_msg"]


def entry(route, address, text):
    return f"<br><br>{TITLE[route]}<br>address: {address}<br>code: 500<br>msg: {text}"


@pytest.mark.parametrize("route", ["FAILOVER", "BUSYOVER"])
def test_routes_that_ask(world, route):
    tables = world.tables
    good, busy, silent = (world.executor() for _ in range(3))
    busy.replies[QUESTION[route]] = BUSY
    answer_now = threading.Event()
    silent.replies[QUESTION[route]] = Reply(until=answer_now)
    dead = f"http://127.0.0.1:{free_ports()}/"
    lists = {
        "the first": [good.address, busy.address],
        "dead": [dead, good.address],
        "busy": [busy.address, good.address],
        "silent": [silent.address, good.address],
        "nobody": [busy.address, "10.0.0.1:9999", dead],
        "no answer in time": [silent.address, busy.address],
    }
    jobs = {
        name: tables.add_single_fire(tables.add_group(f"group-{i}", addresses), 4, f"handler-{i}",
                                     executor_route_strategy=route)[0]
        for i, (name, addresses) in enumerate(lists.items())
    }
    world.node()
    rows = {name: tables.wait_logs(job, "trigger_code <> 0", seconds=20)[0] for name, job in jobs.items()}
    answer_now.set()

    for name in ("the first", "dead", "busy", "silent"):
        assert (rows[name]["trigger_code"], rows[name]["executor_address"]) == (200, good.address), name
        assert len(good.runs(jobs[name])) == 1
    assert TITLE[route] not in rows["the first"]["trigger_msg"]
    assert rows["dead"]["trigger_msg"].count(TITLE[route]) == 1 and dead in rows["dead"]["trigger_msg"]
    assert rows["busy"]["trigger_msg"].endswith(entry(route, busy.address, "job thread is running"))
    assert entry(route, silent.address, "no answer ") in rows["silent"]["trigger_msg"]
    for name in ("nobody", "no answer in time"):
        assert (rows[name]["trigger_code"], rows[name]["executor_address"]) == (500, None), name
    told = rows["nobody"]["trigger_msg"]
    assert entry(route, busy.address, "job thread is running") in told
    assert entry(route, "10.0.0.1:9999", "the address is no http URL") in told
    assert told.count(TITLE[route]) == 3
    assert not busy.runs() and not silent.runs()
    if route == "BUSYOVER":
        assert {q.jobId for q in busy.questions("/idleBeat")} == {jobs["busy"], jobs["nobody"],
                                                                   jobs["no answer in time"]}
    else:
        assert all(q.raw == b"" for q in busy.questions("/beat"))


def test_lists_typed_by_hand(world, three):
    """Blanks, empty items, one address twice, one that is no URL."""
    tables = world.tables
    a, b, c = (executor.address for executor in three)
    group = tables.add_group("typed", [f" {c}", "", f"{a} ", c, b, "", ""])
    broadcast = tables.add_single_fire(group, 4, executor_route_strategy="SHARDING_BROADCAST")[0]
    first = tables.add_single_fire(group, 4, executor_route_strategy="FIRST")[0]
    last = tables.add_single_fire(group, 4, executor_route_strategy="LAST")[0]
    no_url = tables.add_single_fire(tables.add_group("no-url", ["127.0.0.1:9999"]), 4)[0]
    world.node()

    rows = tables.wait_logs(broadcast, "trigger_code <> 0", 3)
    assert {(row["executor_sharding_param"], row["executor_address"], row["trigger_code"]) for row in rows} == {
        ("0/3", c, 200), ("1/3", a, 200), ("2/3", b, 200)
    }
    assert tables.wait_logs(first, "trigger_code <> 0")[0]["executor_address"] == c
    assert tables.wait_logs(last, "trigger_code <> 0")[0]["executor_address"] == b
    row = tables.wait_logs(no_url, "trigger_code <> 0")[0]
    assert row["trigger_code"] == 500 and "the address is no http URL" in row["trigger_msg"]
