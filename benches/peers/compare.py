"""Runs every case in ns-2 and in Plait and compares results and speeds: ``make peers``.

Exit status: 0 all agree or ``cases.toml`` says why not, 1 a case that should agree does not, 2 bad input or no ns-2.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from os import cpu_count
from pathlib import Path
from typing import TYPE_CHECKING

import click
import ns2
import ours
import tcp
from cases import Case, PeerError, load_cases
from report import Attempt, CaseReport, summarize, table
from rich.console import Console
from verdict import DIFFERS, compare, steps

import plait
from plait.support.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metrics import Metrics

CASES = Path(__file__).with_name("cases.toml")
WIDTH = 160  # columns where standard output is no terminal
MORE_SEEDS = 4  # ours are cheap: so many times as many seeds as in ns-2


def report_case(case: Case, in_ns2: Callable[[Sequence[Case]], list[Metrics]], *, speed: bool) -> CaseReport:
    """Compare step by step until the two do not differ any more, and time both."""
    report = CaseReport(case)
    known: dict[str, list[Metrics]] = {}
    for step in steps(case):
        changed = replace(case, agent=case.agent | step.agent)
        key = json.dumps(changed.agent, sort_keys=True)
        if key not in known:
            known[key] = in_ns2(changed.members())
        measured = [ours.measure(member, **step.transport) for member in changed.members(MORE_SEEDS)]
        report.attempts.append(Attempt(step, compare(known[key], measured, paired=not case.lossy)))
        if report.attempts[-1].verdict != DIFFERS:
            break
    if speed:
        report.theirs, report.ours = ns2.speed(case), ours.speed(case)
    return report


def choose(cases: list[Case], only: tuple[str, ...], *, quick: bool) -> list[Case]:
    """The cases whose name contains one of ``only``; with ``quick`` those tagged so."""
    if unknown := [text for text in only if not any(text in case.name for case in cases)]:
        raise PeerError(
            f"no case is named like {unknown[0]!r}; there are: {', '.join(case.name for case in cases)}"
        )
    chosen = [case for case in cases if not only or any(text in case.name for text in only)]
    return [case for case in chosen if "quick" in case.tags] if quick else chosen


def compare_tcp(only: tuple[str, ...], pool: ProcessPoolExecutor) -> list[tcp.Report]:
    """The cases of TCP over one path whose name contains one of ``only``."""

    def measure(members: Sequence[tcp.Case], step: tcp.Step) -> list[tcp.Measured]:
        return list(pool.map(tcp.in_ns2, members, [step] * len(members)))

    chosen = [case for case in tcp.load_cases() if not only or any(text in case.name for text in only)]
    return [tcp.report_case(case, measure) for case in chosen]


@click.command()
@click.option(
    "--only", multiple=True, metavar="TEXT", help="Only cases whose name contains TEXT; may be repeated."
)
@click.option("--quick", is_flag=True, help="A subset that takes seconds.")
@click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the results there."
)
@click.option(
    "--jobs",
    default=cpu_count() or 1,
    help="Processes that run ns-2 for its results; speeds are timed alone.",
)
@click.option("--tcp-only", is_flag=True, help="TCP over one path alone, without CMT-SCTP.")
@click.option("--speed/--no-speed", default=True, help="Time both simulators.")
def main(
    only: tuple[str, ...], *, quick: bool, json_file: Path | None, jobs: int, tcp_only: bool, speed: bool
) -> None:
    """Run the cases of cases.toml in ns-2 and in Plait; print both results, both speeds and the verdicts."""
    start = time.monotonic()
    try:
        chosen = [] if tcp_only else choose(load_cases(CASES), only, quick=quick)
        reports = []
        with ProcessPoolExecutor(jobs) as pool, Progress("comparing") as progress:
            for number, case in enumerate(chosen):
                progress.update(number / len(chosen))
                reports.append(
                    report_case(case, lambda members: list(pool.map(ns2.measure, members)), speed=speed)
                )
            in_tcp = [] if quick or (only and not tcp_only) else compare_tcp(only, pool)
    except (PeerError, plait.ScenarioError) as error:
        click.echo(f"compare: {error}", err=True)
        sys.exit(2)
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    if reports:
        console.print(table(reports))
        summarize(console, reports)
    if in_tcp:
        console.print(tcp.table(in_tcp))
    console.print(f"Took {time.monotonic() - start:.0f} s.")
    if json_file:
        json_file.write_text(
            json.dumps([report.document() for report in reports], indent=2) + "\n", encoding="utf-8"
        )
    sys.exit(any(report.unexplained for report in reports) or any(report.unexplained for report in in_tcp))


if __name__ == "__main__":
    main()
