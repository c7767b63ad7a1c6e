"""Runs the same case in Plait.

ns-2's defaults are used if RFC 9260 says nothing else: a threshold of 64 KiB, a first
retransmission timeout of 3 s.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from metrics import Delays, Level, Metrics, PathMetrics, Speed

import plait
from plait.runs.run import Task, run_tasks

if TYPE_CHECKING:
    from cases import Case

SHORT_SECONDS = 0.2


def scenario(case: Case, **transport: Any) -> plait.Scenario:
    """Return ``case`` as a scenario; ``transport`` sets further keys of its ``[transport]``."""
    options: dict[str, Any] = {
        "protocol": "cmt-sctp",
        "receive_buffer": case.receive_buffer_bytes,
        "receive_window_accounting": case.accounting,
        "ack_every": case.ack_every,
        "packet": case.packet_bytes,
        "initial_ssthresh": 65_536,
        "rto_initial": "3s",
        **transport,
    }
    return plait.Scenario(
        name=case.name,
        seed=case.seed,
        duration=f"{case.duration_s}s",
        warmup=f"{case.warmup_s}s",
        scheduler=case.scheduler,
        transport=plait.Transport(**options),
        paths=[
            plait.Path(
                rate=path.rate_bps,
                rtt=f"{path.rtt_ms}ms",
                queue=f"{path.queue_packets}p",
                loss=f"{path.loss * 100:.10g}%" if path.loss else None,
            )
            for path in case.paths
        ],
    )


def measure(case: Case, **transport: Any) -> Metrics:
    """Run ``case``."""
    result = _run(scenario(case, **transport))
    metrics = result.metrics
    buffer = metrics["receive_buffer_packets"]
    paths = tuple(
        PathMetrics(
            path["throughput_bps"], path["packets_sent"], path["packets_dropped"] or 0, path["packets_lost"]
        )
        for path in result.paths
    )
    return Metrics(
        goodput_bps=metrics["goodput_bps"],
        app_delay_ms=Delays(**metrics["app_delay_ms"]),
        blocking_ms=Delays(**metrics["blocking_ms"]),
        receive_buffer_packets=Level(buffer["mean"], int(buffer["max"])),
        retransmissions=metrics["retransmissions"],
        paths=paths,
    )


def _run(one: plait.Scenario) -> plait.Result:
    # `plait.run` would show a second progress bar.
    return run_tasks([Task(scenario=one)], threads=1)[0]


def speed(case: Case) -> Speed:
    """Run ``case`` for its speed."""
    return timed(scenario(replace(case, warmup_s=0)))  # packets of a warm-up would not count


def timed(ready: plait.Scenario) -> Speed:
    """Run ``ready`` for its speed, without its construction. The best of three if it is short."""
    best = None
    for _round in range(3):
        start = time.perf_counter()
        result = _run(ready)
        seconds = time.perf_counter() - start
        packets = sum(sender["packets_sent"] for sender in [*result.paths, *result.flows])
        if best is None or seconds < best.wall_seconds:
            best = Speed(packets, seconds)
        if seconds > SHORT_SECONDS:
            break
    assert best is not None
    return best
