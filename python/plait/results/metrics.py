"""The metrics: their meaning, their names, and whether more or less of each is better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypedDict

from plait.results.catalogue import CATALOGUE
from plait.support.words import UnknownNameError, expected

CLOSE = 0.01
"""Share below which values of single runs count as equal: chance alone causes larger
differences."""


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
    """The metrics of a run after the warm-up. A name ends in its unit; without one it is a count.

    goodput_bps: payload delivered in order to the application, per second of `measured_s`. This
        includes the time after the `stop` of a workload.
    app_delay_ms: delay of a packet from its first transmission to its in-order delivery.
    blocking_ms: delay of a packet from its arrival to its in-order delivery.
    receive_buffer_packets, receive_buffer_bytes: data that waits for in-order delivery; the mean is
        time-weighted.
    block_delay_ms: delay of a block of constant-rate or on-off traffic, or of a message of a trace,
        from its writing to the delivery of its last byte.
    delay_variance_ms: absolute difference of the delays of blocks that were delivered one after the
        other.
    request_latency_ms: latency of a request, from its writing at the client to the delivery of the
        response's last byte there; of requests that ended after the warm-up.
    requests_begun: requests that clients wrote; None for other traffic.
    requests_completed: responses delivered completely; None for other traffic.
    in_time_share: share of the messages (blocks, responses, the file) that were delivered
        completely by their deadline. A message counts at its delivery or at its deadline, the
        earlier one; None without a deadline, and if no message counts.
    messages_in_time, messages_late: number of messages delivered in time, and of the others; None
        without a deadline.
    retransmissions: packets sent again because they counted as lost.
    spurious_retransmissions: retransmissions and reinjections that arrived although the packet had
        arrived before.
    reinjections: copies of packets in flight that a scheduler sent on another path.
    tail_probes: retransmissions that probe for the loss of the last packets, which were not
        acknowledged (MPTCP and TCP); None where the engine does not count them.
    timeouts: expiries of retransmission timers; None where the engine does not count them.
    spurious_timeouts: needless timeouts: data arrived that had not been retransmitted.
    duplicate_reports: reports of packets that arrived twice (D-SACK).
    reorderings: acknowledgements of a packet, sent once, that arrived after a later one of its
        path.
    undone_reductions: needless reductions of a congestion window that were undone. This metric and
        the three before it exist for MPTCP and TCP; None where the engine does not count them (the
        kernel's own counters are in ``kernel``).
    decisions: decisions of the scheduler other than to wait; None where the engine does not count
        them.
    waits: decisions of the scheduler to wait; None where the engine does not count them.
    completion_time_s: time at which the last byte of a file, or of the last of a fixed number of
        responses, was delivered; None if the run ended before.
    aggregation_benefit: Kaspar's, against capacities: 0 is the capacity of the best path, 1 the sum
        of all capacities, −1 a goodput of zero. The best path alone may be below 0: `plait compare
        --alone` compares with it. None for real paths, whose capacities are unknown. Tables omit it
        where the application limits the goodput.
    packets_delivered: packets delivered in order.
    delivered_bytes: payload delivered to the application since the start of the run, warm-up
        included.
    undelivered_bytes: payload written and not delivered at the end of the run; None for endless
        traffic.
    measured_s: seconds that the metrics cover.
    events: simulated events, or captured packets if the engine simulates nothing.
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
    """The metrics of one path after the warm-up.

    name: the path's name in the scenario.
    throughput_bps: payload that arrived for the first time, per second.
    packets_sent: data packets sent on the path, retransmissions included.
    retransmissions: retransmissions among the packets sent.
    packets_lost: packets lost on the way.
    packets_dropped: packets dropped by a full queue; None where the engine cannot tell, and counts
        them as lost.
    srtt_ms: the smoothed round-trip time at the end; None without a sample.
    forward_delay_ms: one-way delay to the receiver at the end, from timestamps, with the clocks'
        offset in it; None for CMT-SCTP.
    backward_delay_ms: one-way delay of the acknowledgements at the end, from timestamps, with the
        clocks' offset in it; None for CMT-SCTP.
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
    """The metrics of one competing flow after the warm-up.

    name: the flow's name in the scenario.
    kind: kind of the traffic: tcp, multipath, cbr or on-off.
    goodput_bps: payload delivered in order, per second; for datagrams, bytes that arrived, headers
        included.
    packets_sent: data packets or datagrams sent.
    retransmissions: packets sent again.
    packets_delivered: data packets or datagrams delivered.
    packets_lost: packets lost on the way.
    packets_dropped: packets dropped by a full queue; None where the engine cannot tell, and counts
        them as lost.
    delay_ms: delay of a datagram from sending to arrival; None for connections.
    completion_time_s: time at which the last byte of a finite flow was delivered; None if the run
        ended before.
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
    """The metrics of an active queue, one direction of a link, after the warm-up.

    They count packets of the connection and of all flows, both data and acknowledgements. Drop-tail
    queues have no such metrics.

    name: name of the link, or of the path that has the link for itself.
    direction: forward or backward.
    discipline: the discipline's name.
    packets_sent: packets that left the queue to be transmitted.
    packets_marked: packets that the discipline marked (ECN).
    packets_dropped: packets that the discipline dropped because of their delay.
    packets_over_limit: packets dropped because the queue was full.
    sojourn_ms: time from the arrival in the queue to the start of the transmission, of the packets
        sent; None without any.
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
    """An object with metrics: a `plait.Result`."""

    @property
    def metrics(self) -> Metrics:
        """The metrics of the connection."""
        ...

    @property
    def paths(self) -> Sequence[PathMetrics]:
        """The metrics of each path."""
        ...

    @property
    def queues(self) -> Sequence[QueueMetrics]:
        """The metrics of each active queue."""
        ...


def meant(name: str, known: Sequence[str]) -> str | None:
    """Return the metric that a name denotes: itself, or the only one without its unit or mean."""
    if name in known:
        return name
    begun = [one for one in known if one.startswith(f"{name}_") or one == f"{name}.mean"]
    whole = [one for one in begun if "." not in one or one.endswith(".mean")]
    return whole[0] if len(whole) == 1 else None


def names_of(result: WithMetrics) -> list[str]:
    """Return the dotted names of all metrics that a run has."""
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
    """Return a metric by its dotted name.

    ``app_delay_ms.mean`` is a metric of the connection, ``paths.slow.throughput_bps`` one of a
    path, and ``paths.sum.throughput_bps`` the sum over the paths. None where the run has no value.

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
        if value is None:  # a distribution without values: no packet was delivered
            return None
        if not isinstance(value, Mapping) or key not in value:
            raise _unknown(result, name)
        value = value[key]
    return None if value is None else float(value)


def metric_if_known(result: WithMetrics, name: str) -> float | None:
    """Return a metric by its dotted name; None also where the run has no metric of that name."""
    try:
        return metric(result, name)
    except KeyError:
        return None


def least(name: str) -> float:
    """Return a metric's lower bound: 0 of amounts, counts and times, −1 of aggregation benefit."""
    return -1.0 if name.endswith("aggregation_benefit") else 0.0


def direction(name: str) -> int:
    """Return 1 if more of a metric, by its dotted name, is better, −1 if less is, otherwise 0."""
    parts = name.split(".")
    place = {"paths": 2, "flows": 2, "queues": 3}.get(parts[0], 0)
    key = parts[place] if len(parts) > place else parts[0]
    return CATALOGUE[key].better if key in CATALOGUE else 0
