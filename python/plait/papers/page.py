"""The HTML page of a reproduction: one file, figures embedded, readable on a phone, light or dark."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from plait.papers import wording
from plait.papers.description import Measure, Paper
from plait.papers.headline import HeadlineTable
from plait.papers.rows import Row, differing, lacking
from plait.results.wording import wording as metric_wording


def page(
    paper: Paper, rows: Sequence[Row], table: HeadlineTable, drawings: Sequence[tuple[str, bytes]]
) -> str:
    """Return the page's HTML; `drawings` are titles and PNG images."""
    environment = Environment(
        loader=PackageLoader("plait.papers", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    stated = [row for row in rows if row.stated]
    return environment.get_template("page.html.j2").render(
        paper=paper,
        stated=[_line(paper, row) for row in stated],
        compared=sum(row.compared for row in stated),
        lacking={reason: [_line(paper, row) for row in group] for reason, group in lacking(rows).items()},
        headline=table,
        differing={reason: [_line(paper, row) for row in group] for reason, group in differing(rows).items()},
        agreeing=sum(row.agrees is True for row in stated),
        tables=[pivot(paper, rows, measure) for measure in paper.measures],
        figures=[(title, base64.b64encode(picture).decode()) for title, picture in drawings],
        schedulers=list(paper.schedulers.values()),
    )


def _line(paper: Paper, row: Row) -> dict[str, Any]:
    words = metric_wording(row.metric, paper)
    return {
        "scenario": paper.scenarios[row.scenario].title,
        "scheduler": row.scheduler,
        "metric": words.heading,
        "paper": wording.said(row, paper),
        "claim": row.paper is None,
        "measured": words.number(row.measured),
        "interval": words.interval(row.interval),
        "difference": wording.difference(row),
        "tolerance": wording.tolerance(row),
        "verdict": wording.verdict(row),
        "note": row.remark if row.absent else row.note,
    }


def pivot(paper: Paper, rows: Sequence[Row], measure: Measure) -> dict[str, Any]:
    """Return a measure's values as a table: headings, and one line per scenario and scheduler."""
    values = {(row.scenario, row.scheduler, row.metric): row for row in rows}
    words = [metric_wording(name, paper) for name in measure.metrics]
    lines = []
    for scenario in measure.scenarios:
        for scheduler in measure.schedulers:
            numbers = [
                " ".join(
                    part
                    for row in [values[scenario, scheduler, name]]
                    for part in (word.number(row.measured), word.interval(row.interval))
                    if part
                )
                for word, name in zip(words, measure.metrics, strict=True)
            ]
            lines.append((paper.scenarios[scenario].title, scheduler, numbers))
    return {"headings": [word.heading for word in words], "lines": lines}
