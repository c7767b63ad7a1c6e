"""What ping and iperf3 printed, and recordings, as a path for `plait advise`."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from plait import _core

REPLY = re.compile(r"icmp_seq=(\d+)\b.*?\btime[=<]([\d.]+) ?ms")
SENT = re.compile(r"(\d+) packets transmitted")
RECEIVED = re.compile(r"([\d.]+) ([kMG]?)bits/sec.*\breceiver", re.MULTILINE)
PAYLOAD = 1448 / 1500
"""Share of a full packet's bytes that TCP over IPv4 with timestamps carries for its user."""
FEW_PINGS = 100
JITTER_PERCENTILE = 95
TOGETHER = 1.5
"""From so many lost echoes in a row on average on, losses count as bursts."""
SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True)
class Ping:
    """Round trips in ms, echoes sent, and the lengths of gaps between replies."""

    round_trips: Sequence[float]
    sent: int
    gaps: Sequence[int]

    @property
    def loss(self) -> float:
        """Share of echoes without a reply."""
        return sum(self.gaps) / self.sent

    @property
    def rtt_ms(self) -> float:
        """The shortest: that of the empty link."""
        return min(self.round_trips)

    @property
    def jitter_ms(self) -> float:
        """By how much 95 % of the others are longer at most; delays of both directions are taken for the data's."""
        return float(np.percentile(self.round_trips, JITTER_PERCENTILE)) - self.rtt_ms


def read_ping(text: str, name: str) -> Ping:
    """What ``ping -c N`` printed.

    Raises:
        ScenarioError: there are no replies in it.
    """
    replies = {int(number): float(time) for number, time in REPLY.findall(text)}
    if not replies:
        message = f"{name}: no replies of ping (icmp_seq=… time=… ms) in it"
        raise _core.ScenarioError(message)
    told = SENT.search(text)
    first, last = min(replies), max(replies)
    sent = max(int(told[1]) if told else 0, last - first + 1)
    numbers = sorted(replies)
    gaps = [after - before - 1 for before, after in itertools.pairwise(numbers) if after - before > 1]
    missing = sent - len(replies) - sum(gaps)  # before the first reply and after the last one
    return Ping(list(replies.values()), sent, [*gaps, *([missing] if missing > 0 else [])])


def read_iperf3(text: str, name: str) -> float:
    """The goodput at the receiver in bit/s, of what ``iperf3 -c`` printed, with or without ``-J``.

    Raises:
        ScenarioError: there is no such line in it.
    """
    if text.lstrip().startswith("{"):
        try:
            found: Any = json.loads(text)["end"]
            return float((found.get("sum_received") or found["sum"])["bits_per_second"])
        except (KeyError, TypeError, ValueError) as error:
            message = f"{name}: no end.sum_received.bits_per_second in iperf3's JSON"
            raise _core.ScenarioError(message) from error
    lines = RECEIVED.findall(text)
    if not lines:
        message = f"{name}: no line of the receiver (… Mbits/sec … receiver) of iperf3 in it"
        raise _core.ScenarioError(message)
    number, unit = lines[-1]  # of several streams the last line is their sum
    return float(number) * SCALES[unit]


def read_text(file: FilePath) -> str:
    """A file's text.

    Raises:
        ScenarioError: it cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "no text"
        message = f"{file}: {why}"
        raise _core.ScenarioError(message) from error


def path_text(
    name: str,
    ping: Ping,
    *,
    down: float | None = None,
    up: float | None = None,
    trace: FilePath | None = None,
) -> str:
    """The path as `plait advise --path` takes it; `down` and `up` are goodputs in bit/s."""
    words = [name]
    words.append(f"trace={trace.absolute()}" if trace is not None else _rate((down or 0) / PAYLOAD))
    words.append(f"{ping.rtt_ms:.3g}ms")
    if ping.gaps:
        share, length = f"{ping.loss * 100:.3g}%", sum(ping.gaps) / len(ping.gaps)
        words.append(f"loss=burst:{share}:{length:.3g}" if length >= TOGETHER else share)
    if ping.jitter_ms >= 1:
        words.append(f"jitter={ping.jitter_ms:.3g}ms")
    if up is not None:
        words.append(f"back={_rate(up / PAYLOAD)}")
    return " ".join(words)


def remarks(ping: Ping) -> list[str]:
    """What to mind."""
    said = []
    if len(ping.round_trips) < FEW_PINGS:
        said.append(f"{len(ping.round_trips)} replies are few: ping -i 0.2 -c 500")
    if ping.gaps:
        said.append(
            f"{sum(ping.gaps)} of {ping.sent} echoes were lost, {len(ping.gaps)} times; ping tells shares roughly, and "
            "not whether packets that follow each other closely are lost together"
        )
    return said


def _rate(bits_per_second: float) -> str:
    for unit, scale in (("Gbit", 1e9), ("Mbit", 1e6), ("kbit", 1e3)):
        if bits_per_second >= scale:
            return f"{bits_per_second / scale:.1f}{unit}"
    return f"{max(round(bits_per_second), 1)}bit"
