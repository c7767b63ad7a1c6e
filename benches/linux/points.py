"""Compares points of the benchmark in the kernel and in the simulator: `plait` and two others.

    .venv/bin/python benches/linux/points.py --points 10

Takes the first points of each domain of part `report` that the kernel can run, one run each. Prints
the gain of `plait` over each other scheduler in both engines, and the distance of the engines.

10 points a domain take four minutes on two cores. The kernel must be built (`plait linux build`).
"""

from __future__ import annotations

import click
import numpy as np

from plait.benchmark.suite import DOMAINS, MEASURES, Point, points
from plait.engines.names import EngineName
from plait.results.metrics import metric_if_known
from plait.results.result import Result
from plait.runs.run import Task, refusal, run_tasks

ENGINES: tuple[EngineName, ...] = ("linux", "sim")
SCHEDULERS = ("plait", "lowest-rtt", "linux-default")
CLEAR = 0.05
"""A gain whose direction counts."""


def value(point: Point, result: Result) -> float:
    """Return the point's value of a run; NaN without one."""
    found = point.value({name: metric_if_known(result, name) for name in MEASURES})
    return float("nan") if found is None else found


def values(point: Point) -> np.ndarray | None:
    """Return the values of a point, a row per engine; None if the kernel refuses it."""
    tasks = [Task(scenario=point.scenario, scheduler=name) for name in SCHEDULERS]
    if any(refusal(task, "linux") for task in tasks):
        return None
    return np.array([[value(point, one) for one in run_tasks(tasks, engine=engine)] for engine in ENGINES])


@click.command()
@click.option("--points", "number", default=10, show_default=True, help="Points of each domain.")
def main(number: int) -> None:
    """Print gains in both engines."""
    names, found = [], []
    for domain in DOMAINS:
        taken = 0
        for point in points("report", None, [domain]):
            if taken == number or (table := values(point)) is None:
                continue
            taken += 1
            names.append(point.id)
            found.append(np.log(table) * point.way)
    logs = np.array(found)
    for place, name in enumerate(SCHEDULERS[1:], 1):
        gains = logs[:, :, 0] - logs[:, :, place]
        both = np.isfinite(gains).all(axis=1)
        kernel, simulated = gains[both].T
        clear = np.maximum(abs(kernel), abs(simulated)) > np.log1p(CLEAR)
        same = (np.sign(kernel) == np.sign(simulated))[clear].sum()
        print(
            f"plait against {name}, {both.sum()} points: mean gain {np.exp(kernel.mean()):.2f} in the kernel, "
            f"{np.exp(simulated.mean()):.2f} in the simulator; {same} of {clear.sum()} clear gains have one direction"
        )
    apart = abs(np.expm1(abs(logs[:, 0, 0] - logs[:, 1, 0])))
    known = np.isfinite(apart)
    half, most = np.quantile(apart[known], [0.5, 0.9]) * 100
    print(f"plait in both engines: half differ by at most {half:.1f} %, nine in ten by {most:.0f} %")
    for place in np.argsort(-np.where(known, apart, -1))[:5]:
        kernel, simulated = np.exp(logs[place, :, 0])
        print(f"  {names[place]}: simulator {(simulated / kernel - 1) * 100:+.0f} % better")


if __name__ == "__main__":
    main()
