"""How metrics are called and written for people."""

from __future__ import annotations

from dataclasses import dataclass

from plait.papers.description import Expected
from plait.papers.rows import Row

LABELS = {
    "app_delay_ms": "application delay",
    "blocking_ms": "blocking time",
    "receive_buffer_packets": "receive buffer",
    "throughput_bps": "throughput",
    "goodput_bps": "goodput",
    "asymmetry": "asymmetry",
}
SUMMARIES = {"mean": "mean", "max": "maximum", "p50": "median", "p95": "95 %", "p99": "99 %"}


@dataclass(frozen=True)
class Wording:
    """A metric's label, its unit and the factor from the metric's own unit to that one."""

    label: str
    unit: str
    scale: float
    decimals: int
    signed: bool = False

    def number(self, value: float | None) -> str:
        """The value in this unit, without the unit."""
        if value is None:
            return "–"
        text = f"{value * self.scale:{'+' if self.signed else ''}.{self.decimals}f}"
        return text.replace("-", "−")

    @property
    def heading(self) -> str:
        """Label and unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


def wording(name: str, baseline: str = "the baseline") -> Wording:
    """How to write a metric, from its dotted name; `baseline` is what ``change.`` compares with."""
    kind, _, rest = name.partition(".")
    if kind in ("change", "excess"):
        inner = wording(rest)
        against = f"against {baseline if kind == 'change' else 'the model'}"
        return Wording(f"{inner.label}, {against}", "%", 1.0, 1, signed=True)
    parts = name.split(".")
    if parts[0] == "model":
        label = LABELS[parts[1]]
        return Wording(f"model: {label}", *_unit(parts[1], model=True))
    if parts[0] == "paths":
        whose = "all paths" if parts[1] == "sum" else f"{parts[1]} path"
        return Wording(f"{whose}, {LABELS.get(parts[2], parts[2])}", *_unit(parts[2]))
    label = LABELS.get(parts[0], parts[0])
    if len(parts) > 1:
        label = f"{SUMMARIES.get(parts[1], parts[1])} {label}"
    return Wording(label, *_unit(parts[0]))


def _unit(key: str, *, model: bool = False) -> tuple[str, float, int]:
    if key.endswith("_bps"):
        return "kbit/s", 1e-3, 0
    if key.endswith("_ms"):
        return "ms", 1.0, 2 if model else 1
    if key.endswith("_packets"):
        return "packets", 1.0, 1
    return "", 1.0, 2


def said(row: Row | Expected) -> str:
    """What the paper says: the printed value, or the bounds of a claim."""
    words = wording(row.metric)
    if row.paper is not None:
        return words.number(row.paper) if not row.metric.startswith("model.") else f"{row.paper:g}"
    if row.claim is None:
        return "–"
    low, high = row.claim.at_least, row.claim.at_most
    if low is not None and high is not None:
        return f"{words.number(low)} … {words.number(high)}"
    return f"≥ {words.number(low)}" if low is not None else f"≤ {words.number(high)}"


def difference(row: Row) -> str:
    """Measured against printed, in percent of the printed value."""
    return "" if row.difference is None else f"{row.difference * 100:+.1f} %".replace("-", "−")


def tolerance(row: Row) -> str:
    """The tolerance, in percent of the printed value."""
    return "" if row.tolerance is None else f"±{row.tolerance * 100:g} %"


def verdict(row: Row) -> str:
    """The row's agreement in a word."""
    return {True: "agrees", False: "differs", None: ""}[row.agrees]
