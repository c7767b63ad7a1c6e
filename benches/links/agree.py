"""Sends files over the same links in three ways: simulated, in virtual time, and over sockets.

``python benches/links/agree.py [--cases N] [--seed S] [--schedulers NAME …]
[--program target/release/plait-quic]``, as any user with the right to create namespaces, on an
otherwise idle machine.

A case is drawn: one to three links, a file that takes up to some seconds, and schedulers.
`plait-quic` sends the file inside of `plait link`, three times with each scheduler. The engines
`sim` and `quic` run the same case with Multipath QUIC and five seeds. `quic` uses real QUIC
connections in virtual time. The results are mean goodputs.

TLS and greetings are not simulated, but the successive opening of paths is (`handshake`). So the
extra time of a one-byte file over sockets, compared with the engine, is subtracted.

Every line is JSON. The last ones have the differences of the goodputs. They also count the pairs of
schedulers that differ over sockets by more than 5 % and by more than noise, and those of these
pairs that an engine ranks alike. They state the mean gain of the first scheduler over each other.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np
from near import Near, over_links, say
from scipy import stats

import plait

SCHEDULERS = ("lowest-rtt", "round-robin", "blest", "ecf", "redundant")
ENGINES: tuple[Literal["sim", "quic"], ...] = ("quic", "sim")
SEEDS = 5
MTU = 1232
SEGMENT = 1153
"""Payload bytes of a full segment of `plait-quic` at this MTU."""
PACKET = SEGMENT + 67
"""Wire size in bytes of such a segment in the simulator's Multipath QUIC."""
TRANSPORT = f"""protocol = "mpquic"
packet = "{PACKET}B"
receive_buffer = "16MiB"
congestion_control = "cubic"
hystart = true
handshake = true
potentially_failed = true
rto_initial = "300ms"
rto_max = "1s"
"""
"""The settings of `plait-quic` (crates/plait-quic/src/settings.rs)."""
APART = 5.0
"""Difference in percent from which two schedulers are ranked."""
CONFIDENCE = 0.975


def draw(chance: random.Random) -> tuple[str, float, str]:
    """Draw links as scenario text. Return it with the total rate in Mbit/s and the first path."""

    def log(least: float, most: float) -> float:
        return least * (most / least) ** chance.random()

    text, total, trips = "", 0.0, dict[str, float]()
    lossy = chance.random() < 0.4
    for number in range(chance.choice((1, 2, 2, 2, 3))):
        rate, rtt = log(2, 25), log(10, 150)
        queue = max(20, round(log(0.5, 3) * rate * rtt / 10))
        loss = f'loss = "{log(0.02, 1):.2g}%"\n' if lossy and chance.random() < 0.7 else ""
        text += f'[[path]]\nname = "p{number}"\nrate = "{rate:.3g}Mbit"\nrtt = "{rtt:.3g}ms"\n'
        text += f'queue = "{queue}p"\n{loss}'
        total += rate
        trips[f"p{number}"] = rtt
    return text, total, min(trips, key=trips.__getitem__)


def near_agree(near: Near) -> None:
    """Send one byte, then the file with each scheduler."""
    task = near.task
    opening = min(near.transfer(1e-6)["seconds"] for _ in range(2))
    for _ in range(task["runs"]):
        for scheduler in task["schedulers"]:
            came = near.transfer(task["megabytes"], "--scheduler", scheduler)
            say(scheduler=scheduler, opening=opening, **came)


@dataclass(frozen=True)
class Case:
    """Links, a file and the schedulers."""

    number: int
    links: str
    first: str
    megabytes: float
    schedulers: tuple[str, ...]

    def seconds(
        self, scheduler: str, name: Literal["sim", "quic"], folder: Path, size: float | None = None
    ) -> list[float]:
        """Return the times in virtual time for the file, or for one of another size in MB."""
        size = self.megabytes if size is None else size
        place = folder / "case.toml"
        head = f'duration = "120s"\n[transport]\n{TRANSPORT}initial_path = "{self.first}"\n'
        place.write_text(
            f'{head}[workload]\nkind = "file"\nsize = "{max(round(size * 1e6), 1)}B"\n{self.links}'
        )
        seeds = range(SEEDS * self.number, SEEDS * (self.number + 1))
        runs = [plait.run(place, scheduler=scheduler, seed=seed, engine=name) for seed in seeds]
        return [run.metrics["completion_time_s"] for run in runs]

    def goodputs(self, seconds: list[float]) -> list[float]:
        """Convert times to goodputs in bit/s."""
        return [self.megabytes * 8e6 / one for one in seconds]

    def rows(self, came: list[dict[str, Any]], folder: Path) -> Iterator[dict[str, Any]]:
        """Yield means over sockets and in both engines, by scheduler."""
        byte = float(np.mean(self.seconds(SCHEDULERS[0], "sim", folder, 1e-6)))
        for scheduler in self.schedulers:
            sent = [one for one in came if one["scheduler"] == scheduler and "error" not in one]
            runs = self.goodputs([one["seconds"] - one["opening"] + byte for one in sent])
            if not runs:
                continue
            row: dict[str, Any] = {"case": self.number, "scheduler": scheduler, "megabytes": self.megabytes}
            row |= {"runs": runs, "real": float(np.mean(runs))}
            for name in ENGINES:
                row[name] = float(np.mean(self.goodputs(self.seconds(scheduler, name, folder))))
            yield row | {"links": self.links}


def cases(seed: int, count: int, seconds: float, names: tuple[str, ...]) -> Iterator[Case]:
    """Draw this many cases."""
    chance = random.Random(seed)
    for number in range(1, count + 1):
        links, total, first = draw(chance)
        schedulers = names if links.count("[[path]]") > 1 else names[:1]
        megabytes = round(total * seconds * 0.1 ** chance.random() / 8, 2)
        yield Case(number, links, first, megabytes, schedulers)


def earlier(file: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the transfers of an earlier call, case by case."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for rows, some in groupby(lines, key=lambda line: "case" in line or "engine" in line):
        if not rows:
            yield list(some)


def percentiles(differences: list[float]) -> dict[str, float]:
    sizes = np.abs(differences)
    return {"median": float(np.percentile(sizes, 50)), "p90": float(np.percentile(sizes, 90))}


def alike(rows: list[dict[str, Any]], name: str) -> dict[str, int]:
    """Count pairs of schedulers that differ over sockets, and those that an engine ranks alike."""
    pairs = [
        (one, other)
        for one, other in combinations(rows, 2)
        if one["case"] == other["case"] and are_apart(one["runs"], other["runs"])
    ]
    same = sum((one["real"] > other["real"]) == (one[name] > other[name]) for one, other in pairs)
    return {"pairs": len(pairs), "alike": same}


def gain(rows: list[dict[str, Any]], name: str, over: str, where: str) -> float:
    """Return the mean ratio of two schedulers' goodputs over sockets (`real`) or in an engine."""
    found = {(row["case"], row["scheduler"]): row[where] for row in rows}
    both = [case for case, scheduler in found if scheduler == over and (case, name) in found]
    return float(stats.gmean([found[case, name] / found[case, over] for case in both]))


def are_apart(one: list[float], other: list[float]) -> bool:
    """Whether means differ by more than `APART` and by more than the noise of equal runs."""
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
    parser.add_argument("--schedulers", nargs="+", default=SCHEDULERS)
    parser.add_argument("--runs", type=int, default=3, help="transfers over sockets with each scheduler")
    parser.add_argument(
        "--seconds",
        type=float,
        default=4,
        help="what a file takes at the links' rates at most, a tenth at least",
    )
    parser.add_argument(
        "--again", type=Path, help="what an earlier call with the same draw said: nothing is sent anew"
    )
    parser.add_argument("--program", type=Path, default=Path("target/release/plait-quic"))
    options = parser.parse_args()
    rows, told = list[dict[str, Any]](), earlier(options.again) if options.again else None
    for case in cases(options.seed, options.cases, options.seconds, tuple(options.schedulers)):
        task = {
            "near": "agree",
            "program": str(options.program.resolve()),
            "schedulers": case.schedulers,
            "megabytes": case.megabytes,
            "runs": options.runs,
            "mtu": str(MTU),
        }
        with tempfile.TemporaryDirectory(prefix="plait-agree-") as folder:
            came = next(told) if told else over_links(case.links, task, Path(folder))
            for row in case.rows(came, Path(folder)):
                rows.append(row)
                say(**row)
    for name in ENGINES:
        differences = [100 * (row[name] / row["real"] - 1) for row in rows]
        say(engine=name, goodputs=len(rows), difference_percent=percentiles(differences), **alike(rows, name))
    first, *others = options.schedulers
    for other in others:
        say(
            gain_of=first,
            over=other,
            **{where: gain(rows, first, other, where) for where in ("real", *ENGINES)},
        )
    return None


if __name__ == "__main__":
    main()
