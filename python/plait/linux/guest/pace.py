"""Times of blocks and datagrams, computed as in the simulator (simulation/pace.rs)."""

from __future__ import annotations

import time
from collections.abc import Iterator

from .plan import Source

SECOND = 1_000_000_000


def moments(source: Source) -> Iterator[int]:
    """Yield nanoseconds from the run's start, in order, up to the source's stop if it has one."""
    assert source.block is not None
    assert source.rate_bps is not None
    bits, rate = source.block * 8, source.rate_bps
    periods = source.periods or [[source.start_ns, 1 << 62]]
    count = before = 0
    for began, length in periods:
        while (offset := count * bits * SECOND // rate) - before < length:
            moment = began + offset - before
            if source.stop_ns is not None and moment >= source.stop_ns:
                return
            yield moment
            count += 1
        before += length


def sleep_until(moment_ns: int) -> None:
    """Sleep until a time of the wall clock, which is the run's clock."""
    left = moment_ns - time.time_ns()
    if left > 0:
        time.sleep(left / SECOND)
