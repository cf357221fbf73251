# SPDX-License-Identifier: MIT
"""One node without ZooKeeper: with its own private database, and beside another on the same database."""
import os
import shutil
import stat
import subprocess
import sys
import tempfile

import pymysql
import pytest

from harness.executors import ScriptedExecutor
from harness.jobs import JobTables
from harness.node import Node, options, run_shardwheel
from harness.process import free_ports, wait_until


class OwnDatabase:
    """Stands for the server that `shardwheel standalone` keeps in its folder."""

    def __init__(self, data):
        self.socket = os.path.join(data, "mysql.sock")

    def connect(self, database):
        return pymysql.connect(
            unix_socket=self.socket, user="root", database=database, autocommit=True,
            cursorclass=pymysql.cursors.DictCursor
        )

    def create_database(self):
        return "xxl_job"


def database_pids(data):
    """The servers that work in that folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as text:
                words = text.read().decode().split("\0")
        except OSError:
            continue
        if "mariadbd" in words[0] and any(str(data) in word for word in words):
            found.append(int(pid))
    return found


@pytest.fixture
def standalone(tmp_path):
    data = str(tmp_path / "data")
    node = Node("alone", str(tmp_path), {}, ["standalone", "--data", data])
    executor = ScriptedExecutor()
    yield node, data, executor
    executor.close()
    node.end_cleanly()
    node.check_sanitizers()


@pytest.mark.asan
def test_brings_its_database_and_finds_it_again(standalone):
    node, data, executor = standalone

    node.start(40)
    tables = JobTables(OwnDatabase(data), create=False)
    job = tables.add_job(tables.add_group("scripted", [executor.address]))
    executor.wait_runs(job, 2)
    tables.wait_logs(job, "trigger_code = 200", 2)
    assert len(database_pids(data)) == 1
    assert node.terminate() == 0
    wait_until(lambda: database_pids(data) == [], 20, "the database server to be gone")
    seen = len(executor.runs(job))

    node.start(40)
    executor.wait_runs(job, seen + 2)
    tables = JobTables(OwnDatabase(data), create=False)
    assert len(tables.logs(job)) >= seen


def test_its_database_dies_with_it_and_recovers(standalone):
    node, data, executor = standalone
    node.start(40)
    tables = JobTables(OwnDatabase(data), create=False)
    job = tables.add_job(tables.add_group("scripted", [executor.address]))
    executor.wait_runs(job)

    node.kill()
    wait_until(lambda: database_pids(data) == [], 15, "the database server to be gone")
    seen = len(executor.runs(job))
    node.start(40)

    executor.wait_runs(job, seen + 2)
    ids = [run.logId for run in executor.runs(job)]
    assert len(ids) == len(set(ids))


def test_second_one_on_the_same_folder_is_refused(standalone):
    node, data, _ = standalone
    node.start(40)

    done = run_shardwheel(["standalone", "--data", data, *options({"server.port": free_ports()})])

    assert 0 < done.returncode < 86, done.stderr
    assert data in done.stderr
    assert node.is_healthy()


@pytest.fixture
def open_folder():
    """A folder that everybody can reach and read."""
    folder = tempfile.mkdtemp(prefix="shardwheel-open-", dir="/tmp")
    os.chmod(folder, 0o755)
    yield folder
    shutil.rmtree(folder)


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_open_folder_is_closed_and_its_server_reads_and_writes_no_files(tmp_path, open_folder):
    node = Node("alone", str(tmp_path), {}, ["standalone", "--data", open_folder])
    stolen = tmp_path / "stolen"
    try:
        node.start(40)
        assert mode_of(open_folder) == 0o700
        [server] = database_pids(open_folder)
        assert os.stat(f"/proc/{server}").st_uid != 0
        with OwnDatabase(open_folder).connect("xxl_job") as connection, connection.cursor() as cursor:
            cursor.execute("SELECT LOAD_FILE('/etc/passwd') AS text")
            assert cursor.fetchone()["text"] is None
            with pytest.raises(pymysql.err.OperationalError, match="secure-file-priv"):
                cursor.execute(f"SELECT 'x' INTO OUTFILE '{stolen}'")
        if os.geteuid() == 0:  # as any other local user
            code = f"import socket; socket.socket(socket.AF_UNIX).connect('{open_folder}/mysql.sock')"
            done = subprocess.run([sys.executable, "-c", code], user=54321, group=54321, extra_groups=[], cwd="/",
                                  stderr=subprocess.PIPE, text=True)
            assert "PermissionError" in done.stderr
    finally:
        node.end_cleanly()
        node.kill()
        wait_until(lambda: database_pids(open_folder) == [], 15, "the database server to be gone")
    node.check_sanitizers()


def test_open_folder_with_other_things_is_refused_and_left_alone(open_folder):
    with open(os.path.join(open_folder, "something"), "w", encoding="utf-8"):
        pass

    done = run_shardwheel(["standalone", "--data", open_folder, *options({"server.port": free_ports()})])

    assert 0 < done.returncode < 86
    assert open_folder in done.stderr and "chmod 700" in done.stderr
    assert mode_of(open_folder) == 0o755
    assert os.listdir(open_folder) == ["something"]


def test_folder_of_an_earlier_version_is_closed_and_its_data_found(standalone):
    """It was made as 0755 by whoever wanted it so, and where the node was root, so were the server and its files."""
    node, data, executor = standalone
    node.start(40)
    group = JobTables(OwnDatabase(data), create=False).add_group("of an earlier version", [executor.address])
    assert node.terminate() == 0
    wait_until(lambda: database_pids(data) == [], 20, "the database server to be gone")
    for folder, _, files in os.walk(data):
        for path in [folder] + [os.path.join(folder, name) for name in files]:
            os.chown(path, os.geteuid(), os.getegid())
    os.chmod(data, 0o755)

    node.start(40)

    assert mode_of(data) == 0o700
    tables = JobTables(OwnDatabase(data), create=False)
    executor.wait_runs(tables.add_job(group))
    assert all(os.stat(f"/proc/{server}").st_uid != 0 for server in database_pids(data))


@pytest.mark.asan
def test_second_node_on_the_same_database_keeps_out(world):
    executor = world.executor()
    first = world.node("first")
    job = world.tables.add_job(world.group(executor))  # behind the start: what is caught up goes out in one second
    executor.wait_runs(job)

    second = world.node("second", healthy_within=None)
    wait_until(
        lambda: not second.running() or "first" in second.log_text() or "another" in second.log_text(), 20,
        "the second node to say that another one is there",
    )
    executor.wait_runs(job, len(executor.runs(job)) + 4)
    if not second.running():
        assert 0 < second.popen.returncode < 86
    dues = [run.logDateTime for run in executor.runs(job)]
    assert len(dues) == len(set(dues)), f"a second fired twice: {dues}"

    if second.running():  # it waits: the place is free now
        assert first.terminate() == 0
        seen = len(executor.runs(job))
        second.wait_healthy()
        executor.wait_runs(job, seen + 2)
