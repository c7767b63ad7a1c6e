"""Writes synthetic rates of the domain "radio links": `traces/radio-1.trace` to `radio-6.trace`.

They are not recordings: a link's rate is the exponential of a mean-reverting walk, a value per 50
ms, like the fading of a radio channel in motion. Links differ in the speed and the range of their
changes. Each file is a Mahimahi trace of 15 s, which repeats. The files are the same on every
machine: `random.Random` and arithmetic that libraries do not change.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

TRACES = Path(__file__).resolve().parent / "traces"
PACKET = 1504 * 8
"""Bits of one transmission opportunity in Mahimahi."""
SECONDS = 15
STEP = 0.05
LINKS = {
    1: (3.0, 0.3, 4.0),
    2: (6.0, 0.5, 2.0),
    3: (4.0, 0.8, 1.0),
    4: (8.0, 0.4, 0.5),
    5: (2.0, 0.6, 2.0),
    6: (5.0, 1.0, 0.3),
}
"""By number: median rate in Mbit/s, standard deviation of its logarithm, correlation time in
seconds."""


def trace(number: int) -> str:
    """Return the file of a link: a line per transmission opportunity, with its time in ms."""
    return "".join(f"{moment}\n" for moment in _moments(number))


def _moments(number: int) -> Iterator[int]:
    median, deviation, memory = LINKS[number]
    source = random.Random(number)
    keep = math.exp(-STEP / memory)
    level = source.gauss(0.0, deviation)
    sent = 0.0
    for step in range(round(SECONDS / STEP)):
        bits = median * 1e6 * math.exp(level) * STEP
        packets = bits / PACKET
        begin = math.floor(sent)
        sent += packets
        for index in range(begin, math.floor(sent)):
            share = (index + 1 - (sent - packets)) / packets
            yield max(1, round(1000 * STEP * (step + min(share, 1.0))))
        level = keep * level + math.sqrt(1 - keep**2) * source.gauss(0.0, deviation)


if __name__ == "__main__":
    TRACES.mkdir(exist_ok=True)
    for one in LINKS:
        (TRACES / f"radio-{one}.trace").write_text(trace(one), encoding="utf-8")
