"""Amounts of which one knows a range, and losses that come together: `25-60ms`, `0.1-1%`, `burst:1%:10`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from plait import _core

BURST_PACKETS = 10.0
"""Mean length of a burst of losses of which nobody said how long it is."""
LONGEST_BURST = 10_000.0
NUMBER = r"\d+(?:\.\d+)?"
RANGE = re.compile(rf"({NUMBER})\s*([A-Za-z%µ]*)\s*[-–]\s*({NUMBER})\s*([A-Za-z%µ]+)")


@dataclass(frozen=True)
class Amount:
    """An amount, and by what share of it the truth may be more or less; None where nobody said."""

    value: float
    spread: float | None = None


def ends(text: str) -> tuple[str, str] | None:
    """Both ends of a range, each with its unit: ``25-60ms`` is from ``25ms`` to ``60ms``."""
    found = RANGE.fullmatch(text)
    if found is None:
        return None
    low, unit_low, high, unit_high = found.groups()
    return f"{low}{unit_low or unit_high}", f"{high}{unit_high}"


def amount(text: str, read: Callable[[str], float]) -> Amount:
    """An amount or a range of amounts, the middle and half the width of it.

    Raises:
        ScenarioError: it cannot be read, or the range begins above its end, or at nothing.
    """
    both = ends(text)
    if both is None:
        return Amount(float(read(text)))
    low, high = (float(read(end)) for end in both)
    if not 0 < low <= high:
        message = f"{text!r}: expected a range from a smaller amount above 0 to a larger one, such as 25-60ms"
        raise _core.ScenarioError(message)
    middle = (low + high) / 2
    return Amount(middle, (high - low) / 2 / middle)


def burst(text: str) -> tuple[str, float] | None:
    """The share of ``burst:SHARE[:PACKETS]`` and the mean packets of a burst; None if it is no such text.

    Raises:
        ScenarioError: there are other parts, or bursts of less than a packet or of too many.
    """
    kind, colon, rest = text.partition(":")
    if kind != "burst":
        return None
    share, _, packets = rest.partition(":")
    form = "expected burst:SHARE or burst:SHARE:PACKETS, such as burst:1%:10"
    if not colon or not share.endswith("%"):
        message = f"{text!r}: {form}"
        raise _core.ScenarioError(message)
    try:
        length = float(packets) if packets else BURST_PACKETS
    except ValueError as error:
        message = f"{text!r}: {packets!r} is no number of packets; {form}"
        raise _core.ScenarioError(message) from error
    if not 1 <= length <= LONGEST_BURST:
        message = f"{text!r}: bursts of {packets} packets; expected from 1 to {LONGEST_BURST:.0f}"
        raise _core.ScenarioError(message)
    return share, length
