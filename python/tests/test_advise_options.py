"""Advice for uploads, metered links, shaped routers and traffic beside; commands that survive copying."""

from __future__ import annotations

import io
import re
import subprocess
from collections.abc import Iterable

import pytest
from rich.console import Console

import plait
from plait import advise
from plait.advice.candidates import stock
from plait.advice.doing import commands
from plait.advice.outcome import Outcome
from plait.advice.page import page
from plait.advice.trial import Bench, Cell
from plait.support.progress import Progress
from plait.validate.statements import complaints

EVENTS = 3_200_000
DSL, LTE, SAT = "dsl 4Mbit 25ms queue=20p", "lte 3Mbit 60ms queue=30p", "sat 1Mbit 600ms queue=50p"
FEW = ("round-robin", stock(), "daps", "redundant")


@pytest.mark.parametrize("width", [20, 60, 110, 200])
@pytest.mark.parametrize("traffic", ["bulk", "flows:20", "request-response", "blocks:500kbit"])
def test_commands_are_one_line_each_at_any_width(width: int, traffic: str) -> None:
    """The block can be copied into bash: every line is a whole command, or a comment."""
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


def test_uploads_go_where_back_is_the_rate() -> None:
    paths = ["dsl 16Mbit 25ms back=2Mbit queue=20p", "lte 9Mbit 60ms back=3Mbit queue=30p"]
    advice = advise(paths, schedulers=FEW, direction="up", events=EVENTS)
    assert advice.choice is not None
    assert advice.single.label == "lte alone"
    assert 2e6 < advice.single.value < 3e6 < advice.choice.best.value < 5e6
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


def test_metered_paths_are_told_what_they_carry_and_how_to_be_spared() -> None:
    advice = advise([DSL, f"{LTE} cap=2GB"], schedulers=[*FEW, "cheapest-first"], events=EVENTS)
    assert advice.choice is not None
    share = advice.choice.best.shares[1]
    # 3 of 7 Mbit/s, so that 2 GB last an hour and a half.
    assert share == pytest.approx(3 / 7, abs=0.08)
    assert re.search(
        r"lte is metered: \S+ sends [\d.]+ % of the packets there, so that 2 GB last \d[\d.]* ", advice.text
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
    """Where nobody else sends, a queue of 800 ms does nothing."""

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
    """The first batch takes a good part of the time: there was nothing to be seen until it ended."""
    shown: list[tuple[int, float]] = []
    batches = 0
    run = Bench.run

    def counted(bench: Bench, cells: Iterable[Cell]) -> list[Outcome]:
        nonlocal batches
        batches += 1
        return run(bench, cells)

    monkeypatch.setattr(Bench, "run", counted)
    monkeypatch.setattr(Progress, "update", lambda _, done: shown.append((batches, done)))
    advise([DSL, LTE], schedulers=FEW, events=EVENTS)
    assert shown[0] == (0, 0.0)
    # One is that of the batch's end.
    assert len([done for batch, done in shown if batch == 1]) >= 2
    values = [done for _, done in shown]
    assert values == sorted(values)
    assert values[-1] <= 1


def test_what_no_processor_does_is_said() -> None:
    advice = advise(["eth0 100Gbit 0.06ms", "eth1 100Gbit 0.06ms"], schedulers=FEW, events=EVENTS)
    assert "WARNING: a processor limits this, not the links" in advice.text
    # 20 ms would be four million packets, in each of some hundred runs.
    assert advice.simulated.duration_s < 0.005
    assert complaints(advice.document()) == []
    assert "processor limits" not in advise([DSL, LTE], schedulers=FEW, events=300_000).text


def test_connections_that_begin_on_the_slow_path_are_told_to_begin_elsewhere() -> None:
    advice = advise([SAT, DSL], schedulers=FEW, events=EVENTS)
    said = "Connections begin on sat, the first path named, with a round trip of 600 ms: name dsl first"
    assert said in advice.text.replace("\n", " ")
    assert "Connections begin" not in advise([DSL, SAT], schedulers=FEW, events=EVENTS).text


def test_starlink_loses_at_handovers_and_carries_most_of_its_rate() -> None:
    """Published measurements have 100 Mbit/s and more over one CUBIC connection."""
    advice = advise(["starlink"], events=EVENTS)
    assert advice.single.value > 0.8 * 100e6
    assert advice.capped == ()
