# SPDX-License-Identifier: MIT
"""Faults of nodes that run flows."""
import signal

from harness.previous import previous_release
from harness.process import wait_until

from .flow_stage import WHOLE_S
from .scenarios import fault

FLOW_SCENARIOS = {}
STILL_S = 2


@fault(hurts="node", seconds=(0.5, 5), table=FLOW_SCENARIOS)
def flow_node_killed(stage, rng):
    """kill -9, and started again, sometimes before anybody has noticed."""
    node = stage.pick(rng)
    node.kill()
    yield
    node.start(None)


@fault(hurts="node", seconds=(4, 8), table=FLOW_SCENARIOS)
def flow_database_cut(stage, rng):
    """One node loses the database: connections are reset, hang, or what was sent arrives later."""
    proxy = stage.links[stage.pick(rng).name]
    rng.choice((proxy.cut, proxy.hold, proxy.forget))()
    yield
    proxy.heal()


@fault(hurts="node", seconds=(15, 15), table=FLOW_SCENARIOS)
def flow_node_paused(stage, rng):
    """SIGSTOP until others have its shards, then SIGCONT."""
    node = stage.pick(rng)
    node.pause()
    yield
    node.resume()


@fault(hurts="all", seconds=(0, 1), table=FLOW_SCENARIOS)
def flow_nodes_restarted(stage, rng):
    """One after the other."""
    for node in rng.sample(stage.nodes, len(stage.nodes)):
        assert node.terminate(30) == 0, node.tail()
        node.start()
        stage.wait_whole()
    yield


@fault(hurts="node", seconds=(0, 1), table=FLOW_SCENARIOS)
def flow_node_of_the_release_before(stage, rng):
    """A node that does not know flows comes, and all stand still; when it has gone they go on."""
    program = previous_release()
    node = stage.pick(rng)
    if program is None:  # not in this history
        yield
        return
    present, others = node.command[0], [other for other in stage.nodes if other is not node]
    waited = {other: other.log_text().count("event=flows_wait_for_nodes") for other in others}
    assert node.terminate(30) == 0, node.tail()
    node.command[0] = program
    node.start()
    wait_until(lambda: all(other.log_text().count("event=flows_wait_for_nodes") > waited[other] for other in others),
               WHOLE_S, "the others to wait for it")
    seen = stage.count_tries()
    stage.pass_time(STILL_S)
    assert stage.count_tries() == seen, "flows went on beside a node that does not know them"
    stage.stood_still += 1
    yield
    assert node.terminate(30) == 0, node.tail()
    node.command[0] = present
    node.start(None)
