"""The delays of single packets, from the recorded packets of a run."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plait.results.result import Result
from plait.scenarios.units import duration_ns

Floats = NDArray[np.float64]


def warmup_ns(result: Result) -> int:
    """Return the start of a run's metrics; 0 if it is unknown."""
    if result.scenario_json is None:
        return 0
    return duration_ns(json.loads(result.scenario_json).get("warmup", "0s"))


def delays(result: Result) -> dict[str, Floats]:
    """Return the delays in ms of packets delivered after the warm-up, by the names of metrics.

    These are application delay and blocking time.

    Raises:
        NotRecordedError: the run did not record packets.
    """
    packets = result.packets
    first = packets.group_by("sequence").agg(first_ns=pl.col("sent_ns").min())
    delivered = packets.filter(pl.col("delivered_ns") >= warmup_ns(result)).join(first, on="sequence")
    waited: Any = delivered["delivered_ns"] - delivered["first_ns"]
    blocked: Any = delivered["blocked_ns"]
    return {"app_delay_ms": waited.to_numpy() / 1e6, "blocking_ms": blocked.to_numpy() / 1e6}
