"""Tables of `plait validate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from plait.cli.output import console
from plait.support.tables import Cell, Content, table

if TYPE_CHECKING:
    from plait.validate import quic, requests, usrsctp

WORST = 10
"""Number of lines of the table of largest differences."""


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def print_usrsctp(found: Sequence[usrsctp.Compared]) -> None:
    """Print the comparison of FreeBSD's stack with the simulator."""
    from plait.validate import usrsctp
    from plait.validate.quic import percentiles

    worst = sorted(found, key=lambda one: -abs(one.percent))[:WORST]
    rows = [
        [one.case.id, f"{one.usrsctp / 1e6:.3g}", _signed(one.percent), _signed(one.chance), one.case.title]
        for one in worst
    ]
    headings = ("case", "usrsctp (Mbit/s)", "simulator (%)", "chance (%)", "what")
    print_table("Largest differences of goodput", headings, rows, (0, 4))
    engines = percentiles([one.percent for one in found])
    chance = percentiles([one.chance for one in found])
    words = ("half differ by at most (%)", "nine in ten (%)")
    goals = (usrsctp.MOST_MEDIAN, usrsctp.MOST_P90)
    summary = [
        [word, f"{one:.1f}", f"{other:.1f}", f"{goal:g}"]
        for word, one, other, goal in zip(words, engines, chance, goals, strict=True)
    ]
    title = f"{len(found)} scenarios"
    print_table(title, ("goodputs", "simulator against usrsctp", "against itself", "goal"), summary, (0,))


def print_quic(found: Sequence[quic.Compared]) -> None:
    """Print the comparison of QUIC connections with the simulator."""
    from plait.validate import quic

    worst = sorted(found, key=lambda one: -abs(one.percent))[:WORST]
    rows = [
        [
            one.case.id,
            one.scheduler,
            f"{one.quic / 1e6:.3g}",
            _signed(one.percent),
            _signed(one.chance),
            one.case.title,
        ]
        for one in worst
    ]
    headings = ("case", "scheduler", "QUIC (Mbit/s)", "simulator (%)", "chance (%)", "what")
    print_table("Largest differences of goodput", headings, rows, (0, 1, 5))
    engines = quic.percentiles([one.percent for one in found])
    chance = quic.percentiles([one.chance for one in found])
    ranked = quic.rankings(found)
    summary = [
        [
            "goodputs, half differ by at most (%)",
            *(f"{one[0]:.1f}" for one in (engines, chance)),
            f"{quic.MOST_MEDIAN:g}",
        ],
        ["goodputs, nine in ten (%)", *(f"{one[1]:.1f}" for one in (engines, chance)), f"{quic.MOST_P90:g}"],
        [
            "pairs of schedulers ranked alike (%)",
            *(f"{one.percent:.0f}" for one in ranked),
            f"{quic.LEAST_ALIKE:g}",
        ],
        ["of so many", *(str(one.pairs) for one in ranked), ""],
    ]
    count = len({one.case.id for one in found})
    title = f"{count} scenarios, {len(found)} goodputs"
    print_table(title, ("", "simulator against QUIC", "against itself", "goal"), summary, (0,))


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
