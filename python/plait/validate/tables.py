"""The tables of a validation in Markdown, and the numbers in the sentences of its page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from plait.linux.refusals import STOCK
from plait.support.pages import markdown
from plait.validate import chance
from plait.validate.agreement import Agreement, BothEngines, Pair, percentile
from plait.validate.bias import FEW, Bias, Biases
from plait.validate.goals import goals
from plait.validate.metrics import GOODPUT, METRICS, Metric
from plait.validate.standing import stands_out

Lines = list[list[str]]

WORST = 20
"""Number of lines of the tables of the largest differences."""
BELIEVED = 10
"""Percent: largest difference of a credible row."""
BY_NAME = {metric.name: metric for metric in METRICS}


def tables(found: Agreement) -> dict[str, str]:
    """Return the tables of a page in Markdown, by name."""
    return {
        "goals": markdown(["", "measured", "by chance alone", "goal", ""], goal_lines(found), (0, 4)),
        "outcomes": outcome_table(found),
        "regions": region_table(found),
        "schedulers": scheduler_table(found),
        "metrics": metric_table(found),
        "worst": worst_table(found, found.goodput),
        "worst delays": worst_table(found, sorted(found.delay, key=lambda one: -abs(one.difference or 0.0))),
        "pairs": pair_table(found),
        "cases": case_table(found),
    }


def values(found: Agreement) -> dict[str, str]:
    """Return numbers for the sentences of a page, by name."""
    rows, pairs = found.goodput, found.pairs
    # Perhaps only a part of the cases was run.
    tried = {*found.measured.runs["case"], *(one.case for one in found.measured.outcomes)}
    cases = [case for case in found.validation.cases if case.id in tried]
    runs = found.measured.runs
    bounds = found.validation.goals
    aimed = [found.validation.runs.error * max(one.values()) for one in (bounds.goodput, bounds.delay)]
    judged = Biases(rows).judge(found.by_region)
    delays = Biases(found.delay).judge(found.by_region)
    limited = [one for one in found.of(GOODPUT) if found.limited(one)]
    rest = [one for one in rows if one.scheduler.split(":")[0] != STOCK]
    return {
        "scenarios": str(len(cases)),
        "drawn": str(sum(case.group not in ("papers", "sample") for case in cases)),
        "compared": str(len(found.of(GOODPUT))),
        "rows": str(len(rows)),
        "limited": str(len(limited)),
        "runs": str(runs.filter(engine="linux").select("case", "scheduler", "seed").unique().height),
        "median": number(percentile(rows, 50), 1),
        "p75": number(percentile(rows, 75), 1),
        "p90": number(percentile(rows, 90), 1),
        "stock rows": str(len(rows) - len(rest)),
        "rest median": number(percentile(rest, 50), 1),
        "rest p75": number(percentile(rest, 75), 1),
        "rest p90": number(percentile(rest, 90), 1),
        "ranking": number(share([pair.alike for pair in pairs]), 0),
        "pairs": str(len(pairs)),
        "told apart": str(len(found.told_apart)),
        "ranked beyond noise": number(share([pair.alike for pair in found.told_apart]), 0),
        "within 1 %": number(share([abs(one.difference or 0.0) <= 1 for one in rows]), 0),
        "beyond noise": number(share([one.beyond_noise for one in rows]), 0),
        "beyond noise by chance": number(chance.beyond_noise(rows), 1),
        "regions": str(judged.regions),
        "regions outside": str(judged.outside),
        "regions outside by chance": number(judged.by_chance, 1),
        "region width": number(judged.wide, 1),
        "delay regions outside": str(delays.outside),
        "delay regions outside by chance": number(delays.by_chance, 1),
        "simulator runs": _span(one.simulator.runs for one in rows),
        "kernel runs": _span(one.kernel.runs for one in rows),
        "least runs": str(found.validation.runs.least),
        "most runs": str(found.validation.runs.most),
        "aimed goodput": f"{aimed[0]:g}",
        "aimed delay": f"{aimed[1]:g}",
        "kernel noise": number(_kernel_noise(found), 1),
        "spread ratio": number(found.spread_ratio(), 2),
    }


def share(some: Sequence[bool]) -> float:
    """Return the percentage of true values; NaN without any."""
    return 100 * sum(some) / len(some) if some else math.nan


def _span(counts: Iterable[int]) -> str:
    """Format the range from the least to the most."""
    ends = sorted(set(counts))
    return " to ".join(map(str, dict.fromkeys([ends[0], ends[-1]]))) if ends else "–"


def _kernel_noise(found: Agreement) -> float:
    """Return the median of the kernel's own spread of goodput over seeds, in percent.

    Only rows with several runs whose goodput the application does not limit count.
    """
    spread = [
        100 * one.kernel.deviation / one.kernel.mean
        for one in found.of(GOODPUT)
        if one.kernel.runs > 1 and one.kernel.mean > 0 and not found.limited(one)
    ]
    return float(np.median(spread)) if spread else math.nan


def goal_lines(found: Agreement) -> Lines:
    """Return for each goal its name, value, value by chance alone, bound, and outcome."""
    return [
        [
            goal.name,
            signed(goal.value, 1) if goal.sense == "±" else _counted(goal.value),
            number(goal.chance, 1) + (" (more than half of the goal)" if goal.blurred else ""),
            f"{goal.sense} {_counted(goal.bound)}",
            "reached" if goal.reached else "missed",
        ]
        for goal in goals(found)
    ]


def _counted(value: float) -> str:
    """Format a count as an integer, or a percentage."""
    return str(value) if isinstance(value, int) else number(value, 1)


def outcome_table(found: Agreement) -> str:
    """Return the number of runs without metrics, by engine and reason."""
    counts = Counter((one.engine, one.kind, one.reason) for one in found.measured.outcomes)
    if not counts:
        return "Every run gave results."
    lines = [
        [
            {"linux": "kernel"}.get(engine, "simulator"),
            kind,
            reason.splitlines()[-1] if reason else "",
            str(count),
        ]
        for (engine, kind, reason), count in counts.most_common()
    ]
    return markdown(["engine", "outcome", "reason", "runs"], lines, (0, 1, 2))


HEADINGS = [
    "rows",
    "goodput: median (%)",
    "90th percentile",
    f"within {BELIEVED} %",
    "beyond noise (%)",
    "mean signed (%)",
    "delay: median (%)",
    "90th percentile",
    "mean signed (%)",
]
Inside = Callable[[BothEngines], bool]


def region_table(found: Agreement) -> str:
    """Return the differences between the engines, by the properties of scenarios."""
    lines, previous = [], ""
    biases = [Biases(rows) for rows in (found.goodput, found.delay)]
    judged = [some.judge(found.by_region) for some in biases]
    for kind, value, cases in found.regions():
        names = [case.id for case in cases]
        line = _region(
            found,
            lambda one, names=names: one.case in names,  # type: ignore[misc]
            [_mean(some.of(names), all_of.wide) for some, all_of in zip(biases, judged, strict=True)],
        )
        lines.append([f"**{kind}**" if kind != previous else "", value, *line])
        previous = kind
    every = _region(found, lambda _: True, [_mean(some.overall) for some in biases])
    lines.append(["**all**", "", *every])
    return markdown(["", "", *HEADINGS], lines, (0, 1))


def scheduler_table(found: Agreement) -> str:
    """Return the differences between the engines, by scheduler; options are separate."""
    names = sorted({one for case in found.validation.cases for one in case.schedulers})
    lines = []
    for name in names:
        rows = [[one for one in some if one.scheduler == name] for some in (found.goodput, found.delay)]
        biases = [_mean(Biases(some).overall) for some in rows]
        line = _region(found, lambda one, name=name: one.scheduler == name, biases)  # type: ignore[misc]
        lines.append([name, *line])
    return markdown(["scheduler", *HEADINGS], lines, (0,))


def _region(found: Agreement, inside: Inside, biases: Sequence[str]) -> list[str]:
    rows = [one for one in found.goodput if inside(one)]
    delays = [one for one in found.delay if inside(one)]
    near = share([abs(one.difference or 0.0) <= BELIEVED for one in rows])
    goodput, delay = biases
    return [
        str(len(rows)),
        *(number(percentile(rows, at), 1) for at in (50, 90)),
        number(near, 0),
        number(share([one.beyond_noise for one in rows]), 0),
        goodput,
        *(number(percentile(delays, at), 1) for at in (50, 90)),
        delay,
    ]


def _mean(bias: Bias, wide: float = 1.0) -> str:
    """Format a mean with its error.

    It is bold if it is more than `wide` errors from zero and the error is well known.
    """
    if not math.isfinite(bias.error):
        return signed(bias.mean, 1)
    text = f"{signed(bias.mean, 1)} ± {number(bias.error, 1)}"
    return f"**{text}**" if bias.outside(wide) and bias.cases >= FEW else text


def metric_table(found: Agreement) -> str:
    """Return the differences between the engines, by metric."""
    units = {"percent": "%", "points": "percentage points", "absolute": "its unit"}
    lines = []
    for metric in METRICS:
        rows = [one for one in found.of(metric.name) if metric.name != GOODPUT or not found.limited(one)]
        unit = metric.unit if metric.scale == "absolute" else 1.0
        sizes = [abs(one.difference) / unit for one in rows if one.difference is not None]
        if sizes:
            middle, high = np.percentile(sizes, (50, 90))
            numbers = (number(float(middle), 1), number(float(high), 1), number(max(sizes), 1))
            lines.append([metric.heading, str(len(sizes)), *numbers, units[metric.scale]])
    headings = ["metric", "rows", "median difference", "90th percentile", "largest", "in"]
    return markdown(headings, lines, (0, 5))


def worst_lines(found: Agreement, rows: Iterable[BothEngines], count: int) -> tuple[list[str], Lines]:
    """Return the largest differences, notable counters of the engines, and known causes."""
    headings = ["case", "scheduler", "kernel", "simulator", "unit", "difference (%)", "noise (%)"]
    lines = []
    for one in list(rows)[:count]:
        metric = BY_NAME[one.metric]
        lines.append(
            [
                one.case,
                one.scheduler,
                number(one.kernel.mean / metric.unit, 2),
                number(one.simulator.mean / metric.unit, 2),
                metric.heading.rpartition("(")[2].rstrip(")"),
                signed(one.difference, 1),
                number(one.noise, 1),
                "; ".join(stands_out(found, one.case, one.scheduler)) or "–",
                found.mechanism(one.case, one.scheduler) or _by_chance(one),
            ]
        )
    return [*headings, "the engines' counters (kernel / simulator)", "because"], lines


def _by_chance(one: BothEngines) -> str:
    """Return the text in place of a mechanism if none is known."""
    return "–" if one.beyond_noise else "chance: runs of one engine differ as much"


def worst_table(found: Agreement, rows: Iterable[BothEngines]) -> str:
    """Return the largest differences, with the scenario in words."""
    headings, lines = worst_lines(found, rows, WORST)
    titled = [[f"**{line[0]}** {found.cases[line[0]].title}", *line[1:]] for line in lines]
    return markdown(headings, titled, (0, 1, 4, len(headings) - 2, len(headings) - 1))


def pair_table(found: Agreement) -> str:
    """Return the pairs that are ranked differently, or a line that there are none."""
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
    numbers = (signed(pair.kernel, 1), number(pair.noise, 1), signed(pair.simulator, 1))
    return [pair.case, pair.better, pair.worse, *numbers]


def case_table(found: Agreement, groups: Sequence[str] = ("papers",)) -> str:
    """Return the cases of these groups (none: all) with every scheduler.

    Cells have kernel / simulator, and the difference of goodput.
    """
    shown = [metric for metric in METRICS if metric.name not in ("app_delay_ms.p95", "completion_time_s")]
    places: dict[tuple[str, str], dict[str, BothEngines]] = {}
    for one in found.comparisons:
        if not groups or found.cases[one.case].group in groups:
            places.setdefault((one.case, one.scheduler), {})[one.metric] = one
    lines, previous = [], ""
    for (case, scheduler), of in places.items():
        goodput = of.get(GOODPUT)
        difference = "–" if goodput is None else signed(goodput.difference, 1)
        if goodput is not None and goodput.noise > 0:
            difference += f" ± {number(goodput.noise, 1)}"
        name = f"**{case}** {found.cases[case].title}" if case != previous else ""
        previous = case
        lines.append([name, scheduler, difference, *(_both(of.get(metric.name), metric) for metric in shown)])
    headings = ["case", "scheduler", "goodput: difference (%)", *(metric.heading for metric in shown)]
    return markdown(headings, lines, (0, 1))


def _both(one: BothEngines | None, metric: Metric) -> str:
    if one is None:
        return "–"
    sides = (number(side.mean / metric.unit, metric.decimals) for side in (one.kernel, one.simulator))
    return " / ".join(sides)


def number(value: float, decimals: int) -> str:
    """Format a number for people."""
    return f"{value:.{decimals}f}" if math.isfinite(value) else "–"


def signed(value: float | None, decimals: int) -> str:
    """Format a difference for people."""
    if value is None or not math.isfinite(value):
        return "–"
    rounded = round(value, decimals) + 0.0
    return f"{rounded:{'+' if rounded else ''}.{decimals}f}".replace("-", "−")
