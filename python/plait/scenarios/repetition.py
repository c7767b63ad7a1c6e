"""Repetitions of a scenario: runs with several seeds differ a little, in a repeatable way.

Where nothing is random, runs with other seeds would be the same run. Yet a tenth of a millisecond of
delay may decide which packet finds the last place in a queue, and with it the seconds that follow
(Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992). So a repetition has

- delays that differ from those written by at most `DELAY_SHARE`: one share per path and per shared
  link, for both directions and all `delay_steps`;
- flows that begin up to `START_NS` later than written, never after the run or after their `stop`.
  The connection begins as written, because goodput and completion times count from there.

The shares follow from the seed and the names of paths, links and flows by SHA-256. So all schedulers
of a repetition meet the same delays, on every engine. A path has the same share when it is run alone.

The scenario's own seed is the scenario as written. The statistics allow it: intervals of five
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
"""A delay differs from the written one by this share at most: by less than a ping tells."""
START_NS = 10_000_000
"""A flow begins this much later at most."""
BOUNDS = {"delay_share": DELAY_SHARE, "start_ns": START_NS}
"""Bounds of the perturbations, for datasets."""
MEANING = (
    f"each seed is a repetition, and the scenario's own seed is as written: delays of the others differ by up to "
    f"{100 * DELAY_SHARE:g} %, flows begin up to {START_NS / 1e6:g} ms later, alike for all schedulers"
)
"""The sentence about repetitions in tables and pages."""


@lru_cache(maxsize=256)
def perturbed(scenario: str, seed: int) -> str:
    """The repetition of this seed, as JSON; of the scenario's own seed the scenario as written.

    Args:
        scenario: canonical JSON, as `plait.scenarios.scenario.scenario_json` gives it.
        seed: of the run.
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
    """The same text for scenarios that differ in scheduler and seed alone: a digest of canonical JSON."""
    table = {key: value for key, value in json.loads(scenario).items() if key not in ("scheduler", "seed")}
    return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()


def _share(seed: int, kind: str, name: str) -> float:
    """From 0 to 1, evenly spread over seeds."""
    digest = hashlib.sha256(f"{seed} {kind} {name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def _with_delay(value: Any) -> Iterator[dict[str, Any]]:
    """The tables in a direction that have a delay: the direction itself, and its steps."""
    if isinstance(value, dict):
        if isinstance(value.get("delay"), str):
            yield value
        for inner in value.values():
            yield from _with_delay(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _with_delay(inner)
