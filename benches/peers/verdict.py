"""The conditions of agreement: tolerances, spread, and the habits of ns-2 that steps remove."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, variance
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cases import Case
    from metrics import Metrics

THROUGHPUT_TOLERANCE = 0.03
DELAY_TOLERANCE = 0.10
# With about one packet waiting, a difference of a packet or two milliseconds means nothing.
FEW_PACKETS = 2.0
PACKETS_TOLERANCE = 1.0
MILLISECONDS_TOLERANCE = 2.0
FIVE_PERCENT = 0.05  # TCP over one path
COUNTING = 3.0  # packets: with few retransmissions, one loss more or less means nothing
NO_TOLERANCE = float("inf")  # shown, not judged: one packet decides it

AGREES, OPEN, DIFFERS = "agrees", "open", "differs"


@dataclass(frozen=True, slots=True)
class Step:
    """One way to compare: settings of ns-2's agent and of our transport."""

    title: str
    agent: dict[str, float] = field(default_factory=dict)
    transport: dict[str, object] = field(default_factory=dict)


HABITS_OFF: dict[str, float] = {
    "useCmtDelAck_": 0,  # with one SACK per packet this rule leaves most losses to the timer
    "useMaxBurst_": 0,  # from the first retransmission on, at most four new packets per SACK and path
    "initialCwnd_": 4,  # lowest threshold after a loss, in packets: 4 (RFC 9260, 7.2.3), not 2
    "heartbeatInterval_": 100_000,  # paths that carry data are probed, which delays the data by a packet
}
STEPS = (
    Step("as they come"),
    Step("ns-2's habits off", HABITS_OFF),
    Step("ns-2's habits off, growth in recovery", HABITS_OFF, {"grow_in_recovery": True}),
)
"""Taken in this order until the two agree. The last change explains the earlier difference."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One quantity in both simulators: means over the runs of the case."""

    name: str
    theirs: float
    ours: float
    error: float  # two standard errors of the difference of the means; 0 for a single run
    tolerance: float  # absolute; infinite if there is none

    @property
    def difference(self) -> float:
        """The relative difference; 0 if both are 0."""
        if self.theirs == 0:
            return 0.0 if self.ours == 0 else float("inf")
        return self.ours / self.theirs - 1

    @property
    def verdict(self) -> str:
        """Open if the runs vary too much to tell a difference as large as the tolerance."""
        if abs(self.ours - self.theirs) > self.tolerance + self.error:
            return DIFFERS
        return AGREES if self.error <= self.tolerance else OPEN


def compare(theirs: Sequence[Metrics], ours: Sequence[Metrics], *, paired: bool) -> list[Compared]:
    """Compare every quantity of a case. ``paired``: both simulators made the same runs."""
    few = fmean(one.receive_buffer_packets.mean for one in theirs) < FEW_PACKETS

    def row(name: str, value: Callable[[Metrics], float], relative: float, absolute: float = 0.0) -> Compared:
        values = [value(one) for one in theirs], [value(one) for one in ours]
        mean = fmean(values[0])
        error = 2 * sqrt(_squared_error(*values, paired=paired))
        return Compared(
            name, mean, fmean(values[1]), error, max(relative * mean if mean else relative, absolute)
        )

    return [
        *(
            row(f"path {index + 1}", _throughput(index), THROUGHPUT_TOLERANCE)
            for index in range(len(theirs[0].paths))
        ),
        row("app delay", lambda one: one.app_delay_ms.mean, DELAY_TOLERANCE),
        row(
            "occupancy",
            lambda one: one.receive_buffer_packets.mean,
            DELAY_TOLERANCE,
            PACKETS_TOLERANCE if few else 0.0,
        ),
        row(
            "blocking",
            lambda one: one.blocking_ms.mean,
            DELAY_TOLERANCE,
            MILLISECONDS_TOLERANCE if few else 0.0,
        ),
        row("longest", lambda one: one.blocking_ms.max, NO_TOLERANCE),
    ]


def _throughput(index: int) -> Callable[[Metrics], float]:
    return lambda one: one.paths[index].throughput_bps / 1e3


def _squared_error(theirs: Sequence[float], ours: Sequence[float], *, paired: bool) -> float:
    if len(theirs) == 1:
        return 0.0
    if paired:
        return variance([one - other for one, other in zip(ours, theirs, strict=True)]) / len(theirs)
    return variance(theirs) / len(theirs) + variance(ours) / len(ours)


def standard_error(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """Standard error of the difference of means of independent runs; 0 for single runs."""
    return sqrt(_squared_error(theirs, ours, paired=False))


def overall(rows: Sequence[Compared]) -> str:
    """Return the worst verdict of the rows."""
    verdicts = {row.verdict for row in rows}
    return next(verdict for verdict in (DIFFERS, OPEN, AGREES) if verdict in verdicts)


def steps(case: Case) -> list[Step]:
    """Return the steps for ``case``. With delayed SACKs, ns-2 keeps its published rule for them."""
    chosen = []
    for step in STEPS:
        agent = {
            key: value for key, value in step.agent.items() if case.ack_every == 1 or key != "useCmtDelAck_"
        }
        chosen.append(Step(step.title, agent, step.transport))
    return chosen
