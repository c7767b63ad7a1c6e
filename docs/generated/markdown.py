"""Small pieces of Markdown."""

from __future__ import annotations

import re


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
            made.append(" ".join(block.split()).replace("``", "`"))
    return "\n\n".join(made)
