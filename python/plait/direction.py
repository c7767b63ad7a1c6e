"""Which way a metric is better."""

from __future__ import annotations

HIGHER = frozenset(
    {"goodput_bps", "throughput_bps", "aggregation_benefit", "packets_delivered", "delivered_bytes"}
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
    }
)
"""Less is better."""


def direction(name: str) -> int:
    """1 where more of a metric, by its dotted name, is better, −1 where less is, 0 where neither can be said."""
    parts = name.split(".")
    key = parts[2] if parts[0] in ("paths", "flows") and len(parts) > 2 else parts[0]
    return 1 if key in HIGHER else -1 if key in LOWER else 0
