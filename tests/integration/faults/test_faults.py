# SPDX-License-Identifier: MIT
"""
Every scenario twice: its rounds, and what the audit says of them. The audits come last, because fires whose node died
need 40 quiet seconds until their end, and one such time is enough for all.
"""
import pytest

from . import (  # noqa: F401 they add theirs
    cluster_changes, database_faults, ensemble_faults, everything, job_faults, later_faults, link_faults, moving,
    node_faults, zookeeper_faults,
)
from .scenarios import SCENARIOS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", SCENARIOS)
def test_rounds(name, theatre):
    theatre.play(SCENARIOS[name])


@pytest.mark.parametrize("name", SCENARIOS)
def test_audit(name, theatre):
    theatre.judge(SCENARIOS[name])
