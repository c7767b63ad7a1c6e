"""What the sender of a simulated run would know of its packets: recordings in virtual time, whose links are known."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from plait.results.result import Result


def known_to_sender(result: Result, path: int, delay_ns: float) -> pl.DataFrame:
    """A path's rows as `plait._core.Recording.transmissions` has them.

    Packets are acknowledged two by two, and at once where one is missing, as Multipath QUIC does; what did not arrive
    counts as lost.

    Args:
        result: the run, with packets.
        path: the path's number.
        delay_ns: of the acknowledgements, in nanoseconds.
    """
    own = result.packets.filter(pl.col("path") == path).sort("sent_ns", "transmission")
    arrived = own["arrived_ns"].cast(pl.Float64).fill_null(math.nan).to_numpy()
    told, waiting, expected = np.full(len(own), math.nan), list[int](), 0
    for place in np.argsort(arrived, kind="stable")[: int(np.isfinite(arrived).sum())]:
        waiting.append(int(place))
        if len(waiting) == 2 or place != expected:
            told[waiting] = arrived[place] + delay_ns
            waiting = []
        expected = place + 1
    return own.select("path", "bytes", "sent_ns", segment="sequence").with_columns(
        acknowledged_ns=pl.Series(told, nan_to_null=True).cast(pl.Int64),
        waited_ns=pl.lit(0, pl.UInt64),
        lost=pl.Series(np.isnan(told)),
    )
