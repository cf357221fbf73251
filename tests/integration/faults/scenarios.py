# SPDX-License-Identifier: MIT
"""
What a scenario is, and the table of all.

A fault is a generator over a stage: what stands before its `yield` does the harm, what stands behind it mends it, and
is run in any case. The suite runs it round after round, at random moments, for a random length, and afterwards waits
until the cluster is whole again. So a new scenario is a few lines:

    @fault(hurts="node", seconds=(0.5, 7), leaves_unknown=True)
    def node_killed(stage, rng):
        '''kill -9, and started again'''
        node = stage.pick(rng)
        node.kill()
        yield
        node.start(None)

All randomness comes from `rng`, so that --seed repeats it. What the issue of a fault promises in numbers is measured
with `stage.measure(name, seconds, at_most)`.
"""
import contextlib
import dataclasses

SCENARIOS = {}


@dataclasses.dataclass
class Scenario:
    name: str
    harm: object            # generator function (stage, rng)
    hurts: str              # what of the cluster: faults of one round must not hurt the same server
    seconds: tuple          # shortest and longest time between the harm and its mending
    leaves_unknown: bool    # fires may end as "delivery unknown": only where a node dies with fires in flight
    may_be_early: bool      # fires may come before their second: where a clock is ahead
    alone: bool             # not to be combined with others in one round: what it has around it is not there then
    around: object          # context manager (stage, rng) around all rounds, or None
    by_hand: bool           # not in a run of one round each: it takes long, and other tests do much the same
    rounds_factor: int      # rounds for each one that is asked for

    @contextlib.contextmanager
    def at_work(self, stage, rng):
        """The harm, and at the end its mending, whatever happened in between."""
        work = self.harm(stage, rng)
        next(work)
        try:
            yield
        except BaseException:
            stage.combined = True  # nothing was promised for a round that was broken off
            raise
        finally:
            assert next(work, self) is self, f"{self.name} yields more than once"


def fault(*, hurts, seconds, leaves_unknown=False, may_be_early=False, alone=False, around=None, by_hand=False,
          rounds_factor=1, table=SCENARIOS):
    """Adds a scenario, named as its function. One that needs something around its rounds is alone."""

    def add(harm):
        assert harm.__name__ not in table, f"there are two scenarios {harm.__name__}"
        table[harm.__name__] = Scenario(
            harm.__name__, harm, hurts, seconds, leaves_unknown, may_be_early,
            alone or around is not None, contextlib.contextmanager(around) if around else None, by_hand, rounds_factor,
        )
        return harm

    return add
