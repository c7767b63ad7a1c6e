"""Facts about a path, and the path of a scenario that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from plait.advice.amounts import decimal
from plait.scenarios.presets import Burst, Handovers
from plait.scenarios.topology import Direction, Path
from plait.scenarios.units import NANOSECONDS

PACKET = 1500
"""Bytes of a packet on the wire, and of one delivery opportunity of a recording."""
MOST_IN_BURSTS = 0.9
"""Maximum share of packets that bursts lose."""
DISCIPLINES = {"codel": "codel", "fq_codel": "fq-codel", "fq-codel": "fq-codel"}
"""Queue disciplines of a shaped router, by `queue=` value, as named in scenario files. They have
limits of their own."""
CODEL_TARGET_NS = 5_000_000
"""RFC 8289: time that packets wait at a bottleneck that CoDel or FQ-CoDel manages."""
SPREAD = 0.2
"""Default relative uncertainty of rate, round trip and loss. A given queue varies by it too."""


@dataclass(frozen=True)
class Outage:
    """The path fails every `every_ns`, for `length_ns`; with `first_ns`, first at this time."""

    every_ns: int
    length_ns: int
    first_ns: int | None = None

    def table(self, place: float) -> dict[str, str]:
        """Return the value of `outages` in scenario files; `place` (0 to 1) shifts the first one."""
        first = round(place * self.every_ns) if self.first_ns is None else self.first_ns
        return {"every": f"{self.every_ns}ns", "length": f"{self.length_ns}ns", "first": f"{first}ns"}


@dataclass(frozen=True, kw_only=True)
class KnownPath:
    """Facts about a path; rates in bit/s, times in ns, loss from 0 to 1.

    `rate` is the rate in the data's direction. `back` is that of the other direction, by default
    the same. With a `trace` (a file name) there is no rate. The other direction then has a
    recording of its own or the rate `back`, by default the recording's mean. `queue` is as in
    scenario files. Losses are independent, in bursts of a mean number of packets, or at
    `handovers`. During an `outage`, no packet arrives. A `backup` path is used only while the other
    paths fail. A path with a `cost` or a `cap` (bytes) is metered. A spread is the relative
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
    outage: Outage | None = None
    backup: bool = False
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
            outages=None if self.outage is None else self.outage.table((0.5 + place) % 1),
            backup=self.backup or None,
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


def _moments(file: str | None) -> NDArray[np.int64]:
    if file is None:
        return np.empty(0, dtype=np.int64)
    lines = map(str.strip, FilePath(file).read_text(encoding="utf-8").splitlines())
    return np.asarray([line for line in lines if line and not line.startswith("#")], dtype=np.int64)
