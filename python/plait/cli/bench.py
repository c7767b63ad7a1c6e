"""`plait bench`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from plait._core import RunError
from plait.cli.options import JSON, THREADS, excludes
from plait.cli.output import print_json, say
from plait.cli.sheet import Sheet
from plait.results.summary import count
from plait.support.progress import Progress
from plait.support.tables import Content, beside

if TYPE_CHECKING:
    from plait.benchmark.bench import Bench


@click.command()
@click.argument("schedulers", nargs=-1, metavar="[SCHEDULER]...")
@click.option(
    "--part",
    type=click.Choice(["tune", "report"]),
    help="The fixed points, for tuning or for reports; default: report.",
)
@click.option("--fresh", metavar="SEED", type=click.IntRange(0), help="Draw other points instead.")
@click.option("--points", type=click.IntRange(1), metavar="N", help="Only the first N points of each domain.")
@click.option("--domain", "domains", multiple=True, metavar="NAME", help="Only this domain; may be repeated.")
@click.option(
    "--baseline",
    default="lowest-rtt",
    show_default=True,
    metavar="SCHEDULER",
    help="The scheduler to compare with, point by point.",
)
@click.option(
    "--worst",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    metavar="N",
    help="Show N worst cases of each SCHEDULER.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write rows, JSON, an HTML page and the scenarios of the worst cases there; the same command "
    "continues after an interruption.",
)
@JSON
@THREADS
def bench(
    schedulers: tuple[str, ...],
    part: str | None,
    fresh: int | None,
    points: int | None,
    domains: tuple[str, ...],
    baseline: str,
    worst: int,
    out: Path | None,
    as_json: bool,
    threads: int,
) -> None:
    """Judge each SCHEDULER on Plait's fixed suite of networks, against all results that are stored.

    \b
    plait bench mine.py:Mine --part tune
    plait bench mine.py:Mine --out results/bench
    plait bench mine.py:Mine all --fresh 7 --points 16
    plait bench                                          the stored results
    """  # noqa: D301  click wants the character, not its escape
    excludes("--fresh", fresh is not None, part=part)
    from plait.benchmark.bench import bench as judge
    from plait.benchmark.output import write

    with Progress("benchmark", lines=True) as progress:
        found = judge(
            schedulers,
            part=part or "report",
            fresh=fresh,
            number=points,
            domains=domains,
            baseline=baseline,
            worst=worst if schedulers else 0,
            folder=out,
            threads=threads,
            progress=progress.update,
        )
    page = None if out is None else write(found, out)
    if as_json:
        print_json(found.document())
    else:
        _print(found, Sheet(), out)
        if page is not None:
            say(f"wrote {page}")
    if found.failures:
        raise RunError(found.failures)


def _print(found: Bench, sheet: Sheet, folder: Path | None) -> None:
    from plait.benchmark import output, tables

    known = count(len(found.scores.known), "scheduler")
    sheet.line(f"[bold]{found.title}[/bold]: {count(len(found.points), 'point')}, results of {known} there")
    for title, lines in tables.groups(found):
        rows = [[Text(cell) for cell in row] for row in lines]
        for part in beside(Content(tables.headings(found), rows), sheet.width):
            sheet.table(part, title)
    if found.worst:
        rows = [[Text(cell) for cell in tables.case_line(one)] for one in found.worst]
        sheet.table(Content(tables.CASE_HEADINGS, rows, words=(0, 1, 5)), "worst cases")
        again = "with --out, the scenarios of these cases are written, and commands that repeat them"
        commands = [again] if folder is None else [output.command(found, one, folder) for one in found.worst]
        sheet.line(Text("\n".join(dict.fromkeys(commands))))
    sheet.line("\n".join(f"{name}: {meaning}" for name, meaning in tables.TERMS.items()), "dim")
