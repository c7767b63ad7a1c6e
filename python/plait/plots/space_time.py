"""Space-time diagram: every packet's transfer over its path, and its blocking at the receiver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from plait.plots.style import LOSS, NotebookFigure, colour, label, new_figure
from plait.results.result import Result

LANE = 0.075
"""Height of one row of blocked intervals, relative to the distance between sender and receiver."""
CHARACTER = 0.0078
"""Width of one character of a packet number, as a share of the time shown in a figure of one
column."""
DUPLICATE = 0.35
"""Opacity of a duplicate."""
LOST_AT = 0.45
"""Position of the cross of a lost packet: 0 is the receiver's line, 1 the sender's."""
NUMBER_HEIGHT = 0.13
"""Position of a packet's number: 0 is the receiver's line, 1 the sender's."""
BOX = {"boxstyle": "square,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}


def space_time(
    results: Result | Sequence[Result], window: tuple[float, float], *, title: str | None = None
) -> NotebookFigure:
    """Draw the packets sent within a window: a slanted line, then a bar while blocked.

    The line leads from sender to receiver. There is one row per path and one column per result,
    time from left to right. Dashed lines are retransmissions. A cross is a loss, and a pale line a
    duplicate.
    Numbers are places in the stream, counted from the first packet shown in the column. About 10 to
    60 packets are readable:

        result = plait.run("my-links.toml", "daps", packets=True)
        plait.plots.space_time(result, (10.0, 10.1)).savefig("schedule.png")

    Args:
        results: a run with ``packets=True``, or several of one scenario, such as a
            `plait.Comparison`.
        window: seconds from and to.
        title: title above the figure; by default the scenario (and the scheduler of a single
            result).

    Raises:
        NotRecordedError: a run did not record packets.
        ValueError: no packet was sent within the window.
    """
    runs = [results] if isinstance(results, Result) else list(results)
    shown = [sent_within(one, window) for one in runs]
    names = runs[0].path_names
    end = max(
        one.select(pl.max_horizontal(pl.col("end_ns", "delivered_ns").max())).item() or 0 for one in shown
    )
    span = (0.0, max(window[1] - window[0], end / 1e9) * 1e3)
    cells = [[one.filter(pl.col("path") == index) for one in shown] for index in range(len(names))]
    lanes = [[lanes_of(packets) for packets in row] for row in cells]
    depths = [max((lane for column in row for lane in column), default=-1) + 1 for row in lanes]
    heights = [1.25 + LANE * depth for depth in depths]
    figure, panels = new_figure(
        columns=len(runs),
        rows=len(names),
        width=9.6,
        height=1.1 + (1.9 if len(runs) == 1 else 1.5) * sum(heights),
        heights=heights,
    )
    for number, axes in enumerate(panels):
        index, column = divmod(number, len(runs))
        packets = cells[index][column]
        _draw_path(axes, packets, lanes[index][column], index, depths[index])
        _number(axes, packets, int(shown[column]["sequence"].to_numpy().min()), span, len(runs))
        named = f"path “{names[index]}”"
        label(axes, title=named if len(runs) == 1 else f"{runs[column].scheduler}: {named}")
        axes.set_xlim(span[0] - 0.01 * (span[1] - span[0]), span[1] + 0.02 * (span[1] - span[0]))
        if column > 0:
            axes.set_yticklabels([])
        if index < len(names) - 1:
            axes.set_xticklabels([])
        else:
            label(axes, x=f"time after {window[0]:g} s (ms)")
    figure.legend(handles=_legend(shown), loc="outside upper right", ncols=4, fontsize=8.5, frameon=False)
    single = f"{runs[0].scenario}: {runs[0].scheduler}" if len(runs) == 1 else runs[0].scenario
    figure.suptitle(title or single, fontsize=10.5, x=0.01, ha="left")
    return figure


def sent_within(result: Result, window: tuple[float, float]) -> pl.DataFrame:
    """Return the packets sent within the window, times in nanoseconds after its start."""
    start, end = (round(value * 1e9) for value in window)
    packets = result.packets.filter(pl.col("sent_ns").is_between(start, end, closed="left"))
    if packets.is_empty():
        message = f"no packet was sent between {window[0]:g} s and {window[1]:g} s"
        raise ValueError(message)
    shifted = [pl.col(name) - start for name in ("sent_ns", "arrived_ns", "delivered_ns", "end_ns")]
    return with_ends(packets).sort("sent_ns", "sequence").with_columns(shifted)


def with_ends(packets: pl.DataFrame) -> pl.DataFrame:
    """Add a column `end_ns`: the arrival, also of a duplicate; null for a lost packet."""
    # Folders of older versions do not distinguish duplicates from lost packets.
    ends = [name for name in ("arrived_ns", "duplicate_ns") if name in packets.columns]
    return packets.with_columns(end_ns=pl.coalesce(ends))


def _draw_path(axes: Axes, packets: pl.DataFrame, lanes: Sequence[int], index: int, depth: int) -> None:
    bottom = -LANE * (depth + 0.5)
    axes.set_ylim(bottom - 0.05, 1.08)
    axes.set_yticks([1, 0], ["sender", "receiver"])
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    for line in (0, 1):
        axes.axhline(line, color="#555555", linewidth=1.0, zorder=1)
    for row, lane in zip(packets.iter_rows(named=True), lanes, strict=True):
        sent = row["sent_ns"] / 1e6
        dashes = (0, (4, 1.5)) if row["retransmission"] else "-"
        if row["end_ns"] is None:
            reach = typical_way(packets) * (1 - LOST_AT)
            axes.plot([sent, sent + reach], [1, LOST_AT], color=LOSS, linestyle=dashes, linewidth=1.0)
            axes.plot([sent + reach], [LOST_AT], marker="x", color=LOSS, markersize=6, markeredgewidth=1.6)
            continue
        arrived = row["end_ns"] / 1e6
        pale = DUPLICATE if row["arrived_ns"] is None else 1.0
        axes.plot(
            [sent, arrived],
            [1, 0],
            color=colour(index),
            linestyle=dashes,
            linewidth=1.1,
            alpha=pale,
            zorder=2,
        )
        if row["delivered_ns"] is not None and row["delivered_ns"] > row["arrived_ns"]:
            level = blocked_level(lane)
            delivered = row["delivered_ns"] / 1e6
            axes.plot([arrived, arrived], [0, level], color=colour(index), linewidth=0.5, alpha=0.5, zorder=1)
            axes.plot(
                [arrived, delivered],
                [level, level],
                color=colour(index),
                linewidth=3.2,
                solid_capstyle="butt",
                alpha=0.55,
            )
            axes.plot([delivered], [level], marker="|", color=colour(index), markersize=5)
        else:
            axes.plot([arrived], [0], marker="o", color=colour(index), markersize=2.8, alpha=pale, zorder=3)


def typical_way(packets: pl.DataFrame) -> float:
    """Return the median milliseconds from sending to arrival; 5 ms if nothing arrived."""
    way = packets.select((pl.col("arrived_ns") - pl.col("sent_ns")).median()).item()
    return 5.0 if way is None else float(way) / 1e6


def _number(axes: Axes, packets: pl.DataFrame, first: int, span: tuple[float, float], columns: int) -> None:
    """Write each packet's number at its arrival (or loss), unless it would overlap another one."""
    character = CHARACTER * columns * (span[1] - span[0])
    way = typical_way(packets)
    right_edge = -np.inf
    arrivals = packets.with_columns(
        (pl.col("end_ns").fill_null(pl.col("sent_ns") + round(way * 1e6))).alias("end")
    )
    for row in arrivals.sort("end").iter_rows(named=True):
        number = str(row["sequence"] - first)
        sent, end = row["sent_ns"] / 1e6, row["end"] / 1e6
        at = end - NUMBER_HEIGHT * (end - sent) if row["end_ns"] is not None else sent + (1 - LOST_AT) * way
        left = at - character * len(number) / 2
        if left < right_edge:
            continue
        right_edge = left + character * (len(number) + 0.9)
        height = NUMBER_HEIGHT if row["end_ns"] is not None else 0.36
        axes.text(
            at, height, number, fontsize=7.5, ha="center", va="center", color="#222222", zorder=4, bbox=BOX
        )


def blocked_level(lane: int) -> float:
    """Return the position of a row of blocked intervals; 0 is the receiver's line."""
    return -LANE * (lane + 1)


def lanes_of(packets: pl.DataFrame) -> list[int]:
    """Return for each packet the row in which its blocked interval overlaps no other one.

    Rows lie below the receiver's line. A packet that was not blocked has −1.
    """
    ends: list[int] = []
    lanes = []
    for row in packets.iter_rows(named=True):
        arrived, delivered = row["arrived_ns"], row["delivered_ns"]
        if arrived is None or delivered is None or delivered <= arrived:
            lanes.append(-1)
            continue
        free = next((lane for lane, end in enumerate(ends) if end <= arrived), len(ends))
        if free == len(ends):
            ends.append(delivered)
        else:
            ends[free] = delivered
        lanes.append(free)
    return lanes


def _legend(shown: Sequence[pl.DataFrame]) -> list[Line2D]:
    """Return the legend; retransmissions and losses only if the diagram has some."""
    grey = "#555555"
    lines = [Line2D([], [], color=grey, linewidth=1.1, marker="o", markersize=2.8, label="packet")]
    if any(one["retransmission"].any() for one in shown):
        lines.append(
            Line2D([], [], color=grey, linewidth=1.1, linestyle=(0, (4, 1.5)), label="retransmission")
        )
    if any(one["arrived_ns"].null_count() > one["end_ns"].null_count() for one in shown):
        lines.append(Line2D([], [], color=grey, linewidth=1.1, alpha=DUPLICATE, label="duplicate"))
    if any(one["end_ns"].null_count() for one in shown):
        lines.append(Line2D([], [], color=LOSS, linewidth=1.0, marker="x", label="lost"))
    lines.append(Line2D([], [], color=grey, linewidth=3.2, alpha=0.55, label="blocked at the receiver"))
    return lines
