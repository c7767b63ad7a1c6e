"""Runs against each path alone under the same transport, by the metrics of their workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from plait.results.benefit import aggregation_benefit
from plait.results.catalogue import CATALOGUE
from plait.results.metrics import direction, metric_if_known
from plait.results.result import Result
from plait.results.summary import Row, best, heading, written
from plait.results.wording import PERCENT, Wording, wording
from plait.statistics.estimate import Estimate, change_of_mean, mean
from plait.support.tables import NONE

OF_WORKLOADS = ("completion_time_s", "block_delay_ms", "request_latency_ms")
"""Metrics of workloads that end or have messages. Other workloads are judged by their goodput."""
GOODPUT: Final = "goodput_bps"
BENEFIT = Wording("", "", 1.0, 2)

Alone = Sequence[Mapping[str, Result]]
"""The run of each path alone, by the path's name; one mapping per seed."""


@dataclass(frozen=True)
class AgainstAlone:
    """A metric of a scheduler's runs against that of each path alone, by seed.

    `alone` has the values by the path's name. None is a run without a value.
    """

    metric: str
    values: Sequence[float | None]
    alone: Mapping[str, Sequence[float | None]]

    @classmethod
    def of(cls, name: str, results: Sequence[Result], alone: Alone) -> AgainstAlone:
        """Return the comparison of a scheduler's runs, one per seed, by a metric."""
        paths = {path: [metric_if_known(singly[path], name) for singly in alone] for path in alone[0]}
        return cls(name, [metric_if_known(result, name) for result in results], paths)

    @property
    def means(self) -> dict[str, float | None]:
        """The mean of each path alone over the seeds; None if a run has no value."""
        return {path: _mean(values) for path, values in self.alone.items()}

    @property
    def best(self) -> str | None:
        """The path with the best mean alone, the first of equal ones; None if no path has one."""
        means = {path: value for path, value in self.means.items() if value is not None}
        return max(means, key=lambda path: means[path] * direction(self.metric), default=None)

    @property
    def gain(self) -> Estimate | None:
        """Percent by which the runs are better than the best path alone; None without a value.

        Its interval is over pairs, which have the same seed.
        """
        values, base = _known(self.values), _known(self.alone.get(self.best or "", [None]))
        change = change_of_mean(values, base) if values and base else None
        return change if change is None or direction(self.metric) > 0 else change.negated()

    @property
    def benefit(self) -> Estimate | None:
        """Kaspar's aggregation benefit of goodputs; None if no path alone has any in a run."""
        values, single = _known(self.values), [_known(one) for one in self.alone.values()]
        seeds = [*zip(*single, strict=True)]
        if not values or not all(max(one, default=0) > 0 for one in seeds):
            return None
        return mean([aggregation_benefit(*one) for one in zip(values, seeds, strict=True)])

    def document(self) -> dict[str, object]:
        """Return the mean of each path alone, the best path and the gain as JSON."""
        gain = self.gain
        return {"paths": self.means, "best": self.best, "gain_percent": gain and gain.value}


def metrics_alone(results: Sequence[Result], alone: Alone) -> list[str]:
    """Return the metrics by which runs are compared with each path alone.

    A workload that ends has its completion time. Messages have their mean delay and the tail of it
    that tables show. All others have the goodput.
    """
    runs = [*results, *(run for singly in alone for run in singly.values())]
    found = []
    for name in OF_WORKLOADS:
        shown = CATALOGUE[name].shown
        ends = dict.fromkeys((shown[0], shown[-1]))
        found += [f"{name}.{statistic}" if statistic else name for statistic in ends]
    return [name for name in found if any(metric_if_known(run, name) is not None for run in runs)] or [
        GOODPUT
    ]


def alone_document(results: Sequence[Result], alone: Alone) -> dict[str, object]:
    """Return the comparison of a scheduler's runs, one per seed, as JSON.

    The goodput has its values at the top. Further metrics of the workload have their own keys.
    """
    goodput = AgainstAlone.of(GOODPUT, results, alone)
    benefit = goodput.benefit
    found = {name: AgainstAlone.of(name, results, alone) for name in metrics_alone(results, alone)}
    own = {name: one.document() for name, one in found.items() if name != GOODPUT}
    whole = goodput.document()
    return {GOODPUT: whole.pop("paths"), **whole, "aggregation_benefit": benefit and benefit.value, **own}


def alone_rows(columns: Sequence[Sequence[Result]], alone: Alone) -> list[Row]:
    """Return the rows that compare runs with the best path alone.

    A column has the runs of a scheduler, one per seed. With one seed, the best run is marked.
    """
    rows = []
    for name in metrics_alone([result for column in columns for result in column], alone):
        found = [AgainstAlone.of(name, column, alone) for column in columns]
        title = f"{wording(name).label}: gain over the best path alone (%)"
        rows.append(_row(title, [one.gain for one in found], PERCENT, marked=len(alone) == 1))
        if name == GOODPUT:
            benefits = [one.benefit for one in found]
            title = "aggregation benefit, paths alone"
            rows.append(_row(title, benefits, BENEFIT, marked=len(alone) == 1))
    return rows


def alone_lines(results: Sequence[Result], alone: Alone) -> list[str]:
    """Return a line per metric: its name, its better direction, and its value on each path."""
    lines = []
    over = f", mean of {len(alone)} seeds" if len(alone) > 1 else ""
    for name in metrics_alone(results, alone):
        way = "more" if direction(name) > 0 else "less"
        means = AgainstAlone.of(name, (), alone).means
        values = ", ".join(f"{path} {written(name, value)}" for path, value in means.items())
        lines.append(f"each path alone{over}, {heading(name)}, {way} is better: {values}")
    return lines


def alone_meaning(alone: Alone) -> list[str]:
    """Return the meaning of these rows for people."""
    gain = "gain over the best path alone: the same transport; more than zero is better, for delays too"
    benefit = "aggregation benefit, paths alone: 0 = the goodput of the best single path, 1 = the sum of all"
    return [gain, benefit] if any(GOODPUT in metrics_alone((), [one]) for one in alone) else [gain]


def _row(title: str, found: Sequence[Estimate | None], words: Wording, *, marked: bool) -> Row:
    cells = [
        NONE if one is None else f"{words.number(one.value)} {words.interval(one.interval)}".strip()
        for one in found
    ]
    values = [None if one is None else one.value for one in found]
    return Row(title, cells, best(values, cells, 1) if marked else frozenset())


def _known(values: Sequence[float | None]) -> list[float]:
    """Return the values, or none at all if one is missing."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def _mean(values: Sequence[float | None]) -> float | None:
    known = _known(values)
    return mean(known).value if known else None
