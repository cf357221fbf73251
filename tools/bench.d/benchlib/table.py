# SPDX-License-Identifier: MIT
"""Results as tables for people, and two of them side by side."""

import json

ROWS = [
    ("executions due", "due"), ("delivered", "delivered"), ("fires/s", "fires_per_s"), ("lost", "lost"),
    ("doubled", "doubled"), ("delivery unknown", "unknown"), ("failed with a reason", "failed"),
    ("results committed", "results_committed"), ("rows still open", "open_rows"), ("late p50 ms", "late_ms.p50"),
    ("late p95 ms", "late_ms.p95"), ("late p99 ms", "late_ms.p99"), ("late max ms", "late_ms.max"),
    ("before the due second", "early"), ("admin CPU s per 1,000 fires", "admin_cpu_s_per_1000"),
    ("database CPU s per 1,000 fires", "database_cpu_s_per_1000"), ("admin RSS MB, peak", "admin_rss_peak_mb"),
    ("SQL statements per fire", "statements_per_fire"), ("commits per fire", "commits_per_fire"),
    ("rows inserted per fire", "rows_inserted_per_fire"), ("rows updated per fire", "rows_updated_per_fire"),
    ("rows deleted per fire", "rows_deleted_per_fire"),
    ("rows read per fire", "rows_read_per_fire"), ("redo bytes per fire", "redo_bytes_per_fire"),
    ("binlog bytes per fire", "binlog_bytes_per_fire"),
]


def look_up(result, path):
    for name in path.split("."):
        result = result.get(name) if isinstance(result, dict) else None
    return result


def show(value):
    if value is None:
        return "-"
    return f"{value:,.10g}" if isinstance(value, float) else f"{value:,}"


def title(result):
    load = f"{result['rate']:,} fires/s" if result["scenario"] == "steady" else f"{result['jobs']:,} jobs in one second"
    return f"{result['label']}: {load}" if result.get("label") else load


def one(result):
    return "\n".join([title(result), *(f"  {label:<32}{show(look_up(result, path)):>14}" for label, path in ROWS)])


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
    return result["scenario"], result["rate"] or result["jobs"]


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
        for label, path in ROWS:
            a, b = look_up(old, path), look_up(new, path)
            lines.append(f"  {label:<32}{show(a):>14}{show(b):>14}  {ratio(a, b)}".rstrip())
    return "\n".join(lines)
