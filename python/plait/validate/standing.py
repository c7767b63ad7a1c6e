"""What stands out of the engines' own counters, so that a difference can be traced to a mechanism."""

from __future__ import annotations

from plait.validate.agreement import Agreement
from plait.validate.metrics import MECHANISMS, Mechanism

FEW = 3.0
"""Events per run: less is not worth telling."""
APART = 0.5
"""Counters differ if they are so far apart, of the larger one."""
MOST = 5
"""Counters told of a row."""


def counts(found: Agreement, case: str, scheduler: str, one: Mechanism) -> tuple[float, float | None]:
    """How often it happened, in the mean per run: in the kernel, and in the simulator if it counts it."""

    def mean(engine: str, name: str) -> float | None:
        side = found.side(case, scheduler, engine, name)
        if side is None:
            return None
        # A counter that is 0 in a run is not among that run's counters.
        runs = found.side(case, scheduler, engine, "goodput_bps")
        return side.mean * side.runs / runs.runs if runs is not None else side.mean

    kernel = sum(mean("linux", name) or 0.0 for name in one.kernel)
    simulated = (mean("sim", name) for name in one.simulator)
    return kernel, next((value for value in simulated if value is not None), None)


def stands_out(found: Agreement, case: str, scheduler: str) -> list[str]:
    """What the kernel counted and the simulator counted differently, or does not count, the most frequent first."""
    told: list[tuple[float, str]] = []
    for one in MECHANISMS:
        kernel, simulator = counts(found, case, scheduler, one)
        if simulator is None:
            if one.telling and kernel >= FEW:
                told.append((0.0, f"{one.heading} {kernel:.0f} / –"))
        elif abs(kernel - simulator) >= max(FEW, APART * max(kernel, simulator)):
            told.append((abs(kernel - simulator), f"{one.heading} {kernel:.0f} / {simulator:.0f}"))
    # Those that differ before those that nobody can compare.
    return [text for _, text in sorted(told, key=lambda each: -each[0])[:MOST]]
