"""Search for the smallest receive buffer that does not limit the sender: doubling and refining."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from plait.advice.budget import SEARCHED, longest_of
from plait.advice.candidates import Candidate
from plait.advice.judging import gain_of
from plait.advice.trial import Cell, Grid, Setting, TrialRunner
from plait.scenarios.units import NANOSECONDS
from plait.statistics.estimate import Estimate

DOUBLINGS = 10
REFINED = (2**0.25, 2**0.5, 2**0.75)
"""Sizes tried between the largest size that costs something and twice that size."""
ROOM = 8
"""Size of the unlimited buffer, in multiples of the data on all paths in the longest round trip."""
LEAST_UNLIMITED = 1_024_000
"""Smallest unlimited buffer. The sizes tried are its doublings, which are round numbers of kB."""
MOST_UNLIMITED = 1_500_000_000
SMALLEST = 4_000
CONFIRMING = 2
"""Confirmation tries the found size in this many times the variations of the search."""
TOLERATED = 3.0
"""Percent that a buffer may cost against an unlimited one. If the margin of equal results is
larger, that applies."""
SURELY = 2.0
"""Limit for the upper end of a cost's interval, in multiples of the tolerated cost: scattered runs
can look good by chance."""


@dataclass(frozen=True)
class BufferAdvice:
    """Cost of receive buffers for the scheduler, in percent of its result without a limit.

    tolerated: tolerated cost in percent.
    needed: smallest simulated size in bytes within that cost. It is an upper bound if `smallest` is
        true, because no smaller size was tried.
    costs: cost by size.
    variations: number of variations of the search; `needed` was confirmed in more.
    """

    scheduler: str
    given: int
    given_cost: Estimate
    tolerated: float
    needed: int
    needed_cost: Estimate
    smallest: bool
    unlimited: int
    costs: tuple[tuple[int, float], ...]
    variations: int
    duration_s: float

    @property
    def enough(self) -> bool:
        """Whether the given buffer is surely large enough."""
        return holds(self.given_cost, self.tolerated)

    @property
    def too_small(self) -> bool:
        """Whether the given buffer surely costs something, and a larger one does not."""
        least, _ = self.given_cost.interval or (self.given_cost.value,) * 2
        return not self.enough and least > 0 and self.given < self.needed


def holds(cost: Estimate, tolerated: float) -> bool:
    """Return whether a cost is tolerated: its value, and its interval up to `SURELY` times."""
    _, high = cost.interval or (cost.value, cost.value)
    return cost.value <= tolerated and high <= SURELY * tolerated


def search(
    runner: TrialRunner, setting: Setting, grid: Grid, candidate: Candidate, events: float
) -> BufferAdvice | None:
    """Find the buffer for one scheduler; None if links are too fast for meaningful runs."""
    unlimited = _unlimited(setting)
    sizes = [max(unlimited >> step, SMALLEST) for step in range(DOUBLINGS, -1, -1)]
    plans = (SEARCHED, SEARCHED // 2)
    runs = [variations * (DOUBLINGS + 2 + len(REFINED) + 2 * CONFIRMING) for variations in plans]
    picked = longest_of(events, setting, grid, candidate, runs)
    if picked is None:
        return None
    plan, duration = picked
    variations = plans[plan]
    trial = _Trial(runner, setting, candidate, variations, duration)
    tolerated = max(TOLERATED, setting.traffic.alike_percent)
    scores = trial.scores({*sizes, setting.receive_buffer})

    def cost(size: int) -> Estimate:
        return gain_of(setting.traffic, scores[size], scores[unlimited][: len(scores[size])]).negated()

    needed = _first_enough(sizes, tolerated, cost)
    smallest = needed == sizes[0]
    if not smallest:
        between = [_round(needed / 2 * factor) for factor in REFINED]
        scores |= trial.scores(set(between))
        needed = _first_enough([*between, needed], tolerated, cost)
    # The smallest of many sizes is also the luckiest one. Fresh variations have to confirm it.
    more = replace(trial, first=variations, variations=CONFIRMING * variations)
    scores[unlimited] += more.scores({unlimited})[unlimited]
    for size in sorted(size for size in scores if needed <= size < unlimited):
        scores[size] += more.scores({size})[size]
        needed, smallest = size, smallest and size == sizes[0]
        if holds(cost(size), tolerated):
            break
    else:
        needed = unlimited
    return BufferAdvice(
        scheduler=str(candidate.scheduler),
        given=setting.receive_buffer,
        given_cost=cost(setting.receive_buffer),
        tolerated=tolerated,
        needed=needed,
        needed_cost=cost(needed),
        smallest=smallest,
        unlimited=unlimited,
        costs=tuple((size, cost(size).value) for size in sorted(scores)),
        variations=variations,
        duration_s=duration / NANOSECONDS,
    )


def _first_enough(sizes: Sequence[int], tolerated: float, cost: Callable[[int], Estimate]) -> int:
    """Return the smallest size from which on no size costs more than tolerated."""
    enough = sizes[-1]
    for size in reversed(sizes):
        if cost(size).value > tolerated:
            break
        enough = size
    return enough


@dataclass(frozen=True)
class _Trial:
    """One scheduler with several buffer sizes."""

    runner: TrialRunner
    setting: Setting
    candidate: Candidate
    variations: int
    duration_ns: int
    first: int = 0

    def scores(self, sizes: set[int]) -> dict[int, list[float]]:
        """Return the scores by size, all in the same variations."""
        ordered = sorted(sizes)
        chosen = self.runner.variations[self.first : self.first + self.variations]
        cells = [
            Cell(replace(self.setting, receive_buffer=size), self.candidate, variation, self.duration_ns)
            for size in ordered
            for variation in chosen
        ]
        scores = iter([outcome.score for outcome in self.runner.run(cells)])
        return {size: [next(scores) for _ in range(self.variations)] for size in ordered}


def _round(size: float) -> int:
    """Round to two digits."""
    return int(float(f"{size:.1e}"))


def rule(setting: Setting) -> float:
    """Return the bytes on all paths in the longest round trip with a full queue."""
    return setting.capacity_bps * setting.round_trip_ns / NANOSECONDS / 8


def _unlimited(setting: Setting) -> int:
    """Return a size that no scheduler fills and that exceeds the given size."""
    size = LEAST_UNLIMITED
    while size < min(max(ROOM * rule(setting), 2 * setting.receive_buffer), MOST_UNLIMITED):
        size *= 2
    return size
