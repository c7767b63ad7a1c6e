"""Papers and scenarios on the linux engine: missing rows with reasons, and kernel results."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Command

import plait
from plait.linux import kernel
from plait.papers import Reproduction, engines, load_paper, names, reproduce
from plait.papers.description import restricted
from plait.papers.reproduce import possible, tasks
from plait.papers.rows import evaluate

BUILT = pytest.mark.skipif(kernel.built() is None, reason="no kernel; plait linux build makes one")
SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


def test_papers_of_each_engine() -> None:
    assert set(names("linux")) == {"dd-linux", "schedulers-csws14"} < set(names())
    assert engines("dd-linux") == ["sim", "linux"]
    assert engines("dqs") == ["sim"]


@pytest.mark.parametrize("name", names("linux"))
def test_every_row_is_there_with_a_value_or_a_reason(name: str) -> None:
    paper = load_paper(name, "linux")
    made, absent = possible(paper, tasks(paper))
    assert made
    assert not set(made) & set(absent)
    assert {(one.id, label) for one in paper.scenarios.values() for label in one.schedulers} == {
        *made,
        *absent,
    }
    assert all(absent.values())
    rows = evaluate(paper, {}, dict.fromkeys(made, "not run in this test") | absent)
    assert [row.id for row in rows] == [row.id for row in evaluate(load_paper(name), {})]
    for row in rows:
        assert row.measured is None
        assert row.agrees is None
        assert "not on this engine: " in row.document()["note"]


def test_reasons_are_the_engines_own_or_the_papers() -> None:
    paper = load_paper("schedulers-csws14", "linux")
    _, absent = possible(
        restricted(paper, ["pooling*", "low-bdp"]), tasks(restricted(paper, ["pooling*", "low-bdp"]))
    )
    assert absent["pooling-lia", "lowest-rtt"].startswith('transport.congestion_control = "lia"')
    assert "hundreds" in absent["low-bdp", "redundant"]
    assert ("pooling", "lowest-rtt+rp") not in absent


def test_what_is_said_of_the_simulator_does_not_hold_for_the_kernel() -> None:
    here, there = load_paper("dd-linux"), load_paper("dd-linux", "linux")
    key = ("H_8-100-10", "delivery-delay", "change.goodput_bps")
    assert here.expected[key].reason
    assert there.expected[key].claim == here.expected[key].claim
    assert there.expected[key].reason != here.expected[key].reason


def test_papers_that_the_kernel_cannot_do_say_why(command: Command) -> None:
    done = command("reproduce", "daps-icc14", "--engine", "linux")
    assert done.returncode == 2
    assert "the kernel has no CMT-SCTP" in done.stderr
    assert "dd-linux" in done.stderr


def test_parts_of_a_paper(command: Command) -> None:
    done = command("reproduce", "dd-linux", "--scenario", "application-limited", "--json")
    document = json.loads(done.stdout)
    assert document["engine"] == "sim"
    assert {row["scenario"] for row in document["rows"]} == {"application-limited"}
    assert command("reproduce", "dd-linux", "--scenario", "H_99").returncode == 2
    listed = json.loads(command("reproduce", "--list", "--json").stdout)
    assert {one["paper"]: one["engines"] for one in listed}["dd-linux"] == ["sim", "linux"]


@pytest.fixture(scope="module")
def on_kernel() -> Callable[[str, list[str]], dict[str, float]]:
    """Reproduces scenarios of a paper on the kernel; returns the measured value of each row."""

    def make(name: str, scenarios: list[str]) -> dict[str, float]:
        done: Reproduction = reproduce(name, engine="linux", scenarios=scenarios, with_figures=False)
        return {row.id: row.measured for row in done.rows if row.measured is not None}

    return make


@pytest.mark.kernel
@BUILT
def test_delivery_delay_prefers_the_short_way_forward(
    on_kernel: Callable[[str, list[str]], dict[str, float]],
) -> None:
    shares = on_kernel("dd-linux", ["application-limited"])
    assert shares["application-limited/delivery-delay/first_path_share"] >= 0.9
    assert shares["application-limited/lowest-rtt/first_path_share"] <= 0.1


@pytest.mark.kernel
@BUILT
def test_delays_and_orders_of_arrival(on_kernel: Callable[[str, list[str]], dict[str, float]]) -> None:
    values = on_kernel("dd-linux", ["H_1-estimate", "H_12-estimate", "receive-order"])
    for case in ("H_1", "H_12"):
        for way in ("forward", "backward"):
            assert values[f"{case}-estimate/alternating/{way}_difference_error_ms"] <= 1.0
    for scheduler in ("lowest-rtt", "delivery-delay"):
        assert values[f"receive-order/{scheduler}/printed_order_packets"] >= 6


@pytest.mark.kernel
@BUILT
def test_prediction_lowers_what_waits_at_the_receiver() -> None:
    """scenarios/README.md has the numbers for both buffers and all schedulers."""
    schedulers = ["round-robin", "intelligent-delivery-delay", "daps"]
    blind, early, daps = plait.compare(SCENARIOS / "head-of-line.toml", schedulers, engine="linux")
    assert early.metrics["receive_buffer_packets"]["mean"] < blind.metrics["receive_buffer_packets"]["mean"]
    assert early.metrics["goodput_bps"] > 0.98 * blind.metrics["goodput_bps"]
    assert daps.metrics["receive_buffer_packets"]["mean"] < blind.metrics["receive_buffer_packets"]["mean"]


@pytest.mark.kernel
@BUILT
def test_throughput_is_not_lost_on_fast_paths() -> None:
    scenario = plait.load(SCENARIOS / "head-of-line-fast.toml", {"duration": "20s", "warmup": "5s"})
    usual, early = plait.compare(scenario, ["lowest-rtt", "intelligent-delivery-delay"], engine="linux")
    assert early.metrics["goodput_bps"] > 0.98 * usual.metrics["goodput_bps"]
