"""Figures and numbers of the page on choosing a scheduler: buffers, round-trip ratios, loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from matplotlib.figure import Figure
from study import Answer, with_interval, written

import plait
from plait.plots.style import colour, label, legend, line, new_figure
from plait.runs.experiment import frame, grid
from plait.runs.run import Task
from plait.statistics.estimate import Estimate, change_of_mean, mean
from plait.support.pages import markdown
from studies.networks import FOLDER

SEEDS = range(1, 9)
BUFFERS = (32, 64, 128, 256, 512, 1024, 2048)
"""Receive buffers in kB."""
ROUND_TRIPS = (30, 45, 60, 90, 120, 180, 240)
"""Round-trip times of the second path in ms; the first one has 30."""
LOADS = (4, 8, 12, 15, 18, 22)
"""Mbit/s of blocks; the first path has 16 Mbit/s."""
BULK = ("lowest-rtt", "round-robin", "intelligent-delivery-delay", "lowest-rtt+rp", "lowest-rtt+bm")
BLOCKS = ("lowest-rtt", "round-robin", "intelligent-delivery-delay", "redundant")
ALONE = "first path alone"
SECOND_RTT = "path.lte.rtt"
METRICS = ("goodput_bps", "app_delay_ms.mean", "block_delay_ms.p95")


def answer() -> Answer:
    """Make the runs."""
    buffers = sweep("dsl-lte", "transport.receive_buffer", [f"{size}kB" for size in BUFFERS], BULK)
    ratios = sweep(
        "blocks", SECOND_RTT, [f"{time}ms" for time in ROUND_TRIPS], BLOCKS, {"path.dsl.rtt": "30ms"}
    )
    loads = sweep("blocks", "workload.rate", [f"{rate}Mbit" for rate in LOADS], BLOCKS)
    goodput, delay, block = METRICS
    figures = {
        "choosing-buffer": panels(
            BUFFERS,
            "receive buffer (kB)",
            [
                ("goodput (Mbit/s)", means(buffers, goodput, 1e-6)),
                ("application delay, mean (ms)", means(buffers, delay)),
            ],
            log=True,
        ),
        "choosing-ratio": panels(
            [time / ROUND_TRIPS[0] for time in ROUND_TRIPS],
            "round-trip time of the second path / of the first",
            [("95 % of the blocks are there within (ms)", means(ratios, block))],
        ),
    }
    tables = {
        "buffers": table(buffers, BUFFERS, "receive buffer (kB)", goodput, 1e-6, 1),
        "buffer delays": table(buffers, BUFFERS, "receive buffer (kB)", delay, 1.0, 0),
        "ratios": table(ratios, ROUND_TRIPS, "second path (ms)", block, 1.0, 0),
        "loads": table(loads, LOADS, "blocks (Mbit/s)", block, 1.0, 0),
    }
    links = [plait.PathModel("16Mbit", "25ms"), plait.PathModel("30Mbit", "60ms")]
    models = {
        "need": written(plait.min_receive_buffer_bytes(links) / 1000),
        "blocking": written(plait.max_blocking_ms(links)),
    }
    return Answer(tables, {**values(buffers, ratios, loads), **models}, figures)


Sweep = Mapping[str, Sequence[pl.DataFrame]]
"""The runs of all seeds, by scheduler, then by place."""


def sweep(
    name: str, key: str, places: Sequence[str], names: Sequence[str], fixed: Mapping[str, Any] | None = None
) -> Sweep:
    """Run a network with the values of one key, and its first path alone."""
    tasks: list[Task] = []
    for place in places:
        file, changes, labels = FOLDER / f"{name}.toml", {**(fixed or {}), key: place}, {"place": place}
        tasks += grid(plait.load(file, changes), names, SEEDS, labels, perturb=True)
        alone = {**labels, "scheduler": ALONE}
        tasks += grid(plait.load(file, changes, ["dsl"]), ["lowest-rtt"], SEEDS, alone, perturb=True)
    runs = frame(tasks, METRICS)
    return {
        scheduler: [runs.filter(scheduler=scheduler, place=place) for place in places]
        for scheduler in (*names, ALONE)
    }


def numbers(runs: pl.DataFrame, name: str, scale: float = 1.0) -> list[float]:
    """Return a metric of each run."""
    return [one * scale for one in runs[name].drop_nulls()]


def means(found: Sweep, name: str, scale: float = 1.0) -> dict[str, list[Estimate]]:
    """Return the means over the seeds."""
    return {key: [mean(numbers(runs, name, scale)) for runs in places] for key, places in found.items()}


def table(found: Sweep, places: Sequence[float], heading: str, name: str, scale: float, decimals: int) -> str:
    """Return a table of the means: a line per place."""
    columns = means(found, name, scale)
    lines = [
        [f"{place:g}", *(written(one[row].value, decimals) for one in columns.values())]
        for row, place in enumerate(places)
    ]
    names = [one if one == ALONE else f"`{one}`" for one in columns]
    return markdown([heading, *names], lines, ())


def values(buffers: Sweep, ratios: Sweep, loads: Sweep) -> dict[str, str]:
    """Return numbers for the sentences; keys are ``SWEEP PLACE SCHEDULER metric`` and similar."""
    made = {}
    sweeps = (
        (
            "buffer",
            buffers,
            BUFFERS,
            {"goodput": ("goodput_bps", 1e-6, 1), "delay": ("app_delay_ms.mean", 1.0, 0)},
        ),
        ("second", ratios, ROUND_TRIPS, {"block": ("block_delay_ms.p95", 1.0, 0)}),
        ("load", loads, LOADS, {"block": ("block_delay_ms.p95", 1.0, 0)}),
    )
    for title, found, places, metrics in sweeps:
        for word, (name, scale, decimals) in metrics.items():
            for scheduler, rows in found.items():
                for place, runs in zip(places, rows, strict=True):
                    key = f"{title} {place} {scheduler} {word}"
                    made[key] = written(mean(numbers(runs, name, scale)).value, decimals)
                    base = found["lowest-rtt"][places.index(place)]
                    change = change_of_mean(numbers(runs, name), numbers(base, name))
                    made[f"{key} change"] = "–" if change is None else with_interval(change, signed=True)
    return made


def panels(
    places: Sequence[float],
    x: str,
    curves: Sequence[tuple[str, Mapping[str, Sequence[Estimate]]]],
    *,
    log: bool = False,
) -> Figure:
    """Draw one panel per metric, a curve per scheduler, bands for confidence intervals."""
    figure, axes = new_figure(len(curves), width=9.6 if len(curves) > 1 else 7.2, height=4.0)
    for one, (y, found) in zip(axes, curves, strict=True):
        for index, (name, estimates) in enumerate(found.items()):
            bounds = [each.interval or (each.value, each.value) for each in estimates]
            lows, highs = [low for low, _ in bounds], [high for _, high in bounds]
            shade = "#777777" if name == ALONE else colour(index)
            one.plot(
                places,
                [each.value for each in estimates],
                color=shade,
                linestyle=line(index),
                linewidth=1.6,
                marker="o",
                markersize=3.5,
                label=name,
            )
            one.fill_between(places, lows, highs, color=shade, alpha=0.15, linewidth=0)
        if log:
            one.set_xscale("log", base=2)
            one.set_xticks(list(places), [f"{place:g}" for place in places])
        one.set_ylim(bottom=0)
        label(one, x=x, y=y)
    legend(figure, axes[0], columns=3)
    return figure
