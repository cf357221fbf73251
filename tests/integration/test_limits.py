# SPDX-License-Identifier: MIT
"""What the tables cannot hold is told, and disturbs nothing else."""
from harness.process import wait_until


def test_parameter_longer_than_the_log_takes(make_world, mariadb):
    """A job table of 3.4 beside a log of 2.3, as half an upgrade leaves them."""
    world = make_world(mariadb, family="2.3")
    tables = world.tables
    tables.execute("ALTER TABLE xxl_job_info MODIFY executor_param TEXT")
    executor = world.executor()
    group = world.group(executor)
    long, _ = tables.add_single_fire(group, 4, "long", executor_param="ü" * 600)
    plain, _ = tables.add_single_fire(group, 4, "plain", executor_param="ü" * 512)
    world.node()

    run, = executor.wait_runs(long)
    executor.wait_runs(plain)

    assert run.executorParams == "ü" * 600, "the executor has all of it"
    row = tables.wait_logs(long, "trigger_code = 200")[0]
    assert row["executor_param"] == "ü" * 512
    assert tables.wait_logs(plain, "trigger_code = 200")[0]["executor_param"] == "ü" * 512


def test_job_id_that_no_row_can_hold(world):
    """Someone has widened the jobs' ids, and not those of the log."""
    tables = world.tables
    executor = world.executor()
    group = world.group(executor)
    tables.execute("ALTER TABLE xxl_job_info MODIFY id BIGINT NOT NULL AUTO_INCREMENT")
    plain = tables.add_job(group, "plain")
    tables.execute("ALTER TABLE xxl_job_info AUTO_INCREMENT = 3000000008")
    huge = tables.add_job(group, "huge")
    assert huge > 2147483647
    neighbours = [tables.add_job(group, "plain", id=number) for number in range(100, 108)]
    node = world.node()

    for job in [plain, *neighbours]:
        executor.wait_runs(job, 3, 20)
    wait_until(lambda: "event=job_id_too_large" in node.log_text(), 10, "a line that names the job")
    assert str(huge) in node.log_text()
    assert not executor.runs(huge)
