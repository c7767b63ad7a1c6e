"""Paths whose losses as given are what limits them: each loss that stands alone makes CUBIC's window smaller."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from plait.advice.amounts import BURST_PACKETS
from plait.advice.budget import FEW
from plait.advice.candidates import Candidate
from plait.advice.links import KnownPath
from plait.advice.trial import Bench, Cell, Grid, Setting, capacity_events
from plait.scenarios.units import NANOSECONDS

CAPPED = 0.7
"""A path that carries less than this share of what it carries without losses is limited by them."""
VARIATIONS = (FEW, FEW // 2)
"""For the first of these that there is time for, it is looked at."""


@dataclass(frozen=True)
class Capped:
    """What a path carries alone, in bit/s: as said, with the same losses in bursts, and without; geometric means.

    `in_bursts_bps` is None, and `burst_packets` what was said, where losses come together already; it is None at
    handovers.
    """

    path: str
    loss: float
    rate_bps: float
    as_said_bps: float
    in_bursts_bps: float | None
    without_bps: float
    burst_packets: float | None
    variations: int

    @property
    def share(self) -> float:
        """What the losses leave."""
        return self.as_said_bps / self.without_bps


def capped(bench: Bench, setting: Setting, grid: Grid, events: float) -> list[Capped]:
    """The paths that losses limit, each with what else it would carry."""
    found = []
    for index, path in enumerate(setting.paths):
        if path.loss == 0:
            continue
        each = 2 * capacity_events(setting, Candidate((index,))) * grid.duration_ns / NANOSECONDS
        count = next((one for one in VARIATIONS if one * each <= events), None)
        if count is None:
            continue
        one = _path(bench, setting, grid, index, path, min(count, grid.variations))
        if one.share < CAPPED:
            found.append(one)
    return found


def _path(bench: Bench, setting: Setting, grid: Grid, index: int, path: KnownPath, count: int) -> Capped:
    candidate, chosen = Candidate((index,)), bench.variations[:count]
    settings = [_with(setting, index, replace(path, loss=0.0))]
    if not path.together:
        settings.append(_with(setting, index, replace(path, burst=BURST_PACKETS)))
    outcomes = bench.run(
        Cell(one, candidate, variation, grid.duration_ns) for one in settings for variation in chosen
    )
    goodputs = [outcome.goodput_bps for outcome in outcomes]
    said = [outcome.goodput_bps for outcome in grid.outcomes[candidate][:count]]
    return Capped(
        path=path.name,
        loss=path.loss,
        rate_bps=path.mean_bps,
        as_said_bps=_typical(said),
        in_bursts_bps=None if path.together else _typical(goodputs[count:]),
        without_bps=_typical(goodputs[:count]),
        burst_packets=path.burst if path.together else BURST_PACKETS,
        variations=count,
    )


def _with(setting: Setting, index: int, path: KnownPath) -> Setting:
    return replace(setting, paths=tuple(path if at == index else one for at, one in enumerate(setting.paths)))


def _typical(goodputs: Sequence[float]) -> float:
    """The geometric mean; nothing counts as one bit per second."""
    return math.exp(fmean(math.log(max(one, 1.0)) for one in goodputs))
