"""What metrics there are: what each means, how it is found by its name, and which way it is better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypedDict

from plait.support.words import UnknownNameError, expected

CLOSE = 0.01
"""Values of single runs that differ by a smaller share are not told apart: chance alone makes more."""


class Spread(TypedDict):
    """Distribution of a delay, in milliseconds."""

    mean: float
    p50: float
    p95: float
    p99: float
    max: float


class Latency(TypedDict):
    """Distribution of a latency, in milliseconds."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    max: float


class Occupancy(TypedDict):
    """Time-weighted mean and maximum of a buffer's occupancy."""

    mean: float
    max: float


class Metrics(TypedDict, total=False):
    """The metrics of a run, from the end of the warm-up on. A name ends in its unit; what has none is a count.

    goodput_bps: payload delivered in order to the application, per second.
    app_delay_ms: of a packet, from its first transmission to its in-order delivery.
    blocking_ms: of a packet, from its arrival to its in-order delivery.
    receive_buffer_packets, receive_buffer_bytes: data that waits for in-order delivery; the mean is time-weighted.
    block_delay_ms: of a block of constant-rate or on-off traffic, from writing it to the delivery of its last byte.
    delay_variance_ms: absolute difference of consecutive block delays.
    request_latency_ms: of a request, from writing it at the client to the delivery of its response's last byte there;
        of those that ended after the warm-up.
    requests_begun: requests that clients wrote; None for other traffic.
    requests_completed: responses that were delivered wholly; None for other traffic.
    in_time_share: of the messages (blocks, responses, the file) the share that was delivered wholly by its deadline. A
        message counts when it is delivered or its deadline passes; None without a deadline, and if none counts.
    messages_in_time, messages_late: how many were, and were not; None without a deadline.
    retransmissions: packets that were sent again because they counted as lost.
    spurious_retransmissions: retransmissions and copies that arrived although the packet had arrived before.
    reinjections: copies of packets in flight that a scheduler sent on another path.
    tail_probes: of the retransmissions, those that ask after the last packets, which nobody acknowledged (MPTCP and
        TCP); None where the engine does not count them.
    timeouts: expiries of retransmission timers; None where the engine does not count them.
    spurious_timeouts: of the timeouts, those that were needless: something arrived that had not been sent again.
    duplicate_reports: reports of packets that arrived twice (D-SACK).
    reorderings: acknowledgements that told of a packet, sent once, that arrived after a later one of its path.
    undone_reductions: reductions of a congestion window that turned out to be needless and were taken back. These
        four of MPTCP and TCP; None where the engine does not count them (the kernel's own counters are in ``kernel``).
    decisions: answers of the scheduler, without those to wait; None where the engine does not count them.
    waits: answers of the scheduler to wait; None where the engine does not count them.
    completion_time_s: when the last byte of a file, or of the last of so many responses, was delivered; None if the run
        ended before.
    aggregation_benefit: Kaspar's, against capacities: 0 is what the best path could carry when full, 1 what all could,
        −1 nothing at all. The best path alone may be below 0: `plait compare --alone` compares with it. None of real
        paths, whose capacities nobody knows.
    packets_delivered: packets delivered in order.
    delivered_bytes: payload handed to the application since the start of the run, warm-up included.
    undelivered_bytes: payload written and not delivered when the run ended; None for endless traffic.
    measured_s: seconds that the metrics cover.
    events: simulated events, or captured packets where nothing is simulated.
    """

    goodput_bps: float
    app_delay_ms: Spread
    blocking_ms: Spread
    receive_buffer_packets: Occupancy
    receive_buffer_bytes: Occupancy
    block_delay_ms: Spread
    delay_variance_ms: Spread
    request_latency_ms: Latency
    requests_begun: int | None
    requests_completed: int | None
    in_time_share: float | None
    messages_in_time: int | None
    messages_late: int | None
    retransmissions: int
    spurious_retransmissions: int
    reinjections: int
    tail_probes: int | None
    timeouts: int | None
    spurious_timeouts: int | None
    duplicate_reports: int | None
    reorderings: int | None
    undone_reductions: int | None
    decisions: int | None
    waits: int | None
    completion_time_s: float | None
    aggregation_benefit: float | None
    packets_delivered: int
    delivered_bytes: int
    undelivered_bytes: int | None
    measured_s: float
    events: int


class PathMetrics(TypedDict, total=False):
    """The metrics of one path, from the end of the warm-up on.

    name: the path's name in the scenario.
    throughput_bps: payload that arrived for the first time, per second.
    packets_sent: data packets sent on the path, retransmissions included.
    retransmissions: of the packets sent, those sent again.
    packets_lost: lost on the way.
    packets_dropped: found the queue full; None where the engine cannot tell, and counts them as lost.
    srtt_ms: the smoothed round-trip time at the end; None without a sample.
    forward_delay_ms: one-way delay to the receiver at the end, as timestamps tell it, with the clocks' offset in it;
        None for CMT-SCTP.
    backward_delay_ms: one-way delay of the acknowledgements, likewise.
    cwnd_packets: the congestion window at the end; None if the path had none then.
    """

    name: str
    throughput_bps: float
    packets_sent: int
    retransmissions: int
    packets_lost: int
    packets_dropped: int | None
    srtt_ms: float | None
    forward_delay_ms: float | None
    backward_delay_ms: float | None
    cwnd_packets: float | None


class FlowMetrics(TypedDict, total=False):
    """The metrics of one competing flow, from the end of the warm-up on.

    name: the flow's name in the scenario.
    kind: what traffic it is: tcp, multipath, cbr or on-off.
    goodput_bps: payload delivered in order, per second; of datagrams what arrived, headers included.
    packets_sent: data packets or datagrams sent.
    retransmissions: packets sent again.
    packets_delivered: data packets or datagrams delivered.
    packets_lost: lost on the way.
    packets_dropped: found a queue full; None where the engine cannot tell, and counts them as lost.
    delay_ms: of a datagram, from sending to arrival; None for connections.
    completion_time_s: when the last byte of a finite flow was delivered; None if the run ended before.
    """

    name: str
    kind: str
    goodput_bps: float
    packets_sent: int
    retransmissions: int
    packets_delivered: int
    packets_lost: int
    packets_dropped: int | None
    delay_ms: Spread | None
    completion_time_s: float | None


class QueueMetrics(TypedDict, total=False):
    """The metrics of an active queue, one direction of a link, from the end of the warm-up on.

    They count packets of the connection and of all flows, data and acknowledgements alike. Drop-tail has none.

    name: the link's name, or that of the path whose wire it is.
    direction: forward or backward.
    discipline: the discipline's name.
    packets_sent: packets that left the queue to be transmitted.
    packets_marked: packets that the discipline marked (ECN).
    packets_dropped: packets that the discipline dropped because of their delay.
    packets_over_limit: packets that were dropped because the queue was full.
    sojourn_ms: of the packets sent, from the arrival in the queue to the start of the transmission; None without any.
    """

    name: str
    direction: str
    discipline: str
    packets_sent: int
    packets_marked: int
    packets_dropped: int
    packets_over_limit: int
    sojourn_ms: Spread | None


class WithMetrics(Protocol):
    """What has metrics: a `plait.Result`."""

    @property
    def metrics(self) -> Metrics:
        """Those of the connection."""
        ...

    @property
    def paths(self) -> Sequence[PathMetrics]:
        """Those of each path."""
        ...

    @property
    def queues(self) -> Sequence[QueueMetrics]:
        """Those of each active queue."""
        ...


def meant(name: str, known: Sequence[str]) -> str | None:
    """Which metric a name stands for: itself, or the only one of which it leaves out the unit or the mean."""
    if name in known:
        return name
    begun = [one for one in known if one.startswith(f"{name}_") or one == f"{name}.mean"]
    whole = [one for one in begun if "." not in one or one.endswith(".mean")]
    return whole[0] if len(whole) == 1 else None


def names_of(result: WithMetrics) -> list[str]:
    """The dotted names of all metrics that a run has."""
    names = list(_leaves("", result.metrics))
    for path in result.paths:
        names += _leaves(f"paths.{path['name']}.", path)
    names += [f"paths.sum.{name}" for name in _leaves("", result.paths[0])] if result.paths else []
    for queue in result.queues:
        names += _leaves(f"queues.{queue['name']}.{queue['direction']}.", queue)
    return names


def _leaves(prefix: str, table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(f"{prefix}{key}.", value)
        elif value is None or isinstance(value, int | float):
            yield f"{prefix}{key}"


def _unknown(result: WithMetrics, name: str) -> UnknownNameError:
    return UnknownNameError(f"metric {name!r}: unknown{expected(name, names_of(result))}")


def metric(result: WithMetrics, name: str) -> float | None:
    """A metric by its dotted name.

    ``app_delay_ms.mean`` is a metric of the connection, ``paths.slow.throughput_bps`` one of a path, and
    ``paths.sum.throughput_bps`` the sum over the paths. None where the run has no value for it.

    Raises:
        KeyError: there is no metric of that name.
    """
    first, *rest = name.split(".")
    if first == "paths" and len(rest) == 2:
        path_name, key = rest
        chosen = [path for path in result.paths if path_name in ("sum", path["name"])]
        if not chosen or key not in chosen[0]:
            raise _unknown(result, name)
        values = [dict[str, Any](path)[key] for path in chosen]
        return None if None in values else sum(float(value) for value in values)
    value: Any = result.metrics
    if first == "queues" and len(rest) > 2:
        queues = [one for one in result.queues if [one["name"], one["direction"]] == rest[:2]]
        if not queues:
            raise _unknown(result, name)
        value, (first, *rest) = queues[0], rest[2:]
    for key in (first, *rest):
        if value is None:  # a spread of nothing: no packet was delivered
            return None
        if not isinstance(value, Mapping) or key not in value:
            raise _unknown(result, name)
        value = value[key]
    return None if value is None else float(value)


HIGHER = frozenset(
    {
        "goodput_bps",
        "throughput_bps",
        "aggregation_benefit",
        "packets_delivered",
        "delivered_bytes",
        "requests_completed",
        "in_time_share",
        "messages_in_time",
    }
)
"""More is better."""
LOWER = frozenset(
    {
        "app_delay_ms",
        "blocking_ms",
        "receive_buffer_packets",
        "receive_buffer_bytes",
        "block_delay_ms",
        "delay_variance_ms",
        "request_latency_ms",
        "messages_late",
        "completion_time_s",
        "undelivered_bytes",
        "delay_ms",
        "retransmissions",
        "spurious_retransmissions",
        "reinjections",
        "timeouts",
        "tail_probes",
        "spurious_timeouts",
        "packets_lost",
        "packets_dropped",
        "packets_over_limit",
        "sojourn_ms",
    }
)
"""Less is better."""


def least(name: str) -> float:
    """What no run's value is below: 0 of amounts, counts and times, −1 of the aggregation benefit."""
    return -1.0 if name.endswith("aggregation_benefit") else 0.0


def direction(name: str) -> int:
    """1 where more of a metric, by its dotted name, is better, −1 where less is, 0 where neither can be said."""
    parts = name.split(".")
    place = {"paths": 2, "flows": 2, "queues": 3}.get(parts[0], 0)
    key = parts[place] if len(parts) > place else parts[0]
    return 1 if key in HIGHER else -1 if key in LOWER else 0
