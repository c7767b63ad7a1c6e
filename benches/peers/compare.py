"""Runs every case in ns-2 or ns-3 and in Plait and compares results and speeds: ``make peers``.

Exit status: 0 if all cases agree or their file explains the difference, 1 if a case differs without
an explanation, 2 for bad input or without a simulator.
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
import tcp_table
from cases import Case, PeerError, load_cases
from report import Attempt, CaseReport, summarize, table
from rich.console import Console
from tcp_ns2 import NS2
from tcp_ns3 import NS3
from verdict import DIFFERS, compare, steps

import plait
from plait.support.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metrics import Metrics

CASES = Path(__file__).with_name("cases.toml")
WIDTH = 160  # columns if standard output is no terminal
MORE_SEEDS = 4  # factor of seeds over ns-2, because our runs are cheap
PEERS = {peer.name: peer for peer in (NS2, NS3)}


def report_case(case: Case, in_ns2: Callable[[Sequence[Case]], list[Metrics]], *, speed: bool) -> CaseReport:
    """Compare step by step until the two simulators do not differ any more, and time both."""
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
    """Return the cases whose name contains one of ``only``; with ``quick``, those with that tag."""
    if unknown := [text for text in only if not any(text in case.name for case in cases)]:
        raise PeerError(
            f"no case is named like {unknown[0]!r}; there are: {', '.join(case.name for case in cases)}"
        )
    chosen = [case for case in cases if not only or any(text in case.name for text in only)]
    return [case for case in chosen if "quick" in case.tags] if quick else chosen


def compare_tcp(
    peer: tcp.Peer, only: tuple[str, ...], pool: ProcessPoolExecutor, progress: Progress, *, speed: bool
) -> list[tcp.Report]:
    """Compare the TCP cases that ``peer`` can run and whose name contains one of ``only``."""
    chosen = [case for case in tcp.load_cases() if not only or any(text in case.name for text in only)]
    chosen = [case for case in chosen if peer.steps(case)]
    if chosen:
        peer.prepare()

    known: dict[str, list[tcp.Measured]] = {}

    def measure(members: Sequence[tcp.Case], step: tcp.Step) -> list[tcp.Measured]:
        # Cases that differ in Plait's profile alone are one case for the other simulator.
        same = [replace(member, name="", profile="standard") for member in members]
        key = repr((step.sender, step.parameters, same))
        if key not in known:
            known[key] = list(pool.map(peer.measure, members, [step] * len(members)))
        return known[key]

    reports = []
    for number, case in enumerate(chosen):
        progress.update(number / len(chosen))
        reports.append(tcp.report_case(peer, case, measure, speed=speed))
    return reports


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
    help="Processes that run the other simulator for its results; speeds are timed alone.",
)
@click.option("--tcp-only", is_flag=True, help="TCP over one path alone, without CMT-SCTP.")
@click.option("--peer", type=click.Choice(list(PEERS)), help="TCP in this simulator alone.")
@click.option("--write", is_flag=True, help="Put the tables of TCP into benches/README.md.")
@click.option("--speed/--no-speed", default=True, help="Time both simulators.")
def main(
    only: tuple[str, ...],
    *,
    quick: bool,
    json_file: Path | None,
    jobs: int,
    tcp_only: bool,
    peer: str | None,
    write: bool,
    speed: bool,
) -> None:
    """Run the cases in ns-2 or ns-3 and in Plait; print results, speeds and verdicts."""
    start = time.monotonic()
    try:
        chosen = [] if tcp_only or peer else choose(load_cases(CASES), only, quick=quick)
        reports = []
        with ProcessPoolExecutor(jobs) as pool, Progress("comparing") as progress:
            for number, case in enumerate(chosen):
                progress.update(number / len(chosen))
                reports.append(
                    report_case(case, lambda members: list(pool.map(ns2.measure, members)), speed=speed)
                )
            in_tcp: dict[str, list[tcp.Report]] = {}
            if not quick and (tcp_only or peer or not only):
                for name in [peer] if peer else PEERS:
                    in_tcp[name] = compare_tcp(PEERS[name], only, pool, progress, speed=speed)
    except (PeerError, plait.ScenarioError) as error:
        click.echo(f"compare: {error}", err=True)
        sys.exit(2)
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    if reports:
        console.print(table(reports))
        summarize(console, reports)
    for name, compared in in_tcp.items():
        if compared:
            console.print(tcp_table.table(name, compared), tcp_table.summary(name, compared))
    console.print(f"Took {time.monotonic() - start:.0f} s.")
    every_tcp = [report for compared in in_tcp.values() for report in compared]
    if write:
        tcp_table.write(in_tcp)
    if json_file:
        documents = {
            "cmt-sctp": [report.document() for report in reports],
            "tcp": [tcp_table.document(report) for report in every_tcp],
        }
        json_file.write_text(json.dumps(documents, indent=2) + "\n", encoding="utf-8")
    sys.exit(any(report.unexplained for report in reports) or any(report.unexplained for report in every_tcp))


if __name__ == "__main__":
    main()
