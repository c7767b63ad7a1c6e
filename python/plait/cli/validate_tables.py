"""Tables of `plait validate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from plait.cli.sheet import console
from plait.support.tables import Cell, Content, table

if TYPE_CHECKING:
    from plait.validate import ends, requests

WORST = 10
"""Number of lines of the table of largest differences."""


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def print_ends(compared: ends.Ends, found: Sequence[ends.Compared]) -> None:
    """Print the comparison of other ends with the simulator."""
    from plait.validate import ends

    worst = sorted(found, key=lambda one: -abs(one.percent))[:WORST]
    rows = [
        [
            one.case.id,
            one.scheduler,
            f"{one.engine / 1e6:.3g}",
            _signed(one.percent),
            _signed(one.chance),
            one.case.title,
        ]
        for one in worst
    ]
    headings = ("case", "scheduler", f"{compared.name} (Mbit/s)", "simulator (%)", "chance (%)", "what")
    print_table("Largest differences of goodput", headings, rows, (0, 1, 5))
    columns = [
        ends.percentiles([one.percent for one in found]),
        ends.percentiles([one.chance for one in found]),
    ]
    summary = [
        [word, *(f"{one[place]:.1f}" for one in columns), f"{goal:g}"]
        for place, (word, goal) in enumerate(
            (
                ("goodputs, half differ by at most (%)", compared.most_median),
                ("goodputs, nine in ten (%)", compared.most_p90),
            )
        )
    ]
    ranked = ends.rankings(found)
    if ranked[0].pairs:
        summary += [
            [
                "pairs of schedulers ranked alike (%)",
                *(f"{one.percent:.0f}" for one in ranked),
                f"{ends.LEAST_ALIKE:g}",
            ],
            ["of so many", *(str(one.pairs) for one in ranked), ""],
        ]
    count = len({one.case.id for one in found})
    title = f"{count} scenarios, {len(found)} goodputs"
    print_table(title, ("", f"simulator against {compared.name}", "against itself", "goal"), summary, (0,))


def print_requests(found: Sequence[requests.LatencyDifference]) -> None:
    """Print the comparison of latencies with the kernel's."""
    from plait.validate import requests

    rows = []
    for one in found:
        cells = [f"{one.percent(name):+.1f}".replace("-", "−") for name in requests.MEASURES]
        rows.append([one.case.scenario.name, one.case.scheduler, f"{one.kernel['mean']:.1f}", *cells])
    for heading, which in (("median", 0), ("90th percentile", 1)):
        cells = [f"{requests.percentiles(found, name)[which]:.1f}" for name in requests.MEASURES]
        rows.append([f"{heading} of differences", "", "", *cells])
    headings = ("case", "scheduler", "kernel, mean (ms)", "mean (%)", "median (%)", "90 % (%)")
    print_table("Latency of requests: simulator against kernel", headings, rows, (0, 1))


def print_table(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[Cell]], words: Sequence[int]
) -> None:
    """Print a table. `words` are the columns that are not numbers."""
    out = console()
    whole = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    out.print(table(Content(headings, whole, words), out.width, title=title))
