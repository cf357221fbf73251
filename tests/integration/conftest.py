# SPDX-License-Identifier: MIT
"""Servers for the whole run, worlds for a test or a module, logs in the report of a failure, and who runs what."""
import collections
import json
import os
import shutil
import time

import pytest

from harness import databases, durations, node
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


_LINES_BEFORE = pytest.StashKey[int]()


def _result_lines(config):
    """Of the fault suite, from whichever processes."""
    try:
        with open(config.getoption("--faults-json"), encoding="utf-8") as file:
            return file.readlines()
    except FileNotFoundError:
        return []


def pytest_configure(config):
    config.stash[_LINES_BEFORE] = len(_result_lines(config))
    node.set_build(config.getoption("--build"))
    databases.set_home(config.getoption("--database"))
    os.environ["TZ"] = "UTC"
    time.tzset()


# Modules whose servers are cheap beside what their tests take together: so many workers share the tests.
_PARTS = {"test_executor_matrix": 10, "test_ensemble": 4}


def _group(item, numbers):
    """The name of what goes to one worker; None for a test that has nothing in common with others."""
    mark = item.get_closest_marker("xdist_group")
    if mark:
        return mark.args[0]
    fixtures = (fixture for named in item._fixtureinfo.name2fixturedefs.values() for fixture in named[-1:])
    if not any(fixture.scope == "module" and not fixture.argname.startswith("_") for fixture in fixtures):
        return None
    module = item.module.__name__
    number = numbers[module] = numbers[module] + 1
    return f"{module}-{number % _PARTS.get(module, 1)}"


def _seconds(item, known):
    """As the table says; where it does not, a guess that is good enough to put the longest first."""
    mark = item.get_closest_marker("slow")
    guess = 1 if mark is None else mark.args[0] if mark.args else 30
    return known.get(durations.key(item.module.__name__, item.name), guess)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """With --dist=loadgroup tests that share servers of their module stay together, and what takes longest is first."""
    if not getattr(config.option, "loadgroup", False):
        return
    groups, numbers, total, known = {}, collections.Counter(), collections.Counter(), durations.read()
    for item in items:
        groups[item] = _group(item, numbers)
        if groups[item] and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(groups[item]))
        total[groups[item] or item] += _seconds(item, known)
    items.sort(key=lambda item: -total[groups[item] or item])


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


def pytest_terminal_summary(terminalreporter, config):
    results = [json.loads(line) for line in _result_lines(config)[config.stash[_LINES_BEFORE]:]]
    if results:
        from faults.theatre import table

        terminalreporter.section("faults")
        terminalreporter.write_line(f"seed {config.getoption('--seed')}, lines in {config.getoption('--faults-json')}")
        terminalreporter.write_line(table(results))


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
