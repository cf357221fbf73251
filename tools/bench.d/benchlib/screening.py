# SPDX-License-Identifier: MIT
"""Sorts out, fast and in little memory, the jobs of a run about which there is nothing to say.

A job is clean if every one of its rows is marked as planned and ended well, and every due second of the window has
exactly one row and one arrival of that row. Long runs have millions of those; whatever else there is, is left to
matching.py, with all rows and arrivals of the jobs that it concerns.
"""

import array
import collections

from benchlib import matching

IDS_AT_A_TIME = 50000
IDS_MOST = 200_000_000  # of the range of row ids: eight bytes each
NO_ROW = -1
# Ended well, and the due second is the ten digits behind the mark's head (an ":O..." in the mark would name another
# one). No regular expression: it would cost more than all the rest.
CLEAN = ("trigger_code = 200 AND handle_code = 200 AND trigger_msg LIKE '<!--sw:p:1_________:%%-->%%' "
         "AND LOCATE(':O', LEFT(trigger_msg, 64)) = 0")


class Screen:
    """Takes rows first, then arrivals; finish() says which jobs are not clean."""

    def __init__(self, jobs, from_s, to_s, first_id, last_id):
        self.from_s = from_s
        self.width = to_s - from_s
        self.first_id = first_id
        self.jobs = [job for job in jobs if job.schedule is not None and not job.broadcast]
        self.position = {job.job_id: position for position, job in enumerate(self.jobs)}
        self.known = {job.job_id for job in jobs}
        self.suspects = self.known - set(self.position)
        self.has_row = bytearray(len(self.jobs) * self.width)
        self.has_arrived = bytearray(len(self.has_row))
        self.slot_of = array.array("q", [NO_ROW]) * (last_id - first_id + 1)
        self.moments = {False: (array.array("q"), array.array("q")), True: (array.array("q"), array.array("q"))}
        self.outside = collections.Counter()
        self.foreign = 0

    def blame(self, job_ids):
        """Jobs with a row that is not clean."""
        self.suspects.update(job_id for job_id in job_ids if job_id in self.known)

    def take_rows(self, numbers):
        """Clean rows, as a flat list of id, job and due second."""
        position, has_row, slot_of, width = self.position, self.has_row, self.slot_of, self.width
        each = iter(numbers)
        for log_id, job_id, due_s in zip(each, each, each):
            at = position.get(job_id)
            if at is None:
                continue
            offset = due_s - self.from_s
            if 0 <= offset < width:
                slot = at * width + offset
                if has_row[slot]:
                    self.suspects.add(job_id)
                has_row[slot] = 1
                slot_of[log_id - self.first_id] = slot
            else:
                slot_of[log_id - self.first_id] = NO_ROW - 1 - at  # not in the window

    def take_arrival(self, wall_us, log_id, job_id, is_slow):
        """`is_slow`: it came to an address whose lateness is kept apart."""
        at = self.position.get(job_id)
        if at is None:
            self.foreign += job_id not in self.known
            return
        index = log_id - self.first_id
        slot = self.slot_of[index] if 0 <= index < len(self.slot_of) else NO_ROW
        owner = slot // self.width if slot >= 0 else NO_ROW - 1 - slot
        if owner != at:  # no clean row, or another job's
            self.suspects.add(job_id)
            if slot != NO_ROW:
                self.suspects.add(self.jobs[owner].job_id)
        elif slot < 0:
            self.outside[job_id] += 1
        elif self.has_arrived[slot]:
            self.suspects.add(job_id)
        else:
            self.has_arrived[slot] = 1
            walls, slots = self.moments[is_slow]
            walls.append(wall_us)
            slots.append(slot)

    def _expected(self, job, templates):
        template = templates.get(id(job.schedule))
        if template is None:
            template = bytearray(self.width)
            for due_s in job.schedule.between(self.from_s, self.from_s + self.width):
                template[due_s - self.from_s] = 1
            templates[id(job.schedule)] = template
        return template

    def finish(self):
        """(verdict on the clean jobs, ids of the others)"""
        verdict = matching.Verdict(self.from_s, self.from_s + self.width)
        templates = {}
        clean = bytearray(len(self.jobs))
        for at, job in enumerate(self.jobs):
            template = self._expected(job, templates)
            begin, end = at * self.width, (at + 1) * self.width
            if job.job_id not in self.suspects and self.has_row[begin:end] == template == self.has_arrived[begin:end]:
                clean[at] = 1
                verdict.jobs += 1
                verdict.due += template.count(1)
                verdict.arrivals_outside += self.outside[job.job_id]
            else:
                self.suspects.add(job.job_id)
        verdict.delivered = verdict.results_ok = verdict.rows = verdict.arrivals = verdict.due
        verdict.arrivals_of_other_jobs = self.foreign
        for is_slow, (walls, slots) in self.moments.items():
            for wall_us, slot in zip(walls, slots):
                at = slot // self.width
                if clean[at]:
                    verdict.walls.append(wall_us)
                    verdict.note_lateness(self.from_s + slot - at * self.width, wall_us, is_slow)
        return verdict, self.suspects


def load(connection, screen, bounds, last_id):
    """Gives the screen all rows whose trigger_time is within the bounds."""
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION group_concat_max_len = 16777216")
        for start in range(screen.first_id, last_id + 1, IDS_AT_A_TIME):
            cursor.execute(
                f"SELECT GROUP_CONCAT(IF({CLEAN}, CONCAT_WS(',', id, job_id, SUBSTRING(trigger_msg, 10, 10)), NULL)), "
                f"GROUP_CONCAT(DISTINCT IF({CLEAN}, NULL, job_id)) FROM xxl_job_log FORCE INDEX (PRIMARY) "
                "WHERE id >= %s AND id < %s AND trigger_time BETWEEN %s AND %s",
                [start, min(start + IDS_AT_A_TIME, last_id + 1), *bounds])  # rows may be added meanwhile
            rows, others = cursor.fetchone()
            screen.blame(map(int, others.split(",")) if others else ())
            screen.take_rows(map(int, rows.split(",")) if rows else ())


def id_range(connection, bounds):
    """(first, last) id of the rows within the bounds; None if there are none, or too many to keep an array for."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT MIN(id), MAX(id) FROM xxl_job_log WHERE trigger_time BETWEEN %s AND %s", bounds)
        first, last = cursor.fetchone()
    return None if first is None or last - first >= IDS_MOST else (first, last)
