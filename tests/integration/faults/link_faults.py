# SPDX-License-Identifier: MIT
"""Faults of the network between one node and a server."""
from .scenarios import fault
from .stage import SESSION_TIMEOUT_S


def _hurt(proxy, kind):
    {"reset": proxy.cut, "held up": proxy.hold, "forgotten": proxy.forget, "slow": lambda: proxy.delay(0.4)}[kind]()


@fault(hurts="node", seconds=(0.5, SESSION_TIMEOUT_S + 6))
def zookeeper_link_cut(stage, rng):
    """Reset, held up, or half open: for shorter or longer than the session lasts."""
    proxy = stage.link(stage.pick(rng), "zookeeper")
    _hurt(proxy, rng.choice(("reset", "held up", "forgotten")))
    yield
    proxy.heal()


# Unknown, as for a server that stands still: see database_stopped.
@fault(hurts="node", seconds=(0.5, 9), leaves_unknown=True)
def database_link_cut(stage, rng):
    """Reset, held up (what was on its way is carried out later), half open, or slow."""
    proxy = stage.link(stage.pick(rng), "database")
    _hurt(proxy, rng.choice(("reset", "held up", "forgotten", "slow")))
    yield
    proxy.heal()
