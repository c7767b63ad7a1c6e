"""The statistics of a sweep's dataset: each scheduler against a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from plait._core import ScenarioError
from plait.analysis.comparison import AgainstBaseline, Units, compare, outcome, units
from plait.analysis.contest import ahead
from plait.analysis.regions import ENOUGH, Region, check_variables, regions, slices_note
from plait.results.metrics import meant
from plait.statistics.estimate import CONFIDENCE
from plait.support.words import expected
from plait.sweep.dataset import Dataset

TIE = 0.01
"""Share within which two values count as equal."""
METRICS = ("goodput_bps", "app_delay_ms.mean", "receive_buffer_packets.mean")
"""The default metrics."""


@dataclass(frozen=True)
class Part:
    """The comparisons in a region; the whole space has no ranges.

    best: for each scheduler, the number of units in which no other one is better; ties within
    `Analysis.tie` count. ahead: the scheduler with the best mean; None if the interval of its
    difference to the next one contains zero, as in the maps of `plait report`.
    """

    region: Region
    kind: str
    units: int
    pairs: int
    left_out: int
    best: dict[str, int]
    ahead: str | None
    comparisons: list[AgainstBaseline]

    @property
    def few(self) -> bool:
        """Whether there are too few units for meaningful intervals."""
        return self.units < ENOUGH


@dataclass(frozen=True)
class MetricAnalysis:
    """One metric: over the whole space, then by regions."""

    metric: str
    higher_is_better: bool
    whole: Part
    regions: list[Part]


@dataclass(frozen=True)
class Analysis:
    """Paired comparisons of a dataset's schedulers with one of them.

    failures: number of failed runs of each scheduler; reasons: the most frequent reason. slices:
    which variables have slices instead of values, and why.
    """

    dataset: Dataset
    baseline: str
    tie: float
    failures: dict[str, int]
    reasons: dict[str, str]
    metrics: list[MetricAnalysis]
    slices: str | None

    def document(self) -> dict[str, Any]:
        """Return the analysis as JSON."""
        return {
            "dataset": str(self.dataset.folder),
            "plan": self.dataset.name,
            "runs": self.dataset.runs,
            "baseline": self.baseline,
            "tie": self.tie,
            "confidence": CONFIDENCE,
            "perturbed": self.dataset.perturbed,
            "identical_points": len(self.dataset.identical.points),
            "note": self.dataset.identical.note,
            "averaged_over": self.dataset.averaged,
            "failures": self.failures,
            "reasons": self.reasons,
            "slices": self.slices,
            "metrics": [
                {
                    "metric": one.metric,
                    "higher_is_better": one.higher_is_better,
                    "whole": _part(one.whole, 1 if one.higher_is_better else -1),
                    "regions": [_part(part, 1 if one.higher_is_better else -1) for part in one.regions],
                }
                for one in self.metrics
            ],
        }


def analyze(
    dataset: Dataset,
    *,
    metrics: Sequence[str] = (),
    baseline: str | None = None,
    by: Sequence[str] | None = None,
    tie: float = TIE,
) -> Analysis:
    """Compare the schedulers of a dataset with one of them, on pairs of runs.

    The runs of a pair have the same scenario and seed.

    Args:
        dataset: from `plait.sweep.read`.
        metrics: dotted names, without units and ``.mean`` if preferred; by default those of
            `METRICS`.
        baseline: the scheduler with which the others are compared; by default the plan's first.
        by: variables whose combinations are regions; by default each variable separately.
        tie: share of the larger value within which two values count as equal, 0 to 1.

    Raises:
        ScenarioError: a metric, scheduler or variable is unknown, there is no pair of runs, or only
            one scheduler.
    """
    known = dataset.schedulers
    names = tuple(meant(name, dataset.names) or name for name in metrics) or METRICS
    base = known[0] if baseline is None else dataset.scheduler(baseline)
    if len(known) < 2:
        message = f"{dataset.folder}: only {known[0]}: nothing to compare; expected at least two schedulers"
        raise ScenarioError(message)
    if not 0 <= tie < 1:
        message = f"tie: expected a share from 0 to 1, got {tie}"
        raise ScenarioError(message)
    check_variables(by or (), dataset.variables)
    directions = {name: _higher_is_better(name, dataset) for name in names}
    frame = dataset.pairs(*dataset.variables, *names)
    failures = dataset.failed
    reasons = dataset.reasons if failures else {}
    splits = [[name] for name in dataset.variables] if by is None else [list(by)] if by else []
    analyses = []
    for name, higher in directions.items():

        def part(region: Region, rows: Any, name: str = name, higher: bool = higher) -> Part:
            return _compared(region, units(rows, name, known), base, higher=higher, tie=tie)

        whole = part((), frame)
        if whole.units == 0:
            why = "".join(f"; {label} failed: {reason}" for label, reason in reasons.items())
            message = f"{dataset.folder}: {name}: no scenario in which every scheduler has a value{why}"
            raise ScenarioError(message)
        split = [part(*one) for variables in splits for one in regions(frame, variables)]
        analyses.append(MetricAnalysis(name, higher, whole, [one for one in split if one.units]))
    sliced = slices_note(frame, dataset.variables if by is None else by, len(by or ("",)))
    return Analysis(dataset, base, tie, failures, reasons, analyses, sliced)


def _higher_is_better(name: str, dataset: Dataset) -> bool:
    way, columns = dataset.direction(name), dataset.names
    if way == 0:
        what = "neither more nor less of it is better" if name in columns else "unknown"
        judged = [column for column in columns if dataset.direction(column) != 0]
        message = f"metric {name!r}: {what}{expected(name, judged)}"
        raise ScenarioError(message)
    return way > 0


def _compared(region: Region, found: Units, baseline: str, *, higher: bool, tie: float) -> Part:
    comparisons = compare(found, baseline, higher=higher, tie=tie) if len(found.values) else []
    return Part(
        region,
        found.kind,
        len(found.values),
        found.pairs,
        found.left_out,
        _best(found, higher=higher, tie=tie),
        _ahead(found, higher=higher),
        comparisons,
    )


def _ahead(found: Units, *, higher: bool) -> str | None:
    first = ahead(found.values, 1 if higher else -1)
    return None if first is None else found.schedulers[first]


def _best(found: Units, *, higher: bool, tie: float) -> dict[str, int]:
    if not len(found.values):
        return dict.fromkeys(found.schedulers, 0)
    best = found.values.max(axis=1) if higher else found.values.min(axis=1)
    return {
        name: int(np.sum(outcome(found.of(name), best, higher=higher, tie=tie) == 0))
        for name in found.schedulers
    }


def _percent(gain: AgainstBaseline) -> dict[str, Any] | None:
    return None if gain.change is None else asdict(gain.change)


def _part(part: Part, way: int) -> dict[str, Any]:
    return {
        "region": {one.variable: [one.low, one.high] for one in part.region},
        "kind": part.kind,
        "units": part.units,
        "pairs": part.pairs,
        "left_out": part.left_out,
        "best": part.best,
        "ahead": part.ahead,
        "too_few": part.few,
        "comparisons": [
            {
                **asdict(one),
                "beyond_chance": one.beyond_chance,
                "better_by": asdict(gain.difference),
                "better_by_percent": _percent(gain),
            }
            for one, gain in ((one, one.turned(way)) for one in part.comparisons)
        ],
    }
