# SPDX-License-Identifier: MIT
"""The console as people use it: real browser, nodes, database, ZooKeeper and executor. The tasks are in web/e2e."""
import os
import threading

import pytest

from harness.browser import RESULTS, Stage, run_tasks

pytestmark = pytest.mark.slow(150)

# Two browsers at a time: more of them take the processors from each other and from all other tests.
first = pytest.mark.xdist_group("first browser")
second = pytest.mark.xdist_group("second browser")


@pytest.fixture
def stage(cluster):
    return Stage(cluster)


@first
def test_tasks(stage):
    """Each task in one language; a unit test compares the texts of all languages."""
    run_tasks(stage, "en", ["tasks/"], "tasks")


@first
def test_every_page(stage):
    run_tasks(stage, "en", ["pages/"], "pages")


@second
def test_details(stage):
    run_tasks(stage, "zh-TW", ["details/"], "details")


@second
def test_flows(stage):
    """Each task once, and each language: English for who makes flows, Chinese for who only reads them."""
    run_tasks(stage, "en", ["flows/flows", "flows/edit"], "flows-makers")
    run_tasks(stage, "zh-CN", ["flows/readers"], "flows-readers")


@second
def test_roles_and_people_together(stage):
    out = os.path.join(RESULTS, "others")
    os.makedirs(out, exist_ok=True)
    over = threading.Event()
    restarts = threading.Thread(target=_restart, args=(stage.nodes[0], out, over))
    restarts.start()
    try:
        run_tasks(stage, "zh-CN", ["others/"], "others")
    finally:
        over.set()
        restarts.join()


def _restart(node, out, over):
    """Stops the node when the tasks write `restart`, starts it when they write `start`, and tells them."""
    for name in ("restart", "start", "restarted"):
        if os.path.exists(os.path.join(out, name)):
            os.remove(os.path.join(out, name))
    for name, act in (("restart", node.terminate), ("start", node.start)):
        while not os.path.exists(os.path.join(out, name)):
            if over.wait(0.2):
                return
        act()
    with open(os.path.join(out, "restarted"), "w", encoding="utf-8"):
        pass
    over.wait()  # the node ends with the thread that started it
