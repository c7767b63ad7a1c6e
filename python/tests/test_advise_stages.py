"""The two stages of an advice, failures of links, and the sentences that depend on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import plait
from plait import advise
from plait.advice import numbers, parse_path, parse_traffic
from plait.advice.buffer import BufferAdvice
from plait.advice.candidates import candidates, stock, usual_schedulers
from plait.advice.doing import commands
from plait.advice.judging import choose, compared, standings
from plait.advice.outcome import Outcome
from plait.advice.trial import Grid, Setting, TrialRunner
from plait.statistics.estimate import Estimate
from plait.validate.coverage import measured
from plait.validate.statements import CHECKS, complaints

DSL, LTE = "dsl 4Mbit 25ms queue=20p", "lte 3Mbit 60ms queue=30p"
FEW = ("round-robin", stock(), "daps", "redundant")


def _setting() -> Setting:
    return Setting(
        paths=(parse_path(DSL), parse_path(LTE)),
        traffic=parse_traffic("blocks:1Mbit", "p99"),
        protocol="mptcp",
        receive_buffer=6 << 20,
    )


@pytest.mark.parametrize("stages", [1, 2])
def test_without_a_true_difference_only_one_stage_finds_one(stages: int) -> None:
    """All schedulers but that of stock Linux have the median delay of a path alone: gains are chance."""
    singles, multiple = candidates(2, [stock(), *usual_schedulers(messages=True)[:12]])
    rng = np.random.default_rng(3)
    pool = {
        one: [
            Outcome(float(score), True, 1e6, 20.0, 1e5, 1.0, 500, 1000, (1.0,) * len(one.paths))
            for score in (500 if one.scheduler == stock() else 50)
            * np.exp(rng.normal(0, 0.8 if one.scheduler else 0.1, 256))
        ]
        for one in (*singles, *multiple)
    }
    inside, verdicts = measured(_setting(), pool, 60, stages=stages)
    if stages == 1:
        assert inside < 52
        assert verdicts["worth"] > 2
    else:
        assert inside >= 54
        assert verdicts["worth"] == 0
        assert verdicts["borderline"] > 50


def test_both_stages_have_other_variations() -> None:
    with TrialRunner(_setting().paths, seed=1) as runner:
        first, second = runner.explored, runner.variations
    assert not {one.seed for one in first} & {one.seed for one in second}
    assert not {one.factors for one in first} & {one.factors for one in second}


def test_the_delay_during_a_failure_is_told_beside_one_path_alone() -> None:
    advice = advise([DSL, "slow 2Mbit 150ms"], "blocks:500kbit", schedulers=FEW, events=2_000_000)
    assert advice.verdict == "not worth"
    assert advice.failure is not None
    # The path fails for 3 s, and a spare ends the wait after a timeout.
    assert advice.failure.alone > 3 > advice.failure.spare
    assert advice.failure.copied is not None
    assert "If dsl fails for 3 s, the slowest block takes " in advice.text
    assert complaints(advice.document()) == []
    # A gain in none of few variations is only probably none, and the sentence has the reason.
    few = replace(advice, simulated=replace(advice.simulated, variations=10))
    assert advice.choice is not None
    assert advice.choice.best.worth_in == 0
    said = "Probable, since 10 variations are few: the gain of linux-default is less than 10 % in 10 of 10 variations."
    assert said in few.text
    text = "10 variations are few: --seed 2 gives others, and so does another order of the paths."
    assert text in few.text
    assert text not in replace(few, simulated=replace(few.simulated, variations=11)).text
    assert not list(CHECKS["few"](text, few.document()))
    for wrong in (text.replace("10", "9"), text.replace("2", "3")):
        assert list(CHECKS["few"](wrong, few.document()))


def test_a_stated_failure_changes_the_answer() -> None:
    """Without failures dsl has short delays; with them its worst delay is the failure."""
    calm, failing = (
        advise([dsl, LTE], "blocks:500kbit", metric="max", schedulers=FEW, events=2_000_000)
        for dsl in (DSL, f"{DSL} outage=10s:2s")
    )
    assert calm.single.label == "dsl alone"
    assert failing.single.label == "lte alone"
    assert failing.simulated.duration_s >= 20
    table = failing.scenario.to_dict()["path"][0]["outages"]
    assert (table["every"], table["length"]) == ("10000000000ns", "2000000000ns")
    for text in ("outage=10s", "outage=2s:10s", "outage=10s:0s", "outage=10s-12s"):
        with pytest.raises(plait.ScenarioError, match="expected EVERY:LENGTH"):
            parse_path(f"dsl 4Mbit 25ms {text}")


def test_outages_that_most_runs_miss_are_warned_of() -> None:
    dsl = f"{DSL} outage=60s:1s"
    short = advise([dsl, LTE], "blocks:500kbit+download", schedulers=FEW, events=500_000)
    lasts = numbers.time(short.simulated.duration_s)
    text = f"WARNING: most runs meet no outage: a run lasts for {lasts}, and dsl fails every 60 s."
    assert f"{text} Runs without +download last longer." in short.text.replace("\n", " ")
    document = short.document()
    assert complaints(document) == []
    document["asked"]["paths"][0]["outage_every_s"] = 10
    assert complaints(document)
    long = advise([f"{DSL} outage=2s:1s", LTE], "blocks:500kbit", schedulers=FEW, events=500_000)
    assert "meet no outage" not in long.text


def test_the_undecided_buffer_has_its_delay_as_less_or_more() -> None:
    advice = advise([DSL, LTE], schedulers=FEW, events=500_000)
    cost = Estimate(-9.6, -26.0, 10.0)
    unknown = BufferAdvice(stock(), 64_000, cost, 3.0, 32_000, Estimate(0.0), False, 800, (), 8, 1.0)
    changed = replace(advice, buffer=unknown, verdict="worth")
    assert (unknown.enough, unknown.too_small) == (False, False)
    said = "it has +9.6 % goodput (not distinguishable from zero: 95 % interval −10 to +26 %)"
    assert said in changed.text.replace("\n", " ")
    document = changed.document()
    assert not any(line.startswith("buffer:") for line in complaints(document))
    document["receive_buffer"]["given_cost_percent"]["low"] = -40.0
    assert any(line.startswith("buffer:") and "costs -9.6" in line for line in complaints(document))


def test_a_stream_carries_its_rate() -> None:
    advice = advise([DSL, LTE], "blocks:1Mbit", schedulers=FEW, events=1_000_000)
    assert advice.single.goodput_bps == pytest.approx(1e6, rel=0.01)
    saved = plait.run(advice.scenario, stock()).metrics["goodput_bps"]
    assert saved == pytest.approx(1e6, rel=0.02)


def test_the_proxy_sends_copies_only_if_they_are_not_worse() -> None:
    advice = advise([DSL, LTE], "blocks:500kbit", schedulers=FEW, events=500_000)
    row = next(one for one in advice.standings if one.label == "redundant")
    assert not advice.several
    for gain, option in (
        (Estimate(-30.0, -40.0, -20.0), "--backup DEVICE_LTE"),
        (row.gain, "--redundant-port PORT"),
    ):
        rows = tuple(replace(one, gain=gain) if one is row else one for one in advice.standings)
        here = replace(advice, standings=rows)
        assert option in commands(here)[1].text
        assert complaints(here.document()) == []
    assert "Now do it (dsl, with lte as a spare; " in advice.text


@pytest.mark.parametrize(
    ("lte", "option"),
    [
        (LTE, "--redundant-port PORT"),
        (f"{LTE} 1%", "--congestion bbr"),
        (f"{LTE} cost=1", "--backup DEVICE_LTE"),
    ],
)
def test_the_proxy_commands_are_those_of_the_text(lte: str, option: str) -> None:
    advice = advise([DSL, lte], "blocks:500kbit", schedulers=FEW, events=500_000)
    # Calls usually use UDP, so the proxy comes before MPTCP.
    far, near, first = (one.text for one in commands(advice)[:3])
    assert far.startswith("plait proxy --serve ")
    assert " --udp " in near
    assert first == "sysctl -w net.mptcp.enabled=1"
    assert option in near
    assert option.split(maxsplit=1)[0] in next(
        one["text"] for one in advice.document()["statements"] if one["kind"] == "udp"
    )


def test_a_buffer_is_enough_or_too_small_or_unknown() -> None:
    def found(cost: Estimate, needed: int) -> BufferAdvice:
        return BufferAdvice("x", 100, cost, 5.0, needed, Estimate(0.0), False, 800, (), 8, 1.0)

    # 28 % more delay is not "enough", although a smaller size costs nothing in other variations.
    unknown = found(Estimate(28.0, -10.0, 60.0), 50)
    assert (unknown.enough, unknown.too_small) == (False, False)
    small = found(Estimate(28.0, 10.0, 60.0), 200)
    assert (small.enough, small.too_small) == (False, True)
    assert found(Estimate(1.0, 0.0, 2.0), 50).enough


@pytest.mark.parametrize(
    ("goodputs", "delays", "chosen", "quicker"),
    [
        # 3 % more goodput is too little for eight times the delay; 8 % more is enough.
        ([1.03, 1.0, 0.8], [800, 100, 90], "blest", None),
        ([1.08, 1.0, 0.8], [800, 100, 90], "ecf", "blest"),
        # Of equal goodputs, a delay that is 60 % longer is left out, and one of 40 % more is not.
        ([1.01, 1.0, 1.0], [140, 100, 101], "ecf", "blest"),
        ([1.01, 1.0, 0.99], [160, 100, 101], "blest", None),
        # Nothing near has a lower delay.
        ([1.15, 1.0, 0.8], [800, 100, 90], "ecf", None),
    ],
)
def test_a_long_packet_delay_needs_more_goodput(
    goodputs: list[float], delays: list[float], chosen: str, quicker: str | None
) -> None:
    setting = replace(_setting(), traffic=parse_traffic("bulk"))
    singles, multiple = candidates(2, ["ecf", "blest", "round-robin"])
    rng = np.random.default_rng(1)
    noise = np.exp(rng.normal(0, 0.002, (4, 12)))
    grid = Grid([*singles, *multiple], 10**9)
    levels = [(0.5, 50.0)] * 2 + list(zip(goodputs, delays, strict=True))
    for one, (goodput, delay), row in zip(
        grid.candidates, levels, [noise[3], noise[3], *noise[:3]], strict=True
    ):
        shares = (1.0,) * len(one.paths)
        grid.outcomes[one] = [
            Outcome(goodput * each * 1e7, True, 1e7, delay, 1e5, 1.0, 0, 1000, shares) for each in row
        ]
    labels = [one.scheduler or f"path {one.paths[0]}" for one in grid.candidates]
    ranked = standings(grid, grid.candidates, labels, singles[0], setting.traffic)
    schedulers = [one for one in ranked if one.candidate.scheduler is not None]
    best = choose(grid, schedulers, setting.traffic)
    found = compared(grid, best, schedulers, setting.traffic)
    assert best.label == chosen
    assert (found.quicker and found.quicker.label) == quicker
