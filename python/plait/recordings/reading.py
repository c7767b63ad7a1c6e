"""A recording as a result in the form of `plait run --out`, with a scenario of its links."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from plait import _core
from plait.recordings.links import measured
from plait.results.result import OWN, Result
from plait.scenarios.scenario import Scenario, from_table, parsed_scenario
from plait.scenarios.scheduler import override, parse_choice, schedulers

HEADERS = 67
"""Header bytes of the simulator's Multipath QUIC around payload, including UDP and IPv4."""
ESTIMATED = (
    "when packets arrived and were delivered is an estimate, as only the sender was recorded: the moment of the "
    "acknowledgement, less the receiver's wait, less half of the path's smallest round trip; delays, blocking "
    "and the receiver's buffer follow from it, and the links from the acknowledgements"
)
"""The warning of every recording."""
STREAMS = (
    "a recording of a proxy: the data that this end sent, on all its streams, without the other direction. Goodput is "
    "the demand, not the capacity of the paths"
)
"""The warning of a recording of streams."""
UNKNOWN = "nothing was acknowledged on any path, so nothing is known of the links"
"""The warning of a recording without any acknowledgement."""
LEAST_DURATION = 60.0
LONGEST = 10.0
"""A replay's end: this many seconds, or this many times the recorded duration, the larger one."""
UNLIMITED = 1_000_000
"""Limit of timeouts on all paths. Silence ends a transfer, not the number of timeouts."""
MOST_DURATION = 1e6
"""Maximum seconds of a replay."""


def read_recording(place: Path, own: Mapping[str, Any] | None = None) -> Result:
    """Return the result of a recording; `own` is the record of a custom scheduler.

    Raises:
        ScenarioError: the file is not a recording.
    """
    recording = _core.Recording(place)
    about = json.loads(recording.json)
    choice = override(named(about["scheduler"]))
    sent = pl.DataFrame(recording.transmissions())
    scenario = scenario_of(about, sent, place)
    job = _core.Job(parsed_scenario(scenario), scheduler=choice.built_in)
    warnings = [ESTIMATED] if about["file_bytes"] is not None else [ESTIMATED, STREAMS]
    if sent["acknowledged_ns"].null_count() == len(sent):
        warnings.append(UNKNOWN)
    if about["full"]:
        warnings.append(
            f"only the first {about['end_s']:.1f} s are in the recording, which is as long as one may be"
        )
    records = None if own is None else {OWN: own}
    return Result(recording.run(job), about["scheduler"] or None, job.scenario.json, records, warnings)


def named(scheduler: str) -> Any:
    """Return the built-in scheduler with this name.

    None for a custom scheduler, of which a recording has only the name.
    """
    built_in = {one["name"] for one in schedulers()}
    return parse_choice(scheduler) if re.split(r"[:+]", scheduler)[0] in built_in else None


def scenario_of(about: dict[str, Any], sent: pl.DataFrame, place: Path) -> Scenario:
    """Return the scenario of a recording's replay: the measured links and the used transport."""
    segment = about["segment_bytes"]
    names = path_names(about["paths"])
    paths = []
    for number, name in enumerate(names):
        own = sent.filter(pl.col("path") == number)
        link = measured(own, segment + HEADERS, segment, about["end_s"])
        terms = {"cost": about["costs"][number], "backup": about["backups"][number]}
        paths.append((link.table(name) if link else {"name": name, **_DEAD}) | terms)
    duration = min(max(LEAST_DURATION, LONGEST * about["end_s"]), MOST_DURATION)
    table = {
        "name": about["file"],
        "duration": f"{duration:.3f}s",
        "workload": {"kind": "file", "size": f"{_delivered(sent, about)}B"},
        "transport": transport(
            segment, about["window_bytes"], about["congestion"], names[about["initial_path"]]
        ),
        "path": paths,
    }
    return from_table(table, str(place))


def transport(segment: int, window: int, congestion: str, initial: str) -> dict[str, Any]:
    """Return a transport with `segment` payload bytes per segment and a window in bytes."""
    return {
        "protocol": "mpquic",
        "packet": f"{segment + HEADERS}B",
        "receive_buffer": f"{window}B",
        "congestion_control": congestion,
        "hystart": True,
        "handshake": True,
        "initial_path": initial,
        "potentially_failed": True,
        "association_max_retransmissions": UNLIMITED,
        "rto_initial": "300ms",
        "rto_max": "1s",
    }


_DEAD: dict[str, Any] = {
    "rate": "1Mbit",
    "rtt": "100ms",
    "outages": [{"from": "0s", "to": "1000000s"}],
}
"""A path without any acknowledgement."""


def path_names(paths: list[str]) -> list[str]:
    """Return short names for local addresses: the interface of a bound address if it is unique."""
    interfaces = [path.partition("%")[2] for path in paths]
    return [
        interface if interface and interfaces.count(interface) == 1 else path
        for path, interface in zip(paths, interfaces, strict=True)
    ]


def _delivered(sent: pl.DataFrame, about: dict[str, Any]) -> int:
    """Return the payload bytes that arrived in order from the beginning.

    They are all bytes if the receiver confirmed the whole transfer.
    """
    came = sent if about["whole"] else sent.filter(pl.col("acknowledged_ns").is_not_null())
    came = came.unique("segment").sort("segment")
    in_order = came.with_row_index("place").filter(pl.col("place") == pl.col("segment"))
    return max(int(in_order["bytes"].sum()), 1)
