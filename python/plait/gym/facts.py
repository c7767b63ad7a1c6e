"""The facts of a decision, and the vector that an agent observes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plait._core import Connection, Path

LARGEST = 1e6
"""Maximum of an observed value; endless data has this value."""

PATH: Mapping[str, Callable[[Path], float]] = {
    "open": lambda path: path.open,
    "room": lambda path: path.room,
    "srtt": lambda path: path.srtt or 0.0,
    "min_rtt": lambda path: path.min_rtt or 0.0,
    "rttvar": lambda path: path.rttvar or 0.0,
    "cwnd": lambda path: path.cwnd,
    "in_flight": lambda path: path.in_flight,
    "queued": lambda path: path.queued,
    "lost": lambda path: path.lost,
    "delivery_rate": lambda path: path.delivery_rate / 1e6,
    "loss_rate": lambda path: path.loss_rate,
}
"""The observed values of a path: times in seconds (0 before the first sample), amounts in segments,
rates in Mbit/s."""
CONNECTION: Mapping[str, Callable[[Connection], float]] = {
    "unassigned": lambda connection: connection.unassigned,
    "window_left": lambda connection: connection.window_left,
    "window": lambda connection: connection.window,
}
"""The observed values of the connection, in segments."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a decision: those that a scheduler sees, and the progress of the stream.

    now: seconds since the beginning. connection, paths: as in `Scheduler.decide`. acknowledged:
    segments acknowledged in order, as far as the sender knows.
    """

    now: float
    connection: Connection
    paths: Sequence[Path]
    acknowledged: int


Observation = npt.NDArray[np.float32]


def observe(facts: Facts) -> Observation:
    """Return the observed vector: 11 values of each path, then 3 of the connection, as ``float32``.

    Its shape is ``(11 * paths + 3,)``. Paths are in the scenario's order. The values of a path are,
    in this order: ``open`` (0 or 1); ``room`` (segments); ``srtt``, ``min_rtt`` and ``rttvar``
    (seconds, 0 before the first sample); ``cwnd``, ``in_flight``, ``queued`` and ``lost``
    (segments); ``delivery_rate`` (Mbit/s, 0 until measured); ``loss_rate`` (0 to 1). Those of the
    connection are ``unassigned``, ``window_left`` and ``window`` (segments). `Path` and
    `Connection` have their meanings. Values are not normalised. Larger ones than 10⁶, such as
    endless data, are 10⁶.
    """
    values: list[Any] = [read(path) for path in facts.paths for read in PATH.values()]
    values += [read(facts.connection) for read in CONNECTION.values()]
    return np.minimum(np.array(values, dtype=np.float64), LARGEST).astype(np.float32)


def observed_names(paths: Sequence[str]) -> list[str]:
    """Return the names of the vector's values for paths of these names, such as ``dsl.srtt``."""
    return [f"{path}.{name}" for path in paths for name in PATH] + [*CONNECTION]


def acknowledged(before: int, connection: Connection, paths: Sequence[Path]) -> int:
    """Return the segments acknowledged in order.

    The oldest unacknowledged segment is unknown while it is lost: then the number is as before.
    """
    if connection.oldest_unacked is not None:
        return connection.oldest_unacked
    if any(path.in_flight or path.lost or path.queued for path in paths):
        return before
    return connection.next_segment
