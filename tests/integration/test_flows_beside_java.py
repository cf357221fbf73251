# SPDX-License-Identifier: MIT
"""A Java admin takes over while flow runs are open, and gives back: runs stand still meanwhile, and go on."""
import time

import pytest

from harness.flows import Flows
from harness.java_admin import JavaAdmin
from harness.process import wait_until

HELD = "shardwheel_java_guard_held"


def wait_guard(node):
    wait_until(lambda: node.metrics()[HELD] == 1, 60, f"{node.name} to hold the guard\n{node.tail(20)}")


def seen(flows):
    """All that flows have written."""
    tables = ("flow", "flow_run", "flow_step", "flow_item", "flow_fire")
    return [flows.tables.rows(f"SELECT * FROM shardwheel_{table} ORDER BY 1, 2") for table in tables] + [
        flows.tables.rows("SELECT l.id, l.trigger_code, l.handle_code FROM xxl_job_log l JOIN xxl_job_info j ON j.id = "
                          "l.job_id WHERE j.trigger_status = 0 ORDER BY l.id")]


@pytest.mark.parametrize("version", ["2.4.2", "3.3.2"])
@pytest.mark.parametrize("leave", ["terminate", "kill"])
def test_runs_stand_still_while_java_plans(make_world, mariadb, version, leave):
    world = make_world(mariadb)
    flows = Flows(world)
    node = flows.node
    jobs = [flows.add_job(f"step{i}") for i in range(3)]
    often = flows.add_job("often")
    javas = world.tables.add_job(flows.group, "javas", cron="* * * * * ?")
    flow = flows.add("line", steps=[{"name": f"s{i}", "type": "job", "jobId": job} for i, job in enumerate(jobs)] +
                     [{"name": "pause", "type": "wait", "seconds": 1}],
                     edges=[{"from": "s0", "to": "s1"}, {"from": "s1", "to": "s2"}, {"from": "s0", "to": "pause"}])
    flows.add("every-second", next_s=int(time.time()) + 3600, schedule={"every": 3600},
              steps=[{"name": "a", "type": "job", "jobId": often}])
    wait_guard(node)
    java = JavaAdmin(world, version).start()
    run = flows.start(flow)
    flows.executor.wait_runs(jobs[0])

    for step in range(2):
        # Ours is gone while a step runs: the Java admin plans its jobs, and knows no flow.
        getattr(node, leave)()
        if step == 0:  # its schedule is due meanwhile
            world.tables.execute("UPDATE shardwheel_flow SET next_s = %s WHERE name = 'every-second'",
                                 (int(time.time()) + 1,))
        before = seen(flows)
        java.wait_rounds(3, 120)
        fired = len(java.fires(javas))
        wait_until(lambda: len(java.fires(javas)) > fired + 2, 60, "the Java admin to fire")
        assert seen(flows) == before

        # It comes back: the step's end is taken in, and the next one starts.
        node.start(60)
        wait_guard(node)
        flows.answer(node, jobs[step])
        flows.executor.wait_runs(jobs[step + 1], seconds=60)
    flows.answer(node, jobs[2])
    assert flows.wait_end(run, 60) == "succeeded"
    assert flows.states(run) == ["succeeded"] * 4
    for job in jobs + [often]:
        flows.executor.wait_runs(job, seconds=60)
        assert len(flows.executor.runs(job)) == 1
        assert len(world.tables.logs(job)) == 1
    assert {fire.job for fire in java.fires()} == {javas}
