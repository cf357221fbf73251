# SPDX-License-Identifier: MIT
"""Charts: they are XML, and their lines go where the figures are."""

import json
import xml.etree.ElementTree as tree

import pytest

from benchlib import plots

SVG = "{http://www.w3.org/2000/svg}"


def run_result(**more):
    return {"scenario": "steady", "rate": 500, "jobs": 5000, "label": "a & b", "run": 1,
            "seconds": [[0, 500, 10, 20, 30], [1, 500, 20, 80, 90], [2, 500, 10, 20, 30]], **more}


def scale_result(shards, nodes, rate, faults=()):
    return {"scenario": "scale-steady", "shards": shards, "nodes": nodes, "rate": rate, "run": 1,
            "lost": 0, "doubled": 0, "late_ms": {}, "faults": list(faults)}


def lines_of(text):
    """[[(x, y)]] of the polylines."""
    root = tree.fromstring(text)
    return [[tuple(map(float, point.split(","))) for point in line.get("points").split()]
            for line in root.iter(f"{SVG}polyline")]


def write(path, *results):
    path.write_text("".join(json.dumps(result) + "\n" for result in results))
    return str(path)


def test_lateness_of_a_run_has_a_line_for_each_share(tmp_path):
    paths = plots.draw([write(tmp_path / "a.json", run_result())], tmp_path / "out")
    assert paths == [str(tmp_path / "out" / "lateness-a-b-steady-500.svg")]
    text = (tmp_path / "out" / "lateness-a-b-steady-500.svg").read_text()
    p50, p99 = lines_of(text)
    assert [x for x, _ in p50] == [x for x, _ in p99] and len(p50) == 3
    assert p99[1][1] < p50[1][1] < p50[0][1], "higher figures stand higher"
    assert p99[0][1] == p99[2][1] == p50[1][1], "the same figure is at the same height"
    assert "a &amp; b: 500 fires/s" in text and "p99" in text


def test_runs_of_one_load_do_not_overwrite_each_other(tmp_path):
    paths = plots.draw([write(tmp_path / "a.json", run_result(), run_result(run=2))], tmp_path)
    assert len(set(paths)) == 2


def test_scale_has_a_line_for_each_number_of_nodes(tmp_path):
    path = write(tmp_path / "s.json", scale_result(1, 1, 1000), scale_result(4, 1, 1000), scale_result(4, 1, 2000),
                 scale_result(1, 2, 1000), scale_result(4, 2, 2000, ["p99 2,000 ms"]))
    paths = plots.draw([path], tmp_path)
    assert [name.rsplit("/", 1)[1] for name in paths] == ["scale-sustained.svg", "scale-planned.svg"]
    one, two = lines_of((tmp_path / "scale-sustained.svg").read_text())
    assert len(one) == 2 and one[1][1] < one[0][1]
    assert two == one[:1], "a rate that was not sustained has no point"


@pytest.mark.parametrize("top, last", [(0, 1), (1, 1), (7, 8), (99, 100), (101, 120), (20000, 20000)])
def test_ticks_are_round_and_reach_the_top(top, last):
    marks = plots.ticks(top)
    assert marks[0] == 0 and marks[-1] == pytest.approx(last) and 2 <= len(marks) <= 8


@pytest.mark.parametrize("text, message", [("nonsense\n", "line 1 is no result"), ("", "nothing that can be drawn"),
                                           ('{"scenario": "beats"}\n', "nothing that can be drawn")])
def test_files_without_figures_are_named(tmp_path, text, message):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"{path}.*{message}"):
        plots.draw([str(path)], tmp_path)
