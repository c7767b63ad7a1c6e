"""The headline table: a paper's main result, printed and measured, one line per scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plait.papers.description import Paper
from plait.papers.rows import measure
from plait.papers.runs import Results
from plait.papers.wording import said
from plait.results.wording import wording


@dataclass(frozen=True)
class HeadlineTable:
    """Headings as (case, metric), and lines of cells; a dash marks a missing value."""

    headings: Sequence[tuple[str, str]]
    printed: Sequence[tuple[str, Sequence[str]]]
    measured: Sequence[tuple[str, Sequence[str]]]

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [
            " | ".join(["", *(f"{case}:<br>{metric}" for case, metric in self.headings)]),
            " | ".join(["---", *["--:"] * len(self.headings)]),
            *(" | ".join([f"*{label}*", *cells]) for label, cells in self.printed),
            *(" | ".join([f"`{label}`", *cells]) for label, cells in self.measured),
        ]
        return "\n".join(f"| {line} |" for line in lines)


def headline(paper: Paper, results: Results) -> HeadlineTable:
    """Return the paper's values for the baseline and its scheduler, and the measured values."""
    words = [wording(name, paper) for _, name in paper.headline.columns]
    printed = []
    for label in dict.fromkeys(one.scheduler for one in paper.expected.values() if one.scheduler != "model"):
        cells = [
            "–" if (one := paper.expected.get((case, label, name))) is None else said(one, paper)
            for case, name in paper.headline.columns
        ]
        if any(cell != "–" for cell in cells):
            numbers = any(one.paper is not None for one in paper.expected.values() if one.scheduler == label)
            printed.append((f"{'printed' if numbers else 'claimed'}: {label}", cells))
    measured = []
    for label in paper.headline.schedulers:
        cells = []
        for word, (case, name) in zip(words, paper.headline.columns, strict=True):
            to_itself = label == paper.baseline and name.startswith("change.")
            cells.append("–" if to_itself else word.number(measure(paper, results, case, label, name)))
        measured.append((label, cells))
    headings = [
        (paper.scenarios[case].title, word.heading)
        for (case, _), word in zip(paper.headline.columns, words, strict=True)
    ]
    return HeadlineTable(headings, printed, measured)
