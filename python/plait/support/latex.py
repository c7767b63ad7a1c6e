r"""Tables for LaTeX papers, with the rules of the package booktabs.

A document needs ``\usepackage{booktabs}``.
"""

from __future__ import annotations

import textwrap

from rich.text import Text

from plait.support.tables import Cell, Content

ESCAPES = {
    "\\": r"\textbackslash{}",
    **{one: f"\\{one}" for one in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "−": "$-$",
    "…": r"\,\dots\,",
    "–": "--",
    "±": r"$\pm$",
    "×": r"$\times$",
    "µ": r"\textmu{}",
    "▲": r"$\triangle$",
    "λ": r"$\lambda$",
    "η": r"$\eta$",
}
"""Characters that LaTeX reads as commands, or that its common fonts lack."""
HEADING = 16
"""Least characters of a heading's line."""


def escaped(text: str) -> str:
    """Return a text whose special characters LaTeX prints."""
    return "".join(ESCAPES.get(one, one) for one in text)


def booktabs(content: Content, title: str = "", label: str = "", *, fitted: bool = False) -> str:
    """Return a table's content as LaTeX.

    Columns of words are aligned left, those of numbers right. Bold text stays bold.

    Args:
        content: the table.
        title: its caption.
        label: the name for references, such as ``tab:goodput``.
        fitted: shrink the table to the width of the text, with the package graphicx.
    """
    columns = "".join("l" if place in content.words else "r" for place in range(len(content.headings)))
    lines = [r"\begin{table}", r"\centering\small"]
    if title:
        lines.append(f"\\caption{{{escaped(title)}}}")
    if label:
        lines.append(f"\\label{{{label}}}")
    if fitted:
        lines.append(r"\resizebox{\linewidth}{!}{%")
    lines += [f"\\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule"]
    headings = [_heading(text, _longest(content, place)) for place, text in enumerate(content.headings)]
    lines += [f"{' & '.join(headings)} \\\\", r"\midrule"]
    for number, row in enumerate(content.rows):
        lines.append(f"{' & '.join(map(_cell, row))} \\\\")
        if number in content.breaks and number + 1 < len(content.rows):
            lines.append(r"\midrule")
    end = r"\end{tabular}}" if fitted else r"\end{tabular}"
    return "\n".join([*lines, r"\bottomrule", end, r"\end{table}"]) + "\n"


def comment(text: str) -> str:
    """Return lines of text as LaTeX's comments, with the marks that the tables have."""
    marked = text.replace("▲", ESCAPES["▲"])
    return "".join(f"% {line.strip()}\n" for line in marked.splitlines())


def _longest(content: Content, place: int) -> int:
    """Return the characters of a column's longest cell, or enough for a few words of its heading."""
    return max([HEADING, *(len(_text(row[place]).plain) for row in content.rows)])


def _heading(text: str, width: int) -> str:
    """Return a heading in lines of at most `width` characters, aligned at the last one."""
    lines = [escaped(part) for line in text.split("\n") for part in textwrap.wrap(line, width)] or [""]
    if len(lines) == 1:
        return lines[0]
    inner = r" \\ ".join(lines)
    return f"\\begin{{tabular}}[b]{{@{{}}r@{{}}}}{inner}\\end{{tabular}}"


def _cell(cell: Cell) -> str:
    text = _text(cell)
    said = escaped(text.plain)
    bold = "bold" in str(text.style) or any("bold" in str(span.style) for span in text.spans)
    return f"\\textbf{{{said}}}" if bold else said


def _text(cell: Cell) -> Text:
    return Text.from_markup(cell) if isinstance(cell, str) else cell
