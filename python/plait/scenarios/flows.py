"""Traffic that competes with the connection: a class for each kind of ``[[flow]]``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from plait.scenarios.keys import keyed
from plait.scenarios.tables import Table
from plait.scenarios.units import Duration, Rate, Size


@dataclass(frozen=True, kw_only=True)
class _Flow:
    name: str | None = None
    direction: Literal["forward", "backward"] | None = None
    start: Duration | None = None
    stop: Duration | None = None


@dataclass(frozen=True, kw_only=True)
class _OneRoute(_Flow):
    path: str | None = None
    links: Sequence[str] | None = None


@keyed('[[flow]] kind = "tcp"')
@dataclass(frozen=True, kw_only=True)
class TcpFlow(_OneRoute):
    """A competing reliable stream over the route of `path`, or over `links`.

    Without a `size`, it does not end. Backward data flows against the connection's data, beside the
    acknowledgements. From `stop` on the flow is silent. `congestion_control` is its own,
    ``"newreno"`` or ``"cubic"``; the default is the transport's.
    """

    size: Size | None = None
    congestion_control: str | None = None
    kind: Literal["tcp"] = field(default="tcp", init=False)


@keyed('[[flow]] kind = "multipath"')
@dataclass(frozen=True, kw_only=True)
class MultipathFlow(_Flow):
    """A second connection with the scenario's transport, by default over all paths.

    Without a `size`, it does not end. `scheduler` names a built-in scheduler, `congestion_control`
    an algorithm of the transport; None means the scenario's. A run that ends with its workload also
    waits for flows with a `size` and without a `stop`.
    """

    paths: Sequence[str] | None = None
    scheduler: str | Table | None = None
    size: Size | None = None
    congestion_control: str | None = None
    kind: Literal["multipath"] = field(default="multipath", init=False)


@keyed('[[flow]] kind = "cbr"')
@dataclass(frozen=True, kw_only=True)
class ConstantRateFlow(_OneRoute):
    """Datagrams at equal intervals; `rate` and `packet` count on the wire.

    The default of `packet` is the transport's.
    """

    rate: Rate
    packet: Size | None = None
    kind: Literal["cbr"] = field(default="cbr", init=False)


@keyed('[[flow]] kind = "on-off"')
@dataclass(frozen=True, kw_only=True)
class OnOffFlow(_OneRoute):
    """Datagrams at `rate` during random on times of mean `on`, none during off times of mean `off`.

    Times are exponentially or Pareto distributed, the latter with `shape` (by default 1.5).
    """

    rate: Rate
    on: Duration
    off: Duration
    distribution: Literal["exponential", "pareto"] | None = None
    shape: float | None = None
    packet: Size | None = None
    kind: Literal["on-off"] = field(default="on-off", init=False)


Flow = TcpFlow | MultipathFlow | ConstantRateFlow | OnOffFlow
"""Traffic that competes with the connection."""
FLOWS: dict[str, Callable[..., Flow]] = {cls.kind: cls for cls in get_args(Flow)}
"""Classes by their kind in a scenario file."""
