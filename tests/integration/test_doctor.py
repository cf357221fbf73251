# SPDX-License-Identifier: MIT
"""shardwheelctl doctor on a set-up that is well, and on that one broken in one place at a time."""
import shutil

import pytest

from harness import databases
from harness.doctor import examine
from harness.node import options, run_shardwheel
from harness.process import free_ports


@pytest.fixture(scope="module")
def server(mariadb_template):
    """A server that keeps every commit, as those in production should."""
    server = databases.start_mariadb(mariadb_template, ["--innodb-flush-log-at-trx-commit=1"])
    yield server
    server.stop()
    shutil.rmtree(server.folder)


@pytest.fixture(scope="module")
def well(server, make_module_world, zookeeper):
    """A world with one node, which every test leaves as well as it found it."""
    world = make_module_world(server, zookeeper=zookeeper)
    world.node()
    world.tables.wait_owners([8])
    return world


@pytest.mark.asan
def test_a_set_up_that_is_well(well):
    seen = examine(well)
    assert seen.above("note") == []
    assert seen.status == 0 and not seen.answer["leftOut"]
    assert {f["code"] for f in seen.findings} >= {"database", "tables"}

    text = run_shardwheel(["ctl", "doctor", *options(well.keys())])
    assert text.returncode == 0 and not text.stderr
    assert "checks were fine; --verbose lists them." in text.stdout and "can be reached" not in text.stdout
    text = run_shardwheel(["ctl", "doctor", "--verbose", *options(well.keys())])
    assert "The database can be reached." in text.stdout


@pytest.mark.asan
def test_a_database_that_is_away_and_settings_that_are_wrong(well, server):
    """It answers within its time, says what it could not look at, and never ends with a status of another meaning."""
    url = server.jdbc_url(well.tables.database, port=free_ports())
    seen = examine(well, keys={"spring.datasource.url": url})
    assert seen.find("database_unreachable")[0]["level"] == "critical" and seen.status == 2
    assert "tables" in seen.answer["leftOut"]

    wrong = run_shardwheel(["ctl", "doctor", "--no.such.key"])
    assert wrong.returncode == 3 and "usage" in wrong.stderr
    wrong = run_shardwheel(["ctl", "doctor", "--json"])
    assert wrong.returncode == 3 and "spring.datasource.url" in wrong.stderr
