"""The subject of a figure for a paper: a metric of some schedulers in a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import polars as pl
from matplotlib.figure import Figure

from plait._core import ScenarioError
from plait.analysis.comparison import AgainstBaseline, Units, compare, units
from plait.analysis.regions import check_variables
from plait.plots.style import caption
from plait.results.metrics import CLOSE, meant
from plait.results.summary import count
from plait.results.wording import Wording, wording
from plait.support.words import expected
from plait.sweep.dataset import Dataset


class Subject:
    """A metric of some schedulers in a dataset, with the statistics of `plait.analysis`.

    Args:
        dataset: from `plait.sweep.read` or `plait.sweep.dataset_of`.
        metric: a dotted name, such as ``"goodput_bps"``; unit and ``.mean`` may be left out.
        schedulers: labels, or names as in the plan; by default all.
        baseline: the scheduler with which the others are compared; "" for the first one.

    Raises:
        ScenarioError: a metric or scheduler is unknown.
    """

    def __init__(
        self, dataset: Dataset, metric: str, schedulers: Sequence[str] = (), baseline: str | None = None
    ) -> None:
        self.dataset, self.metric = dataset, metric_name(dataset, metric)
        self.schedulers = tuple(map(dataset.scheduler, schedulers)) or tuple(dataset.schedulers)
        self.baseline = None if baseline is None else self.schedulers[0]
        if baseline:
            self.baseline = dataset.scheduler(baseline)
            self.schedulers = tuple(dict.fromkeys((self.baseline, *self.schedulers)))
        if baseline is None:
            return
        if dataset.direction(self.metric) == 0:
            message = f"metric {self.metric!r}: neither more nor less of it is better; expected another one"
            raise ScenarioError(message)
        if len(self.schedulers) < 2:
            message = f"{dataset.folder}: only {self.baseline}: nothing to compare; expected at least two schedulers"
            raise ScenarioError(message)

    @property
    def others(self) -> tuple[str, ...]:
        """The schedulers without the baseline."""
        return tuple(name for name in self.schedulers if name != self.baseline)

    def rows(self, *variables: str) -> pl.DataFrame:
        """Return the runs with some variables; identical repetitions count once.

        Raises:
            ScenarioError: a variable is unknown.
        """
        if variables and not self.dataset.variables:
            message = f"{self.dataset.folder}: results, without variables; expected the dataset of a sweep"
            raise ScenarioError(message)
        check_variables(variables, self.dataset.variables)
        return self.dataset.pairs(*variables, self.metric)

    def units(self, rows: pl.DataFrame) -> Units:
        """Return the values of each scheduler: a row per point, or per seed of a single point."""
        return units(rows, self.metric, self.schedulers)

    @cached_property
    def whole(self) -> Units:
        """The values of the whole dataset; ScenarioError without any."""
        return self.some(self.units(self.rows()))

    def some(self, found: Units) -> Units:
        """Return the values; ScenarioError if there are none."""
        if not len(found.values):
            message = (
                f"{self.dataset.folder}: {self.metric}: no scenario in which every scheduler has a value"
            )
            raise ScenarioError(message)
        return found

    def gains(self, found: Units) -> list[AgainstBaseline]:
        """Return the comparisons with the baseline, in which more than zero is better."""
        way = self.dataset.direction(self.metric)
        assert self.baseline is not None
        return [one.turned(way) for one in compare(found, self.baseline, higher=way > 0, tie=CLOSE)]

    @property
    def words(self) -> Wording:
        """The metric's label and unit."""
        return wording(self.metric)

    def gain_label(self, unit: str) -> str:
        """Return the label of an axis of gains in this unit."""
        label = self.words.label
        return f"{label}: better than {self.baseline} by{f' ({unit})' if unit else ''}"

    def with_unit(self, variable: str) -> str:
        """Add the unit from the plan's templates to a variable, such as ms of ``"{rtt}ms"``."""
        unit = self.dataset.unit(variable)
        return f"{variable} ({unit})" if unit else variable

    def over(self, kinds: Iterable[str], *shown: str) -> str:
        """Describe the units of intervals, with the variables in which they differ.

        `shown` has the variables on the axes.
        """
        others = [name for name in self.dataset.varied if name not in shown]
        differ = f", which differ in {' and '.join(others)}" if others else ""
        return f"over {' or '.join(sorted(set(kinds)))}{differ}"

    def caption(self, figure: Figure, text: str, note: str | None) -> None:
        """Write name, runs, `text` and `note` below the figure; nothing if `note` is None."""
        if note is None:
            return
        runs = f"{self.dataset.name}: {count(self.dataset.runs, 'run')}, {text}"
        said = "; ".join(filter(None, [runs, self.dataset.identical.note]))
        caption(figure, f"{said}. {note}".strip())


def metric_name(dataset: Dataset, metric: str) -> str:
    """Return the column of a metric's name, which may omit the unit or ``.mean``.

    Raises:
        ScenarioError: the metric is unknown, or is not a number that can be drawn.
    """
    known = [name for name in dataset.names if dataset.direction(name) != 0 or name in dataset.metrics]
    found = meant(metric, known)
    if found is not None:
        return found
    message = f"metric {metric!r}: unknown{expected(metric, known)}"
    raise ScenarioError(message)
