"""The comparison of TCP with ns-2 and ns-3: measurements from packets, and the page."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benches" / "peers"))

import tcp  # noqa: E402
import tcp_ns2  # noqa: E402
import tcp_ns3  # noqa: E402
from tcp import Case, Event, Flow, Step  # noqa: E402
from verdict import AGREES, DIFFERS  # noqa: E402

PAGE = ROOT / "benches" / "README.md"
PEERS = [tcp_ns2.NS2, tcp_ns3.NS3]


def test_what_a_run_measures_comes_from_its_packets() -> None:
    flows = (Flow(), Flow(start_s=0.5, size_bytes=2 * tcp.PAYLOAD))
    case = Case("c", 10_000_000, 50, 42, flows=flows, duration_s=3, warmup_s=1)
    events = [
        Event("+", 0.6, 0, 0, "a"),
        Event("+", 0.7, 1, 0, "a"),  # packets of other flows may have the same name
        Event("r", 0.8, 0, 0, "a"),  # before the end of the warm-up
        Event("r", 0.9, 1, 0, "a"),
        Event("+", 1.0, 0, 1, "b"),  # lost
        Event("+", 1.1, 0, 2, "c"),
        Event("r", 1.4, 0, 2, "c"),
        Event("+", 1.5, 0, 1, "d"),  # a retransmission
        Event("r", 1.6, 0, 1, "d"),
        Event("+", 1.7, 0, 1, "e"),  # a second, unnecessary retransmission
        Event("r", 1.8, 0, 1, "e"),
        Event("+", 2.0, 1, 1, "f"),
        Event("r", 2.5, 1, 1, "f"),
    ]
    measured = tcp.follow(case, events)
    bits = 8 * tcp.PAYLOAD
    # Two packets in 2 s for each flow.
    assert measured.goodput_mbps == pytest.approx((2 * bits / 2e6, 2 * bits / 2e6))
    assert measured.retransmissions == 2
    assert measured.delay_ms == pytest.approx((300 + 100 + 100) / 3)


def test_the_time_of_a_file_begins_at_its_start() -> None:
    flows = (Flow(), Flow(start_s=8, size_bytes=1_000_000))
    case = Case("c", 10_000_000, 50, 42, flows=flows, duration_s=20, warmup_s=0)
    bulk, file = tcp.in_plait(case).goodput_mbps
    assert 1 < file < 10  # counted from 0 s it would be less than 1
    assert 5 < bulk < 10


def test_the_response_functions_are_those_of_their_sources() -> None:
    def response(control: str, rate: int, rtt: float, loss: float) -> float | None:
        return Case("c", rate, rtt, 42, loss=loss, congestion_control=control).response_mbps()  # type: ignore[arg-type]

    # RFC 9438 §5.2: at 100 ms and a loss rate of 1e-4, CUBIC has 187 segments in its window and
    # the standard TCP of RFC 5681 has 120.
    seconds = 0.1 + 8 * (tcp.PACKET + tcp.ACKNOWLEDGEMENT) / 1e12
    assert response("cubic", 10**12, 100, 1e-4) == pytest.approx(
        187 * 8 * tcp.PAYLOAD / seconds / 1e6, rel=0.005
    )
    assert response("newreno", 10**12, 100, 1e-4) == pytest.approx(
        122.5 * 8 * tcp.PAYLOAD / seconds / 1e6, rel=0.005
    )
    # At 10 ms and 1 % loss Reno is faster (§4.3), so CUBIC has its rate.
    assert response("cubic", 10**12, 10, 0.01) == response("newreno", 10**12, 10, 0.01)
    assert response("newreno", 10_000_000, 10, 0.0001) is None  # above the rate of the link
    assert response("newreno", 10_000_000, 10, 0.0) is None


def test_runs_of_a_case_differ() -> None:
    plain = Case("c", 10_000_000, 50, 42, runs=4)
    assert len({run.rtt_ms for run in plain.members()}) == 4
    assert all(abs(run.rtt_ms / 50 - 1) <= 0.0021 for run in plain.members(4))
    lossy = Case("c", 10_000_000, 50, 42, loss=0.01, runs=4)
    assert [(run.seed, run.rtt_ms) for run in lossy.members()] == [(seed, 50) for seed in range(1, 5)]
    assert plain.members() == plain.members(4)[:4]  # the same runs in both simulators
    two = Case("c", 10_000_000, 50, 42, flows=(Flow(), Flow(3)), runs=4)
    assert [run.flows[0].start_s for run in two.members()] == [0, 0, 0, 0]
    assert len({run.flows[1].start_s for run in two.members()}) == 4


@pytest.mark.parametrize("factor", [1.0, 1.2])
def test_steps_are_taken_until_the_two_agree(factor: float) -> None:
    case = Case("c", 10_000_000, 50, 42, duration_s=5, warmup_s=1)
    ours = tcp.in_plait(case)
    theirs = {
        "first": tcp.Measured((ours.goodput_mbps[0] * 1.2,), ours.retransmissions, ours.delay_ms),
        "second": tcp.Measured((ours.goodput_mbps[0] * factor,), ours.retransmissions, ours.delay_ms),
    }
    peer = tcp.Peer(
        "ns-x",
        lambda: None,
        lambda _case: [Step(title, "") for title in theirs],
        lambda _case, step: theirs[step.title],
        lambda _case, _step: pytest.fail("no speed was asked for"),
    )
    report = tcp.report_case(peer, case, lambda runs, step: [theirs[step.title]] * len(runs), speed=False)
    assert report.verdict == (AGREES if factor == 1 else DIFFERS)
    assert report.unexplained == (factor != 1)
    assert report.why() == ("with second" if factor == 1 else "not explained")


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_the_page_has_every_case(peer: tcp.Peer) -> None:
    table = PAGE.read_text(encoding="utf-8").partition(f"<!-- measured: TCP in {peer.name} -->")[2]
    rows = table.partition("<!-- end -->")[0].strip().splitlines()[2:]
    every = [case for case in tcp.load_cases() if peer.steps(case)]
    cases = [case for case in every if case.congestion_control != "bbr"]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == [case.name for case in cases]
    for row, case in zip(rows, cases, strict=True):
        if "**" in row:
            assert case.differs.get(peer.name) or "open" in row, row
        if reason := case.differs.get(peer.name):
            assert reason in row


def test_the_page_has_every_link_with_bbr() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("<!-- measured: BBR in ns-3 -->")[2]
    rows = table.partition("<!-- end -->")[0].strip().splitlines()[2:]
    links = dict.fromkeys(case.name for case in tcp.load_cases() if case.congestion_control == "bbr")
    assert [row.split(" | ")[0].replace("| ", "BBR ") for row in rows] == list(links)
