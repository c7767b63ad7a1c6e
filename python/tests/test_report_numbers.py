"""Computations of a report: thinned curves, cells of maps, and the size of a page."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plait
from plait.analysis.comparison import units
from plait.analysis.contest import Pairs, ahead, contest, evidence
from plait.analysis.regions import regions
from plait.reports.chart import distribution, thinned
from plait.reports.definition import definitions
from plait.reports.field import cut, field_data
from plait.reports.page import _code
from plait.reports.reading import Rows
from plait.reports.sample import Sample, _best, _cell
from plait.results.metrics import Metrics, PathMetrics
from plait.results.summary import METRICS, written
from plait.statistics.estimate import Estimate
from plait.sweep.dataset import with_scenario


def test_few_points_keep_the_extremes() -> None:
    x = np.arange(100_000.0)
    y = np.sin(x / 1000)
    y[[12_345, 54_321]] = 9, -9
    kept_x, kept_y = thinned(x, y, 2000)
    assert len(kept_x) <= 2002
    assert (kept_y.min(), kept_y.max()) == (-9, 9)
    assert (kept_x[0], kept_x[-1]) == (0, 99_999)
    assert np.array_equal(y[kept_x.astype(int)], kept_y)
    xs, ys = distribution([3, 1])
    assert (list(xs), list(ys)) == ([1, 1, 3, 3], [0, 0.5, 0.5, 1])


def test_a_cell_is_won_lost_or_tied() -> None:
    nan = float("nan")
    values = np.array([[10, 5], [10.5, 5], [10, 11], [11, 10], [7, nan], [8, 4], [nan, nan], [100, 100.5]])
    place = np.array([0, 0, 1, 1, 2, 2, 3, 4])
    won = contest(values, place, 5, 1)
    assert list(won.winner) == [0, 0, 0, -1, 1]
    assert won.tie.tolist() == [False, True, False, False, True]
    assert list(won.pairs) == [2, 2, 1, 0, 1]
    assert won.margin[0] == pytest.approx(100 * 5.25 / 10.25)
    assert list(won.means[2]) == [8, 4]  # a pair with a failed run does not count
    assert list(contest(values, place, 5, -1).winner) == [1, 0, 1, -1, 0]


def test_variables_are_cut_in_their_order() -> None:
    assert cut(pl.Series("rate", ["10Mbit", "2Mbit", "10Mbit"])).labels == ["2Mbit", "10Mbit"]
    assert cut(pl.Series("kind", ["slow", "fast"])).labels == ["slow", "fast"]
    assert list(cut(pl.Series("n", [3.0, None, 1.0])).codes) == [1, -1, 0]
    binned = cut(pl.Series("loss", np.geomspace(0.001, 10, 1000)))
    assert len(binned.labels) == 10
    assert np.bincount(binned.codes).tolist() == [100] * 10


def test_a_hundred_thousand_runs_fit_a_page(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    points, seeds, names = 1250, 10, [f"scheduler {number}" for number in range(8)]
    point, seed, scheduler = (one.ravel() for one in np.indices((points, seeds, len(names))))
    columns: dict[str, Any] = {
        "index": np.arange(len(point)),
        "point": point,
        "seed": seed,
        "error": [None] * len(point),
    }
    columns |= {
        "scheduler": [names[index] for index in scheduler],
        **{f"v{n}": random.random(points)[point] for n in range(4)},
    }
    columns |= {name: random.lognormal(scheduler / 20, 0.5) for name in METRICS[:4]}
    dataset = Rows(pl.DataFrame(columns), [f"v{n}" for n in range(4)], names)
    file = plait.report(dataset, tmp_path / "large.html")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read_text(), re.DOTALL)
    assert data is not None
    # A page shows at most eight times as many metrics and one and a half times as many variables.
    assert len(data[1]) < 3e6 / 8


def test_metrics_are_defined() -> None:
    defined = {name for _, entries in definitions() for names, _ in entries for name in names.split(", ")}
    assert set(Metrics.__annotations__) | set(PathMetrics.__annotations__) <= defined


def test_points_are_the_evidence_where_there_are_several() -> None:
    # Cell 0 has two points with two seeds each, cell 1 one point with two seeds, cell 2 none.
    values = np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 2.0], [7.0, 2.0], [1.0, 9.0], [3.0, np.nan]])
    place, pairs = np.array([0, 0, 0, 0, 1, 1]), Pairs(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1] * 3))
    found, cells = evidence(values, place, 3, pairs)
    assert sorted(zip(cells.tolist(), found[:, 0].tolist(), strict=True)) == [(0, 2), (0, 6), (1, 1), (1, 3)]
    held = contest(values, place, 3, 1, pairs)
    assert list(held.pairs) == [2, 1, 0]
    assert list(held.means[0]) == [4, 2]


def test_analyze_and_report_agree_on_regions_winners_and_ties() -> None:
    """Compares analyze and report on fifty random points.

    They once disagreed: 17 ties of 50, and 43 of 46 cells.
    """
    random = np.random.default_rng(3)
    names = ["one", "two", "three"]
    point, seed, scheduler = (one.ravel() for one in np.indices((50, 2, 3)))
    rtt, buffer = random.uniform(20, 300, 50), random.uniform(20, 200, 50)
    frame = pl.DataFrame(
        {
            "index": np.arange(len(point)),
            "point": point,
            "seed": seed + 1,
            "scheduler": [names[one] for one in scheduler],
            "error": pl.Series([None] * len(point), dtype=pl.String),
            "rtt": rtt[point],
            "buffer": buffer[point],
            "goodput_bps": 1e6
            * (1 + 0.05 * scheduler * (rtt[point] > 150) + 0.05 * random.random(len(point))),
        }
    )
    sample = Sample(Rows(frame, ["rtt", "buffer"], names))
    field = field_data(sample)
    labels = {one["name"]: one["labels"] for one in field["variables"]}
    (held,) = field["maps"]
    winners, ties = (
        np.frombuffer(base64.b64decode(one["bdata"]), one["dtype"])
        for one in (held["metrics"]["goodput_bps"][key] for key in ("winner", "tie"))
    )
    told = {}
    for region, rows in regions(with_scenario(frame, None), ["rtt", "buffer"]):
        found = units(rows, "goodput_bps", names)
        one = contest(found.values, np.zeros(len(found.values), dtype=np.int64), 1, 1)
        told[tuple(map(str, region))] = (int(one.winner[0]), bool(one.tie[0]), len(found.values))
    assert len(told) == len(labels["rtt"]) * len(labels["buffer"]) == 4  # no cell is empty
    assert sum(count for *_, count in told.values()) == 50
    for x, across in enumerate(labels["rtt"]):
        for y, down in enumerate(labels["buffer"]):
            cell = y * len(labels["rtt"]) + x
            assert (winners[cell], bool(ties[cell])) == told[across, down][:2]
    assert {tie for _, tie, _ in told.values()} == {False, True}


def test_bold_is_what_is_best_beyond_chance() -> None:
    """Nothing is bold if the best mean and median belong to a scheduler that is often behind."""
    noisy = np.array([[10.0, 9.0], [8.0, 9.5], [12.0, 9.0], [9.0, 10.0], [11.0, 9.2], [8.5, 9.9]])
    assert noisy[:, 0].mean() > noisy[:, 1].mean()
    assert _best(noisy, 1, None) == frozenset()
    assert _best(noisy, 1, [9.5, 9.35]) == frozenset()
    sure = np.array([[10.0 + place, 9.0 + place] for place in range(6)])
    assert _best(sure, 1, None) == {0}
    assert _best(sure, -1, None) == {1}
    assert _best(sure, 1, [12.5, 11.5]) == {0}
    assert _best(sure, 0, None) == frozenset()
    assert ahead(sure[:0], 1) is None


def test_there_is_no_negative_zero() -> None:
    assert written("retransmissions", -0.04) == "0"
    assert written("retransmissions", -0.06) == "−0.1"


def test_intervals_of_counts_do_not_reach_below_nothing() -> None:
    assert _cell("retransmissions", Estimate(0.2, -0.1, 0.6)) == ("0.2", "0 … 0.6")
    assert _cell("aggregation_benefit", Estimate(0.2, -0.16, 0.59))[1].startswith("−0.16")


def test_words_between_backticks_are_code() -> None:
    assert _code("in ``kernel``, `a<b`") == "in <code>kernel</code>, <code>a&lt;b</code>"
