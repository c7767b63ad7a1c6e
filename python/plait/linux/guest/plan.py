"""The plan of a run: plain data that the host passes to the guest as JSON."""

from __future__ import annotations

import json
import types
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

SENDER = "snd"
RECEIVER = "rcv"
"""The namespaces of the two hosts; all others are routers."""
CLIENT_PORTS = (9001, 9128)
"""Range of the receiver's ports if it opens the connection. Captures select packets by destination
port."""
NAMESPACES = "/dev/netns"
"""Folder with a file per namespace; `ip` takes their paths."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Lines for one call of `ip -batch` or `tc -batch`; an empty namespace is the guest's own."""

    namespace: str
    lines: list[str]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A value for a file below /proc/sys or /sys/module, as seen from a namespace."""

    namespace: str
    file: str
    value: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """A line for `tc` at a time of the run."""

    at_ns: int
    namespace: str
    line: str


@dataclass(frozen=True, kw_only=True)
class Source:
    """The writes of an application.

    kind: bulk (endless), file (`size` bytes at once), blocks (`block` bytes each, `rate_bps` while
        on), requests (from clients at the receiver, answered by the sender).
    periods: starts and lengths of on periods; empty means always on.
    demands: for each client its successive requests: bytes of the request, bytes of the response,
        nanoseconds of thinking.
    count: total number of requests of all clients.
    """

    kind: str
    start_ns: int
    stop_ns: int | None = None
    size: int | None = None
    block: int | None = None
    rate_bps: int | None = None
    periods: list[list[int]] = field(default_factory=list)
    demands: list[list[list[int]]] = field(default_factory=list)
    count: int | None = None


@dataclass(frozen=True, kw_only=True)
class Connection:
    """The scenario's own connection; `sender` and `receiver` are the first path's addresses.

    opener: the host that connects, to `port` of the other one.
    send_buffer: value of SO_SNDBUF in the kernel; None leaves it to the kernel.
    """

    protocol: str
    sender: str
    receiver: str
    port: int
    opener: str
    send_buffer: int | None
    source: Source


@dataclass(frozen=True, kw_only=True)
class Counter:
    """A device whose queueing discipline counts drops."""

    namespace: str
    device: str


@dataclass(frozen=True, kw_only=True)
class PathPlan:
    """A path: its addresses, and the counters of its links' drops and losses, of any traffic."""

    name: str
    sender: str
    receiver: str
    dropped: list[Counter]
    lost: list[Counter]


@dataclass(frozen=True, kw_only=True)
class QueuePlan:
    """An active queue: one direction of the link or path `name`.

    The file `capture` records the packets that pass its router.
    """

    name: str
    direction: str
    place: Counter
    capture: str


@dataclass(frozen=True, kw_only=True)
class FlowPlan:
    """A competing flow; `sender` sends data to port `port` of `receiver`. kind: tcp, cbr, on-off.

    congestion_control: the kernel's name of the flow's own; None means the host's.
    """

    name: str
    kind: str
    sender_namespace: str
    receiver_namespace: str
    sender: str
    receiver: str
    port: int
    source: Source
    congestion_control: str | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole run."""

    seed: int
    duration_ns: int
    warmup_ns: int
    series_ns: int | None
    decisions: bool
    namespaces: list[str]
    settings: list[Setting]
    ip: list[Batch]
    tc: list[Batch]
    changes: list[Change]
    connection: Connection
    paths: list[PathPlan]
    flows: list[FlowPlan]
    queues: list[QueuePlan] = field(default_factory=list)
    """Queues that are not drop-tail; absent from the JSON text if there are none."""

    def to_json(self) -> str:
        """Return the plan as JSON for the guest."""
        table = asdict(self)
        if not self.queues:
            del table["queues"]
        return json.dumps(table, indent=1, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Plan:
        """Parse the plan that the host wrote."""
        plan = _decode(Plan, json.loads(text))
        assert isinstance(plan, Plan)
        return plan


def _decode(kind: Any, value: Any) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        some = [one for one in get_args(kind) if one is not type(None)]
        return None if value is None else _decode(some[0], value)
    if get_origin(kind) is list:
        return [_decode(get_args(kind)[0], one) for one in value]
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        make: Any = kind
        given = [one.name for one in fields(kind) if one.name in value]
        return make(**{name: _decode(hints[name], value[name]) for name in given})
    return value
