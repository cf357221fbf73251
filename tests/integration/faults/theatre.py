# SPDX-License-Identifier: MIT
"""Plays scenarios on stages, has them audited, and keeps the results."""
import json
import os
import random
import time

from .stage import HEAVY_FIRES, Stage

# A stage is settled, audited and replaced after this long, so that its tables stay small and a failure is found soon.
STAGE_LIFE_S = 300
HEAVY_STAGE_LIFE_S = 60
SHOWN_LINES = 60  # of an audit's findings

NOT_ACCEPTED = ("lost", "doubled", "failed", "result_without_arrival", "fired_without_due", "rows_without_due",
                "planned_twice", "arrivals_without_row", "open_rows")


class Theatre:
    def __init__(self, template, make_folder, rounds, seed, json_path, fires_per_second, make_stage=Stage):
        self.make_stage = make_stage
        self.template = template
        self.make_folder = make_folder
        self.rounds = rounds
        self.seed = seed
        self.json_path = json_path
        self.fires_per_second = fires_per_second
        self.stage_life_s = HEAVY_STAGE_LIFE_S if fires_per_second > HEAVY_FIRES else STAGE_LIFE_S
        self.stage = None
        self.results = {}  # name -> result line, once audited
        self.broken = {}   # name -> what was wrong with it
        self._played = {}  # name -> what is known before the audit

    def play(self, scenario):
        """All rounds of a scenario. What the audit says of it comes later."""
        if self.stage and (self.stage.dead or time.monotonic() - self.stage.began_mono > self.stage_life_s):
            self.end_stage()
        if not self.stage:
            self.stage = self.make_stage(self.template, self.make_folder(), self.fires_per_second)
        stage, rng = self.stage, random.Random(f"{self.seed}/{scenario.name}")
        rounds = self.rounds * scenario.rounds_factor
        played = {"fault": scenario.name, "rounds": 0, "seed": self.seed, "figures": {}}
        restarts = stage.restarts
        self._played[scenario.name] = played
        stage.begin_span(scenario)
        began = time.monotonic()
        try:
            if scenario.around:
                with scenario.around(stage, rng):
                    self._play_rounds(stage, scenario, rng, rounds, played)
                stage.wait_whole()
            else:
                self._play_rounds(stage, scenario, rng, rounds, played)
        except BaseException:
            stage.dead = True
            raise
        finally:
            played["seconds"] = round(time.monotonic() - began, 1)
            played["restarts"] = stage.restarts - restarts
            stage.end_span()
            played["figures"], broken = stage.take_figures()
        if not scenario.leaves_unknown:
            stage.end_calmly()
        assert not broken, f"{scenario.name}: {'; '.join(broken)} (--seed {self.seed})"

    def _play_rounds(self, stage, scenario, rng, rounds, played):
        for number in range(rounds):
            stage.taken.clear()
            stage.pass_time(rng.uniform(0, 1))
            try:
                with scenario.at_work(stage, rng):
                    stage.pass_time(rng.uniform(*scenario.seconds))
                stage.wait_whole()
            except AssertionError as error:
                raise AssertionError(
                    f"round {number + 1} of {rounds} of {scenario.name}: {error}\n"
                    f"again with: --seed {self.seed} --rounds {self.rounds} -k {scenario.name}"
                ) from error
            played["rounds"] += 1

    def judge(self, scenario):
        """Fails when the audit found anything in the scenario's seconds."""
        assert scenario.name in self._played, f"{scenario.name} was not played"
        if scenario.name not in self.results and scenario.name not in self.broken:
            self.end_stage()
        assert scenario.name not in self.broken, self.broken[scenario.name]

    def end_stage(self):
        """Waits for the ends of all fires, audits every span, and takes the stage down."""
        stage, self.stage = self.stage, None
        if stage is None:
            return
        try:
            problem = None
            try:
                stage.settle()
            except AssertionError as error:
                problem = str(error)
            stage.end_load()
            for span in stage.spans:
                self._audit(stage, span, problem)
        except Exception as error:  # the scenario that asked for the end is not to blame
            for span in stage.spans:
                if span.scenario.name not in self.results:
                    self.broken.setdefault(span.scenario.name, f"{span.scenario.name} could not be audited: {error!r}")
        finally:
            if stage.dead or any(span.scenario.name in self.broken for span in stage.spans):
                self._keep_logs(stage)
            stage.close()

    def _keep_logs(self, stage):
        folder = os.path.dirname(os.path.abspath(self.json_path))
        os.makedirs(folder, exist_ok=True)
        stage.keep_logs(os.path.join(folder, f"faults-{stage.spans[0].scenario.name}.tar.gz"))

    def _audit(self, stage, span, problem):
        scenario = span.scenario
        audits = [(part, *stage.audit(part)) for part in span.parts]
        wrong = []
        for part, found, done in audits:
            faults = self._faults(scenario, part, found)
            wrong += [f"{', '.join(faults)}\n" + "\n".join(done.stdout.splitlines()[:SHOWN_LINES])] if faults else []
        if problem and (wrong or span is stage.spans[-1]):
            wrong.append(problem)
        if wrong:
            self.broken[scenario.name] = f"{scenario.name} (--seed {self.seed}): " + "\n".join(wrong)
        self._note(scenario, [found for part, found, _ in audits if not part.late_p99_ms])

    @staticmethod
    def _faults(scenario, part, found):
        """In words, what the audit has found that must not be."""
        late_ms = found["late_ms"].get("p99", 0)
        if part.late_p99_ms:
            return [f"99 of 100 fires were late by up to {late_ms} ms"] if late_ms > part.late_p99_ms else []
        faults = [f"{name}: {found[name]}" for name in NOT_ACCEPTED if found[name]]
        if found["unknown"] and not scenario.leaves_unknown:
            faults.append(f"unknown: {found['unknown']}")
        if found["early"] and not scenario.may_be_early:
            faults.append(f"early: {found['early']}")
        if found["delivered"] + found["unknown"] + found["excused"] != found["due"]:
            faults.append(f"of {found['due']} due {found['delivered']} delivered and {found['unknown']} unknown")
        return faults

    def _note(self, scenario, findings):
        """The result line. Gap and lateness are those of the load that is always there."""
        counted = {
            name: sum(found[name] for found in findings)
            for name in ("due", "delivered", "lost", "excused", "doubled", "unknown", "failed", "early")
        }
        main = findings[0]
        result = {
            **self._played[scenario.name], "fires": counted.pop("due"), **counted,
            "longest_gap_ms": main["longest_gap_ms"], "latest_ms": main["late_ms"].get("max"),
            "late_p99_ms": main["late_ms"].get("p99"),
        }
        self.results[scenario.name] = result
        os.makedirs(os.path.dirname(os.path.abspath(self.json_path)), exist_ok=True)
        with open(self.json_path, "a", encoding="utf-8") as out:
            out.write(json.dumps(result) + "\n")


def table(results):
    """Result lines as Markdown."""
    lines = [
        "| fault | rounds | fires | lost | doubled | unknown | gap ms | latest ms | measured s: median, max |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for result in results:
        figures = "; ".join(f"{name} {f['median_s']}, {f['max_s']}" for name, f in result["figures"].items())
        latest = "" if result["latest_ms"] is None else f"{result['latest_ms']:,.0f}"
        columns = [
            result["fault"], result["rounds"], f"{result['fires']:,}", result["lost"], result["doubled"],
            result["unknown"], f"{result['longest_gap_ms']:,}", latest, figures,
        ]
        lines.append(f"| {' | '.join(map(str, columns))} |")
    return "\n".join(lines)


def make_theatre(request, template, tmp_path_factory, *stage):
    """With what the options of the run say; stage: its class, where it is another one than usual."""
    config = request.config
    return Theatre(
        template, lambda: tmp_path_factory.mktemp("stage"), config.getoption("--rounds"), config.getoption("--seed"),
        config.getoption("--faults-json"), config.getoption("--fires"), *stage,
    )
