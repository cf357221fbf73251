# SPDX-License-Identifier: MIT
"""What rows say of their triggers: short or in full, in the language of xxl.job.i18n."""
import re

import pytest

from harness.cluster import TOKEN
from harness.executors import Reply, callback_entry
from harness.process import wait_until

HEADING = '<br><br><span style="color:#00c0ef;" > >>>>>>>>>>>%s<<<<<<<<<<< </span><br>'
MARK = re.compile(r"^<!--sw:[pd]:[^>]*-->")


def text_of(row):
    """Without the mark, and the blanks that keep room for the end of the run."""
    return MARK.sub("", row["trigger_msg"]).rstrip(" ")


def fire(world, node_keys, **columns):
    """A job's one fire: the node, the executor, its row once it has a code."""
    tables = world.tables
    executor = world.executor()
    group = world.group(executor)
    node = world.node(keys=node_keys)
    job, _ = tables.add_single_fire(group, 3, "demo", executor_param="a <b>", executor_timeout=7,
                                    executor_fail_retry_count=1, **columns)
    executor.wait_runs(job)
    return node, executor, job, tables.wait_logs(job, "trigger_code <> 0")[0]


@pytest.mark.asan
@pytest.mark.parametrize("i18n, expected", [
    (None, "触发类型: 定时<br>节点: node-a<br>路由策略: FIRST"), ("zh_TC", "觸發類型: 定時<br>節點: node-a<br>路由策略: FIRST"),
    ("en", "trigger type: cron<br>node: node-a<br>route: FIRST"), ("fr", "触发类型: 定时<br>节点: node-a<br>路由策略: FIRST"),
])
def test_short_is_the_default_in_the_language_of_the_original(world, i18n, expected):
    *_, row = fire(world, {"xxl.job.i18n": i18n})

    assert text_of(row) == expected


@pytest.mark.parametrize("charset", ["utf8mb4", "utf8mb3"])
def test_full_text_is_there_before_the_fire_goes_out(make_world, mariadb, charset):
    world = make_world(mariadb, charset=charset)
    tables = world.tables
    ahead = []
    executor = world.executor()
    executor.replies["look"] = Reply(before=lambda request: ahead.append(tables.log(request.logId)["trigger_msg"]))
    group = world.group(executor)
    node = world.node(keys={"xxl.job.i18n": "en", "shardwheel.trigger-msg": "long"})
    job, _ = tables.add_single_fire(group, 3, "look", executor_param="a <b>", executor_timeout=7)

    run, = executor.wait_runs(job)
    node.post("/api/callback", [callback_entry(run.logId, 200, "")], TOKEN)
    row = tables.wait_logs(job, "trigger_code = 200")[0]

    ip = re.search("admin address：([^<]*)<br>", row["trigger_msg"]).group(1)
    assert text_of(row) == (
        f"trigger type：cron<br>admin address：{ip}<br>address type：manual<br>addresses：[{executor.address}]<br>"
        "route：FIRST<br>block strategy：SERIAL_EXECUTION<br>timeout：7<br>retries：0" + HEADING % "trigger run"
        + f"executor address：{executor.address}<br>JobHandler：look<br>parameter：a &lt;b&gt;<br>result：success")
    # Its final size from the beginning: nothing but the room for the end of the run is gone.
    assert len(ahead[0]) - len(row["trigger_msg"]) in (0, 6) and ahead[0].startswith(row["trigger_msg"])


def test_failures_and_retries_in_full(world):
    tables = world.tables
    executor = world.executor()
    executor.replies["flaky"] = Reply({"code": 500, "msg": "no <b>room</b>"})
    empty = tables.add_group("empty", [])
    node = world.node(keys={"xxl.job.i18n": "zh_CN", "shardwheel.trigger-msg": "long"})
    refused, _ = tables.add_single_fire(world.group(executor), 3, "flaky", executor_fail_retry_count=1)
    nobody, _ = tables.add_single_fire(empty, 3, "flaky")

    row = tables.wait_logs(refused, "trigger_code = 500")[0]
    assert text_of(row).endswith(
        f"结果：error, 执行：<br>address：{executor.address}<br>code：500<br>msg：no &lt;b&gt;room&lt;/b&gt;")
    row = tables.wait_logs(nobody, "trigger_code = 500")[0]
    assert "执行器地址：address route fail, " in text_of(row)
    assert text_of(row).endswith("结果：error, Address Router Fail.")

    rows = wait_until(lambda: len(tables.logs(refused)) == 2 and tables.logs(refused), 25, "the retry")
    assert f"失败重试: 日志 {rows[1]['id']}</span>" in rows[0]["trigger_msg"]
    row = wait_until(lambda: tables.log(rows[1]["id"])["trigger_code"] and tables.log(rows[1]["id"]), 10, "its end")
    assert text_of(row).startswith("触发类型：失败重试<br>")
    assert node.metrics()["shardwheel_retries_total"] == 1
