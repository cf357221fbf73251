# SPDX-License-Identifier: MIT
"""Due times from schedules."""

import stat

import pytest

from benchlib import dues

T = 1_700_000_040  # a whole minute


@pytest.mark.parametrize("expression, seconds", [
    ("30 * * * * ?", [30]),
    ("3/10 * * * * ?", [3, 13, 23, 33, 43, 53]),
    ("0/30 * * * * ? *", [0, 30]),
    ("*/20 * * ? * *", [0, 20, 40]),
    ("/20 * * * * ?", [0, 20, 40]),
    ("5,1,58/1 * * * * ?", [1, 5, 58, 59]),
    ("10-13 * * * * ?", [10, 11, 12, 13]),
    ("10-20/5 * * * * ?", [10, 15, 20]),
    ("* * * * * ?", list(range(60))),
])
def test_seconds_of_minute(expression, seconds):
    assert dues.seconds_of(expression).seconds == seconds


@pytest.mark.parametrize("expression", [
    "0 0 * * * ?", "0 * 3 * * ?", "0 * * 1 * ?", "0 * * * 2 ?", "0 * * ? * MON", "0 * * * * ? 2030", "60 * * * * ?",
    "x * * * * ?", "/ * * * * ?", "1/0 * * * * ?", "20-10 * * * * ?", "0 * * * *", "0 * * * * *", "0 * * ? * ?", "",
])
def test_all_else_is_left_to_the_tool(expression):
    assert dues.seconds_of(expression) is None


def test_latest_and_between():
    schedule = dues.SecondsOfMinute([10, 40])
    assert [schedule.latest(T + s) for s in (9.999, 10, 10.5, 39.9, 40, 69.9)] == \
        [T - 20, T + 10, T + 10, T + 10, T + 40, T + 40]
    assert schedule.between(T + 10, T + 100) == [T + 10, T + 40, T + 70]
    assert schedule.between(T + 11, T + 40) == []
    listed = dues.Listed([T, T + 100])
    assert [listed.latest(s) for s in (T - 1, T, T + 99.9, T + 100)] == [None, T, T, T + 100]
    assert listed.between(T, T + 100) == [T]


@pytest.fixture
def tool(tmp_path):
    """Knows one expression: every 100 s. Refuses all others."""
    path = tmp_path / "tool"
    path.write_text('#!/bin/sh\n[ "$1 $2 $3" = "next 0 0 * * * ? Asia/Tokyo" ] || { echo "bad: $2" >&2; exit 2; }\n'
                    'n=$(( ($4 / 100000 + 1) * 100000 ))\n'
                    'i=0; while [ $i -lt $5 ]; do echo $n; n=$((n + 100000)); i=$((i + 1)); done\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_other_expressions_are_asked_of_the_tool(tool):
    start = 1_700_000_000
    schedules = dues.Schedules(start, start + 150_000, tool, "Asia/Tokyo")
    found = schedules.of("CRON", "0 0 * * * ?")
    assert found.dues == list(range(start, start + 150_000, 100)), "more than one page, the first second included"
    assert schedules.of("CRON", "0 0 * * * ?") is found
    assert schedules.of("CRON", "1 1 1 1 1 ?") is None and schedules.of("CRON", "1 1 1 1 1 ?") is None
    assert len(schedules.refused) == 1 and "bad: 1 1 1 1 1 ?" in schedules.refused[0]


def test_what_has_no_due_times_to_know():
    schedules = dues.Schedules(T, T + 60)
    assert schedules.of("FIX_RATE", "10") is None and schedules.of("NONE", "") is None
    assert schedules.of("CRON", "0 0 3 * * ?") is None and schedules.of("CRON", None) is None
