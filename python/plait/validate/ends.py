"""Compares other ends with the simulated ones, on drawn scenarios.

The engines share application, links and measurement, so a difference is due to the ends. Seeds are
repetitions (`plait.scenarios.repetition`), the same for both engines. Losses and jitter affect
other packets at other ends. So each scenario is simulated once more with other seeds, and the
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

LEAST_ALIKE = 90.0
"""Percent of the pairs of schedulers that must be ranked alike, of those more than `APART` percent
apart."""
APART = 5.0
METRIC = "goodput_bps"


@dataclass(frozen=True)
class Ends:
    """The ends of an engine, and the goals of their comparison.

    transport: options of every scenario. drawn: options that a draw decides. most_median, most_p90:
    percent, the largest allowed difference of goodputs, for their median and for nine tenths of
    them.
    """

    engine: EngineName
    name: str
    schedulers: tuple[str, ...]
    transport: Mapping[str, Any]
    drawn: tuple[str, ...]
    most_median: float
    most_p90: float


QUIC = Ends(
    engine="quic",
    name="QUIC",
    schedulers=("lowest-rtt", "round-robin", "blest", "ecf", "delivery-delay", "redundant"),
    transport={"protocol": "mpquic"},
    drawn=("receive_buffer", "congestion_control"),
    most_median=5.0,
    most_p90=15.0,
)
"""Real QUIC connections (`plait.engines.quic`), whose packets are not those of Multipath QUIC. The
comparison shows whether the simulator is true for the transport of `plait send`."""

USRSCTP = Ends(
    engine="usrsctp",
    name="usrsctp",
    # Turns of one packet, and windows that grow in recovery, are the stack's rules.
    schedulers=("round-robin:cwnd_limited=false",),
    transport={"protocol": "cmt-sctp", "grow_in_recovery": True},
    drawn=("receive_buffer",),
    most_median=3.0,
    most_p90=15.0,
)
"""FreeBSD's SCTP stack (`plait.engines.usrsctp`). usrsctp/README.md names causes of differences."""


@dataclass(frozen=True)
class Case:
    """A drawn scenario, and its schedulers."""

    id: str
    title: str
    scenario: Scenario
    schedulers: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """Mean goodputs in bit/s of a case with a scheduler.

    engine: of the other ends. simulator: simulated. again: simulated with other seeds.
    """

    case: Case
    scheduler: str
    engine: float
    simulator: float
    again: float

    @property
    def percent(self) -> float:
        """The simulator's signed difference from the engine, in percent.

        Infinite if the engine delivered nothing.
        """
        return percent(self.simulator, self.engine)

    @property
    def chance(self) -> float:
        """The difference of two simulations, in percent."""
        return percent(self.again, self.simulator)


def draw(ends: Ends, seed: str, points: int) -> Iterator[Case]:
    """Yield scenarios from the domain of `plait validate linux`, with the protocol of the ends.

    They are the first `points` of a draw. Scenarios with one path have one scheduler.

    Raises:
        ScenarioError: the draw has no such name, or there are fewer than two points.
    """
    for one in space.draw(seed, points):
        table: dict[str, Any] = dict(one.table)
        given: Mapping[str, Any] = table["transport"]
        table["transport"] = {**ends.transport, **{name: given[name] for name in ends.drawn}}
        schedulers = ends.schedulers if len(table["path"]) > 1 else ends.schedulers[:1]
        # A title has the domain's name, the congestion control, and the rest.
        leading = 1 if "congestion_control" in ends.drawn else 2
        yield Case(one.id, one.title.split(", ", leading)[-1], from_table(table, one.id), schedulers)


def measure(
    ends: Ends,
    cases: Sequence[Case],
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

    def means(engine: EngineName, first: int, told: Callable[[float], None]) -> list[float]:
        numbers = range(first, first + seeds)
        tasks = [
            task
            for case, scheduler in pairs
            for task in grid(case.scenario, [scheduler], numbers, perturb=True)
        ]
        found = frame(tasks, [METRIC], engine=engine, threads=threads, progress=told)
        values = found[METRIC].fill_null(0.0).to_list()
        return [float(np.mean(values[start : start + seeds])) for start in range(0, len(values), seeds)]

    columns = (
        means(ends.engine, 1, part(progress, 0.0, 0.8)),
        means("sim", 1, part(progress, 0.8, 0.9)),
        means("sim", 1 + seeds, part(progress, 0.9, 1.0)),
    )
    return [Compared(*pair, *row) for pair, *row in zip(pairs, *columns, strict=True)]


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
    """Return the rankings by the engine and the simulator, and by two simulations."""
    pairs = [(one, other) for one, other in combinations(found, 2) if one.case is other.case]
    engines = [((one.engine, other.engine), (one.simulator, other.simulator)) for one, other in pairs]
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


def missed(ends: Ends, found: Sequence[Compared]) -> list[str]:
    """Return the missed goals in words; empty if all are reached."""
    median, most = percentiles([one.percent for one in found])
    alike = rankings(found)[0]
    said = []
    if median > ends.most_median:
        said.append(f"half of the goodputs differ by more than {ends.most_median:g} % ({median:.1f} %)")
    if most > ends.most_p90:
        said.append(f"a tenth of the goodputs by more than {ends.most_p90:g} % ({most:.1f} %)")
    if alike.pairs and alike.percent < LEAST_ALIKE:
        said.append(f"less than {LEAST_ALIKE:g} % of the pairs are ranked alike ({alike.percent:.0f} %)")
    return said


def document(ends: Ends, found: Sequence[Compared]) -> dict[str, Any]:
    """Return all results, for JSON."""
    ranked = rankings(found)
    return {
        "goodputs": [
            {
                "case": one.case.id,
                "scheduler": one.scheduler,
                f"{ends.engine}_bps": one.engine,
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
        "missed": missed(ends, found),
    }


def _summary(differences: Sequence[float]) -> dict[str, float]:
    return dict(zip(("median", "p90"), percentiles(differences), strict=True))
