"""Runs on the linux engine: plans, boots, and reads the observations."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from plait import _core
from plait.linux import kernel, tools
from plait.linux.boot import POLL_SECONDS, boot
from plait.linux.guest.content import Content
from plait.linux.guest.plan import Plan
from plait.linux.plan import make_plan

KEEP = "PLAIT_LINUX_KEEP"
"""Environment variable with the folder that keeps the files of runs."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One run to be made, and the data to record.

    alter: transforms the plan before the run. Tests use it for network conditions that scenarios
    cannot describe.
    """

    job: _core.Job
    series_ns: int | None = None
    decisions: bool = False
    alter: Callable[[Plan], Plan] = lambda plan: plan


class _Stopped(Exception):  # noqa: N818 - no error
    """Raised to end a run that is not wanted any more."""


def run(
    requests: Sequence[Request], *, processes: int = 0, progress: Callable[[float], None] | None = None
) -> list[_core.Run]:
    """Make the runs, `processes` at a time (0: one per core); return results in request order.

    Raises:
        ScenarioError: the engine cannot simulate a scenario. RunError: a run failed, or a program
            or the kernel is missing. KeyboardInterrupt: interrupted; nothing is left running.
    """
    plans = [
        request.alter(make_plan(request.job, series_ns=request.series_ns, decisions=request.decisions))
        for request in requests
    ]
    binary, programs = kernel.require(), tools.require(tools.TO_RUN)
    done, stop = [0.0] * len(plans), threading.Event()

    def make(index: int) -> _core.Run:
        def watch(share: float) -> None:
            done[index] = share
            if stop.is_set():
                raise _Stopped

        watch(0.0)
        with _run_folder(index) as folder:
            return _make(plans[index], requests[index].job, binary, programs, folder, watch)

    workers = min(processes or os.cpu_count() or 1, len(plans)) or 1
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(make, index) for index in range(len(plans))]
        try:
            pending = set(futures)
            while pending:
                finished, pending = wait(pending, POLL_SECONDS, FIRST_COMPLETED)
                for future in finished:
                    future.result()
                if progress is not None:
                    progress(sum(done) / len(done))
        except BaseException:
            stop.set()
            raise
    return [future.result() for future in futures]


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
    name = json.loads(job.scenario_json)["name"]
    with _naming(name):
        boot(binary, programs["setarch"], folder, plan.seed, watch)
    with ThreadPoolExecutor(1) as beside:
        whole = beside.submit(check_integrity, plan, folder)
        try:
            return _core.observed(job, str(folder))
        finally:
            # A damaged stream explains all other errors, so this check has precedence.
            with _naming(name):
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
def _run_folder(index: int) -> Iterator[Path]:
    """Create a folder for a run's files, which are many megabytes, and remove it after the run."""
    kept = os.environ.get(KEEP)
    if kept:
        folder = Path(kept).absolute() / f"run-{index}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="plait-linux-") as name:
        yield Path(name).resolve()
