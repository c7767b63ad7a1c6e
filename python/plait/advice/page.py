"""The advice as a screen of text: words and the table of evidence."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console, ConsoleRenderable, Group
from rich.table import Table
from rich.text import Text

from plait.advice import basis, numbers, wording
from plait.advice.findings import Findings
from plait.advice.judging import WORTH_PERCENT, Standing

WIDTH = 110
HEADINGS = {"bulk": "goodput", "blocks": "block delay", "file": "time"}


def page(advice: Findings, *, wide: bool = True) -> Group:
    """The recommendation, the evidence, the buffer, and what this rests on; `wide` is for `WIDTH` columns."""
    parts: list[ConsoleRenderable] = [Text(wording.heading(advice), style="bold")]
    for lines in (wording.expectation(advice), wording.alternatives(advice)):
        parts += [Text(line) for line in lines]
    parts += [Text(), evidence(advice, wide=wide), Text()]
    for lines in (wording.receive_buffer(advice), wording.thresholds(advice)):
        parts += [Text(line) for line in lines]
    parts += [Text(line, style="dim") for line in (*basis.simulated(advice), *basis.limits(advice))]
    return Group(*parts)


def evidence(advice: Findings, *, wide: bool = True) -> Table:
    """Schedulers and single paths, the best first; the columns that matter most unless `wide`."""
    traffic, count = advice.setting.traffic, advice.simulated.variations
    factor, unit = _unit(advice)
    scale = factor * (1e3 if traffic.kind == "blocks" else 1.0)
    best = recommended(advice) or advice.single
    slow, slow_unit = numbers.unit([best.delay_ms / 1e3], "time")
    last = "all arrive\nin" if traffic.kind == "blocks" else f"packet delay\np95 ({slow_unit})"
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("", no_wrap=True)
    titles = (
        f"{HEADINGS[traffic.kind]}\n{'p95 ' * (traffic.kind == 'blocks')}({unit})",
        "nine of ten\nvariations",
        f"% against {advice.single.label}\n(95 % interval)",
        f"{WORTH_PERCENT:.0f} % better\nin",
        last,
    )
    for title in _kept(titles, wide):
        table.add_column(title, justify="right", no_wrap=True)
    for one in advice.standings:
        cells = (
            numbers.digits(one.value / scale),
            f"{numbers.digits(one.low / scale)} … {numbers.digits(one.high / scale)}",
            _against(one),
            "–" if one.change is None else f"{one.worth_in} of {count}",
            f"{one.whole_in} of {count}"
            if traffic.kind == "blocks"
            else numbers.digits(one.delay_ms / 1e3 / slow),
        )
        table.add_row(one.label, *_kept(cells, wide), style="bold" if one is recommended(advice) else None)
    return table


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
    if advice.setting.traffic.kind == "bulk":
        return numbers.unit([best.value], "rate")
    seconds = best.value / (1e3 if advice.setting.traffic.kind == "blocks" else 1.0)
    return numbers.unit([seconds], "time")


def _kept(columns: tuple[str, ...], wide: bool) -> tuple[str, ...]:
    """All columns, or those of 80 characters: the value, the change, and in how many variations it is worth it."""
    return columns if wide else (columns[0], columns[2], columns[3])


def _against(one: Standing) -> str:
    """The change in percent and its interval, without the sign of percent."""
    if one.change is None:
        return "–"
    percents = [one.change.value, *(one.change.interval or ())]
    factor = one.change.value >= numbers.TENFOLD
    value, *interval = (numbers.signed(percent, factor=factor).removesuffix(" %") for percent in percents)
    return value + (f" ({' … '.join(interval)})" if interval else "")
