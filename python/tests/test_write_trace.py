"""Traces of writes: builder, command, engines, sweeps and bundles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import DSL_AND_LTE, Command

import plait
from plait.bundles import bundle, rerun
from plait.sweep.plan import Plan

WRITES = "time_s,bytes,stream,priority,deadline_ms\n0,20000,0,0,\n0.05,200,1,1,40\n"
CALL = f"""
duration = "2s"
workload = {{ kind = "trace", file = "call.csv", repeat = "100ms" }}
{DSL_AND_LTE}
[transport]
protocol = "mpquic"
"""


@pytest.fixture
def call(tmp_path: Path) -> Path:
    (tmp_path / "call.csv").write_text(WRITES)
    file = tmp_path / "call.toml"
    file.write_text(CALL)
    return file


def test_a_trace_runs_from_a_file_and_from_python(call: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = plait.load(call)
    workload = plait.WriteTrace(file="call.csv", repeat=0.1)
    assert isinstance(loaded.workload, plait.WriteTrace)
    monkeypatch.chdir(call.parent)
    built = plait.Scenario(
        name="call",
        duration=2,
        workload=workload,
        transport=plait.Transport(protocol="mpquic"),
        paths=[
            plait.Path(name="dsl", rate="16Mbit", rtt="25ms"),
            plait.Path(name="lte", rate="30Mbit", rtt="60ms"),
        ],
    )
    assert json.loads(built.json)["workload"] == json.loads(loaded.json)["workload"]
    metrics = plait.run(loaded).metrics
    assert metrics == plait.run(built).metrics
    assert metrics["delivered_bytes"] == 20 * 20_200
    # Only the message of 200 bytes has a deadline.
    assert (metrics["messages_in_time"], metrics["messages_late"]) == (20, 0)
    assert metrics["block_delay_ms"]["mean"] < metrics["block_delay_ms"]["max"] < 100


def test_schedulers_are_compared_with_a_trace(call: Path, command: Command) -> None:
    done = command("compare", call.name, "--schedulers", "lowest-rtt,round-robin")
    assert (done.returncode, done.stderr) == (0, "")
    assert "mean delay of a block (ms)" in done.stdout
    done = command("bound", call.name)
    assert done.stdout.startswith("no bound: ")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0.06,12kB,,,", 'line 4: bytes = "12kB": expected a whole number from 1 to 1000000000000000'),
        ("0.01,1,,,", "line 4: times never decrease: 10ms after 50ms"),
    ],
)
def test_a_wrong_line_is_one_sentence(call: Path, command: Command, line: str, message: str) -> None:
    call.with_name("call.csv").write_text(f"{WRITES}{line}\n")
    done = command("run", call.name)
    assert done.returncode == 2
    assert done.stderr == f'plait: call.toml: workload.file = "call.csv": {message}\n'


def test_real_quic_connections_carry_a_trace(call: Path) -> None:
    found = plait.run(call, engine="quic").metrics
    assert found["delivered_bytes"] == 20 * 20_200
    assert found["messages_in_time"] == 20


def test_the_stack_of_freebsd_has_one_stream(call: Path, command: Command) -> None:
    call.write_text(CALL.replace("mpquic", "cmt-sctp"))
    done = command("run", call.name, "--engine", "usrsctp")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert 'workload.kind = "trace": not with the usrsctp engine: ' in done.stderr


def test_a_sweep_varies_the_file_and_knows_its_content(call: Path, command: Command) -> None:
    plan = call.with_name("plan.toml")
    plan.write_text(
        'scenario = "call.toml"\nschedulers = ["lowest-rtt"]\nset = { "workload.file" = "{name}.csv" }\n'
        '[[axis]]\nname = ["call", "other"]\n'
    )
    other = call.with_name("other.csv")
    other.write_text("time_s,bytes\n0,1000\n")
    before = Plan.load(plan).identity
    other.write_text("time_s,bytes\n0,2000\n")
    after = Plan.load(plan).identity
    assert [key for key in before if before[key] != after[key]] == ["traces"]
    assert command("sweep", plan.name).returncode == 0
    bundle(call.parent / "results" / "plan", call.with_name("plan.zip"), [other, call.with_name("call.csv")])
    other.unlink()
    done = rerun(call.with_name("plan.zip"), call.with_name("again"))
    assert (done.runs, done.different) == (2, [])


def test_a_bundle_has_the_trace(call: Path, command: Command) -> None:
    assert command("run", call.name, "--out", "out").returncode == 0
    assert command("bundle", "out", "--out", "out.zip").returncode == 0
    call.with_name("call.csv").unlink()
    done = rerun(call.with_name("out.zip"), call.with_name("again"))
    assert (done.runs, done.different) == (1, [])
