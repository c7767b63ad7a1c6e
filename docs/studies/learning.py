"""The documentation's learned scheduler against all fixed ones, on links that it has not seen."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from study import Answer, with_interval, written

import plait
import plait.gym
from plait.plots.style import colour, label, legend, line, new_figure
from plait.runs.experiment import frame, grid
from plait.runs.run import Task
from plait.statistics.estimate import change_of_mean, mean
from plait.support.pages import markdown
from studies.example import EXAMPLES, listing
from studies.networks import BASE, FOLDER, schedulers

sys.path.append(str(EXAMPLES))
import learning as example

FILE = FOLDER / "small-buffer.toml"
TRAININGS = (1, 2, 3)
"""Seeds of the trainings."""
TESTS = range(1001, 1013)
"""Seeds of the scenarios that are drawn to judge, and of their runs."""
METRIC = "goodput_bps"
SHOWN = 5
"""Number of fixed schedulers in the table."""
UNTRAINED = "half of the window each"
STEPS = 2000

Trainings = Mapping[int, str]
"""The weights by the seed of a training, as the parameter of the scheduler."""


def answer() -> Answer:
    """Train, and make the runs."""
    trainings = {seed: example.written(example.train(FILE, seed)) for seed in TRAININGS}
    return told(trainings, judged(schedulers()), judged(learned(trainings)), speed())


def learned(trainings: Trainings) -> dict[str, plait.Scheduler]:
    """Return the learned schedulers, and the one whose weights are all zero."""
    given = {f"learned, training {seed}": weights for seed, weights in trainings.items()}
    return {name: example.Learned(weights) for name, weights in {**given, UNTRAINED: "0/0/0/0"}.items()}


def judged(choices: Sequence[str] | Mapping[str, plait.Scheduler]) -> pl.DataFrame:
    """Make the runs that judge: a row per scheduler and scenario, with the goodput in Mbit/s."""
    draw = example.drawing(FILE, "10s", "2s")
    tasks = []
    for seed in TESTS:
        scenario = draw(np.random.default_rng(seed))
        if isinstance(choices, Mapping):
            for name, scheduler in choices.items():
                (task,) = grid(scenario, [scheduler], [seed])
                tasks.append(replaced(task, name))
        else:
            tasks += grid(scenario, choices, [seed])
    return frame(tasks, [METRIC]).with_columns(goodput=pl.col(METRIC) / 1e6)


def replaced(task: Task, name: str) -> Task:
    """Return the task with another name of its scheduler in the frame."""
    return replace(task, labels={**task.labels, "scheduler": name})


def speed() -> float:
    """Return the decisions per second of processor time."""
    environment = plait.gym.Environment(FILE)
    environment.reset(seed=1)
    start = time.process_time()
    for _ in range(STEPS):
        _, _, _, _, info = environment.step(0)
    used = time.process_time() - start
    environment.close()
    assert info["time"] > 0
    return STEPS / used


def told(trainings: Trainings, fixed: pl.DataFrame, own: pl.DataFrame, rate: float) -> Answer:
    """Return tables, values and figures."""

    def column(runs: pl.DataFrame, name: str) -> list[float]:
        return runs.filter(scheduler=name).sort("seed")["goodput"].to_list()

    names = fixed["scheduler"].unique(maintain_order=True).to_list()
    order = sorted(names, key=lambda name: -mean(column(fixed, name)).value)
    best = order[0]
    values, lines = {"best fixed": f"`{best}`", "tests": f"{len(TESTS)}"}, []
    rows = [(name, column(own, name)) for name in own["scheduler"].unique(maintain_order=True)]
    rows += [(name, column(fixed, name)) for name in order if name in (*order[:SHOWN], BASE)]
    for name, found in rows:
        changes = {}
        for base in (BASE, best):
            change = change_of_mean(found, column(fixed, base))
            changes[base] = "–" if change is None or base == name else with_interval(change, signed=True)
            values[f"{name} against {base if base == BASE else 'best'}"] = changes[base]
        change = change_of_mean(found, column(own, UNTRAINED))
        assert change is not None
        values[f"{name} against untrained"] = with_interval(change, signed=True)
        average = mean(found)
        values[f"{name} goodput"] = written(average.value, 1)
        shown = f"`{name}`" if name in order else name
        lines.append([shown, with_interval(average, 1), changes[BASE], changes[best]])
    for seed, weights in trainings.items():
        values[f"weights {seed}"] = f"`{weights}`"
    values["decisions per second"] = f"{round(rate, -3):,.0f}"
    headings = [
        "scheduler",
        "goodput (Mbit/s)",
        f"better than `{BASE}` by (%)",
        f"better than `{best}` by (%)",
    ]
    tables = {"learned": markdown(headings, lines), "learning.py": listing("learning.py", "python")}
    curves = {name: column(own, name) for name, _ in rows if name.startswith("learned")}
    curves |= {name: column(fixed, name) for name in (best, BASE)}
    return Answer(tables, values, {"learning": scenarios(curves)})


def scenarios(curves: Mapping[str, Sequence[float]]) -> Figure:
    """Return the figure of each scenario's goodput, in the order of the last curve."""
    figure, (axes,) = new_figure(width=6.4, height=3.0)
    order = np.argsort([*curves.values()][-1])
    for index, (name, found) in enumerate(curves.items()):
        places = range(1, len(found) + 1)
        axes.plot(places, np.array(found)[order], color=colour(index), linestyle=line(index), label=name)
    label(axes, x="scenario", y="goodput (Mbit/s)")
    legend(figure, axes, columns=3)
    return figure
