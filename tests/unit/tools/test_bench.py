# SPDX-License-Identifier: MIT
"""The parts of the bench that need no admin: loads, figures, tables, processes, messages."""

import collections
import datetime
import json
import os
import pathlib
import socket
import subprocess
import sys

import pytest

from benchlib import dues, measure, proc, scenario, table

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_steady_jobs_are_due_at_the_same_rate_each_second():
    expressions = scenario.STEADY_PATTERN * 7
    start_s = 1_700_000_040
    per_second = collections.Counter(
        due for expression in expressions for due in dues.seconds_of(expression).between(start_s, start_s + 20))
    assert per_second == {start_s + second: 7 for second in range(20)}
    first = scenario.steady_first(start_s)
    assert all(dues.seconds_of(e).between(start_s, start_s + 60)[0] == first[e] for e in expressions)


def test_a_burst_is_due_at_its_second():
    due_s = 1_700_000_057
    assert dues.seconds_of(scenario.burst_expression(due_s)).between(due_s - 40, due_s + 59) == [due_s]


def snapshot(wall_s, cpu_s, **status):
    return measure.Snapshot(wall_s * 1_000_000, proc.Usage(cpu_s, 50 * 2**20), None, status)


def test_figures_are_per_fire():
    figures = measure.difference(snapshot(100, 2.0, Questions=1000, Handler_update=10),
                                 snapshot(110, 5.0, Questions=5000, Handler_update=4010, Com_commit=3), 2000)
    assert figures["admin_cpu_s_per_1000"] == 1.5 and figures["database_cpu_s_per_1000"] is None
    assert figures["statements_per_fire"] == 2 and figures["rows_updated_per_fire"] == 2
    assert figures["commits_per_fire"] is None and figures["binlog_bytes_per_fire"] is None
    assert figures["measured_s"] == 10 and figures["admin_rss_mb"] == 50


def test_rows_as_innodb_counts_them_come_first():
    figures = measure.difference(snapshot(0, 0, Innodb_rows_inserted=0, Handler_write=0),
                                 snapshot(1, 1, Innodb_rows_inserted=10, Handler_write=99), 10)
    assert figures["rows_inserted_per_fire"] == 1


def test_an_admin_that_was_started_anew_has_no_cpu_figure():
    assert measure.difference(snapshot(0, 9.0), snapshot(1, 1.0), 10)["admin_cpu_s_per_1000"] is None
    assert measure.difference(snapshot(0, 1.0), snapshot(1, 2.0), 0)["admin_cpu_s_per_1000"] is None


@pytest.fixture
def parent():
    """A process with two children; their pids. All end with their input."""
    code = ("import subprocess, sys\n"
            "children = [subprocess.Popen(['cat'], stdin=subprocess.PIPE), "
            "subprocess.Popen(['tail', '-f', '/dev/null'])]\n"
            "print(*[child.pid for child in children], flush=True)\n"
            "sys.stdin.read()\n"
            "for child in children: child.kill()\n")
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    children = [int(pid) for pid in process.stdout.readline().split()]
    yield process.pid, children
    process.communicate()


def test_children_are_followed_but_for_those_left_out(parent):
    pid, (cat, tail) = parent
    # A child bears the name of its parent until it has become the other program: wait for that.
    while proc.process_name(cat) != "cat" or proc.process_name(tail) != "tail":
        os.sched_yield()
    assert sorted(proc.family(pid)) == sorted([pid, cat, tail])
    assert sorted(proc.family(pid, ["tail"])) == sorted([pid, cat])
    assert proc.usage(pid).rss_bytes > proc.usage(pid, ["tail"]).rss_bytes > 0
    assert proc.usage(2**22 + 1) is None and proc.process_name(2**22 + 1) is None


def test_cpu_seconds_grow_with_work():
    before = proc.usage(os.getpid()).cpu_s
    while os.times().user + os.times().system < before + 0.2:
        sum(range(10000))
    assert proc.usage(os.getpid()).cpu_s >= before + 0.1


def test_free_ports_are_free_and_consecutive():
    first = proc.find_free_ports(20)
    sockets = [socket.create_server(("127.0.0.1", port)) for port in range(first, first + 20)]
    for sock in sockets:
        sock.close()


def result(**more):
    return {"scenario": "steady", "rate": 500, "jobs": 5000, "label": None, "due": 100, "lost": 0,
            "doubled": 0, "late_ms": {"p99": 250.5}, **more}


def test_a_table_shows_what_there_is():
    text = table.one(result(label="x"))
    assert text.startswith("x: 500 fires/s\n")
    lines = {line[2:34].strip(): line[34:].strip() for line in text.splitlines()[1:]}
    assert lines["executions due"] == "100" and lines["late p99 ms"] == "250.5" and lines["delivered"] == "-"


def test_runs_of_the_same_load_are_compared(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text(json.dumps(result()) + "\n\n" + json.dumps(result(rate=1000)) + "\n")
    second.write_text(json.dumps(result(due=1)) + "\n" + json.dumps(result(due=50, lost=3)) + "\n")
    text = table.compare(first, second)
    assert "500 fires/s" in text and "1,000 fires/s" not in text
    rows = {line[2:34].strip(): line[34:].split() for line in text.splitlines()}
    assert rows["executions due"] == ["100", "50", "x", "0.50"] and rows["lost"] == ["0", "3", "new"]


def test_files_that_are_no_results_are_named(tmp_path):
    path = tmp_path / "a"
    for text, message in (("", "holds no result"), (json.dumps(result()) + "\n{}\n", "line 2 is no result"),
                          ("nonsense\n", "line 1 is no result")):
        path.write_text(text)
        with pytest.raises(ValueError, match=f"{path}.*{message}"):
            table.compare(path, path)


def test_repeated_runs_become_medians_with_their_spread(tmp_path):
    path = tmp_path / "a"
    path.write_text("".join(json.dumps(one) + "\n" for one in (
        result(results_committed=100, late_ms={"p99": 250.5}),
        result(results_committed=99, late_ms={"p99": 20}, lost=1),
        result(results_committed=100, late_ms={"p99": 30}, statements_per_fire=0.04),
        {"scenario": "beats", "executors": 1000, "rate": None, "jobs": 0, "lost": 0, "doubled": 0, "beat_s": 0.25})))
    head, _, row, blank, beats_head, _, beats = table.summary([path]).splitlines()
    cells = dict(zip(head.strip("| ").split(" | "), row.strip("| ").split(" | ")))
    assert (cells["steady"], cells["runs"], cells["lost"], cells["doubled"]) == ("500 fires/s", "3", "1", "0")
    assert cells["late p99 ms"] == "30 (20–250)" and cells["late p50 ms"] == "-"
    assert cells["results committed"] == "299 of 300" and cells["SQL statements per 100"] == "4.0"
    assert blank == "" and beats_head.startswith("| beats |")
    assert beats.startswith("| 1,000 executors beat at once | 1 |")


def test_loads_with_and_without_the_index_are_not_the_same():
    with_index = {"scenario": "jobs", "jobs": 10, "rate": 5, "index": True}
    assert table.key(with_index) != table.key({**with_index, "index": False})
    assert table.title(with_index) == "10 enabled jobs, 5 fires/s, with our index"


def test_idle_jobs_are_due_in_half_a_day():
    now_s = 1_700_000_040
    for hours in (0, 8, -5):
        zone = datetime.timezone(datetime.timedelta(hours=hours))
        expression, due_s = scenario.idle_expression(now_s, zone)
        local = datetime.datetime.fromtimestamp(due_s, zone)
        assert expression == f"0 0 {local.hour} * * ?" and local.minute == local.second == 0
        assert now_s + 10 * 3600 < due_s <= now_s + 12 * 3600


@pytest.mark.parametrize("words, message", [
    (["audit", "--db", "mysql://h/d", "--from", "5", "--to", "5"], "--to must be later than --from"),
    (["audit", "--db", "oracle://h/d", "--from", "5", "--to", "6"], "'oracle://h/d' is no database URL"),
    (["audit", "--db", "mysql://h/d", "--from", "5", "--to", "6", "--jobs", "1,x"], "'x' is neither a job id"),
    (["audit", "--db", "mysql://h/d?socket=/nonexistent", "--from", "5", "--to", "6"], "/nonexistent"),
    (["bench", "steady", "--rate", "0"], "'0' is not 1 or more"),
    (["bench", "burst", "--jobs", "1", "--db", "mysql://h/d", "--admin-url", "ftp://h", "--executor", "x"],
     "--admin-url: 'ftp://h' is not http://"),
    (["bench", "compare", "/nonexistent", "/nonexistent"], "/nonexistent"),
])
def test_bad_input_ends_with_2_and_says_why(words, message):
    done = subprocess.run([str(ROOT / "tools" / words[0]), *words[1:]], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
