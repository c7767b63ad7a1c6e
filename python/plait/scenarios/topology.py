"""Paths, and the links that they share.

A dataclass orders inherited fields from its last base to its first. `Path` has four bases, so that
its fields have the order of the keys in the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plait.scenarios.keys import keyed
from plait.scenarios.tables import Table
from plait.scenarios.units import Duration, Rate


@dataclass(frozen=True, kw_only=True)
class _Named:
    name: str | None


@dataclass(frozen=True, kw_only=True)
class _Rate:
    """The rate, and values that change with time."""

    rate: Rate | None = None
    rate_steps: Sequence[Table] | str | None = None
    delay_steps: Sequence[Table] | str | None = None
    loss_steps: Sequence[Table] | str | None = None
    queue_steps: Sequence[Table] | str | None = None
    repeat: Duration | None = None


@dataclass(frozen=True, kw_only=True)
class _RoundTrip:
    rtt: Duration | None = None


@dataclass(frozen=True, kw_only=True)
class _Wire:
    """Delay, queue, and the fates of packets."""

    delay: Duration | None = None
    queue: str | None = None
    discipline: str | Table | None = None
    loss: str | Table | None = None
    duplicate: str | Table | None = None
    jitter: Duration | Table | None = None
    reorder: bool | None = None
    outages: Table | Sequence[Table] | None = None
    trace: str | None = None


@keyed("forward, backward", "[[path]]")
@dataclass(frozen=True, kw_only=True)
class Direction(_Wire, _Rate):
    """One direction of a path or a link; missing values are those of the path or link."""


@keyed("[[path]]")
@dataclass(frozen=True, kw_only=True)
class Path(_Wire, _RoundTrip, _Rate, _Named):
    """One path between sender and receiver.

    `rtt` is half each way, `delay` one way. `queue` is text: ``"50p"`` (packets), ``"64kB"``,
    ``"100ms"``, ``"bdp"`` or ``"infinite"``. The default is one bandwidth-delay product, ``"bdp"``.
    `discipline` is ``"codel"``, ``"fq-codel"`` or a table with more than the name, such as
    ``{"name": "codel", "target": "20ms"}``. The default is drop-tail. `trace` names a Mahimahi
    file. Loss, copies (`duplicate`), jitter and trace apply to the data's direction only.
    `rate_steps` change the rate, ``[{"at": "10s", "rate": "2Mbit"}]``. `delay_steps`, `loss_steps`
    and `queue_steps` have the same form; text names a file with a step per line. All steps start
    again after `repeat`. Packets overtake each other only if `reorder` is True.

    `links` names links that others share. Packets pass them after the path's own wire, and in
    reverse order backward. A path that consists of links alone has no values of a wire.
    """

    name: str | None = None
    forward: Direction | None = None
    backward: Direction | None = None
    links: Sequence[str] | None = None
    backup: bool | None = None
    cost: int | None = None
    weight: int | None = None


@keyed("[[link]]", "[[path]]")
@dataclass(frozen=True, kw_only=True)
class Link(_Wire, _Rate, _Named):
    """A link that paths and flows share: they meet in its queue and divide its capacity.

    `delay` is one way, by default 0. All other values are as in a `Path`. Without a rate of its
    own, a link has only the given directions, and packets in the other direction pass it
    unhindered.
    """

    name: str
    forward: Direction | None = None
    backward: Direction | None = None
