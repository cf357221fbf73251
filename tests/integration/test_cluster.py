# SPDX-License-Identifier: MIT
"""Several nodes: sharing, and what is left of the fires when nodes die, stop, sleep and come back."""
import signal
import threading
import time

import pytest

from harness.executors import Reply
from harness.process import wait_until

FAIR = [4, 4]


@pytest.fixture
def pair(cluster):
    """(cluster, node a, node b), four shards each."""
    a, b = cluster.node("node-a"), cluster.node("node-b")
    cluster.tables.wait_owners(FAIR)
    return cluster, a, b


def load(cluster, nodes, fires_per_second, **options):
    """Starts the load and waits until a second's worth has arrived: (executor, a due second whose fires all count)."""
    executor = cluster.load_executor(nodes, **options)
    group = cluster.tables.add_group("load", executor.addresses)
    first = cluster.tables.add_load(group, fires_per_second)
    executor.wait_arrivals(fires_per_second, 20)
    return executor, first


def settle(cluster, from_s, to_s, seconds=15):
    """Waits until every planned row of those due seconds has an end."""
    wait_until(lambda: time.time() > to_s + 1, to_s - time.time() + 5, f"second {to_s}")
    wait_until(
        lambda: not cluster.tables.open_rows(from_s, to_s), seconds, f"the rows due in {from_s}..{to_s} to have ended"
    )


def check(cluster, executor, from_s, to_s, fires_per_second, unknown_at_most=0):
    """No due time was lost or doubled; the findings."""
    found, done = cluster.audit(executor, from_s, to_s)
    assert found["due"] == (to_s - from_s) * fires_per_second, done.stdout
    assert (found["lost"], found["doubled"], done.returncode) == (0, 0, 0), done.stdout
    assert found["unknown"] <= unknown_at_most, done.stdout
    assert found["delivered"] + found["unknown"] == found["due"], done.stdout
    return found


@pytest.mark.asan
def test_two_nodes_share_and_a_third_gets_its_part(pair):
    cluster, a, b = pair

    c = cluster.node("node-c")
    cluster.tables.wait_owners([2, 3, 3])
    assert c.terminate() == 0
    cluster.tables.wait_owners(FAIR)

    assert sum(node.metrics()[f'shardwheel_shard_owned{{shard="{k}"}}'] for node in (a, b) for k in range(8)) == 8


@pytest.mark.slow
def test_node_killed_under_load_loses_and_doubles_nothing(pair):
    cluster, a, b = pair
    # Slow answers: at the kill some of the second's fires are in flight, and some wait for a connection.
    executor, from_s = load(cluster, [b, a], 200, answer_delay_ms=500)

    time.sleep((0.25 - time.time()) % 1)  # to the middle of a second's fires
    a.kill()
    killed_at = time.time()
    cluster.tables.wait_owners([8])
    executor.wait_arrivals(1000, 15)
    to_s = int(time.time())
    assert cluster.tables.open_rows(from_s, int(killed_at)), "nothing was open at the kill: it hit the wrong moment"
    # What nobody knows the end of is ended 40 s after the takeover.
    settle(cluster, from_s, to_s, 70)

    found = check(cluster, executor, from_s, to_s, 200, unknown_at_most=200)
    said = cluster.tables.value(
        "SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code = 500 AND trigger_msg LIKE '%delivery unknown%'"
    )
    assert said >= found["unknown"] > 0


@pytest.mark.slow
def test_nodes_stopped_together_let_go_out_what_is_planned(pair):
    cluster, a, b = pair
    executor, from_s = load(cluster, [b, a], 50)

    a.signal(signal.SIGTERM)
    b.signal(signal.SIGTERM)
    assert (a.wait_exit(20), b.wait_exit(20)) == (0, 0)
    assert not cluster.tables.open_rows(), "planned rows were left behind"
    a.start()
    executor.wait_arrivals(500, 25)
    to_s = int(time.time())
    settle(cluster, from_s, to_s)

    check(cluster, executor, from_s, to_s, 50)


@pytest.mark.slow
def test_last_node_lets_go_out_what_a_dead_one_has_planned(pair):
    cluster, a, b = pair
    executor, from_s = load(cluster, [b, a], 50)

    a.kill()
    killed_at = time.time()
    assert b.terminate() == 0
    # What is left is what the dead node had in flight, its cursor being ahead by 0.2 s: nobody knows whether it was
    # sent.
    left = cluster.tables.open_rows(0, int(killed_at + 0.2))
    assert cluster.tables.open_rows() == left
    b.start()
    executor.wait_arrivals(500, 25)
    to_s = int(time.time())
    settle(cluster, from_s, to_s, 70)

    check(cluster, executor, from_s, to_s, 50, unknown_at_most=50)


@pytest.mark.slow
def test_undelivered_fire_is_sent_again_where_that_is_wanted(cluster):
    keys = {"shardwheel.delivery-unknown.resend": "on", "shardwheel.zookeeper.session-timeout": "1s"}
    a = cluster.node("node-a", keys)
    cluster.tables.wait_owners([8])
    executor = cluster.executor()
    hold = threading.Event()
    executor.replies = {"heldHandler": Reply(until=hold)}
    group = cluster.group(executor)
    held, _ = cluster.tables.add_single_fire(group, 3, "heldHandler")
    stopped, _ = cluster.tables.add_single_fire(group, 3, "heldHandler")
    executor.wait_runs(held)
    executor.wait_runs(stopped)

    a.kill()
    hold.set()
    # Whoever stops a job does not want it to run once more.
    cluster.tables.execute("UPDATE xxl_job_log SET trigger_msg = REPLACE(trigger_msg, ':L', '') WHERE job_id = %s",
                           (stopped,))
    cluster.node("node-b", keys)
    first, second = executor.wait_runs(held, 2, 60)
    assert first.logId == second.logId
    cluster.tables.wait_logs(held, "trigger_code = 200")
    assert len(cluster.tables.logs(held)) == 1
    row = cluster.tables.wait_logs(stopped, "trigger_code = 500")[0]
    assert "delivery unknown" in row["trigger_msg"]
    assert len(executor.runs(stopped)) == 1


@pytest.mark.slow
def test_fire_in_flight_gets_its_end_although_its_shard_keeps_moving(cluster):
    a = cluster.node("node-a", {"shardwheel.zookeeper.session-timeout": "1s"})
    cluster.tables.wait_owners([8])
    executor = cluster.executor()
    hold = threading.Event()
    executor.replies = {"heldHandler": Reply(until=hold)}
    held, _ = cluster.tables.add_single_fire(cluster.group(executor), 3, "heldHandler")
    executor.wait_runs(held)
    shard = held % 8

    def epoch():
        return cluster.tables.value("SELECT epoch FROM shardwheel_shard WHERE shard = %s", (shard,))

    def ended():
        return cluster.tables.logs(held, "trigger_code <> 0")

    # A node that crashes every ten seconds: no owner lives long enough to see the end of its own 40 s.
    taken_at, epochs = [], [epoch()]
    while not ended():
        a.kill()
        hold.set()
        a.start()
        wait_until(lambda: epoch() > epochs[-1], 15, f"another takeover of shard {shard}")
        taken_at.append(time.time())
        epochs.append(epoch())
        wait_until(lambda: ended() or time.time() > taken_at[-1] + 8, 10, "the next crash")
        assert time.time() < taken_at[0] + 60, f"no end after {len(taken_at)} takeovers: {cluster.tables.brief(held)}"

    assert time.time() > taken_at[0] + 38, "it was ended while its sender might still have written its result"
    assert len(taken_at) >= 4
    row = cluster.tables.logs(held)[0]
    assert (row["trigger_code"], len(executor.runs(held))) == (500, 1)
    assert "delivery unknown" in row["trigger_msg"]
    notes = "SELECT MIN(epoch) FROM shardwheel_takeover WHERE shard = %s"
    wait_until(lambda: cluster.tables.value(notes, (shard,)) > epochs[1], 5, "the note of the first crash to be gone")


@pytest.mark.slow
@pytest.mark.asan
def test_node_terminated_under_load_hands_everything_over(pair):
    cluster, a, b = pair
    executor, from_s = load(cluster, [b, a], 100)

    assert a.terminate() == 0
    cluster.tables.wait_owners([8])
    executor.wait_arrivals(500, 15)
    to_s = int(time.time())
    settle(cluster, from_s, to_s)

    check(cluster, executor, from_s, to_s, 100)


@pytest.mark.slow
def test_node_that_slept_beyond_its_session_doubles_nothing(pair):
    cluster, a, b = pair
    executor, from_s = load(cluster, [b, a], 100)

    a.pause()
    cluster.tables.wait_owners([8], 20)
    executor.wait_arrivals(500, 15)
    a.resume()
    cluster.tables.wait_owners(FAIR, 20)
    executor.wait_arrivals(500, 15)
    to_s = int(time.time())
    settle(cluster, from_s, to_s, 70)

    check(cluster, executor, from_s, to_s, 100, unknown_at_most=100)


@pytest.mark.slow
@pytest.mark.asan
def test_last_node_stops_and_what_was_due_meanwhile_fires_late(cluster):
    a = cluster.node("node-a")
    executor, from_s = load(cluster, [a], 50)

    assert a.terminate() == 0
    assert not cluster.tables.open_rows(), "the last node left planned fires behind"
    stopped_at = time.time()
    wait_until(lambda: time.time() > stopped_at + 10, 12, "ten seconds to pass without a node")
    a.start()
    executor.wait_arrivals(50 * 12, 20)
    to_s = int(time.time())
    settle(cluster, from_s, to_s)

    check(cluster, executor, from_s, to_s, 50)


@pytest.mark.slow
def test_firing_goes_on_without_zookeeper(mariadb, own_zookeeper, make_world):
    cluster = make_world(mariadb, zookeeper=own_zookeeper)
    a, b = cluster.node("node-a"), cluster.node("node-b")
    cluster.tables.wait_owners(FAIR)
    executor, from_s = load(cluster, [a, b], 50)

    own_zookeeper.stop()
    executor.wait_arrivals(50 * 8, 20)
    own_zookeeper.start()
    executor.wait_arrivals(50 * 6, 20)
    cluster.tables.wait_owners(FAIR, 20)
    to_s = int(time.time())
    settle(cluster, from_s, to_s, 70)

    found = check(cluster, executor, from_s, to_s, 50)
    assert found["late_ms"]["max"] < 5000


@pytest.mark.slow
def test_planned_fires_go_out_late_but_once_when_the_database_is_back(own_mariadb, zookeeper, make_world):
    cluster = make_world(own_mariadb, zookeeper=zookeeper)
    a, b = cluster.node("node-a"), cluster.node("node-b")
    cluster.tables.wait_owners(FAIR)
    executor, from_s = load(cluster, [a, b], 50)

    own_mariadb.process.kill()
    killed_at = time.time()
    wait_until(lambda: time.time() > killed_at + 5, 7, "five seconds to pass without the database")
    own_mariadb.start()
    cluster.tables.reconnect()
    executor.wait_arrivals(50 * 8, 40)
    cluster.tables.wait_owners(FAIR, 20)
    to_s = int(time.time())
    settle(cluster, from_s, to_s, 70)

    check(cluster, executor, from_s, to_s, 50, unknown_at_most=100)


@pytest.mark.slow
def test_locks_move_after_the_maximum_hold(cluster):
    keys = {"shardwheel.lock.max-hold": "3s"}
    a, b = cluster.node("node-a", keys), cluster.node("node-b", keys)
    cluster.tables.wait_owners(FAIR)
    executor, from_s = load(cluster, [a, b], 50)
    before = {row["shard"]: row["epoch"]
              for row in cluster.tables.rows("SELECT * FROM shardwheel_shard WHERE shard < 8")}

    def all_moved():
        rows = cluster.tables.rows("SELECT * FROM shardwheel_shard WHERE shard < 8")
        return all(row["epoch"] > before[row["shard"]] for row in rows)

    wait_until(all_moved, 20, "every shard to have a newer epoch")
    to_s = int(time.time())
    settle(cluster, from_s, to_s)

    check(cluster, executor, from_s, to_s, 50)


def test_locks_lie_where_curator_looks_for_them(pair, zookeeper):
    cluster, a, b = pair
    client = zookeeper.client()
    try:
        for shard in range(8):
            path = f"{cluster.base_path}/schedule_lock_{shard}"
            children = wait_until(lambda: client.get_children(path), 5, f"a lock node in {path}")
            for child in children:
                guid, dash, number = child.rpartition("-lock-")
                assert (guid.startswith("_c_") and len(guid) == 39 and dash
                        and number.isdigit() and len(number) == 10), child
                assert client.get(f"{path}/{child}")[1].ephemeralOwner != 0
    finally:
        client.stop()
        client.close()


def test_curator_client_that_holds_a_lock_keeps_the_shard_away(cluster, zookeeper):
    client = zookeeper.client()
    try:
        path = f"{cluster.base_path}/schedule_lock_3"
        client.ensure_path(path)
        lock = client.create(f"{path}/_c_00000000-0000-0000-0000-000000000001-lock-", ephemeral=True, sequence=True)
        cluster.node("node-a")
        cluster.tables.wait_owners([7])
        client.delete(lock)
        cluster.tables.wait_owners([8])
    finally:
        client.stop()
        client.close()
