"""Facts about a path: `NAME RATE RTT [LOSS] [key=value…]`, as `plait advise --path` takes them.

The unit tells the kind of a part after the name, so the order does not matter:
``lte 30Mbit 60ms 1%``. A recording can replace the rate: ``lte trace=FILE 40ms`` (Mahimahi's
format). Rates, round trip and loss may be ranges: ``rtt=25-60ms``. The name of a preset alone
stands for that link: ``dsl``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any, Literal, TypeGuard

import numpy as np
from numpy.typing import NDArray

from plait import _core
from plait.advice.amounts import Amount, amount, decimal, ends, losses, losses_text
from plait.scenarios.presets import PRESETS, Burst, Handovers, preset
from plait.scenarios.scenario import Direction, Path, Scenario
from plait.scenarios.units import NANOSECONDS, duration_ns, rate_bps, size_bytes
from plait.support.words import expected

PACKET = 1500
"""Bytes of a packet on the wire, and of one delivery opportunity of a recording."""
MOST_IN_BURSTS = 0.9
"""Maximum share of packets that bursts lose."""
KEYS = {
    "rate": "such as rate=16Mbit",
    "rtt": "such as rtt=25ms, or rtt=25-60ms if it is somewhere in between",
    "loss": "such as loss=1%, loss=burst:1%:10 for losses that come ten at a time, or loss=every:15s:120ms:50% for "
    "handovers",
    "queue": "such as queue=50p, 64kB, 100ms or bdp, or codel or fq_codel where a router shapes",
    "jitter": "such as jitter=5ms",
    "back": "the rate of the other direction, such as back=1Mbit or back=1-5Mbit",
    "trace": "a recording in Mahimahi's format, instead of a rate",
    "back-trace": "a recording of the other direction",
    "cost": "what a metered path costs, such as cost=1",
    "cap": "how much a metered path may carry, such as cap=50GB",
    "preset": f"a common link, whose numbers hold where nothing else is said: {', '.join(PRESETS)}",
}
DISCIPLINES = {"codel": "codel", "fq_codel": "fq-codel", "fq-codel": "fq-codel"}
"""Queue disciplines of a shaped router, by `queue=` value, as named in scenario files. They have
limits of their own."""
CODEL_TARGET_NS = 5_000_000
"""RFC 8289: time that packets wait at a bottleneck that CoDel or FQ-CoDel manages."""
FORM = "NAME RATE RTT [LOSS] [KEY=VALUE…], such as 'lte 30Mbit 60ms 1%', or a preset such as 'dsl'"
SPREAD = 0.2
"""Default relative uncertainty of rate, round trip and loss. A given queue varies by it too."""

AMOUNT = re.compile(r"unknown unit: write (\d\S*?)(?:, and (\S+) as the rate of the other direction)?$")
"""The amount that the unit parser proposes, and the amount of the other direction."""


@dataclass(frozen=True, kw_only=True)
class KnownPath:
    """Facts about a path; rates in bit/s, times in ns, loss from 0 to 1.

    `rate` is the rate in the data's direction. `back` is that of the other direction, by default
    the same. With a `trace` (a file name) there is no rate. The other direction then has a
    recording of its own or the rate `back`, by default the recording's mean. `queue` is as in
    scenario files. Losses are independent, in bursts of a mean number of packets, or at
    `handovers`. A path with a `cost` or a `cap` (bytes) is metered. A spread is the relative
    uncertainty of rate, round trip or loss: half the width of a range, or `SPREAD` without one.
    `preset` names the source of the numbers that the input does not give.
    """

    name: str
    rtt_ns: int
    rate_bps: int | None = None
    loss: float = 0.0
    queue: str | None = None
    jitter_ns: int = 0
    back_bps: int | None = None
    trace: str | None = None
    back_trace: str | None = None
    burst: float | None = None
    handovers: Handovers | None = None
    cost: int = 0
    cap: int | None = None
    rate_spread: float | None = None
    rtt_spread: float | None = None
    loss_spread: float | None = None
    back_spread: float | None = None
    preset: str | None = None

    def spread(self, key: Literal["rate", "rtt", "loss", "back"]) -> float:
        """Return the largest relative error of an amount; for `back` by default the rate's."""
        said = {
            "rate": self.rate_spread,
            "rtt": self.rtt_spread,
            "loss": self.loss_spread,
            "back": self.rate_spread if self.back_spread is None else self.back_spread,
        }[key]
        return SPREAD if said is None else said

    @cached_property
    def recording_ms(self) -> NDArray[np.int64]:
        """Times of the recording's delivery opportunities, in ms; empty without a recording."""
        return _moments(self.trace)

    @cached_property
    def back_recording_ms(self) -> NDArray[np.int64]:
        """Times of the other direction's delivery opportunities, in ms; empty without any."""
        return _moments(self.back_trace)

    @cached_property
    def mean_bps(self) -> float:
        """The rate, or the mean rate of the recording."""
        if self.rate_bps is not None:
            return float(self.rate_bps)
        moments = self.recording_ms
        return len(moments) * PACKET * 8e3 / float(moments[-1])

    @property
    def metered(self) -> bool:
        """Whether its traffic costs something."""
        return bool(self.cost or self.cap)

    @property
    def discipline(self) -> str | None:
        """The discipline of a shaped router's queue, or None."""
        return DISCIPLINES.get(self.queue or "")

    @property
    def together(self) -> bool:
        """Whether losses come together, as given."""
        return self.burst is not None or self.handovers is not None

    def turned(self) -> KnownPath:
        """Return the path with exchanged directions: data flows where acknowledgements flowed."""
        if self.trace is None and self.back_trace is None:
            return (
                self
                if self.back_bps is None
                else replace(
                    self,
                    rate_bps=self.back_bps,
                    back_bps=self.rate_bps,
                    rate_spread=self.spread("back"),
                    back_spread=self.spread("rate"),
                )
            )
        rate = None if self.back_trace is not None else self.back_bps or round(self.mean_bps)
        return replace(
            self, trace=self.back_trace, rate_bps=rate, back_trace=self.trace, back_bps=self.rate_bps
        )

    def bdp_packets(self) -> float:
        """Return the number of packets that fill the empty path."""
        return self.mean_bps * self.rtt_ns / NANOSECONDS / 8 / PACKET

    def path(
        self,
        *,
        rate: float = 1.0,
        rtt: float = 1.0,
        loss: float = 1.0,
        back: float = 1.0,
        queue: str | None = None,
        trace: str | None = None,
        back_trace: str | None = None,
        place: float = 0.0,
    ) -> Path:
        """Return the path of a scenario; `rate`, `rtt`, `loss`, `back` are factors, others replace.

        `place` (0 to 1) is the elapsed share of the time between two handovers at the beginning.
        """
        back_bps = self.back_bps
        if back_bps is None and self.trace is not None and self.back_trace is None:
            back_bps = round(self.mean_bps)
        return Path(
            name=self.name,
            rate=None if self.rate_bps is None else f"{max(round(self.rate_bps * rate), 1)}bit",
            rtt=f"{max(round(self.rtt_ns * rtt), 1)}ns",
            loss=self._loss(min(self.loss * loss, 1.0)),
            **self._handovers(loss, place),
            queue=None if self.discipline else queue or self.queue,
            discipline=self.discipline,
            cost=self.cost or (1 if self.cap else None),
            jitter=f"{self.jitter_ns}ns" if self.jitter_ns else None,
            trace=trace or self.trace,
            backward=self._backward(back_bps, back, back_trace),
        )

    def _loss(self, share: float) -> str | dict[str, str] | None:
        if not self.loss or self.handovers is not None:
            return None
        if self.burst is None:
            return f"{decimal(share * 100)}%"
        return Burst(share=min(share, MOST_IN_BURSTS), packets=self.burst).table()

    def _handovers(self, factor: float, place: float) -> dict[str, Any]:
        if self.handovers is None or not self.loss:
            return {}
        loss = min(self.handovers.loss * factor * self.loss / self.handovers.share, 1.0)
        return replace(self.handovers, loss=loss).table((0.5 + place) % 1)

    def _backward(self, bps: int | None, factor: float, trace: str | None) -> Direction | None:
        if self.back_trace is not None:
            return Direction(trace=trace or self.back_trace)
        return None if bps is None else Direction(rate=f"{max(round(bps * factor), 1)}bit")


def parse_path(text: str) -> KnownPath:
    """Parse the description of a path.

    Raises:
        ScenarioError: the text has no name, no rate or two, no round-trip time or two, an unknown
            part, or a value out of range; or a recording cannot be read.
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
    if name in PRESETS and not said.keys() & {"rate", "rtt", "trace", "preset"}:
        said["preset"] = name
    common = _preset(text, said)
    if ("rate" in said) == ("trace" in said):
        what = "a rate and a recording" if "rate" in said else "no rate"
        raise _bad(text, f"{what}; expected either a rate such as 16Mbit or trace=FILE")
    if "rtt" not in said:
        raise _bad(text, "no round-trip time; expected one such as 25ms")
    return _known(text, name, said, common)


def parse_paths(texts: Sequence[str | KnownPath]) -> list[KnownPath]:
    """Parse the descriptions of all paths.

    Raises:
        ScenarioError: there is no path, two have the same name, there are more than schedulers
            take, or a path is invalid.
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
    """Return key and value of one word, from KEY=VALUE or by its unit."""
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
    """Guess the amount in another notation: ``50Mbps``, ``20msec``, or ``50/10Mbit`` of tariffs."""
    meant: list[str] = []
    for read in (_core.parse_rate, _core.parse_duration):
        try:
            read(word)
        except _core.ScenarioError as error:
            found = AMOUNT.search(str(error))
            if found is not None:
                meant.append(found[1] + (f" back={found[2]}" if found[2] else ""))
    return meant


def _preset(text: str, said: dict[str, str]) -> str | None:
    """Return the name of the given preset, and fill in its numbers where the input gives none."""
    name = said.pop("preset", None)
    if name is None:
        return None
    try:
        common = preset(name)
    except _core.ScenarioError as error:
        raise _bad(text, str(error)) from error
    usual = {"rate": common.rate, "back": common.back, "rtt": common.rtt, "queue": common.queue}
    if "trace" in said:
        del usual["rate"]
    if "back-trace" in said:
        del usual["back"]
    if common.jitter is not None:
        usual["jitter"] = common.jitter
    if common.losses is not None:
        usual["loss"] = losses_text(common.losses)
    for key, value in usual.items():
        said.setdefault(key, value)
    return name


def _kind(word: str) -> str | None:
    """Return the kind of a word by its unit: rate, rtt or loss."""
    word = (ends(word) or (word,))[0]
    if word.endswith("%") or word.startswith(("burst:", "every:")):
        return "loss"
    for kind, read in (("rate", _core.parse_rate), ("rtt", _core.parse_duration)):
        try:
            read(word)
        except _core.ScenarioError:
            continue
        return kind
    return None


def _known(text: str, name: str, said: dict[str, str], common: str | None) -> KnownPath:
    """Build the path; the code that reads scenario files checks the values."""
    share, together = _losses(text, said)
    judged = {**said, "loss": share}
    for key, as_key in (("rate", "rate"), ("back", "rate"), ("loss", "loss")):
        for end in ends(judged.get(key, "")) or (judged.get(key),):
            _checked(text, name, key, end, as_key)
    for key, as_key in (
        ("jitter", "jitter"),
        ("cost", "cost"),
        ("trace", "trace"),
        ("back-trace", "trace"),
    ):
        value = said.get(key)
        _checked(text, name, key, int(value) if key == "cost" and _whole(value) else value, as_key)
    if said.get("queue") not in DISCIPLINES:
        _checked(text, name, "queue", said.get("queue"), "queue")
    if "back" in said and "back-trace" in said:
        raise _bad(text, "a rate and a recording of the other direction; expected either of them")
    rtt = _amount(text, "rtt", said["rtt"], duration_ns)
    if rtt.value == 0:
        raise _bad(text, f"rtt {said['rtt']!r}: expected more than 0 ms")
    rate = _amount(text, "rate", said["rate"], rate_bps) if "rate" in said else None
    back = _amount(text, "back", said["back"], rate_bps) if "back" in said else None
    loss = _amount(text, "loss", share, _share)
    return KnownPath(
        name=name,
        rtt_ns=round(rtt.value),
        rate_bps=None if rate is None else round(rate.value),
        loss=loss.value,
        queue=said.get("queue"),
        jitter_ns=duration_ns(said["jitter"]) if "jitter" in said else 0,
        back_bps=None if back is None else round(back.value),
        trace=_file(said, "trace"),
        back_trace=_file(said, "back-trace"),
        burst=together if loss.value and isinstance(together, float) else None,
        handovers=together if loss.value and isinstance(together, Handovers) else None,
        cost=int(said.get("cost", 0)),
        cap=_cap(text, said.get("cap")),
        rate_spread=None if rate is None else rate.spread,
        rtt_spread=rtt.spread,
        loss_spread=loss.spread,
        back_spread=None if back is None else back.spread,
        preset=common,
    )


def _losses(text: str, said: dict[str, str]) -> tuple[str, float | Handovers | None]:
    """Return the share of lost packets, and their bursts or handovers if given."""
    try:
        return losses(said.get("loss", "0%"))
    except _core.ScenarioError as error:
        raise _bad(text, f"loss: {error}") from error


def _cap(text: str, value: str | None) -> int | None:
    if value is None:
        return None
    try:
        size = size_bytes(value)
    except _core.ScenarioError as error:
        raise _bad(text, f"cap: {error}") from error
    if size == 0:
        raise _bad(text, f"cap {value!r}: expected more than 0 B, such as cap=50GB")
    return size


def _whole(text: str | None) -> TypeGuard[str]:
    """Return whether a text is a whole number."""
    return text is not None and text.isascii() and text.isdigit()


def _file(said: dict[str, str], key: str) -> str | None:
    return str(FilePath(said[key]).absolute()) if key in said else None


def _moments(file: str | None) -> NDArray[np.int64]:
    if file is None:
        return np.empty(0, dtype=np.int64)
    lines = map(str.strip, FilePath(file).read_text(encoding="utf-8").splitlines())
    return np.asarray([line for line in lines if line and not line.startswith("#")], dtype=np.int64)


def _checked(text: str, name: str, key: str, value: str | int | None, as_key: str) -> None:
    """Let the scenario reader check one value; raise its ScenarioError with the path's text."""
    if value is None:
        return
    table = {"rate": "1Mbit", "rtt": "1ms", as_key: value}
    try:
        _ = Scenario(name="path", paths=[Path(name=name, **table)]).json  # type: ignore[arg-type]
    except _core.ScenarioError as error:
        words = str(error).removeprefix("path: path[0].").removeprefix("path: ")
        raise _bad(text, f"{key}{words.removeprefix(as_key)}") from error


def _amount(text: str, key: str, value: str, read: Callable[[str], float]) -> Amount:
    try:
        return amount(value, read)
    except _core.ScenarioError as error:
        raise _bad(text, f"{key}: {error}") from error


def _share(text: str) -> float:
    return float(text[:-1]) / 100


def _bad(text: str, why: str) -> _core.ScenarioError:
    return _core.ScenarioError(f"path {text!r}: {why}")
