"""The runs of a reproduction, and metrics of a run that only papers use."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from plait.papers.description import Paper, ReceiveOrder
from plait.papers.family import Member
from plait.results.metrics import metric
from plait.results.result import Result
from plait.scenarios.scenario import Scenario
from plait.scenarios.units import duration_ns, rate_bps

SERIES = "10ms"
"""The interval of recorded time series."""
SETTLED = 0.5
"""Share of a run after which delay estimates count: smoothing has forgotten the beginning."""


@dataclass(frozen=True)
class CompletedRun:
    """A completed run: its scenario, and its member of the paper's case."""

    scenario: Scenario
    member: Member
    result: Result

    @property
    def paths(self) -> list[dict[str, Any]]:
        """The paths' tables, with every default filled in."""
        paths: list[dict[str, Any]] = json.loads(self.scenario.json)["path"]
        return paths


Results = Mapping[tuple[str, str], Sequence[CompletedRun]]
"""The runs by scenario and scheduler label, one per member of the scenario."""


def receive_order(result: Result) -> pl.DataFrame:
    """Return the first arrivals of segments in order, with `number` from 1 on."""
    arrived = result.packets.filter(pl.col("arrived_ns").is_not_null()).sort(
        "arrived_ns", maintain_order=True
    )
    return arrived.with_columns((pl.col("sequence") - pl.col("sequence").min() + 1).alias("number"))


def common_prefix(printed: Sequence[int], measured: Sequence[int]) -> int:
    """Return the length of the common prefix."""
    for index, (one, other) in enumerate(zip(printed, measured, strict=False)):
        if one != other:
            return index
    return min(len(printed), len(measured))


def forward_delays_ms(made: CompletedRun) -> list[tuple[float, float]]:
    """Return each path's configured one-way data delay, and the sender's estimate of it.

    The estimate is the median of the second half of the run.
    """
    return _delays_ms(made, "forward", pl.col("forward_delay_ns"))


def backward_delays_ms(made: CompletedRun) -> list[tuple[float, float]]:
    """Return each path's configured and estimated one-way delay of acknowledgements.

    The estimate is the round-trip time minus the estimated forward delay.
    """
    return _delays_ms(made, "backward", pl.col("srtt_ns").cast(pl.Int64) - pl.col("forward_delay_ns"))


def _delays_ms(made: CompletedRun, way: str, estimate_ns: pl.Expr) -> list[tuple[float, float]]:
    times = made.result.decisions.select("time_ns").with_row_index("decision")
    facts = made.result.decision_paths.with_columns(pl.col("decision").cast(pl.UInt32))
    later = facts.join(times, on="decision").filter(pl.col("time_ns") >= pl.col("time_ns").max() * SETTLED)
    estimates = later.group_by("path").agg(estimate_ns.median().alias("estimate")).sort("path")
    return [
        (duration_ns(path[way]["delay"]) / 1e6, math.nan if estimate is None else estimate / 1e6)
        for path, estimate in zip(made.paths, estimates["estimate"], strict=True)
    ]


def _utilization(made: CompletedRun, _: ReceiveOrder | None) -> float | None:
    capacity = sum(rate_bps(path["forward"]["rate"]) for path in made.paths)
    used = metric(made.result, "paths.sum.throughput_bps")
    return None if used is None or not capacity else used / capacity


Delays = Callable[[CompletedRun], list[tuple[float, float]]]
"""Configured and estimated delay of each path."""


def _difference(delays: Delays) -> Callable[[CompletedRun, ReceiveOrder | None], float]:
    def value(made: CompletedRun, _: ReceiveOrder | None) -> float:
        first, second = (estimate for _, estimate in delays(made))
        return second - first

    return value


def _error(delays: Delays) -> Callable[[CompletedRun, ReceiveOrder | None], float]:
    def value(made: CompletedRun, _: ReceiveOrder | None) -> float:
        (true_first, first), (true_second, second) = delays(made)
        return abs((second - first) - (true_second - true_first))

    return value


def _first_share(made: CompletedRun, _: ReceiveOrder | None) -> float | None:
    first, *others = (path["throughput_bps"] for path in made.result.paths)
    return first / (first + sum(others)) if first + sum(others) else None


def _prefix(made: CompletedRun, order: ReceiveOrder | None) -> float | None:
    if order is None:
        return None
    return float(common_prefix(order.numbers, receive_order(made.result)["number"].to_list()))


@dataclass(frozen=True)
class Derived:
    """A metric computed from a run's tables: its function, and the necessary recordings."""

    value: Callable[[CompletedRun, ReceiveOrder | None], float | None]
    packets: bool = False
    decisions: bool = False


DERIVED: Mapping[str, Derived] = {
    "utilization": Derived(_utilization),
    "forward_difference_ms": Derived(_difference(forward_delays_ms), decisions=True),
    "forward_difference_error_ms": Derived(_error(forward_delays_ms), decisions=True),
    "backward_difference_ms": Derived(_difference(backward_delays_ms), decisions=True),
    "backward_difference_error_ms": Derived(_error(backward_delays_ms), decisions=True),
    "first_path_share": Derived(_first_share),
    "printed_order_packets": Derived(_prefix, packets=True),
}
"""Metrics of papers.

utilization: rate of the arrived payload as a share of all paths' rates.
forward_difference_ms: the sender's estimate of the second path's forward delay minus that of the
    first.
forward_difference_error_ms: error of that estimate against the configured delays.
backward_difference_ms, backward_difference_error_ms: these values for the acknowledgements'
    direction.
first_path_share: the first path's share of the arrived payload.
printed_order_packets: number of packets that arrive in the paper's order before the first
    deviation.
"""


def run_metric(paper: Paper, key: tuple[str, str], made: CompletedRun, name: str) -> float | None:
    """Return a metric of one run; KeyError if there is none of that name."""
    if name in DERIVED:
        return DERIVED[name].value(made, paper.orders.get(key))
    return metric(made.result, name)
