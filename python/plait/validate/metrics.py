"""The compared metrics of a run, by name, and the scales of their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Scale = Literal["percent", "points", "absolute"]
"""Difference in percent of the kernel's value, in percentage points, or in the metric's own
unit."""


@dataclass(frozen=True)
class Metric:
    """A metric: its heading with unit, the divisor of its values, and the scale of differences."""

    name: str
    heading: str
    unit: float = 1.0
    decimals: int = 1
    scale: Scale = "percent"


GOODPUT = "goodput_bps"
COMPLETION = "completion_time_s"
DELAY = "app_delay_ms.mean"
METRICS = (
    Metric(GOODPUT, "goodput (Mbit/s)", 1e6, 2),
    Metric("share", "share of the first path (%)", 1.0, 1, "points"),
    Metric(DELAY, "application delay, mean (ms)"),
    Metric("app_delay_ms.p95", "application delay, 95th percentile (ms)"),
    Metric("block_delay_ms.mean", "block delay, mean (ms)"),
    Metric(COMPLETION, "completion time (s)", 1.0, 2),
    Metric("retransmitted", "retransmissions (per 1000 packets)", 1.0, 1, "absolute"),
    Metric("receive_buffer_bytes.mean", "receive buffer, mean (kB)", 1e3, 1, "absolute"),
)
"""The metrics in the order of the tables."""


@dataclass(frozen=True)
class Mechanism:
    """An event in the engines that each engine counts; the kernel counts from the start of a run.

    kernel: its counters, whose sum counts. simulator: metrics with the same meaning; the first one
    that a run has counts. telling: whether the kernel's number matters although the simulator has
    none.
    """

    heading: str
    kernel: tuple[str, ...]
    simulator: tuple[str, ...] = ()
    telling: bool = False


MECHANISMS = (
    Mechanism("timeouts", ("sender.TcpExt.TCPTimeouts",), ("timeouts",)),
    Mechanism("spurious timeouts", ("sender.TcpExt.TCPSpuriousRTOs",), ("spurious_timeouts",)),
    Mechanism("tail probes", ("sender.TcpExt.TCPLossProbes",), ("tail_probes",)),
    Mechanism("fast retransmissions", ("sender.TcpExt.TCPFastRetrans",)),
    Mechanism("slow-start retransmissions", ("sender.TcpExt.TCPSlowStartRetrans",)),
    Mechanism(
        "undone recoveries",
        tuple(f"sender.TcpExt.TCP{kind}Undo" for kind in ("Full", "Partial", "DSACK", "Loss")),
        ("undone_reductions",),
    ),
    Mechanism("duplicate SACKs received", ("sender.TcpExt.TCPDSACKRecv",), ("duplicate_reports",)),
    Mechanism(
        "reordering seen",
        ("sender.TcpExt.TCPSACKReorder", "sender.TcpExt.TCPTSReorder"),
        ("reorderings",),
    ),
    Mechanism(
        "slow start left by HyStart",
        ("sender.TcpExt.TCPHystartTrainDetect", "sender.TcpExt.TCPHystartDelayDetect"),
    ),
    Mechanism("out of order at a subflow", ("receiver.TcpExt.TCPOFOQueue",)),
    Mechanism("out of order at the connection", ("receiver.MPTcpExt.OFOQueue",)),
    Mechanism(
        "duplicate data",
        (
            "receiver.TcpExt.TCPDSACKOldSent",
            "receiver.TcpExt.TCPDSACKOfoSent",
            "receiver.MPTcpExt.DuplicateData",
        ),
        ("spurious_retransmissions",),
    ),
    Mechanism("sent again by MPTCP", ("sender.MPTcpExt.MPTCPRetrans",), telling=True),
    Mechanism("outside the window", ("receiver.MPTcpExt.NoDSSInWindow",), telling=True),
    Mechanism("window shared", ("sender.MPTcpExt.SndWndShared",), telling=True),
    Mechanism(
        "window conflicts",
        ("receiver.MPTcpExt.RcvWndConflict", "receiver.MPTcpExt.RcvWndConflictUpdate"),
        telling=True,
    ),
    Mechanism(
        "receive queue pruned",
        ("receiver.TcpExt.RcvPruned", "receiver.TcpExt.OfoPruned", "receiver.MPTcpExt.RcvPruned"),
        telling=True,
    ),
    Mechanism("stale subflows", ("sender.MPTcpExt.SubflowStale",), telling=True),
)
"""Possible causes of differences."""

Document = Mapping[str, Any]


def values(run: Document) -> dict[str, float]:
    """Return the metrics that a run has, by name, in the unit of the run's JSON document."""
    found = {metric.name: _value(run, metric.name) for metric in METRICS}
    found |= {name: _value(run, name) for one in MECHANISMS for name in one.simulator}
    return {name: value for name, value in found.items() if value is not None}


def counted(run: Document) -> dict[str, float]:
    """Return the kernel's counters of a run: ``sender.TcpExt.TCPTimeouts`` is host, group, name."""
    hosts = (run.get("kernel") or {}).get("counters", {})
    return {
        f"{host}.{group}.{name}": float(value)
        for host, groups in hosts.items()
        for group, some in groups.items()
        for name, value in some.items()
    }


def _value(run: Document, name: str) -> float | None:
    if name == "share":
        return _share(run)
    if name == "retransmitted":
        sent = sum(path["packets_sent"] for path in run["paths"])
        return 1000 * run["metrics"]["retransmissions"] / sent if sent else None
    value: Any = run["metrics"]
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return None if value is None else float(value)


def _share(run: Document) -> float | None:
    """Return the percentage of the payload on the first path; None with only one path."""
    rates = [path["throughput_bps"] for path in run["paths"]]
    total = sum(rates)
    return 100 * rates[0] / total if len(rates) > 1 and total else None
