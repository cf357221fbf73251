# SPDX-License-Identifier: MIT
"""Results as tables for people, two of them side by side, and medians of several."""

import collections
import json
import statistics

COSTS = [
    ("admin CPU s per 1,000", "admin_cpu_s_per_1000"), ("database CPU s per 1,000", "database_cpu_s_per_1000"),
    ("admin cores", "admin_cores"), ("database cores", "database_cores"), ("admin RSS MB, peak", "admin_rss_peak_mb"),
    ("SQL statements per 1", "statements_per_fire"), ("commits per 1", "commits_per_fire"),
    ("rows inserted per 1", "rows_inserted_per_fire"), ("rows updated per 1", "rows_updated_per_fire"),
    ("rows deleted per 1", "rows_deleted_per_fire"), ("rows read per 1", "rows_read_per_fire"),
    ("redo bytes per 1", "redo_bytes_per_fire"), ("binlog bytes per 1", "binlog_bytes_per_fire"),
]
FIRES = [
    ("executions due", "due"), ("delivered", "delivered"), ("fires/s", "fires_per_s"), ("lost", "lost"),
    ("doubled", "doubled"), ("delivery unknown", "unknown"), ("failed with a reason", "failed"),
    ("results committed", "results_committed"), ("rows still open", "open_rows"), ("late p50 ms", "late_ms.p50"),
    ("late p95 ms", "late_ms.p95"), ("late p99 ms", "late_ms.p99"), ("late max ms", "late_ms.max"),
    ("before the due second", "early"), *COSTS,
]
SLOW = [("late p50 ms, slow addresses", "late_slow_ms.p50"), ("late p99 ms, slow addresses", "late_slow_ms.p99")]
CALLBACKS = [
    ("results", "results"), ("committed", "results_committed"), ("results/s", "results_per_s"), ("lost", "lost"),
    ("not confirmed", "unconfirmed"), *COSTS,
]
BEATS = [
    ("executors", "executors"), ("registered", "registered"), ("first round s", "first_beat_s"),
    ("slowest round s", "beat_s"), ("  p99 of its answers ms", "beat_p99_ms"), ("refused or repeated", "refused"),
    *COSTS,
]
FLOWS = [
    ("runs started", "started_runs"), ("  that succeeded", "good_runs"), ("  still open", "open_runs"),
    ("steps lost", "flow_lost"), ("steps doubled", "flow_doubled"),
    ("run to first step p50 ms", "start_ms.p50"), ("  p99 ms", "start_ms.p99"),
    ("step's end to next p50 ms", "step_ms.p50"), ("  p95 ms", "step_ms.p95"), ("  p99 ms", "step_ms.p99"),
    ("  max ms", "step_ms.max"), ("map s", "map_s"), ("  items lost", "map_lost"), ("  items doubled", "map_doubled"),
    ("  item's end to next p50 ms", "item_ms.p50"), ("  p99 ms", "item_ms.p99"),
    ("admin RSS MB, before", "admin_rss_before_mb"), ("  after", "admin_rss_mb"),
]


class Kind:
    """How the results of one scenario are shown. `load` names what tells loads apart."""

    def __init__(self, load, title, rows=FIRES, columns=()):
        self.load = load
        self.title = title
        self.rows = rows
        self.columns = columns


# Columns of the summary: title, path, digits after the point, factor.
COST_COLUMNS = [("admin CPU s per 1,000", "admin_cpu_s_per_1000", 3, 1),
                ("database CPU s per 1,000", "database_cpu_s_per_1000", 3, 1),
                ("admin RSS MB", "admin_rss_peak_mb", 0, 1), ("SQL statements per 100", "statements_per_fire", 1, 100)]
FIRE_COLUMNS = [("fires/s", "fires_per_s", 0, 1), ("late p50 ms", "late_ms.p50", 0, 1),
                ("late p99 ms", "late_ms.p99", 0, 1), *COST_COLUMNS,
                ("redo bytes per fire", "redo_bytes_per_fire", 0, 1),
                ("binlog bytes per fire", "binlog_bytes_per_fire", 0, 1)]
KINDS = {
    "steady": Kind("rate", lambda r: f"{r['rate']:,} fires/s", columns=FIRE_COLUMNS),
    "burst": Kind("jobs", lambda r: f"{r['jobs']:,} jobs in one second", columns=FIRE_COLUMNS),
    "broadcast": Kind("jobs", lambda r: f"{r['jobs']:,} broadcast jobs over {r['addresses']:,} addresses in one second",
                      columns=FIRE_COLUMNS),
    "slow": Kind("rate", lambda r: f"{r['rate']:,} fires/s, "
                 f"{r['slow_addresses']:,} of {r['addresses']:,} addresses slow", SLOW + FIRES, FIRE_COLUMNS),
    "jobs": Kind("jobs", lambda r: f"{r['jobs']:,} enabled jobs, {r['rate']:,} fires/s"
                 + (", with our index" if r["index"] else ", without our index"), FIRES,
                 [("admin cores", "admin_cores", 3, 1), ("database cores", "database_cores", 3, 1), *FIRE_COLUMNS]),
    "flows": Kind("flow_runs", lambda r: f"{r['flow_runs']:,} runs/s of {r['steps']:,} steps, {r['rate']:,} fires/s",
                  FLOWS + FIRES,
                  [("step's end to next p50 ms", "step_ms.p50", 0, 1), ("p99 ms", "step_ms.p99", 0, 1),
                   ("run to first step p99 ms", "start_ms.p99", 0, 1), ("map s", "map_s", 1, 1),
                   ("item's end to next p99 ms", "item_ms.p99", 0, 1), *FIRE_COLUMNS]),
    "callbacks": Kind("results", lambda r: f"{r['results']:,} results in batches of {r['batch']:,}", CALLBACKS,
                      [("results/s", "results_per_s", 0, 1), *COST_COLUMNS]),
    "beats": Kind("executors", lambda r: f"{r['executors']:,} executors beat at once", BEATS,
                  [("slowest round s", "beat_s", 2, 1), ("p99 of its answers ms", "beat_p99_ms", 0, 1),
                   ("refused or repeated", "refused", 0, 1), *COST_COLUMNS]),
}


def look_up(result, path):
    for name in path.split("."):
        result = result.get(name) if isinstance(result, dict) else None
    return result


def show(value):
    if value is None:
        return "-"
    return f"{value:,.10g}" if isinstance(value, float) else f"{value:,}"


def title(result):
    load = KINDS[result["scenario"]].title(result)
    return f"{result['label']}: {load}" if result.get("label") else load


def one(result):
    rows = KINDS[result["scenario"]].rows
    return "\n".join([title(result), *(f"  {label:<32}{show(look_up(result, path)):>14}" for label, path in rows)])


def read_results(path):
    """The result lines of a file: one for each run."""
    results = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                result = json.loads(line)
                title(result)
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}: line {number} is no result of a run") from error
            results.append(result)
    if not results:
        raise ValueError(f"{path}: holds no result")
    return results


def key(result):
    """What two runs have in common if they are of the same load."""
    return result["scenario"], result[KINDS[result["scenario"]].load], result.get("index")


def ratio(old, new):
    if not isinstance(old, (int, float)) or not isinstance(new, (int, float)) or old == new:
        return ""
    return f"x {new / old:.2f}" if old else "new"


def compare(first_path, second_path):
    """Runs of the same load side by side; of several the last one counts."""
    first = {key(result): result for result in read_results(first_path)}
    second = {key(result): result for result in read_results(second_path)}
    both = [load for load in first if load in second]
    if not both:
        raise ValueError(f"{first_path} and {second_path} have no load in common")
    lines = []
    for load in both:
        old, new = first[load], second[load]
        lines.append(f"{title(old)}  |  {title(new)}")
        for label, path in KINDS[old["scenario"]].rows:
            a, b = look_up(old, path), look_up(new, path)
            lines.append(f"  {label:<32}{show(a):>14}{show(b):>14}  {ratio(a, b)}".rstrip())
    return "\n".join(lines)


def spread(values, digits):
    """"12 (10–15)": median, smallest and largest; the median alone where they look the same."""
    values = [value for value in values if value is not None]
    if not values:
        return "-"
    low, middle, high = (f"{value:,.{digits}f}" for value in (min(values), statistics.median(values), max(values)))
    return middle if low == high else f"{middle} ({low}–{high})"


def committed(runs):
    wanted = sum(run.get("due", run.get("results", 0)) for run in runs)
    done = sum(run.get("results_committed", 0) for run in runs)
    return "-" if not wanted else "all" if done == wanted else f"{done:,} of {wanted:,}"


def summary(paths):
    """Markdown: a table for each scenario, a row for each load and label; medians of its runs."""
    grouped = collections.defaultdict(list)
    for path in paths:
        for result in read_results(path):
            grouped[result["scenario"], title(result)].append(result)
    lines = []
    for scenario, kind in KINDS.items():
        rows = {name: runs for (which, name), runs in grouped.items() if which == scenario}
        if not rows:
            continue
        names = [scenario, "runs", "lost", "doubled", "results committed", *(column[0] for column in kind.columns)]
        lines += ([""] if lines else []) + ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
        for name, runs in rows.items():
            cells = [name, len(runs), sum(run["lost"] for run in runs), sum(run["doubled"] for run in runs),
                     committed(runs)]
            for _, path, digits, factor in kind.columns:
                values = [look_up(run, path) for run in runs]
                cells.append(spread([value * factor for value in values if value is not None], digits))
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)
