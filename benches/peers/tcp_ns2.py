"""One bulk transfer of TCP NewReno in ns-2.35 (``tcp.tcl``).

The agent is Sack1 (RFC 2018, recovery by an estimate of the pipe, the idea of RFC 6675). Our
transport also finds losses by selective acknowledgements.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from cases import PeerError
from metrics import Speed
from tcp import HEADERS, PACKET, Case, Event, Flow, Measured, Peer, Step, follow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCRIPT = Path(__file__).with_name("tcp.tcl")

AS_IT_COMES = Step("as they come", "Sack1")
BYTE_COUNTING = Step("growth per packet instead of per ACK", "Sack1", ("increase_num_ 2",))
LINUX = Step("Agent/TCP/Linux, which finds lost retransmissions", "Linux")


def steps(case: Case) -> list[Step]:
    """Return the steps. With delayed ACKs, the second grows windows by two packets per ACK."""
    if case.congestion_control != "newreno" or case.flows != (Flow(),):
        return []
    return [AS_IT_COMES, BYTE_COUNTING] if case.ack_every > 1 else [AS_IT_COMES, LINUX]


def _prepare() -> None:
    if shutil.which("ns") is None:
        raise PeerError("ns-2 is not installed: there is no `ns` on the path; try `apt-get install ns2`")


def _run(case: Case, step: Step, *, trace: bool) -> list[str]:
    path = f"{case.rate_bps} {case.rtt_ms} {case.queue_packets} {case.loss}"
    words = ["ns", str(SCRIPT), "path", path, "agent", step.sender, "trace", str(int(trace))]
    words += ["duration", str(case.duration_s), "ack_every", str(case.ack_every), "seed", str(case.seed)]
    words += ["packet", str(PACKET), "header", str(HEADERS)]
    for parameter in step.parameters:
        words += ["set", parameter]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode or not any(line.startswith("done") for line in lines):
        raise PeerError(
            f"case {case.name!r}: ns-2 failed, status {done.returncode}: {done.stdout[-500:]}{done.stderr}"
        )
    return lines


def _events(lines: Sequence[str]) -> Iterator[Event]:
    for line in lines:
        # event time from to protocol bytes flags flow source destination number packet
        words = line.split()
        if len(words) == 12 and int(words[5]) >= PACKET and words[0] in "+r":
            yield Event(words[0], float(words[1]), 0, int(words[10]), words[11])


def measure(case: Case, step: Step) -> Measured:
    """Run ``case``; all results are computed from the trace of the forward link."""
    return follow(case, _events(_run(case, step, trace=True)))


def speed(case: Case, step: Step) -> Speed:
    """Run ``case`` without a trace; the time is that of the event loop alone."""
    _, seconds, packets = _run(case, step, trace=False)[-1].split()
    return Speed(int(packets), float(seconds))


NS2 = Peer("ns-2", _prepare, steps, measure, speed)
