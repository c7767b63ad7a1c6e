"""The advice as a screen of text: words and the table of evidence."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TypeVar

from rich.console import Console, Group, RenderableType
from rich.text import Text

from plait.advice import basis, doing, further, numbers, remarks, wording
from plait.advice.findings import Findings
from plait.advice.judging import WORTH_PERCENT, Standing, collapsed
from plait.advice.statement import Statement
from plait.support.tables import RULED, Cell, Content, table

WIDTH = 110
Column = TypeVar("Column")


def before(advice: Findings) -> list[Statement]:
    """Return the statements before the evidence."""
    return [
        wording.heading(advice),
        *remarks.upload(advice),
        *remarks.better(advice),
        *remarks.queue(advice),
        *remarks.directions(advice),
        *remarks.processor(advice),
        *(further.udp(advice) if advice.asked.kind == "blocks" else []),
        *further.losses(advice),
        *further.outages(advice),
        *wording.expectation(advice),
        *remarks.remarks(advice),
        *wording.places(advice),
        *remarks.copies(advice),
    ]


def after(advice: Findings) -> list[Statement]:
    """Return the statements after the evidence: other questions, and the basis of the advice."""
    return [
        *further.receive_buffer(advice),
        *further.thresholds(advice),
        *(further.udp(advice) if advice.asked.kind != "blocks" else []),
        *doing.statements(advice),
        *basis.traffic(advice),
        *(Statement("basis", line) for line in (*basis.simulated(advice), *basis.limits(advice))),
    ]


STYLES = {
    "heading": "bold",
    "capped": "bold red",
    "delayed": "bold red",
    "outages": "bold red",
    "processor": "bold red",
    "upload": "bold red",
    "measure": "bold",
    "do": "bold",
    "note": "dim",
    "basis": "dim",
}
UNBROKEN = ("note", "command")
"""Lines for a shell: never wrapped, even on a narrow screen."""


def page(advice: Findings, width: int = WIDTH) -> Group:
    """Return the whole advice, its prose and table for `width` columns.

    Print it with `crop=False`: commands may be longer.
    """

    def lines(said: list[Statement]) -> list[RenderableType]:
        return [_line(one) for one in said]

    return Group(*lines(before(advice)), Text(), evidence(advice, width), Text(), *lines(after(advice)))


def _line(one: Statement) -> Text:
    style = STYLES.get(one.kind, "")
    if one.kind in UNBROKEN:
        return Text(one.text, style=style, no_wrap=True, overflow="ignore")
    return Text(one.text, style=style)


def evidence(advice: Findings, width: int) -> RenderableType:
    """Return the table of schedulers and single paths, the best first.

    Rows of equal figures are merged; a note below names their schedulers. A narrow screen gets the
    most important columns.
    """
    traffic, count = advice.setting.traffic, advice.simulated.variations
    factor, unit = _unit(advice)
    scale = factor * (1e3 if traffic.in_ms else 1.0)
    best = recommended(advice) or advice.single
    slow, slow_unit = numbers.unit([best.delay_ms / 1e3], "time")
    counted = traffic.kind in ("blocks", "request-response", "flows")
    last = "all arrive\nin" if counted else f"packet delay\np95 ({slow_unit})"
    if traffic.beside:
        last = f"{traffic.beside}\n(Mbit/s)"
    titles = (
        f"{traffic.judged}\nmedian ({unit})",
        f"{wording.covered(count)}\nvariations",
        f"% better than\n{advice.single.label},\nmean (95 % interval)",
        f"{WORTH_PERCENT:.0f} % better\nin",
        last,
        "than the\nadvised",
    )
    compared = advice.several
    same: dict[tuple[str, ...], list[Standing]] = {}
    for one in advice.standings:
        figures = (
            numbers.digits(one.value / scale),
            f"{numbers.digits(one.low / scale)} … {numbers.digits(one.high / scale)}",
            _against(one),
            "–" if one.gain is None else f"{one.worth_in} of {count}",
            _last(advice, one) if counted else numbers.digits(one.delay_ms / 1e3 / slow),
        )
        # A single path has a row of its own. The advised scheduler shares its row with equally good
        # ones.
        kind = (
            one.label
            if one.candidate.scheduler is None
            else "as good"
            if one is best
            else _judged(advice, one)
        )
        same.setdefault((*figures, kind), []).append(one)
    rows: list[tuple[Cell, ...]] = []
    notes, bold = [], []
    for number, (key, ones) in enumerate(same.items()):
        first = best if best in ones else ones[0]
        rest = [one.label for one in ones if one is not first]
        if rest:
            more = f" (+{len(rest)})"
            notes.append(Text(f"{more.strip()} The same figures as {first.label}: {wording.listed(rest)}."))
        else:
            more = ""
        if first is best:
            bold.append(number)
        cells = (*key[:-1], _judged(advice, first)) if compared else key[:-1]
        rows.append((Text(first.label + more), *map(Text, cells)))
    content = Content(("", *titles[: len(rows[0]) - 1]), rows, bold=bold)
    if content.widths(width, RULED) is None:
        content = Content(_kept(content.headings), [_kept(row) for row in rows], bold=bold)
    return Group(table(content, width, style=RULED), *notes)


def _last(advice: Findings, one: Standing) -> str:
    """Return the goodput of the transfer beside, or the number of variations with all data."""
    if advice.setting.traffic.beside:
        return numbers.digits(one.beside_bps / 1e6)
    return f"{one.whole_in} of {advice.simulated.variations}"


def _judged(advice: Findings, one: Standing) -> str:
    """Return one word that compares a scheduler with the chosen one."""
    choice = advice.choice
    if choice is None or one is choice.best or one.candidate.scheduler is None:
        return "–"
    for word, names in (("better", choice.better), ("as good", choice.alike), ("not told", choice.undecided)):
        if one.label in names:
            return word
    return "avoid" if collapsed(one, advice.setting.traffic) else "worse"


def recommended(advice: Findings) -> Standing | None:
    """Return the row of the recommendation."""
    if advice.verdict == "nothing":
        return None
    return advice.choice.best if advice.choice is not None and advice.several else advice.single


def text(advice: Findings) -> str:
    """Return the page as plain text."""
    out = Console(file=io.StringIO(), width=WIDTH, color_system=None, legacy_windows=False)
    out.print(page(advice), crop=False)
    assert isinstance(out.file, io.StringIO)
    return "\n".join(line.rstrip() for line in out.file.getvalue().splitlines())


def _unit(advice: Findings) -> tuple[float, str]:
    """Return the unit of the score column, from the best scores: collapsed ones do not decide."""
    best = recommended(advice) or advice.single
    if advice.setting.traffic.more_is_better:
        return numbers.unit([best.value], "rate")
    seconds = best.value / (1e3 if advice.setting.traffic.in_ms else 1.0)
    return numbers.unit([seconds], "time")


def _kept(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return a narrow terminal's columns: label, value, gain, and variations with that gain."""
    return (columns[0], columns[1], columns[3], columns[4])


def _against(one: Standing) -> str:
    """Return the gain and its interval without the percent sign; long delays are multiples."""
    if one.gain is None:
        return "–"
    percents = [one.gain.value, *(one.gain.interval or ())]
    if one.gain.value < -numbers.TENFOLD:
        value, *interval = (numbers.digits(1 - percent / 100) for percent in percents)
        value, interval = f"{value} times", interval[::-1]
    else:
        factor = one.gain.value >= numbers.TENFOLD
        value, *interval = (numbers.signed(percent, factor=factor).removesuffix(" %") for percent in percents)
    return value + (f" ({' … '.join(interval)})" if len(set(interval)) > 1 else "")
