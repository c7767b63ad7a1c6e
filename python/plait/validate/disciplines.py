"""CoDel and FQ-CoDel against Linux' own: the same flows and bottleneck on both engines.

A case is a rate, a round-trip time, a number of TCP flows, a discipline, with ECN or without. The
network draws no random numbers, but the times of packet drops are not stable. So each case is run
several times, with slightly different round-trip times and flow starts, the same on both engines.
``docs/queues.py`` runs them and writes the page.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from plait.results.result import Result
from plait.runs.experiment import run_each
from plait.runs.run import Task
from plait.scenarios.flows import ConstantRateFlow, Flow, TcpFlow
from plait.scenarios.scenario import Scenario
from plait.scenarios.topology import Direction, Path
from plait.scenarios.transport import Transport
from plait.scenarios.workloads import Bulk
from plait.support.pages import markdown

RATES_MBIT = (2, 10, 50)
ROUND_TRIPS_MS = (10, 50, 150)
FLOWS = (1, 4, 16)
DISCIPLINES = ("codel", "fq-codel")
GOAL = 0.10
"""Largest allowed difference of means and 95th percentiles of sojourn times, and of shares of
packets marked or dropped."""
DURATION_S = 40.0
WARMUP_S = 10.0
METRICS = ("mean", "p95", "share")
SPARSE = "sparse"
"""Datagrams of a fiftieth of the rate, beside the flows of FQ-CoDel."""


@dataclass(frozen=True, kw_only=True)
class QueueCase:
    """One bottleneck with its flows."""

    rate_mbit: int
    round_trip_ms: int
    flows: int
    discipline: str
    ecn: bool

    @property
    def name(self) -> str:
        """The name of the case in a few words."""
        marks = " ecn" if self.ecn else ""
        return f"{self.discipline}{marks} {self.rate_mbit}Mbit {self.round_trip_ms}ms {self.flows}"

    def scenario(self, draw: int, repetition: int) -> Scenario:
        """Return the scenario of the case with random starts of flows."""
        key = [draw, repetition, *self.name.encode()]
        random = np.random.default_rng(key)
        delay_s = self.round_trip_ms / 2000
        starts = [0.0, *(random.uniform(0, 2) for _ in range(self.flows - 1))]
        others: list[Flow] = [
            TcpFlow(name=f"tcp{number}", path="main", start=f"{round(start * 1e6)}us")
            for number, start in enumerate(starts[1:], start=2)
        ]
        if self.discipline == "fq-codel":
            others.append(
                ConstantRateFlow(
                    name=SPARSE, path="main", rate=self.rate_mbit * 20_000, packet="200B", start="1s"
                )
            )
        delay = f"{round(delay_s * 1e9)}ns"
        discipline: dict[str, Any] = {"name": self.discipline, "ecn": self.ecn}
        if self.discipline == "fq-codel":
            # Two flows that share a queue are another case, and their choice is random.
            discipline["flows"] = 65_536
        return Scenario(
            name=f"{self.name} {repetition}",
            duration=f"{DURATION_S}s",
            warmup=f"{WARMUP_S}s",
            transport=Transport(
                protocol="tcp", profile="linux", receive_buffer="8MB", ecn=True if self.ecn else None
            ),
            workload=Bulk(),
            paths=[
                Path(
                    name="main",
                    forward=Direction(
                        rate=self.rate_mbit * 1_000_000,
                        delay=delay,
                        discipline=discipline,
                    ),
                    backward=Direction(rate="1Gbit", delay=delay, queue="infinite"),
                )
            ],
            flows=others,
        )


def cases(only: str = "") -> Iterator[QueueCase]:
    """Yield all cases, or those whose name has all words of `only`."""
    for rate, round_trip, flows, discipline, ecn in product(
        RATES_MBIT, ROUND_TRIPS_MS, FLOWS, DISCIPLINES, (False, True)
    ):
        case = QueueCase(
            rate_mbit=rate, round_trip_ms=round_trip, flows=flows, discipline=discipline, ecn=ecn
        )
        if all(word in case.name.split() for word in only.split()):
            yield case


def nearby() -> list[QueueCase]:
    """Return one flow of FQ-CoDel with ECN at round-trip times around 150 ms.

    The flow settles in one of two rhythms of window cuts. A single packet decides, the one that
    reports a cut: if it is marked itself, another cut follows at once. So at a given round-trip
    time neither engine's rhythm is the true one, and many times are compared.
    """
    one = QueueCase(rate_mbit=2, round_trip_ms=150, flows=1, discipline="fq-codel", ecn=True)
    return [replace(one, round_trip_ms=round_trip) for round_trip in range(120, 192, 4)]


def measured(result: Result) -> dict[str, float]:
    """Return the compared values of one run."""
    (queue,) = (one for one in result.queues if one["direction"] == "forward")
    sojourn = queue["sojourn_ms"]
    assert sojourn is not None
    interfered = queue["packets_marked"] + queue["packets_dropped"]
    values = {
        "mean": sojourn["mean"],
        "p95": sojourn["p95"],
        "share": 100 * interfered / (queue["packets_sent"] + queue["packets_dropped"]),
        "marked": float(queue["packets_marked"]),
        "dropped": float(queue["packets_dropped"]),
        "over_limit": float(queue["packets_over_limit"]),
        "goodput": (result.metrics["goodput_bps"] + sum(one["goodput_bps"] for one in result.flows)) / 1e6,
    }
    for flow in result.flows:
        delay = flow.get("delay_ms")
        if flow["name"] == SPARSE and delay is not None:
            values["sparse_p95"] = delay["p95"]
    return values


def compare(chosen: Sequence[QueueCase], draw: int, repetitions: int) -> list[dict[str, Any]]:
    """Return a row per case: both engines' means over the repetitions, and their difference."""
    tasks = [
        Task(scenario=case.scenario(draw, repetition), seed=1 + repetition + 1000 * draw, perturb=True)
        for case in chosen
        for repetition in range(repetitions)
    ]
    made = {engine: run_each(tasks, measured, engine=engine) for engine in ("sim", "linux")}
    rows = []
    for place, case in enumerate(chosen):
        row: dict[str, Any] = {"case": case.name}
        some = slice(place * repetitions, (place + 1) * repetitions)
        for engine, values in made.items():
            runs = values[some]
            row[engine] = {key: statistics.fmean(run[key] for run in runs) for key in runs[0]}
            row[f"{engine}_runs"] = runs
        row["difference"] = {
            key: row["sim"][key] / row["linux"][key] - 1 if row["linux"][key] else 0.0
            for key in (*METRICS, "goodput", *(("sparse_p95",) if "sparse_p95" in row["sim"] else ()))
        }
        rows.append(row)
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows in Markdown."""
    headings = ["case"]
    for title in ("mean", "p95", "marked or dropped"):
        headings += [f"{title}, kernel", "simulator", "difference"]
    lines = []
    for row in rows:
        cells = [row["case"]]
        for key, unit in zip(METRICS, ("ms", "ms", "%"), strict=True):
            cells += [f"{row['linux'][key]:.2f} {unit}", f"{row['sim'][key]:.2f} {unit}"]
            cells.append(f"{row['difference'][key]:+.1%}")
        lines.append(cells)
    return markdown(headings, lines)


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """Return the number of rows that meet the goal, by metric, in Markdown."""
    titles = {"mean": "mean sojourn time", "p95": "95th percentile", "share": "share marked or dropped"}
    lines = []
    for key, title in titles.items():
        differences = sorted(abs(row["difference"][key]) for row in rows)
        within = sum(one <= GOAL for one in differences)
        high = differences[int(0.9 * (len(differences) - 1))]
        found = (statistics.median(differences), high, differences[-1])
        lines.append([title, f"{within} of {len(rows)}", *(f"{one:.1%}" for one in found)])
    return markdown(["", f"within {GOAL:.0%}", "median", "p90", "largest"], lines)
