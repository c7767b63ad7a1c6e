"""Tables that compare runs: one column per run as long as they fit, otherwise one row per run.

With one row per run, the metrics are columns, in as many tables below each other as needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from plait.results.summary import Row
from plait.support.tables import FRAMED, Content

HEADING = 30
"""Minimum width of a row's heading, if there is room, so that it remains readable."""


def comparison(
    title: str, runs: Sequence[str], sections: Sequence[Sequence[Row]], width: int
) -> list[tuple[str, Content]]:
    """Return the rows of runs, in sections, as titles and tables of at most `width` columns.

    There is one table if `width` is sufficient.

    Args:
        title: title above the table.
        runs: names of the runs.
        sections: rows, each with a cell per run.
        width: columns of the terminal.
    """
    rows = [row for section in sections for row in section]
    cells = [max(map(len, (name, *(row.cells[index] for row in rows)))) for index, name in enumerate(runs)]
    left = width - FRAMED.ends - sum(cell + FRAMED.gap for cell in cells)
    headings = [row.heading for row in rows]
    if left >= min(HEADING, max(map(len, headings), default=0)):
        ends = [sum(map(len, sections[: number + 1])) - 1 for number in range(len(sections))]
        content = Content(
            ["metric", *runs],
            [[Text(row.heading), *(_marked(row, index) for index in range(len(runs)))] for row in rows],
            breaks=ends[:-1],
        )
        return [(title, content)]
    return _downwards(title, runs, sections, width)


def _downwards(
    title: str, runs: Sequence[str], sections: Sequence[Sequence[Row]], width: int
) -> list[tuple[str, Content]]:
    room = width - FRAMED.ends - max(map(len, (*runs, "scheduler")))
    blocks: list[list[Row]] = []
    for section in sections:
        left = 0
        for row in section:
            need = _narrowest(row) + FRAMED.gap
            if need > left or row is section[0]:
                blocks.append([])
                left = room
            blocks[-1].append(row)
            left -= need
    if any(len(block) == 1 and _narrowest(block[0]) + FRAMED.gap > room for block in blocks):
        blocks = [[row for section in sections for row in section]]  # nothing fits: a block per run
    return [
        (
            title if number == 0 else "",
            Content(
                ["scheduler", *(row.heading for row in block)],
                [[Text(name), *(_marked(row, index) for row in block)] for index, name in enumerate(runs)],
            ),
        )
        for number, block in enumerate(blocks)
    ]


def _marked(row: Row, index: int) -> Text:
    """Return a run's cell; the best one is bold."""
    return Text(row.cells[index], style="bold" if index in row.best else "")


def _narrowest(row: Row) -> int:
    """Return the columns of a row's cells, with its heading broken between words."""
    return max(map(len, (*row.heading.split(), *row.cells)))
