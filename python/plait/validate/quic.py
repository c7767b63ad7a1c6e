"""Compares real QUIC connections with the simulated Multipath QUIC, on drawn scenarios.

Seeds are repetitions (`plait.scenarios.repetition`), the same for both engines.

The engines share their ends and links, so the difference is due to the connections
(`plait.engines.quic`). It shows whether the simulator's results for a scheduler are true for the
transport of `plait send`. Losses and jitter affect other packets there, because the connections
have packets of their own. So each scenario is simulated once more with other seeds, and the
difference of two simulations is chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from plait.engines.names import EngineName
from plait.runs.experiment import frame, grid
from plait.scenarios.scenario import Scenario, from_table
from plait.support.progress import part
from plait.validate import space

SCHEDULERS = ("lowest-rtt", "round-robin", "blest", "ecf", "delivery-delay", "redundant")
MOST_MEDIAN, MOST_P90 = 5.0, 15.0
"""Percent: largest allowed difference of goodputs, for their median and for nine tenths of them."""
LEAST_ALIKE = 90.0
"""Percent of the pairs of schedulers that must be ranked alike, of those more than `APART` percent
apart."""
APART = 5.0
METRIC = "goodput_bps"


@dataclass(frozen=True)
class QuicCase:
    """A drawn scenario, and its schedulers."""

    id: str
    title: str
    scenario: Scenario
    schedulers: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """Mean goodputs in bit/s of a case with a scheduler.

    quic: over QUIC connections. simulator: simulated. again: simulated with other seeds.
    """

    case: QuicCase
    scheduler: str
    quic: float
    simulator: float
    again: float

    @property
    def percent(self) -> float:
        """The simulator's signed difference from the connections, in percent.

        Infinite if the connections delivered nothing.
        """
        return percent(self.simulator, self.quic)

    @property
    def chance(self) -> float:
        """The difference of two simulations, in percent."""
        return percent(self.again, self.simulator)


def draw(seed: str, points: int) -> Iterator[QuicCase]:
    """Yield scenarios from the domain of `plait validate linux`, with Multipath QUIC.

    They are the first `points` of a draw.

    Raises:
        ScenarioError: the draw has no such name, or there are fewer than two points.
    """
    for one in space.draw(seed, points):
        table: dict[str, Any] = dict(one.table)
        given: Mapping[str, Any] = table["transport"]
        table["transport"] = {
            "protocol": "mpquic",
            "receive_buffer": given["receive_buffer"],
            "congestion_control": given["congestion_control"],
        }
        several = len(table["path"]) > 1
        yield QuicCase(
            one.id,
            one.title.partition(", ")[2],
            from_table(table, one.id),
            SCHEDULERS if several else SCHEDULERS[:1],
        )


def measure(
    cases: Sequence[QuicCase],
    seeds: int,
    *,
    threads: int = 0,
    progress: Callable[[float], None] = lambda _share: None,
) -> list[Compared]:
    """Run every case on both engines with `seeds` seeds, and simulate it with as many others.

    Raises:
        RunError: a run failed.
    """
    pairs = [(case, scheduler) for case in cases for scheduler in case.schedulers]
    runs = [(case.scenario, scheduler) for case, scheduler in pairs]
    rows = zip(pairs, *goodputs(runs, "quic", seeds, threads=threads, progress=progress), strict=True)
    return [Compared(*pair, *row) for pair, *row in rows]


def goodputs(
    runs: Sequence[tuple[Scenario, str]],
    engine: EngineName,
    seeds: int,
    *,
    threads: int,
    progress: Callable[[float], None],
) -> tuple[list[float], list[float], list[float]]:
    """Return the mean goodputs of scenarios with schedulers: of an engine, simulated, and again.

    `seeds` is the number of runs of each mean. The last ones are simulated with other seeds.
    """

    def means(engine: EngineName, first: int, told: Callable[[float], None]) -> list[float]:
        numbers = range(first, first + seeds)
        tasks = [
            task
            for scenario, scheduler in runs
            for task in grid(scenario, [scheduler], numbers, perturb=True)
        ]
        found = frame(tasks, [METRIC], engine=engine, threads=threads, progress=told)
        values = found[METRIC].fill_null(0.0).to_list()
        return [float(np.mean(values[start : start + seeds])) for start in range(0, len(values), seeds)]

    return (
        means(engine, 1, part(progress, 0.0, 0.8)),
        means("sim", 1, part(progress, 0.8, 0.9)),
        means("sim", 1 + seeds, part(progress, 0.9, 1.0)),
    )


def percentiles(differences: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 90th percentile of the differences without sign."""
    sizes = np.abs(differences)
    return float(np.percentile(sizes, 50)), float(np.percentile(sizes, 90))


@dataclass(frozen=True)
class Ranking:
    """Number of pairs of schedulers more than `APART` percent apart, and of those ranked alike."""

    pairs: int
    alike: int

    @property
    def percent(self) -> float:
        """Percent of the pairs ranked alike; NaN without pairs."""
        return 100 * self.alike / self.pairs if self.pairs else math.nan


def rankings(found: Sequence[Compared]) -> tuple[Ranking, Ranking]:
    """Return the rankings by QUIC connections and the simulator, and by two simulations."""
    pairs = [(one, other) for one, other in combinations(found, 2) if one.case is other.case]
    engines = [((one.quic, other.quic), (one.simulator, other.simulator)) for one, other in pairs]
    chance = [((one.simulator, other.simulator), (one.again, other.again)) for one, other in pairs]
    return _ranking(engines), _ranking(chance)


def _ranking(pairs: Sequence[tuple[tuple[float, float], tuple[float, float]]]) -> Ranking:
    """Rank pairs of schedulers.

    A pair has the goodputs that decide whether it counts, then those that are compared with them.
    """
    apart = [(these, those) for these, those in pairs if abs(these[0] - these[1]) > APART / 100 * min(these)]
    return Ranking(len(apart), sum((a > b) == (c > d) for (a, b), (c, d) in apart))


def percent(value: float, base: float) -> float:
    """Return the signed difference of `value` from `base`, in percent."""
    if base == 0:
        return 0.0 if value == 0 else math.inf
    return 100 * (value / base - 1)


def missed(found: Sequence[Compared]) -> list[str]:
    """Return the missed goals in words; empty if all are reached."""
    median, most = percentiles([one.percent for one in found])
    alike = rankings(found)[0]
    said = []
    if median > MOST_MEDIAN:
        said.append(f"half of the goodputs differ by more than {MOST_MEDIAN:g} % ({median:.1f} %)")
    if most > MOST_P90:
        said.append(f"a tenth of the goodputs by more than {MOST_P90:g} % ({most:.1f} %)")
    if alike.pairs and alike.percent < LEAST_ALIKE:
        said.append(f"less than {LEAST_ALIKE:g} % of the pairs are ranked alike ({alike.percent:.0f} %)")
    return said


def document(found: Sequence[Compared]) -> dict[str, Any]:
    """Return all results, for JSON."""
    ranked = rankings(found)
    return {
        "goodputs": [
            {
                "case": one.case.id,
                "scheduler": one.scheduler,
                "quic_bps": one.quic,
                "sim_bps": one.simulator,
                "sim_other_seeds_bps": one.again,
            }
            for one in found
        ],
        "difference_percent": _summary([one.percent for one in found]),
        "chance_percent": _summary([one.chance for one in found]),
        "pairs": ranked[0].pairs,
        "ranked_alike_percent": ranked[0].percent if ranked[0].pairs else None,
        "chance_ranked_alike_percent": ranked[1].percent if ranked[1].pairs else None,
        "missed": missed(found),
    }


def _summary(differences: Sequence[float]) -> dict[str, float]:
    return dict(zip(("median", "p90"), percentiles(differences), strict=True))
