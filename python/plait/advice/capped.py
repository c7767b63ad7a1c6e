"""Paths whose losses decide a figure: every independent loss reduces CUBIC's window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from plait.advice.amounts import BURST_PACKETS
from plait.advice.budget import ENOUGH, SEARCHED, SHORT_ROUND_TRIPS
from plait.advice.candidates import Candidate
from plait.advice.judging import Standing
from plait.advice.links import KnownPath
from plait.advice.outcome import Outcome
from plait.advice.trial import Cell, Grid, Setting, TrialRunner, capacity_events
from plait.scenarios.units import NANOSECONDS

CAPPED = 0.7
"""A path is limited by losses if it carries less than this share of its goodput without losses."""
DELAYED = 2.0
"""Independent losses decide a delay if it is more than this many times that with bursts."""
VARIATIONS = (SEARCHED, SEARCHED // 2)
"""Numbers of variations; the first one that the budget allows is used."""


@dataclass(frozen=True)
class Capped:
    """Goodput of a path alone, in bit/s: with the given losses (median), in bursts, and without.

    The latter two are the given median times a ratio of medians, from variations that were run both
    ways. For a stream, they are the medians of these variations. They are at most the rate.
    `in_bursts_bps` is None if the given losses come in bursts or at handovers. `burst_packets` is
    the mean burst, or None at handovers. `without_bps` is None if the budget did not allow its
    runs; the rate takes its place. `delays_ms` are the judged delays of blocks or requests over the
    path alone: with the given losses (median), in bursts, and without (both in the variations that
    were run both ways). They are None unless independent losses decide them.
    """

    path: str
    loss: float
    rate_bps: float
    as_said_bps: float
    in_bursts_bps: float | None
    without_bps: float | None
    burst_packets: float | None
    delays_ms: tuple[float, float, float] | None = None

    @property
    def share(self) -> float:
        """Share of the goodput without losses that the losses leave."""
        return self.as_said_bps / (self.without_bps or self.rate_bps)

    @property
    def limits(self) -> bool:
        """Whether the losses limit the goodput."""
        return self.share < CAPPED


def capped(runner: TrialRunner, setting: Setting, grid: Grid, events: float) -> list[Capped]:
    """Return the paths whose losses decide a figure, each with its figures under other losses."""
    lossy = [index for index, path in enumerate(setting.paths) if path.loss > 0]
    every = (_path(runner, setting, grid, index, events) for index in lossy)
    return [one for one in every if one is not None and (one.limits or one.delays_ms)]


def deciding(found: Sequence[Capped], setting: Setting, advised: Standing) -> list[Capped]:
    """Drop delays that do not matter: the path is not advised, and in bursts it is worse."""
    paths = {setting.paths[index].name for index in advised.candidate.paths}
    return [
        one
        for one in found
        if one.limits or one.path in paths or (one.delays_ms and one.delays_ms[1] < advised.value)
    ]


def _path(runner: TrialRunner, setting: Setting, grid: Grid, index: int, events: float) -> Capped | None:
    path, candidate = setting.paths[index], Candidate((index,))
    others = [_with(setting, index, replace(path, loss=0.0))]
    if not path.together:
        others.append(_with(setting, index, replace(path, burst=BURST_PACKETS)))
    as_said = max(median(outcome.goodput_bps for outcome in grid.outcomes[candidate]), 1.0)
    ratios: list[float] = []
    delays = None
    for count in VARIATIONS:
        rate = capacity_events(setting, candidate) * (1 + len(others)) * count
        duration = min(round(events / rate * NANOSECONDS), grid.duration_ns)
        least = grid.duration_ns if setting.traffic.finite else round(grid.duration_ns * ENOUGH)
        if duration >= least and duration >= SHORT_ROUND_TRIPS * path.rtt_ns:
            chosen = runner.variations[: min(count, grid.variations)]
            runs = [
                runner.run([Cell(one, candidate, each, duration) for each in chosen])
                for one in (setting, *others)
            ]
            base, *rest = map(_goodput, runs)
            delays = _delays(setting, path, grid.scores(candidate), runs)
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
        delays_ms=delays,
    )


def _delays(
    setting: Setting, path: KnownPath, said: Sequence[float], runs: Sequence[Sequence[Outcome]]
) -> tuple[float, float, float] | None:
    """Return the delays with the given losses, in bursts and without, if the losses decide them."""
    if path.together or setting.traffic.kind not in ("blocks", "request-response"):
        return None
    given, without, in_bursts = (median(outcome.score for outcome in every) for every in runs)
    as_said = median(said)
    if min(as_said, given) <= DELAYED * in_bursts:
        return None
    return as_said, in_bursts, without


def _reaches_the_rate(setting: Setting, grid: Grid, path: KnownPath) -> bool:
    """Return whether a transfer without losses would reach the rate: time and window suffice."""
    window = setting.receive_buffer * 8 * NANOSECONDS / path.rtt_ns
    return (
        setting.traffic.kind == "bulk"
        and path.rate_bps is not None
        and window >= path.rate_bps
        and grid.duration_ns >= SHORT_ROUND_TRIPS * setting.round_trip_ns
    )


def _goodput(outcomes: Sequence[Outcome]) -> float:
    """Return the median goodput, at least one bit per second."""
    return max(median(outcome.goodput_bps for outcome in outcomes), 1.0)


def _with(setting: Setting, index: int, path: KnownPath) -> Setting:
    return replace(setting, paths=tuple(path if at == index else one for at, one in enumerate(setting.paths)))
