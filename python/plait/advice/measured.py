"""Output of ping and iperf3, and recordings, as a path for `plait advise`."""

from __future__ import annotations

import codecs
import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from plait import _core

REPLY = re.compile(r"[=<](\d+(?:[.,]\d+)?) ?ms\b")
"""The round trip in a line of ping (time=, Zeit=, temps= by language). Totals have blanks around
=."""
NUMBER = re.compile(r"\b(?:icmp_)?seq=(\d+)\b")
"""Sequence number of an echo. BusyBox writes seq; Windows writes no number."""
NUMBERS = 1 << 16
"""Echo sequence numbers have 16 bits (RFC 792): 65535 is followed by 0."""
TOTALS = (
    re.compile(r"^\s*(\d+) [^\d%,]+, *\+?\d+ [^%]*%", re.MULTILINE),
    re.compile(r"=\s*(\d+),[^=]+=\s*\d+,[^=]+=\s*\d+\s*\([^\d)]*\d+ ?%"),
)
"""Lines of totals with the number of echoes sent, on Unix and on Windows. Words depend on the
language."""
RATE = re.compile(r"([\d.]+) ([KkMGT]?)(bits|Bytes)/sec.*\breceiver")
ERROR = re.compile(r"^iperf3: error - (.*)$", re.MULTILINE)
BOTH_WAYS = re.compile(r"\[[TR]X-[CS]\]")
"""The mark of a line of `iperf3 --bidir`: client (C) or server (S), sending (TX) or receiving
(RX)."""
PAYLOAD = 1448 / 1500
"""Payload share of a full packet's bytes in TCP over IPv4 with timestamps."""
FEW_PINGS = 100
JITTER_PERCENTILE = 95
TOGETHER = 1.5
"""Mean number of consecutive lost echoes from which on losses count as bursts."""
PREFIXES = "", "k", "M", "G", "T"


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
        """Shortest round trip in ms: that of the empty link."""
        return min(self.round_trips)

    @property
    def jitter_ms(self) -> float:
        """Excess of the 95th percentile over the shortest round trip, in ms.

        The delays of both directions are attributed to the data's direction.
        """
        return float(np.percentile(self.round_trips, JITTER_PERCENTILE)) - self.rtt_ms


def read_ping(text: str, name: str) -> Ping:
    """Parse the output of ``ping -c N``.

    Raises:
        ScenarioError: the text contains no replies.
    """
    lines = text.splitlines()
    sent, replies = _numbered(lines) if NUMBER.search(text) else _in_order(lines)
    if not replies:
        message = f"{name}: no replies of ping (icmp_seq=… time=… ms) in it"
        raise _core.ScenarioError(message)
    told = next((found[1] for one in TOTALS if (found := one.search(text))), 0)
    sent = max(int(told), sent)
    numbers = sorted(replies)
    gaps = [after - before - 1 for before, after in itertools.pairwise(numbers) if after - before > 1]
    missing = sent - len(replies) - sum(gaps)  # before the first reply and after the last one
    return Ping(list(replies.values()), sent, [*gaps, *([missing] if missing > 0 else [])])


def _numbered(lines: Sequence[str]) -> tuple[int, dict[int, float]]:
    """Return the number of echoes between first and last reply, and round trips in ms by number.

    Of duplicate replies the first one counts.
    """
    replies: dict[int, float] = {}
    last: int | None = None
    for line in lines:
        number, time = NUMBER.search(line), REPLY.search(line)
        if number is None or time is None:
            continue
        found = int(number[1])
        if last is not None:
            found += round((last - found) / NUMBERS) * NUMBERS
        last = found if last is None else max(last, found)
        replies.setdefault(found, float(time[1].replace(",", ".")))
    return (max(replies) - min(replies) + 1 if replies else 0), replies


def _in_order(lines: Sequence[str]) -> tuple[int, dict[int, float]]:
    """Return echoes and round trips of Windows' ping: lines per echo between title and empty line.

    A line without a round trip is a lost echo, in every language.
    """
    replies: dict[int, float] = {}
    count = 0
    for filled, block in itertools.groupby(lines, key=lambda line: bool(line.strip())):
        echoes = [line for line in block if filled and not line.rstrip().endswith(":")]
        if any(REPLY.search(line) for line in echoes):
            for line in echoes:
                if found := REPLY.search(line):
                    replies[count] = float(found[1].replace(",", "."))
                count += 1
    return count, replies


def read_iperf3(text: str, name: str, *, back: bool = False) -> float:
    """Return the receiver's goodput in bit/s from the output of ``iperf3 -c`` or ``iperf3 -c -J``.

    `back` selects the direction to the server. The default is the direction from the server, which
    ``-R`` measures.

    Raises:
        ScenarioError: the line is missing, iperf3 reports an error, or it measured the other
            direction.
    """
    if not text.lstrip().startswith("{"):
        return _of_words(text, name, back)
    try:
        document, _ = json.JSONDecoder().raw_decode(text.lstrip())  # an error may stand behind the document
    except ValueError as error:
        message = f"{name}: iperf3's JSON is damaged: {error}; expected the whole output of iperf3 -J"
        raise _core.ScenarioError(message) from error
    return _of_document(document, name, back, ERROR.search(text))


def _of_document(document: Any, name: str, back: bool, behind: re.Match[str] | None) -> float:
    """Return the goodput in iperf3's JSON; `behind` is an error message after the document."""
    try:
        end = document["end"]
        test = document.get("start", {}).get("test_start", {})
        both = "sum_received_bidir_reverse" in end
        received = end["sum_received_bidir_reverse"] if both and not back else end.get("sum_received")
        rate = float((received or end["sum"])["bits_per_second"])
        reverse = test.get("reverse")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        said = document.get("error") or (behind[1] if behind else None)
        message = f"{name}: no end.sum_received.bits_per_second in iperf3's JSON"
        if said is not None:
            message = f"{name}: iperf3 failed: {said}"
        raise _core.ScenarioError(message) from error
    if reverse is not None and not both:
        _check_way(name, bool(reverse), back)
    return rate


def _of_words(text: str, name: str, back: bool) -> float:
    """Return the goodput in iperf3's text output."""
    lines = text.splitlines()
    if any(BOTH_WAYS.search(line) for line in lines):
        way = "[TX-C]" if back else "[RX-C]"
        lines = [line for line in lines if way in line]
    elif "Connecting to host" in text:
        _check_way(name, "Reverse mode" in text, back)
    rates = [found for line in lines if (found := RATE.search(line))]
    if not rates:
        failed = ERROR.search(text)
        message = f"{name}: no line of the receiver (… Mbits/sec … receiver) of iperf3 in it"
        if failed is not None:
            message = f"{name}: iperf3 failed: {failed[1].strip()}"
        raise _core.ScenarioError(message)
    number, prefix, unit = rates[-1].groups()  # the last line of several streams is their sum
    power = PREFIXES.index(prefix.replace("K", "k"))
    return float(number) * (1000.0**power if unit == "bits" else 8 * 1024.0**power)


def _check_way(name: str, reverse: bool, back: bool) -> None:
    """Refuse a measurement of the other direction; `reverse` tells that it was made with ``-R``."""
    if reverse and back:
        message = (
            f"{name}: was measured with -R, from the server; expected iperf3 -c HOST, or the option --iperf3"
        )
        raise _core.ScenarioError(message)
    if not reverse and not back:
        message = (
            f"{name}: was measured without -R, to the server; "
            "expected iperf3 -c HOST -R, or the option --iperf3-back"
        )
        raise _core.ScenarioError(message)


def read_text(file: FilePath) -> str:
    """Return a file's text.

    Raises:
        ScenarioError: the file cannot be read.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        message = f"{file}: {error.strerror}"
        raise _core.ScenarioError(message) from error
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # Windows' PowerShell writes it
        return content.decode("utf-16", errors="replace")
    if b"\0" in content:
        message = f"{file}: no text"
        raise _core.ScenarioError(message)
    # Windows writes words in the national code page; the numbers are ASCII.
    return content.decode("utf-8-sig", errors="replace")


def path_text(
    name: str,
    ping: Ping,
    *,
    down: float | None = None,
    up: float | None = None,
    trace: FilePath | None = None,
) -> str:
    """Return the path as `plait advise --path` takes it; `down` and `up` are goodputs in bit/s."""
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
    """Return cautions about the measurement."""
    said = []
    if len(ping.round_trips) < FEW_PINGS:
        said.append(f"{len(ping.round_trips)} replies are few: ping -i 0.2 -c 500")
    if ping.gaps:
        times = len(ping.gaps)
        said.append(
            f"{sum(ping.gaps)} of {ping.sent} echoes were lost, {'once' if times == 1 else f'{times} times'}; "
            "ping tells shares roughly, and not whether packets that follow each other closely are lost together"
        )
    return said


def _rate(bits_per_second: float) -> str:
    for unit, scale in (("Gbit", 1e9), ("Mbit", 1e6), ("kbit", 1e3)):
        if bits_per_second >= scale:
            return f"{bits_per_second / scale:.1f}{unit}"
    return f"{max(round(bits_per_second), 1)}bit"
