# SPDX-License-Identifier: MIT
"""The theatre of the whole run, and its table at the end."""
import pytest

from .galera_faults import GALERA_SCENARIOS
from .pair_faults import PAIR_SCENARIOS
from .scenarios import SCENARIOS
from .theatre import Theatre, make_theatre

_THEATRE = pytest.StashKey[Theatre]()


@pytest.fixture(scope="session")
def theatre(request, mariadb_template, tmp_path_factory):
    theatre = make_theatre(request, mariadb_template, tmp_path_factory)
    request.config.stash[_THEATRE] = theatre
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


def pytest_terminal_summary(terminalreporter, config):
    theatre = config.stash.get(_THEATRE, None)
    if theatre and theatre.results:
        terminalreporter.section("faults")
        terminalreporter.write_line(f"seed {theatre.seed}, lines in {theatre.json_path}")
        terminalreporter.write_line(theatre.table())
