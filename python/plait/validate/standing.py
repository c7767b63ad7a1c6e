"""Notable differences of the engines' own counters, to trace a difference to a mechanism."""

from __future__ import annotations

from plait.validate.agreement import Agreement
from plait.validate.metrics import MECHANISMS, Mechanism

FEW = 3.0
"""Events per run below which a counter is not reported."""
APART = 0.5
"""Counters differ if they are this share of the larger one apart."""
MOST = 5
"""Maximum number of counters reported for a row."""


def counts(found: Agreement, case: str, scheduler: str, one: Mechanism) -> tuple[float, float | None]:
    """Return the mean count per run: in the kernel, and in the simulator if it counts the event."""

    def mean(engine: str, name: str) -> float | None:
        side = found.side(case, scheduler, engine, name)
        if side is None:
            return None
        # A counter that is 0 in a run is missing among that run's counters.
        runs = found.side(case, scheduler, engine, "goodput_bps")
        return side.mean * side.runs / runs.runs if runs is not None else side.mean

    kernel = sum(mean("linux", name) or 0.0 for name in one.kernel)
    simulated = (mean("sim", name) for name in one.simulator)
    return kernel, next((value for value in simulated if value is not None), None)


def stands_out(found: Agreement, case: str, scheduler: str) -> list[str]:
    """Return the events that the simulator counts differently or not at all.

    The largest difference comes first.
    """
    told: list[tuple[float, str]] = []
    for one in MECHANISMS:
        kernel, simulator = counts(found, case, scheduler, one)
        if simulator is None:
            if one.telling and kernel >= FEW:
                told.append((0.0, f"{one.heading} {kernel:.0f} / –"))
        elif abs(kernel - simulator) >= max(FEW, APART * max(kernel, simulator)):
            told.append((abs(kernel - simulator), f"{one.heading} {kernel:.0f} / {simulator:.0f}"))
    # Counters that only the kernel has come last.
    return [text for _, text in sorted(told, key=lambda each: -each[0])[:MOST]]
