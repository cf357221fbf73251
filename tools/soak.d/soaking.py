# SPDX-License-Identifier: MIT
"""The run of tools/soak: load, faults, samples, browsers, audit, report."""
import contextlib
import csv
import json
import os
import random
import shutil
import statistics
import subprocess
import threading
import time

from faults import (  # noqa: F401 they add their scenarios
    database_faults, link_faults, node_faults, zookeeper_faults,
)
from faults.scenarios import SCENARIOS
from faults.stage import NODES, Stage
from faults.theatre import NOT_ACCEPTED
from harness import databases
from harness.node import ROOT

STEADY = NODES[0]  # the node that lives from beginning to end
SAMPLE_S = 10
WARM_S = 900       # until every cache of a node has its size
GROWS = 0.05       # more than so much of the median of the first quarter, behind the warm-up, is growth
SLACK = {"rss_kb": 2048, "fds": 8}  # smaller differences are not growth, however small the process
AUDIT_S = 3600
WHOLE_S = 300      # the machine may be busy with other things


def read_process(pid):
    """(resident memory in KiB, open descriptors, threads), or None when it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        return int(fields["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(fields["Threads"])
    except (OSError, KeyError, ValueError):
        return None


class Sampler(threading.Thread):
    """Writes what each process has, every ten seconds."""

    def __init__(self, stage, path):
        super().__init__(daemon=True)
        self.stage = stage
        self.path = path
        self.ended = threading.Event()
        self.began_mono = time.monotonic()
        self.steady = []  # (second, rss_kb, fds)

    def run(self):
        with open(self.path, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["second", "process", "pid", "rss_kb", "fds", "threads"])
            while not self.ended.wait(SAMPLE_S):
                at = round(time.monotonic() - self.began_mono)
                for process in [*self.stage.nodes, self.stage.database.process, self.stage.load]:
                    seen = read_process(process.popen.pid) if process.popen else None
                    if seen:
                        out.writerow([at, process.name, process.popen.pid, *seen])
                        if process.name == STEADY:
                            self.steady.append((at, *seen[:2]))
                file.flush()


class Soak:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder
        self.rng = random.Random(arguments.seed)
        self.faults = []    # (second, names, seconds until whole)
        self.browsers = []
        self.problems = []

    def run(self):
        template = databases.mariadb_template()
        stage = Stage(template, self.folder, self.arguments.fires, has_room=True)
        sampler = Sampler(stage, self._path("samples.csv"))
        pid = next(node for node in stage.nodes if node.name == STEADY).popen.pid
        try:
            sampler.start()
            stage.combined = True  # what each fault costs is measured by the fault suite
            self._say(f"begun: {self.arguments.fires} fires/s, seed {self.arguments.seed}")
            self._play(stage)
            self._end_browsers()
            to_s = int(time.time()) + 1
            stage.wait_whole(WHOLE_S)
            if next(node for node in stage.nodes if node.name == STEADY).popen.pid != pid:
                self.problems.append(f"{STEADY} has ended by itself and was started again")
            found = self._audit(stage, to_s)
        except AssertionError as error:
            self._say(f"broken off: {error}")
            stage.keep_logs(self._path("logs.tar.gz"))
            return 2
        finally:
            sampler.ended.set()
            self._end_browsers()
            stage.close()
            shutil.rmtree(template, ignore_errors=True)
        return self._report(found, sampler.steady)

    def _path(self, name):
        return os.path.join(self.arguments.out, name)

    @staticmethod
    def _say(text):
        print(time.strftime("%H:%M:%S"), text, flush=True)

    # Faults

    def _choose(self, stage):
        """One or two that do not hurt the same server. The steady node is never killed or stopped."""
        known = [s for s in SCENARIOS.values() if not s.alone and s.hurts != "nothing"]
        first = self.rng.choice(known)
        chosen = [first]
        if self.rng.random() < 0.25:
            chosen.append(self.rng.choice([s for s in known if s.hurts == "node" or s.hurts != first.hurts]))
        stage.taken.clear()
        stage.taken.add(STEADY)
        return chosen

    def _play(self, stage):
        began_mono = time.monotonic()
        end_mono = began_mono + self.arguments.minutes * 60
        with open(self._path("faults.csv"), "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["second", "faults", "whole_after_s"])
            while time.monotonic() < end_mono:
                next_mono = time.monotonic() + self.arguments.every
                if not self.browsers and not self.arguments.no_console and \
                        time.monotonic() > began_mono + self.arguments.minutes * 30:
                    self._start_browsers(stage)
                row = self._one_fault(stage, round(time.monotonic() - began_mono))
                self.faults.append(row)
                out.writerow(row)
                file.flush()
                self._say(f"{row[1]}: whole after {row[2]} s")
                stage.pass_time(max(0.0, min(next_mono, end_mono) - time.monotonic()))

    def _one_fault(self, stage, second):
        chosen = self._choose(stage)
        with contextlib.ExitStack() as hurt:
            for scenario in chosen:
                hurt.enter_context(scenario.at_work(stage, self.rng))
                stage.pass_time(self.rng.uniform(*scenario.seconds))
        mended_mono = time.monotonic()
        stage.wait_whole(WHOLE_S)
        return second, " + ".join(s.name for s in chosen), round(time.monotonic() - mended_mono, 1)

    # The console

    def _start_browsers(self, stage):
        self._say("browsers begin")
        for node in stage.nodes:
            log = open(self._path(f"browser-{node.name}.log"), "w", encoding="utf-8")
            self.browsers.append(subprocess.Popen(
                [os.path.join(ROOT, "tools", "web"), "node", "web/e2e/measure/wander.ts", f"{node.url}/xxl-job-admin",
                 "admin", "123456", "86400"],
                stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT,
            ))

    def _end_browsers(self):
        for browser in self.browsers:
            browser.stdin.close()  # it ends by that
            try:
                status = browser.wait(60)
            except subprocess.TimeoutExpired:
                browser.kill()
                status = "none: it had to be killed"
            if status:
                self.problems.append(f"a browser ended with status {status}: see {self._path('browser-*.log')}")
        self.browsers.clear()

    # The end

    def _audit(self, stage, to_s):
        self._say("settles")
        stage.begin_span(SCENARIOS["clock_stepped"])
        stage.spans[-1].end(to_s)
        stage.settle()
        stage.end_load()
        for node in stage.nodes:
            node.kill()
        self._say("audit")
        part = stage.spans[-1].parts[0]
        found, done = stage.world.audit(part.executor, part.from_s, part.to_s, part.jobs, seconds=AUDIT_S)
        print(done.stdout)
        with open(self._path("audit.json"), "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
        return found

    def _growth(self, samples, column, name):
        """A line of the report; notes a problem where the steady node has grown."""
        warm = [s for s in samples if s[0] >= min(WARM_S, self.arguments.minutes * 15)]
        if len(warm) < 8:
            return f"| {name} | too short a run to tell | | | |"
        quarter = len(warm) // 4
        medians = [statistics.median(s[column] for s in warm[i * quarter:(i + 1) * quarter]) for i in range(4)]
        change = max(abs(m - medians[0]) for m in medians[1:])
        if change > max(GROWS * medians[0], SLACK[name]):
            self.problems.append(f"{name} of {STEADY} is not flat: {medians}")
        return f"| {name} | " + " | ".join(f"{m:,.0f}" for m in medians) + " |"

    def _report(self, found, samples):
        late = found["late_ms"]
        lines = [
            f"{self.arguments.minutes:g} minutes at {self.arguments.fires} fires/s, {len(self.faults)} faults, seed "
            f"{self.arguments.seed}.", "",
            "| due | delivered | lost | doubled | unknown | failed | late ms p50 / p99 / max |",
            "|---|---|---|---|---|---|---|",
            f"| {found['due']:,} | {found['delivered']:,} | {found['lost']} | {found['doubled']} | {found['unknown']} "
            f"| {found['failed']} | {late.get('p50')} / {late.get('p99')} / {late.get('max')} |", "",
            f"| {STEADY}, medians of quarters behind the warm-up | 1 | 2 | 3 | 4 |", "|---|---|---|---|---|",
            self._growth(samples, 1, "rss_kb"), self._growth(samples, 2, "fds"), "",
        ]
        self.problems += [f"{name}: {found[name]}" for name in NOT_ACCEPTED if found[name] and name != "failed"]
        lines += [f"- {problem}" for problem in self.problems] or ["Nothing lost, doubled or grown."]
        text = "\n".join(lines) + "\n"
        with open(self._path("report.md"), "w", encoding="utf-8") as file:
            file.write(text)
        print(text)
        return 1 if self.problems else 0
