"""Tables that lose no digit: whatever the terminal's width, a cell is written whole.

A comparison has its runs sideways as long as they fit. If they do not, it is turned round: runs go downwards,
and what is told of them sideways, in as many tables below each other as it takes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from plait.results.summary import NONE, Row

EDGES = 3
"""Columns of the terminal that a column takes beside its text: its padding, and a line."""
HEADING = 30
"""A heading of a row is not made narrower than this if there is room, so that it reads as one."""


def comparison(title: str, runs: Sequence[str], sections: Sequence[Sequence[Row]], width: int) -> list[Table]:
    """What is told of runs, in sections, as tables of at most `width` columns; one, if that is wide enough.

    Args:
        title: stands above.
        runs: their names.
        sections: rows, each with a cell per run.
        width: columns of the terminal; below that of the longest name and a cell, tables are wider.
    """
    rows = [row for section in sections for row in section]
    cells = [max(map(len, (name, *(row.cells[index] for row in rows)))) for index, name in enumerate(runs)]
    left = width - 1 - EDGES - sum(cell + EDGES for cell in cells)
    headings = [row.heading for row in rows]
    if left >= min(HEADING, max(map(len, headings), default=0)):
        return [_sideways(title, runs, sections)]
    return _downwards(title, runs, sections, width)


def print_rows(
    out: Console,
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    breaks: Collection[int] = (),
) -> None:
    """Print a table of which no cell is cut; where the terminal is too narrow for it, a block of lines per row.

    Cells may have Rich's markup. The first column is text, the others numbers. Below the rows of `breaks` is a line.
    """
    plain = [[cell_len(Text.from_markup(cell).plain) for cell in row] for row in rows]
    widths = [max(len(text), *(row[place] for row in plain)) for place, text in enumerate(headings)]
    if sum(width + EDGES for width in widths) + 1 <= out.width:
        table = _new(title, headings[0], no_wrap=True)
        for text in headings[1:]:
            table.add_column(text, justify="right", no_wrap=True)
        for number, row in enumerate(rows):
            table.add_row(*row, end_section=number in breaks)
        out.print(table)
        return
    out.print(f"[italic]{title}[/italic]", highlight=False)
    for first, *others in rows:
        out.print(f"[bold]{first}[/bold]", highlight=False)
        for text, cell in zip(headings[1:], others, strict=True):
            if cell not in ("", NONE):
                out.print(f"  {text}: {cell}", highlight=False)


def _new(title: str, first: str, **column: bool) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column(first, **column)  # type: ignore[arg-type]
    return table


def _sideways(title: str, runs: Sequence[str], sections: Sequence[Sequence[Row]]) -> Table:
    table = _new(title, "metric")
    for name in runs:
        table.add_column(name, justify="right", no_wrap=True)
    for section in sections:
        for row in section:
            table.add_row(row.heading, *row.cells, end_section=row is section[-1])
    return table


def _downwards(title: str, runs: Sequence[str], sections: Sequence[Sequence[Row]], width: int) -> list[Table]:
    room = width - 1 - EDGES - max(map(len, (*runs, "scheduler")))
    blocks: list[list[Row]] = []
    for section in sections:
        left = 0
        for row in section:
            need = _narrowest(row) + EDGES
            if need > left or row is section[0]:
                blocks.append([])
                left = room
            blocks[-1].append(row)
            left -= need
    tables = []
    for number, block in enumerate(blocks):
        table = _new(title if number == 0 else "", "scheduler", no_wrap=True)
        for row in block:
            table.add_column(row.heading, justify="right", width=_narrowest(row))
        for index, name in enumerate(runs):
            table.add_row(name, *(row.cells[index] for row in block))
        tables.append(table)
    return tables


def _narrowest(row: Row) -> int:
    """Columns for a row's cells, and its heading broken between words."""
    return max(map(len, (*row.heading.split(), *row.cells)))
