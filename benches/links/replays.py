"""Transfers over random links, recorded and run again in the simulator: how far the replays are from what happened.

``python benches/links/replays.py [--cases N] [--seed S] [--program target/release/plait-quic]``, as any user who may
have namespaces. A case is drawn: one to three links of 2 to 100 Mbit/s and 5 to 150 ms, with queues of half a
bandwidth-delay product to three, a part of them with losses, a file that takes some seconds, and a scheduler.
`plait-quic send --record` sends it inside of `plait link`; what `plait replay` knows is the recording. Beside its
difference stands that of a simulation of the very links that were drawn: what is chance, what the machine does, and
what the simulator and sockets differ by is in both.

Every line is one of JSON; the last one has medians and 90th percentiles, without signs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from transfers import Near, over_links, say

from plait.recordings.replay import Difference, differences, replay
from plait.results.recorded import read_results
from plait.results.result import Result
from plait.runs.run import Task, run_tasks
from plait.scenarios.scenario import from_table

SCHEDULERS = ("lowest-rtt", "round-robin", "blest", "ecf")
SHARE, GOODPUT = "share of what arrived", "goodput"


def draw(chance: random.Random) -> tuple[str, list[dict[str, Any]], float]:
    """The links of a case as a scenario file has them, as tables, and what they carry together in Mbit/s."""

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
    return text, paths, sum(rates)


def near_replays(near: Near) -> None:
    """One transfer, recorded; each path by its interface."""
    task = near.task
    links = [word for number in range(task["paths"]) for word in ("--interface", f"p{number}")]
    more = ["--scheduler", task["scheduler"], "--record", task["record"]]
    say(**near.transfer(task["megabytes"], *links, *more))


def as_drawn(recorded: Result, paths: list[dict[str, Any]]) -> Result:
    """The same transfer simulated on the links that there were, of which a recording knows nothing."""
    scenario = from_table(json.loads(recorded.scenario_json or "{}") | {"path": paths}, "drawn")
    task = Task(scenario=scenario, scheduler=recorded.scheduler, packets=True)
    return run_tasks([task], progress=lambda _share: None)[0]


def told(found: list[Difference]) -> dict[str, float]:
    """Goodput's difference in per cent, and the largest one of a path's share in points."""
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
    options = parser.parse_args()
    chance, rows = random.Random(options.seed), list[dict[str, dict[str, float]]]()
    for case in range(1, options.cases + 1):
        text, paths, total = draw(chance)
        with tempfile.TemporaryDirectory(prefix="plait-replays-") as folder:
            task = {
                "near": "replays",
                "program": str(options.program.resolve()),
                "scheduler": chance.choice(SCHEDULERS),
                "megabytes": round(total * options.seconds / 8, 2),
                "mtu": "1232",
                "paths": len(paths),
                "record": f"{folder}/recorded",
            }
            (came,) = over_links(text, task, Path(folder), this=__file__)
            if "error" in came:
                continue
            (recorded,) = read_results(Path(task["record"]))
        found = {
            "replay": told(differences(recorded, replay(recorded)[0])),
            "drawn": told(differences(recorded, as_drawn(recorded, paths))),
        }
        rows.append(found)
        seen = json.loads(recorded.scenario_json or "{}")["path"]
        keys = ("rate", "delay", "queue", "loss", "outages")
        shown = [{key: one["forward"][key] for key in keys if key in one["forward"]} for one in seen]
        say(case=case, scheduler=task["scheduler"], **found, links=paths, seen=shown)
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
