"""What a report computes: curves in few points, cells of maps, and how much a page holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plait
from plait.reports.chart import distribution, thinned
from plait.reports.definition import definitions
from plait.reports.field import contest, cut
from plait.reports.reading import Rows
from plait.results.metrics import Metrics, PathMetrics
from plait.results.summary import METRICS


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
    assert list(won.means[2]) == [8, 4]  # the pair in which one failed does not count
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
    # A page shows at most eight times as many metrics, and half as many more variables.
    assert len(data[1]) < 3e6 / 8


def test_metrics_are_defined() -> None:
    defined = {name for _, entries in definitions() for names, _ in entries for name in names.split(", ")}
    assert set(Metrics.__annotations__) | set(PathMetrics.__annotations__) <= defined
