# SPDX-License-Identifier: MIT
"""Faults of the network between one node and a server."""
import time

from .scenarios import fault
from .stage import SESSION_TIMEOUT_S

NOTICED_S = 3  # a silent server is noticed after two thirds of the session timeout


def _hurt(proxy, kind):
    {"reset": proxy.cut, "held up": proxy.hold, "forgotten": proxy.forget, "slow": lambda: proxy.delay(0.4)}[kind]()


@fault(hurts="node", seconds=(0.5, SESSION_TIMEOUT_S + 6))
def zookeeper_link_cut(stage, rng):
    """Reset, held up, or half open: for shorter or longer than the session lasts."""
    node = stage.pick(rng)
    proxy = stage.link(node, "zookeeper")
    _hurt(proxy, rng.choice(("reset", "held up", "forgotten")))
    cut_s = time.time()
    yield
    mended_s = time.time()
    proxy.heal()
    # A node that cannot see the locks must not take back what others have taken over meanwhile.
    taken = [event for event in stage.events(cut_s + NOTICED_S) if event[1:3] == (node.name, "takeover")]
    assert not [at_s for at_s, *_ in taken if at_s < mended_s], f"{node.name} has taken over shards while it was cut off: {taken}"


# Unknown, as for a server that stands still: see database_stopped.
@fault(hurts="node", seconds=(0.5, 9), leaves_unknown=True)
def database_link_cut(stage, rng):
    """Reset, held up (what was on its way is carried out later), half open, or slow."""
    proxy = stage.link(stage.pick(rng), "database")
    _hurt(proxy, rng.choice(("reset", "held up", "forgotten", "slow")))
    yield
    proxy.heal()
