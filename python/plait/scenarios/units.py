"""Amounts with units: the core parses text such as ``"20ms"``; plain numbers are in base units."""

from __future__ import annotations

import math

from plait import _core

Duration = str | float
"""A duration: text with a unit (``"20ms"``) or a number of seconds."""
Rate = str | float
"""A rate: text with a unit (``"10Mbit"``) or a number of bits per second."""
Size = str | int
"""An amount of data: text with a unit (``"35kB"``, ``"64KiB"``) or a number of bytes."""

NANOSECONDS = 1_000_000_000


def duration_ns(value: Duration) -> int:
    """Nanoseconds of a duration in text with a unit or in seconds; ScenarioError if invalid."""
    if isinstance(value, str):
        return _core.parse_duration(value)
    return round(_non_negative(value, "duration", "seconds") * NANOSECONDS)


def duration_s(value: Duration) -> float:
    """Seconds of a duration in text with a unit or in seconds."""
    return duration_ns(value) / NANOSECONDS


def rate_bps(value: Rate) -> int:
    """Bits per second of a rate in text with a unit or as a number; ScenarioError if invalid."""
    if isinstance(value, str):
        return _core.parse_rate(value)
    return round(_non_negative(value, "rate", "bits per second"))


def size_bytes(value: Size) -> int:
    """Bytes of an amount in text with a unit or as a number; ScenarioError if invalid."""
    if isinstance(value, str):
        return _core.parse_bytes(value)
    return round(_non_negative(value, "size", "bytes"))


def duration_text(value: Duration) -> str:
    """Return the duration as scenario files write it."""
    return value if isinstance(value, str) else f"{duration_ns(value)}ns"


def rate_text(value: Rate) -> str:
    """Return the rate as scenario files write it."""
    return value if isinstance(value, str) else f"{rate_bps(value)}bit"


def size_text(value: Size) -> str:
    """Return the amount of data as scenario files write it."""
    return value if isinstance(value, str) else f"{size_bytes(value)}B"


def moment_text(moment: int) -> str:
    """Format nanoseconds as seconds, truncated to microseconds.

    Truncation (instead of rounding) lets a search for the printed time find the event.
    """
    seconds, rest = divmod(moment, NANOSECONDS)
    return f"{seconds}.{rest // 1000:06d} s"


def _non_negative(value: float, what: str, unit: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = f"{what}: expected text with a unit or a number of {unit}, got {value!r}"
        raise _core.ScenarioError(message)
    if not math.isfinite(value) or value < 0:
        message = f"{what}: expected a finite number of {unit} ≥ 0, got {value!r}"
        raise _core.ScenarioError(message)
    return value
