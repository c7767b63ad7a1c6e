"""Standard output of the commands for tables and lines: text, or LaTeX."""

from __future__ import annotations

import re
import sys
from collections import Counter

import click
from rich.console import Console
from rich.text import Text

from plait.support.latex import booktabs, comment
from plait.support.tables import RULED, Content, table

WIDTH = 160
"""Columns of a table if standard output is not a terminal."""
LATEX_WIDTH = 66
"""Columns of a table in LaTeX, which fit into the text of a page of the class article."""


class Output(Console):
    """Standard output whose broken pipe the command handles, instead of Rich, which would exit."""

    def on_broken_pipe(self) -> None:
        """Raise the exception for the command."""
        raise BrokenPipeError


def console() -> Console:
    """Return standard output; tables have a fixed width if it is not a terminal."""
    return Output() if sys.stdout.isatty() else Output(width=WIDTH)


class Sheet:
    """Standard output for tables and lines: text, or LaTeX, where lines are comments.

    Args:
        latex: whether tables are LaTeX.
        most: maximum number of columns of a text.
    """

    def __init__(self, *, latex: bool = False, most: int | None = None) -> None:
        self.latex, self._console, self._title, self._name = latex, console(), "", ""
        self._labels: Counter[str] = Counter()
        self.width = LATEX_WIDTH if latex else min(self._console.width, most or self._console.width)

    @property
    def bold(self) -> bool:
        """Whether bold cells differ from others: in LaTeX and on a terminal."""
        return self.latex or self._console.is_terminal

    def table(self, content: Content, title: str = "", *, caption: str = "", name: str = "") -> None:
        """Print a table; without a title it continues the table before.

        Args:
            content: the table.
            title: its title.
            caption: the caption in LaTeX; by default the title.
            name: from which the label in LaTeX follows; by default the beginning of the title.
        """
        if self.latex:
            said = caption or title or f"{self._title}, continued"
            self._title = title or self._title
            self._name = name or re.split("[:,(]", title)[0] or self._name
            fitted = content.widths(self.width, RULED) is None
            click.echo(booktabs(content, said, self._label(), fitted=fitted))
        else:
            self._console.print(table(content, self.width, title=title))

    def _label(self) -> str:
        """Return the label of the next table; no other one has it."""
        label = "tab:" + re.sub("[^a-z0-9]+", "-", self._name.lower()).strip("-")
        self._labels[label] += 1
        return label if self._labels[label] == 1 else f"{label}-{self._labels[label]}"

    def line(self, text: str | Text, style: str = "") -> None:
        """Print lines of text, which may have Rich's markup."""
        if self.latex:
            plain = text if isinstance(text, Text) else Text.from_markup(text)
            click.echo(comment(plain.plain), nl=False)
        else:
            self._console.print(text, style=style, highlight=False, width=self.width)
