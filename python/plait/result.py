"""What a run gave: metrics as typed dictionaries, recorded tables as Polars frames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

import polars as pl

if TYPE_CHECKING:
    from plait import _core


class Spread(TypedDict):
    """Distribution of a delay, in milliseconds."""

    mean: float
    p50: float
    p95: float
    p99: float
    max: float


class Occupancy(TypedDict):
    """Time-weighted mean and maximum of a buffer's occupancy."""

    mean: float
    max: float


class Metrics(TypedDict, total=False):
    """The metrics of a run, after the warm-up; see the documentation for the definitions."""

    goodput_bps: float
    app_delay_ms: Spread
    blocking_ms: Spread
    receive_buffer_packets: Occupancy
    receive_buffer_bytes: Occupancy
    block_delay_ms: Spread
    delay_variance_ms: Spread
    retransmissions: int
    spurious_retransmissions: int
    reinjections: int
    decisions: int
    waits: int
    completion_time_s: float | None
    aggregation_benefit: float
    packets_delivered: int


class PathMetrics(TypedDict, total=False):
    """The metrics of one path."""

    name: str
    throughput_bps: float
    packets_sent: int
    packets_lost: int
    packets_dropped: int
    srtt_ms: float | None


class NotRecordedError(LookupError):
    """A table was asked for that the run did not record."""


class Result:
    """One run: metrics, and the tables that were asked for."""

    def __init__(self, run: _core.Run, label: str | None = None) -> None:
        self.run = run
        self._json = run.json
        self.data: dict[str, Any] = json.loads(self._json)
        self._label = label

    def __repr__(self) -> str:
        goodput = self.metrics.get("goodput_bps", 0.0) / 1e6
        return f"<Result {self.scenario!r} {self.scheduler} {goodput:.3f} Mbit/s>"

    @property
    def scenario(self) -> str:
        """The scenario's name."""
        return str(self.data["scenario"])

    @property
    def scheduler(self) -> str:
        """The scheduler's name, with the parameters that were given."""
        if self._label is not None:
            return self._label
        scheduler = self.data["scheduler"]
        return str(scheduler.get("name")) if isinstance(scheduler, Mapping) else str(scheduler)

    @property
    def seed(self) -> int:
        """The seed that the run used."""
        return int(self.data["seed"])

    @property
    def metrics(self) -> Metrics:
        """The metrics of the connection."""
        metrics: Metrics = self.data["metrics"]
        return metrics

    @property
    def paths(self) -> list[PathMetrics]:
        """The metrics of each path, in the scenario's order."""
        paths: list[PathMetrics] = self.data["paths"]
        return paths

    @property
    def path_names(self) -> list[str]:
        """The names of the paths; a frame's column `path` is an index into it."""
        return [path["name"] for path in self.paths]

    @cached_property
    def packets(self) -> pl.DataFrame:
        """One row per transmission: when it was sent, arrived and was delivered, in nanoseconds (``packets=True``)."""
        return self._frame("packets", "packets=True")

    @cached_property
    def path_series(self) -> pl.DataFrame:
        """Congestion window, srtt, queues and arrived bytes of each path over time (``series="10ms"``)."""
        return self._frame("path_series", 'series="10ms"')

    @cached_property
    def connection_series(self) -> pl.DataFrame:
        """Receive buffer, delivered bytes and window of the connection over time (``series="10ms"``)."""
        return self._frame("connection_series", 'series="10ms"')

    @cached_property
    def decisions(self) -> pl.DataFrame:
        """Every decision of the scheduler (``decisions=True``)."""
        return self._frame("decisions", "decisions=True")

    def recorded(self) -> dict[str, pl.DataFrame]:
        """The tables that the run recorded, by name."""
        frames = {}
        for name in ("packets", "path_series", "connection_series", "decisions"):
            try:
                frames[name] = getattr(self, name)
            except NotRecordedError:
                continue
        return frames

    def _frame(self, name: str, how: str) -> pl.DataFrame:
        table = getattr(self.run, name)()
        if table is None:
            message = f"{name} was not recorded; run with {how}"
            raise NotRecordedError(message)
        return pl.DataFrame(table)

    def to_json(self) -> str:
        """The run's JSON document, as the command prints it."""
        return self._json


def metric(result: Result, name: str) -> float | None:
    """A metric by its dotted name.

    ``app_delay_ms.mean`` is a metric of the connection, ``paths.slow.throughput_bps`` one of a path, and
    ``paths.sum.throughput_bps`` the sum over the paths. None where the run has no value for it.

    Raises:
        KeyError: there is no metric of that name.
    """
    first, *rest = name.split(".")
    if first == "paths" and len(rest) == 2:
        path_name, key = rest
        chosen = [path for path in result.paths if path_name in ("sum", path["name"])]
        if not chosen:
            raise KeyError(name)
        return sum(float(dict[str, Any](path)[key]) for path in chosen)
    value: Any = result.metrics
    for key in (first, *rest):
        if not isinstance(value, Mapping) or key not in value:
            raise KeyError(name)
        value = value[key]
    return None if value is None else float(value)


class Comparison(Sequence[Result]):
    """Runs of one scenario, one per scheduler, with the same seed: the same losses on the same packets."""

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = list(results)

    def __getitem__(self, key: Any) -> Any:
        """A result by its position or by its scheduler's label; KeyError if no run used it."""
        if isinstance(key, str):
            for result in self.results:
                if result.scheduler == key:
                    return result
            raise KeyError(key)
        return self.results[key]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def frame(self, metrics: Sequence[str] = ()) -> pl.DataFrame:
        """One row per scheduler, one column per metric (dotted names, see `metric`)."""
        names = metrics or (
            "goodput_bps",
            "app_delay_ms.mean",
            "blocking_ms.mean",
            "receive_buffer_packets.mean",
        )
        columns: dict[str, list[Any]] = {"scheduler": [result.scheduler for result in self.results]}
        for name in names:
            columns[name] = [metric(result, name) for result in self.results]
        return pl.DataFrame(columns)
