"""Workloads of the user in Python: errors, sweeps, bundles."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import DSL_AND_LTE, Command

import plait
from plait.bundles import bundle, rerun
from plait.runs import watchdog
from plait.sweep.chunk import make_chunk
from plait.sweep.plan import Plan
from plait.sweep.sweep import sweep

RENO = Path(__file__).parents[2] / "docs" / "examples" / "reno.py"
KINDS = """
import plait


class File(plait.Workload):
    size: int
    start: float = 0.0

    def begin(self):
        return [plait.Write(self.size, at=self.start or None), plait.End()]


class Blocks(plait.Workload):
    rate: int
    block: int
    deadline: float = 0.1

    def begin(self):
        self.count = 0
        return plait.Wait(until=0)

    def on_time(self, now):
        self.count += 1
        next = self.count * self.block * 8 * 10**9 // self.rate / 1e9
        return [plait.Write(self.block, deadline=self.deadline), plait.Wait(until=next)]


class Clients(plait.Workload):
    requests = True
    response: int
    think: float = 0.0
    parallel: int = 1
    count: int = 1000

    def begin(self):
        self.left = self.count
        for client in range(self.parallel):
            yield from self.ask(client, 0.0)

    def ask(self, client, at):
        if self.left:
            self.left -= 1
            yield plait.Request(self.response, at=at, stream=client, deadline=0.2)
            if not self.left:
                yield plait.End()

    def on_delivered(self, now, delivery):
        return self.ask(delivery.stream, now + self.think if self.think else None)
"""
SCENARIO = (
    f'duration = "3s"\nworkload = {{ kind = "kinds.py:Blocks", rate = 2000000, block = 2000 }}\n{DSL_AND_LTE}'
)
SAME: list[tuple[Any, str, dict[str, Any]]] = [
    (plait.File(size="1MB"), "File", {"size": 1_000_000}),
    (plait.File(size="300kB", start="1.5s"), "File", {"size": 300_000, "start": 1.5}),
    (
        plait.ConstantRate(rate="5Mbit", block="3000B", deadline="100ms"),
        "Blocks",
        {"rate": 5_000_000, "block": 3000},
    ),
    (plait.RequestResponse(response="30kB", deadline="200ms"), "Clients", {"response": 30_000}),
    (
        plait.RequestResponse(response="60kB", think="100ms", parallel=3, count=30, deadline="200ms"),
        "Clients",
        {"response": 60_000, "think": 0.1, "parallel": 3, "count": 30},
    ),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kinds.py").write_text(KINDS)
    (tmp_path / "own.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_takes_a_class_instead_of_the_workload(folder: Path, command: Command) -> None:
    assert command("run", "own.toml", "--json").stdout
    done = command(
        "compare", "own.toml", "--workload", "kinds.py:Clients:response=20000", "--schedulers", "ecf,blest"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "latency of a request" in done.stdout


def test_explain_takes_a_class_instead_of_the_workload(folder: Path, command: Command) -> None:
    given = ("--workload", "kinds.py:File:size=3000")
    whole = command("run", "own.toml", *given, "--decisions", "--out", "out")
    assert whole.returncode == 0
    question = ("--at", "0s", "--count", "3", "--json")
    asked = [
        json.loads(command("explain", *one, *question).stdout) for one in (("own.toml", *given), ["out"])
    ]
    assert asked[0] == asked[1] != json.loads(command("explain", "own.toml", *question).stdout)
    refused = command("explain", "out", *given, *question)
    assert refused.stderr == (
        "plait: --workload kinds.py:File:size=3000: out is a folder of results, which has its own\n"
    )


BROKEN = """
import plait


class Broken(plait.Workload):
    def begin(self):
        return plait.Write(1000)

    def on_delivered(self, now, delivery):
        {}
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "return 1 / 0",
            "own: Broken.on_delivered: ZeroDivisionError: division by zero (broken.py, line 10)",
        ),
        (
            "return 5",
            "own: Broken.on_delivered returned 5: expected plait.Write, Request, Wait or End, or a list of these",
        ),
        (
            "return plait.Request(1000)",
            (
                "own: Broken.on_delivered returned Request(1000, request=200): "
                "expected requests = True in the class, whose messages are then requests"
            ),
        ),
        (
            "return [plait.End(), plait.Write(1)]",
            "own: Broken.on_delivered returned Write(1): expected no message after the end",
        ),
        (
            "return plait.Wait(until=now)",
            "own: Broken.on_delivered returned Wait(until={now}): expected a time until which it waits, later than now",
        ),
        (
            "return plait.Write(0.5)",
            (
                "own: Broken.on_delivered: TypeError: plait.Write: bytes: expected a whole number, got 0.5 "
                "(broken.py, line 10)"
            ),
        ),
        (
            "return plait.Wait(until=now + 1)",
            "own: Broken.on_time: NotImplementedError: a workload that waits must define on_time(self, now)",
        ),
    ],
)
def test_an_error_in_the_class_ends_the_run_in_one_line(
    folder: Path, command: Command, line: str, message: str
) -> None:
    (folder / "broken.py").write_text(BROKEN.format(line))
    done = command("run", "own.toml", "--workload", "broken.py:Broken")
    assert done.returncode == 1
    before, _, after = message.partition("{now}")
    assert done.stderr.startswith(f"plait: {before}")
    assert done.stderr.endswith(f"{after}\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("none.py:Video", "workload 'none.py:Video': no such file: none.py"),
        (
            "kinds.py:Video",
            "workload 'kinds.py:Video': expected kinds.py:CLASS with one of: File, Blocks, Clients",
        ),
        (
            "kinds.py:File",
            (
                "workload 'kinds.py:File': parameter 'size': missing, and without a default; "
                "expected :size=… (a whole number)"
            ),
        ),
        (
            "kinds.py:File:size=1:start=x",
            "workload 'kinds.py:File:size=1:start=x': parameter 'start': is 'x'; expected a number",
        ),
        (
            "other.py:Silent",
            "workload 'other.py:Silent': Silent (other.py, line 3) has no begin; expected def begin(self)",
        ),
        (
            "other.py:Odd",
            (
                "workload 'other.py:Odd': Odd.on_delivered (other.py, line 9): too many positional arguments; "
                "expected def on_delivered(self, now, delivery)"
            ),
        ),
        (
            "other.py:Plan",
            "workload 'other.py:Plan': Plan (other.py, line 12) is no workload; expected class Plan(plait.Workload)",
        ),
    ],
)
def test_a_class_that_cannot_be_made_is_refused_in_one_line(
    folder: Path, command: Command, given: str, message: str
) -> None:
    (folder / "other.py").write_text(
        "import plait\n\nclass Silent(plait.Workload):\n    pass\n\nclass Odd(plait.Workload):\n"
        "    def begin(self):\n        pass\n    def on_delivered(self, now):\n        pass\n\n"
        "class Plan(plait.Scheduler):\n    pass\n"
    )
    done = command("run", "own.toml", "--workload", given)
    assert (done.returncode, done.stderr) == (2, f"plait: {message}\n")


def test_other_values_of_a_table_are_refused(folder: Path, command: Command) -> None:
    (folder / "own.toml").write_text(SCENARIO.replace("block = 2000", "block = [2000]"))
    done = command("run", "own.toml")
    assert done.stderr == (
        "plait: own.toml: workload.block = [list of 1]: expected text, a finite number, true or false, got an array\n"
    )


@pytest.mark.parametrize("engine", ["linux", "usrsctp"])
def test_engines_without_classes_refuse_them(folder: Path, command: Command, engine: str) -> None:
    done = command("run", "own.toml", "--engine", engine)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"kinds.py:Blocks:block=2000:rate=2000000': not with the {engine} engine: " in done.stderr


def test_real_quic_connections_carry_the_writes(folder: Path) -> None:
    (folder / "own.toml").write_text(SCENARIO + '[transport]\nprotocol = "mpquic"\n')
    found = plait.run("own.toml", engine="quic").metrics
    assert found["delivered_bytes"] > 700_000


def test_a_call_that_does_not_return_ends_the_run(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "LIMIT_SECONDS", 0.3)
    (folder / "broken.py").write_text(BROKEN.format("while True: pass"))
    done = command("run", "own.toml", "--workload", "broken.py:Broken")
    assert done.stderr == (
        "plait: workload Broken.on_delivered (broken.py, line 10) had not returned after 0.3 s; "
        "expected a step, such as plait.Write(1000)\n"
    )


def test_a_run_may_not_change_the_class(folder: Path, command: Command) -> None:
    (folder / "broken.py").write_text(BROKEN.format("Broken.seen = now"))
    done = command("run", "own.toml", "--workload", "broken.py:Broken")
    assert done.returncode == 2
    assert "plait: workload Broken: the run changed Broken.seen, an attribute of the class" in done.stderr


PLAN = """
scenario = "own.toml"
schedulers = ["lowest-rtt", "mine.py:First"]
seeds = 2
set = { "workload.block" = "{block}", "transport.congestion_control" = "reno.py:Reno" }
[[axis]]
block = [1000, 4000]
"""
FIRST = """
import plait


class First(plait.Scheduler):
    def decide(self, now, connection, paths):
        ready = [path for path in paths if path.open]
        return plait.Assign(ready[0].index) if ready else plait.Wait()
"""


def test_sweeps_and_bundles_carry_all_classes(folder: Path, command: Command) -> None:
    """The scheduler, the workload and the congestion controller of these runs are Python classes."""
    (folder / "mine.py").write_text(FIRST)
    (folder / "reno.py").write_text(RENO.read_text())
    (folder / "plan.toml").write_text(PLAN)
    plan = Plan.load("plan.toml")
    assert list(plan.identity["traces"]) == ["kinds.py", "reno.py"]
    sweep(plan, folder / "set", threads=1)
    assert pl.read_parquet(folder / "set" / "*.parquet")["delivered_bytes"].n_unique() > 1
    packed = pickle.dumps(make_chunk(plan, range(len(plan))))
    files = [folder / name for name in ("mine.py", "kinds.py", "reno.py")]
    bundle(folder / "set", folder / "set.zip", files)
    for file in files:
        file.unlink()
    rows, _ = pickle.loads(packed)()  # as on another machine
    assert [row.error for _, row in rows] == [None] * 8
    assert rerun(folder / "set.zip", folder / "again").different == []


def test_a_bundle_of_results_carries_the_class(folder: Path, command: Command) -> None:
    done = command("compare", "own.toml", "--schedulers", "ecf,blest", "--out", "out")
    assert done.returncode == 0
    bundle(folder / "out", folder / "out.zip")
    (folder / "kinds.py").unlink()
    done_again = rerun(folder / "out.zip", folder / "again")
    assert (done_again.runs, done_again.different) == (2, [])
