# SPDX-License-Identifier: MIT
"""The run: faults one after the other, work beside them, and at the end the audit."""
import contextlib
import csv
import json
import os
import random
import shutil
import subprocess
import time

from faults import (  # noqa: F401 they add their scenarios
    database_faults, link_faults, node_faults, zookeeper_faults,
)
from faults.scenarios import SCENARIOS
from faults.theatre import NOT_ACCEPTED
from harness import databases
from harness.node import ROOT
from harness.process import wait_until

from growing import WARM_S, Sampler
from staging import SOAK_SCENARIOS, SoakStage, logs_of
from working import Work

AUDIT_S = 3600
LOST_S = 300          # nodes promise 3 minutes
WHOLE_S = 300         # the machine may be busy with other things
CLEANED_IN_S = 600    # that takes its turn: shorter runs do not ask for it
BROWSERS_AT_S = 12    # of each minute, behind the restart of the steady node, before its memory is looked at
LINES_A_MINUTE = 300  # of a node's log, and
LINES_A_FAULT = 1000  # for each fault: what is limited is limited by place and time, not by events
NOT_HERE = {"database_killed"}  # its data would be the replica's to go on with: the suite of pairs has that

def _picks_node(scenario):
    """There is one alone to be picked."""
    return scenario.hurts == "node" or scenario.name == "zookeeper_session_expired"


class Soak:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder
        self.rng = random.Random(arguments.seed)
        self.faults = []    # (second, names, seconds until whole)
        self.browsers = []
        self.problems = []
        self.work = None
        self.called = {}    # status -> how often
        self.rolled = False

    def run(self):
        template = databases.mariadb_template()
        stage = SoakStage(template, self.folder, self.arguments.fires, has_room=self.arguments.fires >= 1000)
        sampler = Sampler(stage, self._path("samples.csv"))
        try:
            sampler.start()
            stage.combined = True  # what each fault costs is measured by the fault suite
            self._say(f"begun: {self.arguments.fires} fires/s, seed {self.arguments.seed}")
            self.work = Work(stage, self.arguments.seed).start()
            self._play(stage, sampler)
            self._end_work()
            to_s = int(time.time()) + 1
            stage.wait_whole(WHOLE_S)
            if stage.steady.popen.pid != self.steady_pid:
                self.problems.append(f"{stage.steady.name} has ended by itself and was started again")
            found = self._audit(stage, to_s)
            self._look_around(stage)
        except AssertionError as error:
            self._say(f"broken off: {error} (--seed {self.arguments.seed})")
            stage.keep_logs(self._path("logs.tar.gz"))
            return 2
        finally:
            sampler.ended.set()
            self._end_work()
            stage.close()
            shutil.rmtree(template, ignore_errors=True)
        return self._report(found, sampler)

    def _path(self, name):
        return os.path.join(self.arguments.out, name)

    @staticmethod
    def _say(text):
        print(time.strftime("%H:%M:%S"), text, flush=True)

    # Faults

    def _choose(self, stage):
        """
        One or two that do not hurt the same server. The steady node is killed or stopped by none but the one rolling
        restart of all nodes, so that its memory can be compared over the rest of the time.
        """
        second = (len(self.faults) + 1) * self.arguments.every
        stage.taken.clear()
        if not self.rolled and second > self.arguments.minutes * 10:
            self.rolled = True
            return [SOAK_SCENARIOS["nodes_rolled"]]
        known = [s for s in SCENARIOS.values() if not s.alone and s.hurts != "nothing" and s.name not in NOT_HERE]
        known += SOAK_SCENARIOS.values()
        first = self.rng.choice(known)
        chosen = [first]
        if first.hurts != "all" and self.rng.random() < 0.25:
            chosen.append(self.rng.choice([s for s in known if s.hurts not in (first.hurts, "all")
                                           and not (_picks_node(s) and _picks_node(first))]))
        stage.taken.add(stage.steady.name)
        return chosen

    def _play(self, stage, sampler):
        began_mono = sampler.began_mono
        self.steady_pid = stage.steady.popen.pid
        end_mono = began_mono + self.arguments.minutes * 60
        with open(self._path("faults.csv"), "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["second", "faults", "whole_after_s"])
            while time.monotonic() < end_mono:
                next_mono = time.monotonic() + self.arguments.every
                if not self.browsers and not self.arguments.no_console and \
                        time.monotonic() > began_mono + self.arguments.minutes * BROWSERS_AT_S:
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
        if chosen[0].name == "nodes_rolled" and stage.steady.name not in stage.taken:
            self.steady_pid = stage.steady.popen.pid
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

    def _end_work(self):
        if self.work:
            self.work.end()
            self.problems += self.work.problems[:20]
            self.called = dict(sorted(self.work.counts.items(), key=str))
            self.work = None
        for browser in self.browsers:
            self._end_browser(browser)
        self.browsers.clear()

    def _end_browser(self, browser):
        browser.stdin.close()  # it ends by that
        try:
            status = browser.wait(60)
        except subprocess.TimeoutExpired:
            browser.kill()
            status = "none: it had to be killed"
        if status:
            self.problems.append(f"a browser ended with status {status}: see {self._path('browser-*.log')}")

    # The end

    def _audit(self, stage, to_s):
        """[(whose, findings)] of the load and of the real executors, which say of no arrival when it was."""
        self._say("settles")
        stage.begin_span(SCENARIOS["clock_stepped"])
        stage.spans[-1].end(to_s)
        stage.settle()
        stage.end_load()
        self._settle_real(stage)
        for node in stage.nodes:
            node.kill()
        self._say("audit")
        part = stage.spans[-1].parts[0]
        found = []
        for whose, executors, jobs, from_s in (("load", [part.executor], part.jobs, part.from_s + 10),
                                               ("real executors", [], stage.real_jobs, stage.real_from_s)):
            result, done = stage.world.audit(executors, from_s, part.to_s, jobs, seconds=AUDIT_S)
            print(done.stdout)
            found.append((whose, result))
        with open(self._path("audit.json"), "w", encoding="utf-8") as file:
            json.dump(dict(found), file, indent=1)
        return found

    def _settle_real(self, stage):
        """
        Executors take runs with them when they end, and those in Go and Python tell an end once only, whoever hears of
        it: such runs end when the node has asked.
        """
        with contextlib.suppress(AssertionError):
            wait_until(lambda: not stage.real_without_end(), LOST_S, "the ends of the runs of real executors")

    def _look_around(self, stage):
        for what in ("jobinfo 200", "joblog 200", 201, 202, 204):
            if not self.called.get(what):
                self.problems.append(f"no caller was ever answered {what}")
        if not stage.hooks.at("json") or stage.hooks.refused:
            self.problems.append(f"{len(stage.hooks.at('json'))} alarms were told, refused: {stage.hooks.refused[:3]}")
        if self.arguments.minutes * 60 >= CLEANED_IN_S and (left := stage.old_rows()):
            self.problems.append(f"{left} old rows were not cleaned away")
        most = LINES_A_MINUTE * self.arguments.minutes + LINES_A_FAULT * len(self.faults)
        self.lines = logs_of(stage, self.folder)
        self.problems += [f"{name} has logged {count} lines, {most:.0f} are the bound" for name, count in
                          self.lines.items() if count > most]
        self.alarms = len(stage.hooks.at("json"))

    def _report(self, found, sampler):
        lines = [
            f"{self.arguments.minutes:g} minutes at {self.arguments.fires} fires/s, {len(self.faults)} faults, seed "
            f"{self.arguments.seed}.", "",
            "| jobs of | due | delivered | lost | doubled | unknown | failed | open | late ms p50 / p99 / max |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for whose, f in found:
            late = f["late_ms"]
            lines.append(
                f"| {whose} | {f['due']:,} | {f['delivered']:,} | {f['lost']} | {f['doubled']} | {f['unknown']} "
                f"| {f['failed']} | {f['open_rows']} | {late.get('p50')} / {late.get('p99')} / {late.get('max')} |")
            judged = NOT_ACCEPTED if whose == "load" else ("lost", "doubled", "open_rows")
            self.problems += [f"{name} of {whose}: {f[name]}" for name in judged if f[name] and name != "failed"]
        lives = sampler.lives(min(WARM_S, self.arguments.minutes * 15))
        lines += ["", "| longest life, warm | s | rss KiB | an hour | descriptors | an hour |",
                  "|---|---|---|---|---|---|"]
        lines += [life.line() for life in lives] + [""]
        self.problems += [what for life in lives if life.name.startswith("node-") for what in life.grown()]
        lines += [f"Calls by status: {self.called}. Alarms told: {self.alarms}. Lines of logs: {self.lines}.", ""]
        lines += [f"- {problem}" for problem in self.problems] or ["Nothing lost, doubled or grown."]
        text = "\n".join(lines) + "\n"
        with open(self._path("report.md"), "w", encoding="utf-8") as file:
            file.write(text)
        print(text)
        return 1 if self.problems else 0
