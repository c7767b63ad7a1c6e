"""Reproduction of a paper: makes its runs, compares them with printed values, writes a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from plait import plots
from plait._core import ScenarioError
from plait.engines.names import EngineName
from plait.papers import figures
from plait.papers.description import Paper, load_paper, restricted
from plait.papers.headline import HeadlineTable, headline
from plait.papers.page import page
from plait.papers.rows import Row, evaluate
from plait.papers.runs import DERIVED, SERIES, CompletedRun, Results
from plait.results.result import Result
from plait.runs.checkpoint import FILE, Checkpoint
from plait.runs.experiment import run_each
from plait.runs.run import Task, refusal
from plait.scenarios.scenario import Scenario, load
from plait.support.files import make_folder, whole_file, write_text
from plait.support.papers import names

TABLES = ("packets", "series", "decisions")
"""The tables that a run can record for a paper."""


@dataclass(frozen=True)
class Reproduction:
    """A paper with its runs and rows."""

    paper: Paper
    results: Results
    rows: list[Row]

    def document(self) -> dict[str, Any]:
        """Return the reproduction as a JSON document."""
        rows = [row.document() for row in self.rows]
        return {"paper": self.paper.id, "engine": self.paper.engine, "rows": rows}

    def headline(self) -> HeadlineTable:
        """Return the paper's main result, printed and measured, one line per scheduler."""
        return headline(self.paper, self.results)

    def counts(self) -> tuple[int, int]:
        """Return the number of rows that are compared with the paper, and of those that agree."""
        compared = [row for row in self.rows if row.compared]
        return len(compared), sum(row.agrees is True for row in compared)

    def write(self, folder: Path, progress: Callable[[float], None] | None = None) -> list[Path]:
        """Write the figures (PNG) and one self-contained page; return the files, the page first.

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
                progress(min(1.0, len(drawings) / max(1, len(self.paper.figures))))
        html = folder / "index.html"
        write_text(html, page(self.paper, self.rows, self.headline(), drawings))
        return [html, *files]


def tasks(paper: Paper, *, with_figures: bool = True) -> dict[tuple[str, str], list[Task]]:
    """Return a paper's runs, per member of each scenario, with the necessary recordings.

    Figures of single runs show a scenario's first member, so only that one records for them. Runs
    that the paper's adaptation to its engine skips are left out.
    """
    measured = {table: _for_metrics(paper, table) for table in TABLES}
    drawn = {table: _for_figures(paper, table) if with_figures else set() for table in TABLES}
    made: dict[tuple[str, str], list[Task]] = {}
    for scenario in paper.scenarios.values():
        if scenario.file is None:
            continue
        ways: dict[tuple[Any, ...], list[Scenario]] = {}
        for label in scenario.schedulers:
            if paper.adaptation.skipped(scenario.id, label) is not None:
                continue
            scheduler, key = paper.schedulers[label], (scenario.id, label)
            way = (scheduler.paths, *scheduler.set.items())
            if way not in ways:
                ways[way] = [
                    load(
                        scenario.file,
                        {**paper.adaptation.set, **member.changes, **scheduler.set},
                        scheduler.paths,
                    )
                    for member in scenario.members
                ]
            made[key] = []
            for member, loaded in zip(scenario.members, ways[way], strict=True):
                packets, series, decisions = (
                    key in measured[table] or (not made[key] and key in drawn[table]) for table in TABLES
                )
                made[key].append(
                    Task(
                        scenario=loaded,
                        scheduler=scheduler.choice,
                        seed=member.seed,
                        packets=packets,
                        series=SERIES if series else None,
                        decisions=decisions,
                    )
                )
    return made


def _for_figures(paper: Paper, table: str) -> set[tuple[str, str]]:
    """Return the runs, by scenario and scheduler, that have to record a table for figures."""
    return {
        (scenario, label)
        for figure in paper.figures
        if getattr(figures.kind(figure), table)
        for scenario in figure.scenarios
        for label in figure.schedulers
    }


def _for_metrics(paper: Paper, table: str) -> set[tuple[str, str]]:
    """Return the runs that have to record a table for metrics."""
    cells = [((one.scenario, one.scheduler), one.metric) for one in paper.expected.values()]
    cells += [cell for measure in paper.measures for cell in measure.cells()]
    return {pair for pair, name in cells if getattr(DERIVED.get(name.rpartition(".")[2]), table, False)}


def reproduce(
    name: str,
    *,
    engine: EngineName = "sim",
    scenarios: Sequence[str] = (),
    with_figures: bool = True,
    members: int | None = None,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
    keep: Path | None = None,
) -> Reproduction:
    """Make a paper's runs and compare them with its printed values.

    Args:
        name: the paper, see `plait.papers.names`.
        engine: engine that makes the runs.
        scenarios: patterns of scenario ids, such as ``H_*-100-10``; only matching scenarios run.
            Empty means all.
        with_figures: record the data that `Reproduction.write` needs.
        members: maximum number of each scenario's seeds or points, evenly chosen, for a quick look;
            None for all.
        threads: number of threads; 0 for one per core.
        progress: called with the share of the completed work.
        keep: folder that keeps runs until all are made, so that the same call continues after an
            interruption.

    Raises:
        ScenarioError: no such paper or scenario, or nothing of it runs on the engine. RunError: a
            run failed.
        OutputError: `keep` cannot be written to.
    """
    paper = load_paper(name, engine)
    if scenarios:
        paper = restricted(paper, scenarios)
    if members is not None:
        paper = thinned(paper, members)
    return reproduction(paper, with_figures=with_figures, threads=threads, progress=progress, keep=keep)


def reproduction(
    paper: Paper,
    *,
    with_figures: bool = False,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
    keep: Path | None = None,
) -> Reproduction:
    """Make the runs of a paper's description, which may be modified, on its engine.

    Raises:
        ScenarioError: nothing of it runs on the engine. RunError: a run failed.
    """
    made, absent = possible(paper, tasks(paper, with_figures=with_figures))
    flat = [task for group in made.values() for task in group]
    checkpoint = None if keep is None else Checkpoint(keep / FILE, paper.engine)
    made_runs = run_each(
        flat,
        lambda result: result.run,
        engine=paper.engine,
        threads=threads,
        progress=progress,
        checkpoint=checkpoint,
    )
    runs = iter(made_runs)
    results = {
        (scenario, label): [
            CompletedRun(cast("Scenario", task.scenario), member, Result(next(runs), label=label))
            for task, member in zip(group, paper.scenarios[scenario].members, strict=True)
        ]
        for (scenario, label), group in made.items()
    }
    if checkpoint is not None:
        checkpoint.remove()
    return Reproduction(paper, results, evaluate(paper, results, absent))


def possible(
    paper: Paper, made: Mapping[tuple[str, str], list[Task]]
) -> tuple[dict[tuple[str, str], list[Task]], dict[tuple[str, str], str]]:
    """Return the runs that the engine can make, and the reasons why it cannot make the others.

    Raises:
        ScenarioError: the engine can make none.
    """
    absent = {
        (scenario.id, label): reason
        for scenario in paper.scenarios.values()
        for label in scenario.schedulers
        if (reason := paper.adaptation.skipped(scenario.id, label)) is not None
    }
    runs: dict[tuple[str, str], list[Task]] = {}
    for key, group in made.items():
        reason = refusal(group[0], paper.engine)
        if reason is None:
            runs[key] = group
        else:
            absent[key] = reason
    if absent and not runs:
        message = f"paper {paper.id}: not with the {paper.engine} engine: {next(iter(absent.values()))}"
        others = [one for one in names(paper.engine) if one != paper.id]
        raise ScenarioError(f"{message}; papers with that engine: {', '.join(others) or 'none'}")
    return runs, absent


def thinned(paper: Paper, members: int) -> Paper:
    """Return the paper with at most `members` members of each scenario, evenly chosen."""
    scenarios = {
        key: replace(one, members=one.members[:: -(-len(one.members) // members)])
        for key, one in paper.scenarios.items()
    }
    return replace(paper, scenarios=scenarios)
