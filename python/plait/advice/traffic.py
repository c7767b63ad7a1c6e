"""What someone knows of the traffic: `bulk`, `blocks:RATE[:SIZE]` or `file:SIZE`; and by what a run is then judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from plait import _core
from plait.scenarios.units import NANOSECONDS, rate_bps, size_bytes
from plait.scenarios.workloads import Bulk, ConstantRate, File, Workload
from plait.support.words import expected

FORMS = "bulk, blocks:RATE[:SIZE] such as blocks:500kbit, or file:SIZE such as file:5MB"
BLOCKS_PER_SECOND = 25
"""Blocks of traffic whose block size nobody said: as many as a film has frames."""
LARGEST_BLOCK = 10_000_000
SMALLEST_BLOCK = 40
SELDOM_S = 2
"""Blocks that come less often than once in so many seconds are too few to be judged by."""
WRITING = 0.9
"""Share of a run in which blocks are written; in what is left the last ones arrive."""


METRICS: dict[str, tuple[str, ...]] = {
    "bulk": ("goodput", "mean", "p50", "p95", "p99", "max"),
    "blocks": ("p95", "mean", "p50", "p99", "max"),
    "file": ("time",),
}
"""By what runs may be judged, by kind of traffic: the first unless something is said. All others are of the delays of
packets (bulk) or blocks."""
LATEST = 5
"""So many blocks at least are later than a percentile that is judged by."""


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What the application sends, and by what it is judged; `text` is how it was said.

    Rate in payload bit/s, block and size in payload bytes. `metric` is one of `METRICS`.
    """

    kind: Literal["bulk", "blocks", "file"]
    text: str
    rate_bps: int = 0
    block: int = 0
    size: int = 0
    metric: str = "goodput"

    @property
    def more_is_better(self) -> bool:
        """Whether runs are judged by something of which more is better (goodput), or less (delay, time)."""
        return self.metric == "goodput"

    @property
    def alike_percent(self) -> float:
        """Differences up to this many percent do not matter."""
        return 2.0 if self.more_is_better else 5.0

    @property
    def noun(self) -> Literal["goodput", "delay", "time"]:
        """What is judged, in a word."""
        return "goodput" if self.metric == "goodput" else "time" if self.metric == "time" else "delay"

    @property
    def column(self) -> str:
        """The metric's name in results."""
        if self.metric == "goodput":
            return "goodput_bps"
        if self.metric == "time":
            return "completion_time_s"
        return f"{'block' if self.kind == 'blocks' else 'app'}_delay_ms.{self.metric}"

    def blocks_needed(self) -> int:
        """How many blocks a run needs so that some are later than the percentile that is judged by."""
        beyond = {"p99": 0.01, "max": 0.01}.get(self.metric, 0.05)
        return round(LATEST / beyond)

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


def parse_traffic(text: str, metric: str | None = None) -> Traffic:
    """Read what was said of the traffic, and by what it shall be judged.

    Raises:
        ScenarioError: the text is none of the forms, a value is no rate or size, or zero, or such traffic has no such
            metric.
    """
    traffic = _parse(text)
    known = METRICS[traffic.kind]
    if metric is not None and metric not in known:
        message = f"metric {metric!r}: {traffic.kind} traffic is not judged by it{expected(metric, known)}"
        raise _core.ScenarioError(message)
    return replace(traffic, metric=metric or known[0])


def _parse(text: str) -> Traffic:
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
