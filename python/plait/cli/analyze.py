"""`plait analyze`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from plait._core import ScenarioError
from plait.cli.options import JSON, LABEL, LATEX, WHERE, conditions, excludes, labels_of
from plait.cli.output import print_json
from plait.cli.sheet import Sheet
from plait.results.summary import count as count_of
from plait.results.summary import heading
from plait.results.wording import PERCENT, Wording, wording
from plait.scenarios.repetition import MEANING
from plait.support.tables import Content, beside

if TYPE_CHECKING:
    from plait.analysis import AgainstBaseline, Analysis, MetricAnalysis, Part
    from plait.statistics.estimate import Estimate
    from plait.sweep.dataset import Dataset

WIDTH = 120
"""Maximum columns of its tables."""
AHEAD, SURE = "▲", "*"
"""Marks of the best scheduler of a region, and of a change that is unlikely to be chance."""
FEW = 5
"""Units below which percentages have no interval: Fieller's are very wide then."""
MOST_PERCENT = 1000
"""The largest change that is printed in percent."""


@click.command("analyze")
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="A metric such as app_delay_ms.p95 or paths.lte.throughput_bps; may be repeated. Default: goodput, "
    "mean application delay and mean receive buffer.",
)
@click.option(
    "--baseline", metavar="SCHEDULER", help="The scheduler to compare with; default: the plan's first."
)
@click.option(
    "--by",
    metavar="VARIABLE,…",
    help="Compare by combinations of these variables' ranges; default: by each variable alone.",
)
@click.option("--tie", default="1%", show_default=True, help="Values that differ by less count as equal.")
@WHERE
@LABEL
@JSON
@LATEX
def analyze_command(
    dataset: Path,
    metrics: tuple[str, ...],
    baseline: str | None,
    by: str | None,
    tie: str,
    where: Sequence[str],
    labels: Sequence[str],
    as_json: bool,
    latex: bool,
) -> None:
    """Compare the schedulers of a sweep's DATASET.

    Paired runs have the same scenario, losses and perturbation. Intervals are of 95 %.
    """
    excludes("--latex", latex, json=as_json)
    from plait.analysis import analyze
    from plait.sweep import read

    variables = None if by is None else [name.strip() for name in by.split(",") if name.strip()]
    rows = read(dataset).where(conditions(where)).labelled(labels_of(labels))
    found = analyze(rows, metrics=metrics, baseline=baseline, by=variables, tie=_share(tie))
    if as_json:
        print_json(found.document())
        return
    _print(found, Sheet(latex=latex, most=WIDTH))


def _share(text: str) -> float:
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError as error:
        message = f"--tie {text!r}: expected a share such as 1%"
        raise ScenarioError(message) from error


def _print(found: Analysis, sheet: Sheet) -> None:
    from plait.analysis.regions import ENOUGH

    dataset = found.dataset
    whole = found.metrics[0].whole
    sheet.line(
        f"[bold]{dataset.name}[/bold]: {dataset.runs:,} runs; {whole.pairs:,} pairs per scheduler, "
        f"{whole.units:,} {whole.kind}; against {found.baseline}"
    )
    if dataset.identical.note is not None:
        sheet.line(f"[yellow]{dataset.identical.note}[/yellow]")
    if whole.units < ENOUGH:
        units = count_of(whole.units, whole.kind[:-1])
        text = f"only {units}: too few for reliable intervals and p{_more(found, whole)}"
        sheet.line(Text(text, style="yellow"))
    for label, names in dataset.averaged.items():
        sheet.line(Text(f"{label}: means over the values of {', '.join(names)}", style="yellow"))
    if found.slices is not None:
        sheet.line(Text(found.slices, style="yellow"))
    for name, count in found.failures.items():
        text = f"{name}: {count:,} runs failed, and their pairs are left out: {found.reasons[name]}"
        sheet.line(Text(text, style="red"))
    for one in found.metrics:
        words = wording(one.metric)
        _print_whole(sheet, found, one, words)
        if one.regions:
            _print_regions(sheet, found, one, words)
    sheet.line(_meaning(found), "dim")


def _more(found: Analysis, whole: Part) -> str:
    """Name the options that give more units, if a point has more seeds than there are points."""
    names = found.dataset.varied
    if whole.kind != "points" or not names or whole.pairs <= whole.units**2:
        return ""
    return f"; {' '.join(f'--where {name}=VALUE' for name in names)} compares over seeds"


def _print_whole(sheet: Sheet, found: Analysis, one: MetricAnalysis, words: Wording) -> None:
    more = "more" if one.higher_is_better else "less"
    headings = (
        "scheduler",
        "mean",
        "better by (95 %)",
        "in % (95 %)",
        "effect size",
        "win tie loss",
        "p",
        "best in",
    )
    part, signed, way = one.whole, replace(words, signed=True), 1 if one.higher_is_better else -1
    baseline = part.comparisons[0].baseline
    best = f"{part.best[found.baseline]:,}"
    rows = [[found.baseline, words.number(baseline), *["–"] * 5, best]]
    for one_of in part.comparisons:
        row = one_of.turned(way)
        cells = (
            row.scheduler,
            words.number(row.mean),
            f"{signed.number(row.difference.value)} {signed.interval(row.difference.interval)}".rstrip(),
            _percent(row.change, interval=part.units >= FEW),
            "–" if row.effect_size is None else f"{row.effect_size:+.2f}".replace("-", "−"),
            f"{row.wins:,}/{row.ties:,}/{row.losses:,}",
            _p(row.p),
            f"{part.best[row.scheduler]:,}",
        )
        rows.append([*cells])
    title, terms = f"{heading(one.metric)}, {more} is better", _terms(found, part)
    if sheet.latex:
        caption = " ".join(filter(None, [f"{title[:1].upper()}{title[1:]}.", *terms.values(), _doubt(part)]))
        sheet.table(Content(headings, rows), caption=caption, name=one.metric)
    else:
        _print_beside(sheet, Content(headings, rows), title, terms, one.metric)


def _doubt(whole: Part) -> str:
    """Return the warning of few units, as the sentence of a caption; empty if they are enough."""
    from plait.analysis.regions import ENOUGH

    if whole.units >= ENOUGH:
        return ""
    return f"Only {count_of(whole.units, whole.kind[:-1])}: too few for reliable intervals and p."


def _terms(found: Analysis, part: Part) -> dict[str, str]:
    """Return the meaning of each column for the caption of a table in LaTeX."""
    kind = part.kind
    return {
        "mean": f"Mean: over {count_of(part.units, kind[:-1])}.",
        "better by (95 %)": f"Better by: difference of pairs from {found.baseline}, with its interval of 95 %.",
        "in % (95 %)": f"In %: this difference in percent of the mean of {found.baseline}.",
        "effect size": "Effect size: Cohen's d_z.",
        "win tie loss": f"Win, tie, loss: {kind} in which it is better, equal within {found.tie * 100:g} %, worse.",
        "p": "p: Student's test of the differences, corrected for the number of schedulers (Holm).",
        "best in": f"Best in: {kind} in which no other one is better.",
    }


def _print_beside(sheet: Sheet, content: Content, title: str, terms: Mapping[str, str], name: str) -> None:
    """Print a table; if it is too wide, split it into parts that each repeat the first column.

    In LaTeX, a caption has the terms of its columns; those of the first column are in all captions.
    """
    head = f"{title[:1].upper()}{title[1:]}"
    for number, part in enumerate(beside(content, sheet.width)):
        said = [terms[heading] for heading in part.headings if heading in terms]
        caption = " ".join([f"{head}{', continued' * (number > 0)}.", *said])
        sheet.table(part, title * (number == 0), caption=caption, name=name)


def _print_regions(sheet: Sheet, found: Analysis, one: MetricAnalysis, words: Wording) -> None:
    """Print a row per scheduler and a column per region: the improvement over the baseline."""
    from plait.analysis.regions import ENOUGH

    regions = [Text(_name(part, found.dataset)) for part in one.regions]
    way = 1 if one.higher_is_better else -1
    unit = f" ({words.unit})" if words.unit else ""
    counted = [f"{part.units:,}" + " !" * part.few for part in one.regions]
    means = [
        words.number(part.comparisons[0].baseline) + _ahead(part, found.baseline) for part in one.regions
    ]
    kinds = {part.kind for part in one.regions}
    units = kinds.pop() if len(kinds) == 1 else "points or seeds"
    rows: list[Sequence[str]] = [[units, *counted], [f"{found.baseline}{unit}", *means]]
    for place, row in enumerate(one.whole.comparisons):
        cells = [
            _cell(part.comparisons[place].turned(way), words) + _ahead(part, row.scheduler)
            for part in one.regions
        ]
        rows.append([row.scheduler, *cells])
    content = Content(["", *(text.plain for text in regions)], rows, breaks=[1])
    marks = (
        f"In percent of its mean; positive is better. {SURE}: the interval of 95 % excludes zero. {AHEAD}: the best "
        f"mean, beyond chance. !: fewer than {ENOUGH} {units}, not reliable."
    )
    title = f"{words.label}: better than {found.baseline} by, in %"
    _print_beside(sheet, content, title, {"": marks}, f"{one.metric} regions")
    few = [part for part in one.regions if part.few]
    if few:
        text = (
            f"[yellow]! fewer than {ENOUGH} {units}: the intervals of {len(few)} of "
            f"{count_of(len(one.regions), 'region')} are not reliable[/yellow]"
        )
        sheet.line(text)


def _name(part: Part, dataset: Dataset) -> str:
    """Format a region as a heading: a line with the name and range of each variable."""
    return "\n".join(f"{one.variable} {one} {dataset.unit(one.variable)}".strip() for one in part.region)


def _ahead(part: Part, scheduler: str) -> str:
    return f" {AHEAD}" if part.ahead == scheduler else ""


def _cell(row: AgainstBaseline, words: Wording) -> str:
    """Format the change in percent; the difference where percents of a tiny value mean little."""
    change = row.change
    if change is None or abs(change.value) > MOST_PERCENT:
        return f"{replace(words, signed=True).number(row.difference.value)} {words.unit}{SURE * row.beyond_chance}"
    colour = "green" if row.wins > row.losses else "red" if row.losses > row.wins else "default"
    return f"[{colour}]{_percent(change)}{SURE * row.beyond_chance}[/{colour}]"


def _percent(change: Estimate | None, *, interval: bool = False) -> str:
    """Format the change, and its interval behind it if asked for."""
    if change is None:
        return "–"
    value = PERCENT.number(change.value)
    return f"{value} {PERCENT.interval(change.interval)}".rstrip() if interval else value


def _p(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _meaning(found: Analysis) -> str:
    kind = found.metrics[0].whole.kind
    each = " (scenarios with the means of their runs)" if kind == "points" else ""
    return (
        f"better by, in %: difference of the means, and the same in percent of the mean of {found.baseline};\n"
        f"more than zero is better, for delays too\n"
        f"intervals: of 95 % over {kind}{each}; Student's, and Fieller's of percentages;\n"
        f"either both contain 0, or neither does; a percentage has none with fewer than {FEW} {kind},\n"
        f"or if the mean of {found.baseline} may be 0\n"
        f"in regions (in a region of one point: over its seeds): {SURE} the interval of the difference excludes zero;\n"
        f"{AHEAD} the best mean, if the interval of its difference from the next one excludes zero; intervals: --json\n"
        f"effect size: mean of the differences over their standard deviation (Cohen's d_z)\n"
        f"win, tie, loss: {kind} in which it is better, within {found.tie * 100:g} % of equal, worse\n"
        f"best in: number of {kind} in which no other one is better\n"
        f"p: Student's test of the differences, corrected for the number of schedulers (Holm)"
        + (f"\n{MEANING}" if found.dataset.perturbed else "")
    )
