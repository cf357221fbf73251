# SPDX-License-Identifier: MIT
"""Apache Curator's own InterProcessMutex on the locks of the shards: it excludes nodes and is excluded by them."""
import calendar
import re
import signal
import time

import pytest

from harness.curator import Curator
from harness.process import wait_until
from test_cluster import FAIR, check, load, settle


@pytest.fixture
def make_curator(cluster):
    def make(name="curator"):
        curator = Curator(cluster.folder, cluster.zookeeper.servers, cluster.base_path, name=name)
        cluster.others.append(curator)
        return curator.start()

    return make


def owned(shard, *nodes):
    """How many of the nodes schedule that shard."""
    return sum(node.metrics()[f'shardwheel_shard_owned{{shard="{shard}"}}'] for node in nodes)


def shard_of(node):
    """The first shard that the node owns; what it gives back for its age it may have all at once."""
    def all_owned():
        metrics = node.metrics()
        return [k for k in range(8) if metrics[f'shardwheel_shard_owned{{shard="{k}"}}']]

    return wait_until(all_owned, 20, f"{node.name} to own a shard")[0]


def look(zookeeper, cluster, shard):
    """The tickets for a shard, and how many have come and gone in all."""
    client = zookeeper.client()
    try:
        names, stat = client.get_children(f"{cluster.base_path}/schedule_lock_{shard}", include_data=True)
        return names, stat.cversion
    finally:
        client.stop()
        client.close()


def tickets(zookeeper, cluster, shard):
    return look(zookeeper, cluster, shard)[0]


def wait_owned(shard, *nodes):
    wait_until(lambda: owned(shard, *nodes) == 1, 20, f"shard {shard} to have an owner")


def test_shard_that_curator_holds_has_no_owner_until_it_is_released(cluster, make_curator):
    curator = make_curator()
    assert curator.acquire(3, 5000)  # before any node: the folders are Curator's

    a, b = cluster.node("node-a"), cluster.node("node-b")
    cluster.tables.wait_owners([3, 4])
    wait_until(lambda: len(curator.participants(3)) == 3, 5, "both nodes to wait behind Curator")
    assert owned(3, a, b) == 0
    assert sum(owned(k, a, b) for k in range(8)) == 7
    epoch = "SELECT epoch FROM shardwheel_shard WHERE shard = 3"
    assert cluster.tables.value(epoch) == 0, "a shard that nobody could lock was taken over"

    curator.release(3)

    wait_owned(3, a, b)
    assert cluster.tables.value(epoch) == 1
    cluster.tables.wait_owners(FAIR)


def test_curator_waits_in_turn_with_the_nodes_and_reads_who_they_are(cluster, zookeeper, make_curator):
    a = cluster.node("node-a")
    cluster.tables.wait_owners([8])
    curator = make_curator()
    _, before = look(zookeeper, cluster, 0)
    assert not curator.acquire(0, 1500)
    assert look(zookeeper, cluster, 0)[1] == before + 2, "its ticket has not come and gone"
    assert [data for _, data in curator.participants(0)] == ["node-a"], "the attempt in vain has left a ticket"

    # The queue is a, Curator, b: when a gives the shard up it is Curator's turn, though b has room for it.
    shard = 7
    curator.send(f"acquire {shard} 60000")
    wait_until(lambda: len(tickets(zookeeper, cluster, shard)) == 2, 5, "Curator to wait behind node-a")
    b = cluster.node("node-b")
    wait_until(lambda: len(tickets(zookeeper, cluster, shard)) == 3 or curator.is_answered(), 10, "node-b to wait too")
    a.signal(signal.SIGTERM)
    assert curator.answer(15) == "acquired"
    assert owned(shard, b) == 0
    names, data = zip(*curator.participants(shard))
    assert data[1:] == ("node-b",), f"the participants are {data}"
    assert all(re.fullmatch(r"_c_[0-9a-f-]{36}-lock-\d{10}", name) for name in names), names
    curator.release(shard)
    wait_owned(shard, b)
    assert a.wait_exit(20) == 0  # it stays until each of its shards has another owner


def test_curator_gets_what_is_given_back_for_its_age(cluster, make_curator):
    keys = {"shardwheel.lock.max-hold": "3s"}
    a, b = cluster.node("node-a", keys), cluster.node("node-b", keys)
    cluster.tables.wait_owners(FAIR)
    curator = make_curator()
    shard = shard_of(a)

    assert curator.acquire(shard, 20000), "two nodes passed the lock to each other all the time"
    assert owned(shard, a, b) == 0
    others = [k for k in range(8) if k != shard]
    wait_until(lambda: sum(owned(k, a, b) for k in others) == 7, 10, "the other shards to be owned")
    assert owned(shard, a, b) == 0
    curator.release(shard)
    wait_owned(shard, a, b)


def test_killed_curator_is_replaced_within_its_session_timeout(cluster, make_curator):
    curator = make_curator()
    assert curator.acquire(5, 5000)
    a, b = cluster.node("node-a"), cluster.node("node-b")
    cluster.tables.wait_owners([3, 4])

    curator.kill()

    wait_owned(5, a, b)


_GRANT = re.compile(r"time=(\S+)\.(\d{3})Z .*event=(granted|given_back|lost|ticket_gone) shard=(\d+) ")


def grants(node):
    """[(shard, from, to)] in seconds, from the node's log; what has not ended lasts for ever."""
    found = []
    begun = {}
    for line in node.log_text().splitlines():
        match = _GRANT.match(line)
        if not match:
            continue
        at = calendar.timegm(time.strptime(match[1], "%Y-%m-%dT%H:%M:%S")) + int(match[2]) / 1000
        shard = int(match[4])
        if match[3] == "granted":
            begun.setdefault(shard, at)
        elif shard in begun:
            found.append((shard, begun.pop(shard), at))
    return found + [(shard, at, float("inf")) for shard, at in begun.items()]


@pytest.mark.slow
def test_no_two_hold_a_shard_while_curator_and_two_nodes_contend(cluster, make_curator):
    keys = {"shardwheel.lock.max-hold": "1s"}
    a, b = cluster.node("node-a", keys), cluster.node("node-b", keys)
    cluster.tables.wait_owners(FAIR)
    curator = make_curator()
    executor, from_s = load(cluster, [a, b], 50)
    held = []
    rounds = 0
    end = time.monotonic() + 90
    while len(held) < 10 and time.monotonic() < end:
        shard = rounds % 8
        rounds += 1
        if not curator.acquire(shard, 3000):
            continue
        begun = time.time()
        state = "SELECT epoch, owner FROM shardwheel_shard WHERE shard = %s"
        before = cluster.tables.rows(state, (shard,))
        assert owned(shard, a, b) == 0
        assert cluster.tables.rows(state, (shard,)) == before, "somebody took it over while Curator held it"
        held.append((shard, begun, time.time()))
        curator.release(shard)
    to_s = int(time.time())
    wait_until(lambda: sum(owned(k, a, b) for k in range(8)) == 8, 10, "every shard to have an owner")
    settle(cluster, from_s, to_s)

    assert len(held) >= 10, f"Curator got a lock {len(held)} times in {rounds} rounds"
    taken = [(node.name, *grant) for node in (a, b) for grant in grants(node)]
    assert len(taken) >= 8 + len(held), f"nodes were granted a lock {len(taken)} times"
    for shard, begun, ended in held:
        both = [t for t in taken if t[1] == shard and t[2] < ended and t[3] > begun]
        assert not both, f"Curator held shard {shard} from {begun} to {ended}, and so did {both}"
    for i, (name, shard, begun, ended) in enumerate(taken):
        both = [t for t in taken[i + 1:] if t[1] == shard and t[2] < ended and t[3] > begun]
        assert not both, f"{name} held shard {shard} from {begun} to {ended}, and so did {both}"
    check(cluster, executor, from_s, to_s, 50)
    print(f"Curator held a lock {len(held)} times in {rounds} rounds, nodes {len(taken)} times")
