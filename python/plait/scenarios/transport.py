"""The table `[transport]` of a scenario: behaviour of the endpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from plait.scenarios.keys import keyed
from plait.scenarios.units import Duration, Size


@keyed('[transport] protocol = "mptcp"', "[transport]")
@dataclass(frozen=True, kw_only=True)
class Transport:
    """Behaviour of the endpoints: by default MPTCP as in Linux, with CUBIC; see `scenario_keys`.

    `profile="standard"`, for mptcp and tcp, is TCP by the RFCs and has other defaults.
    """

    # `make reference` generates the fields from the keys of the format.
    protocol: Literal["cmt-sctp", "mptcp", "tcp", "mpquic"] | None = None
    profile: Literal["standard", "linux"] | None = None
    congestion_control: str | None = None
    initial_window: Size | None = None
    receive_buffer: Size | None = None
    send_buffer: Size | None = None
    packet: Size | None = None
    ack_every: int | None = None
    ack_delay: Duration | None = None
    initial_ssthresh: Size | None = None
    grow_in_recovery: bool | None = None
    max_burst: int | None = None
    rto_initial: Duration | None = None
    rto_min: Duration | None = None
    rto_max: Duration | None = None
    path_max_retransmissions: int | None = None
    association_max_retransmissions: int | None = None
    potentially_failed: bool | None = None
    hystart: bool | None = None
    handshake: bool | None = None
    initial_path: str | None = None
    timestamp_granularity: Duration | None = None
    clock_offset: Duration | None = None
    ecn: bool | None = None
    delayed_ack_for_cmt: bool | None = None
    receive_window_accounting: Literal["buffer", "outstanding"] | None = None
    retransmission_policy: Literal["same", "ssthresh", "cwnd", "loss-rate", "asap"] | None = None
    fast_retransmit_threshold: int | None = None
    heartbeat_interval: Duration | None = None
    pacing: bool | None = None
