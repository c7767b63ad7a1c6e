"""The metrics in one table: their labels, their directions, and the statistics that tables show.

`plait.results.metrics` has their definitions. A new metric is a line here and a key there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MORE, LESS = 1, -1
"""More or less of a metric is better."""


@dataclass(frozen=True)
class About:
    """A metric for people.

    name: the key in a run's JSON. label: its words; by default the name. better: `MORE`, `LESS`, or
    0 for neither. shown: the statistics of it that comparisons show, "" for a single number.
    """

    name: str
    label: str = ""
    better: int = 0
    shown: tuple[str, ...] = ()


CATALOGUE: Mapping[str, About] = {
    one.name: one
    for one in (
        # Of the connection, in the order of comparisons.
        About("goodput_bps", "goodput", MORE, ("",)),
        About("app_delay_ms", "application delay", LESS, ("mean", "p95", "max")),
        About("blocking_ms", "blocking time", LESS, ("mean", "max")),
        About("receive_buffer_packets", "receive buffer", LESS, ("mean", "max")),
        About("receive_buffer_bytes", "receive buffer", LESS),
        About("block_delay_ms", "delay of a block", LESS, ("mean", "p95")),
        About("delay_variance_ms", "difference of consecutive block delays", LESS),
        About("request_latency_ms", "latency of a request", LESS, ("mean", "p50", "p90", "p99")),
        About("requests_begun", "requests begun"),
        About("requests_completed", "requests completed", MORE, ("",)),
        About("in_time_share", "messages in time", MORE, ("",)),
        About("messages_in_time", "number of messages in time", MORE),
        About("messages_late", "number of messages late", LESS, ("",)),
        About("completion_time_s", "completion time", LESS, ("",)),
        About("aggregation_benefit", "aggregation benefit", MORE, ("",)),
        About("retransmissions", better=LESS, shown=("",)),
        About("spurious_retransmissions", better=LESS, shown=("",)),
        About("reinjections", better=LESS, shown=("",)),
        About("tail_probes", better=LESS),
        About("timeouts", better=LESS),
        About("spurious_timeouts", better=LESS),
        About("packets_delivered", better=MORE),
        About("delivered_bytes", "delivered payload", MORE),
        About("undelivered_bytes", "undelivered payload", LESS),
        # Of a path.
        About("throughput_bps", "throughput", MORE),
        About("packets_lost", better=LESS),
        About("packets_dropped", better=LESS),
        About("srtt_ms", "smoothed round-trip time"),
        About("forward_delay_ms", "forward delay"),
        About("backward_delay_ms", "backward delay"),
        About("cwnd_packets", "congestion window"),
        # Of a flow, and of a queue.
        About("delay_ms", "delay", LESS),
        About("packets_over_limit", better=LESS),
        About("sojourn_ms", better=LESS),
        # Of papers, and of their models.
        About("asymmetry", "asymmetry"),
        About("utilization", "utilization of the paths"),
        About("forward_difference_ms", "estimated forward delay, second path less first"),
        About("forward_difference_error_ms", "error of the estimated difference of forward delays"),
        About("backward_difference_ms", "estimated backward delay, second path less first"),
        About("backward_difference_error_ms", "error of the estimated difference of backward delays"),
        About("first_path_share", "share of the first path"),
        About("printed_order_packets", "arrivals in the printed order"),
    )
}


def label_of(name: str) -> str:
    """Return the words of a metric: its label, or its name."""
    return CATALOGUE.get(name, About(name)).label or name


def shown() -> Iterator[str]:
    """Yield the dotted names of the metrics that comparisons show, in their order."""
    for one in CATALOGUE.values():
        for statistic in one.shown:
            yield f"{one.name}.{statistic}" if statistic else one.name
