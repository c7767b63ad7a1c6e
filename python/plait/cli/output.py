"""Output of the commands: tables for people, one JSON document for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from plait._core import ScenarioError
from plait.cli.sheet import Sheet
from plait.cli.tables import comparison
from plait.results.metrics import meant, names_of
from plait.results.summary import Row, after_stop, count, metric_rows, path_rows, unused_paths
from plait.results.wording import RATE, wording
from plait.scenarios.repetition import MEANING as MEANING_OF_SEEDS
from plait.support.tables import NONE, Content, beside
from plait.support.words import expected

if TYPE_CHECKING:
    from plait.analysis import Repeated
    from plait.analysis.alone import Alone
    from plait.results.result import Result


def say(text: str) -> None:
    """Print a message for the user, on standard error."""
    click.echo(text, err=True)


def print_json(document: Any) -> None:
    """Print the one JSON document of standard output."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def documents(results: Sequence[Result], alone: Alone = ()) -> Any:
    """Return the JSON of one run, or of several as a list.

    `alone` has for each run that of each path alone, or nothing.
    """
    runs: list[dict[str, Any]] = [{**result.data, "scheduler": result.scheduler} for result in results]
    if alone:
        from plait.analysis.alone import alone_document

        for run, result, singly in zip(runs, results, alone, strict=True):
            run["alone"] = alone_document([result], [singly])
    return runs[0] if len(runs) == 1 else runs


MEANINGS = {
    "application delay": "application delay: from first transmission to in-order delivery",
    "blocking time": "blocking time: from arrival to in-order delivery",
    "receive buffer": "receive buffer: packets that wait for an earlier one",
    "aggregation benefit": "aggregation benefit: 0 = capacity of the best path, 1 = that of all, −1 = nothing; not if "
    "the application is the limit",
    ": throughput": "throughput of a path: payload without duplicates",
    "against its bound": "against its bound: distance from a bound that no scheduler can beat, in percent (plait "
    "bound)",
}
"""The meanings of rows, by a part of their headings."""


BOLD = "bold: the best mean, if the interval of its difference from the next one (in pairs) excludes zero"
INTERVALS = """
no interval: the value is the same with every seed, in the digits shown
a gain without an interval: its value is the same with every seed, or the mean of the first scheduler may be zero
–: no value, or the first scheduler has zero in most runs
""".strip()


def print_tables(groups: Sequence[Sequence[Result]], alone: Alone = (), *, latex: bool = False) -> None:
    """Print a table per group of runs, and once the meaning of the metrics.

    `alone` has for each group the run of each path alone; if given, the table compares the group
    with these runs. `latex`: print LaTeX.
    """
    sheet = Sheet(latex=latex)
    shown: set[str] = set()
    for number, group in enumerate(groups):
        singly = alone[number : number + 1]
        for title, content in run_tables(group, sheet.width, singly):
            sheet.table(content, title)
            shown |= _headings(content)
        _print_alone(sheet, group, singly)
        if ended := after_stop(group[0]):
            sheet.line(ended)
        if unused := unused_paths([[result] for result in group]):
            sheet.line(unused)
        for result in group:
            if result.fallback is not None:
                sheet.line(f"{result.scheduler}: {fallback_sentence(result.fallback)}")
        if len(group) > 1:
            from plait.analysis import Repeated
            from plait.results.result import Comparison

            _print_same(sheet, Repeated([Comparison(group)]))
    _print_meanings(sheet, shown)
    _print_meaning_of_alone(sheet, alone)


def print_repeated(found: Repeated, alone: Alone = (), *, latex: bool = False) -> None:
    """Print the metrics of several seeds with their intervals, the gains and the meanings.

    Gains are relative to the first scheduler. `alone` has for each seed the run of each path alone.
    `latex`: print LaTeX.
    """
    from plait.analysis.repeated import FEW

    sheet, seeds = Sheet(latex=latex), len(found.seeds)
    paths = [
        [replace(row, heading=f"{name}: {row.heading}") for row in rows] for name, rows in found.path_rows()
    ]
    columns, runs = [*zip(*found, strict=True)], [result for each in found for result in each]
    sections = [found.rows(), *_against_alone(columns, alone), *paths]
    what = "95 % intervals" if not found.identical else "all the same"
    title = f"{found.scenario}: means of {count(seeds, 'seed')}, {what}"
    shown: set[str] = set()
    for named, content in comparison(title, found.schedulers, sections, sheet.width):
        sheet.table(content, named)
        shown |= _headings(content)
    gains = found.gain_rows()
    if gains:
        first = found.schedulers[0]
        over = "" if found.identical else " (95 % intervals over pairs)"
        title = f"better than {first} by, in %{over}"
        for named, content in comparison(title, found.schedulers[1:], [gains], sheet.width):
            sheet.table(content, named)
    if found.identical:
        sheet.line(f"[yellow]{found.note}[/yellow]")
    elif seeds < FEW:
        text = f"[yellow]only {count(seeds, 'seed')}: too few for reliable intervals[/yellow]"
        sheet.line(text)
    _print_alone(sheet, runs, alone)
    if ended := after_stop(runs[0]):
        sheet.line(ended)
    _print_same(sheet, found)
    if unused := unused_paths(columns):
        sheet.line(unused)
    for one in (result for result in runs if result.fallback is not None):
        text = f"{one.scheduler}, seed {one.seed}: {fallback_sentence(one.fallback or '')}"
        sheet.line(text)
    _print_meanings(sheet, shown)
    _print_meaning_of_gains(sheet, found, gains=bool(gains))
    if found.perturbed:
        sheet.line(MEANING_OF_SEEDS, "dim")
    _print_meaning_of_alone(sheet, alone)


def print_metrics(found: Repeated, metrics: Sequence[str], alone: Alone = (), *, latex: bool = False) -> None:
    """Print only some metrics, a row per scheduler, with gains over the first one.

    `alone` has for each seed the run of each path alone. Columns compare with these runs, if given.

    Raises:
        ScenarioError: a metric is unknown.
    """
    sheet = Sheet(latex=latex)
    seeds = len(found.seeds)
    what = f": means of {count(seeds, 'seed')}, 95 % intervals" if seeds > 1 else ""
    known = names_of(found[0][0])
    rows = []
    for text in metrics:
        name = meant(text, known)
        if name is None:
            message = f"metric {text!r}: unknown{expected(text, known)}"
            raise ScenarioError(message)
        gains = found.gain_cells(name)
        rows.append(found.row(name))
        if set(gains) != {NONE}:
            rows.append(Row(f"{wording(name).label}: better by (%)", gains))
    columns, runs = [*zip(*found, strict=True)], [result for each in found for result in each]
    gained = any("better by" in row.heading for row in rows)
    rows += [row for section in _against_alone(columns, alone) for row in section]
    headings = ["scheduler", *(row.heading for row in rows)]
    lines = [
        [Text(name), *(Text(row.cells[at], style="bold" if at in row.best else "") for row in rows)]
        for at, name in enumerate(found.schedulers)
    ]
    title = f"{found.scenario}{what}"
    for part in beside(Content(headings, lines), sheet.width):
        sheet.table(part, title)
        title = ""
    rates = any(row.heading.endswith(f"({RATE[0]})") for row in rows)
    if rates and (ended := after_stop(found[0][0])):
        sheet.line(ended)
    if found.identical:
        sheet.line(f"[yellow]{found.note}[/yellow]")
    _print_alone(sheet, runs, alone)
    _print_meaning_of_gains(sheet, found, gains=gained)
    _print_same(sheet, found)
    _print_meaning_of_alone(sheet, alone)


def _headings(content: Content) -> set[str]:
    """Return the headings of a table's columns and rows."""
    return {*content.headings, *(str(row[0]) for row in content.rows)}


def _print_meanings(sheet: Sheet, headings: set[str]) -> None:
    """Print the meanings of the rows that were printed."""
    own = [heading for heading in headings if "paths alone" not in heading]
    for part, meaning in MEANINGS.items():
        if any(part in heading for heading in own):
            sheet.line(meaning, "dim")


def _print_meaning_of_gains(sheet: Sheet, found: Repeated, *, gains: bool) -> None:
    """Print the meaning of gains, if there are some, and of means over seeds."""
    means = len(found.seeds) > 1 and not found.identical
    if means and sheet.bold:
        sheet.line(BOLD, "dim")
    if gains:
        pairs = "; runs with the same seed are pairs" * means
        text = f"better by: than {found.schedulers[0]}; more than zero is better, for delays too{pairs}"
        sheet.line(Text(text), "dim")
    if means:
        sheet.line(INTERVALS, "dim")


def _print_same(sheet: Sheet, found: Repeated) -> None:
    """Name the schedulers with equal runs."""
    for names in found.same:
        sheet.line(Text(f"equal in every metric{' and seed' * (len(found.seeds) > 1)}: {', '.join(names)}"))


def fallback_sentence(reason: str) -> str:
    """Describe a connection that fell back from MPTCP to TCP."""
    return f"the connection fell back from MPTCP to TCP, on one path alone; {reason}"


def run_tables(results: Sequence[Result], width: int, alone: Alone = ()) -> list[tuple[str, Content]]:
    """Return titles and tables of the metrics of runs beside each other, without metrics that no run has."""
    paths = [
        [replace(row, heading=f"{name}: {row.heading}") for row in rows] for name, rows in path_rows(results)
    ]
    names = [result.scheduler for result in results]
    sections = [metric_rows(results), *_against_alone([[one] for one in results], alone), *paths]
    return comparison(results[0].scenario, names, sections, width)


def _against_alone(columns: Sequence[Sequence[Result]], alone: Alone) -> list[list[Row]]:
    """Return the section that compares runs with each path alone; a column is a scheduler."""
    if not alone:
        return []
    from plait.analysis.alone import alone_rows

    return [alone_rows(columns, alone)]


def _print_alone(sheet: Sheet, results: Sequence[Result], alone: Alone) -> None:
    """Print the metrics of each path alone."""
    if alone:
        from plait.analysis.alone import alone_lines

        for line in alone_lines(results, alone):
            sheet.line(line)


def _print_meaning_of_alone(sheet: Sheet, alone: Alone) -> None:
    """Print the meaning of the rows that compare runs with each path alone."""
    if alone:
        from plait.analysis.alone import alone_meaning

        for line in alone_meaning(alone):
            sheet.line(line, "dim")
