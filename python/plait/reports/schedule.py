"""Single packets in space and time: windows of each run, packed for the page's script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from plait.plots.space_time import lanes_of, with_ends
from plait.reports.chart import packed
from plait.reports.series import recorded
from plait.results.delays import warmup_ns
from plait.results.result import Result

MOST_PACKETS = 1200
"""Maximum number of a run's transmissions in a window."""
SHOWN_AT_FIRST = 45
"""Number of transmissions in the initial view of a window, before a reader zooms."""
KINDS = ("original", "retransmission", "reinjection")


def schedule(group: str, results: Sequence[Result], places: Sequence[int]) -> dict[str, Any] | None:
    """Return the space-time diagram of one scenario's runs, with equal windows of time.

    The result is None without packets.
    """
    frames = recorded(results, lambda result: result.packets)
    if frames is None:
        return None
    frames = [_fates(frame.sort("sent_ns", "sequence")) for frame in frames]
    sent = [frame["sent_ns"].to_numpy() for frame in frames]
    lead = max(_lead(frame) for frame in frames)
    windows: list[dict[str, Any]] = []
    for name, start in _moments(results, frames):
        end = _end(sent, start - lead, MOST_PACKETS)
        if any(window["start_ns"] == start for window in windows):
            continue
        windows.append(
            {
                "name": f"{name}: {start / 1e9:.3f} to {end / 1e9:.3f} s",
                "start_ns": start,
                "span_ms": (end - start) / 1e6,
                "shown_ms": max(_end(sent, start, SHOWN_AT_FIRST) - start, 1.2 * lead) / 1e6,
                "runs": [_packets(frame, start, lead, end, len(results[0].path_names)) for frame in frames],
            }
        )
    return {
        "id": f"{group}-schedule",
        "paths": results[0].path_names,
        "kinds": KINDS,
        "schedulers": list(places),
        "windows": windows,
    }


def _moments(results: Sequence[Result], frames: Sequence[pl.DataFrame]) -> list[tuple[str, int]]:
    """Return the starts of windows: run start, middle packet, longest wait after the warm-up."""
    known = [frame for frame in frames if not frame.is_empty()]
    first = min(frame["sent_ns"].item(0) for frame in known)
    # The middle of the packets, not of the time: a transfer on real paths may pause for most of it.
    middle = int(np.median(np.concatenate([frame["sent_ns"].to_numpy() for frame in known])))
    moments = [("middle", middle)]
    waits = [
        (row["blocked_ns"], row["arrived_ns"] - row["sent_ns"], row["sent_ns"], result.scheduler)
        for result, frame in zip(results, frames, strict=True)
        for row in frame.filter(pl.col("delivered_ns") >= warmup_ns(result))
        .sort("blocked_ns", "sent_ns", descending=[True, False])
        .head(1)
        .iter_rows(named=True)
    ]
    if waits:
        blocked, way, start, scheduler = max(waits)
        if blocked > 0:
            moments.append((f"longest wait ({scheduler})", max(int(first), int(start - way // 4))))
    return [*moments, ("start", int(first))]


def _end(sent: Sequence[Any], start: int, most: int) -> int:
    """Return the time before which every run sends at most `most` packets from `start` on."""
    ends = [
        times[at] for times in sent for at in [int(np.searchsorted(times, start)) + most] if at < len(times)
    ]
    last = max(int(times[-1]) for times in sent if len(times)) + 1
    return max(start + 1, int(min(ends, default=last)))


def _lead(frame: pl.DataFrame) -> int:
    """Return the longest of the paths' median one-way delays in nanoseconds.

    Packets that are sent this long before a window still appear in it.
    """
    ways = (
        frame.group_by("path")
        .agg(way=(pl.col("arrived_ns") - pl.col("sent_ns")).median())["way"]
        .drop_nulls()
    )
    return 0 if ways.is_empty() else int(max(ways))


def _fates(frame: pl.DataFrame) -> pl.DataFrame:
    """Add columns `end_ns` and `fate`: 0 arrived, 1 a duplicate, 2 lost."""
    ended = with_ends(frame)
    duplicate, lost = pl.col("arrived_ns").is_null(), pl.col("end_ns").is_null()
    return ended.with_columns(fate=duplicate.cast(pl.UInt8) + lost)


def _packets(frame: pl.DataFrame, start: int, lead: int, end: int, paths: int) -> dict[str, Any]:
    """Return the packets from `lead` before a window to its end, in ms after its start.

    The result also has their rows in the diagram.
    """
    shown = frame.filter(pl.col("sent_ns").is_between(start - lead, end, closed="left"))[:MOST_PACKETS]
    lanes = np.full(len(shown), -1)
    depths = []
    for path in range(paths):
        own = (shown["path"] == path).to_numpy()
        lanes[own] = lanes_of(shown.filter(pl.col("path") == path))
        depths.append(int(lanes[own].max(initial=-1)) + 1)
    # Folders of older versions do not distinguish reinjections.
    copies = shown["reinjection"] if "reinjection" in shown.columns else shown["retransmission"] & False
    kinds = np.where(copies.to_numpy(), 2, shown["retransmission"].to_numpy().astype(int))
    times = {
        name: packed(
            (shown[f"{column}_ns"] - start).cast(pl.Float64).fill_null(float("nan")).to_numpy() / 1e6
        )
        for name, column in (("sent", "sent"), ("arrived", "end"), ("delivered", "delivered"))
    }
    return {
        "sequence": packed(shown["sequence"], "u4"),
        "path": packed(shown["path"], "u1"),
        "kind": packed(kinds, "u1"),
        "fate": packed(shown["fate"], "u1"),
        "lane": packed(lanes, "i2"),
        "depths": depths,
        **times,
    }
