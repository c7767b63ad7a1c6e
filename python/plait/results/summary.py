"""Comparison of the metrics of runs: the rows of a table, their names, the best values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plait.results.benefit import against_bound, limited_by_application
from plait.results.catalogue import shown
from plait.results.metrics import CLOSE, direction, least, metric_if_known
from plait.results.wording import PERCENT, RATE, wording
from plait.scenarios.units import duration_ns
from plait.support.tables import NONE

if TYPE_CHECKING:
    from plait.results.result import Result

METRICS = tuple(shown())
PATH_METRICS = {
    "throughput_bps": f"throughput ({RATE[0]})",
    "srtt_ms": "srtt (ms)",
    "packets_sent": "packets sent",
    "packets_lost": "packets lost on the way",
    "packets_dropped": "packets dropped by a full queue",
}
FLOW_METRICS = {
    "goodput_bps": f"goodput ({RATE[0]})",
    "completion_time_s": "completion time (s)",
    "packets_lost": "packets lost on the way",
    "packets_dropped": "packets dropped by a full queue",
}
RATIOS = ("aggregation benefit", "asymmetry")


@dataclass(frozen=True)
class Row:
    """A row of a table: its heading, a text per run, and the runs with the best value."""

    heading: str
    cells: Sequence[str]
    best: frozenset[int] = frozenset()


def heading(name: str) -> str:
    """Return a metric's heading with unit."""
    return wording(name).heading.replace("_", " ")


def number(result: Result, name: str) -> str:
    """Format a metric of a run for people; a dash where the run has none."""
    return written(name, metric_if_known(result, name))


def scale(name: str) -> float:
    """Return the factor from a metric's own unit to that of its heading."""
    return wording(name).scale


def written(name: str, value: float | None) -> str:
    """Format a value of a metric for people; a dash for none."""
    if value is None:
        return NONE
    words = wording(name)
    if not words.unit and words.label not in RATIOS:  # counts; only their means have decimals
        value = round(value, 1) + 0.0  # no negative zero
        text = f"{value:.0f}" if value == round(value) or abs(value) >= 100 else f"{value:.1f}"
        return text.replace("-", "−")
    return words.number(value)


def written_interval(name: str, interval: tuple[float, float] | None) -> str:
    """Format a metric's confidence interval; empty without one, or if it shows equal bounds."""
    if interval is None:
        return ""
    # Student's interval may begin below zero; a mean of counts cannot.
    low, high = written(name, max(interval[0], least(name))), written(name, interval[1])
    return "" if low == high else f"{low} … {high}"


def count(number_of: int, noun: str) -> str:
    """Format a number with its noun: ``1 run``, ``1,000 runs``."""
    return f"{number_of:,} {noun}{'' if number_of == 1 else 's'}"


def metrics_of(results: Iterable[Result]) -> list[str]:
    """Return the metrics of a table of runs.

    The aggregation benefit is left out if the application limits the goodput of a run.
    """
    limited = any(map(limited_by_application, results))
    return [name for name in METRICS if not (limited and name == "aggregation_benefit")]


def metric_rows(results: Sequence[Result]) -> list[Row]:
    """Return a row per metric of the connection, without metrics that no run has.

    With several seeds no run is marked as best: their means are to be compared.
    """
    rows, once = [], len({result.seed for result in results}) == 1
    for name in metrics_of(results):
        cells = [number(result, name) for result in results]
        if any(text != NONE for text in cells):
            values = [metric_if_known(result, name) for result in results]
            rows.append(Row(heading(name), cells, best(values, cells, direction(name) if once else 0)))
    return rows + bound_rows([[result] for result in results], lambda values: PERCENT.number(values[0]))


def bound_rows(columns: Sequence[Sequence[Result]], cell: Callable[[list[float]], str]) -> list[Row]:
    """Return a row per metric with a bound: percent above it.

    A column has the runs of a scheduler, and `cell` formats their percentages.
    """
    found = [[against_bound(result) for result in column] for column in columns]
    names = [name for name in METRICS if any(name in one for column in found for one in column)]
    return [
        Row(
            f"{wording(name).label} against its bound (%)",
            [
                cell([one[name] for one in column]) if all(name in one for one in column) else NONE
                for column in found
            ],
        )
        for name in names
    ]


def path_rows(results: Sequence[Result]) -> list[tuple[str, list[Row]]]:
    """Return the rows of each path, with its name."""
    return _parts([result.paths for result in results], PATH_METRICS)


def unused_paths(runs: Sequence[Sequence[Result]]) -> str | None:
    """Return a line that names the paths on which a scheduler sent nothing; None without one.

    An element of `runs` has the runs of one scheduler.
    """
    found: dict[str, list[str]] = {}
    for results in runs:
        for place, name in enumerate(results[0].path_names):
            if not any(result.paths[place]["packets_sent"] for result in results):
                found.setdefault(name, []).append(results[0].scheduler)
    parts = [f"on {name} with {', '.join(schedulers)}" for name, schedulers in found.items()]
    return f"no data packet after the warm-up {'; '.join(parts)}" if parts else None


def after_stop(result: Result) -> str | None:
    """Return a line about the time after the `stop` of a run's workload; None without such time."""
    scenario = json.loads(result.scenario_json or "{}")
    stop, seconds = scenario.get("workload", {}).get("stop"), result.metrics["measured_s"]
    if stop is None or duration_ns(stop) >= duration_ns(scenario["warmup"]) + round(seconds * 1e9):
        return None
    return f"rates count all {seconds:g} s after the warm-up; the workload stops at {stop}"


def flow_rows(results: Sequence[Result]) -> list[tuple[str, list[Row]]]:
    """Return the rows of each competing flow, with its name, without rows that no run has."""
    parts = _parts([result.flows for result in results], FLOW_METRICS)
    return [(name, [row for row in rows if set(row.cells) != {NONE}]) for name, rows in parts]


def _parts(runs: Sequence[Sequence[Any]], titles: Mapping[str, str]) -> list[tuple[str, list[Row]]]:
    """Return the rows of paths or flows, which all runs have in the same order."""
    return [
        (
            part["name"],
            [
                Row(title, [_part_number(one[index].get(key), key) for one in runs])
                for key, title in titles.items()
            ],
        )
        for index, part in enumerate(runs[0])
    ]


def best(values: Sequence[float | None], cells: Sequence[str], way: int) -> frozenset[int]:
    """Return the places of the best value, `way` as of `direction`; empty if there is no best one.

    Also empty if the next one is closer than `CLOSE`: with single runs that may be chance.
    """
    known = sorted((value for value in values if value is not None), reverse=way > 0)
    if way == 0 or len(set(cells)) < 2 or len(known) < 2:
        return frozenset()
    first, second = known[0], next((one for one in known if one != known[0]), known[0])
    if abs(first - second) < CLOSE * max(abs(first), abs(second)):
        return frozenset()
    shown = cells[values.index(max(known) if way > 0 else min(known))]
    return frozenset(index for index, text in enumerate(cells) if text == shown)


def _part_number(value: Any, key: str) -> str:
    if value is None:
        return NONE
    if key.endswith("_bps"):
        return wording(key).number(value)
    return f"{value:.1f}" if isinstance(value, float) else f"{value}"
