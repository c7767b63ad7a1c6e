"""Advice for requests and responses, and for many downloads at once, against single runs."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

import plait
from plait import Advice, advise
from plait.advice import parse_path, parse_traffic
from plait.advice.candidates import Candidate
from plait.advice.outcome import part_of
from plait.advice.trial import Cell, Setting, TrialRunner
from plait.cli import cli
from plait.scenarios.units import NANOSECONDS
from plait.validate.statements import complaints

DSL, LTE = "dsl 4Mbit 25ms queue=20p", "lte 3Mbit 60ms queue=30p"
FEW = ("round-robin", "lowest-rtt", "redundant")
EVENTS = 2_000_000


@cache
def requests() -> Advice:
    return advise([DSL, LTE], "request-response:40kB:4", schedulers=FEW, events=2 * EVENTS)


@cache
def downloads() -> Advice:
    return advise([DSL, LTE], "flows:10:200kB", schedulers=FEW, events=EVENTS)


def _paths() -> list[plait.Path]:
    return [
        plait.Path(name="dsl", rate="4Mbit", rtt="25ms", queue="20p"),
        plait.Path(name="lte", rate="3Mbit", rtt="60ms", queue="30p"),
    ]


def _setting(traffic: str, metric: str | None = None) -> Setting:
    return Setting(
        paths=(parse_path(DSL), parse_path(LTE)),
        traffic=parse_traffic(traffic, metric),
        protocol="mptcp",
        receive_buffer=6 << 20,
    )


def _row(advice: Advice, label: str) -> tuple[float, float]:
    row = next(one for one in advice.standings if one.label == label)
    return row.low, row.high


@pytest.mark.parametrize("scheduler", ["lowest-rtt", "round-robin"])
def test_latencies_are_those_of_a_run_by_hand(scheduler: str) -> None:
    scenario = plait.Scenario(
        name="by hand",
        duration="40s",
        warmup="5s",
        paths=_paths(),
        transport=plait.Transport(protocol="mptcp", profile="linux", receive_buffer="6MiB"),
        workload=plait.RequestResponse(response="40kB", think="130ms", think_times="exponential", parallel=4),
    )
    found = plait.run(scenario, scheduler, seed=77).metrics["request_latency_ms"]["p95"]
    low, high = _row(requests(), scheduler)
    assert low * 0.9 < found < high * 1.1
    assert requests().document()["metric"] == "request_latency_ms.p95"


@pytest.mark.parametrize("scheduler", ["lowest-rtt", "redundant"])
def test_times_of_downloads_are_those_of_a_run_by_hand(scheduler: str) -> None:
    scenario = plait.Scenario(
        name="by hand",
        duration="60s",
        paths=_paths(),
        scheduler=scheduler,
        transport=plait.Transport(protocol="mptcp", profile="linux", receive_buffer="6MiB"),
        workload=plait.File(size="200kB"),
        flows=[plait.MultipathFlow(size="200kB", start=f"{10 * number}ms") for number in range(1, 10)],
    )
    result = plait.run(scenario)
    ends = [result.metrics["completion_time_s"], *(flow["completion_time_s"] for flow in result.flows)]
    times = sorted(end - 0.01 * number for number, end in enumerate(ends) if end is not None)
    assert len(times) == 10
    low, high = _row(downloads(), scheduler)
    # The 95th percentile of ten values is the largest; here in milliseconds.
    assert low * 0.9 < times[-1] * 1e3 < high * 1.1
    assert downloads().document()["metric"] == "download_ms.p95"


def test_downloads_over_both_paths_take_what_both_carry() -> None:
    """2 MB with headers take 2.3 s at 4 + 3 Mbit/s, and 4.1 s over the faster path alone."""
    advice = downloads()
    alone = next(one for one in advice.standings if one.label == "dsl alone")
    assert 4100 < alone.value < 5500
    assert advice.single.label == "dsl alone"
    (best, *_) = [one for one in advice.standings if one.candidate.scheduler is not None]
    assert 2100 < best.value < 3700
    # Goodput is the sum over all downloads.
    assert 3e6 < alone.goodput_bps < 4e6 < best.goodput_bps
    assert advice.verdict in ("worth", "borderline")
    assert "Expect 95 % of the downloads within " in advice.text


def test_every_download_has_the_scheduler_that_is_tried() -> None:
    setting = _setting("flows:3:500kB")
    with TrialRunner(setting.paths, 1) as runner:
        for name in ("redundant", "lowest-rtt+rp"):
            cell = Cell(setting, Candidate((0, 1), name), runner.nominal, 10 * NANOSECONDS)
            flows = json.loads(runner.scenario(cell).json)["flow"]
            chosen = json.loads(plait.Scenario(paths=_paths(), scheduler=name).json)["scheduler"]
            assert [flow["scheduler"] for flow in flows] == [chosen, chosen]
        both = [
            Cell(setting, Candidate((0, 1), name), runner.nominal, 10 * NANOSECONDS)
            for name in ("lowest-rtt", "redundant")
        ]
        plain, copied = runner.run(both)
    # All three downloads send copies; if only one did, the overhead would be a third as large.
    assert plain.overhead < 1.2
    assert copied.overhead > plain.overhead + 0.4


def test_what_has_not_arrived_counts_as_long_as_the_run_lasts() -> None:
    with TrialRunner(_setting("flows:3:1MB").paths, 1) as runner:

        def run(traffic: str, metric: str) -> tuple[bool, float]:
            setting = _setting(traffic, metric)
            cell = Cell(setting, Candidate((0,)), runner.nominal, NANOSECONDS)
            (outcome,) = runner.run([cell])
            return outcome.whole, outcome.score

        # The last download starts 20 ms after the first.
        assert run("flows:3:1MB", "max") == (False, 1000)
        assert run("flows:3:1MB", "p50") == (False, 990)
        assert run("request-response:10MB", "p95") == (False, 1000)
        whole, score = run("flows:3:10kB", "max")
        assert whole
        assert score < 500


@pytest.mark.parametrize(
    ("part", "value"), [("p50", 2.0), ("p95", 4.0), ("p99", 4.0), ("max", 4.0), ("mean", 2.5)]
)
def test_parts_of_some_values(part: str, value: float) -> None:
    assert part_of([4.0, 1.0, 3.0, 2.0], part) == value
    assert part_of([float(number) for number in range(1, 21)], "p95") == 19


def test_as_many_requests_as_the_percentile_needs() -> None:
    """The interval between requests depends on the number of clients.

    With one client it is 130 ms of think time, a round trip and the transmission time of the
    response. Many clients share the capacity of the paths.
    """
    one, many = _setting("request-response:50kB"), _setting("request-response:50kB:50")
    assert one.interval_ns == pytest.approx((0.130 + 0.025 + 0.1) * 1e9)
    assert many.interval_ns == pytest.approx(50e3 * 8 / 7e6 * 1e9)
    assert _setting("flows:20").interval_ns == _setting("bulk").interval_ns == 0
    assert parse_traffic("request-response", "p99").samples_needed() == 500
    # The 95th percentile needs 100 responses: 5 of them are later.
    assert requests().simulated.duration_s * 1e9 >= 100 * requests().setting.interval_ns * 0.99


def test_downloads_that_are_too_much_are_judged_as_bulk() -> None:
    large = advise([DSL, LTE], "flows:100:1GB", schedulers=["lowest-rtt"], events=EVENTS)
    assert large.setting.traffic.kind == "bulk"
    assert "100 GB are too much to simulate in seconds" in large.text


def test_the_saved_scenario_is_what_was_said(tmp_path: Path) -> None:
    saved = tmp_path / "saved.toml"
    said = ["--path", "a 2Mbit 40ms", "--path", "b 1Mbit 50ms", "--schedulers", "lowest-rtt"]
    for traffic, kind in (("flows:3:20kB", "file"), ("request-response:20kB:2", "request-response")):
        done = CliRunner().invoke(
            cli, ["advise", *said, "--traffic", traffic, "--save", str(saved), "--json"]
        )
        assert done.exit_code == 0, done.output
        document = json.loads(done.stdout)
        table = tomllib.loads(saved.read_text(encoding="utf-8"))
        assert table["workload"]["kind"] == kind
        assert len(table.get("flow", [])) == (2 if kind == "file" else 0)
        assert json.loads(plait.load(saved).json) == document["scenario"]


def test_flows_without_a_scheduler_have_the_runs(tmp_path: Path) -> None:
    """In a saved scenario every download uses the scheduler of the run, as in the advice."""
    saved = tmp_path / "saved.toml"
    downloads().save(saved)
    compared = plait.compare(saved, ["lowest-rtt", "redundant"])
    for label in ("lowest-rtt", "redundant"):
        changed = plait.run(plait.load(saved, {"scheduler": label}))
        assert compared[label].flows == changed.flows
    plain, copied = (
        sum(flow["packets_sent"] for flow in compared[one].flows) for one in ("lowest-rtt", "redundant")
    )
    # Short downloads end before both paths carry data, and handshakes count as packets in both.
    assert copied > 1.25 * plain


def test_too_few_responses_for_a_percentile_are_said_to_be_too_few() -> None:
    """At a tenth of the rate a run has a tenth of the responses, and may miss rare delays."""
    few = advise(
        [DSL, LTE], "request-response:200kB", metric="p99", schedulers=["lowest-rtt"], events=100_000
    )
    rows = [one for one in few.standings if one.samples < 100]
    assert rows
    assert " at best (" in few.text.replace("\n", " ")
    assert "too few to tell" in few.text.replace("\n", " ")
    assert "Unsure, since " in few.text
    many = requests()
    assert all(one.samples >= 50 for one in many.standings)
    assert "at best" not in many.text
    assert complaints(few.document()) == complaints(many.document()) == []
