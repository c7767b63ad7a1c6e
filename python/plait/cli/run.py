"""`plait run` and `plait compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plait._core import ScenarioError
from plait.cli.options import (
    LATEX,
    SEED,
    SEEDS,
    SERIES_DEFAULT,
    excludes,
    needs,
    of_runs,
)
from plait.cli.output import documents, print_json, print_metrics, print_repeated, print_tables, say
from plait.engines.names import EngineName
from plait.scenarios.own_workload import load_with
from plait.scenarios.scenario import Scenario
from plait.scenarios.scheduler import Choice, distinct, label_all, parse_choice, parse_list
from plait.scenarios.units import duration_ns
from plait.support.files import make_folder
from plait.support.progress import Progress

if TYPE_CHECKING:
    from plait.results.result import Result

USUAL = ("lowest-rtt", "round-robin", "blest", "ecf", "redundant", "linux-default")
"""The default choice: the schedulers of kernels, and the usual ones of papers."""


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option(
    "--index",
    type=click.IntRange(min=0),
    metavar="N",
    help="FILE is the dataset of a sweep: repeat its run with this index.",
)
@click.option(
    "--scheduler",
    "names",
    multiple=True,
    metavar="NAME",
    help="NAME, NAME:parameter=value:…, or FILE.py:CLASS:parameter=value:… instead of the scenario's; may be repeated.",
)
@SEED
@of_runs
def run(
    files: tuple[Path, ...],
    index: int | None,
    names: tuple[str, ...],
    seed: int | None,
    perturb: bool | None,
    alone: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run scenario files and print their metrics.

    \b
    plait run links.toml --scheduler daps --out out
    plait run results/plan --index 425 --out again --decisions     a run of plait sweep again
    """  # noqa: D301  click wants the character, not its escape
    choices: list[Choice | None] = [parse_choice(name) for name in names] or [None]
    scenarios: list[Scenario] = []
    runs = RunOptions(perturb=bool(perturb), **options)
    if index is None:
        scenarios += map(runs.load, files)
    else:
        given = {"seed": seed is not None, "perturb": perturb is not None, "workload": runs.workload}
        excludes("--index", True, **given, alone=alone)
        scenario, choices, seed = _of_dataset(files, index, names)
        scenarios.append(scenario)
    distinct(label_all(choices), "--scheduler")
    groups = runs.make("running", scenarios, choices, [seed])
    results = [result for group in groups for result in group]
    singly = [runs.alone(file, seed) for file in files] if alone else []
    if as_json:
        held = [singly[place] for place, group in enumerate(groups) for _ in group] if alone else []
        print_json(documents(results, held))
        return
    print_tables(groups, singly)


def _of_dataset(
    files: tuple[Path, ...], index: int, names: tuple[str, ...]
) -> tuple[Scenario, list[Choice | None], int]:
    """Return the run of a dataset: scenario, scheduler, seed; `names` has the file of a class."""
    from plait.sweep.again import run_again

    if len(files) != 1 or len(names) > 1:
        message = "--index: expected one dataset, and --scheduler at most once"
        raise click.UsageError(message)
    found = run_again(files[0], index, names[0] if names else None)
    for note in found.notes:
        say(f"warning: {note}")
    return found.scenario, [found.choice], found.seed


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--schedulers",
    "names",
    default=",".join(USUAL),
    show_default=True,
    metavar="A,B,…|all",
    help="Schedulers: names, NAME:parameter=value:…, FILE.py:CLASS:parameter=value:…; all: every built-in one.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Print only this metric, such as app_delay_ms.p95, in a table with a row per scheduler; may be repeated.",
)
@SEED
@SEEDS
@LATEX
@of_runs
def compare(
    file: Path,
    names: str,
    metrics: tuple[str, ...],
    seed: int | None,
    seeds: int | None,
    latex: bool,
    perturb: bool | None,
    alone: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare schedulers on one scenario.

    All schedulers meet the same losses on the same packets. Several seeds are repetitions (see --perturb): values have
    intervals, and the best is bold if it is so beyond chance.
    """
    excludes("--latex", latex, json=as_json)
    excludes("--metric", metrics, json=as_json)
    choices = choices_of(names)
    numbers: list[int | None] = [seed]
    if seeds is not None and seeds > 1:
        from plait.analysis.repeated import seeds_of

        numbers = [*seeds_of(file, seeds, seed)]
    several = len(numbers) > 1
    runs = RunOptions(perturb=several if perturb is None else perturb, **options)
    groups = runs.make("comparing", [runs.load(file)], choices, numbers)
    singly = [runs.alone(file, number) for number in numbers] if alone else []
    if metrics:
        from plait.analysis import Repeated

        print_metrics(Repeated.of([one for group in groups for one in group]), metrics, singly, latex=latex)
        return
    if several:
        _print_seeds(groups, singly, as_json, latex=latex)
        return
    (results,) = groups
    if as_json:
        whole = documents(results, singly * len(results))
        print_json(whole if len(results) > 1 else [whole])
        return
    print_tables([results], singly, latex=latex)


def _print_seeds(
    groups: list[list[Result]], alone: list[dict[str, Result]], as_json: bool, *, latex: bool
) -> None:
    """Print the output of `compare --seeds`; `alone` has the runs of each path alone by seed."""
    from plait.analysis.repeated import Repeated
    from plait.results.result import Comparison

    found = Repeated([Comparison(group) for group in groups])
    if not as_json:
        print_repeated(found, alone, latex=latex)
        return
    document = found.document()
    if alone:
        from plait.analysis.alone import GOODPUT, alone_document

        document["alone_bps"] = {
            str(seed): {name: run.metrics[GOODPUT] for name, run in singly.items()}
            for seed, singly in zip(found.seeds, alone, strict=True)
        }
        document["alone"] = {
            name: alone_document(column, alone)
            for name, column in zip(found.schedulers, zip(*found, strict=True), strict=True)
        }
    print_json(document)


def choices_of(text: str) -> list[Choice | None]:
    """Return the schedulers of a comma-separated list; `all` in it is every built-in one.

    Raises:
        ScenarioError: an entry is empty or is not a scheduler.
    """
    place = f"--schedulers {text!r}"
    choices = parse_list(text.split(","), place)
    distinct(label_all(choices), place)
    return [*choices]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a command for its runs and its output files."""

    perturb: bool
    engine: EngineName
    out: Path | None
    series: str | None
    decisions: bool
    pcap: Path | None
    qlog: Path | None
    threads: int
    workload: str | None

    def load(self, file: Path, only: Sequence[str] = ()) -> Scenario:
        """Read a scenario file, with the workload of the options and of its paths only some."""
        return load_with(self.workload, file, only)

    def make(
        self,
        title: str,
        scenarios: list[Scenario],
        choices: list[Choice | None],
        seeds: Sequence[int | None],
    ) -> list[list[Result]]:
        """Run every scenario and seed with every scheduler; return a group per scenario and seed."""
        from plait.runs.experiment import grid
        from plait.runs.run import run_tasks

        series, out = self._series(), self.out
        self._prepare(len(scenarios) * len(seeds) * len(choices))
        tasks = [
            task
            for scenario in scenarios
            for task in grid(
                scenario,
                choices,
                seeds,
                perturb=self.perturb,
                packets=out is not None,
                series=series if out is not None else None,
                decisions=self.decisions or self.qlog is not None,
                pcap=self.pcap,
            )
        ]
        with Progress(title) as progress:
            results = run_tasks(tasks, threads=self.threads, progress=progress.update, engine=self.engine)
        self._write(results)
        return [results[start : start + len(choices)] for start in range(0, len(results), len(choices))]

    def alone(self, file: Path, seed: int | None) -> dict[str, Result]:
        """Return the run of each path alone, by name.

        Transport, workload, losses and delays are the same.

        Raises:
            ScenarioError: the scenario is not valid without the other paths.
        """
        from plait.runs.run import Task, run_tasks

        names = [str(path.name) for path in self.load(file).paths]
        try:
            scenarios = [self.load(file, [name]) for name in names]
        except ScenarioError as error:
            message = f"--alone: {error}"
            raise ScenarioError(message) from error
        tasks = [Task(scenario=scenario, seed=seed, perturb=self.perturb) for scenario in scenarios]
        results = run_tasks(tasks, threads=self.threads, engine=self.engine)
        return dict(zip(names, results, strict=True))

    def _series(self) -> str:
        """Return the interval of time series, after a check of the options."""
        needs("--decisions", self.decisions, "--out", self.out)
        needs("--series", self.series, "--out", self.out)
        series = self.series or SERIES_DEFAULT
        try:
            interval = duration_ns(series)
        except ScenarioError as error:
            message = f"--series: {error}"
            raise ScenarioError(message) from error
        if interval == 0:
            message = f"--series {series!r}: expected more than 0 ms"
            raise ScenarioError(message)
        return series

    def _prepare(self, count: int) -> None:
        """Check --qlog for this number of runs, and make the folders."""
        from plait.results.qlog import SUFFIXES
        from plait.results.writing import is_file_name

        qlog = self.qlog
        if qlog is not None and is_file_name(qlog) and count > 1:
            message = f"--qlog {str(qlog)!r}: one file for {count} runs; expected a folder"
            raise ScenarioError(message)
        if qlog is not None and qlog.suffix and not is_file_name(qlog) and not qlog.is_dir():
            message = (
                f"--qlog {str(qlog)!r}: expected a file that ends in {' or '.join(SUFFIXES)}, or a folder"
            )
            raise ScenarioError(message)
        if self.out is not None:
            make_folder(self.out)
        if qlog is not None:
            make_folder(qlog.parent if is_file_name(qlog) else qlog)

    def _write(self, results: list[Result]) -> None:
        """Write the results where the options ask for it, and the warnings."""
        from plait.results.writing import write_qlogs, write_results

        for result in results:
            for text in result.warnings:
                say(f"warning: {result.scenario}: {text}")
        runs = f"{len(results)} run{'s' * (len(results) > 1)}"
        if self.out is not None:
            written = write_results(results, self.out)
            say(f"wrote {len(written)} files for {runs} below {self.out}")
        if self.pcap is not None:
            captures = sum(2 * len(result.paths) for result in results)
            say(f"wrote {captures} captures of {runs} below {self.pcap}")
        if self.qlog is not None:
            write_qlogs(results, self.qlog)
            say(f"wrote the decisions of {runs} to {self.qlog}")
