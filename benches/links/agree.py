"""The same files over the same links three times: simulated, over QUIC connections in virtual time, and over sockets.

``python benches/links/agree.py [--cases N] [--seed S] [--program target/release/plait-quic]``, as any user who may
have namespaces, on a machine that does nothing else. A case is drawn: one to three links, a file that takes up to
some seconds, and schedulers. `plait-quic` sends it inside of `plait link`, three times with each; the engines `sim` and
`quic` run the same with Multipath QUIC and five seeds. What counts is the mean goodput less the opening, which is what
a file of one byte takes on the same links; the engines begin with open paths.

Every line is one of JSON; the last ones have how far the goodputs are apart, and how many pairs of schedulers that are
more than 5 % apart over sockets, and by more than noise, are ranked alike.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import stats
from transfers import Near, over_links, say

import plait

SCHEDULERS = ("lowest-rtt", "round-robin", "blest", "ecf", "redundant")
SEEDS = 5
MTU = 1232
SEGMENT = 1153
"""Payload bytes of a full segment of `plait-quic` at this MTU."""
PACKET = SEGMENT + 67
"""What the simulator's Multipath QUIC makes of it on the wire."""
TRANSPORT = f"""protocol = "mpquic"
packet = "{PACKET}B"
receive_buffer = "16MiB"
congestion_control = "cubic"
hystart = true
handshake = false
potentially_failed = true
rto_initial = "300ms"
rto_max = "1s"
"""
"""What `plait-quic` has set (crates/plait-quic/src/settings.rs), with paths that are open."""
APART = 5.0
"""Percent from which on two schedulers are ranked."""
CONFIDENCE = 0.975


def draw(chance: random.Random) -> tuple[str, float]:
    """The links of a case as a scenario file has them, and what they carry together in Mbit/s."""

    def log(least: float, most: float) -> float:
        return least * (most / least) ** chance.random()

    text, total = "", 0.0
    lossy = chance.random() < 0.4
    for number in range(chance.choice((1, 2, 2, 2, 3))):
        rate, rtt = log(2, 25), log(10, 150)
        queue = max(20, round(log(0.5, 3) * rate * rtt / 10))
        loss = f'loss = "{log(0.02, 1):.2g}%"\n' if lossy and chance.random() < 0.7 else ""
        text += f'[[path]]\nname = "p{number}"\nrate = "{rate:.3g}Mbit"\nrtt = "{rtt:.3g}ms"\n'
        text += f'queue = "{queue}p"\n{loss}'
        total += rate
    return text, total


def near_agree(near: Near) -> None:
    """What a byte takes, then the file with each scheduler."""
    task = near.task
    opening = min(near.transfer(1e-6)["seconds"] for _ in range(2))
    for _ in range(task["runs"]):
        for scheduler in task["schedulers"]:
            came = near.transfer(task["megabytes"], "--scheduler", scheduler)
            say(scheduler=scheduler, opening=opening, **came)


def engine(
    links: str, scheduler: str, megabytes: float, name: Literal["sim", "quic"], case: int, folder: Path
) -> float:
    """The mean goodput in bit/s in virtual time."""
    place = folder / "case.toml"
    head = f'duration = "120s"\n[transport]\n{TRANSPORT}\n'
    place.write_text(f'{head}[workload]\nkind = "file"\nsize = "{round(megabytes * 1e6)}B"\n{links}')
    runs = [
        plait.run(place, scheduler=scheduler, seed=SEEDS * case + seed, engine=name) for seed in range(SEEDS)
    ]
    return float(np.mean([megabytes * 8e6 / run.metrics["completion_time_s"] for run in runs]))


def percentiles(differences: list[float]) -> dict[str, float]:
    sizes = np.abs(differences)
    return {"median": float(np.percentile(sizes, 50)), "p90": float(np.percentile(sizes, 90))}


def alike(rows: list[dict[str, Any]], name: str) -> dict[str, int]:
    """Pairs of schedulers of a case that are apart over sockets, and how many an engine ranks the same."""
    pairs = [
        (one, other)
        for one, other in combinations(rows, 2)
        if one["case"] == other["case"] and are_apart(one["runs"], other["runs"])
    ]
    same = sum((one["real"] > other["real"]) == (one[name] > other[name]) for one, other in pairs)
    return {"pairs": len(pairs), "alike": same}


def are_apart(one: list[float], other: list[float]) -> bool:
    """Whether means differ by more than `APART` and by more than runs that should be the same do."""
    gap = abs(np.mean(one) - np.mean(other))
    freedom = len(one) + len(other) - 2
    if freedom < 1:
        return False
    spread = np.hypot(np.std(one, ddof=1), np.std(other, ddof=1)) / np.sqrt(len(one))
    return bool(
        gap > APART / 100 * min(np.mean(one), np.mean(other))
        and gap > stats.t.ppf(CONFIDENCE, freedom) * spread
    )


def main() -> None:
    if sys.argv[1:2] == ["--near"]:
        return near_agree(Near(json.loads(Path(sys.argv[2]).read_text())))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3, help="transfers over sockets with each scheduler")
    parser.add_argument(
        "--seconds",
        type=float,
        default=4,
        help="what a file takes at the links' rates at most, a tenth at least",
    )
    parser.add_argument("--program", type=Path, default=Path("target/release/plait-quic"))
    options = parser.parse_args()
    chance, rows = random.Random(options.seed), list[dict[str, Any]]()
    for case in range(1, options.cases + 1):
        links, total = draw(chance)
        schedulers = SCHEDULERS if links.count("[[path]]") > 1 else SCHEDULERS[:1]
        megabytes = round(total * options.seconds * 0.1 ** chance.random() / 8, 2)
        task = {
            "near": "agree",
            "program": str(options.program.resolve()),
            "schedulers": schedulers,
            "megabytes": megabytes,
            "runs": options.runs,
            "mtu": str(MTU),
        }
        with tempfile.TemporaryDirectory(prefix="plait-agree-") as folder:
            came = over_links(links, task, Path(folder), this=__file__)
            for scheduler in schedulers:
                runs = [
                    megabytes * 8e6 / (one["seconds"] - one["opening"])
                    for one in came
                    if one["scheduler"] == scheduler and "error" not in one
                ]
                if not runs:
                    continue
                row = {"case": case, "scheduler": scheduler, "megabytes": megabytes, "runs": runs}
                row["real"] = float(np.mean(runs))
                for name in ("quic", "sim"):
                    row[name] = engine(links, scheduler, megabytes, name, case, Path(folder))
                rows.append(row)
                say(**row, links=links)
    for name in ("quic", "sim"):
        differences = [100 * (row[name] / row["real"] - 1) for row in rows]
        say(engine=name, goodputs=len(rows), difference_percent=percentiles(differences), **alike(rows, name))
    return None


if __name__ == "__main__":
    main()
