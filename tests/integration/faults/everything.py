# SPDX-License-Identifier: MIT
"""Faults of all kinds, two at once now and then."""
import contextlib

from .scenarios import SCENARIOS, fault


def choose(rng):
    """One or two faults that do not hurt the same server; two of nodes find two nodes."""
    known = [s for s in SCENARIOS.values() if not s.alone and s.hurts != "nothing"]
    first = rng.choice(known)
    if rng.random() < 0.4:
        return [first]
    return [first, rng.choice([s for s in known if s.hurts == "node" or s.hurts != first.hurts])]


@fault(hurts="all", seconds=(0, 0), leaves_unknown=True, may_be_early=True, alone=True, rounds_factor=2)
def everything(stage, rng):
    """Any of the other faults, alone or two at once, mended in the opposite order."""
    stage.combined = True
    try:
        with contextlib.ExitStack() as hurt:
            for scenario in choose(rng):
                hurt.enter_context(scenario.at_work(stage, rng))
                stage.pass_time(rng.uniform(*scenario.seconds))
            yield
    finally:
        stage.combined = False
