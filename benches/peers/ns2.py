"""The independent simulator: the CMT agent of ns-2.35.

>>> cases = load_cases(Path("cases.toml"))
>>> measure(cases[0]).goodput_bps, speed(cases[0]).packets_per_second

ns-2 runs unmodified. All metrics are computed from its trace of the forward links (enqueued,
dropped, arrived), so none of them depends on the bookkeeping of its agent. Percentiles are
nearest-rank. Times in the trace are whole microseconds.
"""

from __future__ import annotations

import shutil
import subprocess
from array import array
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from cases import HEADERS, Case, PeerError
from metrics import Delays, Level, Metrics, PathMetrics, Speed

if TYPE_CHECKING:
    from collections.abc import Iterable

SCRIPT = Path(__file__).with_name("cmt.tcl")
STREAM_LIMIT = 65_536  # packets: with "buffer" the agent stalls when a 16-bit sequence number wraps


def _command(case: Case, *, trace: bool) -> list[str]:
    executable = shutil.which("ns")
    if executable is None:
        raise PeerError("ns-2 is not installed: there is no `ns` on the path; try `apt-get install ns2`")
    options: dict[str, object] = {
        "receive_buffer": case.receive_buffer_bytes,
        "unordered": int(case.accounting == "outstanding"),
        "duration": case.duration_s,
        "ack_every": case.ack_every,
        "chunk": case.packet_bytes - HEADERS,
        "seed": case.seed,
        "trace": int(trace),
    }
    words = [executable, str(SCRIPT)]
    for path in case.paths:
        words += ["path", f"{path.rate_bps} {path.rtt_ms} {path.queue_packets} {path.loss}"]
    for parameter, setting in case.agent.items():
        words += ["set", f"{parameter} {setting}"]
    for key, value in options.items():
        words += [key, str(value)]
    return words


def speed(case: Case) -> Speed:
    """Run ``case`` without a trace; the time is that of the event loop alone."""
    done = subprocess.run(_command(case, trace=False), capture_output=True, check=False)
    if done.returncode or not done.stdout.startswith(b"done"):
        raise _failure(case, done.returncode, done.stdout + done.stderr)
    _, seconds, packets = done.stdout.split()
    return Speed(int(packets), float(seconds))


def measure(case: Case) -> Metrics:
    """Run ``case`` with a trace."""
    receiver = _Receiver(case)
    command = _command(case, trace=True)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=1 << 20
    ) as process:
        assert process.stdout is not None
        rest = receiver.follow(process.stdout)
    if process.returncode or not rest.startswith(b"done"):
        raise _failure(case, process.returncode, rest)
    if case.accounting == "buffer" and receiver.highest >= STREAM_LIMIT:
        raise PeerError(f"case {case.name!r}: {STREAM_LIMIT} packets or more: shorten duration_s")
    return receiver.metrics()


def _failure(case: Case, status: int, output: bytes) -> PeerError:
    return PeerError(
        f"case {case.name!r}: ns-2 failed, status {status}: {output.decode(errors='replace').strip()}"
    )


class _Receiver:
    """Follows a trace, reorders packets like the receiver, and keeps the data for the metrics."""

    def __init__(self, case: Case) -> None:
        self.case = case
        count = len(case.paths)
        self.sent, self.dropped, self.lost, self.arrived = ([0] * count for _ in range(4))
        self.resent = 0
        self.delivered = 0
        self.first_sent: dict[int, float] = {}
        self.highest = 0
        self.waiting: dict[int, float] = {}  # arrival times of packets that wait for an earlier one
        self.next = 1
        self.delays, self.blocking = array("d"), array("d")
        self.clock = case.warmup_s
        self.area, self.peak = 0.0, 0

    def follow(self, lines: Iterable[bytes]) -> bytes:
        """Read the trace. Return the first line that is not part of it."""
        links = {str(2 * number).encode(): number - 1 for number in range(1, len(self.case.paths) + 1)}
        entering = (b"", b"")
        for line in lines:
            # event time from to protocol bytes flags flow source destination chunks TSN packet
            # stream number
            words = line.split()
            if len(words) != 15:
                return line
            if words[6] != b"-------D":
                continue
            kind, now, path, tsn = words[0], float(words[1]), links[words[2]], int(words[11])
            if kind == b"r":
                self._arrive(now, tsn, path)
            elif kind == b"+":
                entering = (words[1], words[12])
                self._send(now, tsn, path)
            elif now >= self.case.warmup_s:
                # The queue drops a packet when it enters; random losses happen at the far end of
                # the link.
                (self.dropped if (words[1], words[12]) == entering else self.lost)[path] += 1
        return b""

    def _send(self, now: float, tsn: int, path: int) -> None:
        again = tsn <= self.highest
        if not again:
            self.highest = tsn
            self.first_sent[tsn] = now
        if now >= self.case.warmup_s:
            self.sent[path] += 1
            self.resent += again

    def _arrive(self, now: float, tsn: int, path: int) -> None:
        if tsn < self.next or tsn in self.waiting:
            return
        if now >= self.case.warmup_s:
            self.arrived[path] += 1
        self._advance(now)
        self.waiting[tsn] = now
        while (arrival := self.waiting.pop(self.next, None)) is not None:
            started = self.first_sent.pop(self.next)
            self.next += 1
            if now >= self.case.warmup_s:
                self.delivered += 1
                self.delays.append(now - started)
                self.blocking.append(now - arrival)
        if now >= self.case.warmup_s:
            self.peak = max(self.peak, len(self.waiting))

    def _advance(self, now: float) -> None:
        if now > self.clock:
            self.area += len(self.waiting) * (now - self.clock)
            self.clock = now

    def metrics(self) -> Metrics:
        """Return the metrics of the trace so far."""
        case = self.case
        self._advance(case.duration_s)
        seconds = case.duration_s - case.warmup_s
        bits = 8 * case.payload_bytes
        return Metrics(
            goodput_bps=self.delivered * bits / seconds,
            app_delay_ms=_delays(self.delays),
            blocking_ms=_delays(self.blocking),
            receive_buffer_packets=Level(self.area / seconds, self.peak),
            retransmissions=self.resent,
            paths=tuple(
                PathMetrics(arrived * bits / seconds, sent, dropped, lost)
                for arrived, sent, dropped, lost in zip(
                    self.arrived, self.sent, self.dropped, self.lost, strict=True
                )
            ),
        )


def _delays(seconds: array[float]) -> Delays:
    if not seconds:
        return Delays(0.0, 0.0, 0.0, 0.0, 0.0)
    ranked = sorted(seconds)
    p50, p95, p99 = (1000 * ranked[ceil(len(ranked) * share / 100) - 1] for share in (50, 95, 99))
    return Delays(1000 * sum(ranked) / len(ranked), p50, p95, p99, 1000 * ranked[-1])
