"""The documentation's example scheduler against lowest-RTT.

It varies round-trip times, loads and receive buffers.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from study import Answer, with_interval, written

import plait
from plait.results.metrics import direction
from plait.runs.experiment import frame, grid
from plait.runs.run import Task
from plait.scenarios.scheduler import parse_choice
from plait.statistics.estimate import change_of_mean, mean
from plait.support.pages import markdown
from studies.choosing import numbers, panels
from studies.networks import FOLDER

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
BASE = "lowest-rtt"
NAME = "Soonest"
SEEDS = range(1, 9)


@dataclass(frozen=True)
class Range:
    """The varied value, the metric, and its number of decimals."""

    places: Sequence[float]
    heading: str
    changes: Callable[[float], dict[str, object]]
    metric: str = "block_delay_ms.p95"
    unit: str = "95 % block delay (ms)"
    scale: float = 1.0
    decimals: int = 0


def blocks(**changes: object) -> dict[str, object]:
    """Return blocks that the near path can carry alone, and further changes."""
    return {"workload": {"kind": "cbr", "rate": "6Mbit", "block": "64KiB"}, **changes}


RANGES = {
    "round trips": Range(
        (20, 40, 80, 120, 160, 200, 300),
        "far path (ms)",
        lambda time: blocks(**{"path.far.rtt": f"{time}ms"}),
    ),
    "loads": Range(
        (2, 4, 6, 8, 9, 10, 12, 14),
        "blocks (Mbit/s)",
        lambda rate: blocks(**{"workload.rate": f"{rate}Mbit"}),
    ),
    "buffers": Range(
        (32, 64, 128, 256, 512, 1024),
        "receive buffer (kB)",
        lambda size: {"transport.receive_buffer": f"{size}kB"},
        metric="goodput_bps",
        unit="goodput (Mbit/s)",
        scale=1e-6,
        decimals=1,
    ),
}


def answer() -> Answer:
    """Make the runs."""
    tables, values, figures = {}, {}, {}
    for case, span in RANGES.items():
        base, own = (measured(span, choice) for choice in (BASE, NAME))
        lines = []
        for place, before, after in zip(span.places, base, own, strict=True):
            change = change_of_mean(after, before)
            if change is not None and direction(span.metric) < 0:
                change = change.negated()
            text = "–" if change is None else with_interval(change, signed=True)
            means = [written(mean(one).value, span.decimals) for one in (before, after)]
            lines.append([f"{place:g}", *means, text])
            key = f"{case} {place:g}"
            values[f"{key} better"] = text
            values[f"{key} {BASE}"], values[f"{key} {NAME}"] = means
        tables[case] = markdown(
            [span.heading, f"`{BASE}`: {span.unit}", f"`{NAME}`", "better by (%)"], lines, ()
        )
        curves = {BASE: [mean(one) for one in base], NAME: [mean(one) for one in own]}
        figures[f"soonest-{case.replace(' ', '-')}"] = panels(
            span.places, span.heading, [(span.unit, curves)], log=case == "buffers"
        )
    tables["soonest.py"] = listing("soonest.py", "python")
    return Answer(tables, values, figures)


def measured(span: Range, choice: str) -> list[list[float]]:
    """Return the metric of each seed, place by place."""
    made = parse_choice(f"{EXAMPLES / 'soonest.py'}:{NAME}") if choice == NAME else choice
    tasks: list[Task] = []
    for place in span.places:
        scenario = plait.load(FOLDER / "near-far.toml", span.changes(place))
        tasks += grid(scenario, [made], SEEDS, {"place": place}, perturb=True)
    runs = frame(tasks, [span.metric])
    return [numbers(runs.filter(place=place), span.metric, span.scale) for place in span.places]


def listing(file: str, language: str) -> str:
    """Return a file of `docs/examples` as a block that the page's test writes and runs."""
    mark = "#" if language == "python" else "//"
    text = (EXAMPLES / file).read_text(encoding="utf-8")
    return f"\n```{language}\n{mark} file: {file}\n{text}```\n"


def asking() -> Answer:
    """Return the example that asks a scheduler, and its output."""
    command = ["cargo", "run", "--quiet", "--package", "plait-sched", "--example", "ask"]
    done = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, check=True)
    return Answer({"ask.rs": listing("ask.rs", "rust"), "ask output": f"\n```text\n{done.stdout}```\n"})
