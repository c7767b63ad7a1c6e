"""Regions of the parameter space: levels of a variable that has few, else slices with equally many points."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from plait._core import ScenarioError
from plait.support.words import expected

LEVELS = 6
"""Different values up to which each is a region of its own."""
SLICES = 4
"""Regions of a variable that has more."""


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
    for ranges in itertools.product(*(_ranges(frame, name) for name in variables)):
        inside = frame.filter(
            pl.all_horizontal(
                pl.col(one.variable).is_between(pl.lit(one.low), pl.lit(one.high)) for one in ranges
            )
        )
        if not inside.is_empty():
            yield ranges, inside


def check_variables(names: Sequence[str], known: Sequence[str]) -> None:
    """See that there are such variables; ScenarioError otherwise."""
    for name in names:
        if name not in known:
            message = f"variable {name!r}: unknown{expected(name, known)}"
            raise ScenarioError(message)


def _ranges(frame: pl.DataFrame, name: str) -> list[Range]:
    values = frame.unique("point")[name].sort()
    levels = values.unique().sort().to_list()
    if len(levels) <= LEVELS or isinstance(levels[0], str):
        return [Range(name, level, level) for level in levels]
    bounds = sorted({int(index * len(values) / SLICES) for index in range(SLICES)})
    lows = sorted({values[bound] for bound in bounds})
    highs = [max(level for level in levels if level < low) for low in lows[1:]] + [levels[-1]]
    return [Range(name, low, high) for low, high in zip(lows, highs, strict=True)]


def _short(value: float | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
