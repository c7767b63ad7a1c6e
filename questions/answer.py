"""Answers the questions of `docs/questions` with data: ``make questions``.

For each question it makes the runs, draws the figures into `docs/questions` and fills in the
numbers of its page. Exit status: 0 done, 1 a run failed, 2 bad input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import asymmetry
import bidirectional
import click
import decision_cost
import lte
import polars as pl
import rtt_error
from study import HERE, Answer, MissingInputError, measure

from plait import plots
from plait.cli.errors import guarded
from plait.support.files import write_text
from plait.support.pages import fill
from plait.support.progress import Progress

PAGES = HERE.parent / "docs" / "questions"
CRITERION = HERE.parent / "target" / "criterion"
RUNS: Mapping[str, Callable[[pl.DataFrame], Answer]] = {
    "asymmetry": asymmetry.answer,
    "rtt-error": rtt_error.answer,
    "bidirectional": bidirectional.answer,
    "lte": lte.answer,
}
"""The questions answered by runs; a benchmark measures the cost of a decision."""
NAMES = ("asymmetry", "rtt-error", "decision-cost", "bidirectional", "lte")


def recordings(folder: Path | None) -> dict[str, str]:
    """Return the variable `traces` of the question `lte`; MissingInputError without a recording."""
    if folder is None:
        message = "lte: needs recordings; give their folder with --traces (docs/questions/lte.md says which they are)"
        raise MissingInputError(message)
    for name in lte.RECORDINGS:
        if not (folder / name).is_file():
            message = f"lte: {folder / name}: no such recording; expected in that folder: {', '.join(lte.RECORDINGS)}"
            raise MissingInputError(message)
    return {"traces": str(folder.resolve())}


def ask(name: str, traces: Path | None, criterion: Path, threads: int = 0) -> Answer:
    """Make a question's runs and evaluate them."""
    if name not in RUNS:
        return decision_cost.answer(criterion)
    given = recordings(traces) if name == "lte" else {}
    with Progress(f"running {name}") as progress:
        runs = measure(HERE / name, given, threads=threads, progress=progress.update)
    return RUNS[name](runs)


@click.command()
@click.argument("names", nargs=-1, metavar="[QUESTION]...", type=click.Choice(NAMES))
@click.option("--traces", type=click.Path(path_type=Path), help="Folder of the recordings that lte needs.")
@click.option(
    "--criterion",
    type=click.Path(path_type=Path),
    default=CRITERION,
    help="Where the benchmark left its estimates.",
)
@click.option("--threads", type=click.IntRange(0), default=0, help="0 means one per core.")
def main(names: tuple[str, ...], traces: Path | None, criterion: Path, threads: int) -> None:
    """Answer each QUESTION, or all; write figures and numbers into docs/questions.

    Without names, questions without their inputs are left as they are.
    """
    for name in names or NAMES:
        try:
            answer = ask(name, traces, criterion, threads)
        except MissingInputError as error:
            if names:
                raise
            click.echo(f"left as it is: {error}", err=True)
            continue
        for figure, drawn in answer.figures.items():
            plots.save(drawn, PAGES / f"{figure}.png")
        page = PAGES / f"{name}.md"
        write_text(page, fill(page.read_text(encoding="utf-8"), answer.tables, answer.values))
        click.echo(f"wrote docs/questions/{name}.md")


if __name__ == "__main__":
    guarded(lambda: main(standalone_mode=False))
