"""Transfers over random links, recorded and repeated in the simulator: the error of the replays.

``python benches/links/replays.py [--cases N] [--seed S] [--program target/release/plait-quic]``, as
any user with the right to create namespaces.

A case is drawn: one to three links of 2 to 100 Mbit/s and 5 to 150 ms, with queues of 0.5 to 3
bandwidth-delay products, some with losses; a file that takes some seconds; and a scheduler.
`plait-quic send --record` sends the file inside of `plait link`. `plait replay` knows only the
recording. For comparison, the drawn links themselves are simulated too. Both errors include chance,
effects of the machine, and differences between simulator and sockets.

Every line is JSON. The last one has medians and 90th percentiles of absolute values.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from near import Near, over_links, say

from plait.engines.names import EngineName
from plait.recordings.links import measured
from plait.recordings.reading import HEADERS, transport
from plait.recordings.replay import Difference, differences, replay
from plait.results.recorded import read_results
from plait.results.result import Result
from plait.runs.run import Task, run_tasks
from plait.scenarios.scenario import from_table
from plait.validate.replays import known_to_sender

SEGMENT = 1153
"""Payload bytes of a full segment of `plait-quic` at its usual MTU."""
SCHEDULERS = ("lowest-rtt", "round-robin", "blest", "ecf")
SHARE, GOODPUT = "share of the received data", "goodput"


@dataclass(frozen=True)
class Case:
    """Links as scenario text and as tables, the scheduler, and the file size."""

    text: str
    paths: list[dict[str, Any]]
    scheduler: str
    megabytes: float


@dataclass(frozen=True)
class Happened:
    """The original run, its replay, a simulation of the drawn links, and the links as measured."""

    happened: Result
    replayed: Result
    drawn: Result
    seen: list[dict[str, Any]]


def draw(chance: random.Random, seconds: float) -> Case:
    """Draw a case whose file takes this many seconds at the links' rates."""

    def log(least: float, most: float) -> float:
        return least * (most / least) ** chance.random()

    text, paths, lossy = "", list[dict[str, Any]](), chance.random() < 0.4
    rates = [log(2, 100) for _ in range(chance.choice((1, 2, 2, 2, 3)))]
    for number, rate in enumerate(rates):
        rtt = log(5, 150)
        path = {"name": f"p{number}", "rate": f"{rate:.3g}Mbit", "rtt": f"{rtt:.3g}ms"}
        path["queue"] = f"{max(20, round(log(0.5, 3) * rate * rtt / 10))}p"
        if lossy and chance.random() < 0.7:
            path["loss"] = f"{log(0.02, 1):.2g}%"
        text += "[[path]]\n" + "".join(f'{key} = "{value}"\n' for key, value in path.items())
        paths.append(path)
    return Case(text, paths, chance.choice(SCHEDULERS), round(sum(rates) * seconds / 8, 2))


def near_replays(near: Near) -> None:
    """Record one transfer. Each path is given by its interface."""
    task = near.task
    links = [word for number in range(task["paths"]) for word in ("--interface", f"p{number}")]
    more = ["--scheduler", task["scheduler"], "--record", task["record"]]
    say(**near.transfer(task["megabytes"], *links, *more))


def over_sockets(case: Case, program: Path) -> Happened | None:
    """Run a transfer inside of `plait link`, and replay its recording. Return None if it failed."""
    with tempfile.TemporaryDirectory(prefix="plait-replays-") as folder:
        task = {
            "near": "replays",
            "program": str(program.resolve()),
            "scheduler": case.scheduler,
            "megabytes": case.megabytes,
            "mtu": "1232",
            "paths": len(case.paths),
            "record": f"{folder}/recorded",
        }
        (came,) = over_links(case.text, task, Path(folder))
        if "error" in came:
            return None
        (recorded,) = read_results(Path(task["record"]))
    table = json.loads(recorded.scenario_json or "{}")
    drawn = simulated(table | {"path": case.paths}, case.scheduler)
    return Happened(recorded, replay(recorded)[0], drawn, table["path"])


def in_virtual_time(case: Case) -> Happened:
    """Run a transfer over QUIC on simulated links, and replay the sender's knowledge of them."""
    table = {
        "duration": "120s",
        "workload": {"kind": "file", "size": f"{round(case.megabytes * 1e6)}B"},
        "transport": transport(SEGMENT, 16 << 20, "cubic", "p0"),
    }
    happened = simulated(table | {"path": case.paths}, case.scheduler, "quic")
    end, seen = happened.metrics["measured_s"], []
    for number, path in enumerate(case.paths):
        sent = known_to_sender(happened, number, float(path["rtt"].removesuffix("ms")) * 5e5)
        link = measured(sent, SEGMENT + HEADERS, SEGMENT, end)
        seen.append(path if link is None else link.table(path["name"]))
    runs = (simulated(table | {"path": paths, "seed": 2}, case.scheduler) for paths in (seen, case.paths))
    return Happened(happened, *runs, from_table(table | {"path": seen}).to_dict()["path"])


def simulated(table: dict[str, Any], scheduler: str, engine: EngineName = "sim") -> Result:
    """Run a scenario, and keep its packets."""
    task = Task(scenario=from_table(table, "replays"), scheduler=scheduler, packets=True)
    return run_tasks([task], progress=lambda _share: None, engine=engine)[0]


def told(found: list[Difference]) -> dict[str, float]:
    """Return goodput's difference in percent, and the largest of the paths' shares in points."""
    shares = [abs(one.difference or 0.0) for one in found if one.what.endswith(SHARE)]
    return {GOODPUT: found[0].difference or 0.0, "share": max(shares)}


def main() -> None:
    if sys.argv[1:2] == ["--near"]:
        return near_replays(Near(json.loads(Path(sys.argv[2]).read_text())))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5, help="what a file takes at the links' rates")
    parser.add_argument("--program", type=Path, default=Path("target/release/plait-quic"))
    parser.add_argument("--virtual", action="store_true", help="without sockets, in virtual time")
    options = parser.parse_args()
    chance, rows = random.Random(options.seed), list[dict[str, dict[str, float]]]()
    for number in range(1, options.cases + 1):
        case = draw(chance, options.seconds)
        came = in_virtual_time(case) if options.virtual else over_sockets(case, options.program)
        if came is None:
            continue
        again = {"replay": came.replayed, "drawn": came.drawn}
        rows.append({kind: told(differences(came.happened, run)) for kind, run in again.items()})
        keys = ("rate", "delay", "queue", "loss", "outages")
        seen = [{key: one["forward"][key] for key in keys if key in one["forward"]} for one in came.seen]
        say(case=number, scheduler=case.scheduler, **rows[-1], links=case.paths, seen=seen)
    for kind in ("replay", "drawn"):
        sizes = {name: np.abs([row[kind][name] for row in rows]) for name in (GOODPUT, "share")}
        summary = {
            name: {"median": float(np.median(one)), "p90": float(np.percentile(one, 90))}
            for name, one in sizes.items()
        }
        say(kind=kind, cases=len(rows), load=os.getloadavg()[2], **summary)
    return None


if __name__ == "__main__":
    main()
