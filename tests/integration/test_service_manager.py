# SPDX-License-Identifier: MIT
"""What a node tells the service manager, when its watchdog is fed and when it is not, and the units for systemd."""
import mmap
import os
import re
import signal
import subprocess
import time

import pytest

from harness.node import ROOT
from harness.process import wait_until
from harness.service_manager import ServiceManager
from harness.shim import build_shim

UNITS = os.path.join(ROOT, "packaging", "systemd")
STEP_S = 10  # WATCH_STEP_MS


class StuckThread:
    """Holds one thread of a node by its name."""

    def __init__(self, folder):
        path = os.path.join(folder, "stuck")
        with open(path, "wb") as file:
            file.write(bytes(16))
        with open(path, "r+b") as file:
            self.name = mmap.mmap(file.fileno(), 16)
        self.environment = {"LD_PRELOAD": build_shim("stuck_shim", folder), "STUCK_SHIM_FILE": path}

    def hold(self, name):
        self.name[:] = name.encode().ljust(16, b"\0")

    def let_go(self):
        self.name[:] = bytes(16)


def wait_log(node, text, seconds):
    wait_until(lambda: text in node.log_text(), seconds, f"{node.name} to log {text}")


def test_ready_reload_and_stop(world):
    manager = ServiceManager(world.folder, watchdog_s=3)
    node = world.node(environment=manager.environment())
    manager.wait("READY", "1")  # told behind the first answer over HTTP
    assert manager.values("STATUS")[0] == "starting"
    n = manager.wait("STATUS", "healthy, owns 8 of 8 shards")

    began = time.monotonic()
    node.signal(signal.SIGHUP)
    n = manager.wait("READY", "1", after=n)
    states = [message for _, message in manager.told[:n] if "RELOADING" in message]
    assert len(states) == 1 and int(states[0]["MONOTONIC_USEC"]) > 0
    wait_until(lambda: len(manager.feeds(began)) >= 4, 10, "the watchdog to be fed")
    assert manager.longest_gap(began) < 3

    assert node.terminate(60) == 0
    manager.wait("STOPPING", "1", after=n)
    stopping = [status for status in manager.values("STATUS") if status.startswith("stopping: ")]
    assert [status for status in stopping if "keeping Java admins on standby" not in status] == [
        "stopping: handing over its shards", "stopping: waiting for what is in progress"]
    manager.close()


def test_another_process_s_watchdog_is_left_alone(world):
    manager = ServiceManager(world.folder, watchdog_s=1)
    world.node(environment={**manager.environment(), "WATCHDOG_PID": "1"})
    manager.wait("STATUS", "healthy, owns 8 of 8 shards")
    assert not manager.feeds(0)
    manager.close()


def test_waiting_feeds_the_watchdog_and_hanging_does_not(request, own_mariadb, make_world, mariadb):
    """
    Two nodes at a time: the database of one does not answer, which a restart would not mend; a thread of the other
    hangs. The process of the second lives on: it is the service manager's to end it, as a kill -9 would, which the
    fault suite has.
    """
    waiting, hanging = make_world(own_mariadb), make_world(mariadb)
    manager_w = ServiceManager(waiting.folder, watchdog_s=3)
    manager_h = ServiceManager(hanging.folder, watchdog_s=3)
    thread = StuckThread(hanging.folder)
    node_w = waiting.node(environment=manager_w.environment())
    node_h = hanging.node(environment={**manager_h.environment(), **thread.environment})

    own_mariadb.process.pause()
    request.addfinalizer(own_mariadb.process.resume)  # a server that stands still cannot be stopped
    thread.hold("ring")
    began = time.monotonic()
    wait_log(node_h, "event=stuck thread=ring since_s=1", STEP_S + 10)
    health = node_h.get("/actuator/health")
    assert health.status == 503
    assert re.fullmatch(r"thread ring is stuck: it made no progress for 1\d s",
                        health.json["components"]["schedule"]["reason"])
    assert node_h.metrics()["shardwheel_threads_stuck"] == 1
    silent_since = time.monotonic()
    wait_until(lambda: time.monotonic() - silent_since > 3.5, 5, "the watchdog's time to pass")
    assert not manager_h.feeds(silent_since) and node_h.running()
    manager_h.wait("STATUS", next(s for s in manager_h.values("STATUS") if s.startswith("thread ring is stuck")))

    assert manager_w.longest_gap(began) < 3 and time.monotonic() - began > STEP_S + 3
    assert "event=stuck" not in node_w.log_text()
    assert node_w.get("/actuator/health").status == 503
    own_mariadb.process.resume()
    thread.let_go()
    wait_log(node_h, "event=goes_on thread=ring", 10)
    for node, manager in ((node_h, manager_h), (node_w, manager_w)):
        node.wait_healthy(30)
        wait_until(lambda: manager.feeds(silent_since + 3.5), 10, "the watchdog to be fed again")
        manager.close()


# ---- the units -------------------------------------------------------------------------------------------------------

@pytest.fixture
def units(tmp_path):
    """As they are installed, with a program that is there in the place of ours."""
    for name in ("shardwheel.service", "shardwheel@.service"):
        with open(os.path.join(UNITS, name), encoding="utf-8") as file:
            text = file.read()
        assert "ExecStart=/usr/bin/shardwheel --config" in text
        name = name.replace("@.", "@b.")
        (tmp_path / name).write_text(text.replace("ExecStart=/usr/bin/shardwheel ", "ExecStart=/bin/true "))
    return sorted(str(path) for path in tmp_path.glob("*.service"))


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", "--no-pager", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60)


def test_units_are_correct_and_closed(units):
    assert len(units) == 2
    done = analyze("verify", "--man=no", *units)
    assert done.returncode == 0 and not done.stdout.strip(), done.stdout
    for unit in units:
        done = analyze("security", "--offline=true", "--threshold=20", unit)  # tenths
        assert done.returncode == 0, done.stdout


def test_units_differ_in_what_two_nodes_must_not_share():
    def settings(name):
        with open(os.path.join(UNITS, name), encoding="utf-8") as file:
            return [line.strip() for line in file if "=" in line and not line.startswith("#")]
    one, two = settings("shardwheel.service"), settings("shardwheel@.service")
    assert sorted(line.split("=")[0] for line in set(two) - set(one)) == [
        "Description", "ExecStart", "RuntimeDirectory", "StateDirectory", "WorkingDirectory"]
    assert len(one) == len(two)
