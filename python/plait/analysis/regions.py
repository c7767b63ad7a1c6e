"""Regions of the parameter space.

Each level of a variable with few levels is a region; other variables are cut into slices with
equally many points.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from plait import _core
from plait._core import ScenarioError
from plait.support.words import expected
from plait.sweep.dataset import SCENARIO

LEVELS = 6
"""Up to this number of different values, each value is a region."""
MOST_LEVELS = 24
"""Up to this number of different values, each value is a region if each has `ENOUGH` runs."""
ENOUGH = 8
"""Units (points, or seeds of one point) that a region should have: with fewer, its intervals are
not reliable."""
SLICES = 10
"""Maximum number of regions of a variable with more values; fewer where a region would not have
`ENOUGH` points."""


@dataclass(frozen=True)
class Range:
    """Values of a variable: from `low` to `high`, both included; for a text, both are the text."""

    variable: str
    low: float | int | str
    high: float | int | str

    def __str__(self) -> str:
        if self.low == self.high:
            return _short(self.low)
        return f"{_short(self.low)} … {_short(self.high)}"


Region = tuple[Range, ...]
"""One range for each of some variables."""


def regions(frame: pl.DataFrame, variables: Sequence[str]) -> Iterator[tuple[Region, pl.DataFrame]]:
    """Yield the regions of some variables' combinations with their rows; skip those without rows.

    Raises:
        ScenarioError: a variable is unknown.
    """
    for combination in itertools.product(*(cut(frame, name, len(variables)) for name in variables)):
        inside = frame.filter(
            pl.all_horizontal(
                pl.col(one.variable).is_between(pl.lit(one.low), pl.lit(one.high)) for one in combination
            )
        )
        if not inside.is_empty():
            yield combination, inside


def cut(frame: pl.DataFrame, name: str, dimensions: int = 1) -> list[Range]:
    """Return a variable's regions in rows with points: every scenario counts once per value."""
    runs = frame.unique([SCENARIO, "seed", name], maintain_order=True)
    return ranges(runs.unique([SCENARIO, name], maintain_order=True)[name], runs[name], dimensions)


def slices_note(frame: pl.DataFrame, variables: Sequence[str], dimensions: int = 1) -> str | None:
    """Say which variables have slices instead of values, and why; None if all have values."""
    notes: dict[str, list[str]] = {}
    for name in variables:
        levels, slices = frame[name].drop_nulls().n_unique(), len(cut(frame, name, dimensions))
        if slices < levels:
            why = (
                f"there are more than {MOST_LEVELS} values"
                if levels > MOST_LEVELS
                else f"a value has fewer than {ENOUGH} runs"
            )
            notes.setdefault(f"{levels} values in {slices} slices, because {why}", []).append(name)
    return "; ".join(f"{', '.join(names)}: {note}" for note, names in notes.items()) or None


def check_variables(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise ScenarioError for an unknown variable."""
    for name in names:
        if name not in known:
            message = f"variable {name!r}: unknown{expected(name, known)}"
            raise ScenarioError(message)


def ranges(values: pl.Series, runs: pl.Series, dimensions: int = 1) -> list[Range]:
    """Return a variable's regions: its levels if they are few or have enough runs, else slices.

    `values` has one value per point, `runs` one per point and seed. Slices have equally many
    points. With more variables per region (`dimensions`) each has fewer slices, so that the
    combinations have points as well.
    """
    name, known = values.name, values.drop_nulls()
    levels = known.unique(maintain_order=True).to_list()
    if not values.dtype.is_numeric():
        return [Range(name, level, level) for level in sorted(levels, key=_amount(levels))]
    levels.sort()
    least = runs.drop_nulls().value_counts(name="runs")["runs"].min() if levels else None
    held = isinstance(least, int) and least >= ENOUGH and len(levels) <= MOST_LEVELS
    if len(levels) <= LEVELS or held:
        return [Range(name, level, level) for level in levels]
    ordered = known.sort()
    slices = min(max(int((len(ordered) / ENOUGH) ** (1 / dimensions)), 2), SLICES)
    bounds = sorted({int(index * len(ordered) / slices) for index in range(slices)})
    lows = sorted({ordered[bound] for bound in bounds})
    highs = [max(level for level in levels if level < low) for low in lows[1:]] + [levels[-1]]
    return [Range(name, low, high) for low, high in zip(lows, highs, strict=True)]


def _amount(values: list[Any]) -> Callable[[Any], Any]:
    """Return the sort key of texts: as amounts if all have one kind of unit, else as listed."""
    for parse in (_core.parse_rate, _core.parse_duration, _core.parse_bytes):
        try:
            amounts = {value: parse(value) for value in values}
        except (_core.ScenarioError, TypeError):
            continue
        return lambda value: amounts[value]
    return values.index


def _short(value: float | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
