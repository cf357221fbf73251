# SPDX-License-Identifier: MIT
"""The guard of the hot paths: what it lets pass and what it does not."""

import pathlib
import re
import subprocess

import pytest

from benchlib import instructions

ROOT = pathlib.Path(__file__).resolve().parents[3]


def judge(old, new):
    lines, good = instructions.compare({"cron": old, "wheel": 50.0}, {"cron": new, "wheel": 50.0})
    return next(line for line in lines if line.startswith("cron")), good


@pytest.mark.parametrize("new", [901, 1000, 1099])
def test_a_tenth_more_or_less_passes(new):
    line, good = judge(1000, new)
    assert good and not re.search("[A-Z]{3}", line)


@pytest.mark.parametrize("new, word, change", [(1200, "DEARER", "+20.0%"), (1110, "DEARER", "+11.0%"),
                                               (800, "CHEAPER", "-20.0%")])
def test_more_than_that_fails_and_says_which_way(new, word, change):
    line, good = judge(1000, new)
    assert not good and word in line and change in line


def test_a_case_that_only_one_side_knows_fails():
    lines, good = instructions.compare({"old": 1.0}, {"new": 1.0})
    assert not good and "NOT MEASURED" in lines[2] and "NOT IN THE BASELINE" in lines[1]


def test_the_committed_baseline_has_every_case():
    machine, baseline = instructions.read_baseline(ROOT / "tests" / "perf" / "baseline.json")
    assert machine and set(baseline) == set(instructions.COUNTS) and all(count > 0 for count in baseline.values())


def test_a_baseline_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "b.json"
    instructions.write_baseline(path, {"cron": 12.5})
    assert instructions.read_baseline(path) == (instructions.platform.machine(), {"cron": 12.5})


def test_start_and_end_of_the_program_do_not_count(monkeypatch):
    monkeypatch.setattr(instructions, "count_once", lambda binary, case, count: 1_000_000 + 7 * count)
    assert set(instructions.count_all("x").values()) == {7.0}


def test_a_program_that_is_not_there_is_no_pass(tmp_path):
    done = subprocess.run([str(ROOT / "tests" / "perf" / "guard"), "--binary", str(tmp_path / "none")],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "guard:" in done.stderr and "Traceback" not in done.stderr
