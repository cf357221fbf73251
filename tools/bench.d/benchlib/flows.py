# SPDX-License-Identifier: MIT
"""Runs of flows beside plain fires: how soon the next step follows the end of the one before, and what it costs."""

import csv
import json
import pathlib
import threading
import time

import pymysql

from benchlib import auditing, dburl, driver, flowmatch, scenario

NEVER = "0 0 0 1 1 ? 2099"
BATCHES_PER_S = 20  # inserts of runs
TABLES = ("shardwheel_flow_fire", "shardwheel_flow_item", "shardwheel_flow_step", "shardwheel_flow_request")


class Flows:
    """A group with one job, and flows of steps that all run it."""

    def __init__(self, url, addresses, token):
        self.connection = dburl.connect(url)
        self.jobs = scenario.Jobs(self.connection)
        self.jobs.create_group(addresses, token, manual=True)
        self.jobs.create_jobs([NEVER], 1, "ROUND")
        self.job_id = self.value("SELECT MAX(id) FROM xxl_job_info WHERE job_group = %s", self.jobs.group_id)
        self.flow_ids = []
        self.created_us = {}  # of runs that were started

    def execute(self, sql, *values):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values)
            return cursor

    def value(self, sql, *values):
        return self.execute(sql, *values).fetchone()[0]

    def add(self, suffix, document):
        name = f"{self.jobs.app_name}-{suffix}"
        flow = self.execute("INSERT INTO shardwheel_flow (name, started, version, changed_ms) VALUES (%s, 0, 1, 1)",
                            name).lastrowid
        self.execute("INSERT INTO shardwheel_flow_version (flow_id, version, document, at_ms, who) VALUES (%s, 1, %s, "
                     "1, 'bench')", flow, json.dumps({"name": name, **document}))
        self.flow_ids.append(flow)
        return flow

    def add_line(self, length):
        names = [f"s{number}" for number in range(length)]
        return self.add("line", {
            "steps": [{"name": name, "type": "job", "jobId": self.job_id, "param": "${run.id}"} for name in names],
            "edges": [{"from": a, "to": b} for a, b in zip(names, names[1:])]})

    def add_map(self, parallel):
        return self.add("map", {
            "parameters": [{"name": "items", "type": "json", "required": True}],
            "steps": [{"name": "each", "type": "map", "jobId": self.job_id, "items": "flow.items",
                       "param": "${index}", "parallel": parallel}], "edges": []})

    def start(self, flow, count, parameters=None):
        """So many runs, in one statement; the id of the first."""
        now_us = time.time_ns() // 1000
        row = (flow, int(now_us / 1e6), parameters, now_us // 1000)
        with self.connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO shardwheel_flow_run (flow_id, version, state, kind, due_s, parameters, depth, who, "
                "created_ms, look_ms, late_told) VALUES "
                + ",".join(["(%s, 1, 1, 'M', %s, %s, 0, 'bench', %s, 0, 0)"] * count), row * count)
            first = cursor.lastrowid
        self.created_us.update(dict.fromkeys(range(first, first + count), now_us))
        return first

    def open_runs(self):
        return self.value("SELECT COUNT(*) FROM shardwheel_flow_run WHERE flow_id IN %s AND ended_ms IS NULL",
                          self.flow_ids)

    def wait_ended(self, most_s, check):
        end = time.monotonic() + most_s
        while (count := self.open_runs()) and time.monotonic() < end:
            check()
            time.sleep(0.2)
        return count

    def good_runs(self):
        return self.value("SELECT COUNT(*) FROM shardwheel_flow_run WHERE flow_id IN %s AND state = 2", self.flow_ids)

    def steps(self):
        """{log id: (run, step)} of all fires."""
        rows = self.execute("SELECT id, LEFT(trigger_msg, 100) FROM xxl_job_log WHERE job_id = %s",
                            self.job_id).fetchall()
        return {log_id: flowmatch.step_of(mark) for log_id, mark in rows}

    def remove(self):
        for flow in self.flow_ids:
            for table in TABLES:
                self.execute(f"DELETE FROM {table} WHERE run_id IN (SELECT id FROM shardwheel_flow_run WHERE flow_id "
                             "= %s)", flow)
            for table, column in (("run", "flow_id"), ("version", "flow_id"), ("flow", "id")):
                name = "shardwheel_flow" if table == "flow" else f"shardwheel_flow_{table}"
                self.execute(f"DELETE FROM {name} WHERE {column} = %s", flow)
        self.jobs.remove()

    def close(self):
        self.connection.close()


class Starter:
    """A thread that starts runs at an even rate."""

    def __init__(self, flows, flow, per_second, from_s, to_s):
        self.flows, self.flow, self.per_second, self.from_s, self.to_s = flows, flow, per_second, from_s, to_s
        self.error = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        started, number = 0, 0
        try:
            while (at_s := self.from_s + number / BATCHES_PER_S) < self.to_s:
                driver.sleep_until(at_s)
                number += 1
                wanted = int(number * self.per_second / BATCHES_PER_S)
                if wanted > started:
                    self.flows.start(self.flow, wanted - started)
                started = wanted
        except pymysql.MySQLError as error:
            self.error = error

    def join(self):
        self._thread.join()
        if self.error:
            raise self.error


class FlowRun(driver.Run):
    def _remove_flows(self):
        try:
            if not self.arguments.keep:
                self.flows.remove()
        except pymysql.MySQLError as error:
            driver.say(f"could not remove the flows of {self.flows.jobs.app_name}: {error}")
        self.flows.close()

    def _start_plain(self):
        """The plan of the fires beside the flows."""
        a = self.arguments
        if a.rate:
            return self.start_jobs()
        self.jobs.create_jobs([NEVER], 1, "ROUND")  # for the audit
        return driver.Plan(a, self.url.zone)

    def _run_map(self):
        """(seconds, the id of its run)"""
        a = self.arguments
        flow = self.flows.add_map(a.parallel)
        began = time.monotonic()
        run = self.flows.start(flow, 1, json.dumps({"items": list(range(a.items))}))
        self.flows.wait_ended(a.drain, self.admin.check)
        return time.monotonic() - began, run

    def execute(self):
        a = self.arguments
        self.confirmed = pathlib.Path(self.folder) / "confirmed.csv"
        self.prepare(confirmed=self.confirmed)
        self.flows = Flows(self.url, self.executor.addresses, a.token or "default_token")
        self.undo.callback(self._remove_flows)
        line = self.flows.add_line(a.steps)
        plan = self._start_plain()
        starter = Starter(self.flows, line, a.flow_runs, plan.start_s, plan.to_s)
        driver.sleep_until(plan.measure_from_s)
        before = self.meter.snapshot()
        driver.sleep_until(plan.measure_to_s)
        after = self.meter.snapshot()
        starter.join()
        driver.sleep_until(plan.to_s + a.settle)
        self.flows.wait_ended(a.drain, self.admin.check)
        lines = dict(self.flows.created_us)
        map_s, map_run = self._run_map() if a.items else (None, None)
        if a.rate:
            self.jobs.stop()
        driver.wait_drained(self.jobs, a.drain)
        open_runs, good_runs = self.flows.open_runs(), self.flows.good_runs()
        steps = self.flows.steps()
        self.admin.check()
        counters = self.executor.stop()
        driver.say(f"{open_runs} runs are open, auditing")
        result, remarks = self.report(plan, before, after, counters)
        self._add_flows(result, plan, lines, steps, map_run, map_s)
        result.update({
            "open_runs": open_runs, "good_runs": good_runs, "flow_runs": a.flow_runs, "steps": a.steps,
            "items": a.items, "parallel": a.parallel,
            "admin_rss_before_mb": round(before.admin.rss_bytes / 2**20, 1) if before.admin else None})
        return result, remarks

    def _read(self):
        """Of flows alone: ([(us, log id)] of arrivals, {log id: us} of ends)"""
        arrivals = [(numbers[0], numbers[1]) for numbers in auditing.read_numbers(self.executor.arrivals)
                    if numbers[2] == self.flows.job_id]
        confirmed = {}
        with open(self.confirmed, encoding="ascii") as file:
            for row in csv.reader(file):
                if row[0] != "log_id":
                    confirmed[int(row[0])] = int(row[1])
        return arrivals, confirmed

    def _add_flows(self, result, plan, lines, steps, map_run, map_s):
        a = self.arguments
        arrivals, confirmed = self._read()
        of_map = {log_id for log_id, place in steps.items() if map_run and place and place[0] == map_run}
        verdict = flowmatch.match_lines(
            lines, a.steps, {log_id: place for log_id, place in steps.items() if log_id not in of_map}, arrivals,
            confirmed, plan.from_s * 1_000_000)
        result.update({
            "lost": result["lost"] + verdict.lost, "doubled": result["doubled"] + verdict.doubled,
            "started_runs": verdict.runs, "flow_steps": verdict.steps, "flow_lost": verdict.lost,
            "flow_doubled": verdict.doubled, "start_ms": auditing.lateness(verdict.start_ms),
            "step_ms": auditing.lateness(verdict.gap_ms)})
        if map_run:
            one = flowmatch.match_map(a.items, a.parallel, [pair for pair in arrivals if pair[1] in of_map],
                                      {log_id: us for log_id, us in confirmed.items() if log_id in of_map})
            result.update({
                "lost": result["lost"] + one.lost, "doubled": result["doubled"] + one.doubled,
                "map_lost": one.lost, "map_doubled": one.doubled, "map_s": round(map_s, 2),
                "item_ms": auditing.lateness(one.gap_ms)})


driver.RUNS["flows"] = FlowRun
