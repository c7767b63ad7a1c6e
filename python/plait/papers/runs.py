"""The runs of a reproduction, and the metrics of one run that only a paper asks for."""

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
"""Share of a run after which estimates of delays are looked at: smoothing has forgotten its beginning."""


@dataclass(frozen=True)
class Made:
    """A run that was made: the scenario as it was run, and which member of the paper's case it is."""

    scenario: Scenario
    member: Member
    result: Result

    @property
    def paths(self) -> list[dict[str, Any]]:
        """The paths' tables, every default filled in."""
        paths: list[dict[str, Any]] = json.loads(self.scenario.json)["path"]
        return paths


Results = Mapping[tuple[str, str], Sequence[Made]]
"""The runs by scenario and scheduler label, one per member of the scenario."""


def receive_order(result: Result) -> pl.DataFrame:
    """The transmissions that arrived first of their segment, in the order of arrival, with `number` from 1 on."""
    arrived = result.packets.filter(pl.col("arrived_ns").is_not_null()).sort(
        "arrived_ns", maintain_order=True
    )
    return arrived.with_columns((pl.col("sequence") - pl.col("sequence").min() + 1).alias("number"))


def common_prefix(printed: Sequence[int], measured: Sequence[int]) -> int:
    """How many numbers at the beginning are the same."""
    for index, (one, other) in enumerate(zip(printed, measured, strict=False)):
        if one != other:
            return index
    return min(len(printed), len(measured))


def forward_delays_ms(made: Made) -> list[tuple[float, float]]:
    """The configured one-way delay of each path's data, and the sender's estimate in the second half of the run."""
    return _delays_ms(made, "forward", pl.col("forward_delay_ns"))


def backward_delays_ms(made: Made) -> list[tuple[float, float]]:
    """The same of the acknowledgements: what the round trip is longer than the way forward."""
    return _delays_ms(made, "backward", pl.col("srtt_ns").cast(pl.Int64) - pl.col("forward_delay_ns"))


def _delays_ms(made: Made, way: str, estimate_ns: pl.Expr) -> list[tuple[float, float]]:
    times = made.result.decisions.select("time_ns").with_row_index("decision")
    facts = made.result.decision_paths.with_columns(pl.col("decision").cast(pl.UInt32))
    later = facts.join(times, on="decision").filter(pl.col("time_ns") >= pl.col("time_ns").max() * SETTLED)
    estimates = later.group_by("path").agg(estimate_ns.median().alias("estimate")).sort("path")
    return [
        (duration_ns(path[way]["delay"]) / 1e6, math.nan if estimate is None else estimate / 1e6)
        for path, estimate in zip(made.paths, estimates["estimate"], strict=True)
    ]


def _utilization(made: Made, _: ReceiveOrder | None) -> float | None:
    capacity = sum(rate_bps(path["forward"]["rate"]) for path in made.paths)
    used = metric(made.result, "paths.sum.throughput_bps")
    return None if used is None or not capacity else used / capacity


Delays = Callable[[Made], list[tuple[float, float]]]
"""Configured and estimated delay of each path."""


def _difference(delays: Delays) -> Callable[[Made, ReceiveOrder | None], float]:
    def value(made: Made, _: ReceiveOrder | None) -> float:
        first, second = (estimate for _, estimate in delays(made))
        return second - first

    return value


def _error(delays: Delays) -> Callable[[Made, ReceiveOrder | None], float]:
    def value(made: Made, _: ReceiveOrder | None) -> float:
        (true_first, first), (true_second, second) = delays(made)
        return abs((second - first) - (true_second - true_first))

    return value


def _first_share(made: Made, _: ReceiveOrder | None) -> float | None:
    first, *others = (path["throughput_bps"] for path in made.result.paths)
    return first / (first + sum(others)) if first + sum(others) else None


def _prefix(made: Made, order: ReceiveOrder | None) -> float | None:
    if order is None:
        return None
    return float(common_prefix(order.numbers, receive_order(made.result)["number"].to_list()))


@dataclass(frozen=True)
class Derived:
    """A metric computed from a run's tables: how, and what has to be recorded."""

    value: Callable[[Made, ReceiveOrder | None], float | None]
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

utilization: payload that arrived, as a share of all paths' rates. forward_difference_ms: how much longer packets take
on the second path than on the first, by the sender's estimate; forward_difference_error_ms: how far that is from what
is configured; backward_… likewise, of acknowledgements. first_path_share: the first path's share of the payload that
arrived. printed_order_packets: how many arrive in the paper's order before the first that does not.
"""


def run_metric(paper: Paper, key: tuple[str, str], made: Made, name: str) -> float | None:
    """A metric of one run; KeyError if there is none of that name."""
    if name in DERIVED:
        return DERIVED[name].value(made, paper.orders.get(key))
    return metric(made.result, name)
