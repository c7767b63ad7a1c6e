"""Simulator against kernel: the cases, the arithmetic, what is written; with the simulator in the kernel's place."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Command
from scipy import stats

import plait
from plait.linux import kernel
from plait.run import run_tasks
from plait.units import duration_ns
from plait.validate import Agreement, Validation, load_validation, measure, write
from plait.validate import runs as validate_runs
from plait.validate.agreement import Side, welch
from plait.validate.report import tables, values
from plait.validate.runs import SCHEMA, SHAKEN, Order

DESCRIPTION = """
quick = ["b-10"]
simulator_seeds = 2
[goals]
median = 3.0
p90 = 10.0
ranking = 90.0
apart = 5.0
[[family]]
group = "sample"
id = "{name}-{rate}"
title = "{rate} Mbit/s, {cc}"
file = "scenario.toml"
schedulers = ["lowest-rtt", "round-robin", "daps"]
axes = [{ name = ["a", "b"], rate = [5, 10] }]
cycle = { cc = ["cubic", "newreno"] }
seeds = 2
[family.set]
"path.fast.rate" = "{rate}Mbit"
"transport.congestion_control" = "{cc}"
[[family]]
group = "sample"
id = "blocks"
title = "blocks"
file = "scenario.toml"
schedulers = ["lowest-rtt"]
set = { workload = { kind = "cbr", rate = "1Mbit", block = "2kB" } }
[[explanation]]
cases = ["a-*"]
schedulers = ["daps"]
mechanism = "for a reason"
"""
SCENARIO = """
duration = "1s"
transport = { protocol = "mptcp" }
[[path]]
name = "fast"
rate = "10Mbit"
rtt = "20ms"
[[path]]
name = "slow"
rate = "5Mbit"
rtt = "60ms"
loss = "0.5%"
"""
Rows = list[tuple[str, str, str, int, str, float]]


@pytest.fixture
def small(tmp_path: Path) -> Validation:
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    (tmp_path / "small.toml").write_text(DESCRIPTION)
    return load_validation(tmp_path / "small.toml")


def goodput(case: str, scheduler: str, linux: Sequence[float], sim: Sequence[float]) -> Rows:
    both: tuple[tuple[str, Sequence[float]], ...] = (("linux", linux), ("sim", sim))
    return [
        (case, scheduler, engine, seed, "goodput_bps", value * 1e6)
        for engine, values in both
        for seed, value in enumerate(values, start=1)
    ]


def agreement(validation: Validation, *rows: Rows) -> Agreement:
    return Agreement(
        validation, pl.DataFrame([row for some in rows for row in some], schema=SCHEMA, orient="row")
    )


def test_cases_are_read(small: Validation) -> None:
    assert [case.id for case in small.cases] == ["a-5", "b-10", "blocks"]
    first, second, blocks = small.cases
    assert first.title == "5 Mbit/s, cubic"
    assert second.scenario.transport.congestion_control == "newreno"
    assert (first.seeds, first.simulator_seeds) == (2, 4)
    assert (blocks.seeds, blocks.simulator_seeds) == (1, 1)
    assert [case.limited for case in small.cases] == [False, False, True]
    assert [case.id for case in small.select(quick=True).cases] == ["b-10"]
    assert [case.id for case in small.select(["a*", "blocks"]).cases] == ["a-5", "blocks"]
    with pytest.raises(plait.ScenarioError, match="case 'c': unknown; expected one of: a-5, b-10, blocks"):
        small.select(["c"])
    with pytest.raises(plait.ScenarioError, match="no case is both quick and blocks"):
        small.select(["blocks"], quick=True)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('group = "sample"', 'colour = "red"', "family: colour: unknown key"),
        ('id = "blocks"', 'id = "a-5"', "case a-5: there are two"),
        ('quick = ["b-10"]', 'quick = ["b"]', "quick: no such case: b"),
    ],
)
def test_a_wrong_description_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "wrong.toml").write_text(DESCRIPTION.replace(old, new))
    with pytest.raises(plait.ScenarioError, match=message):
        load_validation(tmp_path / "wrong.toml")


def test_the_description_is_large_enough_and_both_engines_can_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "identity", lambda: "")
    validation = load_validation()
    assert len(validation.cases) >= 40
    assert 6 <= len(validation.quick) <= 10
    assert sum(case.group == "sample" for case in validation.cases) >= 20
    keys = set()
    for case in validation.cases:
        protocol = case.scenario.transport.protocol
        assert protocol == case.simulated.transport.protocol
        assert protocol == "tcp" or len(case.schedulers) >= 3, case.id
        keys |= {Order(case, scheduler, 1).key() for scheduler in case.schedulers}
    assert len(keys) == sum(len(case.schedulers) for case in validation.cases)


def test_differences_are_of_means(small: Validation) -> None:
    found = agreement(
        small,
        goodput("a-5", "lowest-rtt", [10.0, 12.0], [10.0, 11.0, 12.0, 13.0]),
        goodput("a-5", "round-robin", [10.0, 10.0], [9.0]),
        goodput("blocks", "lowest-rtt", [1.0], [2.0]),
    )
    first, second = sorted(found.goodput, key=lambda one: one.scheduler)
    assert first.kernel.mean == pytest.approx(11e6)
    assert first.difference == pytest.approx(100 * 0.5 / 11)
    expected = stats.ttest_ind([10.0, 11.0, 12.0, 13.0], [10.0, 12.0], equal_var=False).confidence_interval()
    assert first.noise == pytest.approx(100 * (expected.high - 0.5) / 11)
    assert not first.beyond_noise
    assert second.difference == pytest.approx(-10)
    assert (second.noise, second.beyond_noise) == (0.0, True)
    assert found.median() == pytest.approx((10 + 100 * 0.5 / 11) / 2)  # without what the application limits
    assert len(found.of("goodput_bps")) == 3


def test_noise_without_chance() -> None:
    assert welch(Side(1.0, 0.0, 1), Side(2.0, 0.0, 5)) == 0
    assert welch(Side(1.0, 0.0, 1), Side(2.0, 1.0, 4)) == pytest.approx(stats.t.ppf(0.975, 3) / 2)


def test_noise_of_a_shaken_simulator(small: Validation) -> None:
    shaken: Rows = [
        ("blocks", "lowest-rtt", SHAKEN, seed, "goodput_bps", value)
        for seed, value in enumerate([1e6, 2e6, 3e6], start=1)
    ]
    (one,) = agreement(small, goodput("blocks", "lowest-rtt", [2.0], [3.0]), shaken).of("goodput_bps")
    assert one.difference == pytest.approx(50)
    assert one.noise == pytest.approx(100 * stats.t.ppf(0.975, 2) * math.sqrt(2) / 2)
    nominal, other = small.cases[2].simulated, small.cases[2].shaken(1)
    assert other == small.cases[2].shaken(1) != small.cases[2].shaken(2)
    for before, after in zip(nominal.paths, other.paths, strict=True):
        assert before.forward == after.forward
        assert before.backward is not None
        assert after.backward is not None
        change = duration_ns(after.backward.delay or 0) / duration_ns(before.backward.delay or 0) - 1
        assert 0 < abs(change) <= 0.005


def test_only_schedulers_that_are_apart_are_ranked(small: Validation) -> None:
    found = agreement(
        small,
        goodput("a-5", "lowest-rtt", [10.0], [10.0]),
        goodput("a-5", "round-robin", [10.4], [9.0]),
        goodput("a-5", "daps", [8.0], [9.5]),
        goodput("b-10", "lowest-rtt", [4.0], [4.0]),
        goodput("b-10", "daps", [2.0], [4.0]),
    )
    assert [(pair.case, pair.better, pair.worse, pair.alike) for pair in found.pairs] == [
        ("a-5", "lowest-rtt", "daps", True),
        ("a-5", "round-robin", "daps", False),
        ("b-10", "lowest-rtt", "daps", False),  # a tie is no ranking
    ]
    assert found.pairs[0].kernel == pytest.approx(25)
    assert found.pairs[1].simulator == pytest.approx(100 * (9 / 9.5 - 1) / (9 / 9.5))
    assert found.ranking() == pytest.approx(100 / 3)
    assert agreement(small, goodput("a-5", "daps", [1.0], [1.0])).ranking() == 100


def test_goals(small: Validation) -> None:
    close = agreement(small, goodput("a-5", "daps", [100.0], [102.9]), goodput("b-10", "daps", [1.0], [1.0]))
    assert [goal.reached for goal in close.goals()] == [True, True, True]
    far = agreement(small, goodput("a-5", "daps", [100.0], [103.1]), goodput("b-10", "daps", [1.0], [1.2]))
    assert [goal.reached for goal in far.goals()] == [False, False, True]
    nothing = agreement(small)
    assert math.isnan(nothing.median())
    assert not nothing.goals()[0].reached
    silent = agreement(small, goodput("a-5", "daps", [0.0], [1.0]))
    assert silent.goodput[0].difference is None


def test_a_report_of_stored_results(small: Validation, tmp_path: Path) -> None:
    found = agreement(
        small,
        goodput("a-5", "lowest-rtt", [4.0, 4.2], [4.0, 4.1]),
        goodput("a-5", "daps", [3.0, 3.0], [4.5, 4.5]),
        goodput("blocks", "lowest-rtt", [1.0], [1.0]),
        [("a-5", "daps", engine, 1, "share", share) for engine, share in (("linux", 50.0), ("sim", 40.0))],
    )
    files = write(found, [], tmp_path / "out")
    assert {file.name for file in files} == {
        *("validation.md", "validation.json", "validation.png"),
        *("runs.parquet", "runs.csv", "comparison.parquet", "comparison.csv"),
    }
    assert pl.read_parquet(tmp_path / "out" / "runs.parquet").equals(found.runs)
    page = (tmp_path / "out" / "validation.md").read_text(encoding="utf-8")
    assert "| a-5 | daps | 3.00 | 4.50 | +50.0 | 0.0 | for a reason |" in page
    assert "| a-5 | lowest-rtt | daps | +36.7 |" in page
    assert tables(found)["goals"].count("missed") == 3
    assert values(found)["scenarios"] == "3"
    assert values(found)["rows"] == "2"
    document = json.loads((tmp_path / "out" / "validation.json").read_text(encoding="utf-8"))
    assert [goal["reached"] for goal in document["goals"]] == [False, False, False]
    again = Agreement(small, pl.read_parquet(tmp_path / "out" / "runs.parquet"))
    assert tables(again) == tables(found)


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """The simulator in the kernel's place; gives the schedulers of the runs that it has made."""
    file = tmp_path / "linux"
    file.write_text("")
    monkeypatch.setenv(kernel.OVERRIDE, str(file))
    made: list[str] = []

    def pretend(tasks: Sequence[Any], **options: Any) -> list[plait.Result]:
        if options.pop("engine", "sim") == "linux":
            made.extend(task.scheduler for task in tasks)
            if any(task.scheduler == "daps" for task in tasks):
                message = "it did not end"
                raise plait.RunError(message)
        return run_tasks(tasks, **options)

    monkeypatch.setattr(validate_runs, "run_tasks", pretend)
    return lambda: made


def test_runs_are_kept_and_failures_told(
    small: Validation, tmp_path: Path, pretended: Callable[[], list[str]]
) -> None:
    keep = tmp_path / "kept"
    runs, failures = measure(small, keep=keep, threads=2)
    assert len(pretended()) == 13
    assert [
        (one.case, one.seed, one.reason) for one in sorted(failures, key=lambda one: (one.case, one.seed))
    ] == [(case, seed, "it did not end") for case in ("a-5", "b-10") for seed in (1, 2)]
    assert len(list(keep.iterdir())) == 9
    found = Agreement(small, runs)
    assert {one.scheduler for one in found.comparisons} == {"lowest-rtt", "round-robin"}
    blocks = [one for one in found.comparisons if one.case == "blocks"]
    assert blocks
    assert all(one.difference in (0, None) for one in blocks)
    pretended().clear()
    again, _ = measure(small, keep=keep, resume=True)
    assert set(pretended()) == {"daps"}
    assert again.equals(runs)
    pretended().clear()
    case = replace(small.cases[0], changes={**small.cases[0].changes, "path.slow.rate": "6Mbit"})
    measure(replace(small, cases=(case,)), keep=keep, resume=True)
    assert sorted(set(pretended())) == ["daps", "lowest-rtt", "round-robin"]


def test_command_line(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(kernel.OVERRIDE, raising=False)
    listed = json.loads(command("validate", "linux", "--list", "--quick", "--json").stdout)
    assert [case["case"] for case in listed] == [
        case.id for case in load_validation().select(quick=True).cases
    ]
    assert "table2-2-100-500kB (quick)" in command("validate", "linux", "--list").stdout
    for arguments, status, message in (
        (["--only", "nothing"], 2, "case 'nothing': unknown; expected one of: table2-2-100-35kB,"),
        (["--resume"], 2, "--resume needs --out"),
        (["--quick"], 1, "the linux engine's kernel is not built: run plait linux build once"),
    ):
        done = command("validate", "linux", *arguments)
        assert done.returncode == status, done.stderr
        assert message in done.stderr
        assert done.stdout == ""
    assert "missing" in command("validate").stderr.lower()


@pytest.mark.kernel
@pytest.mark.skipif(kernel.built() is None, reason="the kernel is not built")
def test_two_cases_in_the_kernel(tmp_path: Path) -> None:
    chosen = load_validation().select(["tcp-1", "asymmetric-delays"])
    runs, failures = measure(chosen, keep=tmp_path)
    assert not failures
    found = Agreement(chosen, runs)
    assert found.median() < 5
    shares = {
        one.scheduler: (one.kernel.mean, one.simulator.mean) for one in found.of("share")
    }  # the path with the short way there, and that with the short round trip
    assert min(shares["delivery-delay"]) > 90
    assert max(shares["lowest-rtt"]) < 10
