"""Random links and traffic, in the words of a user of `plait advise`."""

from __future__ import annotations

import math
import re
from pathlib import Path
from random import Random
from typing import Any

from plait.scenarios.presets import PRESETS

TRAFFIC = (
    "bulk",
    "bulk",
    "bulk",
    "blocks:500kbit",
    "blocks:2Mbit:20kB",
    "file:200kB",
    "file:2MB",
    "request-response",
    "request-response:2kB:20",
    "request-response:200kB:3",
    "flows:4:1MB",
    "flows:20",
    "flows:60:50kB",
    "blocks:500kbit+upload",
    "request-response+download",
)
METRICS = {
    "bulk": ("goodput", "goodput", "p95", "p99"),
    "blocks": ("p95", "p99", "mean"),
    "file": ("time",),
    "request-response": ("p95", "p50", "p99"),
    "flows": ("p95", "p50", "mean", "max"),
}
PERIOD_MS = 4000


def said(random: Random, folder: Path) -> dict[str, Any]:
    """Return random arguments of `plait.advise`.

    There are one to five paths with jitter, losses, bursts or recordings, in one or both
    directions.
    """
    count = random.choice((1, 2, 2, 2, 2, 3, 4, 5))
    traffic = random.choice(TRAFFIC)
    return {
        "paths": [path(f"p{number}", random, folder) for number in range(1, count + 1)],
        "traffic": traffic,
        "metric": random.choice(METRICS[re.split("[:+]", traffic)[0]]),
        "direction": "up" if random.random() < 0.2 and not traffic.startswith("request") else "down",
        "receive_buffer": random.choice(("6MiB", "6MiB", "1MB", "256kB", "64kB")),
        "seed": random.randrange(1000),
        "congestion": random.choice(("cubic", "cubic", "bbr")),
    }


def path(name: str, random: Random, folder: Path) -> str:
    """Return the description of one path."""
    if random.random() < 0.1:
        return f"{name} preset={random.choice(list(PRESETS))}"
    mbit = math.exp(random.uniform(math.log(1), math.log(60)))
    rtt = math.exp(random.uniform(math.log(8), math.log(250)))
    words = [name]
    if random.random() < 0.15:
        file = folder / f"{name}-{random.randrange(10**9)}.trace"
        _record(file, mbit, random)
        words.append(f"trace={file}")
    else:
        words.append(f"{mbit:.1f}Mbit" if random.random() < 0.8 else f"rate={mbit:.1f}-{1.8 * mbit:.1f}Mbit")
    words.append(f"{rtt:.0f}ms" if random.random() < 0.8 else f"rtt={rtt:.0f}-{2 * rtt:.0f}ms")
    if random.random() < 0.5:
        share = math.exp(random.uniform(math.log(0.005), math.log(3)))
        burst = random.random() < 0.4
        words.append(f"loss=burst:{share:.3f}%:{random.randint(2, 30)}" if burst else f"{share:.3f}%")
    elif random.random() < 0.1:
        words.append(
            f"loss=every:{random.randint(3, 15)}s:{random.randint(20, 300)}ms:{random.randint(20, 100)}%"
        )
    if random.random() < 0.3:
        words.append(f"jitter={rtt * random.uniform(0.02, 0.3):.1f}ms")
    if random.random() < 0.4:
        words.append(f"back={mbit * random.uniform(0.05, 1):.2f}Mbit")
    if random.random() < 0.4:
        words.append(random.choice(("queue=20p", "queue=200p", "queue=bdp", "queue=100ms", "queue=fq_codel")))
    if random.random() < 0.1:
        words.append(random.choice(("cost=2", "cap=20GB")))
    return " ".join(words)


def _record(file: Path, mbit: float, random: Random) -> None:
    """Write a trace of a rate that varies slowly."""
    moments: list[int] = []
    level, owed = 1.0, 0.0
    for moment in range(1, PERIOD_MS + 1):
        level = min(max(level + random.uniform(-0.02, 0.02), 0.3), 2.0)
        owed += level * mbit * 1e3 / 12_000
        moments += [moment] * int(owed)
        owed -= int(owed)
    file.write_text("\n".join(map(str, [*moments, PERIOD_MS])) + "\n", encoding="utf-8")
