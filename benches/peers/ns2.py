"""The independent simulator: the CMT agent of ns-2.35 on the cases of ``cases.toml``.

>>> cases = load_cases(Path("cases.toml"))
>>> measured = run(cases[0])
>>> measured.metrics.goodput_bps, measured.speed.packets_per_second

ns-2 does what it always does; everything measured here is computed from its trace of the forward links
(enqueued, dropped, arrived), so no number depends on the bookkeeping of its agent. The definitions are those
of the scenario runs:

- *throughput* of a path: payload that arrived for the first time, per second; *goodput*: payload delivered in
  order.
- *application delay*: first transmission (into the queue of the path) until in-order delivery.
- *blocking*: arrival until in-order delivery, over all packets, those that do not wait included.
- *receive buffer*: packets that arrived and wait for an earlier one; mean weighted by time.

An event counts if it happens at or after the end of the warm-up; a delay counts if its delivery does.
Percentiles are nearest-rank. Times in the trace are whole microseconds.
"""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from array import array
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SCRIPT = Path(__file__).with_name("cmt.tcl")
ACCOUNTINGS = ("outstanding", "buffer")
HEADERS = 32  # IPv4 and SCTP
CHUNK_HEADER = 16
STREAM_LIMIT = 65_536  # packets: with "buffer" the agent stalls when a 16-bit sequence number wraps


class PeerError(Exception):
    """ns-2 is missing, failed, or cannot run the case."""


@dataclass(frozen=True, slots=True)
class PathSpec:
    """One path: a link each way, half of the round-trip time each; only the way forward queues and loses."""

    rate_bps: int
    rtt_ms: float
    queue_packets: int = 50  # the packet being sent included
    loss: float = 0.0


@dataclass(frozen=True, slots=True)
class Case:
    """One round-robin run. ``agent`` sets further parameters of the agent, at both ends."""

    name: str
    paths: tuple[PathSpec, ...]
    receive_buffer_bytes: int
    accounting: str = "outstanding"  # or "buffer": data waiting for in-order delivery shrinks the window
    duration_s: float = 100.0
    warmup_s: float = 10.0
    ack_every: int = 1  # 2: delayed SACKs, every second packet or after 200 ms
    scheduler: str = "round-robin"
    packet_bytes: int = 1500
    seed: int = 1
    tags: tuple[str, ...] = ()
    agent: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what ns-2 cannot run."""
        where = f"case {self.name!r}"
        if not self.paths:
            raise PeerError(f"{where}: no path")
        if self.accounting not in ACCOUNTINGS:
            raise PeerError(
                f"{where}: accounting {self.accounting!r}, expected one of {', '.join(ACCOUNTINGS)}"
            )
        if self.scheduler != "round-robin":
            raise PeerError(f"{where}: scheduler {self.scheduler!r}, ns-2 has only round-robin")
        if self.ack_every not in (1, 2):
            raise PeerError(f"{where}: ack_every {self.ack_every}, expected 1 or 2")
        if self.packet_bytes % 4 or self.packet_bytes <= HEADERS + CHUNK_HEADER:
            raise PeerError(f"{where}: packet_bytes {self.packet_bytes}, expected a multiple of 4 above 48")
        if not 0 <= self.warmup_s < self.duration_s:
            raise PeerError(
                f"{where}: warmup_s {self.warmup_s} is not within 0 and duration_s {self.duration_s}"
            )
        if self.seed < 1:
            raise PeerError(
                f"{where}: seed {self.seed}, expected 1 or more: ns-2 takes 0 for the time of day"
            )
        if any(path.queue_packets < 2 for path in self.paths):
            raise PeerError(f"{where}: queue_packets below 2, with which ns-2 drops everything")

    @property
    def payload_bytes(self) -> int:
        """Application bytes in one packet."""
        return self.packet_bytes - HEADERS - CHUNK_HEADER


@dataclass(frozen=True, slots=True)
class Delays:
    """A distribution of delays, in milliseconds."""

    mean: float
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Level:
    """A quantity over time: time-weighted mean, and maximum."""

    mean: float
    max: int


@dataclass(frozen=True, slots=True)
class PathMetrics:
    """What one path did after the warm-up."""

    throughput_bps: float
    packets_sent: int  # retransmissions included
    packets_dropped: int  # by the queue
    packets_lost: int  # at random, after the queue
    retransmissions: int  # sent on this path


@dataclass(frozen=True, slots=True)
class Metrics:
    """What the transfer did after the warm-up."""

    goodput_bps: float
    app_delay_ms: Delays
    blocking_ms: Delays
    receive_buffer_packets: Level
    packets_sent: int
    packets_dropped: int
    packets_lost: int
    retransmissions: int
    paths: tuple[PathMetrics, ...]


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast the event loop of ns-2 ran without a trace: the whole run, warm-up included."""

    packets: int  # put on the forward links, a few control packets included
    wall_seconds: float
    packets_per_second: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of one case; ``metrics`` is None when only the speed was asked for."""

    case: Case
    metrics: Metrics | None
    speed: Speed


def load_cases(path: Path) -> list[Case]:
    """Read a case file: ``[defaults]`` and ``[[case]]`` tables whose keys are the fields of `Case`."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    defaults = document.pop("defaults", {})
    tables = document.pop("case", [])
    if document:
        raise PeerError(f"{path}: unknown table {', '.join(document)}, expected defaults, case")
    cases = []
    for number, table in enumerate(tables, 1):
        try:
            values = defaults | table
            paths = tuple(PathSpec(**spec) for spec in values.pop("paths"))
            values["tags"] = tuple(values.get("tags", ()))
            cases.append(Case(paths=paths, **values))
        except (KeyError, TypeError) as error:
            raise PeerError(f"{path}: case {number} ({table.get('name', 'unnamed')}): {error}") from error
    names = [case.name for case in cases]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise PeerError(f"{path}: more than one case named {', '.join(repeated)}")
    return cases


def run(case: Case, *, trace: bool = True) -> Measured:
    """Run ``case`` in ns-2: traced for the metrics (unless ``trace`` is false), then untraced for speed."""
    metrics = _traced(case) if trace else None
    return Measured(case, metrics, _timed(case))


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


def _timed(case: Case) -> Speed:
    done = subprocess.run(_command(case, trace=False), capture_output=True, check=False)
    if done.returncode or not done.stdout.startswith(b"done"):
        raise _failure(case, done.returncode, done.stdout + done.stderr)
    _, seconds, packets = done.stdout.split()
    return Speed(int(packets), float(seconds), int(packets) / float(seconds))


def _traced(case: Case) -> Metrics:
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
    """Follows a trace and does what the receiver's reordering does, keeping what the metrics need."""

    def __init__(self, case: Case) -> None:
        self.case = case
        count = len(case.paths)
        self.sent, self.resent, self.dropped, self.lost, self.arrived = ([0] * count for _ in range(5))
        self.delivered = 0
        self.first_sent: dict[int, float] = {}
        self.highest = 0
        self.waiting: dict[int, float] = {}  # arrival time of what waits for an earlier packet
        self.next = 1
        self.delays, self.blocking = array("d"), array("d")
        self.clock = case.warmup_s
        self.area, self.peak = 0.0, 0

    def follow(self, lines: Iterable[bytes]) -> bytes:
        """Take in the trace; returns the first line that is not part of it."""
        links = {str(2 * number).encode(): number - 1 for number in range(1, len(self.case.paths) + 1)}
        entering = (b"", b"")
        for line in lines:
            # event time from to protocol bytes flags flow source destination chunks TSN packet stream number
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
                # The queue drops a packet the moment it enters; losses strike at the far end of the link.
                (self.dropped if (words[1], words[12]) == entering else self.lost)[path] += 1
        return b""

    def _send(self, now: float, tsn: int, path: int) -> None:
        again = tsn <= self.highest
        if not again:
            self.highest = tsn
            self.first_sent[tsn] = now
        if now >= self.case.warmup_s:
            self.sent[path] += 1
            self.resent[path] += again

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
        """The metrics of everything followed."""
        case = self.case
        self._advance(case.duration_s)
        seconds = case.duration_s - case.warmup_s
        bits = 8 * case.payload_bytes
        return Metrics(
            goodput_bps=self.delivered * bits / seconds,
            app_delay_ms=_delays(self.delays),
            blocking_ms=_delays(self.blocking),
            receive_buffer_packets=Level(self.area / seconds, self.peak),
            packets_sent=sum(self.sent),
            packets_dropped=sum(self.dropped),
            packets_lost=sum(self.lost),
            retransmissions=sum(self.resent),
            paths=tuple(
                PathMetrics(arrived * bits / seconds, sent, dropped, lost, resent)
                for arrived, sent, dropped, lost, resent in zip(
                    self.arrived, self.sent, self.dropped, self.lost, self.resent, strict=True
                )
            ),
        )


def _delays(seconds: array[float]) -> Delays:
    if not seconds:
        return Delays(0.0, 0.0, 0.0, 0.0, 0.0)
    ranked = sorted(seconds)
    p50, p95, p99 = (1000 * ranked[ceil(len(ranked) * share / 100) - 1] for share in (50, 95, 99))
    return Delays(1000 * sum(ranked) / len(ranked), p50, p95, p99, 1000 * ranked[-1])
