# SPDX-License-Identifier: MIT
"""Reads jobs, log rows and arrivals of a run, has them matched, and says it in words."""

import csv

from benchlib import dburl, dues, matching, screening

COLUMNS = ["arrival_wall_us", "log_id", "job_id", "log_date_time_ms", "broadcast_index", "broadcast_total", "port",
           "handler"]
ROW_COLUMNS = """id, job_id, trigger_time, trigger_code, handle_code, LEFT(trigger_msg, 64),
    (trigger_msg LIKE '%%delivery unknown%%' OR handle_msg LIKE '%%delivery unknown%%'), executor_sharding_param"""
IDS_AT_A_TIME = 5000
LATE_S = 3600  # how long after its due time a row without mark may have been written


def read_numbers(path):
    """The first seven fields of each arrival of one file; a last line that is still being written is left out."""
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        reader = csv.reader(file)
        if next(reader, None) != COLUMNS:
            raise ValueError(f"{path}: line 1 is not the header '{','.join(COLUMNS)}'")
        torn = None
        for fields in reader:
            if torn:
                raise ValueError(f"{path}: line {torn} has not the {len(COLUMNS)} fields of an arrival")
            try:
                if len(fields) != len(COLUMNS):
                    raise ValueError
                numbers = list(map(int, fields[:7]))
            except ValueError:
                torn = reader.line_num
                continue
            yield numbers


def read_arrivals(path, job_ids):
    """The arrivals of these jobs in one file."""
    return [matching.Arrival(*numbers) for numbers in read_numbers(path) if numbers[2] in job_ids]


def _chunks(items, size):
    items = sorted(items)
    for start in range(0, len(items), size):
        yield items[start:start + size]


def load_jobs(connection, schedules, job_ids=None, app_name=None):
    """The jobs named by id or by their group's app_name, running or not; with neither all that are running."""
    where, values = "trigger_status = 1", []
    if job_ids is not None:
        where, values = "id IN %s", [sorted(job_ids)]
    elif app_name is not None:
        where, values = "job_group IN (SELECT id FROM xxl_job_group WHERE app_name = %s)", [app_name]
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, schedule_type, schedule_conf, executor_route_strategy FROM xxl_job_info WHERE "
                       + where, values)
        jobs = [matching.Job(job_id, schedules.of(kind, conf), route == "SHARDING_BROADCAST")
                for job_id, kind, conf, route in cursor.fetchall()]
    missing = sorted(set(job_ids or ()) - {job.job_id for job in jobs})
    if missing:
        raise ValueError(f"no such job: {', '.join(map(str, missing[:10]))}" + (" ..." if missing[10:] else ""))
    if not jobs:
        raise ValueError("no job to look at" + (f" in the group {app_name}" if app_name else ": none is running"))
    return jobs


def bounds_of(url, from_s, to_s):
    """Between which DATETIMEs the trigger_time of a row of the window is."""
    around = 7200 if dburl.changes_offset(url, from_s - 7200, to_s + LATE_S + 7200) else 300
    return [dburl.to_datetime(url, from_s - around), dburl.to_datetime(url, to_s + LATE_S + around)]


def load_rows(connection, url, job_ids, log_ids, bounds):
    """The rows within the bounds, and those of the arrivals wherever they are."""
    rows = {}
    wanted = set(job_ids)
    few, values = ("AND job_id IN %s", [sorted(wanted)]) if 0 < len(wanted) <= IDS_AT_A_TIME else ("", [])

    def take(cursor):
        for log_id, job_id, trigger, trigger_code, handle_code, mark, unknown, sharding in cursor.fetchall():
            rows[log_id] = matching.Row(log_id, job_id, dburl.to_epoch(url, trigger), trigger_code, handle_code,
                                        mark or "", bool(unknown), sharding)

    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {ROW_COLUMNS} FROM xxl_job_log WHERE trigger_time BETWEEN %s AND %s {few}",
                       [*bounds, *values])
        take(cursor)
        for chunk in _chunks(set(log_ids) - set(rows), IDS_AT_A_TIME):
            cursor.execute(f"SELECT {ROW_COLUMNS} FROM xxl_job_log WHERE id IN %s", [chunk])
            take(cursor)
    return [row for row in rows.values() if row.job_id in wanted]


def screen_jobs(connection, jobs, arrival_files, bounds, from_s, to_s, slow_ports):
    """(verdict on the jobs of which there is nothing to say, ids of all others)"""
    ids = screening.id_range(connection, bounds)
    if ids is None:
        return matching.Verdict(from_s, to_s), {job.job_id for job in jobs}
    screen = screening.Screen(jobs, from_s, to_s, *ids)
    screening.load(connection, screen, bounds, ids[1])
    for path in arrival_files:
        for wall_us, log_id, job_id, _, _, _, port in read_numbers(path):
            screen.take_arrival(wall_us, log_id, job_id, port in slow_ports)
    return screen.finish()


def audit(url, from_s, to_s, arrival_files, *, job_ids=None, app_name=None, cron_tool=None, cron_zone=None,
          slow_ports=frozenset()):
    """Verdict on a run; arrival_files may be None: then the rows alone are judged."""
    connection = dburl.connect(url)
    try:
        schedules = dues.Schedules(from_s - LATE_S, to_s + LATE_S, cron_tool,
                                   cron_zone or getattr(url.zone, "key", "UTC"))
        jobs = load_jobs(connection, schedules, job_ids, app_name)
        bounds = bounds_of(url, from_s, to_s)
        ids = {job.job_id for job in jobs}
        verdict = matching.Verdict(from_s, to_s)
        if arrival_files is not None:
            verdict, ids = screen_jobs(connection, jobs, arrival_files, bounds, from_s, to_s, slow_ports)
        arrivals = [arrival for path in (ids and arrival_files) or () for arrival in read_arrivals(path, ids)]
        rows = load_rows(connection, url, ids, [a.log_id for a in arrivals], bounds) if ids else []
    finally:
        connection.close()
    verdict.add(matching.match([job for job in jobs if job.job_id in ids], rows, arrivals, from_s, to_s,
                               has_arrivals=arrival_files is not None, slow_ports=slow_ports))
    verdict.finish()
    verdict.notes = schedules.refused
    return verdict


def explain(url, offences):
    """log id -> the reason in its row, for the offences that are shown."""
    ids = sorted({log_id for offence in offences for log_id in offence.log_ids})
    if not ids:
        return {}
    connection = dburl.connect(url)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT id, trigger_code, handle_code, RIGHT(trigger_msg, 120), LEFT(handle_msg, 120) "
                           "FROM xxl_job_log WHERE id IN %s", [ids])
            return {log_id: f"trigger_code={trigger} handle_code={handle} "
                            + " ".join(" ".join(filter(None, (message, result))).split())
                    for log_id, trigger, handle, message, result in cursor.fetchall()}
    finally:
        connection.close()


def count_between(path, from_us, to_us):
    """Arrivals of one file between two moments, whatever they were due for."""
    with open(path, encoding="utf-8", errors="replace") as file:
        next(file, None)
        return sum(from_us <= int(line.partition(",")[0] or 0) < to_us for line in file)


def by_second(verdict):
    """[second of the window, fires, late p50, p99, max] of each due second with an arrival."""
    rows = []
    for due_s, late in sorted(verdict.lateness_of.items()):
        late = sorted(late)
        rows.append([due_s - verdict.from_s, len(late), *(round(matching.percentile(late, share), 1)
                                                           for share in (50, 99, 100))])
    return rows


def lateness(late):
    """The figures of ascending lateness in ms; empty if nothing arrived."""
    if not late:
        return {}
    figures = {f"p{share}": round(matching.percentile(late, share), 1) for share in (50, 95, 99)}
    return {"min": round(late[0], 1), **figures, "max": round(late[-1], 1)}


COUNTS = [
    ("jobs", "jobs"), ("jobs_without_dues", "  whose due times cannot be known"), ("due", "executions due"),
    ("delivered", "delivered"), ("lost", "LOST"), ("doubled", "DOUBLED"), ("unknown", "delivery unknown"),
    ("failed", "failed with a reason"), ("result_without_arrival", "result, but no arrival on file"),
    ("rows", "log rows"), ("open_rows", "  still open"), ("results_ok", "  with result 200"),
    ("rows_without_due", "  not due"), ("planned_twice", "  planned twice"), ("arrivals", "arrivals"),
    ("fired_without_due", "  not due"), ("arrivals_without_row", "  without row"), ("early", "  before the due second"),
    ("results_failed", "delivered, but failed then"), ("arrivals_outside", "arrivals of due times outside the window"),
    ("arrivals_direct", "arrivals of manual runs, retries, child jobs"),
    ("arrivals_of_other_jobs", "arrivals of other jobs"),
]
ALWAYS_SHOWN = {"jobs", "due", "delivered", "lost", "doubled", "unknown", "failed", "rows", "open_rows", "arrivals"}
# The gravest first; what is not named here comes last.
GRAVITY = ["lost", "lost, its row is open", "doubled", "fired without due time", "planned twice",
           "row without due time", "arrival without row", "result without arrival", "delivery unknown", "failed"]


def worst(offences, most):
    """Of each kind at least one, the gravest kinds first; no more than `most`."""
    by_kind = {}
    for offence in offences:
        by_kind.setdefault(offence.kind, []).append(offence)
    chosen = []
    lists = [by_kind[kind] for kind in GRAVITY if kind in by_kind]
    share = max(1, most // max(1, len(lists)))
    for items in lists:
        chosen.extend(items[:share])
    for items in lists:
        chosen.extend(items[share:share + max(0, most - len(chosen))])
    return sorted(chosen[:most], key=lambda offence: GRAVITY.index(offence.kind))


def to_dict(verdict, offences, reasons):
    """What --json writes."""
    return {"window": {"from_s": verdict.from_s, "to_s": verdict.to_s},
            **{name: getattr(verdict, name) for name, _ in COUNTS},
            "late_ms": lateness(verdict.lateness_ms), "longest_gap_ms": verdict.longest_gap_ms, "notes": verdict.notes,
            "offences": [{"kind": o.kind, "job_id": o.job_id, "due_s": o.due_s, "index": o.index,
                          "log_ids": o.log_ids, "rows": [reasons[i] for i in o.log_ids if i in reasons]}
                         for o in offences]}


def summary(verdict, offences, reasons):
    lines = []
    for name, label in COUNTS:
        value = getattr(verdict, name)
        if value or name in ALWAYS_SHOWN:
            lines.append(f"{label:<46}{value:>12,}")
    late = lateness(verdict.lateness_ms)
    if late:
        lines.append("late by (ms)  " + "  ".join(f"{name} {value:,}" for name, value in late.items()))
        lines.append(f"longest time without an arrival (ms)  {verdict.longest_gap_ms:,}")
    for offence in offences:
        lines.append(f"- {offence.kind}: job {offence.job_id}, due {offence.due_s}, index {offence.index}, "
                     f"log ids {', '.join(map(str, offence.log_ids)) or 'none'}")
        lines.extend(f"    {log_id}: {reasons[log_id]}" for log_id in offence.log_ids[:3] if log_id in reasons)
    lines.extend(f"note: {note}" for note in verdict.notes)
    more = len(verdict.offences) - len(offences)
    if more > 0:
        lines.append(f"... and {more:,} more")
    return "\n".join(lines)
