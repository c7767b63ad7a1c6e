"""The output of a validation: one JSON document, frames, a figure and a page."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from plait import plots
from plait.plots.agreement import Panel, agreement, regions
from plait.support.files import make_folder, whole_file, write_text
from plait.validate.agreement import Agreement
from plait.validate.goals import goals
from plait.validate.metrics import METRICS
from plait.validate.tables import case_table, tables


def document(found: Agreement) -> dict[str, Any]:
    """Return the JSON document.

    It has goals, one row per case, scheduler and metric, pairs of schedulers, runs without metrics.
    """
    return {
        "engine": "linux",
        "goals": [
            {
                "name": goal.name,
                "value": _finite(goal.value),
                "by_chance": _finite(goal.chance),
                "sense": goal.sense,
                "bound": _finite(goal.bound),
                "reached": goal.reached,
                "blurred": goal.blurred,
            }
            for goal in goals(found)
        ],
        "rows": found.table().to_dicts(),
        "pairs": [
            {
                "case": pair.case,
                "better": pair.better,
                "worse": pair.worse,
                "kernel_percent": pair.kernel,
                "simulator_percent": _finite(pair.simulator),
                "noise_percent": pair.noise,
                "alike": pair.alike,
            }
            for pair in found.pairs
        ],
        "outcomes": [vars(one) for one in found.measured.outcomes],
    }


def write(found: Agreement, out: Path) -> list[Path]:
    """Write the document, frames, figure and page; return the files.

    Frames are those of runs, outcomes and comparisons.

    Raises:
        OutputError: a file is not writable.
    """
    make_folder(out)
    written = [
        out / name
        for name in ("validation.md", "validation.json", "validation.png", "validation-regions.png")
    ]
    write_text(written[0], page(found))
    write_text(written[1], json.dumps(document(found), indent=2, ensure_ascii=False) + "\n")
    plots.save(figure(found), written[2])
    plots.save(region_figure(found), written[3])
    frames = {
        "runs": found.measured.runs,
        "outcomes": found.measured.outcome_table(),
        "comparison": found.table(),
    }
    for name, table in frames.items():
        for suffix, save in ((".parquet", table.write_parquet), (".csv", table.write_csv)):
            file = out / f"{name}{suffix}"
            with whole_file(file) as temporary:
                save(temporary)
            written.append(file)
    return written


HEADINGS = {
    "goals": "Goals",
    "outcomes": "Runs without results",
    "regions": "Regions",
    "schedulers": "Schedulers",
    "metrics": "Metrics",
    "worst": "Largest differences of goodput",
    "worst delays": "Largest differences of application delay",
    "pairs": "Schedulers that are ranked differently",
    "cases": "All cases",
}


def page(found: Agreement) -> str:
    """Return a page in Markdown with all tables and the figure."""
    parts = [
        "# Simulator against Linux kernel",
        "![Simulator against kernel](validation.png)",
        "![Differences by region](validation-regions.png)",
    ]
    every = {**tables(found), "cases": case_table(found, ())}
    for name, heading in HEADINGS.items():
        parts += [f"## {heading}", every[name]]
    return "\n\n".join(parts) + "\n"


def figure(found: Agreement) -> Figure:
    """Draw both engines against each other, by metric, and the differences of goodput."""
    series = list(
        dict.fromkeys(one.partition("+")[0] for case in found.validation.cases for one in case.schedulers)
    )
    scales: dict[str, dict[str, Any]] = {
        "goodput_bps": {"band": 10.0},
        "share": {"scale": "linear"},
        "app_delay_ms.mean": {"band": 10.0},
        "retransmitted": {"scale": "symlog", "threshold": 1.0},
        "receive_buffer_bytes.mean": {"scale": "symlog", "threshold": 1.0},
    }
    panels = []
    for metric in METRICS:
        if metric.name in scales:
            points: dict[str, list[tuple[float, float]]] = {name: [] for name in series}
            for one in found.of(metric.name):
                points[one.scheduler.partition("+")[0]].append(
                    (one.kernel.mean / metric.unit, one.simulator.mean / metric.unit)
                )
            if any(points.values()):
                panels.append(Panel(metric.heading, points, **scales[metric.name]))
    random = {case.id for case in found.validation.cases if case.has_chance}
    groups: dict[str, list[float]] = {"without chance": [], "with chance": []}
    for one in found.goodput:
        if one.difference is not None:
            groups["with chance" if one.case in random else "without chance"].append(abs(one.difference))
    bounds = [(share / 100, bound) for share, bound in found.validation.goals.goodput.items()]
    return agreement(panels, series, groups, bounds)


def region_figure(found: Agreement) -> Figure:
    """Draw the differences of goodput between the engines by the properties of scenarios."""
    groups: dict[str, dict[str, list[float]]] = {}
    for kind, value, cases in found.regions():
        names = {case.id for case in cases}
        rows = [one for one in found.goodput if one.case in names and one.difference is not None]
        groups.setdefault(kind, {})[value] = [abs(one.difference or 0.0) for one in rows]
    for one in sorted(found.goodput, key=lambda one: one.scheduler):
        name, plus, option = one.scheduler.partition("+")
        size = abs(one.difference or 0.0)
        groups.setdefault("scheduler", {}).setdefault(name, []).append(size)
        groups.setdefault("option", {}).setdefault(plus + option or "none", []).append(size)
    bounds = [(share / 100, bound) for share, bound in found.validation.goals.goodput.items()]
    return regions(groups, bounds)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
