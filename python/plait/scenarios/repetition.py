"""Repetitions of a scenario: runs with several seeds differ slightly, in a repeatable way.

Without randomness, runs with other seeds would be the same run. Yet a tenth of a millisecond of
delay may decide which packet gets the last place in a queue, and so change the following seconds
(Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992). A repetition
therefore has:

- Delays that differ from the given ones by at most `DELAY_SHARE`: one share per path and per shared
  link, for both directions and all `delay_steps`.
- Flows that begin up to `START_NS` later than given, but never after the run or after their `stop`.
  The connection begins as given, because goodput and completion times count from there.

The shares follow from the seed and the names of paths, links and flows by SHA-256. So all
schedulers of a repetition meet the same delays, on every engine. A path has the same share if it is
run alone.

The scenario's own seed gives the unchanged scenario. The statistics allow it: intervals of five
repetitions contain the mean of many as often with it as without it (docs/sweeps.md).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from plait.scenarios.units import duration_ns

DELAY_SHARE = 0.005
"""Maximum relative difference of a delay: smaller than the resolution of ping."""
START_NS = 10_000_000
"""Maximum delay of a flow's start."""
BOUNDS = {"delay_share": DELAY_SHARE, "start_ns": START_NS}
"""Bounds of the perturbations, for datasets."""
MEANING = (
    f"each seed is a repetition: delays differ from the scenario's by up to {100 * DELAY_SHARE:g} %, and flows begin "
    f"up to {START_NS / 1e6:g} ms later, alike for all schedulers; the scenario's own seed runs unchanged"
)
"""The sentence about repetitions in tables and pages."""


@lru_cache(maxsize=256)
def perturbed(scenario: str, seed: int) -> str:
    """Return the repetition of a seed, as JSON; the scenario's own seed gives it unchanged.

    Args:
        scenario: canonical JSON.
        seed: seed of the run.
    """
    document = json.loads(scenario)
    if seed == document["seed"]:
        return scenario
    for kind in ("path", "link"):
        for one in document.get(kind, []):
            factor = 1 + DELAY_SHARE * (2 * _share(seed, kind, one["name"]) - 1)
            for direction in ("forward", "backward"):
                for table in _with_delay(one.get(direction)):
                    table["delay"] = f"{round(duration_ns(table['delay']) * factor)}ns"
    for flow in document.get("flow", []):
        start = duration_ns(flow["start"])
        end = min(duration_ns(flow.get("stop", document["duration"])), duration_ns(document["duration"]))
        later = int(_share(seed, "flow", flow["name"]) * min(START_NS, end - start))
        flow["start"] = f"{start + later}ns"
    return json.dumps(document)


def identical_note(seeds: int, *, perturb: bool) -> str:
    """The note that repetitions are identical, with the reason and the consequence."""
    why = "although they were perturbed" if perturb else "nothing is random, and they were not perturbed"
    return f"the {seeds} repetitions are identical ({why}): they count as one, and there are no intervals"


@lru_cache(maxsize=256)
def network_of(scenario: str) -> str:
    """Return a digest that is equal for scenarios differing only in scheduler and seed."""
    table = {key: value for key, value in json.loads(scenario).items() if key not in ("scheduler", "seed")}
    return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()


def _share(seed: int, kind: str, name: str) -> float:
    """Return a number from 0 to 1 that is uniform over seeds."""
    digest = hashlib.sha256(f"{seed} {kind} {name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def _with_delay(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the tables with a delay in a direction: the direction itself, and its steps."""
    if isinstance(value, dict):
        if isinstance(value.get("delay"), str):
            yield value
        for inner in value.values():
            yield from _with_delay(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _with_delay(inner)
