"""Schedulers on one scenario with several seeds: means with intervals, and differences of pairs.

Runs of one seed have the same losses and delays under all schedulers, so they are pairs. The
interval of the pairs' differences tells a difference from chance; it is narrower than those of the
two means.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from plait._core import ScenarioError
from plait.analysis.comparison import AgainstBaseline, compare, units
from plait.analysis.contest import ahead
from plait.engines.names import EngineName
from plait.results.metrics import CLOSE, direction, meant, metric, names_of
from plait.results.result import Comparison, Result
from plait.results.summary import (
    PATH_METRICS,
    Row,
    bound_rows,
    heading,
    metrics_of,
    written,
    written_interval,
)
from plait.results.wording import PERCENT, Wording
from plait.runs.experiment import grid
from plait.runs.run import run_tasks
from plait.scenarios.repetition import identical_note
from plait.scenarios.scenario import AnyScenario, parsed_scenario
from plait.scenarios.scheduler import Choice, check_several, choice_of, distinct, label_all
from plait.statistics.estimate import CONFIDENCE, Estimate, mean
from plait.support.progress import Progress
from plait.support.tables import NONE
from plait.sweep.dataset import SCENARIO

FEW = 3
"""Seeds below which intervals are not reliable."""


class Repeated(Sequence[Comparison]):
    """Runs of one scenario with each scheduler and each seed: one comparison per seed.

    `estimate` has a metric's mean over the seeds, in the metric's unit (its name ends in it), with
    Student's 95 % interval; `against` has differences of pairs; `frame` has all of it as a table.
    Seeds with `identical` runs count as one, and there are no intervals.
    """

    def __init__(self, comparisons: Sequence[Comparison]) -> None:
        self.comparisons = list(comparisons)
        first = self.comparisons[0]
        self.schedulers = [result.scheduler for result in first]
        self.seeds = [comparison[0].seed for comparison in self.comparisons]
        self.scenario = first[0].scenario

    def __getitem__(self, key: Any) -> Any:
        """Return the comparison of the seed at this index."""
        return self.comparisons[key]

    def __len__(self) -> int:
        return len(self.comparisons)

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.comparisons)

    def __repr__(self) -> str:
        seeds = ", ".join(map(str, self.seeds))
        return f"<Repeated comparison of {self.scenario!r}, seeds {seeds}>\n{self.frame()}"

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return self.frame()._repr_html_()

    @classmethod
    def of(cls, results: Sequence[Result]) -> Repeated:
        """Group runs of one scenario, in any order; leave out seeds that a scheduler lacks."""
        names = list(dict.fromkeys(result.scheduler for result in results))
        found = {(result.seed, result.scheduler): result for result in results}
        seeds = [
            seed
            for seed in dict.fromkeys(result.seed for result in results)
            if all((seed, name) in found for name in names)
        ]
        return cls([Comparison([found[seed, name] for name in names]) for seed in seeds])

    @property
    def perturbed(self) -> bool:
        """Whether all runs are repetitions of the scenario (`plait.scenarios.repetition`)."""
        return all(result.repetition_of is not None for one in self for result in one)

    @cached_property
    def identical(self) -> bool:
        """Whether several seeds all gave the same runs: every metric is equal to the last digit."""
        told = [[_told(result) for result in one] for one in self]
        return len(told) > 1 and all(one == told[0] for one in told)

    @property
    def note(self) -> str | None:
        """A note that the seeds count as one; None if they differ."""
        return identical_note(len(self), perturb=self.perturbed) if self.identical else None

    @property
    def counted(self) -> Sequence[Comparison]:
        """The comparisons that statistics count: one per seed, or only one if all are identical."""
        return self.comparisons[:1] if self.identical else self.comparisons

    def values(self, name: str) -> list[list[float | None]]:
        """Return a metric of each scheduler, by seed."""
        return _values(self.comparisons, name)

    def estimate(self, name: str) -> list[Estimate | None]:
        """Return a metric's mean over the seeds for each scheduler; None where a run lacks it."""
        return [
            None if None in values else mean(np.array(values, dtype=np.float64))
            for values in _values(self.counted, name)
        ]

    def against(self, name: str, baseline: str | None = None) -> list[AgainstBaseline]:
        """Compare every other scheduler with one, by default the first; gains are positive.

        Empty if a run lacks the metric, or neither more nor less of it is better.
        """
        values, way = _values(self.counted, name), direction(name)
        if way == 0 or any(None in one for one in values):
            return []
        frame = pl.DataFrame(
            {
                "point": [0 for one in values for _ in one],
                SCENARIO: [0 for one in values for _ in one],
                "seed": [seed for one in values for seed in range(len(one))],
                "scheduler": [name for name, one in zip(self.schedulers, values, strict=True) for _ in one],
                name: [value for one in values for value in one],
            }
        )
        found = units(frame, name, self.schedulers)
        base = self.schedulers[0] if baseline is None else baseline
        return [one.turned(way) for one in compare(found, base, higher=way > 0, tie=CLOSE)]

    def best(self, name: str) -> frozenset[int]:
        """Return the set with the index of the scheduler that is best beyond chance.

        It is empty if the next one may be as good.
        """
        values = self.values(name)
        if self.identical or any(None in one for one in values):
            return frozenset()
        first = ahead(np.array(values, dtype=np.float64).T, direction(name))
        return frozenset() if first is None else frozenset({first})

    def known(self) -> list[str]:
        """Return the metrics of tables that at least one run has."""
        shown = metrics_of(result for each in self.counted for result in each)
        return [name for name in shown if any(one is not None for run in self._held(name) for one in run)]

    def _held(self, name: str) -> list[list[float | None]]:
        try:
            return self.values(name)
        except KeyError:
            return []

    def row(self, name: str) -> Row:
        """Return the row of a metric: means with their intervals."""
        return Row(heading(name), [_cell(name, one) for one in self.estimate(name)], self.best(name))

    def rows(self) -> list[Row]:
        """Return a row per metric that a run has: means with their intervals."""
        return [self.row(name) for name in self.known()] + bound_rows(
            [[one[place] for one in self.counted] for place in range(len(self.schedulers))],
            lambda values: _in(PERCENT, mean(values)),
        )

    def path_rows(self) -> list[tuple[str, list[Row]]]:
        """Return the rows of each path, with its name."""
        paths = self.comparisons[0][0].path_names
        return [
            (
                path,
                [
                    Row(title, [_cell(key, one) for one in found])
                    for key, title in PATH_METRICS.items()
                    for found in [self._of_path(place, key)]
                ],
            )
            for place, path in enumerate(paths)
        ]

    def gain_rows(self) -> list[Row]:
        """Return the gains over the first scheduler in percent, with the interval over pairs."""
        rows = []
        for name in self.known():
            cells = self.gain_cells(name)[1:]
            if any(cell != NONE for cell in cells):
                title = f"{heading(name).rpartition(' (')[0] or heading(name)} (%)"
                rows.append(Row(title, cells))
        return rows

    def gain_cells(self, name: str) -> list[str]:
        """Return each scheduler's gain over the first one in percent; a dash where it means nothing.

        That is where the first scheduler's metric is zero in more than half of the runs, as counts
        of rare events are.
        """
        base = self.values(name)[0]
        rare = sum(not value for value in base) > len(base) / 2
        against = {} if rare else {one.scheduler: one.change for one in self.against(name)}
        return [_percent(against.get(one)) for one in self.schedulers]

    @property
    def same(self) -> list[list[str]]:
        """Groups of schedulers whose runs are equal in every metric, with every seed."""
        groups: dict[str, list[str]] = {}
        for place, name in enumerate(self.schedulers):
            told = json.dumps([_told(one[place]) for one in self], sort_keys=True)
            groups.setdefault(told, []).append(name)
        return [names for names in groups.values() if len(names) > 1]

    def frame(self, metrics: Sequence[str] = ()) -> pl.DataFrame:
        """Return a row per scheduler and metric: mean, low, high, and the gain with its interval.

        Args:
            metrics: dotted names; units may be omitted. By default the metrics that the command
                prints.

        Raises:
            KeyError: a metric is unknown.
        """
        known = names_of(self.comparisons[0][0])
        names = [meant(name, known) or name for name in metrics] or self.known()
        rows = []
        for name in names:
            against = {one.scheduler: one.change for one in self.against(name)}
            for scheduler, found in zip(self.schedulers, self.estimate(name), strict=True):
                change = against.get(scheduler)
                rows.append(
                    {
                        "metric": name,
                        "scheduler": scheduler,
                        "mean": None if found is None else found.value,
                        "low": None if found is None else found.low,
                        "high": None if found is None else found.high,
                        "better_by_percent": None if change is None else change.value,
                        "better_low": None if change is None else change.low,
                        "better_high": None if change is None else change.high,
                    }
                )
        schema = dict.fromkeys(("metric", "scheduler"), pl.String) | dict.fromkeys(
            ("mean", "low", "high", "better_by_percent", "better_low", "better_high"), pl.Float64
        )
        return pl.DataFrame(rows, schema=schema)

    def document(self) -> dict[str, Any]:
        """Return JSON: per metric and scheduler the values by seed, their mean, and the gain.

        Gains are relative to the first scheduler.
        """
        metrics = {}
        for name in self.known():
            found = self.estimate(name)
            against = {one.scheduler: one for one in self.against(name)}
            best = self.best(name)
            metrics[name] = {
                "best": self.schedulers[min(best)] if best else None,
                "schedulers": {
                    scheduler: {
                        "values": values,
                        "mean": None if one is None else asdict(one),
                        "better_by": _dictionary(gain.difference if gain else None),
                        "better_by_percent": _dictionary(gain.change if gain else None),
                    }
                    for scheduler, values, one in zip(self.schedulers, self.values(name), found, strict=True)
                    for gain in [against.get(scheduler)]
                },
            }
        return {
            "scenario": self.scenario,
            "seeds": self.seeds,
            "schedulers": self.schedulers,
            "baseline": self.schedulers[0],
            "confidence": CONFIDENCE,
            "perturbed": self.perturbed,
            "identical": self.identical,
            "note": self.note,
            "metrics": metrics,
        }

    def _of_path(self, place: int, key: str) -> list[Estimate | None]:
        found: list[Estimate | None] = []
        for index in range(len(self.schedulers)):
            paths: list[Any] = [one[index].paths[place].get(key) for one in self.counted]
            found.append(None if None in paths else mean(paths))
        return found


def _values(comparisons: Sequence[Comparison], name: str) -> list[list[float | None]]:
    return [[metric(one[index], name) for one in comparisons] for index in range(len(comparisons[0]))]


def _told(result: Result) -> dict[str, Any]:
    return {key: result.data.get(key) for key in ("metrics", "paths", "flows")}


def _cell(name: str, found: Estimate | None) -> str:
    if found is None:
        return NONE
    interval = written_interval(name, found.interval)
    return f"{written(name, found.value)} ({interval})" if interval else written(name, found.value)


def _percent(change: Estimate | None) -> str:
    return NONE if change is None else _in(PERCENT, change)


def _in(words: Wording, found: Estimate) -> str:
    return f"{words.number(found.value)} {words.interval(found.interval)}".strip()


def _dictionary(found: Estimate | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)


def seeds_of(scenario: AnyScenario, count: int, first: int | None = None) -> list[int]:
    """Return `count` consecutive seeds, from `first` or from the scenario's own seed."""
    start = parsed_scenario(scenario).seed if first is None else first
    return [start + number for number in range(count)]


def repeat(
    scenario: AnyScenario,
    schedulers: Sequence[Choice],
    *,
    seeds: int,
    seed: int | None = None,
    threads: int = 0,
    engine: EngineName = "sim",
    perturb: bool | None = None,
) -> Repeated:
    """Run one scenario with each of the schedulers and several seeds.

    With the same seed, all schedulers meet the same losses. Several seeds are repetitions: delays
    differ by up to 0.5 % from the scenario and flows begin up to 10 ms later, equally for all
    schedulers (`plait.scenarios.repetition`). A single seed is the scenario as written.

    Args:
        scenario: a scenario, or the name of a scenario file.
        schedulers: as `plait.compare` takes them.
        seeds: number of seeds, at least 1.
        seed: the first seed, instead of the scenario's; a whole number without a unit.
        threads: 0: one per core.
        engine: ``"sim"``, ``"linux"``, ``"quic"`` or ``"usrsctp"``.
        perturb: False: every seed is the scenario as written. True: a single seed is a repetition,
            too.

    Raises:
        ScenarioError: bad input. RunError: a run failed.
    """
    if seeds < 1:
        message = f"seeds: expected at least 1, got {seeds}"
        raise ScenarioError(message)
    check_several(schedulers)
    distinct(label_all([choice_of(one) for one in schedulers]), "schedulers")
    numbers = seeds_of(scenario, seeds, seed)
    changed = seeds > 1 if perturb is None else perturb
    tasks = grid(scenario, schedulers, numbers, perturb=changed)
    with Progress("comparing") as progress:
        results = run_tasks(tasks, threads=threads, progress=progress.update, engine=engine)
    width = len(schedulers)
    return Repeated([Comparison(results[start : start + width]) for start in range(0, len(results), width)])
