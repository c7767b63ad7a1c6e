"""Behaviour of a scenario's application: a class for each kind of ``[workload]``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from plait.scenarios.keys import keyed
from plait.scenarios.units import Duration, Rate, Size

__all__ = ["Bulk", "ConstantRate", "File", "OnOff", "OwnWorkload", "RequestResponse", "WriteTrace"]


@keyed('[workload] kind = "bulk"')
@dataclass(frozen=True, kw_only=True)
class Bulk:
    """The application always has data to send, from `start` on."""

    start: Duration | None = None
    kind: Literal["bulk"] = field(default="bulk", init=False)


@keyed('[workload] kind = "file"')
@dataclass(frozen=True, kw_only=True)
class File:
    """The application writes `size` payload bytes at once; the run ends when all have arrived.

    With a `deadline`, they should have arrived within it: see `in_time_share` among the metrics.
    """

    size: Size
    start: Duration | None = None
    deadline: Duration | None = None
    kind: Literal["file"] = field(default="file", init=False)


@keyed('[workload] kind = "cbr"')
@dataclass(frozen=True, kw_only=True)
class ConstantRate:
    """The application writes blocks of `block` payload bytes at equal intervals.

    Their rate is `rate`, and the last block is written before `stop`. With a `deadline`, each block
    should have arrived within it: see `in_time_share` among the metrics.
    """

    rate: Rate
    block: Size
    start: Duration | None = None
    stop: Duration | None = None
    deadline: Duration | None = None
    kind: Literal["cbr"] = field(default="cbr", init=False)


@keyed('[workload] kind = "on-off"')
@dataclass(frozen=True, kw_only=True)
class OnOff:
    """The application writes blocks at `rate` during random on times, none during off times.

    The times have the means `on` and `off`. They are exponentially or Pareto distributed, the
    latter with `shape` (by default 1.5). `deadline` is as in `ConstantRate`.
    """

    rate: Rate
    block: Size
    on: Duration
    off: Duration
    distribution: Literal["exponential", "pareto"] | None = None
    shape: float | None = None
    start: Duration | None = None
    stop: Duration | None = None
    deadline: Duration | None = None
    kind: Literal["on-off"] = field(default="on-off", init=False)


@keyed('[workload] kind = "request-response"')
@dataclass(frozen=True, kw_only=True)
class RequestResponse:
    """Clients at the far end ask, and the near end answers at once over one shared connection.

    Each of `parallel` clients writes `request` bytes, gets `response` bytes, thinks, and asks
    again: from `start` until `stop`, or until all clients together have made `count` requests.
    Sizes and think times are constant or, if "exponential", random with the given mean. A response
    should have arrived within `deadline` of its request. If the protocol has streams, responses of
    the first `urgent` clients have priority over the others.
    """

    request: Size | None = None
    response: Size
    sizes: Literal["fixed", "exponential"] | None = None
    think: Duration | None = None
    think_times: Literal["fixed", "exponential"] | None = None
    parallel: int | None = None
    count: int | None = None
    start: Duration | None = None
    stop: Duration | None = None
    deadline: Duration | None = None
    urgent: int | None = None
    kind: Literal["request-response"] = field(default="request-response", init=False)


@keyed('[workload] kind = "trace"')
@dataclass(frozen=True, kw_only=True)
class WriteTrace:
    """The application writes messages at the times of `file`, a table in CSV.

    Its columns are `time_s` and `bytes`, and perhaps `stream`, `priority` and `deadline_ms`. Times
    count from `start`. The trace begins again after `repeat`; without it, the run ends when all
    messages have arrived. The delay of each message is measured as that of a block.
    """

    file: str
    start: Duration | None = None
    repeat: Duration | None = None
    kind: Literal["trace"] = field(default="trace", init=False)


BuiltIn = Bulk | File | ConstantRate | OnOff | RequestResponse | WriteTrace
WORKLOADS: dict[str, Callable[..., BuiltIn]] = {cls.kind: cls for cls in get_args(BuiltIn)}
"""Classes by their kind in a scenario file."""


@dataclass(frozen=True, init=False)
class OwnWorkload:
    """A class of the user writes the messages: a subclass of `Workload`, or one in C.

    Args:
        kind: the class, ``FILE.py:CLASS`` or ``LIBRARY.so:CLASS``, relative to the folder of the
            scenario.
        parameters: the parameters of the class: text, numbers without a unit, true or false.
    """

    kind: str
    parameters: Mapping[str, str | float | bool]

    def __init__(self, kind: str, **parameters: str | float | bool) -> None:
        vars(self).update(kind=kind, parameters=parameters)

    def table(self) -> dict[str, Any]:
        """Return the table of a scenario file."""
        return {"kind": self.kind, **self.parameters}


Workload = BuiltIn | OwnWorkload


def workload_of(table: Mapping[str, Any]) -> Workload:
    """Return the workload of a valid table of a scenario file."""
    values = dict(table)
    kind = values.pop("kind")
    return WORKLOADS[kind](**values) if kind in WORKLOADS else OwnWorkload(kind, **values)
