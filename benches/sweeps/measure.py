"""Sweeps of 100,000 short runs: the overhead of a sweep, the gain of workers, and the effect of
kills.

    python benches/sweeps/measure.py throughput   # a minute: runs per second and core, against bare runs
    python benches/sweeps/measure.py workers      # two minutes: a cluster of two workers against one of one
    python benches/sweeps/measure.py torture      # half an hour: 100,000 runs whole, and killed three times

Machines are shared and noisy, so speeds are ratios within one run of this program: both sides take
turns.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import LocalCluster

from plait import _core
from plait.sweep import Plan, cluster, sweep
from plait.sweep.chunk import orders

PLAN = Path(__file__).parent / "plan.toml"
ROUNDS = 8
"""Number of turns of each side of a comparison."""
SLICE = 1_000
"""Runs of a turn."""
LONG_SLICE = 5_000
"""Runs of a cluster's turn. It is long, because workers wait at its beginning and end."""
MOST_MIB = 300
"""Limit of a sweep's memory."""


def part_of(runs: int, offset: int = 0) -> Plan:
    """Return the plan reduced to this many of its runs."""
    plan = Plan.load(PLAN)
    (steps,) = plan.steps
    per_point = len(plan.seeds) * len(plan.schedulers)
    plan.steps = [steps[offset // per_point : (offset + runs) // per_point]]
    plan.points = len(plan.steps[0])
    return plan


def bare(plan: Plan, threads: int) -> float:
    """Return the seconds of the runs alone. The scenarios are read before."""
    jobs = [
        _core.Job(
            _core.Scenario(order.scenario, "bench", order.base, format="json"),
            scheduler=order.scheduler.built_in,
            seed=order.seed,
        )
        for order in orders(plan, map(plan.run, range(len(plan))))
    ]
    start = time.monotonic()
    _core.run(jobs, threads=threads)
    return time.monotonic() - start


def swept(plan: Plan, **how: Any) -> float:
    """Return the seconds of the runs as a sweep."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        sweep(plan, Path(folder) / "out", **how)
        return time.monotonic() - start


def throughput() -> bool:
    """Measure runs per second and core: bare runs on one thread and on all, and a sweep."""
    cores = os.cpu_count() or 1
    sides: dict[str, Callable[[Plan], float]] = {
        "bare runs, one thread": lambda plan: bare(plan, 1) * 1,
        f"bare runs, {cores} threads": lambda plan: bare(plan, cores) * cores,
        f"sweep, {cores} threads": lambda plan: swept(plan) * cores,
    }
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(ROUNDS):
        plan = part_of(SLICE, number * SLICE)
        for name, side in sides.items():
            rates[name].append(len(plan) / side(plan))
    for name, values in rates.items():
        print(f"{name}: {statistics.median(values):.1f} runs per second and core")
    one, all_cores, made = rates.values()
    ratios = {"one thread": median_ratio(made, one), f"{cores} threads": median_ratio(made, all_cores)}
    for name, ratio in ratios.items():
        print(f"sweep against bare runs on {name}: {ratio:.3f}")
    return ratios[f"{cores} threads"] >= 0.9


def median_ratio(values: Sequence[float], base: Sequence[float]) -> float:
    """Return the median ratio of pairs. The two values of a pair were measured in turns."""
    return statistics.median(value / other for value, other in zip(values, base, strict=True))


@contextmanager
def running(count: int) -> Iterator[str]:
    """Start a cluster of this many processes with one thread each. Yield its address."""
    made: Any = LocalCluster
    with made(n_workers=count, threads_per_worker=1, dashboard_address=":0") as local:
        yield local.scheduler_address


def workers() -> bool:
    """Compare a cluster of two workers with one thread each to a cluster of one."""
    rates: dict[int, list[float]] = {1: [], 2: []}
    with running(1) as one, running(2) as two:
        for number in range(ROUNDS // 2):
            plan = part_of(LONG_SLICE, number * LONG_SLICE)
            for count, address in ((1, one), (2, two)):
                with cluster.dask(address) as (executor, capacity):
                    seconds = swept(plan, executor=executor, workers=capacity)
                rates[count].append(len(plan) / seconds)
    for count, values in rates.items():
        print(f"{count} worker{'s' * (count > 1)}: {statistics.median(values):.1f} runs a second")
    ratio = median_ratio(rates[2], rates[1])
    print(f"two workers against one: {ratio:.2f}")
    return ratio >= 1.8


def torture(folder: Path) -> bool:
    """Run the whole plan once without interruption and once with three kills at random moments.

    Compares time, memory and the resulting bytes.
    """
    whole, broken = folder / "whole", folder / "broken"
    start = time.monotonic()
    memory = run_plan(whole, None)
    seconds = time.monotonic() - start
    runs = len(Plan.load(PLAN))
    rate = runs / seconds / (os.cpu_count() or 1)
    print(
        f"whole: {runs:,} runs in {seconds:.0f} s, {rate:.1f} per second and core, {memory:.0f} MiB",
        flush=True,
    )
    for share in sorted(random.uniform(0.02, 0.5) for _ in range(3)):
        peak = run_plan(broken, share * seconds / 2)
        memory = max(memory, peak)
        parts = len(list(broken.glob("part-*.parquet")))
        print(f"killed after {share * seconds / 2:.0f} s: {parts} parts, {peak:.0f} MiB", flush=True)
    memory = max(memory, run_plan(broken, None))
    same = subprocess.run(["diff", "-rq", whole, broken], check=False).returncode == 0
    print(f"the same bytes: {'yes' if same else 'NO'}; most memory {memory:.0f} MiB")
    return same and memory <= MOST_MIB


def run_plan(out: Path, kill_after: float | None) -> float:
    """Run the command, and kill it after some seconds if given. Return its peak memory in MiB."""
    arguments = [sys.executable, "-m", "plait", "--quiet", "sweep", str(PLAN), "--out", str(out), "--json"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    start, most = time.monotonic(), 0.0
    while process.poll() is None:
        most = max(most, resident(process.pid))
        if kill_after is not None and time.monotonic() - start > kill_after:
            process.send_signal(signal.SIGKILL)
            process.wait()
        time.sleep(0.2)
    if kill_after is None:
        assert process.stdout is not None
        print(json.loads(process.stdout.read()), flush=True)
    return most


def resident(process: int) -> float:
    """Return the present memory of a process in MiB."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    """Measure; exit status 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["throughput", "workers", "torture"], nargs="+")
    parser.add_argument("--out", type=Path, default=Path("results/sweeps"), help="of torture; emptied before")
    chosen = parser.parse_args()
    reached = True
    for what in chosen.what:
        if what == "torture":
            shutil.rmtree(chosen.out, ignore_errors=True)
            reached &= torture(chosen.out)
        else:
            reached &= {"throughput": throughput, "workers": workers}[what]()
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
