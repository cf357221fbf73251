# SPDX-License-Identifier: MIT
"""The parts of `bench scale` that need no servers: what it concludes from figures, where it looks next, its tables."""

import argparse
import http.server
import json
import pathlib
import socket
import subprocess
import threading
import time

import pytest

from benchlib import cluster, dues, matching, scale, scaletable, scenario

ROOT = pathlib.Path(__file__).resolve().parents[3]


def steady(**more):
    return {"scenario": "scale-steady", "shards": 2, "nodes": 1, "run": 1, "rate": 1000, "due": 100, "delivered": 100,
            "lost": 0, "doubled": 0, "fired_without_due": 0, "unknown": 0, "failed": 0, "open_rows": 0,
            "results_in_window": 90,
            "late_ms": {"p50": 20.0, "p99": 999.9}, "late_p50_halves_ms": [100.0, 200.0], "faults": [],
            "admin_cpu_s_per_1000": 0.1, "database_cpu_s_per_1000": 0.2, "cores_busy_percent": 50, **more}


def planning(**more):
    return {"scenario": "scale-planning", "shards": 2, "nodes": 1, "run": 1, "rate": None, "due": 50, "lost": 0,
            "doubled": 0, "late_ms": {}, "planned_per_s": 8049, **more}


@pytest.mark.parametrize("more, faults", [
    ({}, []),
    ({"lost": 1}, ["1 lost"]), ({"doubled": 2}, ["2 doubled"]),
    ({"fired_without_due": 1}, ["1 fired without being due"]), ({"unknown": 3}, ["3 of unknown delivery"]),
    ({"failed": 4}, ["4 failed"]), ({"open_rows": 5}, ["5 without result"]),
    ({"results_in_window": 89}, ["results fall behind: 89 in the time of 100 fires"]),
    ({"delivered": 99}, ["99 of 100 delivered"]),
    ({"late_ms": {"p99": 1000.0}}, ["p99 1,000 ms"]),
    ({"late_p50_halves_ms": [100.0, 200.1]}, ["grows later: p50 100 ms, then 200 ms"]),
    ({"delivered": 0, "late_ms": {}, "late_p50_halves_ms": [None, None]}, ["0 of 100 delivered"]),
    ({"due": 0, "delivered": 0, "late_ms": {}, "late_p50_halves_ms": [None, None]}, ["nothing was due"]),
])
def test_a_rate_is_sustained_if_all_came_in_time_and_no_later_and_later(more, faults):
    assert scale.find_faults(steady(**more)) == faults


def test_halves_have_medians_of_their_own():
    late = {10: [1.0, 2.0, 3.0], 11: [4.0], 12: [7.0], 13: [9.0, 8.0]}
    assert scale.halves(late, 10, 14) == (2.0, 8.0)
    assert scale.halves({10: [1.0]}, 10, 14) == (1.0, None) and scale.halves({}, 10, 14) == (None, None)


def test_the_audit_tells_lateness_by_due_second():
    job = matching.Job(7, dues.seconds_of("* * * * * ?"), False)
    arrivals = [matching.Arrival(1_700_000_001_250_000, 1, 7, 1_700_000_001_000, 0, 1),
                matching.Arrival(1_700_000_002_500_000, 2, 7, 1_700_000_002_000, 0, 1)]
    verdict = matching.match([job], [], arrivals, 1_700_000_001, 1_700_000_003)
    assert {due_s: list(late) for due_s, late in verdict.lateness_of.items()} == {
        1_700_000_001: [250.0], 1_700_000_002: [500.0]}


@pytest.mark.parametrize("start, most, best, tried", [
    (1, 9, 8, [1, 2, 4, 8]), (2, 4, 4, [2, 4, 8]), (8, 9, 8, [8]), (4, 1, 1, [4, 2, 1]), (8, 0, None, [8, 4, 2, 1]),
    (1, 0, None, [1]), (1, 1, 1, [1, 2]),
])
def test_the_search_goes_from_its_start_to_the_limit(start, most, best, tried):
    asked = []

    def is_sustained(rate):
        asked.append(rate)
        return rate <= most

    assert scale.search([1, 2, 4, 8], start, is_sustained) == best and asked == tried


def test_the_search_begins_at_what_a_neighbour_sustained():
    limits = {(1, 1): 4, (1, 2): 2, (2, 1): 8, (2, 2): 0, (4, 1): 1, (4, 2): 4}
    asked = []
    matrix = scale.Matrix(argparse.Namespace(shards=[1, 2, 4], nodes=[1, 2], rates=[1, 2, 4, 8], burst=0), None)
    matrix.is_sustained = lambda shards, nodes, rate: (
        asked.append((shards, nodes, rate)) or rate <= limits[shards, nodes])
    matrix.walk()
    first = {(shards, nodes): rate for shards, nodes, rate in reversed(asked)}
    # (4, 2): its nearest neighbour is (4, 1).
    assert first == {(1, 1): 1, (1, 2): 4, (2, 1): 4, (2, 2): 8, (4, 1): 8, (4, 2): 1}
    assert matrix.best == {**limits, (2, 2): None}
    matrix.arguments.nodes.append(3)
    assert matrix.start_rate(2, 3) == 8  # two nodes sustained nothing, one did


def test_counters_of_several_nodes_are_summed_from_when_all_are_known():
    assert scale.merge([[(1, 10), (4, 30)], [(2, 5), (3, 6)]]) == [(2, 15), (3, 16), (4, 36)]
    assert scale.merge([[(1, 10)], []]) == []


def test_a_level_is_reached_between_samples():
    samples = [(0, 100), (10, 100), (11, 200), (12, 200)]
    assert scale.reach(samples, 150) == 10.5 and scale.reach(samples, 200) == 11
    assert scale.reach(samples, 100) == 0 and scale.reach(samples, 201) is None


def test_the_planning_rate_leaves_out_both_ends():
    # 100 a second, but for a slow start and a slow end.
    samples = [(0.0, 7), (5.0, 12)] + [(5.0 + n / 10, 12 + n * 10) for n in range(1, 10)] + [(20.0, 107)]
    figures = scale.planning(samples, 100)
    assert figures["planned"] == 100 and figures["planned_per_s"] == 90 * 1000 // 900 == 100
    assert figures["planned_in_ms"] == 900.0 and figures["sample_gap_ms"] == 100.0
    short = scale.planning(samples[:6], 100)
    assert short["planned_per_s"] is None and short["planned"] == 45
    assert scale.planning([], 100)["planned"] == 0
    assert scale.planning([(0.0, 0), (1.0, 100), (1.5, 100)], 100)["planned_per_s"] == 100


def page(live, *owned):
    lines = [f'shardwheel_shard_owned{{shard="{number}"}} {value}' for number, value in enumerate(owned)]
    return cluster.parse_metrics("\n".join(["# TYPE x gauge", f"shardwheel_nodes_live {live}", *lines]))


@pytest.mark.parametrize("pages, good", [
    ([page(1, 1, 1)], True), ([page(1, 1, 0)], False),
    ([page(2, 1, 0), page(2, 0, 1)], True),
    ([page(2, 1, 1), page(2, 0, 0)], False),  # more than its share
    ([page(2, 1, 0), page(1, 0, 1)], False),  # does not see the other one
    ([page(2, 1, 0), page(2, 1, 1)], False),  # two owners, as may be seen while it moves
    ([page(3, 1, 0), page(3, 0, 1), page(3, 0, 0)], True),
    ([{}, page(2, 1, 1)], False),
])
def test_load_begins_when_the_shards_are_shared(pages, good):
    assert scale.cluster.is_settled(pages, 2) == good


def test_jobs_may_start_at_any_second():
    start_s = 1_700_000_047
    first = scenario.steady_first(start_s)
    assert sorted(first.values()) == list(range(start_s, start_s + 10))
    assert all(dues.seconds_of(e).between(start_s, start_s + 60)[0] == due_s for e, due_s in first.items())


class Counter(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = 0

    def do_GET(self):
        type(self).count += 10
        # The third answer is none: a sample is missing then, and the next one is taken again.
        body = f"shardwheel_fires_planned_total {self.count}\n".encode() if self.count != 30 else b"busy\n"
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def test_planned_fires_are_sampled_until_it_is_stopped():
    Counter.count = 0
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counter) as admin:
        thread = threading.Thread(target=admin.serve_forever)
        thread.start()
        sampler = scale.Sampler([argparse.Namespace(port=admin.server_address[1])])
        try:
            end = time.monotonic() + 20
            while sampler.planned() < 50:
                assert time.monotonic() < end
                threading.Event().wait(0.01)
        finally:
            sampler.stop()
            admin.shutdown()
            thread.join()
    counts = [count for _, count in sampler.series[0]]
    assert counts[:4] == [10, 20, 40, 50] and sampler.failures == 1 and Counter.count == counts[-1]


def test_of_several_runs_more_than_half_must_be_good():
    good, bad = steady(), steady(faults=["p99 1,500 ms"])
    assert scaletable.is_sustained([good]) and scaletable.is_sustained([good, bad, good])
    assert not scaletable.is_sustained([good, bad]) and not scaletable.is_sustained([bad])
    assert not scaletable.is_sustained([good, good, steady(lost=1, faults=["1 lost"])])


def rows_of(text):
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines() if row.startswith("| ")]


def test_tables_show_what_was_sustained():
    text = scaletable.render([
        steady(), steady(rate=2000, late_ms={"p50": 30.0, "p99": 100.4}), steady(rate=4000, faults=["p99 1,500 ms"]),
        planning(), planning(run=2, planned_per_s=8249, lost=1),
        steady(nodes=3, rate=1000), steady(shards=10, faults=["1 failed"]), planning(shards=10, planned_per_s=None)])
    rows = rows_of(text)
    assert rows[:3] == [["shards", "1 node", "3 nodes"], ["2", "2,000, 8,100", "≥ 1,000, -"], ["10", "< 1,000, -", "-"]]
    assert rows[4] == ["2", "1", "2,000", "30", "100", "0.100", "0.200", "50 %", "8,100", "400", "1", "0"]
    assert rows[5][:5] == ["2", "3", "≥ 1,000", "20", "1,000"]
    assert rows[6] == ["10", "1", "< 1,000", "-", "-", "-", "-", "-", "-", "150", "0", "0"]


def test_figures_of_several_runs_are_medians():
    runs = [steady(run=n, late_ms={"p50": p50, "p99": 10 * p50}) for n, p50 in enumerate((10.0, 30.0, 11.0), 1)]
    assert rows_of(scaletable.render(runs))[-1][3:5] == ["11", "110"]


def run_bench(*words):
    return subprocess.run([str(ROOT / "tools" / "bench"), "scale", *words], capture_output=True, text=True, check=False)


def test_files_of_earlier_runs_are_shown_together(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text(json.dumps(steady()) + "\n\n")
    second.write_text(json.dumps(planning()) + "\n")
    done = run_bench("--show", str(first), str(second))
    assert done.returncode == 0 and rows_of(done.stdout)[1] == ["2", "≥ 1,000, 8,000"]
    second.write_text(json.dumps(planning(doubled=1)) + "\n")
    assert run_bench("--show", str(second)).returncode == 1


@pytest.mark.parametrize("text, message", [
    ("", "holds no result"), ("nonsense\n", "line 1 is no result"), ("[]\n", "line 1 is no result"),
    ('{"scenario": "steady"}\n', "line 1 is no result"),
    ('{"scenario": "scale-steady", "faults": []}\n', "line 1 is no result"),
    (json.dumps(steady()) + "\n" + json.dumps(planning(scenario="scale-steady")) + "\n", "line 2 is no result"),
])
def test_files_that_are_no_results_are_named(tmp_path, text, message):
    path = tmp_path / "a"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"{path}.*{message}"):
        scaletable.read_results(path)


@pytest.mark.parametrize("words, message", [
    (["--shards", "1,x"], "'x' is not a whole number from 1 to 1024"),
    (["--shards", "1025"], "'1025' is not a whole number from 1 to 1024"),
    (["--nodes", "0"], "'0' is not a whole number from 1 to 16"), (["--rates", "1000,"], "'' is not a whole number"),
    (["--rate", "1000", "--rates", "1000"], "not allowed with"), (["--warmup", "-1"], "'-1' is less than 0"),
    (["--rate", "1000,2000"], "'1000,2000' is not a whole number"),
    (["--binary", "/nonexistent"], "--binary: '/nonexistent' is no program"),
    (["--binary", "/tmp"], "'/tmp' is no program"),
    (["--binary", "/bin/true", "--no-steady", "--burst", "0"], "leave nothing to measure"),
    (["--binary", "/bin/true", "--json", "/nonexistent/x"], "/nonexistent/x"),
    (["--show", "/nonexistent"], "/nonexistent"),
])
def test_bad_input_ends_with_2_and_says_why(words, message):
    done = run_bench(*words)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


def test_a_node_that_cannot_be_asked_is_an_error_of_its_own(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(OSError):
            cluster.Scraper(unused.getsockname()[1]).get("/metrics")


def test_the_port_of_a_node_stands_in_its_log(tmp_path):
    # A program that writes its arguments and then, as a node does, the port; the line is complete when its end is
    # there.
    program = tmp_path / "node"
    program.write_text("#!/bin/sh\necho \"$@ event=starting port=1\"\n"
                       "printf 'event=started node=a port=123'\nread line\n")
    program.chmod(0o755)
    node = cluster.Node(str(program), "a", {"key": "value"}, tmp_path)
    try:
        node.process.wait(20)
        text = node.log_path.read_text()
        assert "--key=value" in text and "--shardwheel.node.name=a" in text and not node.has_started()
        node.log_path.write_text(text + "45 shards=8\n")
        assert node.has_started() and node.url == "http://127.0.0.1:12345"
        with pytest.raises(OSError, match=f"a ended with status 1, see {node.log_path}"):
            node.check()
    finally:
        cluster.stop_nodes([node])


def test_nodes_see_none_of_our_keys(monkeypatch):
    for name in ("SHARDWHEEL_SHARDS", "spring_datasource_url", "XXL_JOB_ACCESSTOKEN"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("BENCH_TEST", "kept")
    names = set(cluster.environment())
    assert "BENCH_TEST" in names and not names & {"SHARDWHEEL_SHARDS", "spring_datasource_url", "XXL_JOB_ACCESSTOKEN"}
