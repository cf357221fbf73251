# SPDX-License-Identifier: MIT
"""Matches steps of flow runs with what the executor received and told. Pure: values in, verdict out."""

import collections
import dataclasses
import re

_MARK = re.compile(r"<!--sw:d:[^:]+:\d+:W(\d+)\.(\d+)-->")


def step_of(mark):
    """(run, step) from the head of a row's trigger_msg; None if it is of no flow."""
    found = _MARK.match(mark or "")
    return (int(found[1]), int(found[2])) if found else None


@dataclasses.dataclass
class Verdict:
    runs: int = 0
    steps: int = 0       # that had to be sent
    lost: int = 0        # never arrived
    doubled: int = 0     # arrivals beyond the first one
    start_ms: list = dataclasses.field(default_factory=list)  # from the row of a run to the arrival of its first step
    gap_ms: list = dataclasses.field(default_factory=list)    # from a confirmed end to the arrival of the next step


def _first_arrivals(steps, arrivals, verdict):
    """{(run, step): moment}"""
    first, count = {}, collections.Counter()
    for wall_us, log_id in arrivals:
        place = steps.get(log_id)
        if place is not None:
            count[place] += 1
            first[place] = min(wall_us, first.get(place, wall_us))
    verdict.doubled += sum(n - 1 for n in count.values())
    return first


def match_lines(runs, length, steps, arrivals, confirmed, from_us=0):
    """
    Runs of `length` steps in a line. runs: {id: created us}; steps: {log id: (run, step)}; arrivals: [(us, log id)];
    confirmed: {log id: us}. Only runs that were created from from_us on are measured; all are counted.
    """
    verdict = Verdict(runs=len(runs), steps=len(runs) * length)
    first = _first_arrivals(steps, arrivals, verdict)
    told = {steps[log_id]: us for log_id, us in confirmed.items() if log_id in steps}
    for run, created_us in runs.items():
        for step in range(length):
            at_us = first.get((run, step))
            if at_us is None:
                verdict.lost += 1
            elif created_us >= from_us and step == 0:
                verdict.start_ms.append((at_us - created_us) / 1000)
            elif created_us >= from_us and (run, step - 1) in told:
                verdict.gap_ms.append((at_us - told[run, step - 1]) / 1000)
    verdict.start_ms.sort()
    verdict.gap_ms.sort()
    return verdict


def match_map(items, parallel, arrivals, confirmed):
    """One map: its arrivals are [(us, log id)] of one row for each item. The k-th end makes room for one item more."""
    verdict = Verdict(runs=1, steps=items)
    times = sorted(us for us, _ in arrivals)
    distinct = len({log_id for _, log_id in arrivals})
    verdict.lost = max(0, items - distinct)
    verdict.doubled = len(times) - distinct + max(0, distinct - items)
    ends = sorted(confirmed.values())
    verdict.gap_ms = sorted((at - end) / 1000 for at, end in zip(times[parallel:], ends))
    return verdict
