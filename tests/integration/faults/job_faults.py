# SPDX-License-Identifier: MIT
"""Nodes that die while people start, stop and edit jobs."""
import random

from harness.job_changes import JobChanges

from .scenarios import fault

JOBS = 8


def job_changes(stage, rng):
    changes = stage.job_changes = JobChanges(stage.world, lambda: stage.nodes, JOBS, random.Random(rng.random()))
    changes.begin(pause_s=1)
    yield
    changes.end()
    stage.wait_whole()
    changes.wait_over()
    print("job changes:", changes.audit())


@fault(hurts="node", seconds=(3, 9), leaves_unknown=True, around=job_changes)
def node_killed_while_jobs_change(stage, rng):
    """kill -9 while jobs are started, stopped and edited by api/v1: every change holds, no fire is lost or doubled."""
    stage.pass_time(rng.uniform(10, 16))
    node = stage.pick(rng)
    node.kill()
    stage.job_changes.killed()
    yield
    node.start(None)
