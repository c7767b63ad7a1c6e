"""The points of the study `docs/how-far.md`: a paper's designs, the league, and a held-out design.

A point runs once, with the seed in its scenario, because its bound and its best schedule are those
of one run.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import plait
from plait.benchmark import suite
from plait.benchmark.suite import Draw, Point
from plait.papers.family import expand
from plait.results.metrics import direction
from plait.scenarios.scenario import from_table
from plait.scenarios.units import duration_s, rate_bps
from plait.statistics.designs import sobol

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "league")]

import runs as league  # noqa: E402

PAPER = ROOT / "papers" / "schedulers-csws14"
FAMILIES = {
    "low-bdp": "paper, low BDP",
    "high-bdp": "paper, high BDP",
    "low-bdp-half": "paper, low BDP, blocks",
    "high-bdp-half": "paper, high BDP, blocks",
}
"""The paper's families of scenarios, with their titles."""
BOUNDED = {"goodput_bps": "bulk", "block_delay_ms.mean": "blocks", "completion_time_s": "files"}
"""Metrics with bounds, and the traffic with each."""
SEARCHES = {"bulk": 4, "blocks": 6}
"""Points with a search in each domain of paper and league: their runs take long."""
HELD_OUT_SEARCHES = {"bulk": 16, "blocks": 32, "files": 64}
"""The same in the held-out design."""
HELD_OUT = 512
"""Points of the held-out design, a power of two."""
SEED = 20_261_130
"""Seed of its scrambling."""
COMMON: Mapping[str, str] = {"protocol": "mptcp", "profile": "linux", "congestion_control": "cubic"}
"""The transport of half of its points; the others have those of the benchmark's domain `wide`."""
BUFFER = 0.25, 4.0
"""Its receive buffers, as a share of the sum of the rates times the longest round trip."""
LEAST_BUFFER = 6000
"""Bytes of the smallest receive buffer."""


@dataclass(frozen=True)
class Place(Point):
    """A point with one run; `counted` is the metric that counts, if the traffic has another one."""

    counted: str = ""

    @property
    def id(self) -> str:
        """The name of the point within the study."""
        return f"{self.domain} {self.number}"

    @property
    def metric(self) -> str:
        """The metric that counts."""
        return self.counted or super().metric

    @property
    def way(self) -> int:
        """1 if more of the metric is better, −1 if less is."""
        return direction(self.metric)

    @property
    def seeds(self) -> Sequence[int]:
        """The seed of the scenario."""
        return [self.table["seed"]]

    def value(self, measures: Mapping[str, float | None]) -> float | None:
        """Return the value of a run, with its undelivered blocks if their delay counts."""
        return measures[self.metric] if self.counted else super().value(measures)


@dataclass(frozen=True)
class Domain:
    """A domain: its title, its metric, and the points that run.

    searches: number of points with a search for the best schedule.
    """

    title: str
    metric: str
    points: Sequence[Place]
    searches: int = 0

    @property
    def traffic(self) -> str:
        """The kind of traffic; empty without a bound."""
        return BOUNDED.get(self.metric, "")


def domains(most: int | None = None) -> list[Domain]:
    """Return all domains, each with at most this number of points; by default all."""
    return [*_paper(most), *_league(most), *_held_out(most)]


def even(size: int, most: int | None) -> list[int]:
    """Return at most this number of evenly spaced places of a sequence."""
    number = size if most is None else min(size, most)
    return [int(at) for at in np.linspace(0, size - 1, number).round()]


def _paper(most: int | None) -> Iterator[Domain]:
    families = tomllib.loads((PAPER / "paper.toml").read_text(encoding="utf-8"))["family"]
    for name, title in FAMILIES.items():
        family = next(one for one in families if one["id"] == name)
        (case,) = expand(family, PAPER)
        members = case["members"]
        numbers = even(len(members), most)
        tables = {number: plait.load(case["file"], members[number].changes).json for number in numbers}
        yield _domain(title, "", tables)


def _league(most: int | None) -> Iterator[Domain]:
    for one in league.domains():
        plan = one.plan
        tables = {
            number: from_table(json.loads(plan.scenario(number)), plan.where(number), plan.base).json
            for number in even(plan.points, most)
        }
        yield _domain(f"league, {one.title}", one.metrics[0], tables)


def _domain(title: str, counted: str, scenarios: Mapping[int, str]) -> Domain:
    """Return a domain of scenarios; each point has its own losses."""
    points = [
        Place(title, number, {**json.loads(text), "seed": number + 1}, "" if counted in BOUNDED else counted)
        for number, text in scenarios.items()
    ]
    metric = points[0].metric
    return Domain(title, metric, points, SEARCHES[BOUNDED[metric]] if metric in BOUNDED else 0)


class Row(Draw):
    """The random values of a point of the held-out design: the coordinates of a point of Sobol's."""

    most_loss = 2.5
    most_load = 0.95

    def __init__(self, coordinates: NDArray[np.float64]) -> None:
        self._coordinates = dict(zip(FACTORS, coordinates, strict=True))

    def share(self, name: str) -> float:
        """Return a number from 0 to 1."""
        return float(self._coordinates[name])


FACTORS = [
    *("workload", "transport", "paths", "receive buffer", "load", "block", "size", "seed"),
    *(
        f"{what} p{path}"
        for path in range(1, 5)
        for what in ("rate", "rtt", "queue", "impairment", "loss", "jitter")
    ),
]
"""The values of a point of the held-out design, as the benchmark's suite names them."""


def _held_out(most: int | None) -> Iterator[Domain]:
    drawn = [_drawn(Row(row)) for row in sobol(HELD_OUT, len(FACTORS), SEED)]
    for kind in suite.TRAFFIC:
        title = f"held out, {kind}"
        own = [table for traffic, table in drawn if traffic == kind]
        points = [Place(title, number, own[number]) for number in even(len(own), most)]
        yield Domain(title, points[0].metric, points, HELD_OUT_SEARCHES[kind])


def _drawn(draw: Draw) -> tuple[str, dict[str, Any]]:
    """Return the kind of traffic and the scenario's table of a point of the held-out design."""
    paths = [suite.drawn_path(draw, f"p{index}") for index in range(1, 1 + draw.of("paths", 2, 3, 4))]
    capacity = sum(rate_bps(path["rate"]) for path in paths)
    longest = max(duration_s(path["rtt"]) for path in paths)
    kind = draw.of("workload", *suite.TRAFFIC)
    workload, length, warmup = suite.TRAFFIC[kind](draw, capacity, longest)
    others: Sequence[Mapping[str, str]] = suite.TRANSPORTS
    transport = draw.of("transport", *[COMMON] * len(others), *others)
    buffer = draw.log("receive buffer", *BUFFER) * capacity / 8 * longest
    return kind, {
        "name": f"held out, {kind}",
        "seed": 1 + int(draw.share("seed") * 1e9),
        "duration": f"{round(length * 1e3)}ms",
        "warmup": f"{round(warmup * 1e3)}ms",
        "transport": {**transport, "receive_buffer": f"{max(LEAST_BUFFER, round(buffer))}B"},
        "workload": workload,
        "path": paths,
    }
