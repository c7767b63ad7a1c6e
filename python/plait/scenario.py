"""Scenarios as Python values: the tables and keys of a scenario file, checked by the same code.

Durations are text with a unit or seconds, rates text or bits per second, sizes text or bytes, shares text such as
``"0.2%"``. What is left at None takes its default, which `scenario_keys` tells.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path as FilePath
from typing import Any, Literal, TypedDict, cast

from plait import _core
from plait.units import Duration, Rate, Size, duration_text, rate_text, size_text

Table = Mapping[str, Any]
"""A table of the scenario file, such as ``{"model": "gilbert-elliott", "to_bad": "1%", "to_good": "30%"}``."""

_TEXTS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(("rate",), rate_text),
    **dict.fromkeys(("delay", "rtt", "jitter", "duration", "warmup", "start", "ack_delay"), duration_text),
    **dict.fromkeys(("rto_initial", "rto_min", "rto_max", "heartbeat_interval"), duration_text),
    **dict.fromkeys(("packet", "receive_buffer", "send_buffer", "size", "block"), size_text),
    **dict.fromkeys(("initial_window", "initial_ssthresh"), size_text),
}


def _table(builder: Any) -> dict[str, Any]:
    """A builder's table as a scenario file has it: what was given, numbers with their units."""
    table: dict[str, Any] = {}
    for key in (one.name for one in fields(builder)):
        value = getattr(builder, key)
        if value is None or key in ("base", "paths"):
            continue
        if isinstance(value, Direction | Transport | Bulk | File | ConstantRate):
            table[key] = _table(value)
        elif key in _TEXTS and not isinstance(value, Mapping):
            table[key] = _TEXTS[key](value)
        else:
            table[key] = value
    return table


@dataclass(frozen=True, kw_only=True)
class Direction:
    """One direction of a path; what it does not say, the path says."""

    rate: Rate | None = None
    delay: Duration | None = None
    queue: str | None = None
    loss: str | Table | None = None
    jitter: Duration | Table | None = None
    outages: Table | Sequence[Table] | None = None
    trace: str | None = None


@dataclass(frozen=True, kw_only=True)
class Path:
    """One path between sender and receiver.

    `rtt` is half each way, `delay` one way. `queue` is text: ``"50p"`` (packets), ``"64kB"``, ``"100ms"``, ``"bdp"``
    or ``"infinite"``. `trace` names a Mahimahi file. Loss, jitter and trace hold for the data's direction only.
    """

    name: str | None = None
    rate: Rate | None = None
    rtt: Duration | None = None
    delay: Duration | None = None
    queue: str | None = None
    loss: str | Table | None = None
    jitter: Duration | Table | None = None
    outages: Table | Sequence[Table] | None = None
    trace: str | None = None
    forward: Direction | None = None
    backward: Direction | None = None
    backup: bool | None = None
    cost: int | None = None


@dataclass(frozen=True, kw_only=True)
class Transport:
    """How the endpoints behave; timers and thresholds are those of RFC 9260 unless given."""

    protocol: Literal["cmt-sctp", "mptcp", "tcp"] | None = None
    receive_buffer: Size | None = None
    send_buffer: Size | None = None
    packet: Size | None = None
    congestion_control: Literal["newreno"] | None = None
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


@dataclass(frozen=True, kw_only=True)
class Bulk:
    """The application always has data to send."""

    kind: Literal["bulk"] = field(default="bulk", init=False)


@dataclass(frozen=True, kw_only=True)
class File:
    """The application writes `size` payload bytes at once; the run ends when all of them have arrived."""

    size: Size
    kind: Literal["file"] = field(default="file", init=False)


@dataclass(frozen=True, kw_only=True)
class ConstantRate:
    """The application writes blocks of `block` payload bytes at equal intervals, at the mean rate `rate`."""

    rate: Rate
    block: Size
    start: Duration | None = None
    kind: Literal["cbr"] = field(default="cbr", init=False)


Workload = Bulk | File | ConstantRate


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Paths, traffic and transport of a run. Trace files are found relative to the folder `base`.

    Raises:
        ScenarioError: a value is not valid; the message names the key, the value and the valid choices.
    """

    paths: Sequence[Path]
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
        """The scenario as a scenario file has it: only what was given."""
        return {**_table(self), "path": [_table(path) for path in self.paths]}

    @cached_property
    def json(self) -> str:
        """Canonical JSON: every default filled in."""
        return _core.parse_scenario(json.dumps(self.to_dict()), self.name, fspath(self.base), format="json")


AnyScenario = Scenario | str | PathLike[str]
"""A scenario, or the name of a scenario file."""


def load(file: str | PathLike[str]) -> Scenario:
    """Read and validate a scenario file (TOML); every default is filled in.

    Raises:
        ScenarioError: the file cannot be read or is not a valid scenario; one line with file, key, value, choices.
    """
    table = json.loads(_core.load_scenario(fspath(file)))
    paths = [_path(path) for path in table.pop("path")]
    workload = table.pop("workload")
    kind = {"bulk": Bulk, "file": File, "cbr": ConstantRate}[workload.pop("kind")]
    return Scenario(
        **table | {"transport": Transport(**table["transport"])},
        paths=paths,
        workload=cast("Workload", kind(**workload)),
        base=FilePath(file).parent,
    )


def _path(table: dict[str, Any]) -> Path:
    directions: dict[str, Any] = {
        key: Direction(**table[key]) for key in ("forward", "backward") if key in table
    }
    return Path(**table | directions)


class Key(TypedDict):
    """One key of the scenario file."""

    table: str
    key: str
    kind: str
    default: Any
    doc: str


def scenario_keys() -> list[Key]:
    """Every key of a scenario file, with what it takes, its default and its meaning."""
    return cast("list[Key]", json.loads(_core.scenario_keys()))


def scenario_json(scenario: AnyScenario) -> str:
    """Canonical JSON of a scenario or of a scenario file."""
    return scenario.json if isinstance(scenario, Scenario) else _core.load_scenario(fspath(scenario))
