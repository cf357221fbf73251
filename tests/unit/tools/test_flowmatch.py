# SPDX-License-Identifier: MIT
"""What counts as lost, doubled and late of steps of flow runs."""

from benchlib import flowmatch

STEPS = {11: (1, 0), 12: (1, 1), 21: (2, 0), 22: (2, 1)}
RUNS = {1: 1_000_000, 2: 2_000_000}
ARRIVALS = [(1_010_000, 11), (1_050_000, 12), (2_020_000, 21), (2_090_000, 22)]
CONFIRMED = {11: 1_030_000, 12: 1_060_000, 21: 2_040_000}


def test_marks():
    assert flowmatch.step_of("<!--sw:d:a-b:1700000000:W12.3-->text") == (12, 3)
    assert flowmatch.step_of("<!--sw:d:a-b:1700000000:M-->text") is None and flowmatch.step_of(None) is None


def test_each_step_once_is_all_well():
    verdict = flowmatch.match_lines(RUNS, 2, STEPS, ARRIVALS, CONFIRMED)
    assert (verdict.runs, verdict.steps, verdict.lost, verdict.doubled) == (2, 4, 0, 0)
    assert (verdict.start_ms, verdict.gap_ms) == ([10, 20], [20, 50])
    assert flowmatch.match_lines(RUNS, 2, STEPS, ARRIVALS, CONFIRMED, 1_500_000).gap_ms == [50]


def test_what_never_came_is_lost_and_what_came_twice_is_doubled():
    assert flowmatch.match_lines(RUNS, 2, STEPS, ARRIVALS[:-1], CONFIRMED).lost == 1
    assert flowmatch.match_lines(RUNS, 2, STEPS, ARRIVALS + ARRIVALS[:1], CONFIRMED).doubled == 1
    twice = {**STEPS, 13: (1, 1)}  # two rows for one step
    assert flowmatch.match_lines(RUNS, 2, twice, ARRIVALS + [(1_060_000, 13)], CONFIRMED).doubled == 1


def test_ends_of_items_make_room_for_others():
    arrivals = [(10_000, 1), (11_000, 2), (30_000, 3), (50_000, 4)]
    verdict = flowmatch.match_map(4, 2, arrivals, {1: 20_000, 2: 35_000, 3: 60_000, 4: 70_000})
    assert (verdict.lost, verdict.doubled, verdict.gap_ms) == (0, 0, [10, 15])
    assert flowmatch.match_map(5, 2, arrivals, {}).lost == 1
    assert flowmatch.match_map(3, 2, arrivals, {}).doubled == 1
    assert flowmatch.match_map(4, 2, arrivals + arrivals[:1], {}).doubled == 1
