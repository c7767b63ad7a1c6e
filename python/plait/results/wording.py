"""Names and formats of metrics for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from plait.results.catalogue import label_of

SUMMARIES = {"mean": "mean", "max": "maximum", "p50": "median", "p90": "90 %", "p95": "95 %", "p99": "99 %"}


STATISTICS = {
    "mean": "mean of all runs",
    "median": "median of all runs",
    "least": "least of all runs",
    "most": "most of all runs",
}


UNITS = {
    "_packets": ("packets", 1.0, 1),
    "_bytes": ("kB", 1e-3, 1),
    "_s": ("s", 1.0, 2),
    "utilization": ("%", 100.0, 1),
    "first_path_share": ("%", 100.0, 1),
    "in_time_share": ("%", 100.0, 1),
}
"""By the end of a metric's name: unit, factor from its own unit to that one, decimals."""


class Titled(Protocol):
    """A scenario with a title."""

    @property
    def title(self) -> str:
        """The title for people."""
        ...


class Terms(Protocol):
    """The words of a paper: the unit of its rates, its baseline, the titles of its scenarios."""

    @property
    def rates(self) -> str:
        """``kbit/s`` or ``Mbit/s``."""
        ...

    @property
    def baseline(self) -> str:
        """The scheduler that others are compared with."""
        ...

    @property
    def scenarios(self) -> Mapping[str, Titled]:
        """The scenarios by their names."""
        ...


@dataclass(frozen=True)
class Wording:
    """A metric's label, its unit, and the factor from the metric's own unit to that one."""

    label: str
    unit: str
    scale: float
    decimals: int
    signed: bool = False

    def number(self, value: float | None) -> str:
        """Format the value in this unit, without the unit."""
        if value is None:
            return "–"
        shown = round(value * self.scale, self.decimals) + 0.0  # no negative zero
        text = f"{shown:{'+' if self.signed else ''}.{self.decimals}f}"
        return text.replace("-", "−")

    def interval(self, interval: tuple[float, float] | None) -> str:
        """Format the confidence interval in this unit; empty without one or with equal bounds."""
        low, high = ("", "") if interval is None else map(self.number, interval)
        return "" if low == high else f"({low} … {high})"

    @property
    def heading(self) -> str:
        """Label and unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


PERCENT = Wording("", "%", 1.0, 1, signed=True)
"""Of a change or a difference."""

RATES = {"Mbit/s": (1e-6, 2), "kbit/s": (1e-3, 0)}
"""Units of a paper's rates: factor from bit/s, and decimals."""
RATE = ("Mbit/s", 1e-6, 3)
"""Unit of all other rates, in tables, plots, reports and pages. It shows kbit/s, too."""


def wording(name: str, paper: Terms | None = None) -> Wording:
    """Return the wording of a metric from its dotted name.

    `paper` has the baseline, the titles and the unit of rates.
    """
    kind, _, rest = name.partition(".")
    if kind in ("change", "excess", "since", "versus"):
        other, rest = rest.split(".", 1) if kind in ("since", "versus") else ("", rest)
        inner = wording(rest, paper)
        return Wording(f"{inner.label}, against {_other(kind, other, paper)}", "%", 1.0, 1, signed=True)
    if kind == "difference":
        inner = wording(rest, paper)
        against = _other("change", "", paper)
        return replace(inner, label=f"{inner.label}, difference to {against}", signed=True)
    if kind in STATISTICS:
        inner = wording(rest, paper)
        return replace(inner, label=f"{STATISTICS[kind]}, {inner.label}")
    rate = RATE if paper is None else (paper.rates, *RATES[paper.rates])
    parts = name.split(".")
    if parts[0] == "model":
        return Wording(f"model: {label_of(parts[1])}", *_unit(parts[1], rate, model=True))
    if parts[0] == "paths":
        whose = "all paths" if parts[1] == "sum" else f"{parts[1]} path"
        return Wording(f"{whose}, {label_of(parts[2])}", *_unit(parts[2], rate))
    label = label_of(parts[0])
    if len(parts) > 1:
        label = f"{SUMMARIES.get(parts[1], parts[1])} {label}"
    return Wording(label, *_unit(parts[0], rate))


def _other(kind: str, other: str, paper: Terms | None) -> str:
    """Name the reference of a comparison: `other` is a scenario, or for `versus` a scheduler."""
    if kind == "excess":
        return "the model"
    if kind == "versus":
        return other
    if paper is None:
        return "the baseline"
    return paper.baseline if kind == "change" else paper.scenarios[other].title


def _unit(key: str, rate: tuple[str, float, int], *, model: bool = False) -> tuple[str, float, int]:
    """Return unit, factor from the metric's own unit, and decimals."""
    if key.endswith("_bps"):
        return rate
    if key.endswith("_ms"):
        return "ms", 1.0, 2 if model else 1
    return next((unit for end, unit in UNITS.items() if key.endswith(end)), ("", 1.0, 2))
