"""What a run gave: metrics as typed dictionaries, recorded tables as Polars frames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypedDict, cast

import polars as pl

from plait import _core
from plait.results.metrics import FlowMetrics, Metrics, PathMetrics, QueueMetrics, meant, metric, names_of
from plait.scenarios.scheduler import scheduler_name
from plait.support.words import UnknownNameError, expected

TABLES = ("packets", "requests", "path_series", "connection_series", "decisions", "decision_paths")
"""The tables that a run can record."""
OWN = "own_scheduler"
"""The key under which a run's JSON has what is kept of a scheduler of one's own."""
WARNINGS = "warnings"
"""The key of a run's warnings."""
REPETITION = "repetition_of"
"""The key of a repetition's network, `plait.scenarios.repetition.network_of` the scenario as written."""
ENDLESS = 1 << 40
"""Segments that no run sends: an amount above it has no limit."""


class VerdictInfo(TypedDict):
    """What the column `verdict` of `Result.decision_paths` may say of a path.

    kind: chosen, available, temporarily-unavailable or definitely-unavailable.
    """

    name: str
    kind: str
    meaning: str


def verdicts() -> list[VerdictInfo]:
    """Every verdict on a path in a decision, with its kind and its meaning."""
    return cast("list[VerdictInfo]", json.loads(_core.verdicts()))


class NotRecordedError(LookupError):
    """A table was asked for that the run did not record."""


class Recorded(Protocol):
    """Where a result's JSON and tables come from: a run just made, or the folder that it was written to."""

    @property
    def json(self) -> str:
        """The run's JSON document."""
        ...

    def packets(self) -> Any:
        """The table of this name, as `polars.DataFrame` takes it; None if it was not recorded. So are the others."""
        ...

    def requests(self) -> Any:
        """A table; there is one if the workload has requests."""
        ...

    def path_series(self) -> Any:
        """A table."""
        ...

    def connection_series(self) -> Any:
        """A table."""
        ...

    def decisions(self) -> Any:
        """A table."""
        ...

    def decision_paths(self) -> Any:
        """A table."""
        ...


class Result:
    """One run: metrics, and the tables that were asked for.

    `metrics` and `paths` are always there, and `requests` where the workload has some. The other tables are Polars
    frames that have to be recorded: `packets` with
    ``run(…, packets=True)``, `path_series` and `connection_series` with ``series="10ms"``, `decisions` and
    `decision_paths` with ``decisions=True``. Figures are drawn from them by `plait.plots`, for example the space-time
    diagram of a schedule:

        result = plait.run("my-links.toml", "daps", packets=True)
        plait.plots.space_time(result, (10.0, 10.1)).savefig("schedule.png")

    In a notebook the figure need not be saved: it is shown if it is the last line of a cell.
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
        """The scenario as it was run: canonical JSON, defaults, scheduler and seed included; None if unknown."""
        self._json = run.json
        self.data: dict[str, Any] = json.loads(self._json)
        given = {
            OWN: None if own is None else dict(own),
            WARNINGS: list(warnings) or None,
            REPETITION: repetition_of,
        }
        kept = {key: value for key, value in given.items() if value is not None}
        if kept:
            self.data |= kept
            self._json = json.dumps(self.data, separators=(",", ":"), ensure_ascii=False)
        self._label = label

    def __repr__(self) -> str:
        tables = ", ".join(name for name in TABLES if getattr(self.run, name)() is not None) or "none"
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
        """The scheduler's name, with the parameters that were given."""
        if self._label is not None:
            return self._label
        return scheduler_name(self.data["scheduler"])

    @property
    def own_scheduler(self) -> dict[str, Any] | None:
        """Of a scheduler of one's own: `file`, `class`, `parameters` as text, `sha256` and `source` of the file.

        None for a built-in one. `sha256` and `source` are None where nobody knows them, as of a class typed into a
        prompt.
        """
        own: dict[str, Any] | None = self.data.get(OWN)
        return own

    @property
    def warnings(self) -> list[str]:
        """What is odd about the run, a sentence each: that a scheduler of one's own never decided to send."""
        return list(self.data.get(WARNINGS, []))

    @property
    def seed(self) -> int:
        """The seed that the run used."""
        return int(self.data["seed"])

    @property
    def repetition_of(self) -> str | None:
        """Of a repetition (`plait.scenarios.repetition`) a digest of the scenario as written; None of other runs."""
        digest: str | None = self.data.get(REPETITION)
        return digest

    @property
    def fallback(self) -> str | None:
        """Why the connection gave up MPTCP and went on as one of TCP, on one path alone; None if it did not.

        The kernel, and the simulator in profile "linux", do so when a packet overtakes those that end the handshake.
        """
        reason: str | None = self.data.get("fallback")
        return reason

    @property
    def kernel(self) -> dict[str, Any] | None:
        """Of a run in the Linux kernel: its `release`, the hash of its `build`, and its `counters` at both hosts.

        The counters are those of /proc/net/snmp and netstat since the start of the run, by host, group (Tcp, TcpExt,
        MPTcpExt) and name, as the kernel calls them; those that are zero are left out. None if nothing is known of it.
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
        """The metrics of each active queue: paths' wires, then shared links, forward before backward."""
        queues: list[QueueMetrics] = self.data.get("queues", [])
        return queues

    @property
    def path_names(self) -> list[str]:
        """The names of the paths; a frame's column `path` is an index into it."""
        return [path["name"] for path in self.paths]

    @cached_property
    def packets(self) -> pl.DataFrame:
        """One row per transmission: when it was sent, arrived and was delivered, in nanoseconds (``packets=True``).

        retransmission: true if the segment had been sent before; reinjection: true of such a one that is a copy of a
        segment in flight. What is lost, and a copy of what had arrived, has no `arrived_ns`.
        """
        return self._frame("packets", "packets=True")

    @cached_property
    def requests(self) -> pl.DataFrame:
        """One row per request, in the order of writing: moments in nanoseconds, payload bytes.

        A workload of requests always has it. written_ns: at the client. answered_ns: when it had arrived whole, and
        the server wrote
        the response. delivered_ns: of the response's last byte to the client. Null: not until the end of the run.
        """
        return self._frame("requests", 'workload kind = "request-response"')

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
        """One row per decision of the scheduler, and the connection as it saw it (``decisions=True``).

        time_ns: when, in nanoseconds.
        decision: assign, reinject, recall, limit, penalize, defer or wait.
        path: the path that the decision names; null for wait.
        segments: how many were assigned; for limit, how many may be in flight (null: the limit is lifted).
        segment: the first one assigned, or the one of which a copy is sent.
        wait_until_ns: when a scheduler that waits wants to be asked again at the latest; null: at the next event.
        unassigned: segments in the data queue. Endless traffic has more than 2⁴⁰.
        window_left: segments that the receiver's window still admits.
        window: segments that it admits from the oldest unacknowledged one on, sent or not.
        send_buffer_left: segments that the application could still write. Without a limit more than 2⁴⁰.
        oldest_unacked, oldest_unacked_path: the oldest segment in flight, and the path that carries it.
        """
        return self._frame("decisions", "decisions=True")

    @cached_property
    def decision_paths(self) -> pl.DataFrame:
        """One row per decision and path: the facts, and why it was chosen or not (``decisions=True``).

        decision: the row's number in `decisions`. path: an index into `path_names`.
        verdict: why it was chosen or not; `plait.verdicts` tells the names.
        state: active, backup, potentially-failed or failed; like all facts as it was before the decision.
        srtt_ns, rttvar_ns, latest_rtt_ns: round-trip times in nanoseconds; null before the first sample.
        own_rtt_ns, min_rtt_ns: smoothed and smallest, of what came back on the path itself; likewise.
        forward_delay_ns: one-way delay towards the receiver, with a clock offset common to all paths; null if unknown.
        rto_ns: retransmission timeout in nanoseconds, back-off included.
        cwnd, ssthresh, in_flight, queued, limit: in segments; ssthresh and limit are null while there is none.
        room: segments that the congestion window would let out at once. loss_ppm: lost share, in parts per million.
        delivery_rate_bps: payload acknowledged recently, bit/s; 0 until measured.
        """
        return self._frame("decision_paths", "decisions=True")

    def recorded(self) -> dict[str, pl.DataFrame]:
        """The tables that the run recorded, by name."""
        frames = {}
        for name in TABLES:
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


class Comparison(Sequence[Result]):
    """Runs of one scenario, one per scheduler, with the same seed: the same losses on the same packets.

    A sequence of `Result`, also by the scheduler's label: ``comparison["daps"]``. `frame` is the table of metrics.
    Figures take it as it is, for example ``plait.plots.space_time(comparison, (10.0, 10.1))``.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = list(results)

    def __getitem__(self, key: Any) -> Any:
        """A result by its position or by its scheduler's label; KeyError if no run used it."""
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
        """What a notebook shows."""
        return self.frame()._repr_html_()

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def frame(self, metrics: Sequence[str] = ()) -> pl.DataFrame:
        """One row per scheduler, one column per metric.

        Args:
            metrics: dotted names such as ``app_delay_ms.p95`` or ``paths.slow.throughput_bps``; they end in their unit.
                `Metrics` and `PathMetrics` list them. The unit and ``.mean`` may be left out; columns have them.

        Raises:
            KeyError: there is no metric of that name; the message names those that there are.
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
