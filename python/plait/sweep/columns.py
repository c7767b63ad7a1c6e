"""The columns of a sweep's dataset: where a run stands in its plan, and every metric by its dotted name."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_type_hints, is_typeddict

import polars as pl

from plait._core import ScenarioError
from plait.result import FlowMetrics, Metrics, PathMetrics

PLACE: Mapping[str, Any] = {
    "index": pl.UInt64,
    "point": pl.UInt32,
    "seed": pl.Int64,
    "scheduler": pl.String,
}
"""The columns before the variables."""
ERROR = "error"
"""Why a run failed; null if it did not."""

Getter = tuple[str, ...]
"""The keys that lead from a run's JSON to a value; ``paths`` and ``flows`` are followed by a position."""


class Columns:
    """The columns of one plan's dataset.

    schema: names and types. metrics: the names of the metrics among them.
    """

    def __init__(
        self, variables: Mapping[str, Any], *, paths: Sequence[str], flows: Sequence[str], place: str
    ) -> None:
        found = dict(_found(paths, flows))
        for name in variables:
            if name in PLACE or name == ERROR or name in found:
                message = (
                    f"{place}: variable {name!r}: a column of the dataset has this name; expected another one"
                )
                raise ScenarioError(message)
        self.variables = tuple(variables)
        self.metrics = tuple(found)
        kinds = {name: kind for name, (_, kind) in found.items()}
        self.schema = pl.Schema({**PLACE, **variables, ERROR: pl.String, **kinds})
        self._getters = [(getter, kind) for getter, kind in found.values()]

    def values(self, document: Mapping[str, Any] | None) -> list[Any]:
        """The metrics of a run's JSON, in the order of `metrics`; None where the run has none, or there is no run."""
        return [_get(document, getter) for getter, _ in self._getters]


def _found(paths: Sequence[str], flows: Sequence[str]) -> Iterator[tuple[str, tuple[tuple[Any, ...], Any]]]:
    """Dotted names, with the way to the value and its type."""
    for name, getter, kind in _leaves(Metrics):
        yield name, (("metrics", *getter), kind)
    for part, names, table in (("paths", paths, PathMetrics), ("flows", flows, FlowMetrics)):
        for position, one in enumerate(names):
            for name, getter, kind in _leaves(table):
                yield f"{part}.{one}.{name}", ((part, position, *getter), kind)


_KINDS: Mapping[type, Any] = {float: pl.Float64, int: pl.Int64}


def _leaves(table: type) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """The numbers in a table of metrics, by the types that it is documented with."""
    for key, hint in get_type_hints(table).items():
        kind = _without_none(hint)
        if is_typeddict(kind):
            for name, getter, inner in _leaves(kind):
                yield f"{key}.{name}", (key, *getter), inner
        elif kind in _KINDS:
            yield key, (key,), _KINDS[kind]


def _without_none(hint: Any) -> Any:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        (kind,) = (one for one in typing.get_args(hint) if one is not type(None))
        return kind
    return hint


def _get(value: Any, getter: Sequence[Any]) -> Any:
    for key in getter:
        if value is None:
            return None
        value = value[key]
    return value
