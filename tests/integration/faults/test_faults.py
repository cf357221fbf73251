# SPDX-License-Identifier: MIT
"""
Every scenario twice: its rounds, and what the audit says of them. The audits come last, because fires whose node died
need 40 quiet seconds until their end, and one such time is enough for all. Where several workers share the tests
(--dist=loadgroup), three of them play a third of the scenarios each.
"""
import random

import pytest

from . import (  # noqa: F401 they add theirs
    backup_faults, cluster_changes, database_faults, ensemble_faults, everything, job_faults, later_faults,
    link_faults, moving, node_faults, zookeeper_faults,
)
from .everything import choose
from .scenarios import SCENARIOS

pytestmark = pytest.mark.slow(10)


def test_combined_scenarios_need_nothing_around_them():
    """Their rounds are played on a stage where only `everything` has begun."""
    rng = random.Random(1)
    chosen = {scenario.name for _ in range(2000) for scenario in choose(rng)}
    assert len(chosen) > 10, f"only {sorted(chosen)} are ever chosen"
    lacking = [name for name in sorted(chosen) if SCENARIOS[name].around]
    assert not lacking, f"{lacking} miss what they have around them when they are played by themselves"


PARTS = 3
NAMES = [pytest.param(name, marks=pytest.mark.xdist_group(f"faults-{number % PARTS}"))
         for number, name in enumerate(SCENARIOS)]


@pytest.mark.parametrize("name", NAMES)
def test_rounds(name, theatre):
    theatre.play(SCENARIOS[name])


@pytest.mark.parametrize("name", NAMES)
def test_audit(name, theatre):
    theatre.judge(SCENARIOS[name])
