"""The scheduler that the documentation writes against lowest-RTT: over round-trip times, loads and receive buffers."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from study import Answer, with_interval, written

import plait
from plait.estimate import change_of_mean, mean
from plait.pages import markdown
from plait.run import Task, run_tasks
from plait.scheduler import parse_choice
from studies.choosing import numbers, panels
from studies.networks import FOLDER

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
BASE = "lowest-rtt"
NAME = "Soonest"
SEEDS = range(1, 9)
ROUND_TRIPS = (20, 40, 80, 120, 160, 200, 300)
LOADS = (2, 4, 6, 8, 9, 10, 12, 14)
BUFFERS = (32, 64, 128, 256, 512, 1024)


def answer() -> Answer:
    """Make the runs."""
    blocks = {"workload": {"kind": "cbr", "rate": "6Mbit", "block": "64KiB"}}
    cases = {
        "round trips": ([{**blocks, "path.far.rtt": f"{time}ms"} for time in ROUND_TRIPS], "block_delay_ms.p95", 1.0),
        "loads": ([{**blocks, "workload.rate": f"{rate}Mbit"} for rate in LOADS], "block_delay_ms.p95", 1.0),
        "buffers": ([{"transport.receive_buffer": f"{size}kB"} for size in BUFFERS], "goodput_bps", 1e-6),
    }
    places: dict[str, Sequence[float]] = {"round trips": ROUND_TRIPS, "loads": LOADS, "buffers": BUFFERS}
    headings = {
        "round trips": "far path (ms)",
        "loads": "blocks (Mbit/s)",
        "buffers": "receive buffer (kB)",
    }
    units = {"round trips": "95 % block delay (ms)", "loads": "95 % block delay (ms)", "buffers": "goodput (Mbit/s)"}
    tables, values, figures = {}, {}, {}
    for case, (changes, name, scale) in cases.items():
        found = {choice: measured(changes, choice, name, scale) for choice in (BASE, NAME)}
        lines = []
        for index, place in enumerate(places[case]):
            ours, base = found[NAME][index], found[BASE][index]
            change = change_of_mean(ours, base)
            assert change is not None, case  # noqa: S101
            text = with_interval(change, signed=True)
            decimals = 1 if case == "buffers" else 0
            means = [written(mean(one).value, decimals) for one in (base, ours)]
            lines.append([f"{place:g}", *means, text])
            values[f"{case} {place} change"] = text
            values[f"{case} {place} {BASE}"], values[f"{case} {place} {NAME}"] = means
        unit = units[case]
        tables[case] = markdown([headings[case], f"`{BASE}`: {unit}", f"`{NAME}`", "change (%)"], lines, ())
        curves = {key: [mean(one) for one in rows] for key, rows in found.items()}
        figures[f"soonest-{case.replace(' ', '-')}"] = panels(
            places[case], headings[case], [(unit, curves)], log=case == "buffers"
        )
    for file, language in (("soonest.py", "python"), ("soonest.rs", "rust")):
        tables[file] = listing(file, language)
    return Answer(tables, values, figures)


def measured(changes: Sequence[dict[str, object]], choice: str, name: str, scale: float) -> list[list[float]]:
    """A metric of each seed, for each change of the network."""
    made = parse_choice(f"{EXAMPLES / 'soonest.py'}:{NAME}") if choice == NAME else choice
    found = []
    for change in changes:
        scenario = plait.load(FOLDER / "near-far.toml", change)
        found.append(
            numbers(run_tasks([Task(scenario=scenario, scheduler=made, seed=seed) for seed in SEEDS]), name, scale)
        )
    return found


def listing(file: str, language: str) -> str:
    """A file of `docs/examples` as a block that the page's test writes and runs."""
    mark = "#" if language == "python" else "//"
    text = (EXAMPLES / file).read_text(encoding="utf-8")
    return f"\n```{language}\n{mark} file: {file}\n{text}```\n"


def asking() -> Answer:
    """The example that asks a scheduler, and what it prints."""
    command = ["cargo", "run", "--quiet", "--package", "plait-sched", "--example", "ask"]
    done = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, check=True)
    return Answer({"ask.rs": listing("ask.rs", "rust"), "ask output": f"\n```text\n{done.stdout}```\n"})
