# SPDX-License-Identifier: MIT
"""
What must hold of flow runs that have ended, from the tables and from what executors saw. Which steps must have started
says the evaluator of tests/flow/random_flows.py, which knows docs/flows.md alone.
"""
import collections
import importlib.util
import os
import re

from harness.flows import RUN_STATES, STATES
from harness.node import ROOT

_MARK = re.compile(r"<!--sw:d:[^:]+:\d+:W(\d+)\.(\d+)-->")
_WITH_ITEMS = ("map", "broadcast")
SHOWN = 20


def _load_evaluator():
    spec = importlib.util.spec_from_file_location(
        "random_flows", os.path.join(ROOT, "tests", "flow", "random_flows.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.evaluate


class Audit:
    """`documents` by flow id, `retries` by job id, `arrivals` by log id: moments; `reported`: (moment, code)."""

    def __init__(self, tables, documents, retries, arrivals, reported):
        self.documents, self.retries, self.arrivals, self.reported = documents, retries, arrivals, reported
        self.evaluate = _load_evaluator()
        self.runs = {row["id"]: row for row in tables.rows("SELECT * FROM shardwheel_flow_run")}
        self.steps = collections.defaultdict(dict)
        for row in tables.rows("SELECT * FROM shardwheel_flow_step"):
            self.steps[row["run_id"]][row["step"]] = row
        self.items = collections.defaultdict(list)
        for row in tables.rows("SELECT * FROM shardwheel_flow_item"):
            self.items[row["run_id"], row["step"]].append(row)
        self.rows = {}
        self.fires = collections.defaultdict(list)  # (run, step) -> rows of the log
        for row in tables.rows("SELECT id, job_id, trigger_code, handle_code, trigger_msg, handle_msg FROM xxl_job_log "
                               "WHERE trigger_msg LIKE '<!--sw:d:%'"):
            mark = _MARK.match(row["trigger_msg"])
            if mark:
                self.rows[row["id"]] = row
                self.fires[int(mark[1]), int(mark[2])].append(row)
        self.left = {table: tables.value(f"SELECT COUNT(*) FROM {table}")
                     for table in ("shardwheel_flow_fire", "shardwheel_flow_request")}
        self.lost, self.doubled, self.wrong = [], [], []
        self.unknown = 0  # fires of which nobody knows whether they arrived
        self.step_count = 0

    # One fire

    def _look_at_fires(self):
        for log_id, row in self.rows.items():
            times = self.arrivals.get(log_id, [])
            self.unknown += "delivery unknown" in (row["trigger_msg"] or "")
            if len(times) > 1:
                self.doubled.append(f"row {log_id} arrived {len(times)} times")
            if not times and (row["trigger_code"] == 200 or row["handle_code"] == 200):
                self.lost.append(f"row {log_id} says that it was sent, and no executor has seen it")
            told = self.reported.get(log_id)
            if told and row["handle_code"] not in (told[1], 0 if row["trigger_code"] not in (0, 200) else None):
                self.wrong.append(f"row {log_id} ended with {row['handle_code']}, its executor said {told[1]}")
        for log_id in set(self.arrivals) - set(self.rows):
            self.wrong.append(f"an executor has run {log_id}, which is no try of a flow")

    # One step

    def _tries(self, run_id, step, kind):
        """[(tries, those of them that were lost and sent again)]: one, or one for each item."""
        row = self.steps[run_id].get(step)
        rows = self.items[run_id, step] if kind in _WITH_ITEMS else [row] if row else []
        return [(one["tries"], one["lost"] or 0) for one in rows]

    def _look_at_tries(self, run_id, step, definition):
        rows = self.fires.get((run_id, step), [])
        tries = self._tries(run_id, step, definition["type"])
        where = f"run {run_id}, step {definition['name']}"
        count = sum(n for n, _ in tries)
        if len(rows) > count:
            self.doubled.append(f"{where}: {count} tries, and {len(rows)} rows in the log")
        elif len(rows) < count:
            self.lost.append(f"{where}: {count} tries, and {len(rows)} rows in the log")
        most = self.retries.get(definition.get("jobId"), 0) + 1
        if any(n - lost > most for n, lost in tries):
            self.doubled.append(f"{where}: {max(tries)} tries, {most} are allowed")
        for one in [self.steps[run_id].get(step), *self.items[run_id, step]]:
            if one and one["log_id"] and one["log_id"] not in self.rows:
                self.wrong.append(f"{where}: its row {one['log_id']} is not in the log")

    def _is_good(self, state, log_id):
        """Of a try that was the last one. A report that came too late may be on either side."""
        row = self.rows.get(log_id)
        if not row:
            return False
        if row["trigger_code"] not in (0, 200):
            return STATES[state] == "succeeded" and row["handle_code"] == 200
        return row["handle_code"] == 200

    def _end(self, run_id, step, definition):
        """How the step has ended, without what its state says of it."""
        row = self.steps[run_id].get(step)
        if row is None or definition["type"] == "wait":
            return {"good": True, "result": None}
        if definition["type"] == "flow":
            child = self.runs.get(row["child_run"])
            return {"good": child is not None and RUN_STATES[child["state"]] == "succeeded", "result": None}
        if definition["type"] in _WITH_ITEMS:
            items = self.items[run_id, step]
            good = all(self._is_good(item["state"], item["log_id"]) for item in items)
            return {"good": good and len(items) == row["items"], "result": row["result"]}
        last = self.rows.get(row["log_id"], {"handle_code": 0, "handle_msg": None})
        return {"good": self._is_good(row["state"], row["log_id"]),
                "result": last["handle_msg"] if last["handle_code"] else None}

    # One run

    def _look_at_order(self, run_id, document, numbers):
        """No step began before the ends of all that it joins were told."""
        for definition in document["steps"]:
            begun = [at for row in self.fires.get((run_id, numbers[definition["name"]]), [])
                     for at in self.arrivals.get(row["id"], [])]
            if not begun or definition.get("join") == "any":
                continue
            for edge in document["edges"]:
                if edge["to"] != definition["name"]:
                    continue
                ends = [self.reported[row["id"]][0] for row in self.fires.get((run_id, numbers[edge["from"]]), [])
                        if row["id"] in self.reported and row["trigger_code"] in (0, 200)]
                if ends and max(ends) > min(begun):
                    self.wrong.append(f"run {run_id}: {edge['to']} began before {edge['from']} had ended")

    def _look_at_run(self, run_id, run):
        document = self.documents[run["flow_id"]]
        numbers = {definition["name"]: i for i, definition in enumerate(document["steps"])}
        if run["ended_ms"] is None:
            self.lost.append(f"run {run_id} has not ended: state {RUN_STATES[run['state']]}")
            return
        ends = {}
        for definition in document["steps"]:
            step = numbers[definition["name"]]
            self._look_at_tries(run_id, step, definition)
            ends[definition["name"]] = self._end(run_id, step, definition)
        finals, outcome = self.evaluate(document, ends)
        words = {"S": "succeeded", "F": "failed", "K": "skipped"}
        for name, letter in finals.items():
            row = self.steps[run_id].get(numbers[name])
            state = STATES[row["state"]] if row else "waiting"
            self.step_count += letter != "K"
            if letter != "K" and state in ("waiting", "skipped"):
                self.lost.append(f"run {run_id}: step {name} must have run, and is {state}")
            elif state != words[letter]:
                self.wrong.append(f"run {run_id}: step {name} is {state}, and not {words[letter]}")
        if RUN_STATES[run["state"]] != {"good": "succeeded", "bad": "failed"}[outcome]:
            self.wrong.append(f"run {run_id} is {RUN_STATES[run['state']]}, and not {outcome}")
        self._look_at_order(run_id, document, numbers)

    def look(self):
        self._look_at_fires()
        for run_id, run in self.runs.items():
            self._look_at_run(run_id, run)
        for (run_id, step), rows in self.fires.items():
            if run_id not in self.runs or step not in self.steps[run_id]:
                self.doubled.append(f"run {run_id} has {len(rows)} fires of step {step}, which has not begun")
        children = collections.Counter(run["parent_run"] for run in self.runs.values() if run["parent_run"])
        for run_id, count in children.items():
            if count > 1:
                self.doubled.append(f"run {run_id} has {count} runs of one step")
        self.wrong += [f"{count} rows are left in {table}" for table, count in self.left.items() if count]
        return self

    def summary(self):
        found = [*self.lost, *self.doubled, *self.wrong]
        return "\n".join([
            f"{len(self.runs):,} runs, {self.step_count:,} steps, {len(self.rows):,} fires: lost {len(self.lost)}, "
            f"doubled {len(self.doubled)}, wrong {len(self.wrong)}; {self.unknown} of unknown delivery",
            *found[:SHOWN]])
