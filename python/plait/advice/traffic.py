"""What someone knows of the traffic: `bulk`, `blocks:RATE[:SIZE]` or `file:SIZE`; and by what a run is then judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from plait import _core
from plait.scenarios.units import NANOSECONDS, rate_bps, size_bytes
from plait.scenarios.workloads import Bulk, ConstantRate, File, Workload

FORMS = "bulk, blocks:RATE[:SIZE] such as blocks:500kbit, or file:SIZE such as file:5MB"
BLOCKS_PER_SECOND = 25
"""Blocks of traffic whose block size nobody said: as many as a film has frames."""
LARGEST_BLOCK = 10_000_000
SMALLEST_BLOCK = 40
SELDOM_S = 2
"""Blocks that come less often than once in so many seconds are too few to be judged by."""
WRITING = 0.9
"""Share of a run in which blocks are written; in what is left the last ones arrive."""


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What the application sends; `text` is how it was said. Rate in payload bit/s, block and size in payload bytes."""

    kind: Literal["bulk", "blocks", "file"]
    text: str
    rate_bps: int = 0
    block: int = 0
    size: int = 0

    @property
    def more_is_better(self) -> bool:
        """Whether runs are judged by something of which more is better (goodput), or less (delay, time)."""
        return self.kind == "bulk"

    @property
    def alike_percent(self) -> float:
        """Differences up to this many percent do not matter."""
        return 2.0 if self.kind == "bulk" else 5.0

    def workload(self, duration_ns: int) -> Workload:
        """The traffic as scenarios have it, for a run of `duration_ns`."""
        if self.kind == "bulk":
            return Bulk()
        if self.kind == "file":
            return File(size=f"{self.size}B")
        stop = max(round(duration_ns * WRITING), 1)
        return ConstantRate(rate=f"{self.rate_bps}bit", block=f"{self.block}B", stop=f"{stop}ns")

    def interval_ns(self) -> int:
        """From one block to the next; 0 if there are none."""
        return 0 if self.kind != "blocks" else round(self.block * 8 * NANOSECONDS / self.rate_bps)


def parse_traffic(text: str) -> Traffic:
    """Read what was said of the traffic.

    Raises:
        ScenarioError: the text is none of the forms, or a value is no rate or size, or zero.
    """
    kind, *rest = text.split(":")
    if kind == "bulk" and not rest:
        return Traffic(kind="bulk", text=text)
    try:
        if kind == "file" and len(rest) == 1:
            return Traffic(kind="file", text=text, size=_positive(size_bytes(rest[0]), rest[0]))
        if kind == "blocks" and len(rest) in (1, 2):
            rate = _positive(rate_bps(rest[0]), rest[0])
            usual = min(max(rate // 8 // BLOCKS_PER_SECOND, SMALLEST_BLOCK), LARGEST_BLOCK)
            block = _positive(size_bytes(rest[1]), rest[1]) if len(rest) == 2 else usual
            _check_block(rate, block)
            return Traffic(kind="blocks", text=text, rate_bps=rate, block=block)
    except _core.ScenarioError as error:
        message = f"traffic {text!r}: {error}"
        raise _core.ScenarioError(message) from error
    message = f"traffic {text!r}: expected {FORMS}"
    raise _core.ScenarioError(message)


def _check_block(rate: int, block: int) -> None:
    if not SMALLEST_BLOCK <= block <= LARGEST_BLOCK:
        message = f"a block of {block} B: expected from {SMALLEST_BLOCK} B to {LARGEST_BLOCK // 10**6} MB"
        raise _core.ScenarioError(message)
    if block * 8 > rate * SELDOM_S:
        message = (
            f"a block of {block} B every {block * 8 / rate:.3g} s: expected one every {SELDOM_S} s at least"
        )
        raise _core.ScenarioError(message)


def _positive(value: int, text: str) -> int:
    if value == 0:
        message = f"{text!r}: expected more than 0"
        raise _core.ScenarioError(message)
    return value
