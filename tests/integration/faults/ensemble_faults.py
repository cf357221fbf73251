# SPDX-License-Identifier: MIT
"""
Faults of an ensemble of three ZooKeeper servers, to which the nodes move for the rounds of a scenario. All nodes stop
for the move: the longest gap and the latest fire of the result are those of the moves.
"""
import time

from harness.zookeeper import ZooKeeperEnsemble

from .scenarios import fault
from .stage import SESSION_TIMEOUT_S

LATE_P99_MS = 1000
_SERVERS = "shardwheel.zookeeper.servers"


def _move_nodes(stage, servers):
    """All nodes stop before the first one starts: those of two ZooKeepers would each take everything."""
    for node in stage.nodes:
        assert node.terminate(40) == 0, f"{node.name} ended badly\n{node.tail()}"
    for node in stage.nodes:
        node.command = [word for word in node.command if not word.startswith(f"--{_SERVERS}=")]
        node.command.append(f"--{_SERVERS}={servers(node)}")
        node.start(None)
    stage.wait_whole()


def _on_an_ensemble(stage, rng):
    stage.ensemble = ZooKeeperEnsemble().start()
    try:
        _move_nodes(stage, lambda node: stage.ensemble.servers)
        with stage.late_at_most(LATE_P99_MS):  # owners go on, whatever becomes of the servers
            yield
        _move_nodes(stage, lambda node: stage.node_keys(node.name)[_SERVERS])
    finally:
        stage.ensemble.remove()
        stage.ensemble = None


@fault(hurts="zookeeper", seconds=(0.5, SESSION_TIMEOUT_S + 6), alone=True, around=_on_an_ensemble,
       by_hand=True)
def zookeeper_leader_lost(stage, rng):
    """The leader is killed or paused; the other two elect one of them. No shard has a reason to move."""
    before, began_s = stage.epochs(), time.time()
    leader = stage.ensemble.leader()
    paused = rng.random() < 0.5
    if paused:
        leader.process.pause()
    else:
        leader.stop()
    yield
    if paused:
        leader.process.resume()
    else:
        leader.launch()
    leader.wait_serving()
    stage.wait_whole()
    # The servers may let a session end where they take long for their election; its tickets may go before the node
    # hears of it.
    expired = [event for event in stage.events(began_s) if event[2] in ("session_expired", "ticket_gone")]
    assert expired or stage.epochs() == before, "a shard was taken over anew, though every session lived on"


@fault(hurts="zookeeper", seconds=(0.5, SESSION_TIMEOUT_S + 6), alone=True, around=_on_an_ensemble,
       by_hand=True)
def zookeeper_quorum_lost(stage, rng):
    """Two of the three servers are killed, the leader among them now and then: the one that is left serves nobody."""
    lost = rng.sample(stage.ensemble.members, 2)
    for member in lost:
        member.stop()
    yield
    for member in lost:
        member.launch()
    for member in stage.ensemble.members:
        member.wait_serving()
