"""Text of a paper's rows for readers."""

from __future__ import annotations

from plait.papers.description import Expected, Paper
from plait.papers.rows import Row
from plait.results.wording import wording


def said(row: Row | Expected, paper: Paper | None = None) -> str:
    """Format the paper's statement: the printed value, or the bounds of a claim."""
    words = wording(row.metric, paper)
    if row.paper is not None:
        return words.number(row.paper) if not row.metric.startswith("model.") else f"{row.paper:g}"
    if row.claim is None:
        return "–"
    low, high = row.claim.at_least, row.claim.at_most
    if low is not None and high is not None:
        return f"{words.number(low)} … {words.number(high)}"
    return f"≥ {words.number(low)}" if low is not None else f"≤ {words.number(high)}"


def difference(row: Row) -> str:
    """Format the difference of measured and printed value, in percent of the printed value."""
    return "" if row.difference is None else f"{row.difference * 100:+.1f} %".replace("-", "−")


def tolerance(row: Row) -> str:
    """Format the tolerance, in percent of the printed value."""
    return "" if row.tolerance is None else f"±{row.tolerance * 100:g} %"


def verdict(row: Row) -> str:
    """Describe the row's agreement in a word."""
    if row.absent:
        return "not here"
    return {True: "agrees", False: "differs", None: ""}[row.agrees]
