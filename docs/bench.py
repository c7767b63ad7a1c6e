"""Makes the stored results of `plait bench` anew, and the tables of its page: `make bench-suite`.

An interrupted run continues. With names of schedulers, only their results are made; the others
stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import polars as pl

from plait.benchmark import suite
from plait.benchmark.bench import Bench, bench, labelled
from plait.benchmark.known import EXTRAS, FILE, store
from plait.benchmark.runs import forget, measured, references
from plait.benchmark.scores import ALL, Standing
from plait.benchmark.tables import headings, line
from plait.cli.errors import guarded
from plait.scenarios.scheduler import ALL as EVERY
from plait.support.files import make_folder, write_text
from plait.support.pages import fill, markdown
from plait.support.progress import Progress
from plait.sweep.plan import PlannedScheduler

PAGE = Path(__file__).resolve().parent / "bench.md"
FOLDER = PAGE.parents[1] / "results" / "bench-suite"


def make(names: Sequence[str], threads: int) -> None:
    """Make the stored results of schedulers on all parts; without names also the references."""
    planned = [PlannedScheduler(*one) for one in labelled(names or [EVERY, *EXTRAS]).items()]
    make_folder(FOLDER)
    for part in suite.PARTS:
        points = suite.points(part)
        with Progress(f"running part {part}", lines=True) as progress:
            rows = [measured(points, planned, threads=threads, folder=FOLDER, progress=progress.update)]
        if not names:
            rows.append(references(points, threads=threads, folder=FOLDER))
        store(part, pl.concat(rows), keep=bool(names))
        click.echo(f"wrote part {part} of {FILE.name}")
    forget(FOLDER)


def tables(found: Bench) -> dict[str, str]:
    """Return the tables of the page."""
    order = [one.scheduler for one in found.standings if one.domain == ALL]
    places = {(one.scheduler, one.domain): one for one in found.standings}
    whole = [[f"`{name}`", *line(places[name, ALL])[1:]] for name in order]
    domains = [[f"`{name}`", *(_cell(places[name, domain]) for domain in suite.DOMAINS)] for name in order]
    return {
        "all": markdown(headings(found), whole),
        "domains": markdown(["scheduler", *suite.DOMAINS], domains),
    }


def _cell(one: Standing) -> str:
    return f"{100 * one.near_best.value:.0f} % ({one.low:.2f}, {one.median:.2f})"


def values(found: Bench) -> dict[str, str]:
    """Return the numbers for the page's sentences."""
    parts = {f"{part} points": f"{number}" for part, number in suite.PARTS.items()}
    hashes = {f"{part} sha256": suite.digest(suite.points(part)) for part in suite.PARTS}
    base = next(one for one in found.standings if (one.scheduler, one.domain) == (found.baseline, ALL))
    low, high = base.near_best.interval or (base.near_best.value, base.near_best.value)
    near = f"{100 * base.near_best.value:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)"
    suite_values = {"suite": f"{suite.SUITE}", "repetitions": f"{suite.REPETITIONS}", "base near": near}
    return {**parts, **hashes, **suite_values}


@click.command()
@click.argument("names", nargs=-1, metavar="[SCHEDULER]...")
@click.option("--page", is_flag=True, help="Only write the page, from the stored results.")
@click.option("--threads", type=click.IntRange(0), default=0, help="0 means one per core.")
def main(names: tuple[str, ...], page: bool, threads: int) -> None:
    """Make the stored results of each SCHEDULER, or of all, and write the page anew."""
    if not page:
        make(names, threads)
    found = bench(worst=0)
    write_text(PAGE, fill(PAGE.read_text(encoding="utf-8"), tables(found), values(found)))
    click.echo("wrote docs/bench.md")


if __name__ == "__main__":
    guarded(lambda: main(standalone_mode=False))
