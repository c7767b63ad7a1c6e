"""From which asymmetry on does DAPS pay? `question.toml` has the runs.

DAPS *pays* in a case with at least a tenth less application delay than round-robin and than
lowest-RTT, and at least 95 % of the goodput of the better of them. A = C_1·RTT_1 / (C_0·RTT_0).
"""

from __future__ import annotations

import itertools
import math
import statistics

import polars as pl
from drawing import Cell, Panel, maps
from matplotlib.figure import Figure
from study import Answer, values, written

from plait.support.pages import markdown

CASE = ["protocol", "cf", "buffer", "ratio", "share"]
PROTOCOLS = ("CMT-SCTP", "MPTCP, ACK per packet", "MPTCP, delayed ACKs")
BASELINES = ("round-robin", "lowest-rtt")
SCHEDULERS = ("daps", "daps-rounds")
SAVED, KEPT = -10.0, -5.0
"""Percent: required change of the delay, and tolerated change of the goodput."""
PACKET = 1500 * 8
BANDS = (0.0, 1.0, 3.0, 7.0, 20.0, 100.0)
"""Bounds of the asymmetry in the second table."""


def judged(runs: pl.DataFrame) -> pl.DataFrame:
    """Return one row per case and DAPS variant, and whether it pays there.

    Delay and goodput are in percent of the better baseline.
    """
    base = (
        runs.filter(pl.col("scheduler").is_in(BASELINES))
        .group_by(CASE)
        .agg(
            pl.col("app_delay_ms.mean").min().alias("delay"),
            pl.col("goodput_bps").max().alias("goodput"),
            pl.col("blocking_ms.mean").min().alias("blocking"),
            pl.col("receive_buffer_packets.mean").min().alias("occupancy"),
        )
    )
    found = runs.filter(pl.col("scheduler").is_in(SCHEDULERS)).join(base, on=CASE)
    percent = {
        "saved": ("app_delay_ms.mean", "delay"),
        "kept": ("goodput_bps", "goodput"),
        "unblocked": ("blocking_ms.mean", "blocking"),
        "emptied": ("receive_buffer_packets.mean", "occupancy"),
    }
    found = found.with_columns(
        *(((pl.col(one) / pl.col(other) - 1) * 100).alias(name) for name, (one, other) in percent.items()),
        (pl.col("ratio") * pl.col("share")).alias("asymmetry"),
        # r_s / r_f against the packets that fill the fast path in r_f = 20 ms.
        (pl.col("ratio") >= pl.col("cf") * 1e6 * 0.02 / PACKET).alias("covers"),
    )
    return found.with_columns(((pl.col("saved") <= SAVED) & (pl.col("kept") >= KEPT)).alias("pays"))


def trigger(cases: pl.DataFrame, name: str) -> float | None:
    """Return the value of a column from which on every case pays; None if the largest does not."""
    failing = max(values(cases.filter(~pl.col("pays")), name), default=0.0)
    return min((one for one in values(cases, name) if one > failing), default=None)


def bands(found: pl.DataFrame) -> str:
    """Return the table of the number of paying cases by bands of A."""
    lines = []
    for scheduler, protocol, rate in itertools.product(SCHEDULERS, PROTOCOLS, (1, 10)):
        own = found.filter(
            (pl.col("scheduler") == scheduler) & (pl.col("protocol") == protocol) & (pl.col("cf") == rate)
        )
        cells = []
        for low, high in itertools.pairwise(BANDS):
            some = own.filter((pl.col("asymmetry") > low) & (pl.col("asymmetry") <= high))
            cells.append(f"{len(some.filter(pl.col('pays')))} of {len(some)}")
        lines.append([f"`{scheduler}`", protocol, f"{rate}", *cells])
    headings = [
        f"A ≤ {high:g}" if not low else f"{low:g} < A ≤ {high:g}" for low, high in itertools.pairwise(BANDS)
    ]
    return markdown(["scheduler", "protocol", "c_f (Mbit/s)", *headings], lines)


def answer(runs: pl.DataFrame) -> Answer:
    """Return the table of triggers, the sentences' values, and a map per reading of DAPS."""
    found = judged(runs)
    lines, sentences = [], {}
    groups = list(itertools.product(PROTOCOLS, (1, 10), ("small", "large")))
    for scheduler in SCHEDULERS:
        for protocol, rate, buffer in groups:
            some = _of(found, scheduler, protocol, rate, buffer)
            paying, from_ = some.filter(pl.col("pays")), trigger(some, "asymmetry")
            ratio = trigger(some, "ratio")
            case = f"{scheduler}, {protocol}, {rate}, {buffer}"
            sentences[f"{case}: A"] = "none" if from_ is None else f"{from_:g}"
            sentences[f"{case}: ratio"] = "none" if ratio is None else f"{ratio:g}"
            sentences[f"{case}: goodput"] = written(min(values(some, "kept")), signed=True)
            lines.append(
                [
                    f"`{scheduler}`",
                    protocol,
                    f"{rate}",
                    buffer,
                    f"{len(paying)} of {len(some)}",
                    _range(paying),
                    sentences[f"{case}: A"],
                    *(
                        f"{written(_median(some, name), signed=True)}"
                        for name in ("saved", "kept", "unblocked", "emptied")
                    ),
                ]
            )
        own = found.filter(pl.col("scheduler") == scheduler)
        sentences[f"{scheduler}-pays"] = f"{len(own.filter(pl.col('pays')))} of {len(own)}"
        sentences[f"{scheduler}-never-slower"] = f"{len(own.filter(pl.col('saved') <= 0))} of {len(own)}"
        sentences[f"{scheduler}-starves"] = f"{len(own.filter(pl.col('kept') < KEPT))} of {len(own)}"
        sentences[f"{scheduler}-worst-goodput"] = written(-min(values(own, "kept")))
        for protocol, covers in itertools.product(PROTOCOLS, (True, False)):
            some = own.filter((pl.col("protocol") == protocol) & (pl.col("covers") == covers))
            name = f"{scheduler}, {protocol}, {'covered' if covers else 'uncovered'}"
            sentences[name] = f"{len(some.filter(pl.col('pays')))} of {len(some)}"
        for rate in (1, 10):
            some = own.filter(pl.col("cf") == rate)
            sentences[f"{scheduler}-pays-{rate}"] = f"{len(some.filter(pl.col('pays')))} of {len(some)}"
            sentences[f"{scheduler}-goodput-{rate}"] = written(_median(some, "kept"), signed=True)
            sentences[f"{scheduler}-delay-{rate}"] = written(_median(some, "saved"), signed=True)
    headings = [
        "scheduler",
        "protocol",
        "c_f (Mbit/s)",
        "buffer",
        "pays in",
        "there A is",
        "pays in every case from A =",
        "delay (%)",
        "goodput (%)",
        "blocking (%)",
        "occupancy (%)",
    ]
    return Answer(
        {"triggers": markdown(headings, lines), "bands": bands(found)},
        sentences,
        {f"asymmetry-{one}": _maps(found, one) for one in SCHEDULERS},
    )


def _of(found: pl.DataFrame, scheduler: str, protocol: str, rate: int, buffer: str) -> pl.DataFrame:
    return found.filter(
        (pl.col("scheduler") == scheduler)
        & (pl.col("protocol") == protocol)
        & (pl.col("cf") == rate)
        & (pl.col("buffer") == buffer)
    )


def _median(cases: pl.DataFrame, name: str) -> float:
    return statistics.median(one for one in values(cases, name) if math.isfinite(one))


def _range(cases: pl.DataFrame) -> str:
    if cases.is_empty():
        return "–"
    found = sorted(values(cases, "asymmetry"))
    return f"{found[0]:g} … {found[-1]:g}"


def _maps(found: pl.DataFrame, scheduler: str) -> Figure:
    panels = []
    for protocol, rate, buffer in itertools.product(PROTOCOLS, (1, 10), ("small", "large")):
        some = _of(found, scheduler, protocol, rate, buffer)
        cells = {
            (row["ratio"], row["share"]): Cell(
                row["saved"],
                f"({row['kept']:.0f})".replace("-", "−") if row["kept"] < KEPT else "",
                row["pays"],
            )
            for row in some.iter_rows(named=True)
        }
        title = f"{protocol},\nfast path {rate} Mbit/s, {buffer} buffer"
        panels.append(Panel(title, sorted(some["ratio"].unique()), sorted(some["share"].unique()), cells))
    return maps(
        panels,
        4,
        x="r_s / r_f",
        y="c_s / c_f",
        what=f"application delay of {scheduler}\nagainst the better baseline (%)",
    )
