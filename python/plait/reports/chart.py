"""Common parts of charts: numbers in few bytes, curves in few points, axes.

A *chart* is a table that the page's script turns into a Plotly figure:

- `id`, `height` (pixels), `layout`: the figure's layout without colours.
- `traces`: Plotly's traces without colours. The index `scheduler` determines a trace's colour and
  line, and hides it. `only` has the reader's choices with which the trace is drawn:
  ``{"metric": "goodput_bps"}``.
- `choices`: changes of the layout by choice:
  ``{"metric": {"goodput_bps": {"xaxis.title.text": "…"}}}``.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.plots.style import COLOURS, line

Chart = dict[str, Any]
Floats = NDArray[np.float64]
DARK = ("#4FA8E8", "#F2B33D", "#2EC79A", "#E7A3C9", "#9ADBFA", "#FF8F57", "#A6ADB8", "#E0D54A")
"""The colours of `plots.style`, lighter, for a dark page."""
GAP = 42
"""Pixels between two panels."""
TAIL = 0.95
"""Share from which on the points of a distribution are denser."""


def colours() -> dict[str, list[str]]:
    """Return colours and dashes by scheduler, for a light and a dark page."""
    return {
        "light": list(COLOURS),
        "dark": list(DARK),
        "dashes": [_dash(line(index)) for index in range(4 * len(COLOURS))],
    }


def _dash(style: Any) -> str:
    """Convert a line style of Matplotlib to Plotly."""
    return "solid" if style == "-" else ",".join(f"{round(length * 1.8, 1)}px" for length in style[1])


def packed(values: ArrayLike, kind: str = "f4") -> dict[str, str]:
    """Encode numbers in Plotly's binary form; `kind` is NumPy's name of their type."""
    data = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return {"dtype": kind, "bdata": base64.b64encode(data.tobytes()).decode()}


def distribution(values: ArrayLike, most: int = 440) -> tuple[Floats, Floats]:
    """Return a distribution's curve in at most `most` points: values, and cumulative shares.

    Few values are all drawn. Many values are drawn as quantiles, with denser points at the tail.
    """
    data = np.sort(np.asarray(values, dtype=np.float64))
    if 2 * len(data) <= most:
        return np.repeat(data, 2), _steps(len(data))
    shares = np.concatenate(
        [np.linspace(0, TAIL, most * 2 // 3, endpoint=False), np.linspace(TAIL, 1, most // 3)]
    )
    return np.quantile(data, shares), shares


def _steps(count: int) -> Floats:
    """Return the shares below and at each of `count` sorted values."""
    shares = np.arange(count + 1) / count
    return np.repeat(shares, 2)[1:-1]


def thinned(x: Floats, y: Floats, most: int) -> tuple[Floats, Floats]:
    """Return about `most` points of a curve, with the minimum and maximum of every section."""
    if len(x) <= most:
        return x, y
    edges = np.linspace(0, len(x), max(1, most // 2) + 1).astype(int)[:-1]
    order = np.arange(len(x))
    stretch = np.searchsorted(edges, order, side="right") - 1
    by_value = np.lexsort((order, y, stretch))
    last = np.append(edges[1:], len(x)) - 1
    kept = np.unique(np.concatenate([[0, len(x) - 1], by_value[edges], by_value[last]]))
    return x[kept], y[kept]


def rows(names: Sequence[str], *, x: str, pixels: float) -> dict[str, Any]:
    """Return a layout of stacked panels with titles and one x axis; `pixels` is its height."""
    gap = GAP / pixels
    height = (1 - gap * (len(names) - 1)) / len(names)
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": x}, "anchor": axis("y", len(names) - 1)},
        "annotations": [],
    }
    for index, name in enumerate(names):
        top = 1 - index * (height + gap)
        layout[f"yaxis{index + 1 if index else ''}"] = {
            "domain": [max(0.0, top - height), top],
            "title": {"text": ""},
        }
        layout["annotations"].append(
            {
                "text": name.replace("<", "&lt;"),
                "xref": "paper",
                "yref": "paper",
                "x": 0,
                "y": top,
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
            }
        )
    return layout


def axis(letter: str, index: int) -> str:
    """Return Plotly's name of a panel's axis."""
    return f"{letter}{index + 1 if index else ''}"
