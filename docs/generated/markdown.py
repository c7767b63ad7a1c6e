"""Small pieces of Markdown."""

from __future__ import annotations

import re
import textwrap

WIDTH = 100
"""Columns of a line of prose."""


def cell(text: str) -> str:
    """Text for a cell of a table: on one line, with nothing in it that would end the cell or open a tag."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def code(text: object) -> str:
    """A value as code."""
    written = str(text).lower() if isinstance(text, bool) else str(text)
    return f"`{written}`" if written else ""


def prose(text: str) -> str:
    """A docstring's text: lines joined to paragraphs, double backquotes made single, indented blocks as code."""
    blocks = re.split(r"\n\s*\n", text.strip())
    made = []
    for block in blocks:
        if block.startswith("    "):
            lines = "\n".join(line.removeprefix("    ") for line in block.splitlines())
            made.append(f"```text\n{lines}\n```")
        else:
            made.append(wrapped(" ".join(block.split()).replace("``", "`")))
    return "\n\n".join(made)


def item(text: str) -> str:
    """A list item, wrapped."""
    return wrapped(text, "- ")


def wrapped(text: str, start: str = "") -> str:
    """Text in lines of `WIDTH` columns; `start` begins the first one, and indents the others.

    No line begins with a mark that would start a list or a heading.
    """
    kept = re.sub(r" (?=(?:[-+*#>|]|\d+[.)]) )", "\u00a0", text)
    filled = textwrap.fill(
        kept,
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace("\u00a0", " ")
