# SPDX-License-Identifier: MIT
"""An ensemble of three ZooKeeper servers: what nodes do while its members go, come back, and are all away."""
import contextlib
import os
import re
import socket
import time

import pytest
from kazoo.security import make_acl

from harness.node import is_sanitized
from harness.process import free_ports, wait_until
from harness.zookeeper import ZooKeeperEnsemble
from test_cluster import FAIR, check, load, settle
from test_curator import owned

SESSION_S = 4
RATE = 50


@pytest.fixture(scope="module")
def three():
    ensemble = ZooKeeperEnsemble().start()
    yield ensemble
    ensemble.remove()


@pytest.fixture
def ensemble(three):
    """All three are up, before and after."""
    yield three.start()
    for member in three.members:
        if member.process.running():
            member.process.resume()


@pytest.fixture
def group(make_world, mariadb, ensemble):
    return make_world(mariadb, zookeeper=ensemble)


def count_owned(*nodes):
    return sum(owned(k, *nodes) for k in range(8))


def wait_all_owned(*nodes, seconds=15):
    """The table of shards does not tell: it keeps the name of an owner that has gone."""
    wait_until(lambda: count_owned(*nodes) == 8, seconds, "every shard to have one owner")


class Watched:
    """Two nodes under load; knows what is the same as it was and what has been logged since."""

    def __init__(self, world, keys_a=None):
        self.world = world
        self.nodes = [world.node("node-a", keys_a), world.node("node-b")]
        world.tables.wait_owners(FAIR)
        self.executor, self.from_s = load(world, self.nodes, RATE)
        self.mark()

    def mark(self):
        self.epochs = self.read_epochs()
        self.read = [len(node.log_text()) for node in self.nodes]

    def read_epochs(self):
        return [row["epoch"] for row in self.world.tables.rows("SELECT epoch FROM shardwheel_shard ORDER BY shard")]

    def events(self, name):
        """How many lines of that event each node has written since the mark."""
        return [
            len(re.findall(rf"area=coord event={name} ", node.log_text()[read:]))
            for node, read in zip(self.nodes, self.read)
        ]

    def up(self):
        return [node.metrics()["shardwheel_coordination_up"] for node in self.nodes]

    def wait_up(self, value, seconds):
        wait_until(lambda: self.up() == [value] * 2, seconds, f"shardwheel_coordination_up to be {value} on both nodes")

    def wait_fires(self, seconds):
        """Waits until that many seconds' worth of fires has arrived."""
        self.executor.wait_arrivals(RATE * seconds, seconds * 2 + 10)

    def check_unmoved(self):
        assert self.read_epochs() == self.epochs, "a shard was taken over anew"
        assert self.events("lost") == self.events("given_back") == [0, 0]

    def end(self, late_at_most_ms=2000, unknown_at_most=0):
        """Shares are whole and nothing was lost or doubled; the findings."""
        self.world.tables.wait_owners(FAIR)
        wait_all_owned(*self.nodes)
        to_s = int(time.time())
        settle(self.world, self.from_s, to_s, 70 if unknown_at_most else 15)
        found = check(self.world, self.executor, self.from_s, to_s, RATE, unknown_at_most)
        assert found["late_ms"]["max"] < late_at_most_ms, found["late_ms"]
        return found


@pytest.mark.slow
@pytest.mark.parametrize("how", ["killed", "paused"])
def test_lost_leader_moves_no_shard(group, ensemble, how):
    watched = Watched(group)
    leader = ensemble.leader()
    others = [member for member in ensemble.members if member is not leader]

    if how == "killed":
        leader.stop()
    else:
        leader.process.pause()
    ensemble.leader(others)
    watched.wait_up(1, 15)
    watched.wait_fires(6)
    watched.check_unmoved()
    if how == "killed":
        leader.start()
    else:
        leader.process.resume()
        leader.wait_serving()
    watched.wait_up(1, 15)
    watched.wait_fires(3)

    watched.check_unmoved()
    found = watched.end()
    print(f"leader {how}: {found['due']} fires, late by {found['late_ms']['max']} ms at most")


@pytest.mark.slow
def test_lost_follower_is_replaced_by_another_server(group, ensemble):
    followers = ensemble.followers()
    servers = ",".join(member.servers for member in followers)
    watched = Watched(group, {"shardwheel.zookeeper.servers": servers})
    used = re.search(r"event=session_begun .* server=(\S+)", watched.nodes[0].log_text())[1]
    lost = next(member for member in followers if member.servers == used)
    kept = next(member for member in followers if member is not lost)

    lost.stop()

    wait_until(lambda: watched.events("connected")[0] == 1, 10, "node-a to be connected again")
    assert f"server={kept.servers}" in watched.nodes[0].log_text()[watched.read[0]:]
    watched.wait_fires(6)
    watched.check_unmoved()
    assert watched.events("session_expired") == [0, 0]
    assert watched.events("disconnected")[0] == 1
    watched.end()


@pytest.mark.slow
def test_lost_quorum_is_told_and_owners_go_on(group, ensemble):
    watched = Watched(group)
    followers = ensemble.followers()
    leader = ensemble.leader()

    for member in (followers[0], leader):
        member.process.pause()  # both in one moment, so that nobody changes from one to the other
    for member in (followers[0], leader):
        member.stop()
    cut_at = time.monotonic()
    watched.wait_up(0, 10)
    for node in watched.nodes:
        answer = node.get("/actuator/health")
        assert (answer.status, answer.json["status"]) == (200, "UP"), answer
        assert answer.json["components"]["coordination"]["status"] == "DEGRADED"
    watched.wait_fires(2 * SESSION_S + 2)
    assert time.monotonic() - cut_at > 2 * SESSION_S
    assert watched.up() == [0, 0]
    assert all("UP" == node.get("/actuator/health").json["status"] for node in watched.nodes)
    watched.check_unmoved()
    assert watched.events("disconnected") == [1, 1], "one line for the loss"
    assert watched.events("lease_over") == [1, 1], "one line for the end of the session timeout"
    assert watched.events("connected") == watched.events("session_begun") == [0, 0]

    followers[0].start()
    watched.wait_up(1, 15)
    for node in watched.nodes:
        assert node.get("/actuator/health").json["components"]["coordination"]["status"] == "UP"
    # Servers that come back may elect a leader twice; each loss and each return has one line.
    losses = watched.events("disconnected")
    returns = [sum(pair) for pair in zip(watched.events("connected"), watched.events("session_begun"))]
    assert losses == returns and min(losses) >= 1, f"{losses} losses, {returns} returns"
    leader.start()
    watched.wait_fires(3)

    watched.end()


@pytest.mark.slow
def test_rolling_restart_of_the_servers_moves_no_shard(group, ensemble):
    watched = Watched(group)

    for member in ensemble.members:
        member.process.terminate()
        ensemble.leader([other for other in ensemble.members if other is not member])
        watched.wait_up(1, 15)
        member.start()
        watched.wait_fires(2)

    watched.wait_up(1, 15)
    watched.check_unmoved()
    watched.end()


def resources(node, executor, database):
    """(resident kB, threads, open files) of the process. The executor's connections and the sessions of the pool come
    and go with the load, and HTTP workers are started when there is work for one more."""
    with open(f"/proc/{node.pid}/status", encoding="ascii") as status:
        lines = dict(line.split(":", 1) for line in status)
    files = []
    for name in os.listdir(f"/proc/{node.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            files.append(os.readlink(f"/proc/{node.pid}/fd/{name}"))
    with open(f"/proc/{node.pid}/net/tcp", encoding="ascii") as table:
        for entry in table.readlines()[1:]:
            fields = entry.split()
            local, remote = (int(fields[i].split(":")[1], 16) for i in (1, 2))
            of_load = (local == node.port or remote == database.port or
                       executor.port <= remote < executor.port + len(executor.addresses))
            if of_load and f"socket:[{fields[9]}]" in files:
                files.remove(f"socket:[{fields[9]}]")
    threads = 0
    for task in os.listdir(f"/proc/{node.pid}/task"):
        with contextlib.suppress(FileNotFoundError):
            with open(f"/proc/{node.pid}/task/{task}/comm", encoding="utf-8") as comm:
                threads += not comm.read().startswith(("http-exec-", "http-console-"))
    return int(lines["VmRSS"].split()[0]), threads, len(files)


def away(ensemble, seconds, paused):
    """All three servers are away for so long."""
    for member in ensemble.members:
        member.process.pause()  # all in one moment, so that nobody changes from one to the next
    for member in ensemble.members:
        if not paused:
            member.stop()
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > end, seconds + 1, "the outage to be over")
    for member in ensemble.members:
        if paused:
            member.process.resume()
    ensemble.start().wait_session()


@pytest.mark.slow
def test_zookeeper_away_and_back_many_times(group, ensemble, request):
    watched = Watched(group)
    kinds = [(1.5, False), (SESSION_S + 1.5, False), (SESSION_S + 1.5, True)]  # the last kind ends the sessions too
    outages = request.config.getoption("--outages")
    longest = 0
    begun = time.time()
    early = None
    for i in range(outages):
        watched.mark()
        away(ensemble, *kinds[i % len(kinds)])
        back_at = time.monotonic()
        watched.wait_up(1, 20)
        wait_until(lambda: count_owned(*watched.nodes) == 8 and
                   sorted(group.tables.owners().values()) == FAIR, 20, f"whole shares after outage {i + 1}")
        longest = max(longest, time.monotonic() - back_at)
        # Servers that come back may elect a leader twice; each loss and each return has one line.
        losses = watched.events("disconnected")
        returns = [sum(pair) for pair in zip(watched.events("connected"), watched.events("session_begun"))]
        assert losses == returns and min(losses) >= 1, f"outage {i + 1}: {losses} losses, {returns} returns"
        if i == min(outages // 5, outages - 2):
            early = [resources(node, watched.executor, group.server) for node in watched.nodes]
    late = [resources(node, watched.executor, group.server) for node in watched.nodes]
    found = watched.end(late_at_most_ms=10000)

    print(f"{outages} outages in {time.time() - begun:.0f} s, {found['due']} fires, lost {found['lost']},"
          f" doubled {found['doubled']}, unknown {found['unknown']}, late by {found['late_ms']['max']} ms at most;"
          f" shares whole again within {longest:.1f} s; (kB, threads, files) per node from {early} to {late};"
          f" sessions begun {[node.metrics()['shardwheel_coordination_sessions_total'] for node in watched.nodes]}")
    for before, after in zip(early, late):
        assert after[1] <= before[1] and after[2] <= before[2] + 2, (before, after)
        assert is_sanitized() or after[0] < before[0] * 1.1 + 2048, (before, after)


@pytest.mark.slow
def test_shards_move_in_time_on_an_ensemble(group):
    a = group.node("node-a")
    group.tables.wait_owners([8])

    begun = time.monotonic()
    b = group.node("node-b")
    group.tables.wait_owners(FAIR, 15)
    joined = time.monotonic() - begun
    a.kill()
    begun = time.monotonic()
    wait_all_owned(b)
    moved = time.monotonic() - begun

    assert joined < 5
    assert moved < SESSION_S + 2
    print(f"the joining node had its share after {joined:.1f} s, "
          f"the killed node's shards had moved after {moved:.1f} s")


def data_watches(ensemble):
    """{path: number of sessions that watch it}, of all servers. Those for lists of children are not among them."""
    found = {}
    for member in ensemble.members:
        path = None
        for line in member.ask("wchp").splitlines():
            if line.startswith("/"):
                path = line
            elif line.strip():
                found[path] = found.get(path, 0) + 1
    return found


def total(ensemble, name):
    """That number of the servers' statistics, of all of them."""
    return sum(int(re.search(rf"{name}\s+(\d+)", member.ask("mntr"))[1]) for member in ensemble.members)


def test_each_waiter_watches_its_predecessor_alone(group, ensemble):
    for name in ("node-a", "node-b", "node-c"):
        group.node(name)
    group.tables.wait_owners([2, 3, 3])

    def in_line():
        # Two wait at each lock; each of three watches the list of nodes; nodes of other tests may still have a session.
        count = total(ensemble, "zk_watch_count")
        assert count == 8 * 2 + 3, f"{count} watches, of them {data_watches(ensemble)}"
        return data_watches(ensemble)

    found = wait_until(in_line, 15, "all nodes to wait at all locks")
    assert len(found) == 8 * 2 and set(found.values()) == {1}, f"several wait for the same one: {found}"
    assert all(re.search(r"/schedule_lock_\d/_c_.*-lock-", path) for path in found), found


def test_path_behind_the_servers_is_used(group, ensemble):
    keys = {"shardwheel.zookeeper.servers": ensemble.servers + "/tenant/one"}
    a, b = group.node("node-a", keys), group.node("node-b", keys)
    group.tables.wait_owners(FAIR)

    client = ensemble.client("/tenant/one")
    try:
        assert sorted(client.get_children(f"{group.base_path}/nodes")) == ["node-a", "node-b"]
        assert len(client.get_children(f"{group.base_path}/schedule_lock_0")) == 2
        client.chroot = ""
        assert not client.exists(group.base_path)
    finally:
        client.stop()
        client.close()
    a.kill()
    wait_all_owned(b, seconds=10)  # watches below the path work


def test_start_goes_past_servers_that_are_dead_or_silent(group, ensemble):
    dead = f"127.0.0.1:{free_ports()}"
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel takes the connection, nobody answers
        servers = f"{dead},127.0.0.1:{silent.getsockname()[1]},{ensemble.servers}"
        for i in range(3):  # which server comes first is random
            node = group.node(f"node-{i}", {"shardwheel.zookeeper.servers": servers})
            wait_all_owned(node)
            assert node.terminate() == 0


def delete_all(client, path):
    """In one transaction: the nodes are quick to make again what they miss."""
    transaction = client.transaction()

    def delete(folder):
        for name in client.get_children(folder):
            delete(f"{folder}/{name}")
        transaction.delete(folder)

    delete(path)
    results = transaction.commit()
    assert all(result is True for result in results), results


@pytest.mark.slow
def test_base_path_deleted_under_the_nodes_is_made_again(group, ensemble):
    watched = Watched(group)
    client = ensemble.client()

    def whole():
        for shard in range(8):
            assert len(client.get_children(f"{group.base_path}/schedule_lock_{shard}")) == 2
        return sorted(client.get_children(f"{group.base_path}/nodes")) == ["node-a", "node-b"]

    try:
        assert whole()
        delete_all(client, group.base_path)
        begun = time.monotonic()
        wait_until(whole, 8, "both nodes and all their tickets to be back")
        print(f"all were back {time.monotonic() - begun:.1f} s after the base path was deleted")
    finally:
        client.stop()
        client.close()
    watched.wait_fires(3)
    watched.end()


def test_path_without_rights_is_a_clear_error(group, ensemble):
    client = ensemble.client()
    readable = make_acl("world", "anyone", read=True, admin=True)
    try:
        parent = os.path.dirname(group.base_path)
        client.create(parent, acl=[readable])
        node = group.node("node-a")
        line = wait_until(lambda: re.search(".*event=refused.*", node.log_text()), 10, "a line that tells it")[0]
        assert f'base_path="{group.base_path}"' in line and "level=error" in line and "authenticated" in line, line
        assert group.tables.owners() == {}
        # Told now and then, and no storm of requests.
        asked = total(ensemble, "zk_packets_received")
        end = time.monotonic() + 3
        wait_until(lambda: time.monotonic() > end, 5, "three seconds")
        asked = total(ensemble, "zk_packets_received") - asked
        assert asked < 300, f"{asked} requests in three seconds"
        assert node.log_text().count("event=refused") == 1
        # The rights are given: nobody needs to restart anything.
        client.set_acls(parent, [make_acl("world", "anyone", all=True)])
        wait_all_owned(node)
        # Who may not make what is there already does not mind.
        client.set_acls(parent, [readable])
        assert node.terminate() == 0
        other = group.node("node-b")
        wait_all_owned(other)
        assert "event=refused" not in other.log_text()
    finally:
        client.stop()
        client.close()
