"""Reproducing a paper: make its runs, hold them against the printed values, write figures and a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plait import plots
from plait.files import make_folder, whole_file, write_text
from plait.papers import figures
from plait.papers.description import Paper, load_paper
from plait.papers.headline import HeadlineTable, headline
from plait.papers.page import page
from plait.papers.rows import Results, Row, evaluate
from plait.result import Result
from plait.run import Task, run_tasks
from plait.scenario import load


@dataclass(frozen=True)
class Reproduction:
    """A paper with its runs and rows."""

    paper: Paper
    results: Results
    rows: list[Row]

    def document(self) -> dict[str, Any]:
        """The reproduction as JSON has it."""
        return {"paper": self.paper.id, "rows": [row.document() for row in self.rows]}

    def headline(self) -> HeadlineTable:
        """What the paper is known for, printed and measured, one line per scheduler."""
        return headline(self.paper, self.results)

    def counts(self) -> tuple[int, int]:
        """How many rows the paper says something of, and how many of them agree."""
        compared = [row for row in self.rows if row.compared]
        return len(compared), sum(row.agrees is True for row in compared)

    def write(self, folder: Path, progress: Callable[[float], None] | None = None) -> list[Path]:
        """Write the figures (PNG) and one self-contained page; returns the files, the page first.

        `progress` is called with the share of the figures that are drawn.

        Raises:
            OutputError: the folder cannot be written to.
        """
        make_folder(folder)
        files, drawings = [], []
        for drawing in figures.draw(self.paper, self.results):
            picture = plots.png(drawing.figure)
            file = folder / f"{drawing.name}.png"
            with whole_file(file) as temporary:
                temporary.write_bytes(picture)
            files.append(file)
            drawings.append((drawing.title, picture))
            if progress is not None:
                progress(min(1.0, len(drawings) / len(self.paper.figures)))
        html = folder / "index.html"
        write_text(html, page(self.paper, self.rows, self.headline(), drawings))
        return [html, *files]


def tasks(paper: Paper, *, with_figures: bool = True) -> dict[tuple[str, str], Task]:
    """The runs that a paper needs, each recording what its figures need."""
    packets: set[tuple[str, str]] = set()
    series: set[tuple[str, str]] = set()
    for figure in paper.figures if with_figures else ():
        pairs = {(scenario, label) for scenario in figure.scenarios for label in figure.schedulers}
        if figures.kind(figure).packets:
            packets |= pairs
        if figures.kind(figure).series:
            series |= pairs
    made = {}
    for scenario in paper.scenarios.values():
        if scenario.file is None:
            continue
        loaded = load(scenario.file)
        for label in scenario.schedulers:
            key = (scenario.id, label)
            made[key] = Task(
                scenario=loaded,
                scheduler=paper.schedulers[label].choice,
                packets=key in packets,
                series="10ms" if key in series else None,
            )
    return made


def reproduce(
    name: str,
    *,
    with_figures: bool = True,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Reproduction:
    """Make a paper's runs and compare them with what it prints.

    Args:
        name: the paper, see `plait.papers.names`.
        with_figures: record what `Reproduction.write` needs.
        threads: 0 for one per core.
        progress: called with the share of the work that is done.

    Raises:
        ScenarioError: no such paper. RunError: a run failed.
    """
    paper = load_paper(name)
    made = tasks(paper, with_figures=with_figures)
    runs = run_tasks(list(made.values()), threads=threads, progress=progress)
    results = {key: Result(run.run, label=key[1]) for key, run in zip(made, runs, strict=True)}
    return Reproduction(paper, results, evaluate(paper, results))
