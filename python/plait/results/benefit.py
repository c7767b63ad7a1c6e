"""The gain of a connection over several paths, against capacities or a bound.

Kaspar's aggregation benefit needs the rate of each path. With capacities (the metric
`aggregation_benefit`), zero is a full best path, which a connection over it alone need not reach.
With the goodput of each path alone under the same transport (`plait.analysis.alone`), zero is the
real goodput of the best path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from plait._core import ScenarioError
from plait.results.metrics import metric_if_known
from plait.scenarios.bounds import tightest

if TYPE_CHECKING:
    from plait.results.result import Result

BACKLOG = 0.05
"""Largest share of the written payload that a run without a lasting backlog leaves undelivered."""


def aggregation_benefit(goodput: float, single: Sequence[float]) -> float:
    """Return Kaspar's aggregation benefit: 0 is the best of `single`, 1 the sum of all.

    −1 is a goodput of zero; a goodput above the sum gives more than 1.
    """
    best = max(single)
    gain = goodput - best
    if gain < 0:
        return gain / best
    others = sum(single) - best
    return gain / others if others > 0 else 0.0


def limited_by_application(result: Result) -> bool:
    """Whether the application, and not the network, limits the goodput of a run.

    Endless traffic and files are never limited.
    """
    metrics = result.metrics
    undelivered = metrics.get("undelivered_bytes")
    if undelivered is None or metrics.get("completion_time_s") is not None:
        return False
    return undelivered <= BACKLOG * (metrics.get("delivered_bytes", 0) + undelivered)


def against_bound(result: Result) -> dict[str, float]:
    """Return the percentages of metrics above their bounds, by name; goodput is below, so negative.

    Only runs of the simulator have values, because the bounds follow its transports. A run whose
    trace is no longer there has none.
    """
    if result.scenario_json is None or result.data["engine"] != "sim":
        return {}
    try:
        bounds = tightest(result.scenario_json)
    except ScenarioError:
        return {}
    found = {}
    for name, bound in bounds.items():
        value = metric_if_known(result, name)
        if value is not None and bound > 0:
            found[name] = (value / bound - 1) * 100
    return found
