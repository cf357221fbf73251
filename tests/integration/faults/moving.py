# SPDX-License-Identifier: MIT
"""No faults: shards move because nodes come and go or have held them long enough."""
import time

from harness.process import wait_until

from .scenarios import fault
from .stage import fair

JOINED_S = 5 + 5           # promised are 5 s; the machine is shared
LATE_P99_MS = 1000         # of fires while their shards move
SLOW_ANSWER_MS = 2000
SLOW_FIRES_PER_SECOND = 5


def restart_with(stage, keys):
    """All nodes, one after the other, with other keys: {node name: {key: value, or None}}."""
    for node in stage.nodes:
        assert node.terminate() == 0, f"{node.name} ended badly\n{node.tail()}"
        for key, value in keys[node.name].items():
            node.command = [word for word in node.command if not word.startswith(f"--{key}=")]
            node.command += [f"--{key}={value}"] if value else []
        node.start()


def _restart_all_with(stage, keys):
    restart_with(stage, {node.name: keys for node in stage.nodes})


def _short_hold(stage, rng):
    _restart_all_with(stage, {"shardwheel.lock.max-hold": "3s"})
    stage.wait_whole()
    with stage.late_at_most(LATE_P99_MS):
        yield
    _restart_all_with(stage, {"shardwheel.lock.max-hold": None})


@fault(hurts="nothing", seconds=(5, 8), alone=True, around=_short_hold, by_hand=True)
def max_hold(stage, rng):
    """Every shard moves every 3 s, all the time."""
    before = stage.epochs()
    yield
    assert stage.epochs() > before, "no shard has moved"


@fault(hurts="nothing", seconds=(1, 4))
def nodes_join_and_leave(stage, rng):
    """A further node starts, gets its share, and stops."""
    began_s = time.time()
    node = stage.add_node("node-joining", healthy_within=20)
    share = fair(len(stage.nodes))[0]
    wait_until(lambda: stage.owners().get(node.name, 0) >= share, 30, f"{share} shards for {node.name}")
    stage.measure("joined", time.time() - began_s, JOINED_S)
    yield
    stage.remove_node(node)
    assert node.terminate() == 0, f"{node.name} ended badly\n{node.tail()}"


def _slow_executor(stage, rng):
    """Jobs of their own, whose executor takes 2 s for each answer."""
    executor = stage.world.load_executor(stage.nodes, app_name="slow", addresses=20, answer_delay_ms=SLOW_ANSWER_MS)
    stage.count_too(executor, SLOW_FIRES_PER_SECOND)
    with stage.late_at_most(LATE_P99_MS):
        yield


@fault(hurts="nothing", seconds=(1, 3), alone=True, around=_slow_executor)
def executor_slow_at_handover(stage, rng):
    """A node stops and starts while answers of one executor take 2 s: nobody else is late."""
    node = stage.pick(rng)
    assert node.terminate() == 0, f"{node.name} ended badly\n{node.tail()}"
    yield
    node.start(None)
