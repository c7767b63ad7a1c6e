"""`plait sweep`."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plait._core import RunError
from plait.cli.options import JSON, THREADS, excludes
from plait.cli.output import print_json, say
from plait.support.progress import Progress

if TYPE_CHECKING:
    from plait.sweep import Dataset, Outcome


@click.command()
@click.argument("plan", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The dataset's folder; default: results/ and the plan's name.",
)
@click.option(
    "--cluster", "address", metavar="ADDRESS", help="Run on this Dask cluster, such as tcp://host:8786."
)
@JSON
@THREADS
def sweep(plan: Path, out: Path | None, address: str | None, as_json: bool, threads: int) -> None:
    """Make the missing runs of PLAN's dataset.

    A plan (TOML) names a base scenario, variables, schedulers and seeds. After an interruption, even by kill -9, the
    same command continues. The dataset is the same to the byte.
    """
    excludes("--cluster", address, threads=threads)
    from plait.sweep import Plan, cluster
    from plait.sweep import sweep as make

    loaded = Plan.load(plan)
    folder = Path("results") / plan.stem if out is None else out
    start, complete = time.monotonic(), 0

    def update(done: int) -> None:
        nonlocal complete
        complete = done
        progress.update(done)

    try:
        with (
            cluster.dask(address) if address else nullcontext((None, None)) as (executor, workers),
            Progress("sweeping", loaded.runs, "runs", lines=True) as progress,
        ):
            outcome = make(
                loaded, folder, threads=threads, executor=executor, workers=workers, progress=update
            )
    except BaseException:
        if complete:
            say(
                f"{complete:,} of {loaded.runs:,} runs are complete and stay; the same command makes the others"
            )
        raise
    _print(outcome, time.monotonic() - start, as_json)


def _why_equal(dataset: Dataset) -> str:
    """Name the schedulers that do not use a variable."""
    assert dataset.distinct is not None
    unused: dict[str, list[str]] = {}
    for label in dataset.schedulers:
        used = {*dataset.distinct.setting, *dataset.distinct.variables(label)}
        names = " and ".join(name for name in dataset.several if name not in used)
        if names:
            unused.setdefault(names, []).append(label)
    found = [
        f"{', '.join(labels[:-1])}{' and ' * (len(labels) > 1)}{labels[-1]} "
        f"{'do' if len(labels) > 1 else 'does'} not use {names}"
        for names, labels in unused.items()
    ]
    return "; ".join(found) or "several values give the same scenario"


def _print(outcome: Outcome, seconds: float, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "dataset": str(outcome.folder),
                "runs": outcome.runs,
                "rows": outcome.rows,
                "made": outcome.made,
                "failed": outcome.failed,
            }
        )
    else:
        had = outcome.runs - outcome.made
        rate = f", {outcome.made / seconds:,.0f} a second" if outcome.made and seconds > 1 else ""
        say(
            f"wrote {outcome.made:,} runs to {outcome.folder} in {seconds:.1f} s{rate}"
            + (f"; {had:,} were there" if had else "")
        )
        if outcome.rows > outcome.runs:
            say(
                f"{outcome.runs:,} runs fill {outcome.rows:,} rows: {_why_equal(outcome.dataset)}, "
                f"so rows repeat; statistics count each run once"
            )
    if outcome.failed:
        sys.stdout.flush()
        why = "; ".join(f"{label}: {reason}" for label, reason in outcome.dataset.reasons.items())
        message = f"{outcome.folder}: {outcome.failed:,} of {outcome.runs:,} runs failed ({why}); column error has each"
        raise RunError(message)
