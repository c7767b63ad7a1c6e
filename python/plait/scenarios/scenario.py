"""Scenarios in Python: the tables and keys of a scenario file, checked by the same code.

Durations are text with a unit or seconds, rates text or bits per second, sizes text or bytes,
shares text such as ``"0.2%"``. For a delay, `rtt` or `jitter`, a number of seconds must be less
than 1. Larger values need a unit, because ``rtt=20`` probably means 20 ms. A value of None means
the default, which `scenario_keys` tells.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path as FilePath
from typing import Any, Literal

from plait import _core
from plait.scenarios.changes import change
from plait.scenarios.keys import keyed
from plait.scenarios.units import Duration, Rate, Size, duration_text, rate_text, size_text
from plait.scenarios.workloads import TEXTS, WORKLOADS, Bulk, Workload
from plait.support.kinds import otherwise

Table = Mapping[str, Any]
"""A table of the scenario file.

Example: ``{"model": "gilbert-elliott", "to_bad": "1%", "to_good": "30%"}``.
"""

_TEXTS: dict[str, Callable[[Any], str]] = {
    **TEXTS,
    **dict.fromkeys(("rate",), rate_text),
    **dict.fromkeys(("delay", "rtt", "jitter", "duration", "warmup", "ack_delay"), duration_text),
    **dict.fromkeys(("start", "stop", "on", "off", "repeat"), duration_text),
    **dict.fromkeys(
        ("rto_initial", "rto_min", "rto_max", "heartbeat_interval", "timestamp_granularity"), duration_text
    ),
    **dict.fromkeys(("packet", "receive_buffer", "send_buffer", "size"), size_text),
    **dict.fromkeys(("initial_window", "initial_ssthresh"), size_text),
}


SHORT = ("delay", "rtt", "jitter")
"""Keys whose values are usually fractions of a second."""


def _with_unit(key: str, value: Any, place: str) -> Any:
    """Return a value in the form of scenario files: numbers that are amounts get their unit.

    Raises:
        ScenarioError: the value is no such amount; the message begins with `place`.
    """
    if key not in _TEXTS or isinstance(value, Mapping):
        return value
    if key in SHORT and isinstance(value, int | float) and 1 <= value < math.inf:
        message = (
            f'{place}: {value:g} without a unit would be seconds; expected "{value:g}ms" or "{value:g}s"'
        )
        raise _core.ScenarioError(message)
    try:
        return _TEXTS[key](value)
    except _core.ScenarioError as error:
        message = f"{place}: {str(error).partition(': ')[2]}"
        raise _core.ScenarioError(message) from error


def _json(table: Table, name: str) -> str:
    """Return a table as JSON.

    Raises:
        ScenarioError: the table has a number that JSON cannot hold; the message names its place.
    """
    for place, value in _numbers(table):
        if not math.isfinite(value):
            message = f"{name}: {place}: expected a finite number, got {value}"
            raise _core.ScenarioError(message)
    return json.dumps(table)


def _numbers(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield place, value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _numbers(one, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            yield from _numbers(one, f"{place}[{index}]")


def _table(builder: Any, place: str = "") -> dict[str, Any]:
    """Return a builder's table for scenario files: the given values, numbers with their units.

    `place` is the table's place, for messages.
    """
    table: dict[str, Any] = {}
    name = getattr(builder, "name", None)
    behind = f" ({name})" if place and name else ""
    for key in (one.name for one in fields(builder)):
        value = getattr(builder, key)
        if value is None or (isinstance(builder, Scenario) and key in ("base", "paths", "links", "flows")):
            continue
        if isinstance(value, Direction | Transport | Workload):
            table[key] = _table(value, f"{place}{key}.")
        else:
            table[key] = _with_unit(key, value, f"{place}{key}{behind}")
    return table


@keyed("forward, backward", "[[path]]")
@dataclass(frozen=True, kw_only=True)
class Direction:
    """One direction of a path or a link; missing values are those of the path or link."""

    rate: Rate | None = None
    rate_steps: Sequence[Table] | str | None = None
    delay_steps: Sequence[Table] | str | None = None
    loss_steps: Sequence[Table] | str | None = None
    queue_steps: Sequence[Table] | str | None = None
    repeat: Duration | None = None
    delay: Duration | None = None
    queue: str | None = None
    discipline: str | Table | None = None
    loss: str | Table | None = None
    duplicate: str | Table | None = None
    jitter: Duration | Table | None = None
    reorder: bool | None = None
    outages: Table | Sequence[Table] | None = None
    trace: str | None = None


@keyed("[[path]]")
@dataclass(frozen=True, kw_only=True)
class Path:
    """One path between sender and receiver.

    `rtt` is half each way, `delay` one way. `queue` is text: ``"50p"`` (packets), ``"64kB"``,
    ``"100ms"``, ``"bdp"`` or ``"infinite"``. The default is one bandwidth-delay product, ``"bdp"``.
    `discipline` is ``"codel"``, ``"fq-codel"`` or a table with more than the name, such as
    ``{"name": "codel", "target": "20ms"}``. The default is drop-tail. `trace` names a Mahimahi
    file. Loss, copies (`duplicate`), jitter and trace apply to the data's direction only.
    `rate_steps` change the rate, ``[{"at": "10s", "rate": "2Mbit"}]``. `delay_steps`, `loss_steps`
    and `queue_steps` have the same form; text names a file with a step per line. All steps start
    again after `repeat`. Packets overtake each other only if `reorder` is True.

    `links` names links that others share. Packets pass them after the path's own wire, and in
    reverse order backward. A path that consists of links alone has no values of a wire.
    """

    name: str | None = None
    rate: Rate | None = None
    rate_steps: Sequence[Table] | str | None = None
    delay_steps: Sequence[Table] | str | None = None
    loss_steps: Sequence[Table] | str | None = None
    queue_steps: Sequence[Table] | str | None = None
    repeat: Duration | None = None
    rtt: Duration | None = None
    delay: Duration | None = None
    queue: str | None = None
    discipline: str | Table | None = None
    loss: str | Table | None = None
    duplicate: str | Table | None = None
    jitter: Duration | Table | None = None
    reorder: bool | None = None
    outages: Table | Sequence[Table] | None = None
    trace: str | None = None
    forward: Direction | None = None
    backward: Direction | None = None
    links: Sequence[str] | None = None
    backup: bool | None = None
    cost: int | None = None
    weight: int | None = None


@keyed("[[link]]", "[[path]]")
@dataclass(frozen=True, kw_only=True)
class Link:
    """A link that paths and flows share: they meet in its queue and divide its capacity.

    `delay` is one way, by default 0. All other values are as in a `Path`. Without a rate of its
    own, a link has only the given directions, and packets in the other direction pass it
    unhindered.
    """

    name: str
    rate: Rate | None = None
    rate_steps: Sequence[Table] | str | None = None
    delay_steps: Sequence[Table] | str | None = None
    loss_steps: Sequence[Table] | str | None = None
    queue_steps: Sequence[Table] | str | None = None
    repeat: Duration | None = None
    delay: Duration | None = None
    queue: str | None = None
    discipline: str | Table | None = None
    loss: str | Table | None = None
    duplicate: str | Table | None = None
    jitter: Duration | Table | None = None
    reorder: bool | None = None
    outages: Table | Sequence[Table] | None = None
    trace: str | None = None
    forward: Direction | None = None
    backward: Direction | None = None


@keyed('[[flow]] kind = "tcp"')
@dataclass(frozen=True, kw_only=True)
class TcpFlow:
    """A competing reliable stream over the route of `path`, or over `links`.

    Without a `size`, it does not end. Backward data flows against the connection's data, beside the
    acknowledgements. From `stop` on the flow is silent. `congestion_control` is its own,
    ``"newreno"`` or ``"cubic"``; the default is the transport's.
    """

    name: str | None = None
    path: str | None = None
    links: Sequence[str] | None = None
    direction: Literal["forward", "backward"] | None = None
    start: Duration | None = None
    stop: Duration | None = None
    size: Size | None = None
    congestion_control: str | None = None
    kind: Literal["tcp"] = field(default="tcp", init=False)


@keyed('[[flow]] kind = "multipath"')
@dataclass(frozen=True, kw_only=True)
class MultipathFlow:
    """A second connection with the scenario's transport, by default over all paths.

    Without a `size`, it does not end. `scheduler` names a built-in scheduler, `congestion_control`
    an algorithm of the transport; None means the scenario's. A run that ends with its workload also
    waits for flows with a `size` and without a `stop`.
    """

    name: str | None = None
    paths: Sequence[str] | None = None
    scheduler: str | Table | None = None
    direction: Literal["forward", "backward"] | None = None
    start: Duration | None = None
    stop: Duration | None = None
    size: Size | None = None
    congestion_control: str | None = None
    kind: Literal["multipath"] = field(default="multipath", init=False)


@keyed('[[flow]] kind = "cbr"')
@dataclass(frozen=True, kw_only=True)
class ConstantRateFlow:
    """Datagrams at equal intervals; `rate` and `packet` count on the wire.

    The default of `packet` is the transport's.
    """

    rate: Rate
    name: str | None = None
    path: str | None = None
    links: Sequence[str] | None = None
    direction: Literal["forward", "backward"] | None = None
    start: Duration | None = None
    stop: Duration | None = None
    packet: Size | None = None
    kind: Literal["cbr"] = field(default="cbr", init=False)


@keyed('[[flow]] kind = "on-off"')
@dataclass(frozen=True, kw_only=True)
class OnOffFlow:
    """Datagrams at `rate` during random on times of mean `on`, none during off times of mean `off`.

    Times are exponentially or Pareto distributed, the latter with `shape` (by default 1.5).
    """

    rate: Rate
    on: Duration
    off: Duration
    distribution: Literal["exponential", "pareto"] | None = None
    shape: float | None = None
    name: str | None = None
    path: str | None = None
    links: Sequence[str] | None = None
    direction: Literal["forward", "backward"] | None = None
    start: Duration | None = None
    stop: Duration | None = None
    packet: Size | None = None
    kind: Literal["on-off"] = field(default="on-off", init=False)


Flow = TcpFlow | MultipathFlow | ConstantRateFlow | OnOffFlow
"""Traffic that competes with the connection."""


@keyed("[transport]")
@dataclass(frozen=True, kw_only=True)
class Transport:
    """Behaviour of the endpoints: by default MPTCP as in Linux, with CUBIC; see `scenario_keys`.

    `profile="standard"`, for mptcp and tcp, is TCP by the RFCs and has other defaults.
    """

    protocol: Literal["cmt-sctp", "mptcp", "tcp", "mpquic"] | None = None
    profile: Literal["standard", "linux"] | None = None
    receive_buffer: Size | None = None
    send_buffer: Size | None = None
    packet: Size | None = None
    congestion_control: str | None = None
    ack_every: int | None = None
    ack_delay: Duration | None = None
    delayed_ack_for_cmt: bool | None = None
    receive_window_accounting: Literal["buffer", "outstanding"] | None = None
    initial_window: Size | None = None
    initial_ssthresh: Size | None = None
    retransmission_policy: Literal["same", "ssthresh", "cwnd", "loss-rate", "asap"] | None = None
    fast_retransmit_threshold: int | None = None
    max_burst: int | None = None
    rto_initial: Duration | None = None
    rto_min: Duration | None = None
    rto_max: Duration | None = None
    path_max_retransmissions: int | None = None
    association_max_retransmissions: int | None = None
    heartbeat_interval: Duration | None = None
    potentially_failed: bool | None = None
    grow_in_recovery: bool | None = None
    hystart: bool | None = None
    handshake: bool | None = None
    initial_path: str | None = None
    timestamp_granularity: Duration | None = None
    clock_offset: str | None = None
    ecn: bool | None = None
    pacing: bool | None = None


@keyed("(top)")
@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Paths, shared links, traffic and transport of a run; trace files are relative to `base`.

    Raises:
        ScenarioError: a value is not valid; the message names the key, the value and the valid
            choices.
    """

    paths: Sequence[Path]
    links: Sequence[Link] = ()
    flows: Sequence[Flow] = ()
    name: str = "scenario"
    seed: int | None = None
    duration: Duration | None = None
    warmup: Duration | None = None
    scheduler: str | Table | None = None
    transport: Transport = field(default_factory=Transport)
    workload: Workload = field(default_factory=Bulk)
    base: str | PathLike[str] = "."

    def __post_init__(self) -> None:
        _ = self.json  # validates

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario as the table of a scenario file, with the given values only."""
        lists = {"path": self.paths, "link": self.links, "flow": self.flows}
        return _table(self) | {
            key: [_table(one, f"{key}[{index}].") for index, one in enumerate(some)]
            for key, some in lists.items()
            if some
        }

    @cached_property
    def json(self) -> str:
        """Canonical JSON, with every default filled in."""
        return _core.parse_scenario(
            _json(self.to_dict(), self.name), self.name, fspath(self.base), format="json"
        )


AnyScenario = Scenario | str | PathLike[str]
"""A scenario, or the name of a scenario file."""


def load(
    file: str | PathLike[str], changes: Mapping[str, Any] | None = None, only: Sequence[str] = ()
) -> Scenario:
    """Read and validate a scenario file (TOML); every default is filled in.

    Args:
        file: its name.
        changes: values that replace the file's, by dotted key: ``{"path.slow.rate": "2Mbit"}`` for
            the path of that name, ``{"transport.receive_buffer": "1MB"}``. Numbers are as in `Path`
            and the other classes.
        only: names of the paths to keep; empty keeps all.

    Raises:
        ScenarioError: the file cannot be read or is not a valid scenario; one line with file, key,
            value, choices.
    """
    return _built(
        _changed(fspath(file), changes or {}, only) if changes or only else _read(fspath(file)),
        FilePath(file).parent,
    )


def from_table(table: Table, name: str = "scenario", base: str | PathLike[str] = ".") -> Scenario:
    """Return a scenario from the table of a scenario file; every default is filled in.

    `name` is for messages; traces are relative to `base`.

    Raises:
        ScenarioError: the table is not a valid scenario; one line with key, value, choices.
    """
    return _built(_core.parse_scenario(_json(table, name), name, fspath(base), format="json"), FilePath(base))


def _built(text: str, base: FilePath) -> Scenario:
    """Return the scenario of a canonical document."""
    table = json.loads(text)
    paths = [Path(**_with_directions(path)) for path in table.pop("path")]
    links = [Link(**_with_directions(link)) for link in table.pop("link", [])]
    flows = [_FLOWS[flow.pop("kind")](**flow) for flow in table.pop("flow", [])]
    workload = table.pop("workload")
    kind = WORKLOADS[workload.pop("kind")]
    return Scenario(
        **table | {"transport": Transport(**table["transport"])},
        paths=paths,
        links=links,
        flows=flows,
        workload=kind(**workload),
        base=base,
    )


def _changed(file: str, changes: Mapping[str, Any], only: Sequence[str]) -> str:
    """Return canonical JSON of a scenario file with other values."""
    name = json.loads(_read(file))["name"]
    given = {
        key: _with_unit(key.rpartition(".")[2], value, f"{file}: {key}")
        if isinstance(value, int | float)
        else value
        for key, value in changes.items()
    }
    table = change(tomllib.loads(FilePath(file).read_text(encoding="utf-8")), given, only, file)
    return _core.parse_scenario(
        _json({"name": name, **table}, file), file, fspath(FilePath(file).parent), format="json"
    )


_FLOWS: dict[str, Callable[..., Flow]] = {
    "tcp": TcpFlow,
    "multipath": MultipathFlow,
    "cbr": ConstantRateFlow,
    "on-off": OnOffFlow,
}


def _with_directions(table: dict[str, Any]) -> dict[str, Any]:
    return table | {key: Direction(**table[key]) for key in ("forward", "backward") if key in table}


def scenario_json(scenario: AnyScenario) -> str:
    """Return canonical JSON of a scenario or of a scenario file.

    Raises:
        ScenarioError: the value is neither, or not valid.
    """
    if isinstance(scenario, Scenario):
        return scenario.json
    given: object = scenario
    if not isinstance(given, str | PathLike):
        kind = type(given).__name__
        message = f"scenario: expected a plait.Scenario or the name of a file, got a {kind}"
        if isinstance(given, Mapping):
            message += "; plait.scenarios.scenario.from_table makes a scenario of a table"
        raise _core.ScenarioError(message)
    return _read(fspath(scenario))


def _read(file: str) -> str:
    """Return canonical JSON of a scenario file.

    Raises:
        ScenarioError: the file is not valid, or it is another kind of Plait's files.
    """
    try:
        return _core.load_scenario(file)
    except _core.ScenarioError as error:
        raise otherwise(error, file, "scenario") from error
