"""The sender's knowledge of the packets of a simulated run: recordings of known links."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from plait.results.result import Result


def known_to_sender(result: Result, path: int, delay_ns: float) -> pl.DataFrame:
    """Return a path's rows in the form of `plait._core.Recording.transmissions`.

    As in Multipath QUIC, every second packet is acknowledged, and a packet after a gap immediately.
    Packets that did not arrive count as lost.

    Args:
        result: the run, with packets.
        path: the path's number.
        delay_ns: delay of the acknowledgements, in nanoseconds.
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
