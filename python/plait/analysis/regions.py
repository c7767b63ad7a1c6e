"""Regions of the parameter space: levels of a variable that has few, else slices with equally many points."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from plait import _core
from plait._core import ScenarioError
from plait.support.words import expected

LEVELS = 6
"""Different values up to which each is a region of its own."""
MOST_LEVELS = 12
"""So are up to so many where each has at least `ENOUGH` points."""
ENOUGH = 8
"""Points that a region should have: fewer say little, and their intervals are not to be trusted."""
SLICES = 10
"""Regions of a variable that has more values, at most; fewer where there are not `ENOUGH` points for each."""


@dataclass(frozen=True)
class Range:
    """Values of a variable: from `low` to `high`, both included; a text is itself."""

    variable: str
    low: float | int | str
    high: float | int | str

    def __str__(self) -> str:
        if self.low == self.high:
            return _short(self.low)
        return f"{_short(self.low)} … {_short(self.high)}"


Region = tuple[Range, ...]
"""A range of each of some variables."""


def regions(frame: pl.DataFrame, variables: Sequence[str]) -> Iterator[tuple[Region, pl.DataFrame]]:
    """The regions of some variables' combinations, with the rows in each; those without rows are left out.

    Raises:
        ScenarioError: there is no such variable.
    """
    points = frame.unique("point")
    for combination in itertools.product(*(ranges(points[name], len(variables)) for name in variables)):
        inside = frame.filter(
            pl.all_horizontal(
                pl.col(one.variable).is_between(pl.lit(one.low), pl.lit(one.high)) for one in combination
            )
        )
        if not inside.is_empty():
            yield combination, inside


def check_variables(names: Sequence[str], known: Sequence[str]) -> None:
    """See that there are such variables; ScenarioError otherwise."""
    for name in names:
        if name not in known:
            message = f"variable {name!r}: unknown{expected(name, known)}"
            raise ScenarioError(message)


def ranges(values: pl.Series, dimensions: int = 1) -> list[Range]:
    """A variable's regions: its levels, if they are few, else slices with equally many of `values`, one per point.

    Of regions by several variables (`dimensions`) each has fewer slices, so that the combinations have points, too.
    """
    name, known = values.name, values.drop_nulls()
    levels = known.unique(maintain_order=True).to_list()
    if not values.dtype.is_numeric():
        return [Range(name, level, level) for level in sorted(levels, key=_amount(levels))]
    levels.sort()
    counts = known.value_counts(name="points")["points"].min() if levels else None
    held = isinstance(counts, int) and counts >= ENOUGH and len(levels) <= MOST_LEVELS
    if len(levels) <= LEVELS or held:
        return [Range(name, level, level) for level in levels]
    ordered = known.sort()
    slices = min(max(int((len(ordered) / ENOUGH) ** (1 / dimensions)), 2), SLICES)
    bounds = sorted({int(index * len(ordered) / slices) for index in range(slices)})
    lows = sorted({ordered[bound] for bound in bounds})
    highs = [max(level for level in levels if level < low) for low in lows[1:]] + [levels[-1]]
    return [Range(name, low, high) for low, high in zip(lows, highs, strict=True)]


def _amount(values: list[Any]) -> Callable[[Any], Any]:
    """How texts are ordered: as amounts if all of them are amounts of one kind, otherwise as they come."""
    for parse in (_core.parse_rate, _core.parse_duration, _core.parse_bytes):
        try:
            amounts = {value: parse(value) for value in values}
        except (_core.ScenarioError, TypeError):
            continue
        return lambda value: amounts[value]
    return values.index


def _short(value: float | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
