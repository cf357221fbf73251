# SPDX-License-Identifier: MIT
"""The theatre of the whole run, and its table at the end."""
import pytest

from .theatre import Theatre

_THEATRE = pytest.StashKey[Theatre]()


@pytest.fixture(scope="session")
def theatre(request, mariadb_template, tmp_path_factory):
    config = request.config
    theatre = Theatre(
        mariadb_template, lambda: tmp_path_factory.mktemp("stage"), config.getoption("--rounds"),
        config.getoption("--seed"), config.getoption("--faults-json"),
    )
    config.stash[_THEATRE] = theatre
    yield theatre
    theatre.end_stage()


def pytest_terminal_summary(terminalreporter, config):
    theatre = config.stash.get(_THEATRE, None)
    if theatre and theatre.results:
        terminalreporter.section("faults")
        terminalreporter.write_line(f"seed {theatre.seed}, lines in {theatre.json_path}")
        terminalreporter.write_line(theatre.table())
