# SPDX-License-Identifier: MIT
"""The official Java executors, from registering to the finished log row."""
import pytest

from harness.cluster import TOKEN
from harness.executors import JavaExecutor
from harness.java import java_classpath
from harness.jobs import DONE
from harness.process import wait_until

VERSIONS = ["2.3.1", "2.4.2", "3.0.0", "3.3.2"]


@pytest.fixture(scope="module")
def executors(make_module_world, mariadb, zookeeper):
    """{version: (executor, its group)}, all registered with one node: half of them under either context."""
    world = make_module_world(mariadb, zookeeper=zookeeper)
    groups = {version: world.tables.add_group(f"java-{version}") for version in VERSIONS}
    node = world.node()
    found = {}
    for i, version in enumerate(VERSIONS):
        admin = node.url + ("/xxl-job-admin" if i % 2 else "")
        java = JavaExecutor(world.folder, version, java_classpath(version), [admin], f"java-{version}", TOKEN)
        world.others.append(java)
        found[version] = (java.start(), groups[version])
    for java, group in found.values():
        wait_until(
            lambda: world.tables.value("SELECT address_list FROM xxl_job_group WHERE id = %s",
                                       (group,)) == java.address,
            45, f"{java.name} to be in the address list of its group",
        )
    return world, found


@pytest.mark.asan
@pytest.mark.parametrize("version", VERSIONS)
def test_bean_job_runs_end_to_end(executors, version):
    world, found = executors
    java, group = found[version]
    job, _ = world.tables.add_single_fire(group, 2, executor_param="größer & 'kleiner' 😀")

    row = world.tables.wait_logs(job, DONE)[0]

    assert row["handle_msg"] == "param=größer & 'kleiner' 😀 shard=0/1"
    assert row["executor_address"] == java.address
    assert row["executor_handler"] == "demoJobHandler"
    assert row["handle_time"] >= row["trigger_time"]
    assert len(world.tables.logs(job)) == 1


@pytest.mark.parametrize("version", ["2.4.2", "3.3.2"])
def test_failing_job_ends_as_failed_with_its_stack_trace(executors, version):
    world, found = executors
    job, _ = world.tables.add_single_fire(found[version][1], 2, "failingJobHandler")

    row = world.tables.wait_logs(job, "trigger_code <> 0 AND handle_code <> 0")[0]

    assert (row["trigger_code"], row["handle_code"]) == (200, 500)
    assert "failing on purpose <&> 😀" in row["handle_msg"]


@pytest.mark.parametrize("version", ["2.4.2", "3.3.2"])
def test_unknown_handler_is_refused(executors, version):
    world, found = executors
    job, _ = world.tables.add_single_fire(found[version][1], 2, "noSuchHandler")

    row = world.tables.wait_logs(job, "trigger_code <> 0")[0]

    assert (row["trigger_code"], row["handle_code"]) == (500, 0)
    assert "job handler [noSuchHandler] not found." in row["trigger_msg"]


@pytest.mark.parametrize("version", ["2.4.2", "3.3.2"])
def test_job_that_takes_its_time_is_finished_later(executors, version):
    world, found = executors
    job, _ = world.tables.add_single_fire(found[version][1], 2, "sleepingJobHandler", executor_param="1500")

    running = world.tables.wait_logs(job, "trigger_code = 200")[0]
    assert running["handle_code"] == 0
    row = world.tables.wait_logs(job, DONE)[0]

    assert row["handle_msg"] == "slept 1500 ms"


def test_executor_that_stops_leaves_the_address_list(executors):
    world, found = executors
    java, group = found["2.3.1"]

    java.terminate()

    assert wait_until(
        lambda: world.tables.rows(
            "SELECT address_list FROM xxl_job_group WHERE id = %s AND address_list IS NULL", (group,)),
        45, "the address list to be empty",
    )
    assert not world.tables.rows("SELECT * FROM xxl_job_registry WHERE registry_value = %s", (java.address,))
