"""Amounts in human-readable form, with three digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from plait.statistics.estimate import Estimate

TENFOLD = 900.0
"""Percent. Changes from tenfold on are written as factors."""
_RATES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_MIB = 1 << 20
_LONG = ((3600.0, "h"), (60.0, "min"))
_LONG_FROM = 120.0
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def rate(bits_per_second: float) -> str:
    """Format a rate, such as ``17.3 Mbit/s``."""
    return _amount(bits_per_second, _RATES)


def size(amount: float) -> str:
    """Format an amount of data, such as ``256 kB``, or ``6 MiB`` if it is exactly that."""
    if amount and amount % _MIB == 0:
        return f"{digits(amount / _MIB)} MiB"
    return _amount(amount, _SIZES)


def time(seconds: float) -> str:
    """Format a duration, such as ``25 ms``."""
    return _amount(seconds, (*_LONG, *_TIMES) if seconds >= _LONG_FROM else _TIMES)


def unit(values: list[float], kind: Literal["rate", "time"]) -> tuple[float, str]:
    """Return factor and name of the unit that suits the largest of several values."""
    units = _RATES if kind == "rate" else _TIMES
    largest = max(values, default=0.0)
    return next((one for one in units if largest >= one[0]), units[-1])


def share(value: float) -> str:
    """Format a share, such as ``0.2 %``."""
    return f"{digits(value * 100)} %"


def signed(percent: float, *, factor: bool | None = None) -> str:
    """Format a change in percent, such as ``+42 %``, or as a factor, such as ``×12``.

    `factor` chooses the form; by default a change of tenfold or more is a factor.
    """
    if percent >= TENFOLD if factor is None else factor:
        return f"×{digits(1 + percent / 100)}"
    rounded = f"{percent:+.0f}" if abs(percent) >= 9.95 else f"{percent:+.1f}"
    if float(rounded) == 0:
        return "0 %"
    return f"{rounded} %".replace("-", "−")


def saved(percent: float, noun: str = "") -> str:
    """Format a gain as less or more of a noun: ``12 % less delay``, or ``12.3 times the delay``."""
    if percent < -TENFOLD:
        return f"{digits(1 - percent / 100)} times" + (f" the {noun}" if noun else "")
    rounded = signed(abs(percent), factor=False).removeprefix("+")
    return f"{rounded} {'less' if percent >= 0 else 'more'} {noun}".rstrip()


def cost(percent: float, what: str = "") -> str:
    """Format a cost in percent of something, such as ``22 % of the goodput``, or ``nothing``."""
    written = signed(percent).removeprefix("+")
    return f"{written} {what}".rstrip() if percent > 0 and written != "0 %" else "nothing"


def from_to(ends: Sequence[str]) -> str:
    """Join an interval's ends, common words once: ``11.3 to 13.3 times``, ``2 to 8 % less``."""
    low, _, word = (ends[0] if ends else "").partition(" ")
    same = len(ends) == 2 and ends[1].endswith(f" {word}")
    return f"{low} to {ends[1]}" if same else " to ".join(ends)


def interval(change: Estimate) -> str:
    """Format the confidence interval of a change: ``+35 to +49 %``; empty without an interval."""
    if change.interval is None:
        return ""
    low, high = (signed(value, factor=change.value >= TENFOLD) for value in change.interval)
    return f"{low.removesuffix(' %')} to {high}"


def digits(value: float) -> str:
    """Format three digits, without an exponent or trailing zeros."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    text = f"{value:.3g}"
    if "e" in text:
        text = f"{value:.6f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _amount(value: float, units: tuple[tuple[float, str], ...]) -> str:
    for factor, unit in units:
        if value >= factor * 0.9995:
            return f"{digits(value / factor)} {unit}"
    factor, unit = units[-1]
    return f"{digits(value / factor)} {unit}"
