"""The advice as a screen of text: words and the table of evidence."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TypeVar

from rich.console import Console, Group, RenderableType
from rich.text import Text

from plait.advice import basis, doing, further, numbers, wording
from plait.advice.findings import Findings
from plait.advice.judging import WORTH_PERCENT, Standing
from plait.advice.statement import Statement
from plait.support.tables import RULED, Cell, Content, table

WIDTH = 110
Column = TypeVar("Column")


def before(advice: Findings) -> list[Statement]:
    """What stands before the evidence."""
    return [
        wording.heading(advice),
        *further.losses(advice),
        *wording.expectation(advice),
        *wording.places(advice),
        *wording.alternatives(advice),
    ]


def after(advice: Findings) -> list[Statement]:
    """What stands behind it: other questions, and what all of it rests on."""
    return [
        *further.receive_buffer(advice),
        *further.thresholds(advice),
        *doing.statements(advice),
        *basis.traffic(advice),
        *(Statement("basis", line) for line in (*basis.simulated(advice), *basis.limits(advice))),
    ]


STYLES = {"heading": "bold", "capped": "bold red", "measure": "bold", "do": "bold", "basis": "dim"}


def page(advice: Findings, width: int = WIDTH) -> Group:
    """The recommendation, the evidence, the buffer, and what this rests on, for so many columns of a terminal."""

    def lines(said: list[Statement]) -> list[RenderableType]:
        return [Text(one.text, style=STYLES.get(one.kind, "")) for one in said]

    return Group(*lines(before(advice)), Text(), evidence(advice, width), Text(), *lines(after(advice)))


def evidence(advice: Findings, width: int) -> RenderableType:
    """Schedulers and single paths, the best first; with the columns that matter most where there is little room."""
    traffic, count = advice.setting.traffic, advice.simulated.variations
    factor, unit = _unit(advice)
    scale = factor * (1e3 if traffic.in_ms else 1.0)
    best = recommended(advice) or advice.single
    slow, slow_unit = numbers.unit([best.delay_ms / 1e3], "time")
    counted = traffic.kind in ("blocks", "request-response", "flows")
    last = "all arrive\nin" if counted else f"packet delay\np95 ({slow_unit})"
    titles = (
        f"{traffic.judged}\n({unit})",
        f"{wording.covered(count)}\nvariations",
        f"% better than\n{advice.single.label}\n(95 % interval)",
        f"{WORTH_PERCENT:.0f} % better\nin",
        last,
    )
    rows: list[tuple[Cell, ...]] = []
    for one in advice.standings:
        cells = (
            numbers.digits(one.value / scale),
            f"{numbers.digits(one.low / scale)} … {numbers.digits(one.high / scale)}",
            _against(one),
            "–" if one.gain is None else f"{one.worth_in} of {count}",
            f"{one.whole_in} of {count}" if counted else numbers.digits(one.delay_ms / 1e3 / slow),
        )
        rows.append((Text(one.label), *(Text(cell) for cell in cells)))
    bold = [number for number, one in enumerate(advice.standings) if one is recommended(advice)]
    content = Content(("", *titles), rows, bold=bold)
    if content.widths(width, RULED) is None:
        content = Content(_kept(("", *titles)), [_kept(row) for row in rows], bold=bold)
    return table(content, width, look=RULED)


def recommended(advice: Findings) -> Standing | None:
    """The row of what the advice says to use."""
    if advice.verdict == "nothing":
        return None
    if advice.choice is None or advice.verdict == "not worth":
        return advice.single
    return advice.choice.best


def text(advice: Findings) -> str:
    """The page as plain text."""
    out = Console(file=io.StringIO(), width=WIDTH, color_system=None, legacy_windows=False)
    out.print(page(advice))
    assert isinstance(out.file, io.StringIO)
    return "\n".join(line.rstrip() for line in out.file.getvalue().splitlines())


def _unit(advice: Findings) -> tuple[float, str]:
    """The unit of the scores' column: of the best ones, so that collapsed ones do not decide."""
    best = recommended(advice) or advice.single
    if advice.setting.traffic.more_is_better:
        return numbers.unit([best.value], "rate")
    seconds = best.value / (1e3 if advice.setting.traffic.in_ms else 1.0)
    return numbers.unit([seconds], "time")


def _kept(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of a narrow terminal: who, the value, the change, and in how many variations it is worth it."""
    return (columns[0], columns[1], columns[3], columns[4])


def _against(one: Standing) -> str:
    """The gain in percent and its interval, without the sign of percent; more is better."""
    if one.gain is None:
        return "–"
    percents = [one.gain.value, *(one.gain.interval or ())]
    factor = one.gain.value >= numbers.TENFOLD
    value, *interval = (numbers.signed(percent, factor=factor).removesuffix(" %") for percent in percents)
    return value + (f" ({' … '.join(interval)})" if len(set(interval)) > 1 else "")
