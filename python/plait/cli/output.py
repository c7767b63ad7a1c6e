"""What the commands print: tables for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from plait.cli.tables import comparison
from plait.results.summary import metric_rows, path_rows

if TYPE_CHECKING:
    from plait.results.result import Result

WIDTH = 160
"""Columns of a table where standard output is not a terminal."""


class Output(Console):
    """Standard output; that its reader left is for the command to notice, not for Rich to end it with."""

    def on_broken_pipe(self) -> None:
        """Let the exception pass."""
        raise BrokenPipeError


def console() -> Console:
    """Standard output; tables keep their width where it is not a terminal."""
    return Output() if sys.stdout.isatty() else Output(width=WIDTH)


def say(text: str) -> None:
    """A message to the person, on standard error."""
    click.echo(text, err=True)


def print_json(document: Any) -> None:
    """The one JSON document of standard output."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def documents(results: Sequence[Result]) -> Any:
    """The JSON of one run, or of several as a list."""
    runs = [{**result.data, "scheduler": result.scheduler} for result in results]
    return runs[0] if len(runs) == 1 else runs


MEANING = """
application delay: first transmission to in-order delivery
blocking time: arrival to in-order delivery
receive buffer: packets that wait there for an earlier one
aggregation benefit: 0 = the best path alone, 1 = all paths full
throughput of a path: payload of first arrivals
""".strip()


def print_tables(groups: Sequence[Sequence[Result]]) -> None:
    """A table per group of runs, and once what the metrics mean."""
    for group in groups:
        terminal = console()
        for table in run_tables(group, terminal.width):
            terminal.print(table)
        for result in group:
            if result.fallback is not None:
                console().print(f"{result.scheduler}: {fallback_sentence(result.fallback)}", highlight=False)
    console().print(MEANING, style="dim", highlight=False)


def fallback_sentence(reason: str) -> str:
    """What became of a connection that gave up MPTCP."""
    return f"the connection gave up MPTCP and went on with TCP, on one path alone; {reason}"


def run_tables(results: Sequence[Result], width: int) -> list[Table]:
    """The metrics of runs beside each other; those that no run has are left out."""
    paths = [
        [replace(row, heading=f"{name}: {row.heading}") for row in rows] for name, rows in path_rows(results)
    ]
    names = [result.scheduler for result in results]
    return comparison(results[0].scenario, names, [metric_rows(results), *paths], width)
