"""Judges schedulers on the suite: the runs, the stored results, and their scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from plait._core import ScenarioError
from plait.benchmark.known import known, schedulers_of
from plait.benchmark.runs import ALONE, forget, measured, references
from plait.benchmark.scores import Case, Scores, Standing
from plait.benchmark.suite import REPETITIONS, SUITE, Point, digest, points
from plait.results.summary import count
from plait.runs.run import Task, refusal
from plait.scenarios.own import Own, with_parameters
from plait.scenarios.scheduler import distinct, label_all, parse_list
from plait.support.files import make_folder
from plait.support.machine import plait_version
from plait.support.progress import part as part_of
from plait.sweep.planned_scheduler import PlannedScheduler


@dataclass(frozen=True)
class Bench:
    """Schedulers on the suite.

    part: the part, or ``fresh`` and the seed of the draw. texts: for each judged scheduler, how a
    command names it. rows: the runs that were made. known: labels of the schedulers with stored
    results.
    """

    part: str
    points: Sequence[Point]
    texts: Mapping[str, str]
    baseline: str
    rows: pl.DataFrame
    known: Sequence[str]
    scores: Scores
    standings: Sequence[Standing]
    worst: Sequence[Case]

    @property
    def title(self) -> str:
        """The name to cite."""
        return f"Plait bench {SUITE}, {self.part}"

    @property
    def failures(self) -> str:
        """A message about failed runs; empty if none failed."""
        failed = self.rows.filter(pl.col("error").is_not_null())
        counts = Counter(zip(failed["scheduler"], failed["error"], strict=True))
        return "; ".join(
            f"{label}: {count(number, 'run')} failed: {why}" for (label, why), number in counts.most_common(3)
        )

    def document(self) -> dict[str, Any]:
        """Return the scores as JSON."""
        return {
            "suite": SUITE,
            "part": self.part,
            "version": plait_version(),
            "points": len(self.points),
            "sha256": digest(self.points),
            "repetitions": REPETITIONS,
            "baseline": self.baseline,
            "known": list(self.known),
            "standings": [asdict(one) for one in self.standings],
            "worst": [
                {**asdict(one), "point": one.point.id, "metric": one.point.metric} for one in self.worst
            ],
        }


def bench(
    schedulers: Sequence[Any] = (),
    *,
    part: str = "report",
    fresh: int | None = None,
    number: int | None = None,
    domains: Sequence[str] = (),
    baseline: str = "lowest-rtt",
    worst: int = 3,
    folder: Path | None = None,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Bench:
    """Run schedulers on points of the suite, and compare them with all stored results there.

    Args:
        schedulers: names, or tables with a name; ``all`` is every built-in one. Without any, the
            stored results are judged.
        part: a part of the suite.
        fresh: seed of a new draw, which replaces the part. It has no stored results.
        number: points of each domain; by default all.
        domains: names of domains; empty: all.
        baseline: the scheduler of paired comparisons.
        worst: number of worst cases of each scheduler.
        folder: keeps the runs until all are complete, so that the same call continues.
        threads: number of parallel runs; 0: one per core.
        progress: called with the completed share of the runs.

    Raises:
        ScenarioError: bad input. OutputError: the folder is not writable.
    """
    part = part if fresh is None else f"fresh {fresh}"
    chosen = points(part, number, domains)
    stored = known(part, chosen)
    given, held = labelled(schedulers), schedulers_of(stored)
    if not given and not held:
        message = f"schedulers: {part} has no stored results; expected at least one scheduler"
        raise ScenarioError(message)
    run = given if baseline in (*given, *held) else given | labelled([baseline])
    planned = [PlannedScheduler(label, choice) for label, choice in run.items()]
    for one in planned:
        refusal(Task(scenario=chosen[0].scenario, scheduler=one.choice), "sim")
    if folder is not None:
        make_folder(folder)
    parts = [stored.filter(~pl.col("scheduler").is_in(list(run)))]
    rows = measured(chosen, planned, threads=threads, folder=folder, progress=part_of(progress, 0, 0.8))
    if ALONE not in stored["scheduler"]:
        parts.append(references(chosen, threads=threads, folder=folder, progress=part_of(progress, 0.8, 1)))
    if folder is not None:
        forget(folder)
    judged = {label: _text(label, choice) for label, choice in given.items()} or {name: name for name in held}
    scores = Scores(chosen, pl.concat([rows, *parts]), list(judged), baseline)
    return Bench(
        part,
        chosen,
        judged,
        baseline,
        rows,
        held,
        scores,
        scores.standings(),
        [case for name in judged for case in scores.worst(name, worst)],
    )


def labelled(schedulers: Sequence[Any]) -> dict[str, str | Mapping[str, Any] | Own]:
    """Return the schedulers by label."""
    choices = parse_list(schedulers, "schedulers")
    labels = [str(one) for one in label_all(choices)]
    distinct(labels, "schedulers")
    return dict(zip(labels, choices, strict=True))


def _text(label: str, choice: str | Mapping[str, Any] | Own) -> str:
    """Return a scheduler as commands name it."""
    return with_parameters(f"{choice.file}:{choice.name}", choice.given) if isinstance(choice, Own) else label
