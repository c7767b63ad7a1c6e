"""Charts of runs: distributions of delays, levels over time, reasons for path choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from plait.reports.chart import Chart, Floats, axis, distribution, packed, rows, thinned
from plait.results.delays import delays
from plait.results.reasons import verdicts
from plait.results.result import NotRecordedError, Result

MOST_POINTS = 2000
"""Maximum number of points of a curve over time."""
POINTS_IN_ALL = 120_000
"""Maximum number of points over time of a page; with many runs each curve has fewer."""
RATE_WINDOWS = 200
"""Number of time spans for the average of a throughput."""
PANEL = 170
"""Height of one of several stacked panels, in pixels."""
RARE = 0.0005
"""Verdicts with a smaller share of a run's decisions are not drawn."""
LEVELS: dict[str, tuple[str, str]] = {
    "cwnd_packets": ("congestion window", "packets"),
    "srtt_ns": ("smoothed round-trip time", "ms"),
    "in_flight_packets": ("in flight", "packets"),
    "queued_packets": ("assigned, not sent", "packets"),
    "link_queue_packets": ("queue of the links", "packets"),
    "arrived_bytes": ("throughput", "Mbit/s"),
}
"""Levels of each path over time: the table's column, its name, its unit."""


def recorded(results: Sequence[Result], table: Callable[[Result], pl.DataFrame]) -> list[pl.DataFrame] | None:
    """Return a table of all runs; None if a run lacks it, or if all are empty."""
    try:
        frames = [table(result) for result in results]
    except NotRecordedError:
        return None
    return None if all(frame.is_empty() for frame in frames) else frames


def delay_charts(
    group: str, results: Sequence[Result], places: Sequence[int], names: Sequence[str]
) -> list[Chart]:
    """Return distributions of application delay and blocking time.

    `places` are the schedulers' indices, `names` the runs'.
    """
    if recorded(results, lambda result: result.packets) is None:
        return []
    titles = {"app-delay": "application delay (ms)", "blocking": "blocking time (ms)"}
    charts: list[Chart] = [
        {
            "id": f"{group}-{name}",
            "height": 340,
            "layout": {
                "xaxis": {"title": {"text": title}, "rangemode": "tozero"},
                "yaxis": {"title": {"text": "share of packets (%)"}, "range": [0, 101]},
            },
            "traces": [],
            "choices": {"scale": {"log": {"xaxis.type": "log", "xaxis.rangemode": "normal"}}},
        }
        for name, title in titles.items()
    ]
    for result, place, name in zip(results, places, names, strict=True):
        for chart, values in zip(charts, delays(result).values(), strict=True):
            if len(values) == 0:
                continue
            x, y = distribution(values)
            chart["traces"].append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": name,
                    "scheduler": place,
                    "x": packed(x),
                    "y": packed(y * 100),
                    "hovertemplate": "%{y:.1f} % of packets: at most %{x:.2f} ms",
                }
            )
    return charts


def buffer_chart(
    group: str, results: Sequence[Result], places: Sequence[int], names: Sequence[str]
) -> Chart | None:
    """Return the number of packets in the receive buffer over time."""
    frames = recorded(results, lambda result: result.connection_series)
    if frames is None:
        return None
    most = _most_points(len(results))
    traces = []
    for name, place, frame in zip(names, places, frames, strict=True):
        x, y = thinned(
            frame["time_ns"].to_numpy() / 1e9, frame["buffer_packets"].to_numpy().astype(float), most
        )
        traces.append(_level(name, place, x, y, "packets", "hv"))
    return {
        "id": f"{group}-buffer",
        "height": 320,
        "layout": {
            "xaxis": {"title": {"text": "time (s)"}},
            "yaxis": {"title": {"text": "packets waiting"}, "rangemode": "tozero"},
        },
        "traces": traces,
        "choices": {},
    }


def level_chart(
    group: str, results: Sequence[Result], places: Sequence[int], names: Sequence[str]
) -> Chart | None:
    """Return window, round-trip time, queues and throughput of paths over time, one at a time."""
    frames = recorded(results, lambda result: result.path_series)
    if frames is None:
        return None
    paths = results[0].path_names
    most = _most_points(len(results) * len(paths) * len(LEVELS))
    traces = []
    for name, place, frame in zip(names, places, frames, strict=True):
        for path in range(len(paths)):
            own = frame.filter(pl.col("path") == path)
            for column, (_, unit) in LEVELS.items():
                known = own.select("time_ns", column).drop_nulls()
                if known.is_empty():
                    continue
                x, y = known["time_ns"].to_numpy() / 1e9, known[column].to_numpy().astype(float)
                x, y = _rates(x, y) if unit == "Mbit/s" else (x, y / 1e6 if unit == "ms" else y)
                x, y = thinned(x, y, most)
                trace = _level(name, place, x, y, unit, "linear" if unit == "Mbit/s" else "hv")
                traces.append(trace | {"yaxis": axis("y", path), "only": {"level": column}})
    height = 70 + PANEL * len(paths)
    layout = rows([f"path “{name}”" for name in paths], x="time (s)", pixels=height)
    for path in range(len(paths)):
        layout[f"yaxis{path + 1 if path else ''}"]["rangemode"] = "tozero"
    titles = {
        column: {f"yaxis{path + 1 if path else ''}.title.text": unit for path in range(len(paths))}
        for column, (_, unit) in LEVELS.items()
    }
    return {
        "id": f"{group}-levels",
        "height": height,
        "layout": layout,
        "traces": traces,
        "choices": {"level": titles},
    }


def verdict_chart(
    group: str, results: Sequence[Result], places: Sequence[int], names: Sequence[str]
) -> Chart | None:
    """Return the shares of decisions that chose a path, or that rejected it by reason."""
    frames = recorded(results, lambda result: result.decision_paths)
    if frames is None:
        return None
    paths = results[0].path_names
    meanings = {one["name"]: one["meaning"] for one in verdicts()}
    shares = [frame["verdict"].value_counts(normalize=True, name="share") for frame in frames]
    found = {name for one in shares for name, share in one.iter_rows() if share >= RARE}
    order = [name for name in meanings if name in found]
    traces = []
    for name, place, frame in zip(names, places, frames, strict=True):
        counts = frame.group_by("path", "verdict").len()
        decisions = max(1, frame["decision"].n_unique())
        for path in range(len(paths)):
            own = dict(counts.filter(pl.col("path") == path).select("verdict", "len").iter_rows())
            traces.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": name,
                    "scheduler": place,
                    "y": [_words(name) for name in order],
                    "x": packed([100 * own.get(name, 0) / decisions for name in order]),
                    "text": [meanings[name] for name in order],
                    "textposition": "none",
                    "yaxis": axis("y", path),
                    "hovertemplate": "%{x:.1f} % of decisions: %{text}",
                }
            )
    height = 70 + len(paths) * (40 + len(order) * (12 + 8 * len(results)))
    layout = rows([f"path “{name}”" for name in paths], x="share of the decisions (%)", pixels=height)
    for path in range(len(paths)):
        layout[f"yaxis{path + 1 if path else ''}"]["autorange"] = "reversed"
    layout |= {"barmode": "group", "bargap": 0.25}
    return {"id": f"{group}-verdicts", "height": height, "layout": layout, "traces": traces, "choices": {}}


def decision_rows(results: Sequence[Result]) -> list[tuple[str, list[int]]]:
    """Return the number of decisions of each kind by run; empty if they are not recorded."""
    frames = recorded(results, lambda result: result.decisions)
    if frames is None:
        return []
    counts = [dict(frame["decision"].value_counts().iter_rows()) for frame in frames]
    names = sorted({name for one in counts for name in one})
    return [(name, [one.get(name, 0) for one in counts]) for name in names]


def _most_points(curves: int) -> int:
    return max(200, min(MOST_POINTS, POINTS_IN_ALL // curves))


def _rates(x: Floats, arrived: Floats) -> tuple[Floats, Floats]:
    """Return Mbit/s of arrived data, averaged over spans of time, at the end of each span."""
    ends = np.unique(np.linspace(0, len(x) - 1, RATE_WINDOWS + 1).astype(int))
    if len(ends) < 2:
        return x[:0], arrived[:0]
    return x[ends[1:]], np.diff(arrived[ends]) * 8e-6 / np.diff(x[ends])


def _level(name: str, place: int, x: Floats, y: Floats, unit: str, shape: str) -> Chart:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "scheduler": place,
        "x": packed(x),
        "y": packed(y),
        "line": {"shape": shape, "width": 1.3, "dash": "solid"},
        "hovertemplate": f"%{{y:.4~g}} {unit} at %{{x:.3f}} s",
    }


def _words(verdict: str) -> str:
    return verdict.replace("-", " ")
