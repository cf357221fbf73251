# SPDX-License-Identifier: MIT
"""Nodes are hurt while they run flows: at the end every step has started once for each try, and as the rules say."""
import collections
import random

import pytest

from .flow_audit import Audit
from .flow_faults import FLOW_SCENARIOS
from .flow_stage import HANDLERS, FlowStage

pytestmark = pytest.mark.slow(40)


@pytest.fixture(scope="module")
def stage(make_module_world, mariadb, zookeeper, request):
    chance = random.Random(request.config.getoption("--seed"))
    stage = FlowStage(make_module_world(mariadb, zookeeper=zookeeper), chance)
    yield stage
    stage.close()


@pytest.mark.parametrize("name", FLOW_SCENARIOS)
def test_rounds(name, stage, request):
    seed = request.config.getoption("--seed")
    rng = random.Random(f"{seed}/{name}")
    for number in range(request.config.getoption("--rounds")):
        stage.taken.clear()
        stage.pass_time(rng.uniform(0, 1))
        with FLOW_SCENARIOS[name].at_work(stage, rng):
            stage.pass_time(rng.uniform(*FLOW_SCENARIOS[name].seconds))
        stage.wait_whole()
        stage.wait_progress()
        print(f"round {number + 1} of {name}, seed {seed}")


def test_audit(stage, capsys):
    stage.settle()
    arrivals = collections.defaultdict(list)
    reported = {}
    for executor in stage.executors:
        for run in executor.runs():
            arrivals[run.logId].append(run.at_s)
        reported.update(executor.reported)
    retries = {stage.jobs[handler]: count for handler, (_, count) in HANDLERS.items()}
    audit = Audit(stage.tables, stage.documents, retries, arrivals, reported).look()
    with capsys.disabled():
        print(f"\n{audit.summary().splitlines()[0]}")
    assert audit.step_count > 0 and not (audit.lost or audit.doubled or audit.wrong), audit.summary()
