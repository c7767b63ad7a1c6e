"""`plait validate`: the agreement of the simulator with other engines."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from plait._core import RunError
from plait.cli.groups import PlaitGroup
from plait.cli.options import JSON, THREADS, excludes, needs
from plait.cli.output import print_json, say
from plait.cli.validate_tables import WORST, print_ends, print_requests, print_table
from plait.scenarios.scheduler import parse_choice
from plait.scenarios.text import scenario_text
from plait.support.files import make_folder, write_text
from plait.support.progress import Progress
from plait.support.tables import Cell

if TYPE_CHECKING:
    from plait.validate import Agreement, Measured, Validation
    from plait.validate.ends import Ends

DRAW = "reported"
FAILURES_SHOWN = 3

Command = Callable[..., Any]
SEEDS = click.option(
    "--seeds",
    default=3,
    show_default=True,
    type=click.IntRange(min=1),
    help="Runs of each case and scheduler on each engine.",
)


def _points(points: int, *, least: int) -> Callable[[Command], Command]:
    """Option of the number of drawn cases."""
    return click.option(
        "--points",
        default=points,
        show_default=True,
        type=click.IntRange(min=least),
        help="Number of drawn scenarios.",
        metavar="N",
    )


@click.group(cls=PlaitGroup)
def validate() -> None:
    """Compare the simulator with other engines.

    \b
    plait validate linux --quick              eight scenarios against the kernel (a minute)
    plait validate linux --out out --resume   all scenarios; continues after an interruption
    plait validate linux --draw 4711          other scenarios from the same domain
    plait validate quic --draw 4711           such scenarios against real QUIC connections (a minute)
    plait validate usrsctp --draw 4711        such scenarios against FreeBSD's SCTP (a minute)
    """  # noqa: D301  click wants the character, not its escape


@validate.command("linux")
@click.option("--quick", is_flag=True, help="Only the few cases for a quick check.")
@click.option(
    "--only",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this case, with * and ? as wildcards; may be repeated.",
)
@click.option(
    "--draw",
    default=DRAW,
    show_default=True,
    metavar="NAME|SEED",
    help="The draw from the domain: reported, search (for the search of causes), or any seed.",
)
@click.option("--points", type=click.IntRange(min=2), help="Number of drawn scenarios.", metavar="N")
@click.option(
    "--congestion",
    "control",
    type=click.Choice(["newreno", "cubic", "bbr"]),
    help="The congestion control of all drawn scenarios; default: drawn, too.",
)
@click.option("--list", "as_list", is_flag=True, help="List the cases.")
@click.option(
    "--scenarios",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the cases there as scenario files, one per scheduler, and run nothing.",
)
@click.option(
    "--plain", is_flag=True, help="Do not tell the simulator to behave like Linux (transport.profile)."
)
@JSON
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write tables, figure and page there, and the results of both engines' runs.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="With --out: keep the finished runs of that folder, and make only the missing ones.",
)
@THREADS
def validate_linux(
    quick: bool,
    names: tuple[str, ...],
    draw: str,
    points: int | None,
    control: str | None,
    as_list: bool,
    scenarios: Path | None,
    plain: bool,
    as_json: bool,
    out: Path | None,
    resume: bool,
    threads: int,
) -> None:
    """Run the same scenarios in the simulator and in the Linux kernel, and compare.

    Compares goodput, shares of the paths, delays, retransmissions and the receive buffer. Tests
    whether differences exceed chance, have a common sign, or change the ranking of schedulers. The
    simulator runs first. The kernel runs scenarios with varying results more often. Exit status 1
    if a goal is missed or a run failed.
    """
    from plait.validate import Agreement, load_validation, measure, write
    from plait.validate.report import document

    excludes("--list", as_list, scenarios=scenarios, out=out)
    excludes("--scenarios", scenarios, out=out, json=as_json)
    needs("--resume", resume, "--out: the folder with the finished runs", out)
    validation = load_validation(plain=plain, draw=draw, points=points, control=control).select(
        names, quick=quick
    )
    if as_list:
        _list(validation, as_json)
        return
    if scenarios is not None:
        say(f"wrote {_write_scenarios(validation, scenarios)} scenario files into {scenarios}")
        return
    if out is not None:
        make_folder(out)
    with Progress("validating") as progress:
        measured = measure(
            validation,
            keep=None if out is None else out / "kept",
            resume=resume,
            threads=threads,
            progress=progress.update,
        )
    agreement = Agreement(validation, measured)
    if out is not None:
        with Progress("drawing"):
            written = write(agreement, out)
        say(f"wrote {', '.join(file.name for file in written)} into {out}")
    if as_json:
        print_json(document(agreement))
    else:
        _print(agreement)
    _finish(agreement, measured)


@validate.command("requests")
@click.option("--draw", "seed", default=1, show_default=True, metavar="SEED", help="The seed of the draw.")
@_points(30, least=1)
@SEEDS
@JSON
def validate_requests(seed: int, points: int, seeds: int, as_json: bool) -> None:
    """Compare the latencies of requests in the simulator and in the Linux kernel.

    Cases are drawn: one to three paths, TCP and MPTCP, sizes from 100 B to 1 MB, think times up to
    1 s, one to four clients. Exit status 1 if half of the mean latencies differ by more than 3 %,
    or a tenth by more than 15 %, or a run failed.
    """
    from plait.validate import requests

    with Progress("validating") as progress:
        found = requests.measure(requests.draw(seed, points), seeds, progress.update)
    if as_json:
        print_json(
            [
                {
                    "case": one.case.scenario.name,
                    "scheduler": one.case.scheduler,
                    "scenario": json.loads(one.case.scenario.json),
                    "linux_ms": one.kernel,
                    "sim_ms": one.simulator,
                    "difference_percent": {name: one.percent(name) for name in requests.MEASURES},
                }
                for one in found
            ]
        )
    else:
        print_requests(found)
    median, most = requests.percentiles(found, "mean")
    if median > requests.MOST_MEDIAN or most > requests.MOST_P90:
        _refuse([f"mean latencies differ by {median:.1f} % (median) and {most:.1f} % (90th percentile)"])


def _drawn(points: int) -> Callable[[Command], Command]:
    """Options of a comparison of ends on drawn scenarios."""

    def add(command: Command) -> Command:
        for option in reversed(
            (
                click.option(
                    "--draw",
                    "draw_name",
                    default="1",
                    show_default=True,
                    metavar="NAME|SEED",
                    help="The draw from the domain of plait validate linux: reported, search, or any seed.",
                ),
                _points(points, least=2),
                SEEDS,
                JSON,
                THREADS,
            )
        ):
            command = option(command)
        return command

    return add


@validate.command("quic")
@_drawn(points=30)
def validate_quic(draw_name: str, points: int, seeds: int, as_json: bool, threads: int) -> None:
    """Compare the simulated Multipath QUIC with real QUIC connections over the same links.

    Scenarios are drawn from the domain of plait validate linux, with one to four paths. Both
    engines run them with several schedulers. The simulator runs once more with other seeds, which
    shows the part of chance. Exit status 1 if half of the goodputs differ by more than 5 %, a tenth
    by more than 15 %, less than 90 % of the pairs of schedulers are ranked alike, or a run failed.
    """
    from plait.validate import ends

    _compare(ends.QUIC, draw_name, points, seeds, as_json, threads)


@validate.command("usrsctp")
@_drawn(points=40)
@click.option(
    "--correct",
    metavar="NAME,…|all",
    help="Rules of RFC 9260 in place of the stack's own (usrsctp/README.md); default: the stack as it is.",
)
def validate_usrsctp(
    draw_name: str, points: int, seeds: int, as_json: bool, threads: int, correct: str | None
) -> None:
    """Compare the simulated CMT-SCTP with FreeBSD's stack over the same links.

    Scenarios are drawn from the domain of plait validate linux, with one to four paths. Both
    engines run them with round-robin. The simulator runs once more with other seeds, which shows
    the part of chance. Exit status 1 if half of the goodputs differ by more than 3 %, a tenth by
    more than 15 %, or a run failed.
    """
    from plait.usrsctp import program
    from plait.validate import ends

    if correct is not None:
        os.environ[program.CORRECT] = correct
    _compare(ends.USRSCTP, draw_name, points, seeds, as_json, threads)


def _compare(compared: Ends, draw_name: str, points: int, seeds: int, as_json: bool, threads: int) -> None:
    """Compare ends with the simulator and print the result; RunError if a goal is missed."""
    from plait.validate import ends

    cases = list(ends.draw(compared, draw_name, points))
    with Progress("validating") as progress:
        found = ends.measure(compared, cases, seeds, threads=threads, progress=progress.update)
    if as_json:
        print_json(ends.document(compared, found))
    else:
        print_ends(compared, found)
    _refuse(ends.missed(compared, found))


def _refuse(missed: Sequence[str]) -> None:
    """Raise RunError if a goal is missed, after the printed results."""
    if missed:
        sys.stdout.flush()
        message = f"missed: {'; '.join(missed)}"
        raise RunError(message)


def _write_scenarios(validation: Validation, folder: Path) -> int:
    """Write every case with every scheduler as a file; return the number of files."""
    make_folder(folder)
    written = 0
    for case in validation.cases:
        for scheduler in case.schedulers:
            table = {**case.scenario.to_dict(), "scheduler": parse_choice(scheduler)}
            write_text(folder / f"{case.id}-{scheduler}.toml", scenario_text(table, case.title))
            written += 1
    return written


def _list(validation: Validation, as_json: bool) -> None:
    cases: list[dict[str, Any]] = [
        {
            "case": case.id,
            "group": case.group,
            "title": case.title,
            "schedulers": list(case.schedulers),
            "quick": validation.is_quick(case),
            **case.facets,
        }
        for case in validation.cases
    ]
    if as_json:
        print_json(cases)
        return
    rows = [
        [
            f"{case['case']}{' (quick)' if case['quick'] else ''}",
            case["title"],
            ", ".join(case["schedulers"]),
        ]
        for case in cases
    ]
    print_table("", ("case", "", "schedulers"), rows, (0, 1, 2))


def _print(agreement: Agreement) -> None:
    from plait.validate.tables import goal_lines, worst_lines

    headings, lines = worst_lines(agreement, agreement.goodput, WORST)
    numbers = {headings.index(one) for one in ("kernel", "simulator", "difference (%)", "noise (%)")}
    words = [place for place in range(len(headings)) if place not in numbers]
    print_table("Largest differences of goodput", headings, lines, words)
    goals: list[Sequence[Cell]] = [
        [*cells, Text(word, style="green" if word == "reached" else "bold red")]
        for *cells, word in goal_lines(agreement)
    ]
    print_table("Simulator against kernel", ("", "measured", "by chance alone", "goal", ""), goals, (0, 4))


def _finish(agreement: Agreement, measured: Measured) -> None:
    """Raise RunError, with one line of reasons, if a run failed or a goal is missed."""
    from plait.validate.goals import goals

    kinds = Counter(one.kind for one in measured.outcomes if one.kind != "failed")
    if kinds:
        say(f"runs without results: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}")
    if failures := measured.failures:
        first = "; ".join(
            f"{one.case}, {one.scheduler}, {one.engine}, seed {one.seed}: {one.reason}"
            for one in failures[:FAILURES_SHOWN]
        )
        message = f"{len(failures)} runs failed: {first}"
        raise RunError(message)
    _refuse([goal.name for goal in goals(agreement) if not goal.reached])
