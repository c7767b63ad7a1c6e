"""The result of a run: metrics as typed dictionaries, recorded tables as Polars frames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, cast

import polars as pl

from plait.results.metrics import FlowMetrics, Metrics, PathMetrics, QueueMetrics, meant, metric, names_of
from plait.scenarios.repetition import network_of
from plait.scenarios.scheduler import scheduler_name
from plait.support.words import UnknownNameError, expected

TABLES = ("packets", "requests", "path_series", "connection_series", "decisions", "decision_paths")
"""The tables that a run can record."""
OWN, OWN_WORKLOAD, OWN_CONTROLLERS = "own_scheduler", "own_workload", "own_controllers"
"""Keys of a run's JSON: records of the user's classes."""
WARNINGS = "warnings"
"""The key of warnings."""
REPETITION = "repetition_of"
"""The key of a repetition's network: `plait.scenarios.repetition.network_of` the scenario as
written."""


class NotRecordedError(LookupError):
    """The run did not record the requested table."""


class Recorded(Protocol):
    """The source of a result's JSON and tables: a run just made, or the folder that holds it.

    For each of its tables, it has a method of the table's name in `TABLES`. The method returns the
    table for `polars.DataFrame`, or None if the table was not recorded.
    """

    @property
    def json(self) -> str:
        """The run's JSON document."""
        ...


def recorded_table(run: Recorded, name: str) -> Any:
    """Return a table for `polars.DataFrame`; None if it was not recorded."""
    read = getattr(run, name, None)
    return None if read is None else read()


class Result:
    """One run: its metrics and its recorded tables.

    `metrics` and `paths` always exist, and `requests` if the workload has some. The other tables
    are Polars frames that have to be recorded: `packets` with ``run(…, packets=True)``,
    `path_series` and `connection_series` with ``series="10ms"``, `decisions` and `decision_paths`
    with ``decisions=True``. `plait.plots` draws figures from them, for example the space-time
    diagram of a schedule:

        result = plait.run("my-links.toml", "daps", packets=True)
        plait.plots.space_time(result, (10.0, 10.1)).savefig("schedule.png")

    In a notebook the figure need not be saved: as the last line of a cell it is shown.
    """

    def __init__(
        self,
        run: Recorded,
        label: str | None = None,
        scenario_json: str | None = None,
        own: Mapping[str, Any] | None = None,
        warnings: Sequence[str] = (),
        repetition_of: str | None = None,
    ) -> None:
        self.run = run
        self.scenario_json = scenario_json
        """The scenario of the run: canonical JSON with defaults, scheduler and seed; None if
        unknown."""
        self._json = run.json
        self.data: dict[str, Any] = json.loads(self._json)
        given = {**(own or {}), WARNINGS: [*warnings] or None, REPETITION: repetition_of}
        kept = {key: value for key, value in given.items() if value is not None}
        if kept:
            self.data |= kept
            self._json = json.dumps(self.data, separators=(",", ":"), ensure_ascii=False)
        self._label = label

    def __repr__(self) -> str:
        tables = ", ".join(name for name in TABLES if recorded_table(self.run, name) is not None) or "none"
        return f"<Result {self.scenario!r}, {self.scheduler}: {self._summary()}; tables: {tables}>"

    def _summary(self) -> str:
        goodput = self.metrics.get("goodput_bps", 0.0) / 1e6
        delay = self.metrics.get("app_delay_ms")
        return f"{goodput:.3f} Mbit/s" + ("" if delay is None else f", mean delay {delay['mean']:.1f} ms")

    @property
    def scenario(self) -> str:
        """The scenario's name."""
        return str(self.data["scenario"])

    @property
    def scheduler(self) -> str:
        """The scheduler's name, with its given parameters."""
        if self._label is not None:
            return self._label
        return scheduler_name(self.data["scheduler"])

    @property
    def own_scheduler(self) -> dict[str, Any] | None:
        """The record of a user's scheduler; None for a built-in scheduler.

        Keys: `file`, `class`, `parameters` as text, `sha256` and `source` of the file. `sha256` and
        `source` are None if unknown, for example for a class typed at a prompt.
        """
        return cast("dict[str, Any] | None", self.data.get(OWN))

    @property
    def own_workload(self) -> dict[str, Any] | None:
        """The record of a workload of the user, with the keys of `own_scheduler`; otherwise None."""
        return cast("dict[str, Any] | None", self.data.get(OWN_WORKLOAD))

    @property
    def own_controllers(self) -> list[dict[str, Any]]:
        """The records of the user's congestion controllers, with the keys of `own_scheduler`."""
        return cast("list[dict[str, Any]]", self.data.get(OWN_CONTROLLERS, []))

    @property
    def warnings(self) -> list[str]:
        """Warnings about the run, a sentence each, such as a custom scheduler that never sent."""
        return list(self.data.get(WARNINGS, []))

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.data["seed"])

    @property
    def repetition_of(self) -> str | None:
        """For a repetition (`plait.scenarios.repetition`), a digest of the scenario as written.

        None for other runs.
        """
        digest: str | None = self.data.get(REPETITION)
        return digest

    @property
    def network(self) -> Any:
        """A key that is equal for runs that differ only in scheduler, seed and engine."""
        if self.repetition_of is not None:
            return self.repetition_of
        if self.scenario_json is None:
            return self.scenario, *self.path_names
        return network_of(self.scenario_json)

    @property
    def fallback(self) -> str | None:
        """The reason for which the connection fell back from MPTCP to TCP, on one path alone.

        None without a fallback. The kernel, and the simulator in profile "linux", fall back if a
        packet overtakes those that end the handshake.
        """
        reason: str | None = self.data.get("fallback")
        return reason

    @property
    def kernel(self) -> dict[str, Any] | None:
        """For a run in the Linux kernel: `release`, `build` (a hash), and `counters` of both hosts.

        The counters are those of /proc/net/snmp and netstat since the start of the run, by host,
        group (Tcp, TcpExt, MPTcpExt) and name, as the kernel names them; zeros are left out. None
        for other runs.
        """
        kernel: dict[str, Any] | None = self.data.get("kernel")
        return kernel

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
    def flows(self) -> list[FlowMetrics]:
        """The metrics of each competing flow, in the scenario's order."""
        flows: list[FlowMetrics] = self.data["flows"]
        return flows

    @property
    def queues(self) -> list[QueueMetrics]:
        """The metrics of each active queue: paths' own links, then shared ones.

        The forward direction comes before the backward one.
        """
        queues: list[QueueMetrics] = self.data.get("queues", [])
        return queues

    @property
    def path_names(self) -> list[str]:
        """The names of the paths; a frame's column `path` is an index into it."""
        return [path["name"] for path in self.paths]

    @cached_property
    def packets(self) -> pl.DataFrame:
        """One row per transmission: times in nanoseconds of sending, arrival and delivery.

        Recorded with ``packets=True``. retransmission: true if the segment had been sent before.
        reinjection: true if, in addition, it is a copy of a segment in flight. `arrived_ns` is the
        first arrival of a segment's data; a packet whose data had all arrived before has
        `duplicate_ns` instead. Both are null if the packet was lost or refused, or was on its way
        at the end of the run.
        """
        return self._frame("packets", "packets=True")

    @cached_property
    def requests(self) -> pl.DataFrame:
        """One row per request, in the order of writing: times in nanoseconds, payload bytes.

        A workload of requests always has it. written_ns: the client wrote the request. answered_ns:
        the request had arrived completely and the server wrote the response. delivered_ns: the
        response's last byte was delivered to the client. Null: not until the end of the run.
        """
        return self._frame("requests", 'workload kind = "request-response"')

    @cached_property
    def path_series(self) -> pl.DataFrame:
        """Congestion window, srtt, queues and arrived bytes of each path over time.

        Recorded with ``series="10ms"``.
        """
        return self._frame("path_series", 'series="10ms"')

    @cached_property
    def connection_series(self) -> pl.DataFrame:
        """Receive buffer, delivered bytes and window of the connection over time.

        Recorded with ``series="10ms"``.
        """
        return self._frame("connection_series", 'series="10ms"')

    @cached_property
    def decisions(self) -> pl.DataFrame:
        """One row per decision of the scheduler, with the connection's state before it.

        Recorded with ``decisions=True``.

        time_ns: time of the decision in nanoseconds.
        decision: assign, reinject, recall, limit, penalize, defer or wait.
        path: the path that the decision names; null for wait.
        segments: number of assigned segments; for limit, the maximum number in flight (null: the
            limit is removed).
        segment: the first assigned segment, or the one that is reinjected.
        wait_until_ns: time at which a waiting scheduler is asked again at the latest; null: at the
            next event.
        unassigned: segments in the data queue; null for endless traffic.
        window_left: segments that the receiver's window still admits.
        window: segments that it admits from the oldest unacknowledged one on, sent or not.
        send_buffer_left: segments that the application could still write; null without a limit.
        oldest_unacked, oldest_unacked_path: the oldest segment in flight, and the path that carries
            it.
        reason: the quantities of the scheduler's rule, or the decision's `reason`; null without.
            Paths are written as ``{0}``, with an index into `path_names`.
        """
        return self._frame("decisions", "decisions=True")

    @cached_property
    def decision_paths(self) -> pl.DataFrame:
        """One row per decision and path: its state, and the reason for the choice.

        Recorded with ``decisions=True``. All values are those before the decision.

        decision: the row's number in `decisions`. path: an index into `path_names`.
        verdict: reason for which it was chosen or not; `plait.verdicts` lists the names.
        state: active, backup, potentially-failed or failed.
        srtt_ns, rttvar_ns, latest_rtt_ns: round-trip times in nanoseconds; null before the first
            sample.
        own_rtt_ns, min_rtt_ns: smoothed and smallest round-trip time in nanoseconds, of packets
            acknowledged on the path itself; null before the first sample.
        forward_delay_ns: one-way delay towards the receiver, with a clock offset common to all
            paths; null if unknown.
        rto_ns: retransmission timeout in nanoseconds, back-off included.
        cwnd, ssthresh, in_flight, queued, limit: in segments; ssthresh and limit are null while
            unset.
        cwnd_left: the congestion window less segments in flight, lost and queued. loss_ppm: lost
            share, in parts per million.
        delivery_rate_bps: payload acknowledged recently, bit/s; 0 until measured.
        """
        return self._frame("decision_paths", "decisions=True")

    def recorded(self) -> dict[str, pl.DataFrame]:
        """Return the tables that the run recorded, by name."""
        frames = {}
        for name in TABLES:
            try:
                frames[name] = getattr(self, name)
            except NotRecordedError:
                continue
        return frames

    def _frame(self, name: str, how: str) -> pl.DataFrame:
        table = recorded_table(self.run, name)
        if table is None:
            message = f"{name} was not recorded; run with {how}"
            raise NotRecordedError(message)
        return pl.DataFrame(table)

    def to_json(self) -> str:
        """Return the run's JSON document, as the command prints it."""
        return self._json


class Comparison(Sequence[Result]):
    """Runs of one scenario, one per scheduler, with the same seed: the same packets are lost.

    A sequence of `Result`, also by the scheduler's label: ``comparison["daps"]``. `frame` is the
    table of metrics. Figures accept it directly, for example
    ``plait.plots.space_time(comparison, (10.0, 10.1))``.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = list(results)

    def __getitem__(self, key: Any) -> Any:
        """Return a result by its position or by its scheduler's label; KeyError if unknown."""
        if isinstance(key, str):
            for result in self.results:
                if result.scheduler == key:
                    return result
            message = f"scheduler {key!r}: unknown{expected(key, [one.scheduler for one in self.results])}"
            raise UnknownNameError(message)
        return self.results[key]

    def __len__(self) -> int:
        return len(self.results)

    def __repr__(self) -> str:
        if not self.results:
            return "<Comparison of no runs>"
        first = self.results[0]
        return f"<Comparison of {len(self)} runs of {first.scenario!r}, seed {first.seed}>\n{self.frame()}"

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return self.frame()._repr_html_()

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def frame(self, metrics: Sequence[str] = ()) -> pl.DataFrame:
        """Return one row per scheduler, one column per metric.

        Args:
            metrics: dotted names such as ``app_delay_ms.p95`` or ``paths.slow.throughput_bps``;
                they end in their unit. `Metrics` and `PathMetrics` list them. The unit and
                ``.mean`` may be omitted; columns have them.

        Raises:
            KeyError: there is no metric of that name; the message lists the known ones.
        """
        known = names_of(self.results[0]) if self.results else []
        names = [meant(name, known) or name for name in metrics] or (
            "goodput_bps",
            "app_delay_ms.mean",
            "blocking_ms.mean",
            "receive_buffer_packets.mean",
        )
        columns: dict[str, list[Any]] = {"scheduler": [result.scheduler for result in self.results]}
        for name in names:
            columns[name] = [metric(result, name) for result in self.results]
        return pl.DataFrame(columns)
