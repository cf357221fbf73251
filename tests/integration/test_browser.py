# SPDX-License-Identifier: MIT
"""The console as people use it: real browser, nodes, database, ZooKeeper and executor. The tasks are in web/e2e."""
import pytest

from harness.browser import Stage, run_tasks

pytestmark = pytest.mark.slow


@pytest.fixture
def stage(cluster):
    return Stage(cluster)


def test_tasks_in_zh_cn(stage):
    run_tasks(stage, "zh-CN", ["tasks/"], "zh-CN")
