"""The metrics' definitions, from the docstrings of `plait.results.metrics`."""

from __future__ import annotations

import inspect

from generated.markdown import cell, code
from plait.reports.definition import entries
from plait.results import metrics
from plait.support.pages import markdown

CLASSES = {
    "connection": metrics.Metrics,
    "path": metrics.PathMetrics,
    "flow": metrics.FlowMetrics,
    "queue": metrics.QueueMetrics,
}
VALUES = {
    "Spread": "mean, p50, p95, p99, max",
    "Latency": "mean, p50, p90, p95, p99, max",
    "Occupancy": "mean, max",
}
"""Numbers of a metric with several."""


class UndefinedError(LookupError):
    """A metric without a definition, or a definition without a metric."""


def meanings(cls: type) -> dict[str, str]:
    """Each key's definition: the docstring's lines `name, name: meaning`, which may go on over further lines.

    Raises:
        UndefinedError: the class has a key that its docstring does not define, or the other way round.
    """
    made = {
        name: meaning for names, meaning in entries(inspect.getdoc(cls) or "") for name in names.split(", ")
    }
    keys = set(cls.__annotations__)
    if keys != set(made):
        without, beyond = sorted(keys - set(made)), sorted(set(made) - keys)
        message = f"{cls.__name__}: without a definition: {without}; defined, but not there: {beyond}"
        raise UndefinedError(message)
    return {name: made[name] for name in cls.__annotations__}


def definitions(which: str) -> str:
    """The table of one kind of metrics: connection, path, flow or queue."""
    cls = CLASSES[which]
    kinds = {name: str(kind) for name, kind in cls.__annotations__.items()}
    lines = []
    for name, meaning in meanings(cls).items():
        parts = next((VALUES[kind] for kind in VALUES if kind in kinds[name]), "")
        lines.append([code(name), cell(unit(name)), parts, cell(meaning)])
    return markdown(["metric", "unit", "values", "definition"], lines, (0, 1, 2, 3))


def unit(name: str) -> str:
    """The unit that a name ends in; a count without one."""
    units = {"bps": "bit/s", "ms": "ms", "s": "s", "bytes": "bytes", "packets": "packets"}
    if name in ("name", "kind", "direction", "discipline"):
        return "text"
    if name in ("aggregation_benefit",):
        return "ratio"
    return units.get(name.rsplit("_", 1)[-1], "count")
