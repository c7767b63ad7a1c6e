"""What a validation says: one JSON document, tables, a figure and a page."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from plait import plots
from plait.files import make_folder, whole_file, write_text
from plait.pages import markdown
from plait.plots.agreement import Panel, agreement
from plait.validate.agreement import Agreement, Comparison, Goal, Pair
from plait.validate.metrics import METRICS, Metric
from plait.validate.runs import Failure

Lines = list[list[str]]

WORST = 10
"""Lines of the table of the largest differences."""


def document(found: Agreement, failures: Sequence[Failure]) -> dict[str, Any]:
    """The JSON document: goals, one row per case, scheduler and metric, pairs of schedulers, runs that failed."""
    return {
        "engine": "linux",
        "goals": [
            {"name": goal.name, "value": _finite(goal.value), "bound": goal.bound, "reached": goal.reached}
            for goal in found.goals()
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
        "failures": [vars(one) for one in failures],
    }


def write(found: Agreement, failures: Sequence[Failure], out: Path) -> list[Path]:
    """Write the document, the frames of runs and of comparisons, the figure and the page; the files written.

    Raises:
        OutputError: they cannot be written.
    """
    make_folder(out)
    written = [out / "validation.md", out / "validation.json", out / "validation.png"]
    write_text(written[0], page(found))
    write_text(written[1], json.dumps(document(found, failures), indent=2, ensure_ascii=False) + "\n")
    plots.save(figure(found), written[2])
    for name, table in (("runs", found.runs), ("comparison", found.table())):
        for suffix, save in ((".parquet", table.write_parquet), (".csv", table.write_csv)):
            file = out / f"{name}{suffix}"
            with whole_file(file) as temporary:
                save(temporary)
            written.append(file)
    return written


def page(found: Agreement) -> str:
    """A page in Markdown with all tables and the figure."""
    parts = ["# Simulator against Linux kernel", "![Simulator against kernel](validation.png)"]
    for heading, table in zip(
        (
            "Goals",
            "Metrics",
            "Largest differences of goodput",
            "Schedulers that are ranked differently",
            "All cases",
        ),
        tables(found).values(),
        strict=True,
    ):
        parts += [f"## {heading}", table]
    return "\n\n".join(parts) + "\n"


def tables(found: Agreement) -> dict[str, str]:
    """The tables of a page in Markdown, by name."""
    headings, lines = worst_lines(found, WORST)
    return {
        "goals": markdown(["", "measured", "goal", ""], goal_lines(found), (0, 3)),
        "metrics": metric_table(found),
        "worst": markdown(headings, lines, (0, 1, len(headings) - 1)),
        "pairs": pair_table(found),
        "cases": case_table(found),
    }


def values(found: Agreement) -> dict[str, str]:
    """Numbers for the sentences of a page, by name."""
    rows, pairs = found.goodput, found.pairs
    apart = [pair for pair in pairs if pair.kernel > pair.noise]
    return {
        "scenarios": str(len(found.validation.cases)),
        "rows": str(len(rows)),
        "runs": str(found.runs.filter(engine="linux").select("case", "scheduler", "seed").unique().height),
        "median": _number(found.median(), 1),
        "p90": _number(found.p90(), 1),
        "ranking": _number(found.ranking(), 0),
        "pairs": str(len(pairs)),
        "ranked beyond noise": _number(_share([pair.alike for pair in apart]), 0),
        "within 1 %": _number(_share([abs(one.difference or 0.0) <= 1 for one in rows]), 0),
        "beyond noise": _number(_share([_beyond(one) for one in rows]), 0),
        "kernel noise": _number(_kernel_noise(found), 1),
    }


def _share(some: Sequence[bool]) -> float:
    return 100 * sum(some) / len(some) if some else math.nan


def _beyond(one: Comparison) -> bool:
    """Whether a difference of goodput is worth speaking of: beyond noise, and more than one percent."""
    return one.beyond_noise and abs(one.difference or 0.0) > 1


def _kernel_noise(found: Agreement) -> float:
    """The median of the kernel's own spread of goodput over seeds where losses are drawn, in percent."""
    spread = [
        100 * one.kernel.deviation / one.kernel.mean
        for one in found.goodput
        if one.kernel.runs > 1 and one.kernel.mean > 0
    ]
    return float(np.median(spread)) if spread else math.nan


def goal_lines(found: Agreement) -> Lines:
    """Each goal: its name, the value, the bound, and whether it is reached."""
    return [
        [
            goal.name,
            _number(goal.value, 1),
            f"{'≤' if goal.most else '≥'} {goal.bound:g}",
            "reached" if goal.reached else "missed",
        ]
        for goal in found.goals()
    ]


def metric_table(found: Agreement) -> str:
    """How far apart the engines are, metric by metric."""
    units = {"percent": "%", "points": "percentage points", "absolute": "its unit"}
    lines = []
    for metric in METRICS:
        rows = found.goodput if metric.name == METRICS[0].name else found.of(metric.name)
        unit = metric.unit if metric.scale == "absolute" else 1.0
        sizes = [abs(one.difference) / unit for one in rows if one.difference is not None]
        if sizes:
            middle, high = np.percentile(sizes, (50, 90))
            numbers = (_number(float(middle), 1), _number(float(high), 1), _number(max(sizes), 1))
            lines.append([metric.heading, str(len(sizes)), *numbers, units[metric.scale]])
    headings = ["metric", "rows", "median difference", "90th percentile", "largest", "in"]
    return markdown(headings, lines, (0, 5))


def worst_lines(found: Agreement, count: int) -> tuple[list[str], Lines]:
    """The largest differences of goodput, with what explains them."""
    metric = METRICS[0]
    headings = [
        "case",
        "scheduler",
        "kernel (Mbit/s)",
        "simulator (Mbit/s)",
        "difference (%)",
        "noise (%)",
        "because",
    ]
    lines = [
        [
            one.case,
            one.scheduler,
            _number(one.kernel.mean / metric.unit, metric.decimals),
            _number(one.simulator.mean / metric.unit, metric.decimals),
            signed(one.difference, 1),
            _number(one.noise, 1),
            found.mechanism(one.case, one.scheduler),
        ]
        for one in found.goodput[:count]
    ]
    return headings, lines


def pair_table(found: Agreement) -> str:
    """The pairs that are ranked differently; a line that says so if there are none."""
    wrong = [pair for pair in found.pairs if not pair.alike]
    if not wrong:
        return "None."
    headings = [
        "case",
        "better in the kernel",
        "than",
        "kernel: by (%)",
        "noise (%)",
        "simulator: by (%)",
    ]
    return markdown(headings, [_pair_line(pair) for pair in wrong], (0, 1, 2))


def _pair_line(pair: Pair) -> list[str]:
    numbers = (signed(pair.kernel, 1), _number(pair.noise, 1), signed(pair.simulator, 1))
    return [pair.case, pair.better, pair.worse, *numbers]


def case_table(found: Agreement) -> str:
    """Every case with every scheduler: kernel / simulator, and the difference of goodput."""
    shown = [metric for metric in METRICS if metric.name not in ("app_delay_ms.p95", "completion_time_s")]
    places: dict[tuple[str, str], dict[str, Comparison]] = {}
    for one in found.comparisons:
        places.setdefault((one.case, one.scheduler), {})[one.metric] = one
    titles = {case.id: case.title for case in found.validation.cases}
    lines, previous = [], ""
    for (case, scheduler), of in places.items():
        goodput = of.get(METRICS[0].name)
        difference = "–" if goodput is None else signed(goodput.difference, 1)
        if goodput is not None and goodput.noise > 0:
            difference += f" ± {_number(goodput.noise, 1)}"
        name = f"**{case}** {titles[case]}" if case != previous else ""
        previous = case
        lines.append([name, scheduler, difference, *(_both(of.get(metric.name), metric) for metric in shown)])
    headings = ["case", "scheduler", "goodput: difference (%)", *(metric.heading for metric in shown)]
    return markdown(headings, lines, (0, 1))


def _both(one: Comparison | None, metric: Metric) -> str:
    if one is None:
        return "–"
    sides = (_number(side.mean / metric.unit, metric.decimals) for side in (one.kernel, one.simulator))
    return " / ".join(sides)


def figure(found: Agreement) -> Figure:
    """Both engines against each other, metric by metric, and how far apart their goodputs are."""
    series = list(dict.fromkeys(one for case in found.validation.cases for one in case.schedulers))
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
                points[one.scheduler].append(
                    (one.kernel.mean / metric.unit, one.simulator.mean / metric.unit)
                )
            if any(points.values()):
                panels.append(Panel(metric.heading, points, **scales[metric.name]))
    lossy = {case.id for case in found.validation.cases if case.seeds > 1}
    groups: dict[str, list[float]] = {"no random losses": [], "random losses": []}
    for one in found.goodput:
        if one.difference is not None:
            groups["random losses" if one.case in lossy else "no random losses"].append(abs(one.difference))
    bounds = found.validation
    return agreement(panels, series, groups, [(0.5, bounds.median), (0.9, bounds.p90)])


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _number(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}" if math.isfinite(value) else "–"


def signed(value: float | None, decimals: int) -> str:
    """A difference for people."""
    if value is None or not math.isfinite(value):
        return "–"
    rounded = round(value, decimals) + 0.0
    return f"{rounded:{'+' if rounded else ''}.{decimals}f}".replace("-", "−")


__all__ = ["Goal", "document", "figure", "page", "tables", "values", "write"]
