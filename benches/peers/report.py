"""The comparison as a table, a summary and a JSON document."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from rich.table import Table
from verdict import AGREES, DIFFERS, OPEN, Compared, Step, overall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cases import Case
    from metrics import Speed
    from rich.console import Console

COLORS = {AGREES: "green", OPEN: "yellow", DIFFERS: "red"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One step of the comparison of a case."""

    step: Step
    rows: list[Compared]

    @property
    def verdict(self) -> str:
        """The worst verdict of the rows."""
        return overall(self.rows)


@dataclass(slots=True)
class CaseReport:
    """All results of one case."""

    case: Case
    attempts: list[Attempt] = field(default_factory=list)
    theirs: Speed | None = None
    ours: Speed | None = None

    @property
    def last(self) -> Attempt:
        """The step that decides: one that agrees, or else an open one, or else the last."""
        for verdict in (AGREES, OPEN):
            for attempt in self.attempts:
                if attempt.verdict == verdict:
                    return attempt
        return self.attempts[-1]

    @property
    def verdict(self) -> str:
        """Whether the simulators agree in any step."""
        return self.last.verdict

    @property
    def as_they_come(self) -> bool:
        """Whether they agree without any change."""
        return self.attempts[0].verdict == AGREES

    @property
    def unexplained(self) -> bool:
        """Whether the case should agree and does not."""
        known = self.case.differs or (self.case.sensitive and self.verdict == OPEN)
        return self.verdict != AGREES and not known

    @property
    def ratio(self) -> float | None:
        """Our speed divided by ns-2's."""
        if self.theirs is None or self.ours is None:
            return None
        return self.ours.packets_per_second / self.theirs.packets_per_second

    def reason(self) -> str:
        """Return why the case does not agree without changes; empty if it does."""
        if self.as_they_come:
            return "agrees now: `differs` can go" if self.case.differs else ""
        if self.verdict == AGREES:
            return f"agrees with {self.last.step.title}"
        return self.case.differs or self.case.sensitive or "not explained"

    def document(self) -> dict[str, Any]:
        """Return the data for ``--json``."""
        return {
            "case": self.case.name,
            "runs": self.case.runs,
            "verdict": self.verdict,
            "as_they_come": self.as_they_come,
            "reason": self.reason(),
            "steps": [
                {
                    "step": attempt.step.title,
                    "verdict": attempt.verdict,
                    "quantities": [
                        {
                            "name": row.name,
                            "ns2": row.theirs,
                            "plait": row.ours,
                            "difference_percent": 100 * row.difference,
                            "two_standard_errors": row.error,
                            "verdict": row.verdict,
                        }
                        for row in attempt.rows
                    ],
                }
                for attempt in self.attempts
            ],
            "packets_per_second": {
                "ns2": self.theirs and self.theirs.packets_per_second,
                "plait": self.ours and self.ours.packets_per_second,
                "ratio": self.ratio,
            },
        }


def table(reports: Sequence[CaseReport]) -> Table:
    """Return a table with three lines per step: ns-2, Plait, the difference."""
    paths = max(len(report.case.paths) for report in reports)
    drawn = Table(title="Round-robin in ns-2 and in Plait", title_justify="left", pad_edge=False)
    drawn.add_column("case", no_wrap=True)
    drawn.add_column("", no_wrap=True)
    for index in range(paths):
        drawn.add_column(f"path {index + 1}\nkbit/s", justify="right")
    for name in ("app delay\nms", "buffer\npackets", "blocking\nms", "longest\nms", "speed\nkpkt/s"):
        drawn.add_column(name, justify="right")
    drawn.add_column("verdict")
    for report in reports:
        for number, attempt in enumerate(report.attempts):
            _add_step(drawn, report, attempt, paths, first=number == 0)
        drawn.add_section()
    return drawn


def _add_step(drawn: Table, report: CaseReport, attempt: Attempt, paths: int, *, first: bool) -> None:
    case, rows = report.case, attempt.rows
    gap = [""] * (paths - len(case.paths))
    runs = f"mean of {case.runs} runs" if case.runs > 1 else ""
    change = f"[dim]{attempt.step.title}[/dim]"
    speeds = ["", "", ""]
    if first and report.theirs and report.ours:
        speeds = [
            f"{report.theirs.packets_per_second / 1e3:.0f}",
            f"{report.ours.packets_per_second / 1e3:.0f}",
            f"×{report.ratio:.0f}",
        ]

    def cells(values: Sequence[str]) -> list[str]:
        return [*values[: len(case.paths)], *gap, *values[len(case.paths) :]]

    drawn.add_row(
        f"[bold]{case.name}[/bold]" if first else change,
        "ns-2",
        *cells([f"{row.theirs:.{_digits(row)}f}" for row in rows]),
        speeds[0],
    )
    drawn.add_row(
        f"[dim]{runs}[/dim]",
        "plait",
        *cells([f"{row.ours:.{_digits(row)}f}" for row in rows]),
        speeds[1],
    )
    color = COLORS[attempt.verdict]
    drawn.add_row(
        "",
        "difference",
        *cells([_difference(row) for row in rows]),
        speeds[2],
        f"[{color}]{attempt.verdict}[/{color}]",
    )


def _digits(row: Compared) -> int:
    return 2 if row.name == "occupancy" else 1


def _difference(row: Compared) -> str:
    spread = f" ±{100 * row.error / row.theirs:.1f}" if row.error and row.theirs else ""
    text = f"{100 * row.difference:+.1f}{spread} %"
    return text if row.verdict == AGREES else f"[{COLORS[row.verdict]}]{text}[/{COLORS[row.verdict]}]"


def summarize(console: Console, reports: Sequence[CaseReport]) -> None:
    """Print counts, the cases that do not agree without changes, and the speeds."""
    plain = [report for report in reports if report.as_they_come]
    changed = [report for report in reports if not report.as_they_come and report.verdict == AGREES]
    others = [report for report in reports if report.verdict != AGREES]
    console.print(
        f"\n{len(reports)} cases: {len(plain)} agree as they come, {len(changed)} agree once ns-2's habits are taken"
        f" away, {len(others)} do not agree or cannot be told."
    )
    for title, group in (
        ("Agree without ns-2's habits", changed),
        ("Do not agree, or too sensitive", others),
    ):
        if not group:
            continue
        drawn = Table(title=title, title_justify="left", pad_edge=False)
        for name in ("case", "verdict", "where as they come", "reason"):
            drawn.add_column(name, overflow="fold")
        for report in group:
            verdict = "NOT EXPLAINED" if report.unexplained else report.verdict
            drawn.add_row(report.case.name, verdict, _where(report.attempts[0]), report.reason())
        console.print(drawn)
    ratios = [ratio for report in reports if (ratio := report.ratio) is not None]
    if ratios:
        console.print(
            f"Speed, data packets per second, no trace: ×{min(ratios):.0f} to ×{max(ratios):.0f} ns-2's,"
            f" geometric mean ×{geometric_mean(ratios):.0f}."
        )


def _where(attempt: Attempt) -> str:
    return ", ".join(f"{row.name} {_difference(row)}" for row in attempt.rows if row.verdict != AGREES)
