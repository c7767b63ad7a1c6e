"""What someone knows of a path: `NAME RATE RTT [LOSS] [key=value…]`, as `plait advise --path` takes it.

The parts after the name are told apart by their units, so their order does not matter: ``lte 30Mbit 60ms 1%``. A
recording stands for the rate: ``lte trace=FILE 40ms`` (Mahimahi's format).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath

import numpy as np
from numpy.typing import NDArray

from plait import _core
from plait.scenarios.scenario import Direction, Path, Scenario
from plait.scenarios.units import NANOSECONDS, duration_ns, rate_bps
from plait.support.words import expected

PACKET = 1500
"""Bytes of a packet on the wire, and of one delivery opportunity of a recording."""
KEYS = {
    "rate": "such as rate=16Mbit",
    "rtt": "such as rtt=25ms",
    "loss": "such as loss=1%",
    "queue": "such as queue=50p, 64kB, 100ms or bdp",
    "jitter": "such as jitter=5ms",
    "back": "the rate of the other direction, such as back=1Mbit",
    "trace": "a recording in Mahimahi's format, instead of a rate",
}
POSITIONAL = ("rate", "rtt", "loss")
FORM = "NAME RATE RTT [LOSS] [KEY=VALUE…], such as 'lte 30Mbit 60ms 1%'"

AMOUNT = re.compile(r"unknown unit: write (\d\S*?)(?:, and (\S+) as the rate of the other direction)?$")
"""The amount that the reader of units proposes, and that of the other direction."""


@dataclass(frozen=True, kw_only=True)
class KnownPath:
    """What is known of a path; rates in bit/s, times in ns, loss from 0 to 1. `queue` is as scenario files have it.

    `rate` is that of the data's direction, `back` of the other one, and the same unless given. With a `trace` (a
    file's name) there is no rate; `back` is then the recording's mean unless given.
    """

    name: str
    rtt_ns: int
    rate_bps: int | None = None
    loss: float = 0.0
    queue: str | None = None
    jitter_ns: int = 0
    back_bps: int | None = None
    trace: str | None = None

    @cached_property
    def recording_ms(self) -> NDArray[np.int64]:
        """The moments of the recording's delivery opportunities, in ms; empty without a recording."""
        if self.trace is None:
            return np.empty(0, dtype=np.int64)
        lines = map(str.strip, FilePath(self.trace).read_text(encoding="utf-8").splitlines())
        return np.asarray([line for line in lines if line and not line.startswith("#")], dtype=np.int64)

    @cached_property
    def mean_bps(self) -> float:
        """The rate, or the mean rate of the recording."""
        if self.rate_bps is not None:
            return float(self.rate_bps)
        moments = self.recording_ms
        return len(moments) * PACKET * 8e3 / float(moments[-1])

    def bdp_packets(self) -> float:
        """Packets that fill the empty path."""
        return self.mean_bps * self.rtt_ns / NANOSECONDS / 8 / PACKET

    def path(
        self,
        *,
        rate: float = 1.0,
        rtt: float = 1.0,
        loss: float = 1.0,
        queue: str | None = None,
        trace: str | None = None,
    ) -> Path:
        """The path as scenarios have it; `rate`, `rtt` and `loss` are factors, the others replace what was said."""
        back = self.back_bps
        if back is None and self.trace is not None:
            back = round(self.mean_bps)
        return Path(
            name=self.name,
            rate=None if self.rate_bps is None else f"{max(round(self.rate_bps * rate), 1)}bit",
            rtt=f"{max(round(self.rtt_ns * rtt), 1)}ns",
            loss=f"{_decimal(min(self.loss * loss, 1.0) * 100)}%" if self.loss else None,
            queue=queue or self.queue,
            jitter=f"{self.jitter_ns}ns" if self.jitter_ns else None,
            trace=trace or self.trace,
            backward=None if back is None else Direction(rate=f"{max(round(back * rate), 1)}bit"),
        )


def parse_path(text: str) -> KnownPath:
    """Read what was said of a path.

    Raises:
        ScenarioError: the text says no name, no or two rates or round-trip times, something unknown, or a value out
            of range; a recording cannot be read.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise _bad(text, f"{str(error).lower()}; expected {FORM}") from error
    if not words or "=" in words[0] or _kind(words[0]) is not None:
        raise _bad(text, f"no name; expected {FORM}")
    name, *rest = words
    said: dict[str, str] = {}
    for word in rest:
        key, value = _item(text, word)
        if key in said:
            raise _bad(text, f"{key} is said twice: {said[key]!r} and {value!r}")
        said[key] = value
    if ("rate" in said) == ("trace" in said):
        what = "a rate and a recording" if "rate" in said else "no rate"
        raise _bad(text, f"{what}; expected either a rate such as 16Mbit or trace=FILE")
    if "rtt" not in said:
        raise _bad(text, "no round-trip time; expected one such as 25ms")
    return _known(text, name, said)


def parse_paths(texts: Sequence[str | KnownPath]) -> list[KnownPath]:
    """Read what was said of all paths.

    Raises:
        ScenarioError: no path, two of the same name, more than schedulers take, or one is not valid.
    """
    if not texts:
        message = f"paths: expected at least one, {FORM}"
        raise _core.ScenarioError(message)
    paths = [text if isinstance(text, KnownPath) else parse_path(text) for text in texts]
    names = [path.name for path in paths]
    for name in names:
        if names.count(name) > 1:
            message = f"path {name!r}: two paths have this name; expected different ones"
            raise _core.ScenarioError(message)
    _ = Scenario(name="paths", paths=[path.path() for path in paths]).json
    return paths


def _item(text: str, word: str) -> tuple[str, str]:
    """Key and value of one word: said as KEY=VALUE, or told by its unit."""
    key, equals, value = word.partition("=")
    if not equals:
        kind = _kind(word)
        if kind is None:
            meant = _meant(word)
            raise _bad(
                text,
                f"{word!r}: write {' or '.join(meant)}"
                if meant
                else f"{word!r}: expected a rate such as 16Mbit, a round-trip time such as 25ms, a loss such as 1%, "
                f"or KEY=VALUE with one of: {', '.join(KEYS)}",
            )
        return kind, word
    if key not in KEYS:
        raise _bad(text, f"{key!r}: unknown{expected(key, list(KEYS))}")
    if not value:
        raise _bad(text, f"{key}: nothing said; expected {KEYS[key]}")
    return key, value


def _meant(word: str) -> list[str]:
    """What was meant by an amount in another notation: ``50Mbps``, ``20msec``, or ``50/10Mbit`` as tariffs have it."""
    meant: list[str] = []
    for read in (_core.parse_rate, _core.parse_duration):
        try:
            read(word)
        except _core.ScenarioError as error:
            found = AMOUNT.search(str(error))
            if found is not None:
                meant.append(found[1] + (f" back={found[2]}" if found[2] else ""))
    return meant


def _kind(word: str) -> str | None:
    """Which of rate, rtt and loss a word is, by its unit."""
    if word.endswith("%"):
        return "loss"
    for kind, read in (("rate", _core.parse_rate), ("rtt", _core.parse_duration)):
        try:
            read(word)
        except _core.ScenarioError:
            continue
        return kind
    return None


def _known(text: str, name: str, said: dict[str, str]) -> KnownPath:
    """The path, checked by the same code that reads scenario files."""
    for key in ("rate", "back"):
        _checked(text, name, said, key, "rate")
    _checked(text, name, said, "jitter", "jitter")
    _checked(text, name, said, "loss", "loss")
    _checked(text, name, said, "queue", "queue")
    _checked(text, name, said, "trace", "trace")
    rtt_ns = _read(text, "rtt", said["rtt"], duration_ns)
    if rtt_ns == 0:
        raise _bad(text, f"rtt {said['rtt']!r}: expected more than 0 ms")
    return KnownPath(
        name=name,
        rtt_ns=rtt_ns,
        rate_bps=_read(text, "rate", said["rate"], rate_bps) if "rate" in said else None,
        loss=_share(said.get("loss", "0%")),
        queue=said.get("queue"),
        jitter_ns=duration_ns(said["jitter"]) if "jitter" in said else 0,
        back_bps=rate_bps(said["back"]) if "back" in said else None,
        trace=str(FilePath(said["trace"]).absolute()) if "trace" in said else None,
    )


def _checked(text: str, name: str, said: dict[str, str], key: str, as_key: str) -> None:
    """Let the scenario reader judge one value; ScenarioError in its words."""
    if key not in said:
        return
    table = {"rate": "1Mbit", "rtt": "1ms", as_key: said[key]}
    try:
        _ = Scenario(name="path", paths=[Path(name=name, **table)]).json  # type: ignore[arg-type]
    except _core.ScenarioError as error:
        words = str(error).removeprefix("path: path[0].").removeprefix("path: ")
        raise _bad(text, f"{key}{words.removeprefix(as_key)}") from error


def _read(text: str, key: str, value: str, read: object) -> int:
    try:
        return int(read(value))  # type: ignore[operator]
    except _core.ScenarioError as error:
        raise _bad(text, f"{key}: {error}") from error


def _decimal(value: float) -> str:
    """A number without exponent and trailing zeros."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _share(text: str) -> float:
    return float(text[:-1]) / 100


def _bad(text: str, why: str) -> _core.ScenarioError:
    return _core.ScenarioError(f"path {text!r}: {why}")
