# SPDX-License-Identifier: MIT
"""Flows in the tables, and executors that end their steps."""
import json

from .cluster import TOKEN
from .executors import callback_entry
from .process import wait_until

STATES = ("waiting", "running", "succeeded", "failed", "skipped", "cancelled")
RUN_STATES = ("queued", "running", "succeeded", "failed", "cancelled", "skipped")


class Flows:
    """Flows of a world, whose jobs are all at one scripted executor."""

    def __init__(self, world, keys=None, app_name=None):
        self.world = world
        self.tables = world.tables
        self.executor = world.executor()
        self.group = world.group(self.executor, **({"app_name": app_name} if app_name else {}))
        self.node = world.node(**({"keys": keys} if keys else {}))

    def add_job(self, handler, **columns):
        return self.tables.add_job(self.group, handler, **{"trigger_status": 0, "trigger_next_time": 0, **columns})

    def add(self, name, next_s=None, **members):
        document = json.dumps({"name": name, **members})
        flow = self.tables.insert("shardwheel_flow", {
            "name": name, "started": int(next_s is not None), "version": 1, "next_s": next_s, "changed_ms": 1})
        self.tables.insert("shardwheel_flow_version", {
            "flow_id": flow, "version": 1, "document": document, "at_ms": 1, "who": "test"})
        return flow

    def start(self, flow, parameters=None, **columns):
        return self.tables.insert("shardwheel_flow_run", {
            "flow_id": flow, "version": 1, "state": 1, "kind": "M", "due_s": 1790000000,
            "parameters": json.dumps(parameters) if parameters else None, "depth": 0, "who": "test", "created_ms": 1,
            "look_ms": 0, "late_told": 0, **columns})

    def ask(self, run, action, step=-1, remark=""):
        self.tables.insert("shardwheel_flow_request", {
            "run_id": run, "step": step, "action": action, "who": "test", "remark": remark})
        self.tables.execute("UPDATE shardwheel_flow_run SET look_ms = 0, ended_ms = NULL WHERE id = %s", (run,))

    def report(self, node, log_id, message="done", code=200):
        assert node.post("/api/callback", [callback_entry(log_id, code, message)], TOKEN).code == 200

    def answer(self, node, job_id, message="done", code=200, nth=None):
        """Ends the newest run of the job, or the nth."""
        runs = self.executor.wait_runs(job_id, 1 if nth is None else nth + 1)
        self.report(node, runs[-1 if nth is None else nth].logId, message, code)

    def steps(self, run):
        rows = self.tables.rows("SELECT * FROM shardwheel_flow_step WHERE run_id = %s ORDER BY step", (run,))
        return [{**row, "state": STATES[row["state"]]} for row in rows]

    def states(self, run):
        return [row["state"] for row in self.steps(run)]

    def state(self, run):
        return RUN_STATES[self.tables.value("SELECT state FROM shardwheel_flow_run WHERE id = %s", (run,))]

    def wait_end(self, run, seconds=15):
        def ended():
            self.tables.execute("COMMIT")
            return self.tables.value(
                "SELECT COUNT(*) FROM shardwheel_flow_run WHERE id = %s AND ended_ms IS NOT NULL AND look_ms IS NULL",
                (run,))
        wait_until(ended, seconds, f"the end of flow run {run}: {self.state(run)}, {self.states(run)}")
        return self.state(run)
