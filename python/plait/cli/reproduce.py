"""`plait reproduce`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import RenderableType
from rich.text import Text

from plait._core import ScenarioError
from plait.cli.options import ENGINE, JSON, THREADS, excludes
from plait.cli.output import print_json, say
from plait.cli.sheet import console
from plait.engines.names import EngineName
from plait.results.wording import wording
from plait.support.files import make_folder
from plait.support.papers import engines, names
from plait.support.progress import Progress, span
from plait.support.tables import FRAMED, Cell, Content, table

if TYPE_CHECKING:
    from plait.papers import Paper, Reproduction
    from plait.papers.headline import HeadlineTable
    from plait.papers.rows import Row

LONG_SECONDS = 30.0
"""Duration above which a reproduction announces it in advance."""
STYLES = {"agrees": "green", "differs": "bold red"}


@click.command()
@click.argument("paper", required=False)
@click.option("--list", "as_list", is_flag=True, help="List the papers.")
@ENGINE
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    metavar="PATTERN",
    help="Only scenarios with a matching id, such as 'H_*-100-10'; may be repeated.",
)
@JSON
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write figures and page below this folder; default: results, with --json nowhere.",
)
@click.option("--all-rows", is_flag=True, help="Also print measured values without a printed one.")
@THREADS
def reproduce(
    paper: str | None,
    as_list: bool,
    engine: EngineName,
    scenarios: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    all_rows: bool,
    threads: int,
) -> None:
    """Reproduce a paper, or all that the engine can.

    Prints the values of PAPER beside the measured ones. Writes the figures and one page. After an interruption the
    same command continues.
    """
    excludes("--list", as_list, scenario=scenarios, out=out, all_rows=all_rows)
    excludes("--json", as_json, all_rows=all_rows)
    if as_list and paper is not None:
        message = f"--list lists all papers; expected no PAPER, got {paper!r}"
        raise click.UsageError(message)
    if as_list:
        _list(as_json)
        return
    if paper is None:
        message = f"PAPER is missing; expected all or one of: {', '.join(names())}"
        raise ScenarioError(message)
    from plait.papers import load_paper
    from plait.papers import reproduce as reproduce_paper

    chosen = names(engine) if paper == "all" else [load_paper(paper).id]
    if out is None and not as_json:
        out = Path("results")
    if out is not None:
        make_folder(out)
    documents = []
    for name in chosen:
        folder = None if out is None else out / (name if engine == "sim" else f"{name}-{engine}")
        if engine == "sim" and not scenarios:
            _say_duration(load_paper(name), threads)
        with Progress(f"reproducing {name}", lines=True) as progress:
            done = reproduce_paper(
                name,
                engine=engine,
                scenarios=scenarios,
                with_figures=out is not None,
                threads=threads,
                progress=progress.update,
                keep=folder,
            )
        documents.append(done.document())
        if not as_json:
            _print(done, all_rows)
        if folder is not None:
            with Progress(f"drawing {name}", lines=True) as progress:
                written = done.write(folder, progress.update)
            say(f"wrote {written[0]} and {len(written) - 1} figures beside it")
    if as_json:
        print_json(documents if paper == "all" else documents[0])


def _say_duration(paper: Paper, threads: int) -> None:
    """Print the duration of a long reproduction."""
    cores = threads or os.cpu_count() or 1
    if not Progress.quiet and paper.core_seconds / cores > LONG_SECONDS:
        say(f"{paper.id}: {_duration(paper, cores)}")


def _duration(paper: Paper, cores: int) -> str:
    """Describe the duration of a reproduction on `cores` otherwise idle cores."""
    return f"about {span(paper.core_seconds / cores)} on {cores} core{'s' * (cores > 1)}"


def _list(as_json: bool) -> None:
    from plait.papers import load_paper

    papers = [load_paper(name) for name in names()]
    if as_json:
        print_json(
            [
                {
                    "paper": one.id,
                    "title": one.title,
                    "authors": one.authors,
                    "venue": one.venue,
                    "engines": engines(one.id),
                    "core_seconds": one.core_seconds,
                }
                for one in papers
            ]
        )
        return
    rows = [
        [
            Text(cell)
            for cell in (
                one.id,
                one.title,
                one.venue,
                ", ".join(engines(one.id)),
                _duration(one, os.cpu_count() or 1),
            )
        ]
        for one in papers
    ]
    headings, out = ("paper", "title", "venue", "engines", "takes in the simulator"), console()
    out.print(table(Content(headings, rows, words=range(5)), out.width))


def _print(done: Reproduction, all_rows: bool) -> None:
    from plait.papers.page import pivot
    from plait.papers.rows import differing, lacking
    from plait.papers.wording import said

    paper = done.paper
    console().print(_comparison(done, console().width))
    if paper.headline.columns:
        console().print(_headline(done.headline(), console().width))
    if all_rows:
        for measure in paper.measures:
            console().print(_pivot(pivot(paper, done.rows, measure), console().width))
    compared, agreeing = done.counts()
    rest = (
        "" if all_rows else f"; {len(done.rows) - compared} further measured values: --all-rows, or the page"
    )
    console().print(f"{agreeing} of {compared} printed values and claims agree{rest}", highlight=False)
    for reason, rows in differing(done.rows).items():
        console().print(
            f"\nDiffers because {reason}" if reason else "\nDiffers, no reason known",
            highlight=False,
            soft_wrap=True,
        )
        for row in rows:
            title, words = paper.scenarios[row.scenario].title, wording(row.metric, paper)
            word, number = "claim" if row.paper is None else "paper", words.number(row.measured)
            numbers = f"{word} {said(row, paper)}, measured {number} {words.interval(row.interval)}".strip()
            console().print(
                f"  {title}, {row.scheduler}, {words.heading}: {numbers}", highlight=False, soft_wrap=True
            )
    for reason, rows in lacking(done.rows).items():
        console().print(
            f"\nNot on the {paper.engine} engine: {reason}\n  {_runs(rows)}", highlight=False, soft_wrap=True
        )


def _runs(rows: Sequence[Row]) -> str:
    """Describe the number of values, with their scenarios and schedulers."""
    scenarios = list(dict.fromkeys(row.scenario for row in rows))
    schedulers = list(dict.fromkeys(row.scheduler for row in rows))
    return f"{len(rows)} value{'s' * (len(rows) > 1)}: {', '.join(scenarios)} with {', '.join(schedulers)}"


def _comparison(done: Reproduction, width: int) -> RenderableType:
    """Return the paper's values beside the measured ones; fewer columns on a narrow terminal."""
    from plait.papers.wording import difference, said, tolerance, verdict

    paper = done.paper
    where = "" if paper.engine == "sim" else f", on the {paper.engine} engine"
    full: list[Sequence[Cell]] = []
    short: list[Sequence[Cell]] = []
    for row in done.rows:
        if not row.stated:
            continue
        words, word = wording(row.metric, paper), verdict(row)
        what = (paper.scenarios[row.scenario].title, row.scheduler, words.heading)
        numbers = (said(row, paper), f"{words.number(row.measured)} {words.interval(row.interval)}".strip())
        judged = Text(word, style=STYLES.get(word, ""))
        beside = (difference(row), tolerance(row))
        full.append([Text(cell) for cell in (*what, *numbers, *beside)] + [judged])
        short.append([Text(cell) for cell in (", ".join(what), *numbers)] + [judged])
    headings = ("case", "scheduler", "metric", "paper", "measured", "difference", "tolerance", "")
    content = Content(headings, full, words=(0, 1, 2, 7))
    if content.widths(width, FRAMED) is None:
        content = Content(("case, scheduler, metric", "paper", "measured", ""), short, words=(0, 3))
    return table(content, width, title=f"{paper.title} ({paper.venue}){where}")


def _headline(content: HeadlineTable, width: int) -> RenderableType:
    """Return the headline table."""
    rows: list[Sequence[Cell]] = [
        [Text(cell, style="italic") for cell in (label, *cells)] for label, cells in content.printed
    ]
    last = len(rows) - 1
    rows += [[Text(cell) for cell in (label, *cells)] for label, cells in content.measured]
    headings = ["", *(f"{case}: {metric}" for case, metric in content.headings)]
    return table(Content(headings, rows, breaks=(last,)), width, title="The main results, by every reading")


def _pivot(content: dict[str, Any], width: int) -> RenderableType:
    rows = [
        [Text(cell) for cell in (title, scheduler, *numbers)]
        for title, scheduler, numbers in content["lines"]
    ]
    return table(Content(["case", "scheduler", *content["headings"]], rows, words=(0, 1)), width)
