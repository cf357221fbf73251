# SPDX-License-Identifier: MIT
"""Nodes that die with later rows: triggers for a time, and retries that wait."""
import time

from harness.executors import Reply
from harness.process import wait_until

from .scenarios import fault

ROWS = 300       # of each round, over the next seconds
SECONDS = 10
ENDED_S = 150    # what a dead node had in flight ends 40 s after its takeover, and its retry comes after that
COLUMNS = ("INSERT INTO shardwheel_later (planned, due_s, job_id, kind, param, addresses, retries_left, generation,"
           " original_due_s) VALUES (0, %s, %s, 'M', %s, %s, %s, 0, %s)")


class LaterRows:
    """Stopped jobs whose only fires are triggers; those of the second kind fail, and are retried once, later."""

    def __init__(self, stage):
        tables = stage.world.tables
        self.stage = stage
        self.tables = tables
        self.executor = stage.world.executor()
        self.executor.replies["fails"] = Reply({"code": 500, "msg": "no"})
        nowhere = tables.add_group("nowhere", [])  # they go where their rows say
        group = stage.world.group(self.executor, app_name="later")
        stopped = {"trigger_status": 0, "trigger_next_time": 0}
        self.plain = [tables.add_job(nowhere, "plain", **stopped) for _ in range(8)]
        self.failing = [tables.add_job(group, "fails", **stopped) for _ in range(8)]
        for job in self.failing:
            tables.execute("INSERT INTO shardwheel_job (job_id, retry_wait_s) VALUES (%s, 3)", (job,))
        self.written = 0

    def write(self):
        now = int(time.time())
        rows = []
        for n in range(ROWS):
            due = now - 2 + n * SECONDS // ROWS
            jobs, retries = (self.failing, 1) if n % 3 == 0 else (self.plain, 0)
            address = self.executor.address if n % 3 else None
            rows.append((due, jobs[n % 8], f"p{self.written + n}", address, retries, due))
        with self.tables.connection.cursor() as cursor:
            cursor.executemany(COLUMNS, rows)
        self.written += ROWS

    def _is_over(self):
        left = self.tables.value("SELECT COUNT(*) FROM shardwheel_later")
        jobs = ",".join(map(str, self.failing))
        unretried = self.tables.value(
            f"SELECT COUNT(*) FROM xxl_job_log WHERE job_id IN ({jobs}) AND executor_fail_retry_count = 1"
            " AND alarm_status = 0")
        assert not left and not unretried, f"{left} later rows are left, {unretried} failures not dealt with"
        return True

    def audit(self):
        """Each row once: 0 lost, 0 doubled."""
        wait_until(self._is_over, ENDED_S, "the end of all later rows")
        wait_until(lambda: self.tables.value("SELECT COUNT(*) FROM shardwheel_later") == 0, 30, "their end")
        arrived = {}
        for run in self.executor.runs():
            arrived[run.logId] = arrived.get(run.logId, 0) + 1
        doubled = [log_id for log_id, count in arrived.items() if count > 1]
        assert not doubled, f"doubled: logs {doubled[:20]}"
        jobs = ",".join(map(str, self.plain + self.failing))
        logs = self.tables.rows(
            f"SELECT id, job_id, executor_param p, trigger_code, trigger_msg FROM xxl_job_log WHERE job_id IN ({jobs})")
        lost = [row["id"] for row in logs if row["id"] not in arrived and "delivery unknown" not in row["trigger_msg"]]
        assert not lost, f"lost: logs {lost[:20]}"
        tries = {}
        for row in logs:
            tries[row["p"]] = tries.get(row["p"], 0) + 1
        wrong = {f"p{n}": tries.get(f"p{n}", 0) for n in range(self.written)
                 if tries.get(f"p{n}", 0) != (2 if n % ROWS % 3 == 0 else 1)}
        # The executor calls nobody back; the stage waits for the end of all that was planned.
        self.tables.execute(f"UPDATE xxl_job_log SET handle_code = 200 WHERE job_id IN ({jobs}) AND trigger_code = 200")
        assert not wrong, f"of {self.written} rows these have another number of log rows: {list(wrong.items())[:20]}"


def later_rows(stage, rng):
    rows = stage.later = LaterRows(stage)
    yield
    stage.wait_whole()
    rows.audit()


@fault(hurts="node", seconds=(0.5, 8), leaves_unknown=True, around=later_rows)
def node_killed_with_later_rows(stage, rng):
    """kill -9 while triggers go out and retries wait; each of them happens once."""
    stage.later.write()
    stage.pass_time(rng.uniform(0, 6))
    node = stage.pick(rng)
    node.kill()
    yield
    node.start(None)
