"""Which way a metric is better."""

from __future__ import annotations

from plait._core import ScenarioError

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
        "packets_lost",
        "packets_dropped",
    }
)
"""Less is better."""


def higher_is_better(name: str) -> bool:
    """Whether more of a metric, by its dotted name, is better.

    Raises:
        ScenarioError: it is neither better nor worse, such as a round-trip time that a run happens to end with.
    """
    parts = name.split(".")
    key = parts[2] if parts[0] in ("paths", "flows") and len(parts) > 2 else parts[0]
    if key not in HIGHER | LOWER:
        known = ", ".join(sorted(HIGHER | LOWER))
        message = f"metric {name!r}: neither more nor less of it is better; expected one of: {known}"
        raise ScenarioError(message)
    return key in HIGHER
