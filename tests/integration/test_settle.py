# SPDX-License-Identifier: MIT
"""Fires that were in the hands of nodes that died: all of them get an end, however long ago they were due."""
import threading
import time

import pytest

from harness.executors import Reply
from harness.jobs import OPEN
from harness.process import wait_until

UNKNOWN = "trigger_code = 500 AND trigger_msg LIKE '%delivery unknown%'"


def let_minutes_pass(tables, minutes):
    """What nodes have left in the database looks as if they had been down for so long."""
    tables.execute("UPDATE shardwheel_cursor SET cursor_s = cursor_s - %s", (minutes * 60,))
    tables.execute("UPDATE shardwheel_takeover SET cursor_s = cursor_s - %s, taken_ms = taken_ms - %s",
                   (minutes * 60, minutes * 60000))
    for row in tables.rows(f"SELECT id, trigger_msg FROM xxl_job_log WHERE {OPEN} AND trigger_msg LIKE '<!--sw:p:%'"):
        head, due, tail = (row["trigger_msg"].partition("sw:p:")[0],
                           *row["trigger_msg"].partition("sw:p:")[2].split(":", 1))
        tables.execute("UPDATE xxl_job_log SET trigger_time = trigger_time - INTERVAL %s MINUTE, trigger_msg = %s "
                       "WHERE id = %s",
                       (minutes, f"{head}sw:p:{int(due) - minutes * 60}:{tail}", row["id"]))


@pytest.mark.slow
def test_rows_that_a_jump_of_the_cursor_passed_are_ended(world):
    tables = world.tables
    executor = world.executor()
    hold = threading.Event()
    executor.replies = {"heldHandler": Reply(until=hold)}
    group = world.group(executor)
    a = world.node("node-a")
    jobs = [tables.add_single_fire(group, 5, "heldHandler")[0] for _ in range(50)]
    wait_until(lambda: len(tables.open_rows()) == len(jobs), 10, "all fires to be planned")
    a.kill()
    let_minutes_pass(tables, 20)

    # The second node loads them, jumps to the present with them, and dies while they are on their way.
    b = world.node("node-b")
    lowest = "SELECT MIN(cursor_s) FROM shardwheel_cursor"
    wait_until(lambda: executor.runs() and tables.value(lowest) > time.time() - 60, 20, "all cursors to jump")
    b.kill()
    hold.set()
    left = set(tables.open_rows(0, int(time.time()) - 15 * 60))
    assert len(left) == len(jobs), "their results are written already: they were not on their way"

    world.node("node-c")
    wait_until(lambda: not tables.open_rows(), 75, "every row to have its end")
    assert set(row["id"] for row in tables.rows(f"SELECT id FROM xxl_job_log WHERE {UNKNOWN}")) == left
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM shardwheel_takeover") == 0, 60, "the notes to be gone")


@pytest.mark.slow(80)
def test_row_that_nothing_covers_is_ended_by_the_failure_monitor(world):
    tables = world.tables
    world.node("node-a")
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM shardwheel_takeover") == 8, 15, "all takeovers")
    # Settled, as far as anybody can tell; and then there is a row from long before, of a node that nobody remembers.
    tables.execute("DELETE FROM shardwheel_takeover")
    due = int(time.time()) - 30 * 60
    old = tables.add_log(job_id=5, trigger_code=0, trigger_msg=f"<!--sw:p:{due}:0-->",
                         trigger_time=time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(due)))

    wait_until(lambda: tables.log(old)["trigger_code"] != 0, 120, "the row to have its end")
    assert tables.log(old)["trigger_code"] == 500
    assert tables.log(old)["trigger_msg"].startswith(f"<!--sw:p:{due}:0-->delivery unknown")
