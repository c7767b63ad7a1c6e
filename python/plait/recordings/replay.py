"""Replay of a recorded transfer in the simulator, and its difference from the original."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from plait._core import ScenarioError
from plait.engines.names import EngineName
from plait.recordings.reading import named
from plait.results.result import Comparison, Result
from plait.runs.experiment import grid
from plait.runs.run import run_tasks
from plait.scenarios.scenario import from_table
from plait.scenarios.scheduler import Choice, label

ENGINE = "sockets"
"""The engine of a recorded transfer in results."""


@dataclass(frozen=True)
class Difference:
    """One number of a recorded transfer and of its replay.

    what: name of the number. unit: unit of both values. share: whether the values are percentages;
    their difference is then in points.
    """

    what: str
    unit: str
    recorded: float | None
    replayed: float | None
    share: bool = False

    @property
    def difference(self) -> float | None:
        """The replay's difference in percent of the original, or in points for shares.

        None if a value is missing.
        """
        if self.recorded is None or self.replayed is None:
            return None
        if self.share:
            return self.replayed - self.recorded
        return 100 * (self.replayed / self.recorded - 1) if self.recorded else None


def replay(
    recorded: Result,
    schedulers: Sequence[Choice] = (),
    *,
    seed: int | None = None,
    engine: EngineName = "sim",
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """Run a recorded transfer's scenario, first with its own scheduler, then with others.

    Args:
        recorded: the result of `plait.read_results` for a recording's folder.
        schedulers: the other schedulers, as `plait.compare` takes them; the first of all runs if
            the recorded scheduler is not built in.
        seed: seed of the losses and of all other random values; a whole number without a unit.
        engine: as for `plait.run`.
        threads: number of parallel runs; 0: one per core.
        progress: called with the completed share, from 0 to 1.

    Raises:
        ScenarioError: the result is not a recorded transfer, or bad input. RunError: a run failed.
    """
    if recorded.data["engine"] != ENGINE or recorded.scenario_json is None:
        message = f"{recorded.scenario}: a run of the engine {recorded.data['engine']}; expected a recorded transfer"
        raise ScenarioError(message)
    if recorded.data.get("recording", {}).get("file_bytes", 0) is None:
        message = (
            f"{recorded.scenario}: a proxy's recording lacks the writes of programs, so it cannot be run again; "
            "its links are a scenario (--scenario FILE)"
        )
        raise ScenarioError(message)
    first = named(recorded.scheduler)
    if first is None and not schedulers:
        message = f"{recorded.scheduler}: a recording has only its name; give it with --schedulers FILE:CLASS"
        raise ScenarioError(message)
    choices = [*([] if first is None else [first]), *schedulers]
    scenario = from_table(json.loads(recorded.scenario_json), recorded.scenario)
    others = [one for place, one in enumerate(choices) if place == 0 or label(one) != label(choices[0])]
    tasks = grid(scenario, others, [seed], packets=True, series="10ms", decisions=True)
    return Comparison(run_tasks(tasks, threads=threads, progress=progress, engine=engine))


def differences(recorded: Result, replayed: Result) -> list[Difference]:
    """Return a replay's differences: goodput, and each path's share, round trips and losses."""
    before, after = (result.metrics["goodput_bps"] / 1e6 for result in (recorded, replayed))
    found = [Difference("goodput", "Mbit/s", before, after)]
    both = [list(_paths(result)) for result in (recorded, replayed)]
    for name, one, other in zip(recorded.path_names, *both, strict=True):
        for (what, unit, share), was, would in zip(OF_PATHS, one, other, strict=True):
            found.append(Difference(f"{name}: {what}", unit, was, would, share))
    return found


OF_PATHS = (
    ("share of the received data", "%", True),
    ("round trip, median", "ms", False),
    ("round trip, p95", "ms", False),
    ("packets lost", "%", True),
)


def _paths(result: Result) -> Iterator[tuple[float | None, ...]]:
    """Yield the compared numbers of each path.

    A round-trip time is a packet's forward delay plus the shortest one as the way back. Losses are
    data packets that never arrived. The counters of a path include handshakes and probes, so they
    are not used here.
    """
    whole = sum(path["throughput_bps"] for path in result.paths)
    for number, path in enumerate(result.paths):
        packets = result.packets.filter(pl.col("path") == number)
        ways = packets.select(way=(pl.col("arrived_ns") - pl.col("sent_ns")) / 1e6)["way"].drop_nulls()
        trips = ways + (ways.min() or 0.0)
        yield (
            100 * (path["throughput_bps"] / whole) if whole else None,
            trips.quantile(0.5, "linear"),
            trips.quantile(0.95, "linear"),
            100 * ((len(packets) - len(ways)) / len(packets)) if len(packets) else None,
        )


def document(recorded: Result, runs: Comparison) -> dict[str, Any]:
    """Return both transfers and their differences, for JSON."""
    return {
        "recorded": recorded.data,
        "replayed": [{**run.data, "scheduler": run.scheduler} for run in runs],
        "differences": [
            {
                "what": one.what,
                "unit": one.unit,
                "recorded": one.recorded,
                "replayed": one.replayed,
                "difference": one.difference,
                "difference_unit": "points" if one.share else "%",
            }
            for one in differences(recorded, runs[0])
        ],
    }
