"""`plait oracle`: the best schedule that a search finds."""

from __future__ import annotations

from pathlib import Path

import click

from plait.cli.bound import bound_value, metric_text
from plait.cli.options import JSON, OUT, SEED, THREADS
from plait.cli.output import print_json
from plait.cli.sheet import console
from plait.scenarios.scenario import load
from plait.support.files import make_folder
from plait.support.progress import Progress
from plait.support.tables import RULED, Content, table


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="End the search after this time, once all schedulers have run.",
)
@click.option(
    "--evaluations",
    type=click.IntRange(min=1),
    help="End the search after this number of runs, once all schedulers have run. If the seconds suffice, the "
    "result depends only on it.",
)
@SEED
@THREADS
@OUT
@JSON
def oracle(
    file: Path,
    seconds: float,
    evaluations: int | None,
    seed: int | None,
    threads: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Search the best schedule of FILE with knowledge of the future.

    It is never worse than the best built-in scheduler, and need not be the optimum. FILE has bulk data, a file, or
    blocks at a constant rate.

    \b
    plait oracle links.toml --seconds 60
    plait oracle links.toml --out best     for plait explain best --scheduler oracle --at 3s, plait report best
    """  # noqa: D301  click wants the character, not its escape
    from plait.runs.oracle import oracle as search

    if out is not None:
        make_folder(out)
    with Progress("searching") as progress:
        found = search(
            load(file),
            seconds=seconds,
            evaluations=evaluations,
            seed=seed,
            threads=threads,
            record=out is not None,
            progress=progress.update,
        )
    if out is not None:
        from plait.results.writing import write_results

        write_results([found.result, found.scheduler_result], out)
    if as_json:
        print_json(found.document())
        return
    steps = len(found.plan["steps"])
    described = found.plan["base"] + (f" with {steps} step{'s' * (steps > 1)}" if steps else " alone")
    name, best = metric_text(found.metric, found.scheduler_value)
    rows = [
        ["best scheduler", best, found.scheduler],
        ["oracle", metric_text(found.metric, found.value)[1], described],
    ]
    if found.bound is not None:
        rows.append(["bound", bound_value(found.bound)[1], found.bound.name])
    output = console()
    output.print(table(Content(["schedule", name, "which"], rows, words=(0, 2)), output.width, style=RULED))
    click.echo(f"gain {100 * found.gain:.1f} % after {found.runs} runs")
