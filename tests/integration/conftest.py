# SPDX-License-Identifier: MIT
"""Servers for the whole run, worlds for a test or a module, and logs in the report of a failure."""
import os
import shutil
import time

import pytest

from harness import databases, node
from harness.cluster import World
from harness.process import Process
from harness.zookeeper import ZooKeeper


def pytest_addoption(parser):
    parser.addoption("--build", default="release", help="which build to test: a folder of build/, or a path")
    parser.addoption("--database", help="a server in the place of the distribution's MariaDB: its folder, with "
                     "bin/mysqld or bin/mariadbd and share/")
    parser.addoption("--outages", type=int, default=3,
                     help="how often in a row ZooKeeper is away in the test of that name")
    parser.addoption("--rounds", type=int, default=1, help="how often each scenario of the fault suite is repeated")
    parser.addoption("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"),
                     help="of the random timing of the fault suite (it is printed)")
    parser.addoption("--fires", type=int, default=120, help="fires per second of the load of the fault suite")
    parser.addoption("--faults-json", default=os.path.join(node.ROOT, "build", "results", "faults.jsonl"),
                     help="file that each scenario of the fault suite appends its result line to")


def pytest_configure(config):
    node.set_build(config.getoption("--build"))
    databases.set_home(config.getoption("--database"))
    os.environ["TZ"] = "UTC"
    time.tzset()


def pytest_collection_finish(session):
    if not session.config.option.collectonly and not os.access(node.binary(), os.X_OK):
        pytest.exit(f"there is no {node.binary()}: build it first", returncode=3)


def pytest_runtest_setup(item):
    Process.started = [process for process in Process.started if process.running()]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for process in Process.started:
            # Servers that run are rarely to blame, and talkative.
            if isinstance(process, node.Node) or not process.running():
                report.sections.append((f"end of the log of {process.name}", process.tail(150)))


@pytest.fixture(scope="session")
def mariadb_template():
    folder = databases.mariadb_template()
    yield folder
    shutil.rmtree(folder)


def _serve(server):
    yield server
    server.stop()
    shutil.rmtree(server.folder)


@pytest.fixture(scope="session")
def mariadb(mariadb_template):
    yield from _serve(databases.start_mariadb(mariadb_template))


@pytest.fixture
def own_mariadb(mariadb_template):
    """A server that the test may stop and pause."""
    yield from _serve(databases.start_mariadb(mariadb_template))


@pytest.fixture(scope="session")
def mysql8():
    yield from _serve(databases.start_mysql8())


@pytest.fixture(scope="session")
def zookeeper():
    yield from _serve(ZooKeeper().start())


@pytest.fixture
def own_zookeeper():
    """A server that the test may stop and pause."""
    yield from _serve(ZooKeeper().start())


def _make_worlds(folder_of):
    worlds = []

    def make(server, **options):
        world = World(server, folder_of(), **options)
        worlds.append(world)
        return world

    yield make
    problems = []
    for world in worlds:
        try:
            world.close()
        except AssertionError as error:
            problems.append(str(error))
    assert not problems, "\n".join(problems)


@pytest.fixture
def make_world(tmp_path_factory):
    yield from _make_worlds(lambda: tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def make_module_world(tmp_path_factory):
    yield from _make_worlds(lambda: tmp_path_factory.mktemp("world"))


@pytest.fixture
def world(make_world, mariadb):
    """One database on MariaDB; nodes stand alone."""
    return make_world(mariadb)


@pytest.fixture
def cluster(make_world, mariadb, zookeeper):
    """One database on MariaDB; nodes meet through ZooKeeper."""
    return make_world(mariadb, zookeeper=zookeeper)
