"""Output of the commands: tables for people, one JSON document for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from plait.cli.sheet import Sheet
from plait.cli.tables import comparison
from plait.results.benefit import AgainstAlone
from plait.results.summary import Row, best, count, heading, metric_rows, path_rows, unused_paths, written
from plait.scenarios.repetition import MEANING as MEANING_OF_SEEDS
from plait.support.tables import Content

if TYPE_CHECKING:
    from plait.analysis import Repeated
    from plait.results.result import Result


def say(text: str) -> None:
    """Print a message for the user, on standard error."""
    click.echo(text, err=True)


def print_json(document: Any) -> None:
    """Print the one JSON document of standard output."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def documents(results: Sequence[Result], alone: Sequence[Mapping[str, float]] = ()) -> Any:
    """Return the JSON of one run, or of several as a list; each with `alone` if that is given."""
    runs: list[dict[str, Any]] = [{**result.data, "scheduler": result.scheduler} for result in results]
    for run, result, singly in zip(runs, results, alone, strict=False):
        run["alone"] = AgainstAlone(result.metrics["goodput_bps"], singly).document()
    return runs[0] if len(runs) == 1 else runs


MEANING = """
application delay: from first transmission to in-order delivery
blocking time: from arrival to in-order delivery
receive buffer: packets that wait for an earlier one
aggregation benefit: 0 = capacity of the best path, 1 = that of all, −1 = nothing; not if the application is the limit
throughput of a path: payload without duplicates
against its bound: how far the value is from a bound that no scheduler can beat, in percent (plait bound)
""".strip()


ALONE = """
against the best path alone: goodput compared with the best single path, same transport; more is better
aggregation benefit, paths alone: 0 = the goodput of the best single path, 1 = the sum of all paths alone
""".strip()


BOLD = """
bold: the best mean, if the interval of its difference from the next one (in pairs) excludes zero
better by: more than zero is better, for delays too; runs with the same seed are pairs
no interval: the value is the same with every seed, in the digits shown
""".strip()


def print_tables(
    groups: Sequence[Sequence[Result]], alone: Sequence[Mapping[str, float]] = (), *, latex: bool = False
) -> None:
    """Print a table per group of runs, and once the meaning of the metrics.

    `alone` has for each group the goodput of each path alone in bit/s, by name; if given, the table
    compares the runs with it. `latex`: print LaTeX.
    """
    sheet = Sheet(latex=latex)
    for number, group in enumerate(groups):
        singly = alone[number] if alone else {}
        for title, content in run_tables(group, sheet.width, singly):
            sheet.table(content, title)
        if singly:
            carried = ", ".join(f"{name} {written('goodput_bps', bps)}" for name, bps in singly.items())
            sheet.line(f"alone, {heading('goodput_bps')}: {carried}")
        if unused := unused_paths([[result] for result in group]):
            sheet.line(unused)
        for result in group:
            if result.fallback is not None:
                sheet.line(f"{result.scheduler}: {fallback_sentence(result.fallback)}")
    sheet.line(MEANING, "dim")
    if alone:
        sheet.line(ALONE, "dim")


def print_repeated(
    found: Repeated, alone: Sequence[Mapping[str, float]] = (), *, latex: bool = False
) -> None:
    """Print the metrics of several seeds with their intervals, the gains and the meanings.

    Gains are relative to the first scheduler. `alone` has for each seed the goodput of each path
    alone in bit/s, by name. `latex`: print LaTeX.
    """
    from plait.analysis.repeated import FEW

    sheet, seeds = Sheet(latex=latex), len(found.seeds)
    paths = [
        [replace(row, heading=f"{name}: {row.heading}") for row in rows] for name, rows in found.path_rows()
    ]
    held = found.alone_rows(alone) if alone else []
    sections = [found.rows(), *([held] if held else []), *paths]
    what = "95 % intervals" if not found.identical else "all the same"
    title = f"{found.scenario}: means of {count(seeds, 'seed')}, {what}"
    for named, content in comparison(title, found.schedulers, sections, sheet.width):
        sheet.table(content, named)
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
    if unused := unused_paths([*zip(*found, strict=True)]):
        sheet.line(unused)
    for one in (result for each in found for result in each if result.fallback is not None):
        text = f"{one.scheduler}, seed {one.seed}: {fallback_sentence(one.fallback or '')}"
        sheet.line(text)
    sheet.line(MEANING, "dim")
    if not found.identical:
        sheet.line(BOLD, "dim")
    if found.perturbed:
        sheet.line(MEANING_OF_SEEDS, "dim")
    if alone:
        sheet.line(ALONE, "dim")


def fallback_sentence(reason: str) -> str:
    """Describe a connection that fell back from MPTCP to TCP."""
    return f"the connection fell back from MPTCP to TCP, on one path alone; {reason}"


def run_tables(
    results: Sequence[Result], width: int, alone: Mapping[str, float] | None = None
) -> list[tuple[str, Content]]:
    """Return titles and tables of the metrics of runs beside each other, without metrics that no run has."""
    paths = [
        [replace(row, heading=f"{name}: {row.heading}") for row in rows] for name, rows in path_rows(results)
    ]
    names = [result.scheduler for result in results]
    sections = [metric_rows(results), *_against_alone(results, alone or {}), *paths]
    return comparison(results[0].scenario, names, sections, width)


def _against_alone(results: Sequence[Result], alone: Mapping[str, float]) -> list[list[Row]]:
    """Return the rows that compare runs with each path alone."""
    if not alone:
        return []
    found = [AgainstAlone(result.metrics["goodput_bps"], alone) for result in results]

    def row(title: str, values: Sequence[float | None], form: str) -> Row:
        cells = ["–" if value is None else format(value, form).replace("-", "−") for value in values]
        return Row(title, cells, best(values, cells, 1))

    return [
        [
            row("against the best path alone (%)", [one.gain_percent for one in found], "+.1f"),
            row("aggregation benefit, paths alone", [one.benefit for one in found], ".2f"),
        ]
    ]
