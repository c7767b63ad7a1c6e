"""How do schedulers compare when data flows both ways? `question.toml` has the runs."""

from __future__ import annotations

import statistics

import polars as pl
from drawing import dots
from study import Answer, change, values, with_interval, written

from plait.statistics.estimate import Estimate, change_of_mean, mean
from plait.support.pages import markdown

WAYS = ("one-way", "two-way")
METRICS = (("goodput_bps", "goodput (Mbit/s)", 1e-6), ("app_delay_ms.mean", "application delay (ms)", 1.0))


def scaled(found: Estimate, scale: float) -> Estimate:
    """Return an estimate in another unit."""
    low, high = found.interval or (found.value, found.value)
    return Estimate(found.value * scale, low * scale, high * scale)


def answer(runs: pl.DataFrame) -> Answer:
    """Return a table per network with both ways side by side, the changes, and the figure."""
    networks = list(runs["network"].unique(maintain_order=True))
    schedulers = list(runs["scheduler"].unique(maintain_order=True))
    panels, tables, sentences, best = [], {}, {}, []
    for name, heading, scale in METRICS:
        for network in networks:
            found = {}
            for scheduler in schedulers:
                some = _runs(runs, network, scheduler)
                found[scheduler] = [scaled(mean(values(some[way], name)), scale) for way in WAYS]
            panels.append((network, heading, found))
    for network in networks:
        lines, firsts = [], {}
        for scheduler in schedulers:
            some = _runs(runs, network, scheduler)
            cells = []
            for name, _, scale in METRICS:
                both, alone = values(some["two-way"], name), values(some["one-way"], name)
                cells.append(with_interval(scaled(mean(both), scale), 1))
                cells.append(
                    with_interval(change_of_mean(both, alone) or Estimate(float("nan")), 0, signed=True)
                )
            back = mean(values(some["two-way"], "flows.back.goodput_bps"))
            lines.append([f"`{scheduler}`", *cells, with_interval(scaled(back, 1e-6), 1)])
        headings = [
            "goodput (Mbit/s)",
            "against one way (%)",
            "delay (ms)",
            "against one way (%)",
            "the other way (Mbit/s)",
        ]
        tables[network.replace(" ", "-")] = markdown(["scheduler", *headings], lines)
        for name, _, scale in METRICS:
            for way in WAYS:
                means = {one: mean(values(_runs(runs, network, one)[way], name)).value for one in schedulers}
                pick = max if scale < 1 else min
                firsts[name, way] = pick(means, key=lambda one: means[one])
        best.append([network, *(f"`{firsts[name, way]}`" for name, _, _ in METRICS for way in WAYS)])
    tables["best"] = markdown(
        ["network", "most goodput, one way", "both ways", "least delay, one way", "both ways"], best
    )
    pair = ["network", "scheduler", "seed"]
    one_way, two_way = (runs.filter(pl.col("way") == way) for way in WAYS)
    for name, short in (("goodput_bps", "goodput"), ("app_delay_ms.mean", "delay")):
        changed = (
            change(two_way, one_way, pair, name).group_by("network", "scheduler").agg(pl.col("change").mean())
        )
        sentences[f"{short}-median"] = written(statistics.median(values(changed, "change")), signed=True)
        sentences[f"{short}-least"] = written(min(values(changed, "change")), signed=True)
        sentences[f"{short}-most"] = written(max(values(changed, "change")), signed=True)
    return Answer(
        tables, sentences, {"bidirectional": dots(panels, WAYS, len(networks), log=[METRICS[1][1]])}
    )


def _runs(runs: pl.DataFrame, network: str, scheduler: str) -> dict[str, pl.DataFrame]:
    """Return the runs by way, in the order of the seeds."""
    some = runs.filter((pl.col("network") == network) & (pl.col("scheduler") == scheduler)).sort("seed")
    return {way: some.filter(pl.col("way") == way) for way in WAYS}
