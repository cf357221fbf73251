# SPDX-License-Identifier: MIT
"""Real executors of every generation, through every behaviour that their users rely on: see harness/matrix.py."""
import pytest

from harness import matrix
from harness.builds import JAVA_VERSIONS, go_executor, java_classpath, python_executor
from harness.cluster import TOKEN
from harness.doctor import examine
from harness.executors import GoExecutor, JavaExecutor, PythonExecutor
from harness.process import wait_until

EXECUTORS = [("java", version) for version in JAVA_VERSIONS]
EXECUTORS += [("go", "1.2.0"), ("python", "0.4.8")]
NAMES = [f"{kind}-{version}" for kind, version in EXECUTORS]


@pytest.fixture(scope="module")
def site(make_module_world, mariadb):
    """(world, node, groups by name, the scripted executor of the broadcasts)"""
    world = make_module_world(mariadb)
    scripted = world.executor()
    groups = {name: world.tables.add_group(name) for name in NAMES}
    mixed = {name: world.tables.add_group(f"{name}-b", [scripted.address]) for name in NAMES}
    node = world.node(keys={"xxl.job.timeout": "10"})
    return world, node, groups, mixed, scripted


def start(world, node, kind, version, name):
    admin = node.url + ("/xxl-job-admin" if EXECUTORS.index((kind, version)) % 2 else "")
    if kind == "java":
        process = JavaExecutor(world.folder, version, java_classpath(version), [admin], name, TOKEN)
    elif kind == "go":
        process = GoExecutor(world.folder, go_executor(), admin, name, TOKEN)
    else:
        process = PythonExecutor(world.folder, *python_executor(), admin, name, TOKEN)
    world.others.append(process)
    return process.start()


@pytest.mark.parametrize("kind, version", [
    pytest.param(kind, version, id=f"{kind}-{version}", marks=[pytest.mark.asan] * (version in ("3.3.2", "1.2.0")))
    for kind, version in EXECUTORS
])
@pytest.mark.slow
def test_executor(site, kind, version):
    world, node, groups, mixed, scripted = site
    name = f"{kind}-{version}"
    process = start(world, node, kind, version, name)
    world.tables.execute("UPDATE xxl_job_group SET address_list = %s WHERE id = %s",
                         (f"{scripted.address},{process.address}", mixed[name]))
    wait_until(
        lambda: world.tables.value("SELECT address_list FROM xxl_job_group WHERE id = %s",
                                   (groups[name],)) == process.address,
        45, f"{name} to be in the address list of its group",
    )
    executor = matrix.Executor(world, kind, version, process, groups[name], mixed[name], scripted)

    results = matrix.run(executor, matrix.BEHAVIOURS)

    seen = examine(world, "--ask-executors")
    told = {f["code"] for f in seen.findings if f"{process.address.rstrip('/')} ({name})" in f["what"]}
    old = kind == "java" and version not in ("3.3.2",)
    results["asked by doctor"] = None if told == ({"executor_old"} if old else set() if kind == "java" else
                                                  {"executor_open"}) else f"doctor told {told} of it:\n{seen}"

    wrong = {behaviour: why for behaviour, why in results.items() if why}
    assert not wrong, "\n\n".join(f"{name}, {behaviour}: {why}" for behaviour, why in wrong.items())

    process.terminate()
    wait_until(
        lambda: world.tables.rows("SELECT 1 FROM xxl_job_group WHERE id = %s AND address_list IS NULL",
                                  (groups[name],)),
        45, "the address list to be empty",
    )
    assert not world.tables.rows("SELECT * FROM xxl_job_registry WHERE registry_value = %s", (process.address,))
