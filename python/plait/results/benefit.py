"""What a connection over several paths has of them, against their capacities or against each path alone.

Kaspar's aggregation benefit takes what each path carries. With capacities (the metric `aggregation_benefit`) zero is a
full best path, which a connection over it alone need not reach; with the goodput of each path alone under the same
transport, zero is what the best of them really carries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


def aggregation_benefit(goodput: float, single: Sequence[float]) -> float:
    """Kaspar's: 0 is the best of `single`, 1 the sum of all, −1 nothing at all; beyond 1 if it is more than the sum."""
    best = max(single)
    gain = goodput - best
    if gain < 0:
        return gain / best
    others = sum(single) - best
    return gain / others if others > 0 else 0.0


@dataclass(frozen=True)
class AgainstAlone:
    """A connection's goodput against that of each path alone under the same transport; in bit/s, by path."""

    goodput_bps: float
    alone_bps: Mapping[str, float]

    @property
    def best(self) -> str:
        """The path that is best alone; the first of equal ones."""
        return max(self.alone_bps, key=lambda name: self.alone_bps[name])

    @property
    def gain_percent(self) -> float | None:
        """By how many percent more than the best path alone; None if that carries nothing."""
        best = self.alone_bps[self.best]
        return (self.goodput_bps / best - 1) * 100 if best > 0 else None

    @property
    def benefit(self) -> float | None:
        """Kaspar's aggregation benefit of these goodputs; None if no path alone carries anything."""
        single = list(self.alone_bps.values())
        return aggregation_benefit(self.goodput_bps, single) if max(single) > 0 else None

    def document(self) -> dict[str, object]:
        """As JSON."""
        return {
            "goodput_bps": dict(self.alone_bps),
            "best": self.best,
            "gain_percent": self.gain_percent,
            "aggregation_benefit": self.benefit,
        }
