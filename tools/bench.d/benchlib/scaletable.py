# SPDX-License-Identifier: MIT
"""Results of `bench scale` as Markdown tables: shards by nodes."""

import collections
import json
import statistics

from benchlib import table

NEEDED = {"scenario", "shards", "nodes", "rate", "run", "lost", "doubled", "late_ms"}
KINDS = {"scale-steady": "faults", "scale-planning": "planned_per_s"}


def read_results(path):
    """The result lines of a file: one for each run."""
    results = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                result = json.loads(line)
                good = NEEDED <= set(result) and KINDS.get(result["scenario"]) in result
            except (ValueError, TypeError):
                good = False
            if not good:
                raise ValueError(f"{path}: line {number} is no result of a run of `bench scale`")
            results.append(result)
    if not results:
        raise ValueError(f"{path}: holds no result")
    return results


def exit_status(results):
    return 1 if any(result["lost"] or result["doubled"] for result in results) else 0


def is_sustained(runs):
    """Of several runs at one rate more than half must have been without fault, and none may have lost or doubled."""
    return exit_status(runs) == 0 and 2 * sum(not run["faults"] for run in runs) > len(runs)


def median(runs, path):
    values = [value for value in (table.look_up(run, path) for run in runs) if value is not None]
    return statistics.median(values) if values else None


class Cell:
    """All runs of one number of shards on one number of nodes."""

    def __init__(self, results):
        self.all = results
        self.planning = [result for result in results if result["scenario"] == "scale-planning"]
        by_rate = collections.defaultdict(list)
        for result in results:
            if result["scenario"] == "scale-steady":
                by_rate[result["rate"]].append(result)
        self.tried = sorted(by_rate)
        self.best = max((rate for rate in self.tried if is_sustained(by_rate[rate])), default=None)
        self.runs = by_rate[self.best] if self.best else []

    def sustained(self):
        """"4,000"; "≥ 4,000" if nothing higher was tried; "< 1,000" if not even the lowest one was sustained."""
        if not self.tried:
            return "-"
        if self.best is None:
            return f"< {self.tried[0]:,}"
        return f"{self.best:,}" if self.best < self.tried[-1] else f"≥ {self.best:,}"

    def planned(self):
        value = median(self.planning, "planned_per_s")
        return "-" if value is None else f"{round(value, -2):,.0f}"

    def total(self, name):
        return sum(result[name] for result in self.all)


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def head(names):
    return [line(names), "|" + "---|" * len(names)]


def show(value, digits):
    return "-" if value is None else f"{value:,.{digits}f}"


def render(results):
    """Two tables: one to see at a glance how it scales, and one with the figures behind it."""
    grouped = collections.defaultdict(list)
    for result in results:
        grouped[result["shards"], result["nodes"]].append(result)
    cells = {key: Cell(grouped[key]) for key in sorted(grouped)}
    nodes = sorted({n for _, n in cells})
    lines = ["Sustained fires/s, planned fires/s:", ""]
    lines += head(["shards", *(f"{n} node{'s' if n > 1 else ''}" for n in nodes)])
    for shards in sorted({k for k, _ in cells}):
        lines.append(line([shards, *(f"{cells[shards, n].sustained()}, {cells[shards, n].planned()}"
                                     if (shards, n) in cells else "-" for n in nodes)]))
    lines += ["", "Of the highest sustained rate (medians where there were several runs); "
              "lost and doubled of all runs:", ""]
    lines += head(["shards", "nodes", "sustained fires/s", "late p50 ms", "late p99 ms", "nodes CPU s per 1,000 fires",
                   "database CPU s per 1,000 fires", "cores busy", "planned fires/s", "fires audited", "lost",
                   "doubled"])
    for (shards, n), cell in cells.items():
        lines.append(line([
            shards, n, cell.sustained(), show(median(cell.runs, "late_ms.p50"), 0),
            show(median(cell.runs, "late_ms.p99"), 0), show(median(cell.runs, "admin_cpu_s_per_1000"), 3),
            show(median(cell.runs, "database_cpu_s_per_1000"), 3),
            show(median(cell.runs, "cores_busy_percent"), 0) + (" %" if cell.runs else ""), cell.planned(),
            f"{cell.total('due'):,}", cell.total("lost"), cell.total("doubled")]))
    return "\n".join(lines)
