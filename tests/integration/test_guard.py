# SPDX-License-Identifier: MIT
"""Beside Java admins: who plans when, and that no due second is lost or sent twice over the changes."""
import calendar
import re
import threading
import time
from collections import Counter
from contextlib import closing

import pytest

from harness.jobs import due_second
from harness.java_admin import JavaAdmin
from harness.process import wait_until

HELD = "shardwheel_java_guard_held"
REFUSED = 'shardwheel_claims_unguarded_total{result="refused"}'


class Load:
    """Jobs that are due every ten seconds, at a phase of their own, and what has arrived of them."""

    def __init__(self, world, per_second=5):
        self.world = world
        self.executor = world.executor()
        self.group = world.group(self.executor)
        self.first = world.tables.add_load(self.group, per_second)
        self.phases = {
            row["id"]: int(row["schedule_conf"].split("/")[0])
            for row in world.tables.rows("SELECT id, schedule_conf FROM xxl_job_info")
            if re.match(r"\d/10 ", row["schedule_conf"])
        }
        self.per_second = per_second

    def wait(self, seconds):
        """Waits until that many seconds' worth of fires more has arrived."""
        self.executor.wait_runs(None, len(self.executor.runs()) + seconds * self.per_second, seconds + 20)

    def rows(self):
        return {row["id"]: row for row in self.world.tables.rows("SELECT * FROM xxl_job_log")}

    def check(self, until_s=None, not_sent_from_s=None):
        """
        Every due time up to that second has arrived once. From not_sent_from_s on (a kill) some may instead stand as an
        open row, and must not have arrived then. Returns {(job, due): rows} of those.
        """
        until_s = until_s or int(time.time()) - 3
        runs = self.executor.runs()
        rows = self.rows()  # later: each run that has arrived has its row
        arrived = Counter()
        for run in runs:
            arrived[run.jobId, due_of(rows[run.logId])] += 1
        rows_of = {}
        for row in rows.values():
            rows_of.setdefault((row["job_id"], due_of(row)), []).append(row)
        due = {(job, s) for job, phase in self.phases.items()
               for s in range(self.first, until_s + 1) if s % 10 == phase}
        assert len(due) >= 5 * self.per_second, "too little to tell anything"
        doubled = {key: n for key, n in arrived.items() if n > 1}
        assert not doubled, f"sent twice: {[brief(rows_of[key]) for key in doubled]}"
        missing = due - set(arrived)
        stay = {key: rows_of[key] for key in missing
                if not_sent_from_s and key[1] >= not_sent_from_s and key in rows_of}
        lost = missing - set(stay)
        assert not lost, f"lost {sorted(lost)}; their rows: {[brief(rows_of.get(key, [])) for key in lost]}"
        return stay


def due_of(row):
    planned = due_second(row)
    return calendar.timegm(row["trigger_time"].timetuple()) if planned is None else planned


def brief(rows):
    return [(r["id"], r["job_id"], due_of(r), r["trigger_code"], (r["trigger_msg"] or "")[:120]) for r in rows]


def wait_guard(node, held=1, seconds=10):
    wait_until(lambda: node.metrics()[HELD] == held, seconds, f"{node.name} to hold the guard: {held}")


def log_time(node, event):
    """When the node wrote the last line of that event; epoch seconds."""
    found = re.findall(rf"^time=(\S+) .*event={event}\b", node.log_text(), re.M)
    assert found, f"no event={event} in the log of {node.name}\n{node.tail(20)}"
    stamp, _, millis = found[-1].rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%S")) + float("0." + (millis or "0"))


def guard_connection(world):
    return world.tables.value("SELECT connection FROM shardwheel_guard WHERE connection <> 0")


@pytest.mark.slow
@pytest.mark.parametrize("server, version", [
    ("mariadb", "2.4.2"), ("mariadb", "3.2.0"), ("mariadb", "3.3.2"), ("mysql8", "2.4.2"), ("mysql8", "3.3.2"),
])
def test_node_relieves_java_and_gives_back(request, make_world, server, version):
    world = make_world(request.getfixturevalue(server))
    java = JavaAdmin(world, version).start()
    load = Load(world)
    load.wait(4)
    assert java.fires()

    node = world.node()
    wait_guard(node)
    held_at = time.time()
    java.wait_waiting(1.5)
    assert [r for r in java.rounds() if r.got > held_at] == []
    load.wait(10)
    assert [f for f in java.fires() if f.due_s > held_at + 6] == [], "it fires what it had planned before, 5 s at most"

    assert node.terminate() == 0
    ended_at = log_time(node, "guard_ended")
    java.wait_rounds()
    assert [r.got for r in java.rounds() if r.got > held_at][0] - ended_at < 2
    assert world.tables.open_rows() == [], "the last node leaves nothing behind that only a node would send"
    assert world.tables.rows("SELECT * FROM shardwheel_guard") == []
    load.wait(10)

    load.check()


@pytest.mark.slow
@pytest.mark.parametrize("server", ["mariadb", "mysql8"])
def test_java_goes_on_when_the_only_node_is_killed(request, make_world, server):
    world = make_world(request.getfixturevalue(server))
    node = world.node()
    wait_guard(node)
    load = Load(world)
    java = JavaAdmin(world).start()
    load.wait(5)
    java.wait_waiting()

    killed_at = time.time()
    node.kill()
    java.wait_rounds(1, 12)
    assert java.rounds()[0].got - killed_at < 3
    load.wait(8)

    stay = load.check(not_sent_from_s=int(killed_at) - 1)
    assert all(row["trigger_code"] == 0 for rows in stay.values() for row in rows)
    # They are the next node's to send, late but once.
    node.start()
    wait_guard(node)
    load.wait(4)
    until = int(time.time()) - 2
    wait_until(lambda: not world.tables.open_rows(0, until), 60, "the rows that were left open to have ended")
    assert load.check(until, int(killed_at) - 1).keys() <= stay.keys()


@pytest.mark.slow
def test_two_java_admins_stand_by_and_go_on(world):
    javas = [JavaAdmin(world, version).start() for version in ("2.4.2", "3.3.2")]
    load = Load(world)
    load.wait(3)
    node = world.node()
    for java in javas:
        java.wait_waiting()
    load.wait(8)
    assert node.terminate() == 0
    for java in javas:
        java.wait_rounds()
    load.wait(6)
    javas[0].kill()  # what it had planned is lost with it, as ever
    assert javas[1].stop() == 0

    load.check(int(time.time()) - 14)


@pytest.mark.slow
def test_node_that_joins_plans_at_once_and_keeps_java_off_when_the_first_leaves(cluster):
    java = JavaAdmin(cluster, lock_wait_s=20)
    a = cluster.node("node-a")
    wait_guard(a)
    java.start()
    java.wait_waiting()
    load = Load(cluster)

    b = cluster.node("node-b")
    cluster.tables.wait_owners([4, 4])
    wait_until(lambda: b.metrics()["shardwheel_claims_total"] > 0, 6, "node b to plan")
    assert (b.metrics()[HELD], b.metrics()[REFUSED]) == (0, 0), "it plans under the guard of node a"
    load.wait(4)
    assert a.terminate(90) == 0
    assert "event=guard_kept" in a.log_text()
    wait_guard(b)
    load.wait(8)

    assert java.timeouts() >= 1 and java.rounds() == []
    assert "planning_held_up" not in b.log_text()
    assert b.terminate() == 0
    java.wait_rounds()
    load.wait(8)
    load.check()


def test_second_signal_ends_the_wait_for_another_guard(cluster):
    a = cluster.node("node-a")
    wait_guard(a)
    java = JavaAdmin(cluster).start()
    java.wait_waiting()
    b = cluster.node("node-b")
    cluster.tables.wait_owners([4, 4])
    wait_until(lambda: cluster.tables.value("SELECT COUNT(*) FROM shardwheel_guard") == 2, 5, "node b to ask")

    a.signal(15)
    wait_until(lambda: "event=guard_kept" in a.log_text(), 15, "node a to keep its guard")
    assert a.terminate(10) == 0
    wait_until(java.rounds, 10, "the Java admin to have its turn")  # one: then the request of node b is the next
    wait_guard(b)


@pytest.mark.asan
def test_node_that_asks_stops_quickly(cluster):
    a = cluster.node("node-a")
    wait_guard(a)
    java = JavaAdmin(cluster).start()
    java.wait_waiting()
    b = cluster.node("node-b")
    cluster.tables.wait_owners([4, 4])

    assert b.terminate() == 0
    waiting = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%%schedule_lock%%SHARE MODE'"
    assert cluster.tables.value(waiting) == 0, "its request is left at the server"
    assert a.metrics()[HELD] == 1


@pytest.mark.parametrize("server", ["mariadb", "mysql8"])
def test_nothing_is_planned_while_the_guard_is_lost(request, make_world, server):
    world = make_world(request.getfixturevalue(server))
    node = world.node()
    load = Load(world)
    load.wait(3)
    events = ("guard_lost", "planning_held_up", "planning_goes_on")
    before = Counter({event: node.log_text().count(f"event={event}") for event in events})
    # A Java admin that has the row keeps it for a while: no claim may begin meanwhile. It asks before the guard goes,
    # so that it is the next.
    # A connection that is left open would hold up the end of its database for ever.
    with closing(world.server.connect(world.tables.database)) as blocker, blocker.cursor() as cursor:
        cursor.execute("BEGIN")
        asking = threading.Thread(target=cursor.execute, args=("SELECT * FROM xxl_job_lock FOR UPDATE",), daemon=True)
        asking.start()
        running = "SELECT COUNT(*) FROM information_schema.processlist WHERE id = %s AND info LIKE '%%FOR UPDATE'"
        wait_until(lambda: world.tables.value(running, (blocker.thread_id(),)), 10, "the Java admin to ask for the row")
        time.sleep(0.3)  # a statement that still runs then waits for the row
        assert world.tables.value(running, (blocker.thread_id(),)), "the row was free"
        world.tables.execute(f"KILL {guard_connection(world)}")
        asking.join()
        wait_until(lambda: node.metrics()[HELD] == 0, 10, "the node to notice")
        wait_until(lambda: node.metrics()[REFUSED] > 0, 20, "a claim to be refused")
        claims = node.metrics()["shardwheel_claims_total"]
        planned = world.tables.value("SELECT MAX(id) FROM xxl_job_log")
        refused = node.metrics()[REFUSED]
        wait_until(lambda: node.metrics()[REFUSED] > refused + 8, 20, "claims to be tried again and again")
        assert node.metrics()["shardwheel_claims_total"] == claims
        assert world.tables.value("SELECT MAX(id) FROM xxl_job_log") == planned
        cursor.execute("ROLLBACK")
    wait_guard(node)
    load.wait(12)

    assert node.metrics()["shardwheel_java_guard_losses_total"] == 1
    after = Counter({event: node.log_text().count(f"event={event}") for event in events})
    assert after - before == {event: 1 for event in events}, node.tail(20)
    load.check()


@pytest.mark.asan
def test_guard_lost_during_a_commit_and_both_have_planned_the_fire(world):
    node = world.node()
    wait_guard(node)
    java = JavaAdmin(world).start()
    java.wait_waiting()
    executor = world.executor()
    due = int(time.time()) + 8
    job = world.tables.add_job(world.group(executor), cron=f"{due % 60} * * * * ?", trigger_next_time=due * 1000)
    blocker = world.server.connect(world.tables.database)
    with blocker.cursor() as cursor:
        time.sleep(max(0, due - 5.6 - time.time()))  # the moment before the claim
        for stage in ("START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"):  # from now on commits wait, and commits only
            cursor.execute(f"BACKUP STAGE {stage}")
        commits = ("SELECT COUNT(*) FROM information_schema.processlist "
                   "WHERE info = 'COMMIT' AND state LIKE '%%backup%%'")
        wait_until(lambda: world.tables.value(commits), 3, "the claim to wait in its commit")
        world.tables.execute(f"KILL {guard_connection(world)}")
        updates = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'UPDATE xxl_job_info%%'"
        wait_until(lambda: world.tables.value(updates), 3, "the Java admin to have read the job and to write it")
        cursor.execute("BACKUP STAGE END")
    blocker.close()

    executor.wait_runs(job, 1, 12)
    row = world.tables.wait_logs(job, "trigger_code = 500")[0]
    assert "delivery unknown: the guard against Java admins was lost" in row["trigger_msg"]
    assert "event=claim_unguarded" in node.log_text()
    assert node.metrics()['shardwheel_claims_unguarded_total{result="unknown"}'] == 1
    wait_guard(node)
    wait_until(lambda: time.time() > due + 3, 12, "the fire to be long past")
    assert [f.due_s for f in java.fires(job)] == [due]
    assert [run.logId for run in executor.runs(job)] == [f.log_id for f in java.fires(job)]


def test_guard_killed_beside_java_doubles_nothing(world):
    node = world.node()
    wait_guard(node)
    load = Load(world)
    java = JavaAdmin(world).start()
    load.wait(3)
    for _ in range(4):
        java.wait_waiting(0.3)
        rounds = len(java.rounds())
        world.tables.execute(f"KILL {guard_connection(world)}")
        wait_until(lambda: len(java.rounds()) > rounds, 10, "the Java admin to have a turn")
        wait_guard(node)
        load.wait(2)
    load.wait(10)

    unknown = load.check(not_sent_from_s=load.first)
    assert all("lost while this was planned" in row["trigger_msg"] for rows in unknown.values() for row in rows)


@pytest.mark.slow
def test_paused_node_lets_java_go_on_and_comes_back(world):
    node = world.node()
    wait_guard(node)
    load = Load(world)
    # What is more than 5 s late when the Java admin comes to it is left to the job's own rule.
    world.tables.execute("UPDATE xxl_job_info SET misfire_strategy = 'FIRE_ONCE_NOW'")
    java = JavaAdmin(world).start()
    load.wait(4)
    java.wait_waiting()

    paused_at = time.time()
    node.pause()
    java.wait_rounds(1, 20)
    assert java.rounds()[0].got - paused_at < 13  # wait_timeout and what the last ping had left
    load.wait(3)
    node.resume()
    wait_guard(node, seconds=20)
    java.wait_waiting()
    load.wait(12)
    until = int(time.time()) - 3
    wait_until(lambda: not world.tables.open_rows(0, until), 60, "the rows of before the pause to have ended")

    stay = load.check(until, int(paused_at) - 1)
    assert all(row["trigger_code"] == 500 for rows in stay.values() for row in rows), "told what became of them"


@pytest.mark.slow
def test_database_restart(own_mariadb, make_world):
    world = make_world(own_mariadb)
    node = world.node()
    wait_guard(node)
    load = Load(world)
    java = JavaAdmin(world).start()
    load.wait(4)
    java.wait_waiting()

    down_at = time.time()
    own_mariadb.process.kill()
    own_mariadb.start()
    world.tables.reconnect()
    wait_guard(node, seconds=20)
    load.wait(12)
    until = int(time.time()) - 3
    wait_until(lambda: not world.tables.open_rows(0, until), 60, "the rows of before the restart to have ended")

    stay = load.check(until, int(down_at) - 1)
    assert all("delivery unknown" in row["trigger_msg"] for rows in stay.values() for row in rows)


def test_missing_row_is_made(world):
    world.tables.execute("DELETE FROM xxl_job_lock")
    node = world.node()
    wait_guard(node)

    assert world.tables.rows("SELECT lock_name FROM xxl_job_lock") == [{"lock_name": "schedule_lock"}]
    java = JavaAdmin(world).start()
    java.wait_waiting()


def test_off_leaves_java_alone(world):
    java = JavaAdmin(world).start()
    load = Load(world)
    node = world.node(keys={"shardwheel.java-guard": "off"})
    load.wait(3)

    assert "event=guard_off" in node.log_text()
    assert world.tables.rows("SELECT * FROM shardwheel_guard") == []
    java.wait_rounds(2)
    java.stop()
    load.wait(3)  # by the node alone, without a guard
    assert (node.metrics()[HELD], node.metrics()[REFUSED]) == (0, 0)


def test_connection_of_the_request_that_is_gone_is_replaced(cluster):
    """Nothing would be heard of it for two minutes."""
    a = cluster.node("node-a")
    wait_guard(a)
    java = JavaAdmin(cluster).start()
    java.wait_waiting()
    b = cluster.node("node-b")
    waiting = (
        "SELECT id FROM information_schema.processlist "
        "WHERE info LIKE '%%schedule_lock%%SHARE MODE' AND id <> CONNECTION_ID()"
    )
    first = wait_until(lambda: cluster.tables.value(waiting), 10, "node b to wait for the row")

    cluster.tables.execute(f"KILL {first}")
    wait_until(lambda: cluster.tables.value(waiting) not in (None, first), 10, "node b to ask again")
    assert b.metrics()["shardwheel_java_guard_losses_total"] == 0
