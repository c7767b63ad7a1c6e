"""Requirements on the real kernel in every run.

Needs a kernel (`plait linux build`); `make kernel` builds the kernel and runs these tests.
"""

import hashlib
import shlex
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Process
from pathlib import Path

import polars as pl
import pytest
from conftest import NEEDS_KERNEL

import plait
from plait.linux import boot, kernel, refusals
from plait.runs.run import Task, run_tasks
from plait.scenarios.scenario import from_table

pytestmark = [pytest.mark.kernel, NEEDS_KERNEL]

CALLS = Path(__file__).parents[2] / "target" / "linux" / "vectors.txt"
REPLAY = """
import ctypes

ctypes.CDLL(None).mount(b"none", b"/sys", b"sysfs", 0, None)
parameter, rest = "/sys/module/plait/parameters/replay", b""
try:
    with open(CALLS, "rb") as calls, open(parameter, "wb", buffering=0) as replay:
        # A parameter takes a page at a time.
        while part := calls.read(4096 - len(rest)):
            lines, end, rest = (rest + part).rpartition(b"\\n")
            replay.write(lines + end)
finally:
    print(open(parameter).read(), flush=True)
"""
"""The first process in the kernel: writes the recorded calls into the module parameter, whole lines
at a time, and prints the outcome. The kernel ends with this process."""
SCHEDULERS = sorted(refusals.KERNEL_NAMES)
MODES = [f"redundant:mode={mode}" for mode in ("opportunistic", "when-idle", "probing")]
BOOTS = 500
"""Number of boots in the long test; `make kernel-torture` takes about ten minutes."""

LOSSY = """
name = "lossy"
seed = 3
duration = "4s"
[transport]
protocol = "mptcp"
profile = "standard"
congestion_control = "cubic"
receive_buffer = "1MB"
[[path]]
name = "short"
rate = "8Mbit"
rtt = "20ms"
queue = "50p"
loss = "1%"
[[path]]
name = "long"
rate = "4Mbit"
rtt = "80ms"
queue = "50p"
loss = "1%"
"""
DYING = LOSSY.replace('rtt = "20ms"', 'rtt = "20ms"\noutages = [{ from = "1500ms", to = "60s" }]').replace(
    '"4s"', '"15s"'
)
"""The better path fails after 1.5 s and does not return."""


def digest(result: plait.Result) -> str:
    """Hash of all results of a run: metrics and the times of each packet."""
    packets = result.packets.write_json().encode()
    return hashlib.sha256(result.to_json().encode() + packets).hexdigest()


@contextmanager
def busy() -> Iterator[None]:
    """Runs two processes that keep cores busy."""
    processes = [Process(target=spin, daemon=True) for _ in range(2)]
    for process in processes:
        process.start()
    yield
    for process in processes:
        process.kill()


def spin() -> None:
    """Loops forever."""
    while True:
        pass


def scenario(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "scenario.toml"
    file.write_text(text)
    return file


def test_twenty_runs_are_one_whatever_else_the_machine_does(tmp_path: Path) -> None:
    file = scenario(tmp_path, LOSSY)
    alone = [digest(plait.run(file, "lowest-rtt", engine="linux", packets=True)) for _ in range(6)]
    names = ["lowest-rtt"] * 8
    parallel = [digest(one) for one in plait.compare(file, names, engine="linux", packets=True, threads=4)]
    with busy():
        loaded = [digest(plait.run(file, "lowest-rtt", engine="linux", packets=True)) for _ in range(6)]
    assert len(alone + parallel + loaded) == 20
    assert len({*alone, *parallel, *loaded}) == 1
    other = digest(plait.run(file, "lowest-rtt", engine="linux", packets=True, seed=4))
    assert other not in alone


@pytest.mark.parametrize("name", [*SCHEDULERS, *MODES])
def test_the_stream_is_whole_through_losses_and_the_death_of_a_path(tmp_path: Path, name: str) -> None:
    """The engine raises if the SHA-256 of the written data differs from that of the read data."""
    result = plait.run(scenario(tmp_path, DYING), name, engine="linux", packets=True)
    after = result.packets.filter((result.packets["delivered_ns"] > 5e9) & (result.packets["path"] == 1))
    assert after["bytes"].sum() * 8 / 10 > 1e6
    assert not result.packets.filter(
        (result.packets["arrived_ns"] > 1.6e9) & (result.packets["path"] == 0)
    ).height


@pytest.mark.skipif(not CALLS.is_file(), reason="no calls are recorded (make -C linux/tests vectors)")
def test_the_schedulers_decide_in_the_kernel_as_they_do_in_rust(tmp_path: Path) -> None:
    """The kernel replays the calls of `make test-linux-schedulers` with equal answers."""
    (tmp_path / "replay.py").write_text(REPLAY.replace("CALLS", repr(str(CALLS))))
    init = tmp_path / "init"
    init.write_text(f"#!/bin/sh\nexec {shlex.join([sys.executable, '-ISB', str(tmp_path / 'replay.py')])}\n")
    init.chmod(0o755)
    command = [
        str(kernel.require()), "mem=256M", "root=/dev/root", "rootfstype=hostfs", "ro", f"init={init}",
        "con=null", "con0=null,fd:1", "uml_dir=./uml", "panic=-1",
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=boot.PATIENCE_SECONDS, check=False
    )
    kinds = Counter(line.partition(" ")[0] for line in CALLS.read_text().splitlines())
    counts = f"{kinds['begin']} connections, {kinds['decide']} decisions, {kinds['event']} events"
    assert counts in done.stdout, done.stdout[-3000:]


@pytest.mark.full
def test_hundreds_of_boots_end_by_themselves(tmp_path: Path) -> None:
    # The retransmission of a lost SYN takes a second, so the run lasts longer than that.
    file = scenario(tmp_path, LOSSY.replace('"4s"', '"2s"'))
    for first in range(0, BOOTS, 50):
        tasks = [
            Task(scenario=file, scheduler=SCHEDULERS[seed % len(SCHEDULERS)], seed=seed)
            for seed in range(first, first + 50)
        ]
        results = run_tasks(tasks, engine="linux")
        assert all(result.metrics["delivered_bytes"] > 0 for result in results)


def test_a_path_that_was_measured_has_a_newest_sample() -> None:
    """The handshake gives a path its first sample, before any data.

    Without this sample STTF took the first round trips of all paths for equal and decided like
    lowest RTT.
    """
    task = Task(scenario=from_table(tomllib.loads(LOSSY)), scheduler="sttf", decisions=True)
    (run,) = run_tasks([task], engine="linux")
    facts = run.decision_paths
    assert facts is not None
    measured = facts.filter(pl.col("srtt_ns") > 0)
    assert set(measured["path"]) == {0, 1}
    assert measured.filter(pl.col("latest_rtt_ns") == 0).height == 0
    assert facts.filter(pl.col("queued") > 0).height > 0, "STTF lets segments wait; lowest RTT does not"
