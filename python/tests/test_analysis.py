"""Statistics of a sweep, on frames with known results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Command
from scipy import stats

from plait.analysis import analyze
from plait.analysis.comparison import compare, holm, outcome, units
from plait.analysis.regions import regions, slices_note
from plait.results.metrics import direction
from plait.sweep import read, sweep
from plait.sweep.dataset import SCENARIO, with_scenario

Runs = list[tuple[int, int, str, float | None]]


def frame(runs: Runs) -> pl.DataFrame:
    return with_scenario(
        pl.DataFrame(runs, schema=["point", "seed", "scheduler", "goodput_bps"], orient="row"), None
    )


def pairs(values: dict[str, list[list[float | None]]]) -> pl.DataFrame:
    """Builds a frame from the values of each scheduler by point and seed."""
    return frame(
        [
            (point, seed, name, value)
            for name, points in values.items()
            for point, seeds in enumerate(points)
            for seed, value in enumerate(seeds)
        ]
    )


def test_a_unit_is_a_point_with_the_mean_of_its_seeds() -> None:
    found = units(pairs({"a": [[1, 3], [5, 5]], "b": [[2, 2], [7, 9]]}), "goodput_bps", ["a", "b"])
    assert (found.kind, found.pairs, found.left_out) == ("points", 4, 0)
    assert found.values.tolist() == [[2, 2], [5, 8]]
    found = units(pairs({"a": [[1, 3]], "b": [[2, 2]]}), "goodput_bps", ["a", "b"])
    assert found.kind == "seeds"
    assert found.values.tolist() == [[1, 2], [3, 2]]


def test_a_pair_that_lacks_a_run_is_left_out() -> None:
    found = units(pairs({"a": [[1, 3], [5, 5]], "b": [[None, 2], [7, 9]]}), "goodput_bps", ["a", "b"])
    assert (found.pairs, found.left_out) == (3, 1)
    assert found.values.tolist() == [[3, 2], [5, 8]]
    assert units(pairs({"a": [[1, 3]]}), "goodput_bps", ["a", "b"]).pairs == 0


def test_a_comparison_by_hand() -> None:
    found = units(
        pairs({"base": [[100], [100], [200]], "other": [[110], [100.5], [190]]}),
        "goodput_bps",
        ["base", "other"],
    )
    (row,) = compare(found, "base", higher=True, tie=0.01)
    assert (row.wins, row.ties, row.losses) == (1, 1, 1)
    assert row.difference.value == pytest.approx(0.5 / 3)
    assert row.change is not None
    assert row.change.value == pytest.approx(0.5 / 400 * 100)
    assert row.effect_size == pytest.approx((0.5 / 3) / np.std([10, 0.5, -10], ddof=1))
    (row,) = compare(found, "base", higher=False, tie=0.0)
    assert (row.wins, row.ties, row.losses) == (1, 0, 2)


def test_nothing_differs() -> None:
    found = units(pairs({"a": [[1], [2]], "b": [[1], [2]]}), "goodput_bps", ["a", "b"])
    (row,) = compare(found, "a", higher=True, tie=0.01)
    assert (row.effect_size, row.p, row.ties) == (None, None, 2)
    assert row.difference.interval is None


def test_what_all_schedulers_have_in_common_does_not_widen_the_interval() -> None:
    random = np.random.default_rng(5)
    luck = random.random(200) * 1000
    table = {
        "a": [[value] for value in luck],
        "b": [[value + 10 + random.normal(0, 1)] for value in luck],
    }
    (row,) = compare(units(pairs(table), "goodput_bps", ["a", "b"]), "a", higher=True, tie=0.0)
    low, high = row.difference.interval or (0, 0)
    assert 9.5 < low < 10 < high < 10.5
    assert row.p is not None
    one, other = ([value for (value,) in table[name]] for name in "ab")
    assert row.p == pytest.approx(stats.ttest_rel(other, one).pvalue)


def test_all_signs_of_significance_follow_from_one_test() -> None:
    """The interval in percent once excluded zero in cells where Student's interval contained it."""
    random = np.random.default_rng(4)
    signs = []
    for seeds in (2, 3, 5, 8):
        for _ in range(100):
            base = random.lognormal(0, 0.6, seeds)
            other = base * random.lognormal(0.3, 0.5, seeds)
            table = {"a": [base.tolist()], "b": [other.tolist()]}
            (row,) = compare(units(pairs(table), "goodput_bps", ["a", "b"]), "a", higher=True, tie=0.0)
            assert row.p is not None
            assert row.beyond_chance == (row.p < 0.05)
            assert row.change is not None
            if row.change.interval is not None:
                low, high = row.change.interval
                assert row.beyond_chance == (not low <= 0 <= high)
                assert low < row.change.value < high
                signs.append(row.beyond_chance)
    assert 30 < sum(signs) < len(signs) - 30


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, None, 0.03]) == pytest.approx([0.03, 0.06, None, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_ties_are_a_share_of_the_larger_value() -> None:
    values, base = np.array([0.0, 99.0, 100.0, 5.0, 0.0]), np.array([0.0, 100.0, 98.0, 0.0, 5.0])
    assert outcome(values, base, higher=True, tie=0.01).tolist() == [0, 0, 1, 1, -1]
    assert outcome(values, base, higher=False, tie=0.01).tolist() == [0, 0, -1, -1, 1]


def test_regions_hold_every_point_once() -> None:
    random = np.random.default_rng(1)
    points = pl.DataFrame(
        {
            "point": range(100),
            SCENARIO: range(100),
            "seed": [1] * 100,
            "few": [index % 3 for index in range(100)],
            "many": random.random(100),
            "text": ["red" if index % 2 else "blue" for index in range(100)],
        }
    )
    for variables in (["few"], ["many"], ["text"], ["few", "many", "text"]):
        found = [row for _, rows in regions(points, variables) for row in rows["point"].to_list()]
        assert sorted(found) == list(range(100))
    sizes = [len(rows) for _, rows in regions(points, ["many"])]
    assert sizes == [10] * 10
    assert [str(region[0]) for region, _ in regions(points, ["few"])] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("values", "points", "seeds", "found", "note"),
    [
        (8, 1, 8, 8, None),
        (8, 4, 2, 8, None),
        (24, 1, 8, 24, None),
        (8, 1, 7, 2, "v: 8 values in 2 slices, because a value has fewer than 8 runs"),
        (25, 1, 8, 3, "v: 25 values in 3 slices, because there are more than 24 values"),
        (6, 1, 1, 6, None),
    ],
)
def test_values_with_enough_runs_stay_values(
    values: int, points: int, seeds: int, found: int, note: str | None
) -> None:
    """Runs are points times seeds: many seeds of one point are enough."""
    value, point, seed = (one.ravel() for one in np.indices((values, points, seeds)))
    frame = pl.DataFrame({SCENARIO: value * points + point, "seed": seed, "v": value * 10})
    assert len([*regions(frame, ["v"])]) == found
    assert slices_note(frame, ["v"]) == note


def test_a_parameter_that_leaves_scenarios_equal_stays_values() -> None:
    value, seed = (one.ravel() for one in np.indices((8, 8)))
    frame = pl.DataFrame({SCENARIO: [0] * 64, "seed": seed, "slack": value})
    assert [str(region[0]) for region, _ in regions(frame, ["slack"])] == [*"01234567"]
    assert slices_note(frame, ["slack"]) is None


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("goodput_bps", 1),
        ("paths.lte.throughput_bps", 1),
        ("app_delay_ms.p95", -1),
        ("flows.cross.delay_ms.mean", -1),
        ("paths.lte.srtt_ms", 0),
        ("decisions", 0),
    ],
)
def test_which_way_is_better(name: str, way: int) -> None:
    assert direction(name) == way


PLAN = """
schedulers = ["lowest-rtt", "round-robin"]
seeds = 2
set = { "path.slow.rtt" = "{rtt}ms" }
axis = [{ rtt = { range = [20, 300], points = 8 } }]
[scenario]
duration = "3s"
transport = { receive_buffer = "40kB" }
path = [{ name = "fast", rate = "4Mbit", rtt = "20ms" }, { name = "slow", rate = "1Mbit", rtt = "80ms", loss = "0.5%" }]
"""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "plan.toml").write_text(PLAN)
    sweep(folder / "plan.toml", folder / "out")
    return folder / "out"


def test_a_metric_may_be_named_without_its_unit_or_mean(dataset: Path) -> None:
    found = analyze(read(dataset), metrics=["goodput", "app_delay_ms"])
    assert [one.metric for one in found.metrics] == ["goodput_bps", "app_delay_ms.mean"]


def test_a_dataset_is_analyzed(dataset: Path) -> None:
    found = analyze(read(dataset), metrics=["goodput_bps"])
    document = json.loads(json.dumps(found.document()))
    (one,) = document["metrics"]
    (whole,) = one["whole"]["comparisons"]
    table = read(dataset).frame
    means = {
        name: table.filter(scheduler=name)["goodput_bps"].mean() for name in ("lowest-rtt", "round-robin")
    }
    assert whole["mean"] == pytest.approx(means["round-robin"])
    assert whole["baseline"] == pytest.approx(means["lowest-rtt"])
    assert whole["wins"] + whole["ties"] + whole["losses"] == one["whole"]["units"] == 8
    assert [part["region"]["rtt"] for part in one["regions"]] == [
        [20, 140],
        [180, 300],
    ]
    assert sum(part["comparisons"][0]["losses"] for part in one["regions"]) == whole["losses"]
    turned = analyze(read(dataset), metrics=["goodput_bps"], baseline="round-robin")
    (other,) = turned.metrics[0].whole.comparisons
    assert (other.wins, other.losses) == (whole["losses"], whole["wins"])
    assert other.difference.value == pytest.approx(-whole["difference"]["value"])


def test_the_command_prints_tables_and_json(dataset: Path, command: Command) -> None:
    done = command("analyze", str(dataset), "--metric", "blocking_ms.mean", "--by", "rtt")
    text = done.stdout
    assert done.returncode == 0
    assert "mean blocking time (ms), less is better" in text
    assert "rtt 180 … 300" in text
    # Four points per region are reported as too few.
    assert "! fewer than 8 points: the intervals of 2 of 2 regions are not reliable" in text
    assert "intervals: of 95 % over points (scenarios with the means of their runs);" in text
    assert "a percentage has none with fewer than 5 points,\nor if the mean of lowest-rtt may be 0\n" in text
    assert "rtt: 8 values in 2 slices, because a value has fewer than 8 runs\n" in text
    as_json = command("analyze", str(dataset), "--json", "--by", "")
    document = json.loads(as_json.stdout)
    assert document["metrics"][0]["metric"] == "goodput_bps"
    assert document["metrics"][0]["regions"] == []


def test_few_points_are_said_to_be_few(tmp_path: Path, command: Command, dataset: Path) -> None:
    copy = tmp_path / "few"
    shutil.copytree(dataset, copy)
    (part,) = copy.glob("part-*")
    pl.read_parquet(part).filter(pl.col("point") < 3).write_parquet(part)
    arguments = ("analyze", str(copy), "--metric", "app_delay_ms")
    text = command(*arguments).stdout
    assert "only 3 points: too few for reliable intervals and p\n" in text
    row = next(line for line in text.splitlines() if line.startswith("│ round-robin"))
    percent = row.split("│")[-6].strip()
    assert percent[0] in "+−"
    assert "…" not in percent, "three points have no interval in percent"
    (change,) = json.loads(command(*arguments, "--json").stdout)["metrics"][0]["whole"]["comparisons"]
    assert change["better_by_percent"]["low"] is not None
    whole = command("analyze", str(dataset), "--metric", "app_delay_ms").stdout
    row = next(line for line in whole.splitlines() if line.startswith("│ round-robin"))
    assert " … " in row.split("│")[-6], "eight points have an interval"


def test_more_seeds_than_points_are_named_as_a_way_out(tmp_path: Path, command: Command) -> None:
    (tmp_path / "plan.toml").write_text(
        PLAN.replace("points = 8", "points = 2").replace("seeds = 2", "seeds = 3")
    )
    assert command("sweep", "plan.toml", "--out", "set").returncode == 0
    said = "only 2 points: too few for reliable intervals and p; --where rtt=VALUE compares over seeds\n"
    assert said in command("analyze", "set").stdout
    assert "only 3 seeds: too few" in command("analyze", "set", "--where", "rtt=20").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--metric", "goodputt"],
            "metric 'goodputt': unknown (did you mean goodput_bps?); expected one of: ",
        ),
        (["--metric", "seed"], "metric 'seed': neither more nor less of it is better"),
        (["--metric", "block_delay_ms.mean"], "no scenario in which every scheduler has a value"),
        (["--metric", "paths.none.throughput_bps"], "column 'paths.none.throughput_bps': unknown"),
        (["--baseline", "daps"], "scheduler 'daps': unknown; expected one of: lowest-rtt, round-robin"),
        (["--by", "rt"], "variable 'rt': unknown (did you mean rtt?); expected one of: rtt"),
        (["--tie", "x"], "--tie 'x': expected a share"),
        (["--tie", "200%"], "tie: expected a share from 0 to 1"),
    ],
)
def test_mistakes_are_one_line(dataset: Path, command: Command, arguments: list[str], message: str) -> None:
    done = command("analyze", str(dataset), *arguments)
    assert done.returncode == 2
    error = done.stderr
    assert message in error
    assert error.count("\n") == 1
