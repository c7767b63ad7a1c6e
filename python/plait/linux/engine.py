"""Runs on the linux engine: plans, boots, and reads the observations."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from plait import _core
from plait.engines import Order
from plait.linux import kernel, tools
from plait.linux.boot import boot
from plait.linux.guest.content import Content
from plait.linux.guest.plan import Plan
from plait.linux.plan import make_plan
from plait.support.parallel import Watch, in_parallel

KEEP = "PLAIT_LINUX_KEEP"
"""Environment variable with the folder that keeps the files of runs."""
_NUMBERS = itertools.count()
"""Numbers of this process's runs, for their folders."""


def run(
    orders: Sequence[Order],
    *,
    processes: int = 0,
    progress: Callable[[float], None] | None = None,
    alter: Callable[[Plan], Plan] = lambda plan: plan,
) -> list[_core.Run]:
    """Make the runs, `processes` at a time (0: one per core); return results in the given order.

    `alter` transforms the plans before the runs. Tests use it for network conditions that scenarios
    cannot describe.

    Raises:
        ScenarioError: the engine cannot simulate a scenario. RunError: a run failed, or a program
            or the kernel is missing. KeyboardInterrupt: interrupted; nothing is left running.
    """
    plans = [
        alter(make_plan(order.job, series_ns=order.series_ns, decisions=order.decisions)) for order in orders
    ]
    binary, programs = kernel.require(), tools.require(tools.TO_RUN)
    made: dict[int, _core.Run] = {}
    numbers = [next(_NUMBERS) for _ in plans]

    def make(index: int, watch: Watch) -> _core.Run:
        with _run_folder(numbers[index]) as folder:
            return _make(plans[index], orders[index].job, binary, programs, folder, watch)

    def told(shares: Iterable[float]) -> None:
        if progress is not None:
            progress(math.fsum([len(made), *shares]) / len(plans))

    made.update(in_parallel(range(len(plans)), make, workers=processes, progress=told))
    return [made[index] for index in range(len(plans))]


def _make(
    plan: Plan,
    job: _core.Job,
    binary: Path,
    programs: dict[str, str],
    folder: Path,
    watch: Callable[[float], None],
) -> _core.Run:
    order = {"plan": json.loads(plan.to_json()), "tools": programs, "build": kernel.build_hash()}
    (folder / "order.json").write_text(json.dumps(order, ensure_ascii=False), encoding="utf-8")
    with _naming(job.scenario.name):
        boot(binary, programs["setarch"], folder, plan.seed, watch)
    with ThreadPoolExecutor(1) as beside:
        whole = beside.submit(check_integrity, plan, folder)
        try:
            return _core.observed(job, str(folder))
        finally:
            # A damaged stream explains all other errors, so this check has precedence.
            with _naming(job.scenario.name):
                whole.result()
            watch(1.0)


@contextmanager
def _naming(scenario: str) -> Iterator[None]:
    """Add the scenario's name to the message of an error."""
    try:
        yield
    except _core.RunError as error:
        message = f"{scenario}: {error}"
        raise _core.RunError(message) from error


def check_integrity(plan: Plan, folder: Path) -> None:
    """Check that the received bytes are a prefix of the written ones; else raise a RunError."""
    received = json.loads((folder / "integrity.json").read_text(encoding="utf-8"))
    written = json.loads((folder / "observed.json").read_text(encoding="utf-8"))["written_bytes"]
    size = received["received_bytes"]
    if size > written:
        message = f"the stream is damaged: {size} bytes were received and only {written} written"
        raise _core.RunError(message)
    if Content(plan.seed).sha256(size) != received["sha256"]:
        message = f"the stream is damaged: the {size} bytes received are not the ones written"
        raise _core.RunError(message)


@contextmanager
def _run_folder(number: int) -> Iterator[Path]:
    """Create a folder for a run's files, which are many megabytes, and remove it after the run."""
    kept = os.environ.get(KEEP)
    if kept:
        folder = Path(kept).absolute() / f"run-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="plait-linux-") as name:
        yield Path(name).resolve()
