"""Length and number of runs, from a budget of events: slow and fast links take the same time.

The simulator handles about three million events per second and core on all links. The budget first
pays for runs that last long enough for congestion control to show itself (`ROUND_TRIPS` of the
longest round trip). The rest pays for as many variations as possible.

The runs have two stages. In the first, all candidates run, and the best of them are chosen. In the
second, only these run again, in other variations. The luckiest of many candidates looks better than
it is, so every figure of an advice comes from the second stage.
"""

from __future__ import annotations

from collections.abc import Sequence

from plait.advice.candidates import Candidate, copying
from plait.advice.links import PACKET
from plait.advice.trial import EVENTS_PER_PACKET, Cell, Grid, Setting, TrialRunner, capacity_events
from plait.advice.variations import Variation
from plait.scenarios.units import NANOSECONDS

EVENTS = 26_000_000
"""Default number of events: about nine seconds on one core. Searches may take a quarter more."""
DEAR = 0.1
"""Extra time per event for each path beyond two, as a share."""
MAIN_SHARE = 0.55
"""Share of the budget for both stages."""
CONFIRMED = 8
"""Number of schedulers that run again in the second stage."""
CAPPED_SHARE = 0.04
"""Share of the budget for each path with losses: measures the cost of its losses."""
FAILURE_SHARE = 0.05
"""Share of the budget for a failure of the recommended path."""
SHAPED_SHARE = 0.05
"""Share of the budget for runs with FQ-CoDel beside a transfer."""
BUFFER_SHARE = 0.35
"""Share of the remaining budget for the search for the receive buffer. The search for thresholds of
the second path gets the rest."""
LEAST_LEFT = 0.2
"""Share of the budget that is always available to the searches, even if more was spent before."""

ROUND_TRIPS = 40
"""Minimum duration of runs in longest round trips, full queue included, if the budget allows."""
SHORT_ROUND_TRIPS = 20
"""Runs of fewer round trips are called short."""
ENOUGH = 0.25
"""A search is thorough if its runs last this share of the main runs. Otherwise it makes fewer,
longer runs."""
LEAST_NS = NANOSECONDS // 4
"""Minimum duration of runs if the budget allows: above the shortest retransmission timeout."""
LONGEST_NS = 60 * NANOSECONDS
"""Maximum duration of runs. If the wanted round trips take longer, `LONGEST_SLOW_NS` applies."""
LONGEST_SLOW_NS = 1000 * NANOSECONDS
LONGEST_TRANSFER_NS = 600 * NANOSECONDS
FEW, USUAL, MANY = 8, 24, 48
"""Number of variations of the second stage: minimum, planned, maximum."""
SEARCHED = 8
"""Planned number of variations of a search."""
EXPLORED = 0.5
"""Number of variations of the first stage, as a share of those of the second."""
STEP_NS = NANOSECONDS // 1000
SHORTEST_NS = 20 * STEP_NS
PILOTS = 3
GROWTH = 4.0
"""Maximum ratio of a pilot run's duration to the one before."""


def affordable(events: int, paths: int) -> int:
    """Return the events over `paths` paths that take as long as `events` over two paths."""
    return round(events / (1 + DEAR * max(paths - 2, 0)))


def duration_ns(
    runner: TrialRunner, setting: Setting, candidates: Sequence[Candidate], events: int, again: int
) -> int:
    """Return the duration of runs in ns, if `again` of the candidates run in the second stage."""
    if setting.traffic.finite:
        return transfer_limit_ns(setting)
    share = again / len(candidates)
    return _duration(runner, setting, candidates, events, share + _explored(candidates, again))


def explore(
    runner: TrialRunner,
    setting: Setting,
    candidates: Sequence[Candidate],
    events: int,
    again: int,
    duration: int,
) -> Grid:
    """Run all candidates in the first stage, of which `again` will run in the second one."""
    early = _explored(candidates, again)
    first = events * early / (early + again / len(candidates))
    few, most = round(FEW * EXPLORED), round(MANY * EXPLORED)
    return _filled(runner, setting, Grid(list(candidates), duration), runner.explored, first, few, most)


def confirm(
    runner: TrialRunner, setting: Setting, candidates: Sequence[Candidate], events: int, duration: int
) -> Grid:
    """Run the chosen candidates in the second stage."""
    return _filled(runner, setting, Grid(list(candidates), duration), runner.variations, events, FEW, MANY)


def _explored(candidates: Sequence[Candidate], again: int) -> float:
    """Return the variations of the first stage for each of the second: none for one path."""
    return 0.0 if len(candidates) == again == 1 else EXPLORED


def _filled(
    runner: TrialRunner,
    setting: Setting,
    grid: Grid,
    variations: Sequence[Variation],
    events: float,
    few: int,
    most: int,
) -> Grid:
    """Run all candidates of a grid in as many variations as the events allow."""
    start, step = runner.spent, few
    while grid.variations < most:
        each = (runner.spent - start) / max(grid.variations, 1)
        if grid.variations and runner.spent - start + each * step > events:
            break
        grid.add(runner, setting, variations[grid.variations : grid.variations + step])
        step = 2
    return grid


def _duration(
    runner: TrialRunner, setting: Setting, candidates: Sequence[Candidate], events: int, stages: float
) -> int:
    """Return the duration of runs in ns, from increasingly long pilots of the nominal case.

    Both stages together have so many runs of all candidates for each variation of the second one.
    """
    least = ROUND_TRIPS * setting.round_trip_ns
    least = max(least, LEAST_NS, setting.traffic.samples_needed() * setting.interval_ns)
    least = max(least, *(2 * path.outage.every_ns for path in setting.paths if path.outage), 0)
    rate = sum(capacity_events(setting, candidate) for candidate in candidates)
    shortest = _shortest_ns(setting)
    wanted = max(_within(events, rate * stages, least), shortest)
    duration = wanted
    for _ in range(PILOTS):
        start = runner.spent
        runner.run(Cell(setting, one, runner.nominal, duration) for one in candidates)
        rate = max((runner.spent - start) / (duration / NANOSECONDS), 1.0)
        wanted = max(_within(events, rate * stages, least), shortest)
        if wanted <= duration * 1.5:
            break
        duration = min(wanted, _whole(duration * GROWTH))
    return min(wanted, duration)


def _within(events: int, rate: float, least: int) -> int:
    """Return the duration (ns) that spends `events` at `rate` per second on `USUAL` variations.

    The rate is that of both stages, for each variation of the second one. If that is below `least`,
    runs last longer, and there are fewer variations.
    """
    usual, few = (events / (rate * count) * NANOSECONDS for count in (USUAL, FEW))
    longest = max(LONGEST_NS, min(least, LONGEST_SLOW_NS))
    return _whole(min(max(usual, least), few, longest))


def _shortest_ns(setting: Setting) -> int:
    """Return the shortest duration (ns): `SHORTEST_NS`, or less for data-centre round trips."""
    return min(SHORTEST_NS, max(SHORT_ROUND_TRIPS * setting.round_trip_ns, 2 * STEP_NS))


def _whole(duration: float) -> int:
    """Round a duration (ns) down to whole ms, or to tenths of a second from one second on."""
    step = STEP_NS if duration < NANOSECONDS else 100 * STEP_NS
    return int(duration // step) * step


def transfer_limit_ns(setting: Setting) -> int:
    """Return the time limit of transfers: ten times their time on the best path, and a margin."""
    best = max(path.mean_bps * (1 - path.loss) for path in setting.paths)
    seconds = 10 * setting.traffic.total_bytes * 8 / max(best, 1.0)
    wait = round(seconds * NANOSECONDS) + 100 * setting.round_trip_ns
    return min(max(wait, LONGEST_NS), LONGEST_TRANSFER_NS)


def too_large(setting: Setting, candidates: Sequence[Candidate], events: int) -> bool:
    """Return whether files have too many packets for even the fewest variations."""
    packets = setting.traffic.total_bytes / PACKET
    copies = sum(len(one.paths) if copying(one.scheduler) else 1 for one in candidates)
    share = min(CONFIRMED / len(candidates), 1.0)
    return packets * EVENTS_PER_PACKET * copies * FEW * (EXPLORED + share) > events


def longest_of(
    events: float, setting: Setting, grid: Grid, candidate: Candidate, plans: Sequence[int]
) -> tuple[int, int] | None:
    """Choose the plan of a search, and the duration (ns) of its runs; None if runs are too short.

    Plans are numbers of runs, the largest first. The choice is the first plan whose runs last at
    least `ENOUGH` of the grid's runs. If there is none, it is the last plan, which has the longest
    runs.
    """
    for place, runs in enumerate(plans):
        duration = _shared(events, setting, grid, candidate, runs)
        if duration >= ENOUGH * grid.duration_ns or place == len(plans) - 1:
            short = not setting.traffic.finite and duration < SHORT_ROUND_TRIPS * setting.round_trip_ns
            return None if short else (place, duration)
    return None


def _shared(events: float, setting: Setting, grid: Grid, candidate: Candidate, runs: int) -> int:
    """Return the duration (ns) of each of `runs` runs that share `events`; at most the grid's."""
    if setting.traffic.finite:
        return grid.duration_ns
    each = sum(outcome.events for outcome in grid.outcomes[candidate]) / grid.variations
    rate = max(each / (grid.duration_ns / NANOSECONDS), 1.0)
    return max(min(_whole(events / (rate * runs) * NANOSECONDS), grid.duration_ns), _shortest_ns(setting))
