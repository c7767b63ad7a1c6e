"""Compares FreeBSD's SCTP stack with the simulated CMT-SCTP, on drawn scenarios.

Links, application and measurement are the same, so the difference is due to the ends
(`plait.engines.usrsctp`). `docs/usrsctp.md` names its causes. Each scenario is simulated once more
with other seeds, and the difference of two simulations is chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plait.scenarios.scenario import Scenario, from_table
from plait.validate import space
from plait.validate.quic import goodputs, percent, percentiles

SCHEDULER = "round-robin:cwnd_limited=false"
"""The scheduler of the stack: turns of one packet."""
TRANSPORT = {"protocol": "cmt-sctp", "grow_in_recovery": True}
"""An option of the simulator that is the stack's rule; the others are defaults."""
MOST_MEDIAN, MOST_P90 = 3.0, 15.0
"""Percent: largest allowed difference of goodputs, for their median and for nine tenths of them."""


@dataclass(frozen=True)
class Case:
    """A drawn scenario."""

    id: str
    title: str
    scenario: Scenario


@dataclass(frozen=True)
class Compared:
    """Mean goodputs in bit/s of a case.

    usrsctp: in FreeBSD's stack. simulator: simulated. again: simulated with other seeds.
    """

    case: Case
    usrsctp: float
    simulator: float
    again: float

    @property
    def percent(self) -> float:
        """The simulator's signed difference from the stack, in percent."""
        return percent(self.simulator, self.usrsctp)

    @property
    def chance(self) -> float:
        """The difference of two simulations, in percent."""
        return percent(self.again, self.simulator)


def draw(seed: str, points: int) -> Iterator[Case]:
    """Yield scenarios from the domain of `plait validate linux`, with CMT-SCTP.

    They are the first `points` of a draw.

    Raises:
        ScenarioError: the draw has no such name, or there are fewer than two points.
    """
    for one in space.draw(seed, points):
        table: dict[str, Any] = dict(one.table)
        given: Mapping[str, Any] = table["transport"]
        table["transport"] = {**TRANSPORT, "receive_buffer": given["receive_buffer"]}
        yield Case(one.id, one.title.partition(", ")[2], from_table(table, one.id))


def measure(
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
    runs = [(case.scenario, SCHEDULER) for case in cases]
    rows = zip(cases, *goodputs(runs, "usrsctp", seeds, threads=threads, progress=progress), strict=True)
    return [Compared(*row) for row in rows]


def missed(found: Sequence[Compared]) -> list[str]:
    """Return the missed goals in words; empty if all are reached."""
    median, most = percentiles([one.percent for one in found])
    said = []
    if median > MOST_MEDIAN:
        said.append(f"half of the goodputs differ by more than {MOST_MEDIAN:g} % ({median:.1f} %)")
    if most > MOST_P90:
        said.append(f"a tenth of the goodputs by more than {MOST_P90:g} % ({most:.1f} %)")
    return said


def document(found: Sequence[Compared]) -> dict[str, Any]:
    """Return all results, for JSON."""
    differences = {
        "difference_percent": percentiles([one.percent for one in found]),
        "chance_percent": percentiles([one.chance for one in found]),
    }
    return {
        "goodputs": [
            {
                "case": one.case.id,
                "title": one.case.title,
                "usrsctp_bps": one.usrsctp,
                "sim_bps": one.simulator,
                "sim_other_seeds_bps": one.again,
            }
            for one in found
        ],
        **{name: {"median": values[0], "p90": values[1]} for name, values in differences.items()},
        "missed": missed(found),
    }
