"""Comparison of outcomes: best candidates, gains, and whether more paths are worth it."""

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
"""Gain from which on more paths are worth it: more goodput, less delay or less time than on the
best single path."""
COLLAPSE = 2.0
"""A scheduler to avoid has half the goodput of the best single path, or twice its delay or time."""
SLOW_PERCENT = 50.0
"""Among schedulers of nearly equal goodput, those whose packet delay exceeds the lowest by more than
this are not chosen."""
NEARLY_PERCENT = 5.0
"""Goodputs that differ by less than this, in the mean, are nearly equal: packet delays decide."""
QUICK_PERCENT = 20.0
"""A scheduler of equal goodput is named if the packet delay of the chosen one exceeds its delay by
more than this."""
MOSTLY = 0.75
"""Share of the variations in which a statement must hold to be made without a reservation."""
COPIES = 1.3
"""Packets sent per packet delivered, above which a scheduler is said to send copies."""
RANGE = (5, 95)
"""Percentiles that enclose nine of ten variations."""
TOO_FEW = 20
"""With at most this many variations, ranges cover all of them instead of nine of ten."""

Verdict = Literal["worth", "borderline", "not worth", "one path", "nothing"]


@dataclass(frozen=True)
class Standing:
    """One candidate in all variations.

    value: the median score.
    low, high: range of nine in ten variations, or of all if there are few (`TOO_FEW`).
    change: difference to the best single path in percent; None for that path itself.
    gain: the same difference, positive if the candidate is better.
    worth_in: number of variations with a gain of at least `WORTH_PERCENT`.
    best_in: number of variations in which no scheduler is better by more than the margin of equal
        results.
    whole_in: number of variations in which all data arrived.
    delay_ms: median of the packets' p95 delays.
    buffered_bytes: median of the largest amount of data in the receive buffer.
    overhead: packets sent per packet delivered, the median.
    samples: blocks or responses of a run, the median; 0 for other traffic.
    shares: average share of the packets on each of its paths.
    beside_bps: median goodput of a transfer beside the traffic; 0 without one.
    bound_gain: the most that any scheduler can gain over it, in percent: the median; None if a run
        has no bound.
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
    samples: float
    shares: tuple[float, ...]
    beside_bps: float = 0.0
    bound_gain: float | None = None

    @property
    def copies(self) -> bool:
        """Whether it sends many more packets than it delivers."""
        return self.overhead > COPIES


@dataclass(frozen=True)
class Choice:
    """The scheduler to use, and its comparison with all others.

    lags: gain of every other scheduler over the chosen one, in percent.
    better: schedulers that are better by more than the margin of equal results.
    alike: equally good schedulers.
    quicker: if goodput is judged, the scheduler of equal goodput with the lowest packet delay,
        provided it is much lower. If there is none, one that costs less goodput than
        `WORTH_PERCENT`, and is not among the better ones.
    undecided: schedulers that the runs cannot rank.
    width: factor by which intervals must exceed 95 % intervals to call one of so many schedulers
        better.
    """

    best: Standing
    lags: dict[str, Estimate]
    better: tuple[str, ...]
    alike: tuple[str, ...]
    quicker: Standing | None
    undecided: tuple[str, ...]
    width: float


def best_single(grid: Grid, singles: Sequence[Candidate], traffic: Traffic) -> Candidate:
    """Return the best path alone by the geometric mean of scores, or the first equally good one."""
    best = max(singles, key=lambda one: _level(grid, one, traffic))

    def less(one: Candidate) -> float:
        return gain_of(traffic, grid.scores(best), grid.scores(one)).value

    return next(one for one in singles if less(one) <= traffic.alike_percent)


def change_of(scores: Sequence[float], base: Sequence[float]) -> Estimate:
    """Return the mean change in percent, as geometric mean of ratios, with Student's interval.

    Variations are few, and a bootstrap of few values has too narrow an interval.
    """
    found = estimate.mean(np.log(scores) - np.log(base))
    value, *ends = (
        None if one is None else float(np.expm1(one)) * 100 for one in (found.value, found.low, found.high)
    )
    assert value is not None
    return Estimate(value, *ends)


def gain_of(traffic: Traffic, scores: Sequence[float], base: Sequence[float]) -> Estimate:
    """Return the gain in percent of goodput, delay or time; positive is better."""
    change = change_of(scores, base)
    if traffic.more_is_better:
        return change
    low, high = change.interval or (None, None)
    return Estimate(-change.value, None if high is None else -high, None if low is None else -low)


def standings(
    grid: Grid, candidates: Sequence[Candidate], labels: Sequence[str], single: Candidate, traffic: Traffic
) -> list[Standing]:
    """Return the standing of every candidate, the best first."""
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
    low = float(np.percentile(scores, RANGE[0], method="lower"))
    high = float(np.percentile(scores, RANGE[1], method="higher"))
    gains = [gain_of(traffic, [score], [other]).value for score, other in zip(scores, base, strict=True)]
    bound_gains = [outcome.bound_gain for outcome in outcomes if outcome.bound_gain is not None]
    lags = [gain_of(traffic, [score], [other]).value for score, other in zip(scores, best, strict=True)]
    return Standing(
        candidate=one,
        label=label,
        value=float(np.median(scores)),
        low=low,
        high=high,
        change=None if own else change_of(scores, base),
        gain=None if own else gain_of(traffic, scores, base),
        worth_in=sum(gain >= WORTH_PERCENT for gain in gains),
        best_in=sum(lag >= -traffic.alike_percent for lag in lags),
        whole_in=sum(outcome.whole for outcome in outcomes),
        goodput_bps=float(np.median([outcome.goodput_bps for outcome in outcomes])),
        delay_ms=float(np.median([outcome.delay_ms for outcome in outcomes])),
        buffered_bytes=float(np.median([outcome.buffered_bytes for outcome in outcomes])),
        overhead=float(np.median([outcome.overhead for outcome in outcomes])),
        samples=float(np.median([outcome.samples for outcome in outcomes])),
        shares=tuple(map(float, np.mean([outcome.shares for outcome in outcomes], axis=0))),
        beside_bps=float(np.median([outcome.beside_bps for outcome in outcomes])),
        bound_gain=float(np.median(bound_gains)) if len(bound_gains) == len(outcomes) else None,
    )


def choose(grid: Grid, available: Sequence[Standing], traffic: Traffic) -> Standing:
    """Choose the simplest of the `available` schedulers that are as good as the best of them.

    If goodput is judged, a scheduler is left out if its packet delay is much longer than that of
    another one of nearly equal goodput. A scheduler that copies all data is chosen only if no other
    is as good.
    """
    here = [
        one for one in available if not any(is_wasteful(grid, one, other, traffic) for other in available)
    ]
    alike = [one for one in here if is_alike(lag(grid, one, here[0], traffic), traffic)]
    # min returns the first of equal elements, which is the best one.
    return min(alike, key=lambda one: (one.copies, effort(one.label)))


def compared(grid: Grid, best: Standing, everyone: Sequence[Standing], traffic: Traffic) -> Choice:
    """Compare all others with the chosen one."""
    others = [one for one in everyone if one is not best]
    lags = {one.label: lag(grid, one, best, traffic) for one in others}
    alike = [one for one in others if is_alike(lags[one.label], traffic)]
    width = estimate.width_for_many(len(everyone), grid.variations)
    better = [one.label for one in others if is_better(lags[one.label], traffic, width)]
    near = [one for one in others if lags[one.label].value > -WORTH_PERCENT and one.label not in better]
    return Choice(
        best=best,
        lags=lags,
        better=tuple(better),
        alike=tuple(one.label for one in alike),
        quicker=_quicker(grid, best, alike, near) if traffic.metric == "goodput" else None,
        undecided=tuple(
            one.label
            for one in others
            if one not in alike and one.label not in better and _ends(lags[one.label])[1] >= 0
        ),
        width=width,
    )


def lag(grid: Grid, one: Standing, other: Standing, traffic: Traffic) -> Estimate:
    """Return the gain of one candidate over another."""
    return gain_of(traffic, grid.scores(one.candidate), grid.scores(other.candidate))


def is_alike(found: Estimate, traffic: Traffic) -> bool:
    """Return whether a gain counts as none: small, with an interval that excludes a large one."""
    low, high = _ends(found)
    return abs(found.value) <= traffic.alike_percent and max(-low, high) <= 2 * traffic.alike_percent


def is_better(found: Estimate, traffic: Traffic, width: float) -> bool:
    """Return whether a gain is significant: above the margin, and its wider interval above zero.

    The interval is wider because the luckiest of several schedulers looks better than it is.
    """
    return found.value > traffic.alike_percent and found.value > width * (found.value - _ends(found)[0])


def _ends(found: Estimate) -> tuple[float, float]:
    return found.interval or (found.value, found.value)


def is_wasteful(grid: Grid, one: Standing, other: Standing, traffic: Traffic) -> bool:
    """Return whether the packet delay is much longer than another's, for nearly equal goodput."""
    if traffic.metric != "goodput" or _delay_excess(grid, one, other) <= SLOW_PERCENT:
        return False
    return lag(grid, one, other, traffic).value < NEARLY_PERCENT


def _quicker(
    grid: Grid, best: Standing, alike: Sequence[Standing], near: Sequence[Standing]
) -> Standing | None:
    """Return the scheduler with the lowest packet delay, if it is much lower than that of `best`."""
    for ones in (alike, near):
        quick = min(ones, key=lambda one: _delay_level(grid, one.candidate), default=best)
        if quick is not best and _much_slower(grid, best, quick):
            return quick
    return None


def collapsed(one: Standing, traffic: Traffic) -> bool:
    """Return whether a scheduler is much worse than the best single path: one to avoid."""
    if one.change is None:
        return False
    ratio = 1 + one.change.value / 100
    return ratio < 1 / COLLAPSE if traffic.more_is_better else ratio > COLLAPSE


def verdict(one: Standing, variations: int) -> Verdict:
    """Judge a scheduler's gain by its interval and by most variations, else borderline."""
    if one.gain is None:
        return "one path"
    low, high = one.gain.interval or (one.gain.value, one.gain.value)
    if low >= WORTH_PERCENT and one.worth_in >= MOSTLY * variations:
        return "worth"
    unworthy = high < WORTH_PERCENT and variations - one.worth_in >= MOSTLY * variations
    return "not worth" if unworthy else "borderline"


def worthwhile(judged: Verdict, choice: Choice | None, traffic: Traffic) -> bool:
    """Return whether several paths are worth it, or borderline with a gain that counts.

    Of more than two paths, all but one may gain although all do not.
    """
    if choice is None or choice.best.gain is None:
        return False
    many = len(choice.best.candidate.paths) > 2
    gains = choice.best.gain.value > traffic.alike_percent
    return judged == "worth" or (judged == "borderline" and (gains or many))


def _level(grid: Grid, one: Candidate, traffic: Traffic) -> float:
    level = float(np.mean(np.log(grid.scores(one))))
    return level if traffic.more_is_better else -level


def _best_scores(grid: Grid, ones: Sequence[Candidate], traffic: Traffic) -> list[float]:
    """Return the best score of each variation."""
    better = max if traffic.more_is_better else min
    rows = zip(*(grid.scores(one) for one in ones or grid.candidates), strict=True)
    return [better(row) for row in rows]


def _delays(grid: Grid, one: Candidate) -> list[float]:
    return [max(outcome.delay_ms, 1e-6) for outcome in grid.outcomes[one]]


def _delay_level(grid: Grid, one: Candidate) -> float:
    return float(np.mean(np.log(_delays(grid, one))))


def _much_slower(grid: Grid, one: Standing, least: Standing) -> bool:
    """Return whether packets take much longer than the lowest delay, in the mean and the median."""
    median = (one.delay_ms / least.delay_ms - 1) * 100
    return min(_delay_excess(grid, one, least), median) > QUICK_PERCENT


def _delay_excess(grid: Grid, one: Standing, least: Standing) -> float:
    return change_of(_delays(grid, one.candidate), _delays(grid, least.candidate)).value
