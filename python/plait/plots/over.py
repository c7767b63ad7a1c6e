"""A metric over a parameter of the scenario, one curve per scheduler, with confidence bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from plait.plots.curve import draw_curve
from plait.plots.style import label, legend, new_figure
from plait.statistics.estimate import Estimate


def over(
    places: Sequence[float],
    curves: Mapping[str, Sequence[Estimate]],
    *,
    x: str,
    y: str,
    scale: float = 1.0,
    log: bool = False,
    marks: Mapping[str, float] | None = None,
) -> Figure:
    """Draw estimates over a parameter; the band is the 95 % confidence interval.

    Args:
        places: the parameter's values.
        curves: one estimate per place, by scheduler.
        x: the parameter's name and unit.
        y: the metric's name and unit after scaling.
        scale: factor from the metric's unit to the axis's.
        log: logarithmic axis of the parameter.
        marks: values of the metric that a horizontal line marks, by the text at the line.
    """
    figure, (axes,) = new_figure(height=3.8)
    for index, (name, estimates) in enumerate(curves.items()):
        draw_curve(axes, places, estimates, index=index, name=name, scale=scale)
    for text, value in (marks or {}).items():
        axes.axhline(value * scale, color="#777777", linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        axes.text(
            0.995,
            value * scale,
            text,
            transform=axes.get_yaxis_transform(),
            fontsize=8,
            ha="right",
            va="bottom",
        )
    if log:
        axes.set_xscale("log", base=2)
        axes.set_xticks(list(places))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.tick_params(axis="x", labelrotation=45)
    elif len(places) <= 16:
        axes.set_xticks(list(places))
    axes.set_ylim(bottom=0)
    axes.margins(y=0.12)
    label(axes, x=x, y=y)
    legend(figure, axes)
    return figure
