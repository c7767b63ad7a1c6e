"""Metrics of a run, the same for both simulators.

- *throughput* of a path: payload that arrived for the first time, per second; *goodput*: payload
  delivered in order.
- *application delay*: from the first transmission (into the path's queue) to in-order delivery.
- *blocking*: from arrival to in-order delivery, over all packets, including those without a wait.
- *receive buffer*: packets that arrived and wait for an earlier one; the mean is weighted by time.

An event counts if it happens at or after the end of the warm-up. A delay counts if its delivery
does.
"""

from __future__ import annotations

from dataclasses import dataclass


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
    """Metrics of one path after the warm-up."""

    throughput_bps: float
    packets_sent: int  # includes retransmissions
    packets_dropped: int  # by a full queue
    packets_lost: int  # at random, after the queue


@dataclass(frozen=True, slots=True)
class Metrics:
    """Metrics of the transfer after the warm-up."""

    goodput_bps: float
    app_delay_ms: Delays
    blocking_ms: Delays
    receive_buffer_packets: Level
    retransmissions: int
    paths: tuple[PathMetrics, ...]


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of a run without a trace, warm-up included."""

    packets: int  # sent on the forward links
    wall_seconds: float

    @property
    def packets_per_second(self) -> float:
        """Simulated packets per second of real time."""
        return self.packets / self.wall_seconds
