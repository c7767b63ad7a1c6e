"""Advice for uploads, metered links, shaped routers and concurrent transfers; copyable commands."""

from __future__ import annotations

import io
import re
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import plait
from plait import advise
from plait.advice import numbers, parse_path, parse_traffic
from plait.advice.candidates import Candidate, stock
from plait.advice.doing import commands
from plait.advice.outcome import Outcome
from plait.advice.page import page
from plait.advice.trial import Cell, Setting, TrialRunner
from plait.advice.variations import variations
from plait.advice.wording import purpose
from plait.statistics.estimate import Estimate
from plait.support.progress import Progress
from plait.validate.fresh import contradictions
from plait.validate.statements import complaints

EVENTS = 3_200_000
DSL, LTE, SAT = "dsl 4Mbit 25ms queue=20p", "lte 3Mbit 60ms queue=30p", "sat 1Mbit 600ms queue=50p"
FEW = ("round-robin", stock(), "daps", "redundant")


@pytest.mark.parametrize("width", [20, 60, 110, 200])
@pytest.mark.parametrize("traffic", ["bulk", "flows:20", "request-response", "blocks:500kbit"])
def test_commands_are_one_line_each_at_any_width(width: int, traffic: str) -> None:
    """The block can be copied into bash: every line is a complete command or a comment."""
    advice = advise([DSL, LTE], traffic, schedulers=FEW, events=300_000)
    told = [one.text for one in commands(advice)]
    assert told
    out = Console(file=io.StringIO(), width=width)
    out.print(page(advice, width), crop=False)
    assert isinstance(out.file, io.StringIO)
    for text in (out.file.getvalue(), advice.text):
        lines = [line.rstrip() for line in text.splitlines()]
        first, last = lines.index(told[0]), len(lines) - 1 - lines[::-1].index(told[-1])
        assert [line for line in lines[first : last + 1] if not line.startswith("# ")] == told
    script = "\n".join(lines[first : last + 1])
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("traffic", "metric", "more"),
    [("bulk", "goodput", True), ("file:3MB", "time", False), ("blocks:1Mbit", "mean", False)],
)
def test_no_scheduler_gains_more_than_the_bound_leaves(traffic: str, metric: str, *, more: bool) -> None:
    setting = Setting(
        paths=(parse_path(DSL), parse_path(LTE)),
        traffic=parse_traffic(traffic, metric),
        protocol="mptcp",
        receive_buffer=4_000_000,
    )
    with TrialRunner(setting.paths, seed=1) as runner:
        (variation, *_) = runner.variations
        cells = [Cell(setting, Candidate((0, 1), one), variation, 10 * 10**9) for one in FEW]
        outcomes = runner.run(cells)
    for one in outcomes:
        assert one.bound_gain is not None
        best = max(outcomes, key=lambda other: other.score if more else -other.score).score
        gain = best / one.score - 1 if more else 1 - best / one.score
        assert gain * 100 <= one.bound_gain + 1e-9
        # The same bound for all.
        bound = one.score * (1 + one.bound_gain / 100) if more else one.score * (1 - one.bound_gain / 100)
        first = outcomes[0]
        assert bound == pytest.approx(first.score * (1 + (first.bound_gain or 0) / 100 * (1 if more else -1)))


def test_an_advice_near_the_bound_says_so() -> None:
    advice = advise([DSL, "lte 4Mbit 30ms"], "file:3MB", schedulers=FEW, events=EVENTS)
    (said,) = (one for one in advice.document()["statements"] if one["kind"] == "bound")
    assert advice.choice is not None
    assert f"% over {advice.choice.best.label} here" in said["text"]
    assert complaints(advice.document()) == []


def test_rows_of_the_same_figures_are_one() -> None:
    advice = advise(
        [DSL, LTE], receive_buffer="4MB", schedulers=["round-robin", "lowest-rtt", "ecf"], events=EVENTS
    )
    figures = {
        (one.value, one.low, one.high, one.delay_ms) for one in advice.standings if one.candidate.scheduler
    }
    rows = [
        line for line in advice.text.splitlines() if line.startswith(("round-robin", "lowest-rtt", "ecf"))
    ]
    assert len(figures) < 3
    assert len(rows) == len(figures)
    assert re.search(r"^\(\+\d\) The same figures as \S+: ", advice.text, re.MULTILINE)


def test_uploads_go_where_back_is_the_rate(tmp_path: Path) -> None:
    paths = ["dsl 16Mbit 25ms back=2Mbit queue=20p", "lte 9Mbit 60ms back=3Mbit queue=30p"]
    advice = advise(paths, schedulers=FEW, direction="up", events=EVENTS)
    assert advice.choice is not None
    assert advice.single.label == "lte alone"
    assert 2e6 < advice.single.value < 3e6 < advice.choice.best.value < 5e6
    advice.save(tmp_path / "up.toml")
    assert "with the upload as forward direction" in (tmp_path / "up.toml").read_text(encoding="utf-8")
    asked = [one.text for one in commands(advice) if "iperf3 -c" in one.text]
    assert asked
    assert not any("-R" in one for one in asked)
    down = advise(paths, schedulers=FEW, events=EVENTS)
    assert down.single.label == "dsl alone"
    assert all("-R" in one.text for one in commands(down) if "iperf3 -c" in one.text)
    with pytest.raises(plait.ScenarioError, match="direction 'up': responses come down"):
        advise(paths, "request-response", direction="up")
    with pytest.raises(plait.ScenarioError, match="direction 'sideways': unknown"):
        advise(paths, direction="sideways")  # type: ignore[arg-type]


def test_blocks_beyond_the_upload_are_warned_of() -> None:
    dsl = f"{DSL} back=1Mbit"
    advice = advise([dsl, SAT], "blocks:2Mbit", schedulers=FEW, events=500_000)
    assert advice.single.label == "dsl alone"
    warning = (
        "WARNING: these figures are for the download. A call also uploads: dsl carries 1 Mbit/s up, less than "
        "2 Mbit/s. Ask again with --direction up."
    )
    assert warning in advice.text.replace("\n", " ")
    document = advice.document()
    assert complaints(document) == []
    said = next(one for one in document["statements"] if one["kind"] == "upload")
    said["text"] = said["text"].replace("carries 1 ", "carries 1.5 ")
    assert complaints(document)
    document["statements"].remove(said)
    assert complaints(document)
    up = advise([dsl, LTE], "blocks:2Mbit", schedulers=FEW, direction="up", events=500_000)
    slow = advise([dsl, SAT], "blocks:500kbit", schedulers=FEW, events=500_000)
    assert not any(one["kind"] == "upload" for run in (up, slow) for one in run.document()["statements"])


def test_fq_codel_is_named_where_a_transfer_fills_the_queue() -> None:
    paths = ["dsl 16Mbit 25ms back=2Mbit queue=500ms", "lte 9Mbit 60ms back=3Mbit queue=300ms"]
    call = "blocks:500kbit+upload"
    advice = advise(paths, call, schedulers=FEW, direction="up", events=EVENTS)
    assert advice.shaped is not None
    document = advice.document()
    said = next(one for one in document["statements"] if one["kind"] == "queue")
    start = rf"Better, {advice.shaped.path} alone with FQ-CoDel \(SQM on its router, at 90 % of the rate\): "
    assert re.match(rf"{start}[\d.]+ ms \(block delay p95\), \d+ % less delay", said["text"])
    assert complaints(document) == []
    assert contradictions(advice, 4711) == []
    # The same runs by hand: the queue of the best path alone is nearly empty.
    managed = [f"{path.split('queue')[0]} queue=fq_codel" for path in paths]
    alone = advise(managed, call, schedulers=FEW, direction="up", events=EVENTS)
    assert advice.shaped.score == pytest.approx(alone.single.value, rel=0.3)
    assert alone.shaped is None
    for text in (said["text"].replace("at 90", "at 80"), said["text"].replace(" less delay", " more delay")):
        wrong = {**document, "statements": [{"kind": "queue", "text": text}]}
        assert any(line.startswith("queue:") for line in complaints(wrong))
    # The advised device gets the queue that was simulated, and the undoing removes it.
    told = [one["command"] for one in document["commands"]]
    mark, rate = ("DSL", 1800) if advice.shaped.path == "dsl" else ("LTE", 2700)
    assert f"tc class replace dev DEVICE_{mark} parent 1: classid 1:1 htb rate {rate}kbit" in told
    assert f"tc qdisc del dev DEVICE_{mark} root" in told
    none = replace(advice, shaped=replace(advice.shaped, gain=Estimate(3.0, -1.0, 7.0))).document()
    assert not any("fq_codel" in one["command"] for one in none["commands"])
    assert any(one["text"].startswith("Not 10 % better, ") for one in none["statements"])
    assert complaints(none) == []
    document["statements"].remove(said)
    assert "a path alone ran with FQ-CoDel, and no sentence says so" in complaints(document)
    assert advise(paths, "blocks:500kbit", schedulers=FEW, events=300_000).shaped is None


def test_a_call_is_judged_by_both_directions() -> None:
    """The upload fills the queue of dsl, whose download stays the quicker one."""
    paths = ["dsl 16Mbit 10ms back=2Mbit queue=500ms", "lte 9Mbit 60ms back=6Mbit queue=100ms"]
    down, up = (
        advise(paths, "blocks:500kbit+upload", schedulers=FEW, direction=way, events=EVENTS)
        for way in ("down", "up")
    )
    for advice in (down, up):
        found = advice.directions
        assert found is not None
        rows = {one.label: one for one in found.paths}
        assert rows["dsl alone"].down < rows["lte alone"].down < rows["dsl alone"].up
        assert min(one.up for one in found.paths) == found.up.up
        assert complaints(advice.document()) == []
        wrong = advice.document()
        wrong["both_directions"]["one_path"][0]["down"] *= 2
        assert any(line.startswith("directions:") for line in complaints(wrong))
    assert down.directions is not None
    assert up.directions is not None
    # Both questions have the same answer, within the error of few variations.
    for one in up.directions.paths:
        same = next(row for row in down.directions.paths if row.label == one.label)
        assert (one.down, one.up) == pytest.approx((same.down, same.up), rel=0.3)
    assert advise(paths, "blocks:500kbit", schedulers=FEW, events=300_000).directions is None


def test_an_upload_beside_an_upload_is_named_once() -> None:
    traffic = parse_traffic("blocks:1Mbit+upload")
    assert purpose(traffic, " when uploading") == "uploaded blocks of 5 kB at 1 Mbit/s beside an upload"
    assert purpose(traffic, "") == "blocks of 5 kB at 1 Mbit/s beside an upload"
    assert purpose(parse_traffic("bulk"), " when uploading") == "goodput when uploading"


def test_metered_paths_are_told_what_they_carry_and_how_to_be_spared() -> None:
    advice = advise([DSL, f"{LTE} cap=2GB"], schedulers=[*FEW, "cheapest-first"], events=EVENTS)
    assert advice.choice is not None
    share = advice.choice.best.shares[1]
    # lte carries 3 of the 7 Mbit/s, so its 2 GB last an hour and a half.
    assert share == pytest.approx(3 / 7, abs=0.08)
    assert re.search(
        r"lte is metered: \S+ sends [\d.]+ % of the packets there, so 2 GB last for \d[\d.]* ", advice.text
    )
    assert "To spare lte: dsl alone, with the rest as backup paths" in advice.text.replace("\n", " ")
    assert complaints(advice.document()) == []
    alone = advise(["dsl 16Mbit 25ms cap=900GB", SAT], "blocks:500kbit", schedulers=FEW, events=EVENTS)
    assert "dsl is metered: dsl alone sends 100 % of the packets there" in alone.text.replace("\n", " ")
    assert complaints(alone.document()) == []


def test_a_shaped_router_delays_less_than_a_long_queue() -> None:
    def delay(queue: str) -> float:
        return advise([f"dsl 4Mbit 25ms queue={queue}"], metric="p95", events=500_000).single.value

    assert delay("fq_codel") < 0.3 * delay("1s")


def test_bulk_beside_requests_makes_them_wait() -> None:
    """A queue of 800 ms only adds delay while another transfer fills it."""

    def latency(traffic: str) -> float:
        return advise(["cable 10Mbit 25ms queue=800ms back=2Mbit"], traffic, events=1_000_000).single.value

    alone, upload, download = map(
        latency, ("request-response", "request-response+upload", "request-response+download")
    )
    assert upload > 3 * alone
    assert download > 3 * alone


def test_progress_is_shown_before_the_first_run_and_during_each_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Progress moves during the first batch too, which takes a large part of the time."""
    shown: list[tuple[int, float]] = []
    batches = 0
    run = TrialRunner.run

    def counted(runner: TrialRunner, cells: Iterable[Cell]) -> list[Outcome]:
        nonlocal batches
        batches += 1
        return run(runner, cells)

    monkeypatch.setattr(TrialRunner, "run", counted)
    monkeypatch.setattr(Progress, "update", lambda _, done: shown.append((batches, done)))
    advise([DSL, LTE], schedulers=FEW, events=EVENTS)
    assert shown[0] == (0, 0.0)
    # One of these updates comes at the end of the batch.
    assert len([done for batch, done in shown if batch == 1]) >= 2
    values = [done for _, done in shown]
    assert values == sorted(values)
    assert values[-1] <= 1


def test_what_no_processor_does_is_said() -> None:
    advice = advise(["eth0 100Gbit 0.06ms", "eth1 100Gbit 0.06ms"], schedulers=FEW, events=EVENTS)
    assert "WARNING: a processor limits this, not the links" in advice.text
    # 20 ms would be four million packets in each of a few hundred runs.
    assert advice.simulated.duration_s < 0.005
    assert complaints(advice.document()) == []
    assert "processor limits" not in advise([DSL, LTE], schedulers=FEW, events=300_000).text


def test_connections_that_begin_on_the_slow_path_are_told_to_begin_elsewhere() -> None:
    advice = advise([SAT, DSL], schedulers=FEW, events=EVENTS)
    said = "Connections begin on sat, the first path named, with a round trip of 600 ms: name dsl first"
    assert said in advice.text.replace("\n", " ")
    assert "Connections begin" not in advise([DSL, SAT], schedulers=FEW, events=EVENTS).text


def test_starlink_loses_at_handovers_and_carries_most_of_its_rate() -> None:
    """In published measurements one CUBIC connection reaches 100 Mbit/s or more."""
    advice = advise(["starlink"], events=EVENTS)
    assert advice.single.value > 0.8 * 100e6
    assert advice.capped == ()


def test_the_other_direction_has_a_range_too() -> None:
    """An upload uses the range of `back=`, not the range of the download."""
    up = parse_path("lte 10-60Mbit 60ms back=5-15Mbit").turned()
    assert (up.rate_bps, up.back_bps) == (10_000_000, 35_000_000)
    assert [up.spread("rate"), up.spread("back")] == pytest.approx([0.5, 5 / 7])
    rates = [one.factors[0].rate for one in variations([up], 1)]
    assert [min(rates), max(rates)] == pytest.approx([0.5, 1.5], abs=0.05)
    backs = [one.factors[0].back for one in variations([up], 1)]
    assert [min(backs), max(backs)] == pytest.approx([2 / 7, 12 / 7], abs=0.08)
    # A range for one direction applies to the other direction too.
    assert parse_path("lte 10-60Mbit 60ms back=5Mbit").spread("back") == pytest.approx(5 / 7)
    with pytest.raises(plait.ScenarioError, match="back: '15-5Mbit': expected a range"):
        parse_path("lte 10Mbit 60ms back=15-5Mbit")


def test_of_paths_alike_the_first_is_the_best() -> None:
    """Of two equal links the first is recommended, even if the second has luckier variations."""
    for seed in range(1, 5):
        advice = advise(
            ["one 4Mbit 40ms queue=20p", "two 4Mbit 40ms queue=20p"],
            "blocks:300kbit",
            schedulers=[stock()],
            seed=seed,
            events=500_000,
        )
        assert advice.single.label == "one alone"
        assert complaints(advice.document()) == []


def test_a_path_named_later_becomes_the_default_route() -> None:
    """A single recommended path must be the default route: connections start there."""
    advice = advise([SAT, DSL], "blocks:500kbit", schedulers=[stock()], events=500_000)
    assert (advice.verdict, advice.single.label) == ("not worth", "dsl alone")
    told = [one.text for one in commands(advice)]
    assert "# client: after (a spare adds no goodput; unplug the first link to see it)" in advice.text
    assert "ip route add default via GATEWAY_DSL dev DEVICE_DSL metric 1" in told
    assert told[-1] == "ip route del default via GATEWAY_DSL dev DEVICE_DSL metric 1"
    assert complaints(advice.document()) == []
    first = advise([DSL, SAT], "blocks:500kbit", schedulers=[stock()], events=500_000)
    assert not any("metric 1" in one.text for one in commands(first))


def test_counts_and_costs_of_nothing_are_not_said() -> None:
    assert [numbers.cost(percent, "of the goodput") for percent in (22, 0.8, 0.04, 0, -3)] == [
        "22 % of the goodput", "0.8 % of the goodput", "nothing", "nothing", "nothing"
    ]  # fmt: skip
    advice = advise([DSL, LTE], receive_buffer="4MB", schedulers=FEW, events=EVENTS)
    others = next(one["text"] for one in advice.document()["statements"] if one["kind"] == "others")
    assert re.search(r"\b0\b", others) is None
    assert advice.choice is not None
    assert sum(map(int, re.findall(r"(\d+) (?:better|as good|worse|not told)", others))) == len(FEW) - 1
    # For one path alone, a sufficient receive buffer is not mentioned.
    alone = advise([DSL, SAT], "blocks:500kbit", schedulers=FEW, events=EVENTS)
    assert alone.verdict == "not worth"
    assert "Receive buffer" not in alone.text


def test_each_schedulers_runs_have_it_for_the_transfer_beside_too() -> None:
    """Guards against the first scheduler also driving the concurrent transfer of later runs."""
    paths = tuple(parse_path(text) for text in (DSL, LTE))
    traffic = parse_traffic("request-response+download")
    setting = Setting(paths=paths, traffic=traffic, protocol="mptcp", receive_buffer=10**6)
    with TrialRunner(paths, 1) as runner:
        cells = [
            Cell(setting, Candidate((0, 1), name), runner.variations[0], 3 * 10**9)
            for name in ("round-robin", "redundant")
        ]
        assert runner.run(cells)[1] == runner.run(cells[1:])[0]


def test_what_the_window_limits_is_not_said_to_be_capped_by_losses() -> None:
    """64 kB per 50 ms are 10 Mbit/s, with or without losses."""
    paths = ["eth 80Mbit 50ms 0.001%", "lte 9Mbit 20ms"]
    advice = advise(paths, receive_buffer="64kB", schedulers=FEW, events=800_000)
    assert advice.simulated.round_trips > 20
    assert "cap eth" not in advice.text
    # Without losses no path exceeds its rate, even if few variations deliver data with losses.
    advice = advise(["dsl 48Mbit 9ms loss=burst:3%:30", LTE], schedulers=FEW, events=2_000_000)
    assert advice.capped
    assert all((one.without_bps or 0) <= one.rate_bps for one in advice.capped)


def test_what_is_spared_is_what_is_used() -> None:
    paths = ["a 16Mbit 20ms cost=1", "b 3Mbit 80ms", "c 2Mbit 300ms cost=1"]
    advice = advise(paths, "blocks:500kbit", schedulers=[*FEW, "cheapest-first"], events=EVENTS)
    assert advice.single.label == "a alone"
    document = advice.document()
    said = next(one for one in document["statements"] if one["kind"] == "sparing")
    assert said["text"].startswith("To spare a: b alone")
    assert complaints(document) == []
    said["text"] = said["text"].replace("spare a", "spare a and c")
    assert complaints(document)
