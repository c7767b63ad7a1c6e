"""Markdown pages with tables and numbers that a program fills in.

A table stands between ``<!-- measured: NAME -->`` and ``<!-- end -->`` on lines of their own, a
value between ``<!-- value: NAME -->`` and ``<!-- end -->`` in a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from plait._core import ScenarioError
from plait.support.words import expected


def fill(text: str, tables: Mapping[str, str], values: Mapping[str, str]) -> str:
    """Return the page with its tables and values replaced by new ones.

    Raises:
        ScenarioError: the page names an unknown table or value, or lacks a table.
    """
    names = tables_wanted(text)
    if sorted(names) != sorted(tables):
        wanted, found = ", ".join(tables), ", ".join(names) or "none"
        message = f"page: expected each of the tables {wanted} once, found {found}"
        raise ScenarioError(message)

    def value(found: re.Match[str]) -> str:
        if found[2] not in values:
            message = f"page: value {found[2]!r}: unknown{expected(found[2], list(values))}"
            raise ScenarioError(message)
        return f"{found[1]}{values[found[2]]}{found[3]}"

    def table(found: re.Match[str]) -> str:
        return f"{found[1]}{tables[found[2]]}\n{found[3]}"

    text = re.sub(r"(<!-- measured: (.+?) -->\n).*?(<!-- end -->)", table, text, flags=re.DOTALL)
    return re.sub(r"(<!-- value: (.+?) -->).*?(<!-- end -->)", value, text)


def tables_wanted(text: str) -> list[str]:
    """Return the names of a page's tables."""
    return re.findall(r"<!-- measured: (.+?) -->", text)


def values_in(text: str) -> dict[str, str]:
    """Return the values of a page, by name, so that another page can repeat them."""
    return dict(re.findall(r"<!-- value: (.+?) -->(.*?)<!-- end -->", text))


def markdown(
    headings: Sequence[str], lines: Sequence[Sequence[str]], text_columns: Sequence[int] = (0,)
) -> str:
    """Return a table in Markdown; text columns are aligned left, the others (numbers) right."""
    marks = ["---" if index in text_columns else "--:" for index in range(len(headings))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [headings, marks, *lines])
