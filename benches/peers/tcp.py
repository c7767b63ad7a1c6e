"""TCP over one link in another simulator and in Plait: the cases of ``tcp_cases.toml``.

Wire sizes, initial window, timestamps, buffers, acknowledgements and the bounds of the
retransmission timeout are set alike. ``tcp_ns2`` and ``tcp_ns3`` run the other simulators. Goodput,
retransmissions and delay are computed here, from the data packets on the link.
"""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass, field, replace
from math import ceil, exp, log, sqrt
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import ours
import polars as pl
from cases import NUDGE, PeerError
from verdict import (
    AGREES,
    COUNTING,
    DIFFERS,
    FIVE_PERCENT,
    NO_TOLERANCE,
    OPEN,
    Compared,
    overall,
    standard_error,
)

import plait
from plait.runs.run import Task, run_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from metrics import Speed

CASES = Path(__file__).with_name("tcp_cases.toml")
PACKET, HEADERS = 1500, 52  # IPv4, TCP, timestamps
PAYLOAD = PACKET - HEADERS
ACKNOWLEDGEMENT = HEADERS  # bytes
WINDOW = 1_000_000_000  # bytes; never a limit
LATER = 5.0  # seconds: about the time between two losses of a bulk transfer
MORE_SEEDS = 4  # factor of seeds over the other simulator, because our runs are cheap


@dataclass(frozen=True, slots=True)
class Flow:
    """A connection: a file, or endless data (0 bytes). It opens when it starts."""

    start_s: float = 0.0  # 0 for the first flow, whose connection Plait opens at once
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """One link and the flows over it.

    Several runs differ in their losses. Without random losses they differ slightly in the
    round-trip time, and in the start of every flow but the first.
    """

    name: str
    rate_bps: int
    rtt_ms: float
    queue_packets: int
    loss: float = 0.0
    ack_every: int = 1
    congestion_control: Literal["newreno", "cubic", "bbr"] = "newreno"
    profile: Literal["standard", "linux"] = "standard"  # Plait's
    flows: tuple[Flow, ...] = (Flow(),)
    duration_s: float = 100.0
    warmup_s: float = 20.0
    runs: int = 1
    seed: int = 1
    differs: dict[str, str] = field(default_factory=dict)  # by simulator: the known reason of a difference

    @property
    def empty_ms(self) -> float:
        """One-way delay of a packet that finds the queue empty."""
        return self.rtt_ms / 2 + 1e3 * 8 * PACKET / self.rate_bps

    def members(self, times: int = 1) -> list[Case]:
        """Return the runs of the case."""
        if self.runs == 1:
            return [self]
        seeds = range(self.seed, self.seed + times * self.runs)
        if self.loss:
            return [replace(self, seed=seed) for seed in seeds]
        return [self._nudged(random.Random(seed)) for seed in seeds]

    def _nudged(self, chance: random.Random) -> Case:
        rtt = round(self.rtt_ms * (1 + NUDGE * chance.uniform(-1, 1)), 4)
        first, *others = self.flows
        later = (replace(flow, start_s=round(flow.start_s + chance.uniform(0, LATER), 3)) for flow in others)
        return replace(self, rtt_ms=rtt, flows=(first, *later))

    def response_mbps(self) -> float | None:
        """Goodput by the response function; None without random losses, or limited by the rate.

        BBR has none: its rate does not follow from its losses.
        """
        if not self.loss or self.congestion_control == "bbr":
            return None
        seconds = self.rtt_ms / 1e3 + 8 * (PACKET + ACKNOWLEDGEMENT) / self.rate_bps
        # Mathis and others (1997), with an acknowledgement per packet or byte counting.
        window = sqrt(3 / (2 * self.loss))
        if self.congestion_control == "cubic":
            # RFC 9438 §5.1 with C = 0.4 and β = 0.7. Where Reno is faster, CUBIC is as fast as Reno
            # (§4.3).
            cubic = (0.4 * 3.7 / (4 * 0.3)) ** 0.25 * (seconds / self.loss) ** 0.75
            window = max(window, cubic)
        goodput = 8 * window * PAYLOAD / seconds / 1e6
        return goodput if goodput * PACKET / PAYLOAD * 1e6 < self.rate_bps else None


@dataclass(frozen=True, slots=True)
class Step:
    """One way to compare: settings of the other simulator and of our transport."""

    title: str
    sender: str  # the other simulator's name for the kind of sender
    parameters: tuple[str, ...] = ()
    transport: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of a run after the warm-up."""

    goodput_mbps: tuple[
        float, ...
    ]  # of each flow: payload that arrived for the first time; for a file, its size over its time
    retransmissions: int  # of all flows
    delay_ms: float  # of the first flow's data packets, one way: half the RTT, serialization, queue


@dataclass(frozen=True, slots=True)
class Peer:
    """The other simulator."""

    name: str
    prepare: Callable[[], None]  # raises PeerError if it is missing
    steps: Callable[[Case], list[Step]]  # none for a case that it cannot run
    measure: Callable[[Case, Step], Measured]
    speed: Callable[[Case, Step], Speed]


Range = tuple[float, float]


class Event(NamedTuple):
    """A data packet enters the link's queue ("+") or arrives ("r")."""

    kind: str
    now: float
    flow: int
    number: int  # of its payload, in the order of the stream
    packet: str  # unique among the flow's packets on the link


def load_cases() -> list[Case]:
    """Load the cases of ``tcp_cases.toml``, and draw those of BBR."""
    document = tomllib.loads(CASES.read_text(encoding="utf-8"))
    try:
        cases = [_case(document["defaults"] | table) for table in document["case"]]
        drawn = draw_bbr(**document["bbr"])
    except (KeyError, TypeError) as error:
        raise PeerError(f"{CASES}: {error}") from error
    return cases + [replace(case, profile=profile) for case in drawn for profile in ("standard", "linux")]


def draw_bbr(
    *, seed: int, links: int, rate_mbps: Range, rtt_ms: Range, queue_bdp: Range, loss: float, **others: Any
) -> list[Case]:
    """Draw links for BBR, even in the logarithm. Every second one has random losses."""
    chance = random.Random(seed)
    cases = []
    for number in range(links):
        rate, rtt, bdp = (exp(chance.uniform(*map(log, ends))) for ends in (rate_mbps, rtt_ms, queue_bdp))
        rate, rtt = round(rate, 1), round(rtt)
        queue = max(4, round(bdp * rate * rtt * 1e3 / 8 / PACKET))
        lossy = number % 2 == 1
        cases.append(
            Case(
                name=f"BBR {rate:g}/{rtt} queue {queue}" + (f" loss {loss:.0%}" if lossy else ""),
                rate_bps=round(rate * 1e6),
                rtt_ms=rtt,
                queue_packets=queue,
                congestion_control="bbr",
                **(others | ({"loss": loss} if lossy else {"runs": 1})),
            )
        )
    return cases


def _case(table: dict[str, Any]) -> Case:
    if "flows" in table:
        table["flows"] = tuple(Flow(**flow) for flow in table["flows"])
    return Case(**table)


def follow(case: Case, events: Iterable[Event]) -> Measured:
    """Compute the results of a run from its packets."""
    seen: list[set[int]] = [set() for _ in case.flows]
    highest = [-1] * len(case.flows)
    arrived = [0] * len(case.flows)
    completed: list[float | None] = [None] * len(case.flows)
    entered: dict[tuple[int, str], float] = {}
    again = packets = 0
    delay = 0.0
    for kind, now, flow, number, packet in events:
        counts = now >= case.warmup_s
        if kind == "+":
            entered[flow, packet] = now
            again += counts and number <= highest[flow]
            highest[flow] = max(highest[flow], number)
            continue
        start = entered.pop((flow, packet))
        if counts and flow == 0:
            packets += 1
            delay += now - start
        if number not in seen[flow]:
            seen[flow].add(number)
            arrived[flow] += counts
            if len(seen[flow]) == ceil(case.flows[flow].size_bytes / PAYLOAD):
                completed[flow] = now
    seconds = case.duration_s - case.warmup_s
    goodput = tuple(
        _file_goodput(flow, completed[index])
        if flow.size_bytes
        else arrived[index] * 8 * PAYLOAD / seconds / 1e6
        for index, flow in enumerate(case.flows)
    )
    return Measured(goodput, again, 1000 * delay / packets)


def _file_goodput(flow: Flow, completed: float | None) -> float:
    return 8 * flow.size_bytes / (completed - flow.start_s) / 1e6 if completed else 0.0


def scenario(case: Case, step: Step | None = None) -> plait.Scenario:
    """Return ``case`` as a scenario of Plait."""
    first, *others = case.flows
    options: dict[str, Any] = dict(step.transport) if step else {}
    return plait.Scenario(
        name=case.name,
        seed=case.seed,
        duration=f"{case.duration_s}s",
        warmup=f"{case.warmup_s}s",
        workload=plait.File(size=first.size_bytes) if first.size_bytes else plait.Bulk(),
        transport=plait.Transport(
            protocol="tcp",
            profile=case.profile,
            congestion_control=case.congestion_control,
            receive_buffer=WINDOW,
            ack_every=case.ack_every,
            packet=PACKET,
            **options,
        ),
        paths=[
            plait.Path(
                name="path",
                rate=case.rate_bps,
                rtt=f"{case.rtt_ms}ms",
                queue=f"{case.queue_packets}p",
                loss=f"{case.loss * 100:.10g}%" if case.loss else None,
            )
        ],
        flows=[
            plait.TcpFlow(path="path", start=f"{flow.start_s}s", size=flow.size_bytes or None)
            for flow in others
        ],
    )


def in_plait(case: Case, step: Step | None = None) -> Measured:
    """Run ``case`` in Plait."""
    result = run_tasks([Task(scenario=scenario(case, step), packets=True)], threads=1)[0]
    arrived = result.packets.filter(pl.col("arrived_ns") >= int(case.warmup_s * 1e9))
    delay = arrived.select((pl.col("arrived_ns") - pl.col("sent_ns")).mean()).item() / 1e6
    first, *others = case.flows
    goodput = (
        _file_goodput(first, result.metrics["completion_time_s"])
        if first.size_bytes
        else result.paths[0]["throughput_bps"] / 1e6
    )
    goodputs = [
        _file_goodput(flow, run["completion_time_s"]) if flow.size_bytes else run["goodput_bps"] / 1e6
        for flow, run in zip(others, result.flows, strict=True)
    ]
    again = result.metrics["retransmissions"] + sum(run["retransmissions"] for run in result.flows)
    return Measured((goodput, *goodputs), again, delay)


def compare(case: Case, theirs: Sequence[Measured], mine: Sequence[Measured]) -> list[Compared]:
    """Compare every quantity of a case: the goodput of each flow, then the others.

    With BBR, goodput alone is judged: its queue is a few packets, and how many is each sender's own.
    """
    shown = case.congestion_control == "bbr"

    def row(name: str, value: Callable[[Measured], float], least: float = 0.0) -> Compared:
        values = [value(one) for one in theirs], [value(one) for one in mine]
        mean = fmean(values[0])
        error = 2 * standard_error(*values)
        return Compared(name, mean, fmean(values[1]), error, max(FIVE_PERCENT * mean, least))

    return [
        *(
            row("goodput", lambda one, index=index: one.goodput_mbps[index])  # type: ignore[misc]
            for index in range(len(theirs[0].goodput_mbps))
        ),
        row("retransmissions", lambda one: one.retransmissions, NO_TOLERANCE if shown else COUNTING),
        row("delay", lambda one: one.delay_ms, NO_TOLERANCE if shown else 0.0),
    ]


@dataclass(slots=True)
class Report:
    """A case and all its steps so far."""

    peer: str
    case: Case
    attempts: list[tuple[Step, list[Compared]]] = field(default_factory=list)
    theirs: Speed | None = None
    ours: Speed | None = None

    @property
    def last(self) -> tuple[Step, list[Compared]]:
        """The step that decides: one that agrees, or else an open one, or else the last."""
        for verdict in (AGREES, OPEN):
            for attempt in self.attempts:
                if overall(attempt[1]) == verdict:
                    return attempt
        return self.attempts[-1]

    @property
    def verdict(self) -> str:
        """Whether the simulators agree in any step."""
        return overall(self.last[1])

    @property
    def unexplained(self) -> bool:
        """Whether the case should agree and differs. Too few seeds for a verdict do not count."""
        return self.verdict == DIFFERS and self.peer not in self.case.differs

    def why(self) -> str:
        """Return the step that makes them agree, or the known reason of the difference."""
        known = self.case.differs.get(self.peer, "")
        if self.verdict == AGREES:
            title = "" if self.last is self.attempts[0] else f"with {self.last[0].title}"
            return title if not known else "`differs` can go"
        return known or ("too few runs for a verdict" if self.verdict == OPEN else "not explained")


def report_case(
    peer: Peer, case: Case, measure: Callable[[Sequence[Case], Step], list[Measured]], *, speed: bool
) -> Report:
    """Compare step by step until the two agree, and time both."""
    report = Report(peer.name, case)
    known: dict[tuple[tuple[str, Any], ...], list[Measured]] = {}
    for step in peer.steps(case):
        if step.transport not in known:
            known[step.transport] = [in_plait(member, step) for member in case.members(MORE_SEEDS)]
        report.attempts.append((step, compare(case, measure(case.members(), step), known[step.transport])))
        if overall(report.attempts[-1][1]) == AGREES:
            break
    if speed:
        report.theirs = peer.speed(case, report.attempts[0][0])
        report.ours = ours.timed(scenario(replace(case, warmup_s=0)))
    return report
