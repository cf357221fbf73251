# SPDX-License-Identifier: MIT
"""The theatre of the whole run."""
import pytest

from .galera_faults import GALERA_SCENARIOS
from .pair_faults import PAIR_SCENARIOS
from .scenarios import SCENARIOS
from .theatre import make_theatre


@pytest.fixture(scope="session")
def theatre(request, mariadb_template, tmp_path_factory):
    theatre = make_theatre(request, mariadb_template, tmp_path_factory)
    yield theatre
    theatre.end_stage()


def pytest_collection_modifyitems(config, items):
    if config.getoption("--rounds") > 1 or config.getoption("keyword"):
        return
    known = {**SCENARIOS, **GALERA_SCENARIOS, **PAIR_SCENARIOS}
    left_out = [item for item in items if hasattr(item, "callspec")
                and getattr(known.get(item.callspec.params.get("name")), "by_hand", False)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
