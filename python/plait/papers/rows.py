"""Rows of a reproduction: what the paper prints, what was measured, whether they agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plait.models import asymmetry, max_blocking_ms
from plait.papers.description import Claim, Expected, Paper, PaperScenario
from plait.result import Result, metric

Results = Mapping[tuple[str, str], Result]
"""The runs by scenario and scheduler label."""

ROUNDING = 1e-9
"""Share of a value by which two ways of computing it may differ."""


@dataclass(frozen=True)
class Row:
    """One value of a reproduction. `paper` is None where the paper prints no number; `tolerance` is a share of it."""

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

    @property
    def remark(self) -> str:
        """The note, and on a row that differs the reason, if it is known."""
        if self.agrees is not False:
            return self.note
        return "; ".join(
            part for part in (self.note, f"differs because {self.reason}" if self.reason else "") if part
        )

    @property
    def id(self) -> str:
        """Names the row: scenario/scheduler/metric."""
        return f"{self.scenario}/{self.scheduler}/{self.metric}"

    @property
    def compared(self) -> bool:
        """True if the paper says something that the measured value is held against."""
        return self.agrees is not None

    @property
    def difference(self) -> float | None:
        """Measured less printed value, as a share of the printed one."""
        if self.paper is None or self.measured is None or self.paper == 0:
            return None
        return self.measured / self.paper - 1

    def document(self) -> dict[str, Any]:
        """The row as JSON has it."""
        claim = None
        if self.claim is not None:
            claim = {"at_least": self.claim.at_least, "at_most": self.claim.at_most}
        return {
            "id": self.id,
            "scenario": self.scenario,
            "scheduler": self.scheduler,
            "metric": self.metric,
            "paper": self.paper,
            "measured": self.measured,
            "tolerance": self.tolerance,
            "claim": claim,
            "agrees": self.agrees,
            "note": self.remark,
        }


def evaluate(paper: Paper, results: Results) -> list[Row]:
    """All rows: first those of the printed values and claims, in the data's order, then the other measures."""
    keys = dict.fromkeys(paper.expected)
    for measure in paper.measures:
        for scenario in measure.scenarios:
            for scheduler in measure.schedulers:
                keys.update(dict.fromkeys((scenario, scheduler, name) for name in measure.metrics))
    return [_row(paper, results, *key) for key in keys]


def _row(paper: Paper, results: Results, scenario: str, scheduler: str, name: str) -> Row:
    expected = paper.expected.get((scenario, scheduler, name), Expected(scenario, scheduler, name))
    measured = measure(paper, results, scenario, scheduler, name)
    return Row(
        scenario=scenario,
        scheduler=scheduler,
        metric=name,
        paper=expected.paper,
        measured=measured,
        tolerance=expected.tolerance,
        claim=expected.claim,
        agrees=agrees(expected, measured),
        note=expected.note,
        reason=expected.reason,
    )


def differing(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows that differ by their reason, in order; the empty reason is an unknown one."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.agrees is False:
            groups.setdefault(row.reason, []).append(row)
    return groups


def agrees(expected: Expected, measured: float | None) -> bool | None:
    """Whether the measured value is within the tolerance and the claim; None where the paper says nothing."""
    if expected.paper is None and expected.claim is None:
        return None
    if measured is None or math.isnan(measured):
        return False
    good = True
    if expected.paper is not None:
        allowed = ((expected.tolerance or 0.0) + ROUNDING) * abs(expected.paper)
        good = abs(measured - expected.paper) <= allowed
    if expected.claim is not None:
        good = good and expected.claim.holds(measured)
    return good


def measure(paper: Paper, results: Results, scenario: str, scheduler: str, name: str) -> float | None:
    """A metric of one run, of the models, or of one against the other.

    ``model.blocking_ms`` is eq. (2) of the DAPS paper, ``model.asymmetry`` the ratio of the bandwidth-delay products.
    ``change.<metric>`` is the difference to the paper's baseline scheduler in percent, ``excess.<metric>`` that to the
    model's longest blocking in percent; both None where that is zero.
    """
    kind, _, rest = name.partition(".")
    case = paper.scenarios[scenario]
    if kind == "model":
        return _model(case, rest)
    value = metric(results[scenario, scheduler], rest if kind in ("change", "excess") else name)
    if kind == "change":
        return _percent(value, metric(results[scenario, paper.baseline], rest))
    if kind == "excess":
        return _percent(value, max_blocking_ms(case.paths))
    return value


def _model(case: PaperScenario, name: str) -> float:
    if name == "blocking_ms":
        return max_blocking_ms(case.paths)
    if name == "asymmetry":
        return asymmetry(case.paths)
    raise KeyError(name)


def _percent(value: float | None, base: float | None) -> float | None:
    if value is None or not base:
        return None
    return (value / base - 1) * 100
