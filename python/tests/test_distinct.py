"""Equal runs of a sweep are made once, and statistics count them once."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import Command

import plait
from plait.analysis import AgainstBaseline, Analysis, analyze
from plait.plots import sweep_curves
from plait.reports.reading import Rows
from plait.reports.sample import Sample, difference_data, estimate_table
from plait.reports.sweeps import dataset_page
from plait.scenarios.scenario import from_table
from plait.sweep import Dataset, Plan, read, sweep
from plait.sweep.distinct import Distinct

SCENARIO = """
seeds = 3
set = { "path.slow.rtt" = "{rtt}ms" }

[scenario]
duration = "2s"
transport = { receive_buffer = "60kB" }
path = [
    { name = "fast", rate = "4Mbit", rtt = "20ms", loss = "1%" },
    { name = "slow", rate = "1Mbit", rtt = "80ms" },
]

[[axis]]
rtt = [40, 80, 160]
"""
PLAIN = 'schedulers = ["lowest-rtt", "blest"]\n' + SCENARIO
VARIED = (
    'schedulers = ["lowest-rtt", "blest", "round-robin:cwnd_limited=false:segments={segments}"]\n'
    + SCENARIO.replace("[[axis]]", "[[axis]]\nsegments = [1, 2, 4, 8, 16]\n\n[[axis]]")
)
METRIC = "app_delay_ms.mean"


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, Dataset]:
    """The sweep without the parameter of a scheduler, and with it as the first axis."""
    folder = tmp_path_factory.mktemp("sweeps")
    for name, text in (("plain", PLAIN), ("varied", VARIED)):
        (folder / f"{name}.toml").write_text(text)
        sweep(folder / f"{name}.toml", folder / name, rows_per_part=20)
    return read(folder / "plain"), read(folder / "varied")


def test_an_equal_run_is_made_once_and_has_its_rows(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(VARIED)
    plan = Plan.load(tmp_path / "plan.toml")
    outcome = sweep(plan, tmp_path / "out", rows_per_part=20)
    of_one = 3 * 3  # values of rtt, seeds
    assert outcome.runs == outcome.made == of_one * (1 + 1 + 5)
    assert outcome.rows == len(plan) == of_one * 5 * 3
    assert outcome.dataset.runs == outcome.runs
    frame = outcome.dataset.frame
    assert frame["index"].to_list() == list(range(len(plan)))
    for index in (len(plan) - 1, len(plan) - 2, len(plan) - 3):
        row = frame.row(index, named=True)
        scenario = from_table(json.loads(plan.scenario(row["point"])), "again")
        name = row["scheduler"].replace("{segments}", str(row["segments"]))
        result = plait.run(scenario, name, seed=row["seed"], perturb=True)
        assert row["goodput_bps"] == result.metrics["goodput_bps"]
    # Only the scheduler with the parameter has different runs at one scenario.
    counts = frame.group_by("scheduler", "rtt", "seed").agg(pl.col(METRIC).n_unique()).group_by("scheduler")
    most = dict(counts.agg(pl.col(METRIC).max()).iter_rows())
    assert (most["lowest-rtt"], most["blest"]) == (1, 1)
    assert most["round-robin:cwnd_limited=false:segments={segments}"] > 1


def test_interruptions_leave_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(VARIED)
    sweep(tmp_path / "plan.toml", tmp_path / "whole", rows_per_part=20)
    made = []
    for most in (7, 11, 30, 99):
        start: list[int] = []

        def stop(done: int, most: int = most, start: list[int] = start) -> None:
            start.append(done)
            if done >= start[0] + most:
                raise KeyboardInterrupt

        with contextlib.suppress(KeyboardInterrupt):
            sweep(tmp_path / "plan.toml", tmp_path / "broken", rows_per_part=20, progress=stop)
        made.append(start[-1] - start[0])
    assert made == [7, 11, 30, 63 - 48]  # no run is made twice
    one, other = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("whole", "broken")
    )
    assert one == other
    # A part that is lost takes its rows from other parts, or makes its runs again.
    for number, again in ((0, 20), (6, 5)):
        (tmp_path / "broken" / f"part-{number:08}.parquet").unlink()
        outcome = sweep(tmp_path / "plan.toml", tmp_path / "broken", rows_per_part=20)
        assert outcome.made == again
        assert {file.name: file.read_bytes() for file in (tmp_path / "broken").iterdir()} == one


def comparison(found: Analysis, scheduler: str, rtt: int | None = None) -> AgainstBaseline:
    (metric,) = found.metrics
    part = metric.whole
    if rtt is not None:
        (part,) = (
            one for one in metric.regions if one.region[0].variable == "rtt" and one.region[0].low == rtt
        )
    (one,) = (one for one in part.comparisons if one.scheduler == scheduler)
    return one


def test_statistics_are_those_without_the_parameter(datasets: tuple[Dataset, Dataset]) -> None:
    """Five copies of each run once made five times the evidence."""
    plain, varied = (analyze(one, metrics=[METRIC]) for one in datasets)
    (one,), (other,) = plain.metrics, varied.metrics
    assert (one.whole.units, one.whole.pairs) == (other.whole.units, other.whole.pairs) == (3, 9)
    for rtt in (None, 40, 80, 160):
        expected, found = (comparison(one, "blest", rtt) for one in (plain, varied))
        assert found.units == expected.units == 3  # points, or seeds of one
        assert (found.wins, found.ties, found.losses) == (expected.wins, expected.ties, expected.losses)
        assert found.effect_size == pytest.approx(expected.effect_size)
        assert found.difference.low == pytest.approx(expected.difference.low)
        assert found.difference.interval is not None
        assert found.change is not None
        assert expected.change is not None
        assert found.change.high == pytest.approx(expected.change.high)
    assert varied.document()["averaged_over"] == {
        "round-robin:cwnd_limited=false:segments={segments}": ["segments"]
    }
    # In a region of the parameter there are all scenarios.
    (region,) = (
        one for one in other.regions if str(one.region[0]) == "8" and one.region[0].variable == "segments"
    )
    assert (region.units, region.pairs, region.kind) == (3, 9, "points")


def test_reports_and_figures_count_the_same(datasets: tuple[Dataset, Dataset]) -> None:
    plain, varied = (
        Sample(Rows(one.frame, one.variables, one.schedulers, dict(one.about))) for one in datasets
    )
    one, other = difference_data(plain)[METRIC][0][1], difference_data(varied)[METRIC][0][1]
    assert other == pytest.approx(one)
    expected, found = (
        next(line for line in estimate_table(sample) if line["heading"].startswith("mean application delay"))
        for sample in (plain, varied)
    )
    assert found["mean"][:2] == expected["mean"][:2]
    page = dataset_page(varied.dataset)
    assert page["summary"].startswith("63 runs, 3 schedulers, 3 points, 3 seeds")
    assert page["counts"][0] == ("lowest-rtt", ["9", "0"])
    bands = [
        [np.asarray(curve.get_paths()[0].vertices) for curve in figure.axes[0].collections[:2]]
        for figure in (sweep_curves(one, "rtt", METRIC) for one in datasets)
    ]
    assert np.allclose(bands[0], bands[1])


def test_the_command_names_what_a_mean_is_over(datasets: tuple[Dataset, Dataset], command: Command) -> None:
    done = command("analyze", str(datasets[1].folder), "--metric", METRIC)
    assert "63 runs; 9 pairs per scheduler, 3 points" in done.stdout
    assert (
        "round-robin:cwnd_limited=false:segments={segments}: means over the values of segments" in done.stdout
    )
    done = command("analyze", str(datasets[1].folder), "--metric", METRIC, "--where", "segments=4")
    assert "27 runs; 9 pairs per scheduler, 3 points" in done.stdout
    done = command("analyze", str(datasets[1].folder), "--where", "segments=3")
    assert "segments: no run with '3'; expected one of: 1, 2, 4, 8, 16" in done.stderr


def test_the_command_names_schedulers_that_do_not_use_a_variable(command: Command, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(VARIED)
    done = command("sweep", "plan.toml", "--out", "out")
    assert done.returncode == 0
    assert done.stderr.endswith(
        "63 runs fill 135 rows: lowest-rtt and blest do not use segments, so rows repeat; "
        "statistics count each run once\n"
    )
    text = VARIED.replace("segments = [1, 2, 4, 8, 16]", "segments = [1.1, 1.2]")
    text = text.replace('"lowest-rtt", "blest", ', "").replace("{segments}", "{round(segments)}")
    (tmp_path / "same.toml").write_text(text)
    done = command("sweep", "same.toml", "--out", "same")
    assert "9 runs fill 18 rows: several values give the same scenario, so rows repeat" in done.stderr


@pytest.mark.parametrize(
    ("setting", "label", "scenarios", "runs"),
    [
        ({"a": "{x}ms"}, "s", [0, 0, 2, 2, 4, 4], [0, 0, 2, 2, 4, 4]),
        ({"a": "{x}ms"}, "s:p={y}", [0, 0, 2, 2, 4, 4], [0, 1, 2, 3, 4, 5]),
        ({"a": "{y}ms"}, "s", [0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 0, 1]),
        ({"a": "{round(x)}ms"}, "s:p={y}", [0, 0, 0, 0, 4, 4], [0, 1, 0, 1, 4, 5]),
        ({"a": ["{x+y}ms"]}, "s", [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_runs_are_equal_where_nothing_that_they_use_differs(
    setting: dict[str, Any], label: str, scenarios: list[int], runs: list[int]
) -> None:
    steps: list[list[dict[str, float | int | str]]] = [
        [{"x": 1.1}, {"x": 1.2}, {"x": 3.0}],
        [{"y": 5}, {"y": 6}],
    ]
    distinct = Distinct(steps, setting, {label: label})
    points = np.arange(6)
    assert distinct.scenarios(points).tolist() == scenarios
    assert distinct.runs(label, points).tolist() == runs
    assert [distinct.run(label, point) for point in range(6)] == runs
    assert distinct.count(label) == len(set(runs))
