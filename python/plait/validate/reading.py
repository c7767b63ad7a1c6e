"""Reads numbers of an advice back, each as the range of values that are written so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]

UNITS = {
    "Gbit/s": 1e9,
    "Mbit/s": 1e6,
    "kbit/s": 1e3,
    "bit/s": 1.0,
    "GB": 1e9,
    "MB": 1e6,
    "kB": 1e3,
    "B": 1.0,
    "MiB": float(1 << 20),
    "h": 3600.0,
    "min": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "µs": 1e-6,
}
AMOUNT = r"\d[\d.]* (?:[GMk]?bit/s|[GMk]?B|MiB|h|min|ms|µs|s)"
PERCENT = r"(?:[\d.]+ % (?:less|more)|[\d.]+ times|[+−]?[\d.]+ %|×[\d.]+)"
ENDS = rf"(?:{PERCENT}|[+−]?[\d.]+) to {PERCENT}"


@dataclass(frozen=True)
class Written:
    """A written number, and its largest difference from the original value."""

    value: float
    error: float

    def says(self, value: float | None) -> bool:
        """Whether a value is written as this number."""
        return value is not None and abs(value - self.value) <= self.error


def amount(text: str) -> Written:
    """Read an amount of three digits with its unit."""
    number, unit = text.split(" ")
    value = float(number) * UNITS[unit]
    return Written(value, max(0.006 * abs(value), 1e-6 * UNITS[unit]))


def percent(text: str) -> Written:
    """Read a gain in percent: signed, as a factor, or as less or more of a delay or time."""
    if text.startswith("×"):
        factor = float(text[1:].split(" ", maxsplit=1)[0])
        return Written((factor - 1) * 100, 0.006 * factor * 100)
    if text.endswith(" times"):
        factor = float(text.removesuffix(" times"))
        return Written((1 - factor) * 100, 0.006 * factor * 100)
    number = text.replace("−", "-").replace("%", "").split()
    value = float(number[0])
    if text.endswith("more"):
        value = -value
    return Written(value, 0.0501 if abs(value) < 10 else 0.501)


def share(text: str) -> Written:
    """Read a share such as ``0.0188 %``, of three digits for any size."""
    value = float(text.removesuffix(" %")) / 100
    return Written(value, 0.006 * value)


def gain(text: str) -> tuple[Written, tuple[Written, Written] | None]:
    """Read a gain such as ``+12 % goodput (95 % interval +11 to +13 %)``, with its interval."""
    found = re.search(
        rf"({PERCENT}) (?:the )?(?:goodput|delay|latency|time)\b"
        rf"(?: \((not distinguishable from zero: )?95 % interval ({ENDS})\))?",
        text,
    )
    if found is None:
        message = f"no gain in {text!r}"
        raise ValueError(message)
    value, doubt, ends = found.groups()
    if ends is None:
        return percent(value), None
    first, second = ends.split(" to ")
    # Words common to both ends appear only once.
    words = second.split(" ", maxsplit=1)[1:]
    both = [
        percent(end if end.startswith("×") or " " in end else " ".join([end, *words]))
        for end in (first, second)
    ]
    first_gain, second_gain = (one.value for one in both)
    # Gains fall from the first end to the second where delays rise. An end of "0 % more" has no
    # sign, so the words tell the direction.
    rises = " more" not in ends and " times" not in ends
    if (first_gain > second_gain) if rises else (first_gain < second_gain):
        message = f"an interval from high to low in {text!r}"
        raise ValueError(message)
    low, high = sorted(both, key=lambda one: one.value)
    # An end that is written as 0 may have either sign.
    if (low.value * high.value > 0) if doubt else (low.value < 0 < high.value):
        message = f"an interval with wrong words in {text!r}"
        raise ValueError(message)
    return percent(value), (low, high)


def standing(document: Document, label: str) -> dict[str, Any]:
    """Return the row of a scheduler or a path alone."""
    row: dict[str, Any] = next(one for one in document["standings"] if one["label"] == label)
    return row


def single(document: Document) -> dict[str, Any]:
    """Return the row of the best path alone."""
    return standing(document, f"{document['best_single_path']} alone")


def several(document: Document) -> bool:
    """Return whether several paths are recommended: worth it, or borderline with a gain that counts."""
    if document["verdict"] == "borderline":
        gains = standing(document, document["scheduler"])["gain_percent"]["value"] > alike(document)
        return bool(gains or len(document["asked"]["paths"]) > 2)
    return bool(document["verdict"] == "worth")


def unit(document: Document) -> float:
    """Return the value of a score of one in bit/s or seconds."""
    return 1e-3 if document["metric"].endswith(("mean", "p50", "p95", "p99", "max")) else 1.0


def alike(document: Document) -> float:
    """Return the percentage below which differences do not matter."""
    return 2.0 if document["metric"] == "goodput_bps" else 5.0


def end(found: Mapping[str, Any], which: str) -> float:
    """Return the end ``low`` or ``high`` of an estimate's interval.

    Without an interval, because nothing varies, return the value.
    """
    return float(found["value"] if found[which] is None else found[which])


def group(pattern: str, text: str) -> str:
    """Return the match of the pattern's first group.

    Raises:
        ValueError: there is no match.
    """
    found = re.search(pattern, text)
    if found is None:
        message = f"no {pattern}"
        raise ValueError(message)
    return found[1]
