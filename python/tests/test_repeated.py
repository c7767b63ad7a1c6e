"""Comparisons with several seeds: intervals, paired differences, and the best scheduler."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import Command

import plait
from plait.analysis import Repeated
from plait.results.result import Comparison, Result
from plait.results.summary import best
from plait.statistics import estimate


class Made:
    """A run with metrics given by the test."""

    def __init__(self, scheduler: str, seed: int, goodput: float) -> None:
        self.json = json.dumps(
            {
                "scenario": "made",
                "scheduler": scheduler,
                "seed": seed,
                "metrics": {
                    "goodput_bps": goodput,
                    "retransmissions": 0,
                    "aggregation_benefit": goodput - 11,
                },
                "paths": [{"name": "only", "throughput_bps": goodput}],
                "flows": [],
            }
        )

    def __getattr__(self, name: str) -> object:
        return lambda: None


def made(**goodputs: Sequence[float]) -> Repeated:
    count = len(next(iter(goodputs.values())))
    return Repeated(
        [
            Comparison([Result(Made(name, seed, values[seed])) for name, values in goodputs.items()])
            for seed in range(count)
        ]
    )


def test_pairs_tell_what_two_intervals_cannot() -> None:
    """Seeds differ much; schedulers differ little, but for every seed.

    The intervals of the means overlap; the interval of the paired differences excludes zero.
    """
    found = made(first=[10, 14, 18, 22], second=[10.4, 14.5, 18.4, 22.5])
    one, other = found.estimate("goodput_bps")
    assert one is not None
    assert other is not None
    assert one.high is not None
    assert other.low is not None
    assert other.low < one.high
    assert found.best("goodput_bps") == {1}
    (gain,) = found.against("goodput_bps")
    assert gain.difference.value == pytest.approx(0.45)
    assert gain.difference.low == pytest.approx(estimate.mean([0.4, 0.5, 0.4, 0.5]).low)
    assert gain.change == estimate.change_of_mean([10.4, 14.5, 18.4, 22.5], [10, 14, 18, 22])


def test_nothing_is_best_within_noise() -> None:
    found = made(first=[10, 14, 18, 22], second=[10.4, 13.5, 18.4, 21.9])
    assert found.best("goodput_bps") == frozenset()
    assert all(not row.best for row in found.rows())
    assert best([20475.0, 20467.0], ["20475", "20467"], 1) == frozenset()
    assert best([20475.0, 19467.0], ["20475", "19467"], 1) == {0}
    assert best([0.0, 0.0, 3.0], ["0", "0", "3"], -1) == {0, 1}


def test_no_percent_of_what_is_below_zero() -> None:
    """A negative baseline has no percentages: a larger benefit would have a smaller one."""
    found = made(first=[10, 10.2, 10.1], second=[10.6, 10.7, 10.9])
    assert [row.heading for row in found.gain_rows()] == ["goodput (%)"]
    (gain,) = found.against("aggregation_benefit")
    assert gain.change is None
    assert gain.difference.value == pytest.approx((0.6 + 0.5 + 0.8) / 3)


def test_a_scheduler_or_seed_that_lacks_runs_is_no_pair() -> None:
    results = [result for one in made(a=[1, 2, 3], b=[4, 5, 6]) for result in one]
    assert Repeated.of(results[:-1]).seeds == [0, 1]
    assert Repeated.of(results).schedulers == ["a", "b"]


def test_repeat_is_compare_once_per_seed(scenario_file: Path) -> None:
    found = plait.repeat(scenario_file, ["round-robin", "lowest-rtt"], seeds=3, seed=7)
    assert found.seeds == [7, 8, 9]
    for seed, comparison in zip(found.seeds, found, strict=True):
        alone = plait.compare(scenario_file, ["round-robin", "lowest-rtt"], seed=seed, perturb=True)
        assert [one.metrics for one in comparison] == [one.metrics for one in alone]
    frame = found.frame(["goodput_bps"])
    goodputs = [one["lowest-rtt"].metrics["goodput_bps"] for one in found]
    assert frame.filter(scheduler="lowest-rtt")["mean"].item() == pytest.approx(sum(goodputs) / 3)
    with pytest.raises(plait.ScenarioError, match="seeds: expected at least 1, got 0"):
        plait.repeat(scenario_file, ["lowest-rtt"], seeds=0)


@pytest.mark.usefixtures("scenario_file")
def test_the_command_says_the_same_as_its_json(command: Command, tmp_path: Path) -> None:
    arguments = ("compare", "two.toml", "--schedulers", "round-robin,lowest-rtt", "--seeds", "4", "--alone")
    done = command(*arguments, "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["seeds"] == [7, 8, 9, 10]
    goodput = document["metrics"]["goodput_bps"]["schedulers"]["lowest-rtt"]
    found = estimate.mean(goodput["values"])
    assert goodput["mean"] == {"value": found.value, "low": found.low, "high": found.high}
    assert set(document["alone_bps"]) == {"7", "8", "9", "10"}
    words = command(*arguments).stdout
    assert found.low is not None
    assert f"{found.value / 1e6:.3f} ({found.low / 1e6:.3f} … " in words
    assert "95 % intervals" in words
    gain = document["alone"]["lowest-rtt"]["gain_percent"]
    assert f"{gain:+.1f} (" in next(line for line in words.splitlines() if "gain over the best path" in line)
    assert len(list((tmp_path / "out").glob("comparison-*.png"))) == 1
    assert len(list((tmp_path / "out").glob("*/result.json"))) == 8
    page = command("report", "out", "-o", "page.html")
    assert page.returncode == 0, page.stderr
    text = (tmp_path / "page.html").read_text()
    assert "Means of 4 seeds" in text
    assert f"{found.value / 1e6:.3f} ({found.low / 1e6:.3f} … " in text


@pytest.mark.usefixtures("scenario_file")
def test_two_seeds_are_too_few(command: Command) -> None:
    done = command("compare", "two.toml", "--schedulers", "round-robin,lowest-rtt", "--seeds", "2")
    assert "only 2 seeds: too few for reliable intervals" in done.stdout


@pytest.mark.usefixtures("scenario_file")
def test_the_command_explains_only_what_it_shows(command: Command) -> None:
    arguments = ("compare", "two.toml", "--schedulers", "round-robin,lowest-rtt", "--seeds", "3")
    whole = command(*arguments).stdout
    better = "better by: than round-robin; more than zero is better, for delays too; runs with the same seed are pairs"
    assert whole.count("better by: ") == whole.count(f"{better}\n") == 1
    assert "aggregation benefit: 0 = " in whole
    assert "a gain without an interval: its value is the same with every seed, or the mean of the" in whole
    assert "bold" not in whole, "the output is no terminal"
    assert "bold: the best mean" in command(*arguments, "--latex").stdout
    chosen = command(*arguments, "--metric", "goodput").stdout
    assert chosen.count("better by: ") == chosen.count(f"{better}\n") == 1
    assert "aggregation benefit: 0 = " not in chosen
    one = command("compare", "two.toml", "--schedulers", "round-robin", "--metric", "goodput").stdout
    assert "better by" not in one


@pytest.mark.usefixtures("scenario_file")
def test_chosen_metrics_stand_beside_gains_over_each_path_alone(command: Command) -> None:
    arguments = ("compare", "two.toml", "--schedulers", "round-robin,lowest-rtt", "--seeds", "3", "--alone")
    document = json.loads(command(*arguments, "--json").stdout)
    text = command(*arguments, "--metric", "app_delay_ms.p95").stdout
    assert "each path alone, mean of 3 seeds, goodput" in text
    for name in ("round-robin", "lowest-rtt"):
        gain = document["alone"][name]["gain_percent"]
        written = f"{gain:+.1f}".replace("-", "−")
        assert written in next(line for line in text.splitlines() if f" {name} " in line and "│" in line)
