"""A failure of the best path: with this path alone, with the others as spares, and with copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from plait.advice.candidates import DEFAULT, Candidate, stock
from plait.advice.links import Outage
from plait.advice.trial import Cell, Grid, Setting, TrialRunner
from plait.scenarios.units import NANOSECONDS

LENGTH_NS = 3 * NANOSECONDS
DURATION_NS = 20 * NANOSECONDS
"""Duration of runs with endless traffic: the failure, and the retransmission timeouts after it."""
BEGIN = 0.4
"""Beginning of the failure, as a share of such a run, or of the usual time of a transfer."""
VARIATIONS = 4


@dataclass(frozen=True)
class Failure:
    """The worst delay, latency or time in s when the best path fails for a while: medians.

    spare: with the other paths as spares. copied: with all data on every path; None for transfers
    without blocks or responses.
    """

    path: str
    length_s: float
    alone: float
    spare: float
    copied: float | None
    variations: int


def search(
    runner: TrialRunner, setting: Setting, grid: Grid, best: Candidate, events: float
) -> Failure | None:
    """Run a failure of the best path; None if it costs too many events."""
    traffic = setting.traffic
    (first,) = best.paths
    order = (first, *(index for index in range(len(setting.paths)) if index != first))
    duration = grid.duration_ns if traffic.finite else DURATION_NS
    usual = median(grid.scores(best)) / (1e3 if traffic.in_ms else 1.0) if traffic.finite else 0.0
    begin = round(usual * BEGIN * NANOSECONDS) if traffic.finite else round(DURATION_NS * BEGIN)
    messages = traffic.kind in ("blocks", "request-response")
    each = sum(outcome.events for outcome in grid.outcomes[best]) / grid.variations
    cost = each * duration / grid.duration_ns * (4 if messages else 2)
    count = min(VARIATIONS, grid.variations, int(events / max(cost, 1.0)))
    if count == 0:
        return None
    outage = Outage(every_ns=begin + 2 * duration, length_ns=LENGTH_NS, first_ns=begin)

    def worst(candidate: Candidate, *, spare: bool) -> float:
        paths = [
            replace(path, outage=outage) if index == first else replace(path, backup=spare)
            for index, path in enumerate(setting.paths)
        ]
        judged = traffic if traffic.kind == "file" else replace(traffic, metric="max")
        failing = replace(setting, paths=tuple(paths), traffic=judged)
        return _median(runner, [Cell(failing, candidate, one, duration) for one in runner.variations[:count]])

    scheduler = stock() if setting.protocol == "mptcp" else DEFAULT
    return Failure(
        path=setting.paths[first].name,
        length_s=LENGTH_NS / NANOSECONDS,
        alone=worst(best, spare=False),
        spare=worst(Candidate(order, scheduler), spare=True),
        copied=worst(Candidate(order, "redundant"), spare=False) if messages else None,
        variations=count,
    )


def _median(runner: TrialRunner, cells: Sequence[Cell]) -> float:
    """Return the median score in s."""
    scale = 1e3 if cells[0].setting.traffic.in_ms else 1.0
    return median(outcome.score for outcome in runner.run(cells)) / scale
