# SPDX-License-Identifier: MIT
"""The scenarios of a Galera cluster, on a stage of their own: as test_faults.py."""
import pytest

from .galera_faults import GALERA_SCENARIOS, GaleraStage
from .theatre import make_theatre

pytestmark = pytest.mark.slow(15)


@pytest.fixture(scope="module")
def galera_theatre(request, mariadb_template, tmp_path_factory):
    theatre = make_theatre(request, mariadb_template, tmp_path_factory, GaleraStage)
    yield theatre
    theatre.end_stage()


@pytest.mark.parametrize("name", GALERA_SCENARIOS)
def test_rounds(name, galera_theatre):
    galera_theatre.play(GALERA_SCENARIOS[name])


@pytest.mark.parametrize("name", GALERA_SCENARIOS)
def test_audit(name, galera_theatre):
    galera_theatre.judge(GALERA_SCENARIOS[name])
