"""Repetitions: seeds differ a little and give intervals; identical values give none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import DSL_AND_LTE, Command
from hypothesis import given, settings
from hypothesis import strategies as some

import plait
from plait import _core
from plait.advice.candidates import Candidate
from plait.advice.outcome import _begins_ns
from plait.advice.reading import parse_path
from plait.advice.traffic import parse_traffic
from plait.advice.trial import Cell, Setting, TrialRunner
from plait.advice.wording import gain
from plait.analysis import Repeated
from plait.analysis.contest import ahead, contest
from plait.results.summary import written_interval
from plait.results.wording import wording
from plait.runs.run import Task, run_tasks
from plait.scenarios.repetition import BOUNDS, DELAY_SHARE, START_NS, network_of, perturbed
from plait.scenarios.scenario import from_table, load
from plait.scenarios.units import duration_ns
from plait.statistics import estimate
from plait.statistics.estimate import Estimate
from plait.sweep import Plan, read, sweep
from plait.sweep.dataset import identical, with_scenario

LOSSLESS = f'duration = "5s"\n[transport]\nreceive_buffer = "300kB"\n{DSL_AND_LTE}'
SAID = "the 5 repetitions are identical (nothing is random, and they were not perturbed)"
INTERVAL = re.compile(r"[(│ ]([+−]?[\d.]+) … ([+−]?[\d.]+)")


@pytest.fixture
def lossless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "lossless.toml"
    file.write_text(LOSSLESS)
    return file


def plan(**more: Any) -> dict[str, Any]:
    return {"scenario": "lossless.toml", "schedulers": ["lowest-rtt", "round-robin"], "seeds": 5, **more}


def delays(scenario: str) -> dict[str, int]:
    """Returns every delay of a scenario in nanoseconds, by link and direction."""
    document = json.loads(scenario)
    return {
        f"{kind} {one['name']} {direction}": duration_ns(one[direction]["delay"])
        for kind in ("path", "link")
        for one in document.get(kind, [])
        for direction in ("forward", "backward")
        if direction in one
    }


@some.composite
def scenarios(draw: some.DrawFn) -> str:
    """Draws paths with own or shared links, and flows that start and stop at any time."""
    milliseconds = some.integers(1, 400).map(lambda number: f"{number}ms")
    shared = draw(some.booleans())
    links = [
        {"name": f"l{number}", "rate": "5Mbit", "delay": draw(milliseconds)} for number in range(2 * shared)
    ]
    paths: list[dict[str, Any]] = [
        {"name": f"p{number}", "rate": "10Mbit", "rtt": draw(milliseconds)}
        for number in range(draw(some.integers(1, 3)))
    ]
    paths += [{"name": "over", "links": ["l0", "l1"]}] * shared
    flows = []
    for number in range(draw(some.integers(0, 3))):
        start = draw(some.integers(0, 1_999_999))
        flow = {"name": f"f{number}", "kind": "tcp", "path": "p0", "start": f"{start}us"}
        if draw(some.booleans()):
            flow["stop"] = f"{draw(some.integers(start + 1, 4_000_000))}us"
        flows.append(flow)
    table = {"duration": "2s", "link": links, "path": paths, **({"flow": flows} if flows else {})}
    return from_table(table).json


@given(scenarios(), some.integers(0, 2**63 - 1))
@settings(deadline=None)
def test_a_repetition_is_a_little_different_valid_and_its_seeds_own(scenario: str, seed: int) -> None:
    other = perturbed(scenario, seed)
    _core.Scenario(other, "other", ".", format="json")
    perturbed.cache_clear()
    assert perturbed(scenario, seed) == other
    assert perturbed(scenario, json.loads(scenario)["seed"]) == scenario
    written, changed = json.loads(scenario), json.loads(other)
    for place, delay in delays(scenario).items():
        assert abs(delays(other)[place] - delay) <= DELAY_SHARE * delay + 1
    for before, after in zip(written.get("flow", []), changed.get("flow", []), strict=True):
        start = duration_ns(after["start"])
        assert 0 <= start - duration_ns(before["start"]) < START_NS
        assert start < min(duration_ns(after.get("stop", "2s")), duration_ns("2s"))
    # Delays and start times are the only differences.
    for document in (written, changed):
        for one in (*document["path"], *document.get("link", [])):
            for direction in ("forward", "backward"):
                one.get(direction, {}).pop("delay", None)
        for flow in document.get("flow", []):
            flow.pop("start")
    assert written == changed


@given(some.integers(0, 2**63 - 1))
@settings(deadline=None, max_examples=20)
def test_a_path_has_the_same_delay_alone_and_in_any_company(seed: int) -> None:
    one = {"name": "a", "rate": "10Mbit", "rtt": "40ms"}
    other = {"name": "b", "rate": "20Mbit", "rtt": "40ms"}
    found = [
        delays(perturbed(from_table({"path": paths, **more}).json, seed))["path a forward"]
        for paths in ([one], [one, other], [other, one])
        for more in ({}, {"scheduler": "round-robin"}, {"workload": {"kind": "file", "size": "1MB"}})
    ]
    assert len(set(found)) == 1


def test_shares_are_evenly_spread_and_independent() -> None:
    scenario = from_table({"path": [{"name": name, "rate": "1Mbit", "rtt": "200ms"} for name in "ab"]}).json
    found = [delays(perturbed(scenario, seed)) for seed in range(2000)]
    shares = np.array([[one[f"path {name} forward"] / 1e8 - 1 for name in "ab"] for one in found])
    assert np.abs(shares).max() <= DELAY_SHARE
    assert np.abs(shares.mean(axis=0)).max() < 0.0003
    assert np.allclose(shares.std(axis=0), DELAY_SHARE / 3**0.5, rtol=0.05)
    assert abs(np.corrcoef(shares.T)[0, 1]) < 0.07


def test_steps_of_a_delay_change_with_it() -> None:
    document = json.loads(from_table({"path": [{"name": "a", "rate": "1Mbit", "rtt": "200ms"}]}).json)
    document["path"][0]["forward"]["delay_steps"] = [{"at": "1s", "delay": "200ms"}]
    forward = json.loads(perturbed(json.dumps(document), 3))["path"][0]["forward"]
    (step,) = forward["delay_steps"]
    assert duration_ns(step["delay"]) == pytest.approx(2 * duration_ns(forward["delay"]), abs=1)
    assert step["at"] == "1s"


def test_all_schedulers_of_a_repetition_meet_the_same_one(lossless: Path) -> None:
    found = plait.repeat(lossless, ["lowest-rtt", "round-robin", "blest"], seeds=3)
    networks = [{network_of(result.scenario_json) for result in one} for one in found]
    assert [len(one) for one in networks] == [1, 1, 1]
    assert len(set.union(*networks)) == 3
    assert {result.repetition_of for one in found for result in one} == {network_of(load(lossless).json)}


def test_the_first_repetition_is_as_written(lossless: Path) -> None:
    first = plait.repeat(lossless, ["lowest-rtt"], seeds=2)[0][0]
    assert first.metrics == plait.run(lossless).metrics
    assert network_of(first.scenario_json) == first.repetition_of == network_of(load(lossless).json)


def test_a_single_run_is_as_written(lossless: Path) -> None:
    written = network_of(load(lossless).json)
    runs = [
        plait.run(lossless, seed=3),
        *plait.compare(lossless, ["blest"]),
        *plait.repeat(lossless, ["blest"], seeds=1)[0],
    ]
    assert {network_of(run.scenario_json) for run in runs} == {written}
    assert {run.repetition_of for run in runs} == {None}
    assert (
        plait.run(lossless, seed=3, perturb=True).metrics
        == plait.repeat(lossless, ["lowest-rtt"], seeds=3)[2][0].metrics
    )


def test_what_does_not_vary_has_no_interval() -> None:
    same, more = [3.0] * 5, [3.1] * 5
    varying = [1.0, 2.0, 4.0, 5.0, 7.0]
    assert estimate.mean(same).interval is None
    assert estimate.bootstrap_mean(same).interval is None
    assert estimate.median(same).interval is None
    assert estimate.median_by_ranks([3.0] * 20).interval is None
    for one, base in ((more, same), ([1.1 * value for value in varying], varying), (varying, varying)):
        for found in (estimate.change_of_mean(one, base), estimate.change_of_pairs(one, base)):
            assert found is not None
            assert found.interval is None
    assert estimate.change_of_pairs(varying, same).interval is not None
    columns = np.array([more, same]).T
    assert ahead(columns, 1) is None
    assert not contest(columns, np.zeros(5, dtype=np.int64), 1, 1).varies[0]
    assert ahead(np.array([more, [3.0, 3.01, 3.0, 3.02, 3.0]]).T, 1) == 0
    # The same kind of constant difference counts as more than chance if the runs vary.
    assert ahead(np.array([[value + 1 for value in varying], varying]).T, 1) == 0


@pytest.mark.usefixtures("lossless")
def test_compare_has_intervals_or_says_that_there_are_none(command: Command) -> None:
    arguments = ("compare", "lossless.toml", "--schedulers", "lowest-rtt,round-robin,blest", "--seeds", "5")
    document = json.loads(command(*arguments, "--json").stdout)
    assert document["perturbed"]
    assert not document["identical"]
    blest = document["metrics"]["goodput_bps"]["schedulers"]["blest"]
    assert blest["mean"]["low"] < blest["mean"]["high"]
    assert blest["better_by_percent"]["low"] < blest["better_by_percent"]["high"]
    assert "each seed is a repetition" in " ".join(command(*arguments).stdout.split())
    same = command(*arguments, "--no-perturb", "--out", "same")
    assert SAID in same.stdout
    assert not INTERVAL.search(same.stdout)
    document = json.loads(command(*arguments, "--no-perturb", "--json").stdout)
    assert document["identical"]
    goodput = document["metrics"]["goodput_bps"]
    assert len(goodput["schedulers"]["blest"]["values"]) == 5
    assert goodput["schedulers"]["blest"]["mean"]["low"] is None
    assert goodput["best"] is None
    assert command("report", "same", "-o", "same.html").returncode == 0
    assert SAID[1:] in Path("same.html").read_text()


@pytest.mark.usefixtures("lossless")
def test_one_repetition_is_run_again_by_its_seed(command: Command) -> None:
    both = json.loads(
        command("compare", "lossless.toml", "--schedulers", "blest", "--seeds", "3", "--json").stdout
    )
    arguments = ("run", "lossless.toml", "--scheduler", "blest", "--seed", "3", "--json")
    third = json.loads(command(*arguments, "--perturb").stdout)
    assert (
        third["metrics"]["goodput_bps"] == both["metrics"]["goodput_bps"]["schedulers"]["blest"]["values"][2]
    )
    assert third["metrics"] != json.loads(command(*arguments).stdout)["metrics"]


@pytest.mark.usefixtures("lossless")
def test_a_path_alone_is_repeated_too(command: Command) -> None:
    arguments = ("compare", "lossless.toml", "--schedulers", "blest", "--seeds", "3", "--alone", "--json")
    alone = json.loads(command(*arguments).stdout)["alone_bps"]
    assert len({one["lte"] for one in alone.values()}) > 1


def test_a_sweep_keeps_its_repetitions(lossless: Path, tmp_path: Path, command: Command) -> None:
    whole = Plan(plan(), tmp_path)
    outcome = sweep(whole, tmp_path / "whole")
    found = outcome.dataset
    assert found.about["perturbed"] == BOUNDS
    assert found.perturbed
    assert found.identical.note is None
    goodputs = found.frame.filter(scheduler="round-robin")["goodput_bps"]
    repeated = plait.repeat(lossless, ["lowest-rtt", "round-robin"], seeds=5)
    assert goodputs.to_list() == repeated.values("goodput_bps")[1]
    (tmp_path / "plan.toml").write_text(
        'scenario = "lossless.toml"\nschedulers = ["lowest-rtt", "round-robin"]\nseeds = 5\nperturb = false\n'
    )
    refused = command("sweep", "plan.toml", "--out", "whole")
    assert refused.returncode == 2
    assert "changed: perturbed" in refused.stderr
    analysis = json.loads(command("analyze", "whole", "--json").stdout)
    difference = analysis["metrics"][0]["whole"]["comparisons"][0]["better_by"]
    assert difference["low"] < difference["high"]
    assert "each seed is a repetition" in command("analyze", "whole").stdout


@pytest.mark.usefixtures("lossless")
def test_a_dataset_of_identical_repetitions_says_so(tmp_path: Path, command: Command) -> None:
    sweep(Plan(plan(perturb=False), tmp_path), tmp_path / "same")
    found = read(tmp_path / "same")
    assert found.about["perturbed"] is None
    printed = command("analyze", "same").stdout
    assert SAID in printed
    assert not INTERVAL.search(printed)
    document = json.loads(command("analyze", "same", "--json").stdout)
    assert document["identical_points"] == 1
    whole = document["metrics"][0]["whole"]
    assert whole["units"] == whole["pairs"] == 1
    assert whole["comparisons"][0]["p"] is None
    assert whole["comparisons"][0]["better_by"]["low"] is None
    assert command("report", "same", "-o", "same.html").returncode == 0
    page = (tmp_path / "same.html").read_text()
    assert SAID[1:] in page
    assert '<span class="interval">' not in page
    assert "10 runs" in page


def test_points_with_identical_repetitions_are_counted(lossless: Path, tmp_path: Path) -> None:
    """One of two points has random losses; at the other, all seeds give the same result."""
    varied = plan(
        seeds=3,
        perturb=False,
        set={"path.lte.loss": "{loss}%"},
        axis=[{"loss": [0, 1]}],
        scenario=lossless.name,
    )
    sweep(Plan(varied, tmp_path), tmp_path / "some")
    found = read(tmp_path / "some")
    assert found.identical.points.to_list() == [0]
    assert str(found.identical.note).startswith("at 1 of 2 points the 3 repetitions are identical")
    once = found.pairs()
    assert once.group_by("point").agg(pl.len()).sort("point")["len"].to_list() == [2, 6]


def test_a_failed_run_is_no_repetition_of_another() -> None:
    rows = pl.LazyFrame(
        {
            "point": [0, 0],
            "seed": [1, 2],
            "scheduler": ["a", "a"],
            "error": [None, "why"],
            "goodput_bps": [1.0, None],
        }
    )
    rows = with_scenario(rows.collect(), None).lazy()
    assert identical(rows, ["goodput_bps"], perturbed=False).note is None


def test_an_advice_varies_and_its_nominal_case_is_as_written() -> None:
    paths = [parse_path("dsl 16Mbit 25ms"), parse_path("lte 30Mbit 60ms")]
    with TrialRunner(paths, 1) as runner:
        setting = Setting(
            paths=tuple(paths), traffic=parse_traffic("flows:3"), protocol="mptcp", receive_buffer=300_000
        )
        everything = Candidate((0, 1), "lowest-rtt")
        cells = [Cell(setting, everything, one, 10**9) for one in (runner.nominal, runner.variations[0])]
        tasks = [runner.task(cell, runner.scenario(cell)) for cell in cells]
    assert [task.perturb for task in tasks] == [False, True]
    results = run_tasks(tasks)
    assert results[0].repetition_of is None
    written, varied = (
        [flow["start"] for flow in json.loads(str(one.scenario_json))["flow"]] for one in results
    )
    assert written == ["10ms", "20ms"]
    # The time of a download counts from its own start.
    assert _begins_ns(results[1]) == [0, *map(duration_ns, varied)] != [0, 10**7, 2 * 10**7]


def test_repetitions_of_a_scenario_are_one_group_in_a_report(lossless: Path, tmp_path: Path) -> None:
    results = [result for one in plait.repeat(lossless, ["blest", "ecf"], seeds=3) for result in one]
    results += run_tasks([Task(scenario=lossless, scheduler="blest", seed=9)])
    page = plait.report(results, tmp_path / "page.html").read_text()
    assert page.count("<h2>Metrics</h2>") == 1
    assert Repeated.of(results).seeds == [1, 2, 3]


def estimates(value: Any) -> Iterator[dict[str, float | None]]:
    """Yields every estimate in a JSON document."""
    if isinstance(value, dict):
        if {"value", "low", "high"} <= value.keys():
            yield value
        for inner in value.values():
            yield from estimates(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from estimates(inner)


@pytest.mark.parametrize("traffic", ["bulk", "blocks:500kbit"])
def test_an_advice_has_no_interval_of_zero_width(traffic: str) -> None:
    found = plait.advise(
        ["dsl 16Mbit 25ms", "lte 30Mbit 60ms"], traffic, schedulers=["lowest-rtt", "blest"], events=400_000
    )
    some = list(estimates(found.document()))
    assert any(one["low"] is not None for one in some)
    for one in some:
        low, high = one["low"], one["high"]
        assert (low is None) == (high is None)
        assert low is None or high is None or low < high
    assert not [ends for ends in INTERVAL.findall(found.text) if ends[0] == ends[1]]


def test_a_gain_that_never_varies_says_so() -> None:
    for traffic, said in (("bulk", "0 % goodput"), ("blocks:500kbit", "0 % less delay")):
        assert gain(Estimate(0.0), parse_traffic(traffic)) == f"{said} (the same in all variations)"
        assert "95 % interval" in gain(Estimate(5.0, 4.0, 6.0), parse_traffic(traffic))
        assert "the same in all" in gain(Estimate(0.2, 0.2, 0.204), parse_traffic(traffic))


def test_an_interval_below_the_last_digit_is_not_written() -> None:
    found = Estimate(3.3, 3.29, 3.31)
    assert wording("goodput_bps").interval(found.interval) == ""
    assert wording("goodput_bps").interval((1e6, 2e6)) == "(1.000 … 2.000)"
    assert written_interval("goodput_bps", found.interval) == ""
    assert written_interval("retransmissions", (-1.0, 0.2)) == "0 … 0.2"
    assert written_interval("retransmissions", None) == ""
