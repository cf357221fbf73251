# SPDX-License-Identifier: MIT
"""Due times of a job, from its schedule.

Expressions that only choose seconds within the minute (`S * * * * ?` and its kin) are computed here: they mean the
same in every zone. For all others a program is asked, once per expression.
"""

import bisect
import subprocess


class SecondsOfMinute:
    """Due at fixed seconds of each minute."""

    def __init__(self, seconds):
        self.seconds = sorted(set(seconds))

    def latest(self, instant_s):
        """The last due second at or before an instant, in epoch seconds."""
        whole = int(instant_s // 1)
        minute = whole - whole % 60
        index = bisect.bisect_right(self.seconds, whole % 60)
        return minute + self.seconds[index - 1] if index else minute - 60 + self.seconds[-1]

    def between(self, from_s, to_s):
        """Due seconds from from_s on and before to_s."""
        dues = []
        for minute in range(from_s - from_s % 60, to_s, 60):
            dues.extend(minute + second for second in self.seconds if from_s <= minute + second < to_s)
        return dues


class Listed:
    """Due at the seconds of a list."""

    def __init__(self, dues):
        self.dues = sorted(set(dues))

    def latest(self, instant_s):
        index = bisect.bisect_right(self.dues, instant_s)
        return self.dues[index - 1] if index else None

    def between(self, from_s, to_s):
        return self.dues[bisect.bisect_left(self.dues, from_s):bisect.bisect_left(self.dues, to_s)]


def _number(text, least, most):
    if not text.isdigit() or not least <= int(text) <= most:
        raise ValueError(text)
    return int(text)


def _seconds_of_item(item):
    base, slash, step = item.partition("/")
    step = _number(step, 1, 59) if slash else None
    if base in ("*", "") and (step or base):
        return range(0, 60, step or 1)
    if "-" in base:
        first, last = (_number(part, 0, 59) for part in base.split("-", 1))
        if first > last:
            raise ValueError(item)
        return range(first, last + 1, step or 1)
    first = _number(base, 0, 59)
    return range(first, 60, step) if step else [first]


def seconds_of(expression):
    """SecondsOfMinute for an expression that chooses seconds only; None for all others, wrong ones too."""
    fields = expression.split()
    if len(fields) == 7 and fields.pop() != "*":
        return None
    if len(fields) != 6 or fields[1:3] != ["*", "*"] or fields[4] != "*" or sorted(fields[3:6:2]) != ["*", "?"]:
        return None
    try:
        return SecondsOfMinute(second for item in fields[0].split(",") for second in _seconds_of_item(item))
    except ValueError:
        return None


def ask_tool(tool, expression, zone, from_s, to_s):
    """Due times from `TOOL next EXPRESSION ZONE FROM_MS COUNT`, which prints those after FROM_MS, a line each."""
    dues = []
    after_ms = from_s * 1000 - 1
    count = 1000
    while True:
        done = subprocess.run([tool, "next", expression, zone, str(after_ms), str(count)], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise ValueError(f"{tool} next '{expression}' {zone}: {done.stderr.strip() or done.stdout.strip()}")
        batch = [int(line) for line in done.stdout.split()]
        dues.extend(due // 1000 for due in batch if due < to_s * 1000)
        if len(batch) < count or batch[-1] >= to_s * 1000:
            return Listed(dues)
        after_ms = batch[-1]


class Schedules:
    """Due times of jobs by their schedule; each expression is worked out once."""

    def __init__(self, from_s, to_s, cron_tool=None, zone="UTC"):
        self._range = from_s, to_s
        self._tool = cron_tool
        self._zone = zone
        self._known = {}
        self.refused = []  # what the tool said of expressions that it does not take

    def of(self, schedule_type, conf):
        """An object with latest() and between(); None if due times cannot be known from outside."""
        if schedule_type != "CRON" or not conf:
            return None
        if conf not in self._known:
            found = seconds_of(conf)
            if found is None and self._tool:
                try:
                    found = ask_tool(self._tool, conf, self._zone, *self._range)
                except ValueError as error:  # a job with a broken schedule must not hide all others
                    self.refused.append(str(error))
            self._known[conf] = found
        return self._known[conf]
