# SPDX-License-Identifier: MIT
"""The scenarios of a pair of servers, on a stage of their own: as test_faults.py."""
import pytest

from .pair_faults import PAIR_SCENARIOS, PairStage
from .theatre import make_theatre

pytestmark = pytest.mark.slow(15)


@pytest.fixture(scope="module")
def pair_theatre(request, mariadb_template, tmp_path_factory):
    theatre = make_theatre(request, mariadb_template, tmp_path_factory, PairStage)
    yield theatre
    theatre.end_stage()


@pytest.mark.parametrize("name", PAIR_SCENARIOS)
def test_rounds(name, pair_theatre):
    pair_theatre.play(PAIR_SCENARIOS[name])


@pytest.mark.parametrize("name", PAIR_SCENARIOS)
def test_audit(name, pair_theatre):
    pair_theatre.judge(PAIR_SCENARIOS[name])
