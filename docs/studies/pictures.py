"""Space-time diagrams: the same moment of the same small network with every scheduler."""

from __future__ import annotations

from matplotlib.figure import Figure

import plait
from studies.networks import FOLDER, schedulers

WINDOW = (5.0, 5.2)
SMALL = FOLDER / "small.toml"


def figures() -> dict[str, Figure]:
    """One per scheduler, by the file's name, and the one that shows the problem."""
    made = {}
    for name in schedulers():
        run = plait.run(SMALL, name, packets=True)
        title = f"{name}: {run.metrics['goodput_bps'] / 1e6:.2f} Mbit/s, {blocked(run):.0f} % of the packets wait"
        made[f"schedule-{name}"] = plait.plots.space_time(run, WINDOW, title=title)
    return made


def blocked(run: plait.Result) -> float:
    """How many percent of the packets wait at the receiver for an earlier one."""
    arrived = run.packets.drop_nulls(["arrived_ns", "delivered_ns"])
    return 100.0 * (arrived["delivered_ns"] > arrived["arrived_ns"]).sum() / len(arrived)
