"""Animation of a space-time diagram: packets move along the paths in slow motion.

A file contains one drawing of `space_time`. A cover hides the part that lies in the future. In SVG,
the cover, the packets and the clock have SMIL animations; the other formats are frames of the same
drawing.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib import rc_context
from matplotlib.animation import AbstractMovieWriter, FFMpegWriter, PillowWriter
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from plait._core import ScenarioError
from plait.plots.space_time import (
    LOST_AT,
    blocked_level,
    lanes_of,
    sent_within,
    space_time,
    typical_way,
)
from plait.plots.style import LOSS, NotebookFigure, colour, real_fonts
from plait.results.result import Result
from plait.support.files import whole_file

FORMATS = ("svg", "gif", "mp4")
"""File formats of animations."""
FRAMES = 15
"""Frames per second of GIF and MP4."""
READINGS = 20
"""Readings of the clock per second of the animation, in SVG."""
REST = 1.5
"""Seconds at the end during which the whole diagram stays in view."""
RADIUS = 4.0
"""Radius of a moving packet, in points."""
RESOLUTION = 100
"""Dots per inch of a frame."""


@dataclass(frozen=True)
class Moving:
    """The way of a packet through the diagram.

    `times` are milliseconds after the window's start, in order; `heights` are the places at those
    times, in the coordinates of the diagram. The packet is visible from the first time to the last.
    """

    panel: int
    number: int
    colour: str
    times: tuple[float, ...]
    heights: tuple[float, ...]


def animate(
    results: Result | Sequence[Result],
    window: tuple[float, float],
    file: str | PathLike[str],
    *,
    seconds: float = 10.0,
    title: str | None = None,
) -> None:
    """Write the diagram of `space_time` as an animation, for slides.

    Packets move from sender to receiver, and stay there while they are blocked. The format follows
    from the file's ending: `.svg` needs no other file or program, `.gif` and `.mp4` have 15 frames
    per second. MP4 needs the program ffmpeg:

        result = plait.run("my-links.toml", "daps", packets=True)
        plait.plots.animate(result, (1.0, 1.05), "schedule.svg")

    Args:
        results: as for `space_time`.
        window: seconds from and to.
        file: the name of the file; it ends in ``.svg``, ``.gif`` or ``.mp4``.
        seconds: duration of the animation; then the whole diagram stays in view for 1.5 seconds.
        title: title above the figure, as for `space_time`.

    Raises:
        ScenarioError: the name has another ending, or ffmpeg is missing. OutputError: the file is
            not writable. NotRecordedError: a run did not record packets. ValueError: no packet was
            sent within the window.
    """
    file = Path(file)
    kind = file.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        message = f"{file}: no animation's name; expected one that ends in .{', .'.join(FORMATS)}"
        raise ScenarioError(message)
    if kind == "mp4" and shutil.which("ffmpeg") is None:
        message = f"{file}: MP4 needs the program ffmpeg, which is missing; expected .svg or .gif without it"
        raise ScenarioError(message)
    runs = [results] if isinstance(results, Result) else list(results)
    figure = space_time(runs, window, title=title)
    scene = Scene(figure, moving(runs, window), window[0], seconds)
    with whole_file(file) as temporary:
        if kind == "svg":
            temporary.write_text(scene.svg(), encoding="utf-8")
        else:
            scene.film(PillowWriter(fps=FRAMES) if kind == "gif" else FFMpegWriter(fps=FRAMES), temporary)


def moving(results: Sequence[Result], window: tuple[float, float]) -> list[Moving]:
    """Return the ways of all packets that the diagram of these results shows."""
    shown = [sent_within(one, window) for one in results]
    ways = []
    for index in range(len(results[0].path_names)):
        for column, packets in enumerate(shown):
            first = int(packets["sequence"].to_numpy().min())
            here = packets.filter(pl.col("path") == index)
            reach = typical_way(here) * (1 - LOST_AT)
            for row, lane in zip(here.iter_rows(named=True), lanes_of(here), strict=True):
                sent = row["sent_ns"] / 1e6
                lost = row["end_ns"] is None
                arrived = sent + reach if lost else row["end_ns"] / 1e6
                times: tuple[float, ...] = (sent, arrived)
                heights: tuple[float, ...] = (1.0, LOST_AT if lost else 0.0)
                if lane >= 0:
                    level = blocked_level(lane)
                    times, heights = (*times, arrived, row["delivered_ns"] / 1e6), (*heights, level, level)
                ways.append(
                    Moving(
                        index * len(results) + column,
                        row["sequence"] - first,
                        LOSS if lost else colour(index),
                        times,
                        heights,
                    )
                )
    return ways


class Scene:
    """A drawn diagram, with the packets that move through it."""

    def __init__(
        self, figure: NotebookFigure, packets: Sequence[Moving], start: float, seconds: float
    ) -> None:
        self.figure, self.packets, self.start, self.seconds = figure, packets, start, seconds
        self.span = max(time for one in packets for time in one.times)
        slower = seconds * 1e3 / self.span
        figure.suptitle(
            f"{figure.get_suptitle()}, {slower:.3g} times slower", fontsize=10.5, x=0.01, ha="left"
        )
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        self.panels: list[Axes] = figure.axes
        self.right = self.panels[0].get_xlim()[1]

    def clock(self, time: float) -> str:
        """Return the clock's text at a time in milliseconds after the window's start."""
        return f"{self.start + time / 1e3:.4f} s"

    def svg(self) -> str:
        """Return the diagram as SVG with SMIL animations that repeat."""
        still = io.StringIO()
        with real_fonts(), rc_context({"svg.hashsalt": "plait"}):
            self.figure.savefig(still, format="svg", metadata={"Date": None})
        parts = [*map(self._cover, self.panels), *map(self._packet, self.packets), *self._clock()]
        return still.getvalue().replace("</svg>", "\n".join(['<g id="animation">', *parts, "</g>\n</svg>"]))

    def film(self, writer: AbstractMovieWriter, file: Path) -> None:
        """Write the frames of the animation."""
        covers = [Rectangle((0, 0), 1, 1, facecolor="white", alpha=0.9, zorder=8) for _ in self.panels]
        for axes, cover in zip(self.panels, covers, strict=True):
            axes.add_patch(cover)
        spots = [
            self.panels[one.panel].plot(
                [], [], "o", color=one.colour, markersize=2 * RADIUS, markeredgecolor="white", zorder=9
            )[0]
            for one in self.packets
        ]
        clock = self.figure.text(0.01, 0.01, "", fontsize=9, family="monospace")
        last = round(self.seconds * FRAMES)
        with writer.saving(self.figure, str(file), RESOLUTION):
            for frame in range(last + round(REST * FRAMES)):
                now = min(frame / last, 1.0) * self.span
                for axes, cover in zip(self.panels, covers, strict=True):
                    low, high = axes.get_ylim()
                    cover.set_bounds(now, low, self.right - now if frame < last else 0, high - low)
                for spot, one in zip(spots, self.packets, strict=True):
                    visible = one.times[0] <= now < one.times[-1]
                    spot.set_data([now], [np.interp(now, one.times, one.heights)] if visible else [np.nan])
                clock.set_text(self.clock(now))
                writer.grab_frame()

    def _points(self, panel: int, x: float, y: float) -> tuple[float, float]:
        """Return a place of a panel's coordinates in points from the upper left corner."""
        across, up = self.panels[panel].transData.transform((x, y)) * 72 / self.figure.dpi
        return float(across), self.figure.get_figheight() * 72 - float(up)

    def _animation(self, name: str, values: Sequence[object], times: Sequence[float], more: str = "") -> str:
        """Return an animation; `times` are milliseconds after the window's start."""
        whole = self.seconds + REST
        shares = [time / self.span * self.seconds / whole for time in times]
        written = ";".join(f"{value:.2f}" if isinstance(value, float) else str(value) for value in values)
        keys = ";".join(f"{share:.7g}" for share in shares)
        return (
            f'<animate attributeName="{name}" values="{written}" keyTimes="{keys}" dur="{whole:g}s" '
            f'repeatCount="indefinite"{more}/>'
        )

    def _end(self) -> float:
        """Return the time at which the animation repeats."""
        return self.span * (self.seconds + REST) / self.seconds

    def _cover(self, axes: Axes) -> str:
        panel = self.panels.index(axes)
        low, high = axes.get_ylim()
        left, top = self._points(panel, 0, high)
        edge, bottom = self._points(panel, self.right, low)
        now, _ = self._points(panel, self.span, low)
        times = (0.0, self.span, self.span, self._end())
        xs = self._animation("x", (left, now, edge, edge), times)
        widths = self._animation("width", (edge - left, edge - now, 0.0, 0.0), times)
        return (
            f'<rect x="{edge:.2f}" y="{top:.2f}" width="0" height="{bottom - top:.2f}" fill="white" '
            f'fill-opacity="0.9">{xs}{widths}</rect>'
        )

    def _packet(self, one: Moving) -> str:
        places = [self._points(one.panel, *place) for place in zip(one.times, one.heights, strict=True)]
        first, last = places[0], places[-1]
        places = [first, *places, last]
        times = (0.0, *one.times, self._end())
        shown = self._animation(
            "visibility",
            ("hidden", "visible", "hidden", "hidden"),
            (0.0, one.times[0], one.times[-1], self._end()),
            ' calcMode="discrete"',
        )
        return (
            f'<circle class="packet" data-panel="{one.panel}" data-number="{one.number}" r="{RADIUS:g}" '
            f'fill="{one.colour}" stroke="white" visibility="hidden">'
            f"{self._animation('cx', [x for x, _ in places], times)}"
            f"{self._animation('cy', [y for _, y in places], times)}{shown}</circle>"
        )

    def _clock(self) -> list[str]:
        """Return the texts of the clock, one for each of its readings."""
        count = max(1, round(self.seconds * READINGS))
        x, y = 0.01 * self.figure.get_figwidth() * 72, 0.99 * self.figure.get_figheight() * 72
        texts = []
        for reading in range(count + 1):
            time, until = reading / count * self.span, (reading + 1) / count * self.span
            end = self._end()
            values, times = ["hidden", "visible", "hidden", "hidden"], [0.0, time, until, end]
            if reading == count:
                values, times = ["hidden", "visible", "visible"], [0.0, time, end]
            if reading == 0:
                values, times = values[1:], times[1:]
            shown = self._animation("visibility", values, times, ' calcMode="discrete"')
            texts.append(
                f'<text class="clock" x="{x:.2f}" y="{y:.2f}" font-family="monospace" font-size="9" '
                f'visibility="hidden">{self.clock(time)}{shown}</text>'
            )
        return texts
