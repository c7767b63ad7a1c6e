"""How long, and in how many variations, so that slow and fast links take the same time: events are counted.

The simulator handles about three million events per second and core, whatever the links. A budget of events is divided
into runs that last long enough for congestion control to show itself (`ROUND_TRIPS` of the longest round trip), and
then into as many variations as are left.
"""

from __future__ import annotations

from collections.abc import Sequence

from plait.advice.candidates import Candidate, copying
from plait.advice.links import PACKET
from plait.advice.trial import EVENTS_PER_PACKET, Bench, Cell, Grid, Setting, capacity_events
from plait.scenarios.units import NANOSECONDS

EVENTS = 26_000_000
"""The budget of an advice: about nine seconds on one core; searches may take a quarter more."""
DEAR = 0.1
"""An event takes so much more time, as a share, for each path beyond two."""
MAIN_SHARE = 0.5
"""Of the budget, for all candidates in all variations."""
CAPPED_SHARE = 0.04
"""Of the budget, for each path with losses: what these cost it."""
BUFFER_SHARE = 0.35
"""Of what is left, for the search for the receive buffer; the rest is for what would make the second path worth it."""
LEAST_LEFT = 0.2
"""Of the budget: so much there is for what would make the second path worth it, whatever was spent."""

ROUND_TRIPS = 40
"""Runs last at least so many of the longest round trip, full queue included, where the budget allows."""
SHORT_ROUND_TRIPS = 20
"""Runs of fewer are called short."""
ENOUGH = 0.25
"""Searches are thorough where their runs last so much of the main ones; otherwise they have fewer, longer runs."""
LEAST_NS = NANOSECONDS // 4
"""Runs last at least so long where the budget allows: beyond the shortest retransmission timeout."""
LONGEST_NS = 60 * NANOSECONDS
"""Runs last at most so long, or the wanted round trips if that is more, up to `LONGEST_SLOW_NS`."""
LONGEST_SLOW_NS = 1000 * NANOSECONDS
LONGEST_TRANSFER_NS = 600 * NANOSECONDS
FEW, USUAL, MANY = 8, 24, 48
"""Variations: at least, as planned, and at most."""
STEP_NS = NANOSECONDS // 1000
SHORTEST_NS = 20 * STEP_NS
PILOTS = 3
GROWTH = 4.0
"""A pilot lasts at most so many times longer than the one before."""


def affordable(events: int, paths: int) -> int:
    """How many events the time of `events` over two paths allows with more."""
    return round(events / (1 + DEAR * max(paths - 2, 0)))


def measure(bench: Bench, setting: Setting, candidates: Sequence[Candidate], events: int) -> Grid:
    """All candidates in as many variations as the events allow."""
    duration = (
        transfer_limit_ns(setting)
        if setting.traffic.finite
        else _duration(bench, setting, candidates, events)
    )
    start = bench.spent
    grid = Grid(list(candidates), duration)
    while grid.variations < MANY:
        step = FEW // 2 if grid.variations else FEW
        each = (bench.spent - start) / max(grid.variations, 1)
        if grid.variations and bench.spent - start + each * step > events:
            break
        grid.add(bench, setting, step)
    return grid


def _duration(bench: Bench, setting: Setting, candidates: Sequence[Candidate], events: int) -> int:
    """How long runs last, in ns: from pilots of the nominal case, each longer than the one before."""
    least = ROUND_TRIPS * setting.round_trip_ns
    least = max(least, LEAST_NS, setting.traffic.samples_needed() * setting.interval_ns)
    rate = sum(capacity_events(setting, candidate) for candidate in candidates)
    shortest = _shortest_ns(setting)
    wanted = max(_within(events, rate, least), shortest)
    duration = wanted
    for _ in range(PILOTS):
        start = bench.spent
        bench.run(Cell(setting, one, bench.nominal, duration) for one in candidates)
        rate = max((bench.spent - start) / (duration / NANOSECONDS), 1.0)
        wanted = max(_within(events, rate, least), shortest)
        if wanted <= duration * 1.5:
            break
        duration = min(wanted, _whole(duration * GROWTH))
    return min(wanted, duration)


def _within(events: int, rate: float, least: int) -> int:
    """The duration (ns) in which `events` at `rate` per second are spent on the usual number of variations.

    Longer, in fewer variations, if that is below `least`.
    """
    usual, few = (events / (rate * count) * NANOSECONDS for count in (USUAL, FEW))
    longest = max(LONGEST_NS, min(least, LONGEST_SLOW_NS))
    return _whole(min(max(usual, least), few, longest))


def _shortest_ns(setting: Setting) -> int:
    """The shortest run: `SHORTEST_NS`, or `SHORT_ROUND_TRIPS` where round trips are as short as in a data centre."""
    return min(SHORTEST_NS, max(SHORT_ROUND_TRIPS * setting.round_trip_ns, 2 * STEP_NS))


def _whole(duration: float) -> int:
    """A duration (ns) in whole ms, or tenths of a second if it lasts some."""
    step = STEP_NS if duration < NANOSECONDS else 100 * STEP_NS
    return int(duration // step) * step


def transfer_limit_ns(setting: Setting) -> int:
    """How long to wait for transfers: ten times what they take over the best path, and some round trips."""
    best = max(path.mean_bps * (1 - path.loss) for path in setting.paths)
    seconds = 10 * setting.traffic.total_bytes * 8 / max(best, 1.0)
    wait = round(seconds * NANOSECONDS) + 100 * setting.round_trip_ns
    return min(max(wait, LONGEST_NS), LONGEST_TRANSFER_NS)


def too_large(setting: Setting, candidates: Sequence[Candidate], events: int) -> bool:
    """Whether files have so many packets that not even the fewest variations fit."""
    packets = setting.traffic.total_bytes / PACKET
    copies = sum(len(one.paths) if copying(one.scheduler) else 1 for one in candidates)
    return packets * EVENTS_PER_PACKET * copies * FEW > events


def longest_of(
    events: float, setting: Setting, grid: Grid, candidate: Candidate, plans: Sequence[int]
) -> tuple[int, int] | None:
    """Which of several plans to follow in a search, and how long (ns) its runs last; None if that shows nothing.

    Plans are numbers of runs, the most first: the first whose runs last at least `ENOUGH` of the grid's, or else the
    last, with the longest runs.
    """
    for place, runs in enumerate(plans):
        duration = _shared(events, setting, grid, candidate, runs)
        if duration >= ENOUGH * grid.duration_ns or place == len(plans) - 1:
            short = not setting.traffic.finite and duration < SHORT_ROUND_TRIPS * setting.round_trip_ns
            return None if short else (place, duration)
    return None


def _shared(events: float, setting: Setting, grid: Grid, candidate: Candidate, runs: int) -> int:
    """How long (ns) each of `runs` runs may last so that together they take `events`; at most as long as the grid's."""
    if setting.traffic.finite:
        return grid.duration_ns
    each = sum(outcome.events for outcome in grid.outcomes[candidate]) / grid.variations
    rate = max(each / (grid.duration_ns / NANOSECONDS), 1.0)
    return max(min(_whole(events / (rate * runs) * NANOSECONDS), grid.duration_ns), _shortest_ns(setting))
