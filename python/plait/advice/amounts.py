"""Ranges of amounts, bursts of losses, handovers: `25-60ms`, `burst:1%:10`, `every:15s:1s:50%`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from plait import _core
from plait.scenarios.presets import Burst, Handovers
from plait.scenarios.units import NANOSECONDS, duration_ns

BURST_PACKETS = 10.0
"""Mean number of lost packets in a burst, if the input does not give one."""
LONGEST_BURST = 10_000.0
LEAST_S = 0.01
"""Shortest handover, and shortest time from its end to the next handover, in seconds."""
NUMBER = r"\d+(?:\.\d+)?"
RANGE = re.compile(rf"({NUMBER})\s*([A-Za-z%µ]*)\s*[-–]\s*({NUMBER})\s*([A-Za-z%µ]+)")


@dataclass(frozen=True)
class Amount:
    """An amount and its relative uncertainty in both directions; None if the input gives none."""

    value: float
    spread: float | None = None


def ends(text: str) -> tuple[str, str] | None:
    """Return both ends of a range with units: ``25-60ms`` is from ``25ms`` to ``60ms``."""
    found = RANGE.fullmatch(text)
    if found is None:
        return None
    low, unit_low, high, unit_high = found.groups()
    return f"{low}{unit_low or unit_high}", f"{high}{unit_high}"


def amount(text: str, read: Callable[[str], float]) -> Amount:
    """Parse an amount or a range; a range gives its middle, and half its width as the spread.

    Raises:
        ScenarioError: the text is no amount, or the range starts at zero or above its end.
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


def losses(text: str) -> tuple[str, float | Handovers | None]:
    """Parse a loss: its mean share, and the mean packets of a burst or the handovers.

    Raises:
        ScenarioError: the text has other parts, or a value is out of range.
    """
    kind, colon, rest = text.partition(":")
    if kind == "every":
        return _handovers(text, rest)
    if kind != "burst":
        return text, None
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


def losses_text(losses: Burst | Handovers) -> str:
    """Return the text that `losses` parses to this value."""
    if isinstance(losses, Burst):
        return f"burst:{decimal(losses.share * 100)}%:{losses.packets:g}"
    return f"every:{losses.every_s:g}s:{losses.length_s * 1e3:g}ms:{decimal(losses.loss * 100)}%"


def decimal(value: float) -> str:
    """Format a number without exponent and trailing zeros."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _handovers(text: str, rest: str) -> tuple[str, Handovers]:
    form = "expected every:PERIOD:LENGTH:SHARE, such as every:15s:120ms:50%"
    parts = rest.split(":")
    if len(parts) != 3 or not re.fullmatch(rf"{NUMBER}%", parts[2]):
        message = f"{text!r}: {form}"
        raise _core.ScenarioError(message)
    every, length = (duration_ns(part) / NANOSECONDS for part in parts[:2])
    loss = float(parts[2].removesuffix("%")) / 100
    if not (LEAST_S <= length <= every - LEAST_S and loss <= 1):
        message = (
            f"{text!r}: expected a length from 10ms to 10ms less than the period, and at most 100%; {form}"
        )
        raise _core.ScenarioError(message)
    found = Handovers(every_s=every, length_s=length, loss=loss)
    return f"{decimal(found.share * 100)}%", found
