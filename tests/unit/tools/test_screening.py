# SPDX-License-Identifier: MIT
"""What is sorted out fast must be judged as the matching of everything judges it."""

import dataclasses
import random

import pytest

from benchlib import auditing, dues, matching, screening

T = 1_700_000_040  # a whole minute
SECONDS = 40


def plain(verdict):
    verdict.finish()
    values = {field.name: getattr(verdict, field.name) for field in dataclasses.fields(verdict)}
    values["lateness_of"] = {due_s: sorted(late) for due_s, late in sorted(verdict.lateness_of.items())}
    values["walls"] = sorted(verdict.walls)
    values["offences"] = sorted((o.kind, o.job_id, o.due_s, o.index, o.log_ids) for o in verdict.offences)
    return values


def is_clean(row):
    return row.trigger_code == 200 and row.handle_code == 200 and row.due_s is not None


def screened(jobs, rows, arrivals, slow_ports):
    """As auditing.audit() does it, with lists for the database and the file: (verdict, ids that were not clean)"""
    screen = screening.Screen(jobs, T, T + SECONDS, min(row.log_id for row in rows), max(row.log_id for row in rows))
    screen.blame(row.job_id for row in rows if not is_clean(row))
    screen.take_rows(number for row in rows if is_clean(row) for number in (row.log_id, row.job_id, row.due_s))
    for a in arrivals:
        screen.take_arrival(a.wall_us, a.log_id, a.job_id, a.port in slow_ports)
    verdict, ids = screen.finish()
    verdict.add(matching.match([job for job in jobs if job.job_id in ids], [row for row in rows if row.job_id in ids],
                               [a for a in arrivals if a.job_id in ids], T, T + SECONDS, slow_ports=slow_ports))
    return verdict, ids


class World:
    """A run in which now and then something goes wrong."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.jobs, self.rows, self.arrivals = [], [], []
        self.next_id = 100
        for job_id in range(1, 41):
            seconds = self.chance.choice([range(job_id % 10, 60, 10), [job_id % 60], range(0, 60, 7)])
            self.jobs.append(matching.Job(job_id, dues.SecondsOfMinute(seconds) if job_id != 7 else None, job_id == 8))
            for due_s in dues.SecondsOfMinute(seconds).between(T - 10, T + SECONDS + 10):
                self.fire(job_id, due_s)
        self.chance.shuffle(self.arrivals)

    def fire(self, job_id, due_s):
        mishap = self.chance.randrange(60)
        copies = 2 if mishap == 0 else 1  # two rows
        for _ in range(copies):
            row = self.row(job_id, due_s)
            if mishap == 1:
                row.handle_code = 0
            elif mishap == 2:
                row.trigger_code = 500
            elif mishap == 3:
                row.mark = "text"
            if mishap == 4:
                self.rows.pop()
            for _ in range(0 if mishap == 5 else 2 if mishap == 6 else 1):
                self.arrivals.append(matching.Arrival(
                    due_s * 1_000_000 + self.chance.randrange(-1000, 900_000),
                    self.chance.choice([5, self.next_id + 10_000]) if mishap == 7 else row.log_id,
                    999 if mishap == 8 else job_id % 40 + 1 if mishap == 9 else job_id, due_s * 1000, 0, 1,
                    20000 + self.chance.randrange(3)))
        if mishap == 10:
            self.row(job_id, due_s + 1)  # a row for a second that is not due

    def row(self, job_id, due_s):
        self.rows.append(matching.Row(self.next_id, job_id, due_s, 200, 200, f"<!--sw:p:{due_s}:3-->text"))
        self.next_id += self.chance.randrange(1, 3)
        return self.rows[-1]


@pytest.mark.parametrize("seed", range(40))
def test_the_verdict_is_that_of_matching_everything(seed):
    world = World(seed)
    slow_ports = {20001}
    verdict, ids = screened(world.jobs, world.rows, world.arrivals, slow_ports)
    whole = matching.match(world.jobs, world.rows, world.arrivals, T, T + SECONDS, slow_ports=slow_ports)
    assert plain(verdict) == plain(whole)
    assert 5 < len(ids) < 40, "some jobs must be clean, and some not"


def test_a_good_run_leaves_nothing_to_match():
    schedule = dues.SecondsOfMinute(range(3, 60, 10))
    jobs = [matching.Job(job_id, schedule) for job_id in range(1, 101)]
    rows = [matching.Row(job_id * 10 + number, job_id, due_s, 200, 200, f"<!--sw:p:{due_s}:3-->")
            for job_id in range(1, 101) for number, due_s in enumerate(schedule.between(T, T + SECONDS))]
    arrivals = [matching.Arrival((row.trigger_s + 1) * 1_000_000, row.log_id, row.job_id) for row in rows]
    verdict, ids = screened(jobs, rows, arrivals, set())
    assert not ids
    assert (verdict.due, verdict.delivered, verdict.results_ok, len(verdict.walls)) == (400, 400, 400, 400)


def test_arrivals_between_two_moments(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",".join(auditing.COLUMNS) + "\n"
                    + "".join(f"{at},1,1,0,0,1,1,h\n" for at in (5, 10, 19, 20)) + "12")
    assert auditing.count_between(path, 10, 20) == 3


def test_lateness_by_due_second():
    verdict = matching.Verdict(T, T + 3)
    for late_ms in range(1, 101):
        verdict.note_lateness(T + 2, (T + 2) * 1_000_000 + late_ms * 1000, False)
    verdict.note_lateness(T, T * 1_000_000 + 7000, False)
    verdict.note_lateness(T + 1, (T + 1) * 1_000_000 + 9_000_000, True)
    verdict.finish()
    assert auditing.by_second(verdict) == [[0, 1, 7, 7, 7], [2, 100, 50, 99, 100]]
    assert list(verdict.lateness_slow_ms) == [9000]
