# SPDX-License-Identifier: MIT
"""Faults of nodes: killed, stopped, paused, and with a clock that jumps."""
import signal
import time

from .scenarios import fault
from .stage import SESSION_TIMEOUT_S

# Promised are the session timeout and 2 s. The server looks for dead sessions in steps, and the machine is shared.
TAKEN_OVER_S = SESSION_TIMEOUT_S + 2 + 4
# Promised is 1 s.
OWNERLESS_S = 4


@fault(hurts="node", seconds=(0.5, 8), leaves_unknown=True)
def node_killed(stage, rng):
    """kill -9, and started again, sometimes before anybody has noticed."""
    node = stage.pick(rng)
    shards = stage.shards_of(node)
    node.kill()
    killed_s = time.time()
    yield
    node.start(None)
    stage.measure_takeovers(shards, killed_s, TAKEN_OVER_S)


@fault(hurts="node", seconds=(0.2, 4))
def node_stopped(stage, rng):
    """SIGTERM under load: its shards are handed over one after the other."""
    node = stage.pick(rng)
    shards = stage.shards_of(node)
    asked_s = time.time()
    node.signal(signal.SIGTERM)
    yield
    if stage.combined:
        node.kill()  # without the database it would go on waiting
    else:
        status = node.wait_exit(20)
        assert status == 0, f"{node.name} ended with status {status}\n{node.tail()}"
    node.start(None)
    stage.measure_handovers(len(shards), asked_s, OWNERLESS_S)


@fault(hurts="node", seconds=(SESSION_TIMEOUT_S + 1, SESSION_TIMEOUT_S + 6))
def node_paused(stage, rng):
    """SIGSTOP until others have its shards, then SIGCONT."""
    node = stage.pick(rng)
    shards = stage.shards_of(node)
    node.pause()
    paused_s = time.time()
    yield
    node.resume()
    stage.measure_takeovers(shards, paused_s, TAKEN_OVER_S)


@fault(hurts="node", seconds=(1, 5), may_be_early=True)
def clock_stepped(stage, rng):
    """The wall clock of one node is 10 s ahead or behind for a while."""
    clock = stage.clocks[stage.pick(rng).name]
    clock.set(rng.choice((-10, 10)))
    yield
    clock.set(0)


# It comes after clock_stepped, whose last cursor may be ahead.
@fault(hurts="all", seconds=(0, 6), leaves_unknown=True, may_be_early=True, alone=True)
def all_nodes_killed(stage, rng):
    """All at once, and started again in another order."""
    for node in stage.nodes:
        node.kill()
    yield
    for node in rng.sample(stage.nodes, len(stage.nodes)):
        node.start(None)
