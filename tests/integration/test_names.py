# SPDX-License-Identifier: MIT
"""Host names of executors and of the mail server whose look-up hangs."""
import os

import pytest

from harness.process import wait_until
from harness.shim import build_shim

HANGING = 40


@pytest.fixture
def hanging_world(world):
    """What a node needs in its environment is in world.shim."""
    world.shim = {"LD_PRELOAD": build_shim("names_shim", world.folder)}
    return world


def threads(node, name=None):
    found = []
    for task in os.listdir(f"/proc/{node.popen.pid}/task"):
        try:
            with open(f"/proc/{node.popen.pid}/task/{task}/comm", encoding="utf-8") as comm:
                found.append(comm.read().strip())
        except FileNotFoundError:
            pass  # it has ended meanwhile
    return [comm for comm in found if name in (None, comm)]


def test_names_that_hang_cost_a_thread_each_and_hold_up_neither_others_nor_the_stop(hanging_world):
    world = hanging_world
    executor = world.executor()
    port = executor.address.rstrip("/").rpartition(":")[2]
    node = world.node(environment=world.shim)
    before = len(threads(node))
    good_group = world.tables.add_group("good", [f"http://executor.good.test:{port}/"])
    groups = [world.tables.add_group(f"hanging {i}", [f"http://executor-{i}.hang.test:{port}/"])
              for i in range(HANGING)]
    good = world.tables.add_job(good_group)
    hanging = [world.tables.add_job(group) for group in groups]

    for job in hanging:
        # A fire of the group's first second may end with "the group does not exist": groups are read once a second.
        looked_up = "trigger_code = 500 AND trigger_msg LIKE '%%host name could not be looked up in time%%'"
        world.tables.wait_logs(job, looked_up, count=3, seconds=30)
    seen = len(executor.runs(good))
    executor.wait_runs(good, seen + 3)

    assert len(threads(node, "resolver")) == HANGING
    assert len(threads(node)) < before + 2 * HANGING
    assert node.terminate(30) == 0


def test_mail_host_that_hangs_holds_no_stop_up(hanging_world):
    world = hanging_world
    job = world.tables.add_job(world.tables.add_group("g", []), trigger_status=0, alarm_email="a@example.org")
    log = world.tables.add_log(job, trigger_code=500)
    node = world.node(keys={"spring.mail.host": "mail.hang.test", "spring.mail.from": "admin@example.org"},
                      environment=world.shim)
    wait_until(lambda: threads(node, "resolver"), 30, "the look-up of the mail server's name")

    assert node.terminate(30) == 0

    assert world.tables.log(log)["alarm_status"] == -1, "the next node that starts will tell it"
