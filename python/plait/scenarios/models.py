"""Closed formulas: longest blocking, smallest buffer, asymmetry.

Sources: Kuhn et al., "DAPS: Intelligent Delay-Aware Packet Scheduling for Multipath Transport", ICC 2014,
equations (2) and (3); Kuhn et al., slides of July 2013 (asymmetry).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plait import _core
from plait.scenarios.units import Duration, Rate, Size, duration_ns, rate_bps, size_bytes


@dataclass(frozen=True)
class PathModel:
    """A path in the models.

    Args:
        rate: text with a unit, or bit/s.
        rtt: the round-trip time; text with a unit, or seconds.
    """

    rate: Rate
    rtt: Duration

    @property
    def bits_per_second(self) -> int:
        """The rate in bit/s; ScenarioError if it is zero or invalid."""
        value = rate_bps(self.rate)
        if value == 0:
            message = f"rate: expected more than 0 bit/s, got {self.rate!r}"
            raise _core.ScenarioError(message)
        return value

    @property
    def rtt_ns(self) -> int:
        """The round-trip time in nanoseconds."""
        return duration_ns(self.rtt)

    def arrival_ns(self, packet_bytes: int) -> float:
        """Nanoseconds from sending one packet on the idle path to its arrival: r/2 + 8L/c."""
        return self.rtt_ns / 2 + 8e9 * packet_bytes / self.bits_per_second


def max_blocking_ms(paths: Sequence[PathModel], packet: Size = "1500B") -> float:
    """Longest time a packet waits for in-order delivery, in milliseconds (DAPS paper, eq. 2).

    The worst case is a packet on the path with the latest arrival, sent right before a packet on
    the path with the earliest arrival: T = r_s/2 + 8L/c_s − r_f/2 − 8L/c_f. With more than two
    paths, the slowest is compared with the fastest. Packets already in flight are not counted, so
    queueing on the slow path can exceed the result.

    Args:
        paths: at least two.
        packet: its size on the wire; text with a unit, or bytes.

    Raises:
        ScenarioError: fewer than two paths, or a value that is no rate, duration or size.
    """
    _at_least_two(paths)
    packet_bytes = size_bytes(packet)
    arrivals = [path.arrival_ns(packet_bytes) for path in paths]
    return (max(arrivals) - min(arrivals)) / 1e6


def min_receive_buffer_bytes(paths: Sequence[PathModel]) -> float:
    """Receive buffer for all rates during the longest round-trip time, in bytes (DAPS, eq. 3).

    Raises:
        ScenarioError: no path, or a value that is no rate or duration.
    """
    if not paths:
        message = "paths: expected at least one, got none"
        raise _core.ScenarioError(message)
    return sum(path.bits_per_second for path in paths) * max(path.rtt_ns for path in paths) / 8e9


def asymmetry(paths: Sequence[PathModel]) -> float:
    """Ratio of the bandwidth-delay products of two paths, A = C_1·RTT_1/(C_0·RTT_0).

    Path 0 is the first one.

    Raises:
        ScenarioError: not exactly two paths, a first path without delay, or a value that is no rate
            or duration.
    """
    if len(paths) != 2:
        message = f"paths: asymmetry compares exactly 2, got {len(paths)}"
        raise _core.ScenarioError(message)
    first, second = (path.bits_per_second * path.rtt_ns for path in paths)
    if first == 0:
        message = f"rtt: the first path needs more than 0 ms, got {paths[0].rtt!r}"
        raise _core.ScenarioError(message)
    return second / first


def _at_least_two(paths: Sequence[PathModel]) -> None:
    if len(paths) < 2:
        message = f"paths: blocking needs at least 2, got {len(paths)}"
        raise _core.ScenarioError(message)
