"""Output of the commands: tables for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, RenderableType

from plait.cli.tables import comparison
from plait.results.benefit import AgainstAlone
from plait.results.summary import Row, best, count, heading, metric_rows, path_rows, written
from plait.scenarios.repetition import MEANING as MEANING_OF_SEEDS

if TYPE_CHECKING:
    from plait.analysis import Repeated
    from plait.results.result import Result

WIDTH = 160
"""Columns of a table if standard output is not a terminal."""


class Output(Console):
    """Standard output whose broken pipe the command handles, instead of Rich, which would exit."""

    def on_broken_pipe(self) -> None:
        """Raise the exception for the command."""
        raise BrokenPipeError


def console() -> Console:
    """Return standard output; tables have a fixed width if it is not a terminal."""
    return Output() if sys.stdout.isatty() else Output(width=WIDTH)


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
application delay: first transmission to in-order delivery
blocking time: arrival to in-order delivery
receive buffer: packets that wait there for an earlier one
aggregation benefit: against capacities; 0 = the best path full, 1 = all paths full, −1 = nothing
throughput of a path: payload of first arrivals
against its bound: percent above a limit that no scheduler passes (plait bound); the limit may be out of reach
""".strip()


ALONE = """
against the best path alone: goodput against that of the path that is best alone, same transport; more is better
aggregation benefit, paths alone: the same formula with each path's goodput alone; 0 = the best of them, 1 = their sum
""".strip()


BOLD = """
bold: the best mean, where the interval of its difference to the next one, over pairs, does not contain zero
better by: more than zero is better, also where less of the metric is; runs of the same seed are pairs
no interval: in the digits shown, the value is the same with every seed
""".strip()


def print_tables(groups: Sequence[Sequence[Result]], alone: Sequence[Mapping[str, float]] = ()) -> None:
    """Print a table per group of runs, and once the meaning of the metrics.

    `alone` has for each group the goodput of each path alone in bit/s, by name; if given, the table
    compares the runs with it.
    """
    for number, group in enumerate(groups):
        terminal = console()
        singly = alone[number] if alone else {}
        for table in run_tables(group, terminal.width, singly):
            terminal.print(table)
        if singly:
            carried = ", ".join(f"{name} {written('goodput_bps', bps)}" for name, bps in singly.items())
            terminal.print(f"alone, {heading('goodput_bps')}: {carried}", highlight=False)
        for result in group:
            if result.fallback is not None:
                console().print(f"{result.scheduler}: {fallback_sentence(result.fallback)}", highlight=False)
    console().print(MEANING, style="dim", highlight=False)
    if alone:
        console().print(ALONE, style="dim", highlight=False)


def print_repeated(found: Repeated, alone: Sequence[Mapping[str, float]] = ()) -> None:
    """Print the metrics of several seeds with their intervals, the gains and the meanings.

    Gains are relative to the first scheduler. `alone` has for each seed the goodput of each path
    alone in bit/s, by name.
    """
    from plait.analysis.repeated import FEW

    terminal, seeds = console(), len(found.seeds)
    paths = [
        [replace(row, heading=f"{name}: {row.heading}") for row in rows] for name, rows in found.path_rows()
    ]
    held = found.alone_rows(alone) if alone else []
    sections = [found.rows(), *([held] if held else []), *paths]
    what = "95 % intervals" if not found.identical else "all the same"
    title = f"{found.scenario}: means of {count(seeds, 'seed')}, {what}"
    for table in comparison(title, found.schedulers, sections, terminal.width):
        terminal.print(table)
    gains = found.gain_rows()
    if gains:
        first = found.schedulers[0]
        over = "" if found.identical else " (95 % intervals over pairs)"
        title = f"better than {first} by, in %{over}"
        for table in comparison(title, found.schedulers[1:], [gains], terminal.width):
            terminal.print(table)
    if found.identical:
        terminal.print(f"[yellow]{found.note}[/yellow]", highlight=False)
    elif seeds < FEW:
        text = f"[yellow]only {count(seeds, 'seed')}: too few for intervals to mean what they say[/yellow]"
        terminal.print(text, highlight=False)
    for one in (result for each in found for result in each if result.fallback is not None):
        text = f"{one.scheduler}, seed {one.seed}: {fallback_sentence(one.fallback or '')}"
        terminal.print(text, highlight=False)
    terminal.print(MEANING, style="dim", highlight=False)
    if not found.identical:
        terminal.print(BOLD, style="dim", highlight=False)
    if found.perturbed:
        terminal.print(MEANING_OF_SEEDS, style="dim", highlight=False)
    if alone:
        terminal.print(ALONE, style="dim", highlight=False)


def fallback_sentence(reason: str) -> str:
    """Describe a connection that fell back from MPTCP to TCP."""
    return f"the connection gave up MPTCP and went on with TCP, on one path alone; {reason}"


def run_tables(
    results: Sequence[Result], width: int, alone: Mapping[str, float] | None = None
) -> list[RenderableType]:
    """Return tables of the metrics of runs beside each other, without metrics that no run has."""
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
