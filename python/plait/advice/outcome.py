"""Result of a run: its score and further figures."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from plait.advice.traffic import WARMUP, WRITING, Traffic
from plait.results.benefit import against_bound
from plait.results.metrics import Spread
from plait.results.result import Result
from plait.scenarios.units import NANOSECONDS, duration_ns

LEAST = 1e-6
"""Replacement for zero, so that ratios stay finite: this share of all rates, or of the largest
time."""


@dataclass(frozen=True)
class Outcome:
    """Result of a run.

    `score` is the goodput in bit/s, a statistic of delays, latencies or download times in ms, or a
    file's time in s. `whole` is False if a file or download did not arrive in time, or if blocks or
    responses are missing at the end. `overhead` is packets sent per packet delivered. `samples` is
    the number of blocks or responses that count, 0 for other traffic. `shares` are the paths'
    shares of the packets. `bound_gain` is the most that any scheduler can gain over this run, in
    percent, by the tightest bound of the scenario; None without one. Goodput and overhead cover all
    flows; `beside_bps` is the goodput of a transfer beside the traffic. The other figures are those
    of the scenario's own connection.
    """

    score: float
    whole: bool
    goodput_bps: float
    delay_ms: float
    buffered_bytes: float
    overhead: float
    samples: int
    events: int
    shares: tuple[float, ...] = ()
    bound_gain: float | None = None
    beside_bps: float = 0.0


def outcome_of(result: Result, traffic: Traffic, duration_ns: int, capacity_bps: float) -> Outcome:
    """Return the outcome of a run of at most `duration_ns` over paths with this total capacity."""
    metrics = result.metrics
    flows = result.flows
    sent = sum(path["packets_sent"] for path in result.paths) + sum(flow["packets_sent"] for flow in flows)
    delivered = metrics["packets_delivered"] + sum(flow["packets_delivered"] for flow in flows)
    return Outcome(
        score=_score(result, traffic, duration_ns, capacity_bps),
        whole=_whole(result, traffic),
        goodput_bps=_goodput(result, traffic) + sum(flow["goodput_bps"] for flow in flows),
        delay_ms=_part(result, "app_delay_ms", "p95") or duration_ns / 1e6,
        buffered_bytes=metrics["receive_buffer_bytes"]["max"],
        overhead=sent / max(delivered, 1),
        samples=_samples(result, traffic),
        events=metrics["events"],
        shares=_shares([path["packets_sent"] for path in result.paths]),
        bound_gain=_bound_gain(result, traffic),
        beside_bps=sum(flow["goodput_bps"] for flow in flows) if traffic.beside else 0.0,
    )


def _goodput(result: Result, traffic: Traffic) -> float:
    """Return the goodput: of blocks and requests that all arrive, while they are written.

    Late blocks of the warm-up count, so the rate of the traffic is the limit.
    """
    found = result.metrics["goodput_bps"]
    if traffic.kind not in ("blocks", "request-response") or not _whole(result, traffic):
        return found
    written = found * (1 - WARMUP) / (WRITING - WARMUP)
    return min(written, traffic.rate_bps) if traffic.rate_bps else written


def _bound_gain(result: Result, traffic: Traffic) -> float | None:
    above = against_bound(result).get(traffic.column)
    if above is None or above <= -100:
        return None
    # For goodput the bound is above the run; for a time or a delay, the bound is below it.
    ratio = 1 / (1 + above / 100)
    return (ratio - 1 if traffic.more_is_better else 1 - ratio) * 100


def _shares(sent: Sequence[int]) -> tuple[float, ...]:
    return tuple(one / max(sum(sent), 1) for one in sent)


def _score(result: Result, traffic: Traffic, duration_ns: int, capacity_bps: float) -> float:
    longest = duration_ns / NANOSECONDS
    if traffic.metric == "goodput":
        return max(result.metrics["goodput_bps"], capacity_bps * LEAST)
    if traffic.metric == "time":
        return max(result.metrics["completion_time_s"] or longest, longest * LEAST)
    name, part = traffic.column.split(".")
    if traffic.kind == "flows":
        # A download that has not arrived counts with the rest of the run, which is a lower bound.
        times = [
            (longest if end is None else end) - begin / NANOSECONDS
            for end, begin in zip(_ends(result), _begins_ns(result), strict=True)
        ]
        found: float | None = part_of([time * 1e3 for time in times], part)
    else:
        found = _part(result, name, part)
    return max(found or longest * 1e3, longest * 1e3 * LEAST)


def part_of(values: Sequence[float], part: str) -> float:
    """Return the mean, the maximum, or a percentile such as ``p95``."""
    ordered = sorted(values)
    if part == "mean":
        return fmean(ordered)
    percent = 100 if part == "max" else int(part.removeprefix("p"))
    return ordered[math.ceil(len(ordered) * percent / 100) - 1]


def _part(result: Result, name: str, part: str) -> float | None:
    """Return a statistic of a distribution in ms; None if nothing was delivered."""
    spread: Spread | None = result.data["metrics"][name]
    if spread is None:
        return None
    value: float = spread[part]  # type: ignore[literal-required]
    return value


def _ends(result: Result) -> list[float | None]:
    """Return the arrival time of each download in s, the scenario's own first; None if none."""
    return [result.metrics["completion_time_s"], *(flow["completion_time_s"] for flow in result.flows)]


def _begins_ns(result: Result) -> list[int]:
    """Return the start of each download. In a repetition, flows start slightly later than given."""
    scenario = json.loads(str(result.scenario_json))
    return [duration_ns(one["start"]) for one in (scenario["workload"], *scenario["flow"])]


def _samples(result: Result, traffic: Traffic) -> int:
    metrics = result.metrics
    if traffic.kind == "blocks":
        return round(metrics["goodput_bps"] * metrics["measured_s"] / 8 / traffic.block)
    return (metrics["requests_completed"] or 0) if traffic.kind == "request-response" else 0


def _whole(result: Result, traffic: Traffic) -> bool:
    metrics = result.metrics
    if traffic.kind == "bulk":
        return metrics["goodput_bps"] > 0
    if traffic.finite:
        return all(end is not None for end in _ends(result))
    if traffic.kind == "request-response" and result.requests["delivered_ns"].null_count():
        return False
    return not metrics["undelivered_bytes"] and metrics["delivered_bytes"] > 0
