# SPDX-License-Identifier: MIT
"""Matches due times with log rows and with what the executor received. Pure: values in, verdict out.

The unit is one execution that was due: job, due second and broadcast index. Which unit a row or an arrival belongs
to is taken from the best evidence there is, in this order:

1. the mark at the head of the row's trigger_msg, which names the due second;
2. the logDateTime that the admin sent, then the row's trigger_time, then the arrival itself: the job's latest due
   second at or before it.

By 2. a run that is later than the job's period counts for the later due time: the earlier one then shows as lost,
and if the later one is fired too, as doubled. With marks it is simply late.
"""

import array
import collections
import dataclasses
import re

_MARK = re.compile(r"<!--sw:p:(\d+):(\d+)(?::[LM])*(?::O(-?\d+))?-->")
_OTHER_MARK = re.compile(r"<!--sw:(?!p:)")


@dataclasses.dataclass(slots=True)
class Job:
    job_id: int
    schedule: object = None  # latest() and between(), see dues.py; None: due times are known from marks only
    broadcast: bool = False


@dataclasses.dataclass(slots=True)
class Row:
    log_id: int
    job_id: int
    trigger_s: int | None = None
    trigger_code: int = 0
    handle_code: int = 0
    mark: str = ""            # the head of trigger_msg
    says_unknown: bool = False  # one of its messages says "delivery unknown"
    sharding: str | None = None

    @property
    def due_s(self):
        found = _MARK.match(self.mark)
        return int(found.group(3) or found.group(1)) if found else None

    @property
    def is_direct(self):
        """Made by hand, by a parent or as a retry: nothing was due."""
        return bool(_OTHER_MARK.match(self.mark))

    @property
    def is_open(self):
        return self.trigger_code in (0, 200) and self.handle_code == 0

    @property
    def has_failed(self):
        return self.trigger_code not in (0, 200) or self.handle_code not in (0, 200)


@dataclasses.dataclass(slots=True)
class Arrival:
    wall_us: int
    log_id: int
    job_id: int
    log_date_time_ms: int = 0
    index: int = 0
    total: int = 1
    port: int = 0


@dataclasses.dataclass(slots=True)
class Unit:
    arrivals: list = dataclasses.field(default_factory=list)
    rows: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class Offence:
    kind: str
    job_id: int
    due_s: int | None
    index: int
    log_ids: list


@dataclasses.dataclass
class Verdict:
    from_s: int
    to_s: int
    jobs: int = 0
    jobs_without_dues: int = 0   # no due times can be known: neither from the schedule nor from marks
    due: int = 0
    delivered: int = 0
    lost: int = 0
    doubled: int = 0
    unknown: int = 0
    failed: int = 0              # never arrived, and the row says why
    result_without_arrival: int = 0
    results_ok: int = 0          # rows of the window with handle_code 200
    results_failed: int = 0      # arrived, but trigger or result failed
    open_rows: int = 0
    rows: int = 0
    arrivals: int = 0            # of due times in the window
    arrivals_outside: int = 0    # of due times before or after it
    arrivals_direct: int = 0
    arrivals_of_other_jobs: int = 0
    arrivals_without_row: int = 0
    rows_without_due: int = 0
    fired_without_due: int = 0   # arrivals of such rows
    planned_twice: int = 0       # rows beyond the first with a mark for one unit
    early: int = 0
    lateness_of: dict = dataclasses.field(default_factory=dict)  # ms of the first arrival of each unit, by due second
    lateness_slow_ms: array.array = dataclasses.field(default_factory=lambda: array.array("d"))  # those that came slow
    lateness_ms: array.array = dataclasses.field(default_factory=lambda: array.array("d"))  # of lateness_of, ascending
    walls: array.array = dataclasses.field(default_factory=lambda: array.array("q"))  # of the arrivals in the window
    last_arrival_us: int = 0
    longest_gap_ms: int = 0      # between two arrivals of the window; from its begin to the first one, too
    offences: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)  # what a reader of the figures must know besides

    def note_lateness(self, due_s, wall_us, is_slow):
        late_ms = wall_us / 1000 - due_s * 1000
        self.early += late_ms < 0
        if is_slow:
            self.lateness_slow_ms.append(late_ms)
        else:
            self.lateness_of.setdefault(due_s, array.array("d")).append(late_ms)

    def add(self, other):
        """Takes over what another verdict says of other jobs in the same window; finish() comes after."""
        for field in dataclasses.fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if field.name in ("from_s", "to_s"):
                continue
            if isinstance(mine, dict):
                for due_s, late in theirs.items():
                    mine.setdefault(due_s, array.array("d")).extend(late)
            elif isinstance(mine, int):
                setattr(self, field.name, mine + theirs)
            else:
                mine.extend(theirs)

    def finish(self):
        """What follows from all arrivals together."""
        self.lateness_ms = array.array("d", sorted(ms for late in self.lateness_of.values() for ms in late))
        self.lateness_slow_ms = array.array("d", sorted(self.lateness_slow_ms))
        before_us = self.from_s * 1_000_000
        for wall_us in sorted(self.walls):
            self.longest_gap_ms = max(self.longest_gap_ms, (wall_us - before_us) // 1000)
            before_us = self.last_arrival_us = wall_us


def percentile(ordered, share):
    """The smallest value that at least that share of all does not exceed; None of an empty list."""
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)] if ordered else None


def _row_index(row):
    """(index, total) from "2/5"; (0, 1) otherwise."""
    index, slash, total = (row.sharding or "").partition("/")
    return (int(index), int(total)) if slash and index.isdigit() and total.isdigit() else (0, 1)


class _Matcher:
    def __init__(self, jobs, rows, arrivals, from_s, to_s, has_arrivals, slow_ports):
        self.jobs = {job.job_id: job for job in jobs}
        self.rows = {row.log_id: row for row in rows}
        self.arrivals = arrivals
        self.has_arrivals = has_arrivals
        self.slow_ports = slow_ports
        self.units = collections.defaultdict(Unit)  # (job, due, index)
        self.totals = {}                            # (job, due): shards of a broadcast
        self.row_dues = {}                          # log id -> due, where an arrival told it
        self.marked_dues = collections.defaultdict(set)  # job -> due times in the window
        self.verdict = Verdict(from_s, to_s, jobs=len(self.jobs))

    def offend(self, kind, key, rows=(), arrivals=()):
        ids = sorted({row.log_id for row in rows} | {arrival.log_id for arrival in arrivals})
        self.verdict.offences.append(Offence(kind, key[0], key[1], key[2], ids))

    def in_window(self, due_s):
        return due_s is not None and self.verdict.from_s <= due_s < self.verdict.to_s

    def latest_due(self, job, *instants_ms):
        """The latest due time at or before the first of the instants that is one."""
        if job.schedule is None:
            return None
        for instant_ms in instants_ms:
            if instant_ms:
                return job.schedule.latest(instant_ms / 1000)
        return None

    def add(self, kind, item, job, due_s, index, total):
        if not job.broadcast:
            index, total = 0, 1
        key = job.job_id, due_s
        self.totals[key] = max(self.totals.get(key, 1), total)
        getattr(self.units[job.job_id, due_s, index], kind).append(item)

    def place_arrivals(self):
        verdict = self.verdict
        for arrival in sorted(self.arrivals, key=lambda a: (a.wall_us, a.log_id)):
            job = self.jobs.get(arrival.job_id)
            row = self.rows.get(arrival.log_id)
            if job is None:
                verdict.arrivals_of_other_jobs += 1
                continue
            if row is not None and row.is_direct:
                verdict.arrivals_direct += 1
                continue
            due_s = row.due_s if row is not None else None
            if due_s is None:
                # A clock of the admin that is ahead of the executor's must not point to a later due time.
                sent_ms = arrival.log_date_time_ms if arrival.log_date_time_ms <= arrival.wall_us // 1000 else 0
                due_s = self.latest_due(job, sent_ms, arrival.wall_us // 1000)
                self.row_dues[arrival.log_id] = due_s
            if not self.in_window(due_s):
                verdict.arrivals_outside += 1
                continue
            verdict.arrivals += 1
            verdict.walls.append(arrival.wall_us)
            if row is None:
                verdict.arrivals_without_row += 1
                self.offend("arrival without row", (job.job_id, due_s, arrival.index), arrivals=[arrival])
            self.add("arrivals", arrival, job, due_s, arrival.index, arrival.total)

    def place_rows(self):
        verdict = self.verdict
        for row in sorted(self.rows.values(), key=lambda r: r.log_id):
            job = self.jobs.get(row.job_id)
            if job is None or row.is_direct:
                continue
            due_s = row.due_s
            if due_s is not None:
                self.marked_dues[row.job_id].update([due_s] if self.in_window(due_s) else [])
            elif row.log_id in self.row_dues:
                due_s = self.row_dues[row.log_id]
            else:
                due_s = self.latest_due(job, row.trigger_s * 1000 if row.trigger_s else 0)
            if not self.in_window(due_s):
                continue
            index, total = _row_index(row)
            verdict.rows += 1
            verdict.open_rows += row.is_open
            verdict.results_ok += row.handle_code == 200
            if job.schedule is not None and job.schedule.latest(due_s) != due_s:
                verdict.rows_without_due += 1
                self.offend("row without due time", (job.job_id, due_s, index), rows=[row])
            self.add("rows", row, job, due_s, index, total)

    def expected(self):
        """Every unit that should have been executed."""
        for job in self.jobs.values():
            if job.schedule is not None:
                dues = job.schedule.between(self.verdict.from_s, self.verdict.to_s)
            elif job.job_id in self.marked_dues:
                dues = sorted(self.marked_dues[job.job_id])
            else:
                self.verdict.jobs_without_dues += 1
                continue
            for due_s in dues:
                for index in range(self.totals.get((job.job_id, due_s), 1)):
                    yield job.job_id, due_s, index

    def judge(self, key, unit):
        verdict = self.verdict
        marked = sum(row.due_s is not None for row in unit.rows)
        if marked > 1:
            verdict.planned_twice += marked - 1
            self.offend("planned twice", key, unit.rows)
        # Without files of arrivals a row that the executor accepted stands for one.
        fired = unit.arrivals if self.has_arrivals else [row for row in unit.rows
                                                         if row.trigger_code == 200 or row.handle_code == 200]
        if len(fired) > 1:
            verdict.doubled += len(fired) - 1
            self.offend("doubled", key, unit.rows, unit.arrivals)
        if fired:
            verdict.delivered += 1
            verdict.results_failed += any(row.has_failed for row in unit.rows)
            if unit.arrivals:
                first = unit.arrivals[0]
                verdict.note_lateness(key[1], first.wall_us, first.port in self.slow_ports)
        elif any(row.says_unknown for row in unit.rows):
            verdict.unknown += 1
            self.offend("delivery unknown", key, unit.rows)
        elif any(row.has_failed for row in unit.rows):
            verdict.failed += 1
            self.offend("failed", key, unit.rows)
        elif any(row.handle_code == 200 for row in unit.rows):
            verdict.result_without_arrival += 1
            self.offend("result without arrival", key, unit.rows)
        else:
            verdict.lost += 1
            self.offend("lost, its row is open" if unit.rows else "lost", key, unit.rows)

    def run(self):
        self.place_arrivals()
        self.place_rows()
        for key in self.expected():
            self.verdict.due += 1
            self.judge(key, self.units.pop(key, None) or Unit())
        # What is left arrived, or was planned, for a second at which the job was not due.
        for key, unit in self.units.items():
            if unit.arrivals:
                self.verdict.fired_without_due += len(unit.arrivals)
                self.offend("fired without due time", key, unit.rows, unit.arrivals)
        return self.verdict


def match(jobs, rows, arrivals, from_s, to_s, has_arrivals=True, slow_ports=frozenset()):
    """Verdict on the due times from from_s on and before to_s; not finished yet.

    `rows` may reach beyond the window, and must hold the rows of all arrivals that have one. The lateness of what came
    to the ports of `slow_ports` is kept apart.
    """
    return _Matcher(jobs, rows, arrivals, from_s, to_s, has_arrivals, slow_ports).run()
