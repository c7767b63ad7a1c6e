"""Terminal tables without lost digits: at any width, every cell is printed completely.

A column of numbers is never narrower than its cells; a column of words breaks between words. If the
table is still too wide, it becomes a block of lines per row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

NONE = "–"
"""Text for a missing value."""
READABLE = 24
"""Minimum width of a column of words, or its longest cell if shorter, so that it remains
readable."""
Cell = str | Text
"""A string may have Rich's markup; text from files is a `Text`."""


@dataclass(frozen=True)
class TableStyle:
    """Style of a table, with its needs of terminal columns: between columns and at both ends."""

    box: box.Box | None
    gap: int
    ends: int
    padding: tuple[int, int] = (1, 1)


FRAMED = TableStyle(box.HEAVY_HEAD, gap=3, ends=4)
RULED = TableStyle(box.SIMPLE_HEAD, gap=3, ends=0)
BARE = TableStyle(None, gap=2, ends=0, padding=(0, 2))


@dataclass(frozen=True)
class Content:
    """The content of a table.

    headings: a string per column. rows: the same number of cells each. words: the columns that may
    be broken between words; the others are numbers. breaks: rows below which there is a line. bold:
    emphasized rows.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    words: Collection[int] = (0,)
    breaks: Collection[int] = ()
    bold: Collection[int] = ()

    def only(self, places: Sequence[int]) -> Content:
        """Return the content with only these columns."""
        return replace(
            self,
            headings=[self.headings[place] for place in places],
            rows=[[row[place] for place in places] for row in self.rows],
            words=[at for at, place in enumerate(places) if place in self.words],
        )

    def widths(self, width: int, style: TableStyle) -> list[int] | None:
        """Return the columns' widths in a terminal of `width` columns; None if it is too narrow."""
        least, wanted = [], []
        for place, heading in enumerate(self.headings):
            cells = [_text(row[place]).plain for row in self.rows]
            longest = _longest_line(cells)
            if place in self.words:
                words = max(map(_longest_word, cells), default=0)
                narrow = max(words, min(longest, READABLE))
            else:
                narrow = longest
            least.append(max(_longest_word(heading), narrow))
            wanted.append(max(_longest_line([heading]), longest))
        room = width - style.ends - style.gap * (len(wanted) - 1)
        if sum(least) > room:
            return None
        while sum(wanted) > room:
            widest = max(
                range(len(wanted)),
                key=lambda place: (wanted[place] > least[place], wanted[place] - least[place]),
            )
            wanted[widest] -= 1
        return wanted


def beside(content: Content, width: int, style: TableStyle = FRAMED) -> list[Content]:
    """Split the table into tables of at most `width` columns that repeat the first column.

    A column that is too wide by itself is in a table of its own.
    """
    parts: list[list[int]] = []
    for place in range(1, len(content.headings)):
        longer = [*(parts[-1] if parts else ()), place]
        if parts and content.only((0, *longer)).widths(width, style) is not None:
            parts[-1] = longer
        else:
            parts.append([place])
    return [content.only((0, *part)) for part in parts]


def table(content: Content, width: int, *, title: str = "", style: TableStyle = FRAMED) -> RenderableType:
    """Return a table of at most `width` columns, or a block of lines per row if it is too wide."""
    widths = content.widths(width, style)
    if widths is None:
        return Group(*_blocks(content, title))
    drawn = Table(
        title=title or None,
        title_justify="left",
        header_style="bold" if style.box else "dim",
        box=style.box,
        pad_edge=style.ends > 0,
        show_edge=style.ends > 0,
        padding=(0, style.padding[1], 0, style.padding[0]),
    )
    for place, (heading, columns) in enumerate(zip(content.headings, widths, strict=True)):
        drawn.add_column(heading, justify="left" if place in content.words else "right", width=columns)
    for number, row in enumerate(content.rows):
        weight = "bold" if number in content.bold else None
        drawn.add_row(*map(_text, row), style=weight, end_section=number in content.breaks)
    return drawn


def _blocks(content: Content, title: str) -> list[RenderableType]:
    """Return a row's first cell on a line, and below it the others with their columns' headings.

    Empty cells are left out.
    """
    lines: list[RenderableType] = [Text(title, style="italic")] if title else []
    for number, (first, *others) in enumerate(content.rows):
        name = _text(first)
        name.stylize("bold")
        lines.append(name)
        for heading, cell in zip(content.headings[1:], others, strict=True):
            said = _text(cell)
            if said.plain in ("", NONE):
                continue
            label = " ".join(heading.split())
            line = Text.assemble(f"{label}: " if label else "", said)
            lines.append(Padding(line, (0, 0, 0, 2)))
        if number in content.breaks:
            lines.append(Text())
    return lines


def _text(cell: Cell) -> Text:
    return Text.from_markup(cell) if isinstance(cell, str) else cell.copy()


def _longest_line(cells: Sequence[str]) -> int:
    return max((cell_len(line) for cell in cells for line in cell.split("\n")), default=0)


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
