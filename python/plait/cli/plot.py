"""`plait plot`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plait.cli.options import LABEL, WHERE, conditions, excludes, labels_of, needs
from plait.cli.output import say
from plait.support.machine import command_line
from plait.support.widths import WIDTHS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from plait.sweep import Dataset

KINDS = {
    "curves": ("x", "log"),
    "differences": ("x", "log", "baseline", "percent"),
    "cdf": ("log", "packets"),
    "box": ("x", "log", "packets"),
    "heatmap": ("x", "y", "baseline", "limit"),
    "animation": ("window", "seconds"),
}
"""The kinds of figures, with the options that each takes beside those of all."""
DEFAULT = "curves"
NEEDED = {"curves": ("x",), "heatmap": ("x", "y"), "animation": ("window",)}
"""The options that a kind needs."""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    default=DEFAULT,
    show_default=True,
    help="curves: means over --x. differences: gains over --baseline, in pairs of runs; "
    "also over --x. cdf, box: distributions over points, seeds or --packets. heatmap: over --x and --y. "
    "animation: the packets of a --window, in slow motion.",
)
@click.option("--x", metavar="VARIABLE", help="The variable of the sweep along the axis.")
@click.option("--y", metavar="VARIABLE", help="The second variable, of heat maps.")
@click.option(
    "--metric",
    metavar="NAME",
    help="A metric such as goodput or app_delay_ms.p95; not for animations.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="A file that ends in .pdf, .svg or .png; PDF and SVG have real fonts (Type 42). Animations: .svg, .gif or "
    ".mp4, which needs ffmpeg.",
)
@WHERE
@LABEL
@click.option("--schedulers", metavar="NAME,…", help="Only these, in this order; default: all.")
@click.option(
    "--baseline",
    metavar="SCHEDULER",
    help="The scheduler to compare with; default: the first for differences, none for heat maps.",
)
@click.option(
    "--limit",
    type=click.FloatRange(0, min_open=True),
    metavar="PERCENT",
    help="Colours of gains end at this amount (heatmap with --baseline); default: the largest.",
)
@click.option("--percent", is_flag=True, help="Print differences in percent of the baseline's mean.")
@click.option(
    "--packets", is_flag=True, help="The delays of all packets after the warm-up (cdf, box; results)."
)
@click.option(
    "--width",
    type=click.Choice(list(WIDTHS)),
    default="column",
    show_default=True,
    help="The width in a paper with two columns: 3.33 or 7 inches (ACM); ieee-column, ieee-page: 3.5 or 7.16.",
)
@click.option(
    "--window", metavar="FROM,TO", help="Seconds of the run between which the packets were sent (animation)."
)
@click.option(
    "--seconds",
    type=click.FloatRange(1, 600),
    metavar="N",
    help="Duration of the animation; default: 10.",
)
@click.option("--x-label", metavar="TEXT", help="The label of the horizontal axis.")
@click.option("--log", is_flag=True, help="Logarithmic axis of the variable, or of the metric (cdf, box).")
@click.option("--caption", is_flag=True, help="Write plan, runs and command below the figure.")
def plot(folder: Path, kind: str, output: Path, caption: bool, **options: Any) -> None:
    """Draw a metric of a sweep's dataset, or of results, in FOLDER, as papers print it.

    \b
    plait plot results/plan --x rtt --metric goodput -o curves.pdf
    plait plot results/plan --kind differences --metric goodput --percent -o gains.pdf
    plait plot results/plan --kind heatmap --x rtt --y buffer --metric goodput --baseline blest -o map.pdf
    plait plot out --kind cdf --metric app_delay_ms --packets -o delays.pdf     out: plait compare --out
    plait plot out --kind animation --window 1.0,1.05 -o schedule.svg

    Intervals are of 95 %. Paired runs have the same scenario, losses and delays. Up to three curves
    share a panel. More curves have a panel each.
    """  # noqa: D301  click wants the character, not its escape
    for name, value in options.items():
        if value and name not in (*KINDS[kind], *_common(kind)):
            kinds = ", ".join(one for one, given in KINDS.items() if name in given)
            kinds = kinds or ", ".join(one for one in KINDS if one != "animation")
            option = "label" if name == "labels" else name.replace("_", "-")
            message = f"--{option} goes with --kind {kinds}; got --kind {kind}"
            raise click.UsageError(message)
    if kind != "animation" and not options["metric"]:
        message = f"--kind {kind} needs --metric"
        raise click.UsageError(message)
    for name in NEEDED.get(kind, ()):
        if not options[name]:
            if kind == "animation":
                message = "--kind animation needs --window FROM,TO, in seconds"
                raise click.UsageError(message)
            said = f"{kind} (the default)" if kind == DEFAULT else kind
            others = ", ".join(one for one in KINDS if one != "animation" and name not in NEEDED.get(one, ()))
            message = f"--kind {said} needs --{name}, a variable of a sweep; without --{name}: {others}"
            raise click.UsageError(message)
    needs("--limit", options["limit"], "--baseline", options["baseline"])
    if kind == "differences":
        needs("--log", options["log"], "--x", options["x"])
    from plait import plots

    options["schedulers"] = [
        name.strip() for name in (options["schedulers"] or "").split(",") if name.strip()
    ]
    window, seconds, label = (options.pop(name) for name in ("window", "seconds", "x_label"))
    if kind == "animation":
        excludes("--kind animation", True, caption=caption)
        _animate(folder, output, options["schedulers"], window, seconds or 10.0)
        say(f"wrote {output}")
        return
    figure = _drawn(folder, kind, note=command_line() if caption else None, **options)
    for axes in (one for one in figure.axes if label and one.get_xlabel()):
        axes.xaxis.label.set_text(label)
    plots.save(figure, output)
    say(f"wrote {output}")


def _common(kind: str) -> tuple[str, ...]:
    """Return the options of every kind; an animation has no metric and one width."""
    return (
        ("schedulers", "width")
        if kind == "animation"
        else ("metric", "schedulers", "where", "labels", "width", "x_label")
    )


def _animate(folder: Path, output: Path, schedulers: list[str], window: str, seconds: float) -> None:
    """Write the animation of each scheduler's first run in the folder."""
    from plait import plots
    from plait._core import ScenarioError
    from plait.results.recorded import read_results
    from plait.support.words import expected

    try:
        start, end = (float(part) for part in window.split(","))
    except ValueError:
        message = f"--window {window!r}: expected FROM,TO in seconds, such as 1.0,1.05"
        raise click.UsageError(message) from None
    first = {one.scheduler: one for one in reversed(read_results(folder))}
    known = list(reversed(first))
    for name in schedulers:
        if name not in first:
            message = f"scheduler {name!r}: unknown{expected(name, known)}"
            raise ScenarioError(message)
    try:
        plots.animate([first[name] for name in schedulers or known], (start, end), output, seconds=seconds)
    except ValueError as error:
        message = f"--window {window}: {error}"
        raise click.UsageError(message) from None


def _say_slices(dataset: Dataset, variables: list[str]) -> None:
    """Say which variables of the axes have slices instead of values, and why."""
    from plait.analysis.regions import slices_note

    names = list(dict.fromkeys(variables))
    note = slices_note(dataset.pairs(*names), names, len(variables))
    if note is not None:
        say(note)


def _drawn(
    folder: Path,
    kind: str,
    *,
    x: str | None,
    y: str | None,
    metric: str,
    schedulers: list[str],
    where: Sequence[str],
    labels: Sequence[str],
    baseline: str | None,
    limit: float | None,
    percent: bool,
    packets: bool,
    width: str,
    log: bool,
    note: str | None,
) -> Figure:
    from plait import plots
    from plait.results.recorded import read_results
    from plait.sweep import dataset_of

    style: dict[str, Any] = {"width": width, "note": note}
    excludes("--packets", packets, x=x, where=where, label=labels)
    if packets:
        draw = plots.cumulative if kind == "cdf" else plots.boxes
        return draw(plots.spread_of_packets(read_results(folder), metric, schedulers), log=log, **style)
    dataset, over = dataset_of(folder).where(conditions(where)).labelled(labels_of(labels)), x or ""
    if kind in ("cdf", "box") and x is None:
        draw = plots.cumulative if kind == "cdf" else plots.boxes
        return draw(plots.spread_of(dataset, metric, schedulers), log=log, **style)
    style["schedulers"] = schedulers
    if kind == "differences" and x is None:
        return plots.paired_differences(dataset, metric, baseline=baseline or "", percent=percent, **style)
    if kind == "box":
        figure = plots.boxes_over(dataset, over, metric, log=log, **style)
    elif kind == "heatmap":
        figure = plots.heat_map(dataset, over, y or "", metric, baseline=baseline, limit=limit, **style)
    elif kind == "differences":
        style |= {"baseline": baseline or "", "percent": percent}
        figure = plots.difference_curves(dataset, over, metric, log=log, **style)
    else:
        figure = plots.sweep_curves(dataset, over, metric, log=log, **style)
    _say_slices(dataset, [name for name in (x, y) if name is not None])
    others = [name for name in dataset.varied if name not in (x, y)]
    if others and kind != "box":
        names = " and ".join(others)
        say(f"intervals also contain the effect of {names}; --where {others[0]}=VALUE takes one value")
    return figure
