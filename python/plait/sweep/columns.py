"""The columns of a sweep's dataset: the place of a run in its plan, and every metric by name."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_type_hints, is_typeddict

import polars as pl

from plait._core import ScenarioError
from plait.results.metrics import FlowMetrics, Metrics, PathMetrics, QueueMetrics

PLACE: Mapping[str, Any] = {
    "index": pl.UInt64,
    "point": pl.UInt32,
    "seed": pl.Int64,
    "scheduler": pl.String,
}
"""The columns before the variables."""
ERROR = "error"
"""The column with the reason for which a run failed; null if it did not."""


class Columns:
    """The columns of one plan's dataset.

    schema: names and types. metrics: the names of the metrics among them, the plan's own ones last.
    places: places of the other metrics in a run's JSON, for `plait._core.pick`.
    """

    def __init__(
        self,
        variables: Mapping[str, Any],
        *,
        paths: Sequence[str],
        flows: Sequence[str],
        queues: Sequence[tuple[str, str]],
        own: Sequence[str] = (),
        place: str,
    ) -> None:
        found = {**dict(_found(paths, flows)), **dict(_of_queues(queues))}
        taken = {*PLACE, ERROR, *found}
        for what, names in (("variable", variables), ("metric", own)):
            for name in names:
                if name in taken:
                    message = f"{place}: {what} {name!r}: a column of the dataset has this name; expected another one"
                    raise ScenarioError(message)
                taken.add(name)
        self.variables = tuple(variables)
        self.metrics = (*found, *own)
        kinds = {name: kind for name, (_, kind) in found.items()} | dict.fromkeys(own, pl.Float64)
        self.schema = pl.Schema({**PLACE, **variables, ERROR: pl.String, **kinds})
        self.places = [place for place, _ in found.values()]


def _found(paths: Sequence[str], flows: Sequence[str]) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Yield dotted names, each with the place in a run's JSON and the type."""
    for name, kind in _leaves(Metrics):
        yield name, (f"/metrics/{name.replace('.', '/')}", kind)
    for part, names, table in (("paths", paths, PathMetrics), ("flows", flows, FlowMetrics)):
        for position, one in enumerate(names):
            for name, kind in _leaves(table):
                yield f"{part}.{one}.{name}", (f"/{part}/{position}/{name.replace('.', '/')}", kind)


def _of_queues(queues: Sequence[tuple[str, str]]) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Yield names, places and types for active queues, by link name and direction."""
    for link, direction in queues:
        escaped = link.replace("~", "~0").replace("/", "~1")
        for name, kind in _leaves(QueueMetrics):
            yield (
                f"queues.{link}.{direction}.{name}",
                (f"/queues/{escaped}/{direction}/{name.replace('.', '/')}", kind),
            )


_KINDS: Mapping[type, Any] = {float: pl.Float64, int: pl.Int64}


def _leaves(table: type) -> Iterator[tuple[str, Any]]:
    """Yield the numbers in a table of metrics by dotted name, with their documented types."""
    for key, hint in get_type_hints(table).items():
        kind = _without_none(hint)
        if is_typeddict(kind):
            for name, inner in _leaves(kind):
                yield f"{key}.{name}", inner
        elif kind in _KINDS:
            yield key, _KINDS[kind]


def _without_none(hint: Any) -> Any:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        (kind,) = (one for one in typing.get_args(hint) if one is not type(None))
        return kind
    return hint
