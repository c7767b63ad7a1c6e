"""What the outcomes say: who is better, by how much, in how many variations, and whether more paths are worth it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from plait.advice.candidates import Candidate, effort
from plait.advice.traffic import Traffic
from plait.advice.trial import Grid
from plait.statistics import estimate
from plait.statistics.estimate import Estimate

WORTH_PERCENT = 10.0
"""More paths are worth it from this gain on: more goodput, less delay or less time than with the best single path."""
COLLAPSE = 2.0
"""A scheduler with half the goodput of the best single path, or twice its delay or time, is one to avoid."""
SLOW_PERCENT = 50.0
"""Of schedulers of alike goodput, those whose packets take so much longer than the quickest's are not taken."""
QUICK_PERCENT = 20.0
"""A scheduler of alike goodput whose packets take so much less is named."""
MOSTLY = 0.75
"""Share of the variations in which something has to be so before it is said without a reservation."""
COPIES = 1.3
"""From so many packets sent per packet delivered on, a scheduler is said to send copies."""
RANGE = (5, 95)
"""Percentiles between which nine of ten variations are."""

Verdict = Literal["worth", "borderline", "not worth", "one path", "nothing"]


@dataclass(frozen=True)
class Standing:
    """One candidate in all variations.

    value: the median score; low, high: where nine of ten are. change: against the best single path in percent, None
    for that path itself; gain: the same, but always positive where it is better. worth_in: in how many variations the
    gain is at least `WORTH_PERCENT`; best_in: in how many no scheduler is better by more than what counts as alike.
    whole_in: in how many everything arrived. delay_ms: the median of the packets' p95 delays. buffered_bytes: the most
    that waited at the receiver, the median. overhead: packets sent per packet delivered, the median.
    """

    candidate: Candidate
    label: str
    value: float
    low: float
    high: float
    change: Estimate | None
    gain: Estimate | None
    worth_in: int
    best_in: int
    whole_in: int
    goodput_bps: float
    delay_ms: float
    buffered_bytes: float
    overhead: float

    @property
    def copies(self) -> bool:
        """Whether it sends much more than arrives."""
        return self.overhead > COPIES


@dataclass(frozen=True)
class Choice:
    """The scheduler to take, those that are as good, and those that cannot be told from the best.

    slower: bulk traffic: those of alike goodput whose packets take too long. quicker: bulk traffic: the one of alike
    goodput whose packets take least, if that is much less than with the best.
    """

    best: Standing
    alike: tuple[str, ...]
    slower: tuple[str, ...]
    quicker: Standing | None
    undecided: tuple[str, ...]


def best_single(grid: Grid, singles: Sequence[Candidate], traffic: Traffic) -> Candidate:
    """The path that is best alone, by the scores' geometric mean; the first of equal ones."""
    return max(singles, key=lambda one: _level(grid, one, traffic))


def gain_of(traffic: Traffic, scores: Sequence[float], base: Sequence[float]) -> Estimate:
    """How much better, in percent of goodput, or of the delay or time saved; positive is better."""
    change = estimate.change_of_pairs(scores, base)
    if traffic.more_is_better:
        return change
    low, high = change.interval or (None, None)
    return Estimate(-change.value, None if high is None else -high, None if low is None else -low)


def standings(
    grid: Grid, candidates: Sequence[Candidate], labels: Sequence[str], single: Candidate, traffic: Traffic
) -> list[Standing]:
    """Every candidate, the best first."""
    base = grid.scores(single)
    best = _best_scores(grid, [one for one in candidates if one.scheduler is not None], traffic)
    found = [
        _standing(grid, one, label, base, best, single, traffic)
        for one, label in zip(candidates, labels, strict=True)
    ]
    return sorted(found, key=lambda one: -_level(grid, one.candidate, traffic))


def _standing(
    grid: Grid,
    one: Candidate,
    label: str,
    base: Sequence[float],
    best: Sequence[float],
    single: Candidate,
    traffic: Traffic,
) -> Standing:
    scores, outcomes = grid.scores(one), grid.outcomes[one]
    own = one == single
    low, high = (float(value) for value in np.percentile(scores, RANGE))
    gains = [gain_of(traffic, [score], [other]).value for score, other in zip(scores, base, strict=True)]
    lags = [gain_of(traffic, [score], [other]).value for score, other in zip(scores, best, strict=True)]
    return Standing(
        candidate=one,
        label=label,
        value=float(np.median(scores)),
        low=low,
        high=high,
        change=None if own else estimate.change_of_pairs(scores, base),
        gain=None if own else gain_of(traffic, scores, base),
        worth_in=sum(gain >= WORTH_PERCENT for gain in gains),
        best_in=sum(lag >= -traffic.alike_percent for lag in lags),
        whole_in=sum(outcome.whole for outcome in outcomes),
        goodput_bps=float(np.median([outcome.goodput_bps for outcome in outcomes])),
        delay_ms=float(np.median([outcome.delay_ms for outcome in outcomes])),
        buffered_bytes=float(np.median([outcome.buffered_bytes for outcome in outcomes])),
        overhead=float(np.median([outcome.overhead for outcome in outcomes])),
    )


def choose(grid: Grid, ranked: Sequence[Standing], traffic: Traffic) -> Choice:
    """The scheduler to take: of those as good as the best, the simplest.

    For bulk traffic those whose packets take much longer are left out. Copies of everything are taken only if nothing
    else is as good.
    """
    top = ranked[0]
    alike, undecided = [], []
    for one in ranked:
        lag = gain_of(traffic, grid.scores(one.candidate), grid.scores(top.candidate))
        low, high = lag.interval or (lag.value, lag.value)
        if lag.value >= -traffic.alike_percent and low >= -2 * traffic.alike_percent:
            alike.append(one)
        elif high >= 0:
            undecided.append(one)
    least = min(alike, key=lambda one: _delay_level(grid, one.candidate))
    bulk = traffic.kind == "bulk"
    chosen = [one for one in alike if not bulk or _delay_excess(grid, one, least) <= SLOW_PERCENT]
    # min takes the first of equal ones, which is the best.
    best = min(chosen, key=lambda one: (one.copies, effort(one.label)))
    return Choice(
        best=best,
        alike=tuple(one.label for one in chosen if one is not best),
        slower=tuple(one.label for one in alike if one not in chosen),
        quicker=least if bulk and _much_slower(grid, best, least) else None,
        undecided=tuple(one.label for one in undecided),
    )


def collapsed(one: Standing, traffic: Traffic) -> bool:
    """Whether a scheduler is so much worse than the best single path that it is one to avoid."""
    if one.change is None:
        return False
    ratio = 1 + one.change.value / 100
    return ratio < 1 / COLLAPSE if traffic.more_is_better else ratio > COLLAPSE


def verdict(one: Standing, variations: int) -> Verdict:
    """Whether a scheduler's gain is worth it: by the gain's interval, and in most of the variations, or neither."""
    if one.gain is None:
        return "one path"
    low, high = one.gain.interval or (one.gain.value, one.gain.value)
    if low >= WORTH_PERCENT and one.worth_in >= MOSTLY * variations:
        return "worth"
    unworthy = high < WORTH_PERCENT and variations - one.worth_in >= MOSTLY * variations
    return "not worth" if unworthy else "borderline"


def _level(grid: Grid, one: Candidate, traffic: Traffic) -> float:
    level = float(np.mean(np.log(grid.scores(one))))
    return level if traffic.more_is_better else -level


def _best_scores(grid: Grid, ones: Sequence[Candidate], traffic: Traffic) -> list[float]:
    """The best score of each variation."""
    better = max if traffic.more_is_better else min
    rows = zip(*(grid.scores(one) for one in ones or grid.candidates), strict=True)
    return [better(row) for row in rows]


def _delays(grid: Grid, one: Candidate) -> list[float]:
    return [max(outcome.delay_ms, 1e-6) for outcome in grid.outcomes[one]]


def _delay_level(grid: Grid, one: Candidate) -> float:
    return float(np.mean(np.log(_delays(grid, one))))


def _much_slower(grid: Grid, one: Standing, least: Standing) -> bool:
    """Whether packets take much longer than the least, on average and in the median."""
    median = (one.delay_ms / least.delay_ms - 1) * 100
    return min(_delay_excess(grid, one, least), median) > QUICK_PERCENT


def _delay_excess(grid: Grid, one: Standing, least: Standing) -> float:
    return estimate.change_of_pairs(_delays(grid, one.candidate), _delays(grid, least.candidate)).value
