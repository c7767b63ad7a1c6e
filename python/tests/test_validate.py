"""Simulator against kernel: cases, arithmetic and reports.

The simulator replaces the kernel in these tests.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy import stats

import plait
from plait import _core
from plait.engines.names import EngineName
from plait.linux import kernel
from plait.runs import experiment
from plait.runs.run import key, run_tasks
from plait.scenarios.repetition import perturbed
from plait.scenarios.scenario import parsed_scenario
from plait.support.pages import fill
from plait.validate import Agreement, Measured, Validation, load_validation, measure, write
from plait.validate.agreement import Noise, Side, percentile, pooled
from plait.validate.goals import goals
from plait.validate.runs import SCHEMA, Outcome, task
from plait.validate.standing import stands_out
from plait.validate.tables import tables, values

FOLDER = Path(__file__).parent / "validation"
Rows = list[tuple[str, str, str, int, str, float]]


@pytest.fixture
def small(tmp_path: Path) -> Validation:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    return load_validation(tmp_path / "small.toml")


def goodput(case: str, scheduler: str, linux: Sequence[float], sim: Sequence[float]) -> Rows:
    both: tuple[tuple[str, Sequence[float]], ...] = (("linux", linux), ("sim", sim))
    return [
        (case, scheduler, engine, seed, "goodput_bps", value * 1e6)
        for engine, values in both
        for seed, value in enumerate(values, start=1)
    ]


def agreement(validation: Validation, *rows: Rows) -> Agreement:
    frame = pl.DataFrame([row for some in rows for row in some], schema=SCHEMA, orient="row")
    return Agreement(validation, Measured(frame))


def test_cases_are_read(small: Validation) -> None:
    assert [case.id for case in small.cases] == ["a-5", "b-10", "blocks"]
    first, second, _ = small.cases
    assert first.title == "5 Mbit/s, cubic"
    assert second.scenario.transport.congestion_control == "newreno"
    assert vars(small.runs) == {"simulator": 4, "least": 2, "most": 3, "error": 0.2}
    assert [case.offered_bps for case in small.cases] == [None, None, 1e6]
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
    (tmp_path / "wrong.toml").write_text((FOLDER / "small.toml").read_text().replace(old, new))
    with pytest.raises(plait.ScenarioError, match=message):
        load_validation(tmp_path / "wrong.toml")


def test_both_engines_have_the_same_transport(small: Validation, tmp_path: Path) -> None:
    for case in (*small.cases, *load_validation(draw="search", points=2).cases):
        kernel, simulator = (json.loads(one.json)["transport"] for one in (case.scenario, case.simulated))
        assert kernel == simulator, case.id
        assert kernel["rto_min"] == "200ms" or case.id.startswith("pooling"), case.id
    (plain, *_) = load_validation(tmp_path / "small.toml", plain=True).cases
    assert (plain.scenario.transport.profile, plain.simulated.transport.profile) == ("linux", "standard")


def test_runs_that_were_measured_otherwise_are_not_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "identity", lambda: "")
    run = task(load_validation(draw="reported").cases[0], "lowest-rtt", "linux", 1)
    before = key(run, "linux")
    assert key(run, "linux") == before
    monkeypatch.setattr(_core, "measurement", lambda: "another")
    assert key(run, "linux") != before


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
    expected = stats.ttest_ind([10.0, 11.0, 12.0, 13.0], [10.0, 12.0]).confidence_interval()
    assert first.noise == pytest.approx(100 * (expected.high - 0.5) / 11)
    assert not first.beyond_noise
    assert second.difference == pytest.approx(-10)
    assert (second.noise, second.beyond_noise) == (0.0, True)
    # Without the rows that the application limits.
    assert percentile(found.goodput, 50) == pytest.approx((10 + 100 * 0.5 / 11) / 2)
    assert len(found.of("goodput_bps")) == 3


def test_what_the_network_limits_counts_though_it_is_blocks(small: Validation) -> None:
    found = agreement(small, goodput("blocks", "lowest-rtt", [0.5], [1.0]))
    assert [one.difference for one in found.goodput] == [pytest.approx(100)]


def test_files_are_compared_by_their_completion_time(small: Validation) -> None:
    def time(engine: str, seed: int, value: float) -> tuple[str, str, str, int, str, float]:
        return ("a-5", "daps", engine, seed, "completion_time_s", value)

    rates = goodput("a-5", "daps", [1.0, 1.0], [1.5])
    whole = agreement(small, rates, [time("linux", 1, 2.0), time("linux", 2, 4.0), time("sim", 1, 6.0)])
    assert [(one.metric, one.difference) for one in whole.goodput] == [("completion_time_s", 100.0)]
    part = agreement(small, rates, [time("linux", 1, 2.0), time("sim", 1, 6.0)])
    assert [(one.metric, one.difference) for one in part.goodput] == [("goodput_bps", 50.0)]


def test_noise_without_chance() -> None:
    assert pooled(Side(1.0, 0.0, 1), Side(2.0, 0.0, 5)).bound == 0
    assert pooled(Side(1.0, 0.0, 1), Side(2.0, 0.0, 1)) == Noise()
    assert pooled(Side(1.0, 0.0, 1), Side(2.0, 1.0, 4)).deviation == pytest.approx(math.sqrt(1.25))


def test_the_kernels_spread_against_the_simulators(small: Validation) -> None:
    found = agreement(small, goodput("a-5", "daps", [9.0, 11.0], [19.0, 21.0, 20.0]))
    assert found.spread_ratio() == pytest.approx((math.sqrt(2) / 10) / (1 / 20))


@pytest.mark.parametrize("chance", [True, False])
def test_runs_are_repetitions_alike_for_both_engines(small: Validation, tmp_path: Path, chance: bool) -> None:
    if not chance:
        (tmp_path / "scenario.toml").write_text(
            (FOLDER / "scenario.toml").read_text().replace('loss = "0.5%"', "")
        )
    case = load_validation(tmp_path / "small.toml").cases[2]
    assert case.group == small.cases[2].group
    assert case.has_chance is chance

    def paths(engine: EngineName, seed: int) -> Any:
        run = task(case, "lowest-rtt", engine, seed)
        assert run.perturb
        return json.loads(perturbed(parsed_scenario(run.scenario).json, seed))["path"]

    own, written = case.simulated.seed or 0, json.loads(case.simulated.json)["path"]
    assert paths("sim", own) == paths("linux", own) == written
    assert paths("sim", own + 1) != paths("sim", own + 2)
    # A repetition changes both engines in the same way.
    assert paths("linux", own + 1) == paths("sim", own + 1) != written


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
        ("b-10", "lowest-rtt", "daps", False),  # equal values have no ranking
    ]
    assert found.pairs[0].kernel == pytest.approx(25)
    assert found.pairs[0].noise == 0
    assert found.pairs[1].simulator == pytest.approx(100 * (9 / 9.5 - 1) / (9 / 9.5))


def test_a_report_of_stored_results(small: Validation, tmp_path: Path) -> None:
    found = agreement(
        small,
        goodput("a-5", "lowest-rtt", [4.0, 4.2], [4.0, 4.1]),
        goodput("a-5", "daps", [3.0, 3.0], [4.5, 4.5]),
        goodput("blocks", "lowest-rtt", [1.0], [1.0]),
        [("a-5", "daps", engine, 1, "share", share) for engine, share in (("linux", 50.0), ("sim", 40.0))],
    )
    outcome = Outcome(
        "b-10", "daps", "linux", 2, "fell back to TCP", "the first data came without MP_CAPABLE"
    )
    found = Agreement(small, Measured(found.measured.runs, (outcome,)))
    files = write(found, tmp_path / "out")
    assert {file.name for file in files} == {
        *("validation.md", "validation.json", "validation.png", "outcomes.parquet", "outcomes.csv"),
        "validation-regions.png",
        *("runs.parquet", "runs.csv", "comparison.parquet", "comparison.csv"),
    }
    assert pl.read_parquet(tmp_path / "out" / "runs.parquet").equals(found.measured.runs)
    page = (tmp_path / "out" / "validation.md").read_text(encoding="utf-8")
    assert (
        "| **a-5** 5 Mbit/s, cubic | daps | 3.00 | 4.50 | Mbit/s | +50.0 | 0.0 | – | for a reason |" in page
    )
    assert "| a-5 | lowest-rtt | daps | +36.7 |" in page
    assert "| kernel | fell back to TCP | the first data came without MP_CAPABLE | 1 |" in page
    assert tables(found)["goals"].count("missed") == sum(not goal.reached for goal in goals(found)) > 0
    assert values(found)["scenarios"] == "3"
    assert (values(found)["rows"], values(found)["limited"]) == ("2", "1")
    document = json.loads((tmp_path / "out" / "validation.json").read_text(encoding="utf-8"))
    assert [(goal["name"], goal["reached"]) for goal in document["goals"]] == [
        (goal.name, goal.reached) for goal in goals(found)
    ]
    assert document["outcomes"] == [vars(outcome)]
    kept = [pl.read_parquet(tmp_path / "out" / f"{name}.parquet") for name in ("runs", "outcomes")]
    again = Agreement(small, Measured.of(*kept))
    assert again.measured.outcomes == (outcome,)
    assert tables(again) == tables(found)


def test_tables_by_region(small: Validation) -> None:
    found = agreement(
        small,
        goodput("a-5", "daps", [1.0], [1.2]),
        goodput("b-10", "daps", [1.0], [1.0]),
        goodput("a-5", "lowest-rtt", [1.0], [1.4]),
    )
    lines = tables(found)["regions"].splitlines()
    (cubic,) = [line for line in lines if line.startswith("| **congestion control** | cubic ")]
    assert cubic.split("|")[3:8] == [" 2 ", " 30.0 ", " 38.0 ", " 0 ", " 100 "]
    (newreno,) = [line for line in lines if "| newreno |" in line]
    assert newreno.split("|")[3:8] == [" 1 ", " 0.0 ", " 0.0 ", " 100 ", " 0 "]
    (every,) = [line for line in lines if line.startswith("| **all** ")]
    assert every.split("|")[3] == " 3 "
    assert "| daps | 2 | 10.0 |" in tables(found)["schedulers"]


def test_counters_that_stand_out(small: Validation) -> None:
    def counted(engine: str, name: str, *values: float) -> Rows:
        return [("a-5", "daps", engine, seed, name, value) for seed, value in enumerate(values, start=1)]

    found = agreement(
        small,
        goodput("a-5", "daps", [1.0, 1.0], [1.0]),
        counted("linux", "sender.TcpExt.TCPTimeouts", 20.0),  # no counter in the second run
        counted("sim", "timeouts", 30.0),
        counted("linux", "sender.TcpExt.TCPLossProbes", 30.0, 40.0),
        counted("sim", "tail_probes", 30.0),
        counted("linux", "receiver.MPTcpExt.NoDSSInWindow", 7.0, 9.0),
        # Meaningless without a counter of the simulator.
        counted("linux", "sender.TcpExt.TCPFastRetrans", 50.0, 50.0),
    )
    assert stands_out(found, "a-5", "daps") == ["timeouts 10 / 30", "outside the window 8 / –"]


def test_the_page_has_a_place_for_every_table(small: Validation) -> None:
    found = agreement(small, goodput("a-5", "daps", [3.0, 3.0], [4.5, 4.5]))
    text = (Path(__file__).resolve().parents[2] / "docs" / "validation.md").read_text(encoding="utf-8")
    filled = fill(text, {**tables(found), "goals with BBR": ""}, values(found))
    assert "| 3.00 | 4.50 | Mbit/s | +50.0 | 0.0 | – | for a reason |" in filled
    assert re.findall(r"<!-- (?:measured|value): .+? -->", filled) == re.findall(
        r"<!-- (?:measured|value): .+? -->", text
    )


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[list[str], list[str]]]:
    """Replaces the kernel by the simulator.

    The result of the fixture returns the schedulers of all runs: kernel runs, then simulated runs.
    """
    file = tmp_path / "linux"
    file.write_text("")
    monkeypatch.setenv(kernel.OVERRIDE, str(file))
    made: list[str] = []
    simulated: list[str] = []

    def pretend(tasks: Sequence[Any], **options: Any) -> list[plait.Result]:
        (task,) = tasks
        if options.pop("engine", "sim") == "linux":
            made.append(task.scheduler)
            if task.scheduler == "daps" and task.seed == 1:
                message = "it did not end"
                raise plait.RunError(message)
            (result,) = run_tasks(tasks, **options)
            fallback = "the first data came without MP_CAPABLE" if task.scheduler == "daps" else None
            counters = {"sender": {"TcpExt": {"TCPTimeouts": 4}}, "receiver": {}}
            result.data.update({"fallback": fallback, "kernel": {"counters": counters}})
            return [result]
        simulated.append(task.scheduler)
        if task.scheduler == "round-robin" and task.seed == 2:
            message = "the peer was given up"
            raise plait.RunError(message)
        (result,) = run_tasks(tasks, **options)
        if task.scheduler == "round-robin" and task.seed == 3:
            result.data["fallback"] = "the second segment came first"
        return [result]

    monkeypatch.setattr(experiment, "run_tasks", pretend)
    return lambda: (made, simulated)


def test_runs_are_kept_and_failures_told(
    small: Validation, tmp_path: Path, pretended: Callable[[], tuple[list[str], list[str]]]
) -> None:
    keep = tmp_path / "kept"
    made, simulated = pretended()
    shares: list[float] = []
    small = replace(small, runs=replace(small.runs, most=2))
    measured = measure(small, keep=keep, threads=2, progress=shares.append)
    assert len(made) == (2 * 3 + 1) * 2
    assert len(simulated) == (2 * 3 + 1) * 4
    assert shares[-1] == pytest.approx(1)
    assert sorted(shares) == shares
    outcomes = sorted((one.engine, one.case, one.seed, one.kind, one.reason) for one in measured.outcomes)
    assert outcomes == [
        ("linux", "a-5", 1, "failed", "it did not end"),
        ("linux", "a-5", 2, "fell back to TCP", "the first data came without MP_CAPABLE"),
        ("linux", "b-10", 1, "failed", "it did not end"),
        ("linux", "b-10", 2, "fell back to TCP", "the first data came without MP_CAPABLE"),
        ("sim", "a-5", 2, "failed", "the peer was given up"),
        ("sim", "a-5", 3, "fell back to TCP", "the second segment came first"),
        ("sim", "b-10", 2, "failed", "the peer was given up"),
        ("sim", "b-10", 3, "fell back to TCP", "the second segment came first"),
    ]
    assert len(measured.failures) == 4
    found = Agreement(small, measured)
    assert {one.scheduler for one in found.comparisons} == {"lowest-rtt", "round-robin"}
    (some, *_) = found.of("goodput_bps")
    assert (some.kernel.runs, some.simulator.runs) == (2, 4)
    blocks = [one for one in found.comparisons if one.case == "blocks"]
    assert blocks
    # The engines make different numbers of repetitions, but blocks have the same rate in all.
    assert [one.difference for one in blocks if one.metric == "goodput_bps"] == [pytest.approx(0, abs=0.1)]
    counter = found.side("a-5", "lowest-rtt", "linux", "sender.TcpExt.TCPTimeouts")
    assert counter is not None
    assert (counter.mean, counter.runs) == (4, 2)

    made.clear()
    simulated.clear()
    again = measure(small, keep=keep, resume=True)
    assert made == ["daps", "daps"]  # failed runs repeat; a fallback to TCP is a result
    assert set(simulated) == {"round-robin"}
    assert again.runs.equals(measured.runs)
    made.clear()
    case = replace(small.cases[0], changes={**small.cases[0].changes, "path.slow.rate": "6Mbit"})
    measure(replace(small, cases=(case,)), keep=keep, resume=True)
    assert sorted(set(made)) == ["daps", "lowest-rtt", "round-robin"]


def test_what_the_kernel_refuses_is_an_outcome(
    small: Validation, pretended: Callable[[], tuple[list[str], list[str]]]
) -> None:
    small = replace(small, runs=replace(small.runs, least=3))
    case = replace(small.cases[2], changes={"transport.congestion_control": "lia"})
    measured = measure(replace(small, cases=(case,)))
    assert pretended()[0] == []
    assert [one.seed for one in measured.outcomes] == [1, 2, 3]
    for one in measured.outcomes:
        assert (one.engine, one.kind) == ("linux", "refused")
        assert "Linux' MPTCP is uncoupled" in one.reason
    assert not measured.failures
