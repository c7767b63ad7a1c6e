"""Plausible variations of the input, whose rates, delays, losses and queues are uncertain.

For each path, a variation has factors of rate, round trip and loss, evenly distributed over the
given range or ±20 %. It also has a queue, and a starting point in a recording or between two
handovers. Variations are the first points of a scrambled Sobol sequence, so that any number of them
fills the space evenly. A variation also has a seed and runs as the repetition of that seed
(`plait.scenarios.repetition`): all schedulers meet the same paths, losses and flow starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from plait import _core
from plait.advice.links import CODEL_TARGET_NS, SPREAD, KnownPath
from plait.scenarios.topology import Path
from plait.scenarios.units import NANOSECONDS, duration_ns, size_bytes

QUEUES = (0.5, 4.0)
"""Range of queues that the input does not give, in bandwidth-delay products of the path."""
FEWEST_QUEUED = 10
"""Minimum number of packets in such a queue."""
MOST = 64
"""Number of variations in a sequence."""
FACTORS = 5


@dataclass(frozen=True)
class Factors:
    """One path's point in a variation: factors of four amounts; queue and place from 0 to 1.

    Both rates of a path vary together, each within its own spread. Without a queue the path has the
    default of scenario files.
    """

    rate: float
    rtt: float
    loss: float
    back: float
    queue: float | None
    place: float


@dataclass(frozen=True)
class Variation:
    """One variation of all paths."""

    number: int
    seed: int
    factors: tuple[Factors, ...]


def nominal(paths: Sequence[KnownPath], seed: int) -> Variation:
    """Return the unchanged input; a recording starts at its beginning."""
    return Variation(-1, seed, tuple(Factors(1.0, 1.0, 1.0, 1.0, None, 0.0) for _ in paths))


def variations(paths: Sequence[KnownPath], seed: int, series: int = 0) -> list[Variation]:
    """Return `MOST` variations, evenly distributed; the same seed gives the same variations.

    Each series of a seed has other variations, with other seeds.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(series,) if series else ())
    rng = np.random.default_rng(sequence)
    points = qmc.Sobol(FACTORS * len(paths), rng=rng).random_base2(MOST.bit_length() - 1)
    seeds = sequence.generate_state(MOST)
    return [
        Variation(
            series * MOST + number,
            int(seeds[number]),
            tuple(_factors(path, row) for path, row in zip(paths, np.split(point, len(paths)), strict=True)),
        )
        for number, point in enumerate(points)
    ]


def _factors(path: KnownPath, row: np.ndarray) -> Factors:
    spreads = np.array([path.spread("rate"), path.spread("rtt"), path.spread("loss"), path.spread("back")])
    rate, rtt, loss, back = (float(value) for value in 1 + spreads * (2 * row[[0, 1, 2, 0]] - 1))
    return Factors(rate, rtt, loss, back, float(row[3]), float(row[4]))


def varied(
    path: KnownPath, factors: Factors, trace: str | None = None, back_trace: str | None = None
) -> Path:
    """Return a path of a variation; `trace` and `back_trace` are recordings from its place on."""
    return path.path(
        rate=factors.rate,
        rtt=factors.rtt,
        loss=factors.loss,
        back=factors.back,
        queue=None if factors.queue is None else queue(path, factors.queue),
        trace=trace,
        back_trace=back_trace,
        place=factors.place,
    )


def queue(path: KnownPath, place: float) -> str | None:
    """Return the queue at a place (0 to 1) of the plausible range; None for a discipline."""
    if path.discipline:
        return None
    if path.queue is not None:
        return _scaled(path.queue, 1 + SPREAD * (2 * place - 1))
    low, high = QUEUES
    share = low * (high / low) ** place
    return f"{max(round(path.bdp_packets() * share), FEWEST_QUEUED)}p"


def queue_ns(path: KnownPath) -> int:
    """Return the approximate time that a packet waits in a full queue."""
    text = queue(path, 0.5)
    if text is None:
        return CODEL_TARGET_NS
    if text in ("bdp", "infinite"):
        return path.rtt_ns
    if text.endswith("p"):
        amount = float(text[:-1]) * 1500
    else:
        try:
            return duration_ns(text)
        except _core.ScenarioError:
            amount = size_bytes(text)
    return round(amount * 8 * NANOSECONDS / path.mean_bps)


def _scaled(text: str, factor: float) -> str:
    """Return a given queue, scaled; `bdp` and `infinite` stay."""
    if text in ("bdp", "infinite"):
        return text
    if text.endswith("p"):
        return f"{max(round(float(text[:-1]) * factor), 1)}p"
    try:
        return f"{max(round(duration_ns(text) * factor), 1)}ns"
    except _core.ScenarioError:
        return f"{max(round(size_bytes(text) * factor), 1)}B"


def cut_recording(moments: NDArray[np.int64], place: float, length_ns: int, file: FilePath) -> None:
    """Write `length_ns` of a recording from `place` (0 to 1) on, continued at its beginning.

    The piece starts right after a delivery opportunity, so that the period is unchanged.
    """
    period = int(moments[-1])
    start = int(moments[min(int(place * len(moments)), len(moments) - 1)])
    turned = np.sort((moments - start - 1) % period + 1)
    kept = int(np.searchsorted(turned, length_ns / 1e6, side="right")) + 1
    file.write_text("\n".join(map(str, turned[:kept].tolist())) + "\n", encoding="utf-8")
