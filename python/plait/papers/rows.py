"""Rows of a reproduction: printed values, measured values, and their agreement."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plait.papers.description import Claim, Expected, Paper, PaperScenario
from plait.papers.runs import Results, run_metric
from plait.scenarios.models import asymmetry, max_blocking_ms
from plait.statistics.estimate import Estimate, change_of_mean, mean, median

ROUNDING = 1e-9
"""Relative difference that rounding may cause between two ways to compute a value."""
STATISTICS: Mapping[str, Callable[[Sequence[float]], Estimate]] = {
    "mean": mean,
    "median": median,
    "least": lambda values: Estimate(min(values)),
    "most": lambda values: Estimate(max(values)),
}
"""Statistics of a metric over all members of a scenario."""
CHANGES = ("change.", "versus.")
"""Prefixes of metrics that are computed for each member before a statistic is taken."""


@dataclass(frozen=True)
class Row:
    """One value of a reproduction.

    `paper` is None if the paper prints no number; `tolerance` is a share of it. `interval` is the
    confidence interval of a value from several runs. `absent` is the reason why the engine cannot
    measure the value.
    """

    scenario: str
    scheduler: str
    metric: str
    paper: float | None
    measured: float | None
    tolerance: float | None
    claim: Claim | None
    agrees: bool | None
    note: str
    reason: str = ""
    interval: tuple[float, float] | None = None
    absent: str = ""

    @property
    def remark(self) -> str:
        """The note, with the reason of a difference (if known) or of a missing value."""
        if self.absent:
            return "; ".join(part for part in (self.note, f"not on this engine: {self.absent}") if part)
        if self.agrees is not False:
            return self.note
        return "; ".join(
            part for part in (self.note, f"not reproduced: {self.reason}" if self.reason else "") if part
        )

    @property
    def id(self) -> str:
        """Name of the row: scenario/scheduler/metric."""
        return f"{self.scenario}/{self.scheduler}/{self.metric}"

    @property
    def compared(self) -> bool:
        """True if the paper has a statement with which the measured value is compared."""
        return self.agrees is not None

    @property
    def stated(self) -> bool:
        """True if the paper has a statement about the value, measured or not."""
        return self.paper is not None or self.claim is not None

    @property
    def difference(self) -> float | None:
        """Measured minus printed value, as a share of the printed one."""
        if self.paper is None or self.measured is None or self.paper == 0:
            return None
        return self.measured / self.paper - 1

    def document(self) -> dict[str, Any]:
        """Return the row as a JSON document."""
        claim: dict[str, float | bool | None] | None = None
        if self.claim is not None:
            claim = {"at_least": self.claim.at_least, "at_most": self.claim.at_most}
            if self.claim.interval:
                claim["interval"] = True
        return {
            "id": self.id,
            "scenario": self.scenario,
            "scheduler": self.scheduler,
            "metric": self.metric,
            "paper": self.paper,
            "measured": self.measured,
            "interval": None if self.interval is None else list(self.interval),
            "tolerance": self.tolerance,
            "claim": claim,
            "agrees": self.agrees,
            "note": self.remark,
        }


Absent = Mapping[tuple[str, str], str]
"""Reasons of runs that the engine does not make, by scenario and scheduler label."""


def evaluate(paper: Paper, results: Results, absent: Absent | None = None) -> list[Row]:
    """Return all rows: printed values and claims in the data's order, then other measures."""
    keys = dict.fromkeys(paper.expected)
    for measure in paper.measures:
        for scenario in measure.scenarios:
            for scheduler in measure.schedulers:
                keys.update(dict.fromkeys((scenario, scheduler, name) for name in measure.metrics))
    return [_row(paper, results, absent or {}, *key) for key in keys]


def _row(paper: Paper, results: Results, absent: Absent, scenario: str, scheduler: str, name: str) -> Row:
    expected = paper.expected.get((scenario, scheduler, name), Expected(scenario, scheduler, name))
    found = estimate(paper, results, scenario, scheduler, name)
    measured, interval = (None, None) if found is None else (found.value, found.interval)
    missing = [absent[key] for key in _needed(paper, scenario, scheduler, name) if key in absent]
    why = missing[0] if missing else ""
    if measured is None and not why and paper.engine != "sim":
        why = f"it has no {name}"
    return Row(
        scenario=scenario,
        scheduler=scheduler,
        metric=name,
        paper=expected.paper,
        measured=measured,
        tolerance=expected.tolerance,
        claim=expected.claim,
        agrees=None if why else agrees(expected, measured, interval),
        note=expected.note,
        reason=expected.reason,
        interval=interval,
        absent=why,
    )


def _needed(paper: Paper, scenario: str, scheduler: str, name: str) -> list[tuple[str, str]]:
    """Return the runs from which a metric is computed."""
    kind, _, rest = name.partition(".")
    keys = [] if kind == "model" else [(scenario, scheduler)]
    if kind in STATISTICS and rest.startswith(CHANGES):
        kind, _, rest = rest.partition(".")
    if kind in ("change", "difference"):
        keys.append((scenario, paper.baseline))
    if kind == "versus":
        keys.append((scenario, rest.partition(".")[0]))
    if kind == "since":
        keys.append((rest.partition(".")[0], scheduler))
    return keys


def lacking(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return, grouped by reason, the rows that the engine cannot measure, in order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.absent:
            groups.setdefault(row.absent, []).append(row)
    return groups


def differing(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return, grouped by reason, the rows that differ, in order; an unknown reason is empty."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.agrees is False:
            groups.setdefault(row.reason, []).append(row)
    return groups


def agrees(
    expected: Expected, measured: float | None, interval: tuple[float, float] | None = None
) -> bool | None:
    """Return whether the measured value is within tolerance and claim; None without a statement."""
    if expected.paper is None and expected.claim is None:
        return None
    if measured is None or math.isnan(measured):
        return False
    good = True
    if expected.paper is not None:
        allowed = ((expected.tolerance or 0.0) + ROUNDING) * abs(expected.paper)
        good = abs(measured - expected.paper) <= allowed
    if expected.claim is not None:
        checked = (measured, *(interval or ())) if expected.claim.interval else (measured,)
        good = good and all(map(expected.claim.holds, checked))
    return good


def measure(paper: Paper, results: Results, scenario: str, scheduler: str, name: str) -> float | None:
    """Return the value of a metric, see `estimate`."""
    found = estimate(paper, results, scenario, scheduler, name)
    return None if found is None else found.value


def estimate(paper: Paper, results: Results, scenario: str, scheduler: str, name: str) -> Estimate | None:
    """Return a metric of a scenario's runs, of the models, or of a comparison.

    ``mean.<metric>``, ``median.<metric>``, ``least.<metric>`` and ``most.<metric>`` are statistics
    over the members of a scenario (seeds, points of a design).

    ``change.<metric>`` is the difference to the paper's baseline scheduler in percent.
    ``since.<scenario>.<metric>`` is the difference to the same scheduler in another scenario.
    ``excess.<metric>`` is the difference to the model's longest blocking. These are None if the
    reference is zero.

    ``difference.median.<metric>`` is the median over the members of the difference to the baseline.
    ``median.change.<metric>`` is the median of the members' changes, and
    ``median.versus.<scheduler>.<metric>`` is the median of the changes against another scheduler.

    ``model.blocking_ms`` is eq. (2) of the DAPS paper. ``model.asymmetry`` is the ratio of the
    bandwidth-delay products.

    The result is also None if a necessary run was not made.
    """
    made = all(key in results for key in _needed(paper, scenario, scheduler, name))
    return _estimate(paper, results, scenario, scheduler, name) if made else None


def _estimate(paper: Paper, results: Results, scenario: str, scheduler: str, name: str) -> Estimate | None:
    kind, _, rest = name.partition(".")
    case, key = paper.scenarios[scenario], (scenario, scheduler)
    if kind == "model":
        return Estimate(_model(case, rest))
    if kind in ("change", "since"):
        other, base = scenario, paper.baseline
        if kind == "since":
            base = scheduler
            other, _, rest = rest.partition(".")
        return _against(paper, results, key, (other, base), rest)
    if kind == "difference":
        statistic, _, rest = rest.partition(".")
        pairs = _pairs(paper, results, key, (scenario, paper.baseline), rest)
        return STATISTICS[statistic]([one - other for one, other in pairs]) if pairs else None
    if kind in STATISTICS:
        values = (
            _changes(paper, results, key, rest)
            if rest.startswith(CHANGES)
            else _values(paper, results, key, rest)
        )
        known = [value for value in values if value is not None]
        return STATISTICS[kind](known) if known else None
    (value,) = _values(paper, results, key, rest if kind == "excess" else name)
    if kind == "excess":
        return _percent(value, max_blocking_ms(case.paths))
    return None if value is None else Estimate(value)


def _values(paper: Paper, results: Results, key: tuple[str, str], name: str) -> list[float | None]:
    """Return a metric of each member's run."""
    return [run_metric(paper, key, made, name) for made in results[key]]


def _changes(paper: Paper, results: Results, key: tuple[str, str], name: str) -> list[float | None]:
    """Return each member's change in percent against its run with another scheduler."""
    kind, _, rest = name.partition(".")
    base, _, rest = (paper.baseline, ".", rest) if kind == "change" else rest.partition(".")
    pairs = _pairs(paper, results, key, (key[0], base), rest)
    changes = [_percent(*pair) for pair in pairs]
    return [None if one is None else one.value for one in changes]


def _pairs(
    paper: Paper, results: Results, key: tuple[str, str], base: tuple[str, str], name: str
) -> list[tuple[float, float]]:
    """Return a metric of each member in two cases, if both have it."""
    values = zip(_values(paper, results, key, name), _values(paper, results, base, name), strict=True)
    return [(one, other) for one, other in values if one is not None and other is not None]


def _against(
    paper: Paper, results: Results, key: tuple[str, str], base: tuple[str, str], name: str
) -> Estimate | None:
    """Return the change of a metric in percent against another case."""
    kind, _, rest = name.partition(".")
    if kind == "mean":
        pairs = _pairs(paper, results, key, base, rest)
        return change_of_mean([one for one, _ in pairs], [other for _, other in pairs]) if pairs else None
    if kind == "median":
        one, other = (estimate(paper, results, *each, name) for each in (key, base))
        return None if one is None or other is None else _percent(one.value, other.value)
    (value,), (other_value,) = (_values(paper, results, each, name) for each in (key, base))
    return _percent(value, other_value)


def _model(case: PaperScenario, name: str) -> float:
    if name == "blocking_ms":
        return max_blocking_ms(case.paths)
    if name == "asymmetry":
        return asymmetry(case.paths)
    raise KeyError(name)


def _percent(value: float | None, base: float | None) -> Estimate | None:
    if value is None or not base:
        return None
    return Estimate((value / base - 1) * 100)
