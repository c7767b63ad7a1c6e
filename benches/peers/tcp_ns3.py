"""TCP in Debian's ns-3: NewReno, CUBIC and BBR, bulk transfers and files, one flow or several
(``tcp.cc``).

Sizes, windows, timers and delayed ACKs are set alike in every step. CUBIC has no HyStart.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from cases import PeerError
from metrics import Speed
from tcp import HEADERS, PACKET, PAYLOAD, Case, Event, Measured, Peer, Step, follow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SOURCE = Path(__file__).with_name("tcp.cc")
DRIVER = Path(__file__).parents[2] / "target" / "peers" / "ns3"
MODULES = ("applications", "internet", "point-to-point", "network", "core")
NEWRENO = [
    Step("as they come", "TcpNewReno"),
    Step("FlightSize halved, not the pipe (RFC 5681)", "RfcReno"),
    Step(
        "FlightSize halved, growth by bytes, not by ACKs (RFC 3465)",
        "RfcReno",
        ("ns3::RfcReno::CountsBytes true",),
    ),
]
CUBIC = [
    Step("as they come", "TcpCubic"),
    Step("RFC 9438's growth: in real numbers, at least Reno's", "RfcCubic"),
    Step(
        "RFC 9438's growth, recovery by RFC 6675 instead of PRR",
        "RfcCubic",
        ("ns3::TcpL4Protocol::RecoveryType ns3::TcpClassicRecovery",),
    ),
]
BBR = [
    Step("as they come", "TcpBbr"),
    Step("Linux' samples of the delivery rate", "AckBbr"),
    Step("Linux' samples, and no retransmission is lost at random", "AckBbr", ("ns3::Losses::Spare true",)),
]
STEPS = {"newreno": NEWRENO, "cubic": CUBIC, "bbr": BBR}


def steps(case: Case) -> list[Step]:
    """Return the steps in their order. Without random losses there are none to take away."""
    chosen = STEPS[case.congestion_control]
    return [step for step in chosen if case.loss or "ns3::Losses::Spare true" not in step.parameters]


def _prepare() -> None:
    """Compile the driver if it is missing or older than its source."""
    if DRIVER.is_file() and DRIVER.stat().st_mtime > SOURCE.stat().st_mtime:
        return
    DRIVER.parent.mkdir(parents=True, exist_ok=True)
    words = ["g++", "-O2", "-std=c++17", str(SOURCE), "-o", str(DRIVER)]
    words += [f"-lns3-{module}" for module in MODULES]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise PeerError("g++ is missing; try `apt-get install g++`") from error
    if done.returncode:
        raise PeerError(
            f"{SOURCE.name} does not compile; try `apt-get install ns3 libns3-dev`: {done.stderr[:500]}"
        )


def _buffer(case: Case) -> int:
    """Room for the packets in flight and for those of four seconds, so that it is never a limit."""
    return PACKET * case.queue_packets + int(case.rate_bps / 8 * (case.rtt_ms / 1e3 + 4))


def _run(case: Case, step: Step, *, trace: bool) -> list[str]:
    options: dict[str, object] = {
        "rate": case.rate_bps,
        "rtt": case.rtt_ms,
        "queue": case.queue_packets,
        "loss": case.loss,
        "packet": PACKET,
        "header": HEADERS,
        "buffer": _buffer(case),
        "duration": case.duration_s,
        "ack_every": case.ack_every,
        "type": step.sender,
        "seed": case.seed,
        "trace": int(trace),
    }
    words = [str(DRIVER)]
    for key, value in options.items():
        words += [key, str(value)]
    for flow in case.flows:
        words += ["flow", f"{flow.start_s} {flow.size_bytes}"]
    for parameter in ("ns3::TcpCubic::HyStart false", *step.parameters):
        words += ["set", parameter]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode or not lines[-1].startswith("done"):
        raise PeerError(f"case {case.name!r}: ns-3 failed, status {done.returncode}: {done.stderr[-500:]}")
    return lines


def _events(lines: Sequence[str]) -> Iterator[Event]:
    for line in lines[:-1]:
        kind, now, flow, byte, packet = line.split()
        yield Event(kind, float(now), int(flow), int(byte) // PAYLOAD, packet)


def measure(case: Case, step: Step) -> Measured:
    """Run ``case``. Results come from the data packets that enter the link and arrive."""
    return follow(case, _events(_run(case, step, trace=True)))


def speed(case: Case, step: Step) -> Speed:
    """Run ``case`` without a trace; the time is that of the event loop alone."""
    _, seconds, packets = _run(case, step, trace=False)[-1].split()
    return Speed(int(packets), float(seconds))


NS3 = Peer("ns-3", _prepare, steps, measure, speed)
