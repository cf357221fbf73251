# SPDX-License-Identifier: MIT
"""tools/soak.d/growing.py: what is growth, and what is the moment."""
import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools" / "soak.d"))

from growing import Life, slope  # noqa: E402

HOUR = range(0, 3600, 10)


def life(rss_kb, fds=lambda _: 80, seconds=HOUR):
    return Life("node-a", [(s, rss_kb(s), fds(s)) for s in seconds], warm_s=900)


def test_slope_is_that_of_the_line():
    assert slope([(0, 5), (10, 25), (20, 45)]) == pytest.approx(2)
    assert slope([(3, 7)]) == 0


def test_noise_and_what_happens_before_all_is_warm_are_no_growth():
    rng = random.Random(1)
    assert not life(lambda s: min(s, 900) * 100 + rng.uniform(0, 5000), lambda _: rng.choice((70, 90))).grown()
    assert not life(lambda s: 90000 + (50000 if s == 3590 else 0)).grown()


def test_growth_is_told():
    rng = random.Random(2)
    told = life(lambda s: 90000 + 3 * s + rng.uniform(0, 5000)).grown()
    assert len(told) == 1 and told[0].startswith("rss_kb of node-a grows by ")
    told = life(lambda _: 90000, lambda s: 80 + s // 200).grown()
    assert len(told) == 1 and told[0].startswith("fds of node-a grows by ")


def test_a_short_life_tells_nothing():
    assert not life(lambda s: 90000 + 30 * s, seconds=range(0, 1500, 10)).grown()
