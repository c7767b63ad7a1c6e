"""Paths that are limited by losses: every independent loss reduces CUBIC's window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from plait.advice.amounts import BURST_PACKETS
from plait.advice.budget import ENOUGH, SEARCHED, SHORT_ROUND_TRIPS
from plait.advice.candidates import Candidate
from plait.advice.links import KnownPath
from plait.advice.trial import Cell, Grid, Setting, TrialRunner, capacity_events
from plait.scenarios.units import NANOSECONDS

CAPPED = 0.7
"""A path is limited by losses if it carries less than this share of its goodput without losses."""
VARIATIONS = (SEARCHED, SEARCHED // 2)
"""Numbers of variations; the first one that the budget allows is used."""


@dataclass(frozen=True)
class Capped:
    """Goodput of a path alone, in bit/s: with the given losses (median), in bursts, and without.

    The latter two are the given median times a ratio of medians, from variations that were run both
    ways. For a stream, they are the medians of these variations. They are at most the rate.
    `in_bursts_bps` is None if the given losses come in bursts or at handovers. `burst_packets` is
    the mean burst, or None at handovers. `without_bps` is None if the budget did not allow its
    runs; the rate takes its place.
    """

    path: str
    loss: float
    rate_bps: float
    as_said_bps: float
    in_bursts_bps: float | None
    without_bps: float | None
    burst_packets: float | None

    @property
    def share(self) -> float:
        """Share of the goodput without losses that the losses leave."""
        return self.as_said_bps / (self.without_bps or self.rate_bps)


def capped(runner: TrialRunner, setting: Setting, grid: Grid, events: float) -> list[Capped]:
    """Return the paths that losses limit, each with its goodput under other losses."""
    lossy = [index for index, path in enumerate(setting.paths) if path.loss > 0]
    every = (_path(runner, setting, grid, index, events) for index in lossy)
    return [one for one in every if one is not None and one.share < CAPPED]


def _path(runner: TrialRunner, setting: Setting, grid: Grid, index: int, events: float) -> Capped | None:
    path, candidate = setting.paths[index], Candidate((index,))
    others = [_with(setting, index, replace(path, loss=0.0))]
    if not path.together:
        others.append(_with(setting, index, replace(path, burst=BURST_PACKETS)))
    as_said = max(median(outcome.goodput_bps for outcome in grid.outcomes[candidate]), 1.0)
    ratios: list[float] = []
    for count in VARIATIONS:
        rate = capacity_events(setting, candidate) * (1 + len(others)) * count
        duration = min(round(events / rate * NANOSECONDS), grid.duration_ns)
        least = grid.duration_ns if setting.traffic.finite else round(grid.duration_ns * ENOUGH)
        if duration >= least and duration >= SHORT_ROUND_TRIPS * path.rtt_ns:
            chosen = runner.variations[: min(count, grid.variations)]
            base, *rest = (
                _median(runner, [Cell(one, candidate, each, duration) for each in chosen])
                for one in (setting, *others)
            )
            # Without losses, a stream has its own rate. A ratio of medians could tell another one.
            ratios = [
                one / (base if setting.traffic.greedy or setting.traffic.finite else as_said) for one in rest
            ]
            break
    if not (ratios or _reaches_the_rate(setting, grid, path)):
        return None
    most = math.inf if path.rate_bps is None else float(path.rate_bps)
    return Capped(
        path=path.name,
        loss=path.loss,
        rate_bps=path.mean_bps,
        as_said_bps=as_said,
        in_bursts_bps=min(as_said * ratios[1], most) if len(ratios) > 1 else None,
        without_bps=min(as_said * ratios[0], most) if ratios else None,
        burst_packets=path.burst if path.together else BURST_PACKETS,
    )


def _reaches_the_rate(setting: Setting, grid: Grid, path: KnownPath) -> bool:
    """Return whether a transfer without losses would reach the rate: time and window suffice."""
    window = setting.receive_buffer * 8 * NANOSECONDS / path.rtt_ns
    return (
        setting.traffic.kind == "bulk"
        and path.rate_bps is not None
        and window >= path.rate_bps
        and grid.duration_ns >= SHORT_ROUND_TRIPS * setting.round_trip_ns
    )


def _median(runner: TrialRunner, cells: Sequence[Cell]) -> float:
    """Return the median goodput, at least one bit per second."""
    return max(median(outcome.goodput_bps for outcome in runner.run(cells)), 1.0)


def _with(setting: Setting, index: int, path: KnownPath) -> Setting:
    return replace(setting, paths=tuple(path if at == index else one for at, one in enumerate(setting.paths)))
