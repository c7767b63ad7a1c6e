"""What the commands print: tables for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from plait.papers.wording import wording
from plait.result import Result, metric

WIDTH = 160
"""Columns of a table where standard output is not a terminal."""

METRICS = (
    "goodput_bps",
    "app_delay_ms.mean",
    "app_delay_ms.p95",
    "app_delay_ms.max",
    "blocking_ms.mean",
    "blocking_ms.max",
    "receive_buffer_packets.mean",
    "receive_buffer_packets.max",
    "block_delay_ms.mean",
    "block_delay_ms.p95",
    "completion_time_s",
    "aggregation_benefit",
    "retransmissions",
    "spurious_retransmissions",
    "reinjections",
)


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


def heading(name: str) -> str:
    """A metric's heading with unit."""
    special = {"completion_time_s": "completion time (s)", "aggregation_benefit": "aggregation benefit"}
    return special.get(name) or wording(name).heading.replace("_", " ")


def number(result: Result, name: str) -> str:
    """A metric's value for people; a dash where the run has none."""
    try:
        value = metric(result, name)
    except KeyError:
        return "–"
    if value is None:
        return "–"
    if name.endswith("ons"):
        return f"{value:.0f}"
    return wording(name).number(value)


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
        console().print(run_table(group))
    console().print(MEANING, style="dim", highlight=False)


def run_table(results: Sequence[Result]) -> Table:
    """Metrics downwards, runs sideways; metrics that no run has are left out."""
    table = Table(title=results[0].scenario, title_justify="left", header_style="bold")
    table.add_column("metric")
    for result in results:
        table.add_column(result.scheduler, justify="right")
    for name in METRICS:
        numbers = [number(result, name) for result in results]
        if any(text != "–" for text in numbers):
            table.add_row(heading(name), *numbers)
    for index, path in enumerate(results[0].paths):
        for key, title in (
            ("throughput_bps", "throughput (kbit/s)"),
            ("srtt_ms", "srtt (ms)"),
            ("packets_sent", "packets sent"),
            ("packets_lost", "packets lost on the way"),
            ("packets_dropped", "packets dropped by a full queue"),
        ):
            cells = [_path_number(result.paths[index].get(key), key) for result in results]
            table.add_row(f"{path['name']}: {title}", *cells, end_section=key == "packets_dropped")
    return table


def _path_number(value: Any, key: str) -> str:
    if value is None:
        return "–"
    if key.endswith("_bps"):
        return f"{value / 1e3:.0f}"
    return f"{value:.1f}" if isinstance(value, float) else f"{value}"
