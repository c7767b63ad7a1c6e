"""Simulator against kernel with the cases of the project, and two of them in the kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command

import plait
from plait.engines import Refused
from plait.linux import kernel
from plait.linux.refusals import KERNEL_NAMES
from plait.runs.run import key
from plait.validate import Agreement, load_validation, measure, space
from plait.validate.agreement import percentile
from plait.validate.runs import task


def test_the_description_is_large_enough_and_both_engines_can_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "identity", lambda: "")
    validation = load_validation(draw="reported")
    drawn = [case for case in validation.cases if case.group == "reported"]
    assert len(drawn) >= 250
    assert {case.group for case in validation.cases} == {"papers", "reported"}
    assert "sample" in {case.group for case in load_validation(draw="search", points=2).cases}
    assert 6 <= sum(validation.is_quick(case) for case in validation.cases) <= 10
    keys, refused = set(), set()
    for case in validation.cases:
        transport = case.scenario.transport
        assert transport.protocol == "tcp" or len(case.schedulers) >= 3 or len(case.scenario.paths) == 1
        for scheduler in case.schedulers:
            try:
                keys.add(key(task(case, scheduler, "linux", 1), "linux"))
            except Refused:
                refused.add(scheduler.partition("+")[0])
    assert refused <= {"redundant"} - set(KERNEL_NAMES)
    assert set(KERNEL_NAMES) == {*space.SCHEDULERS, *space.LATER, space.NEWEST}
    assert {*space.LATER, space.NEWEST} <= {scheduler for case in drawn for scheduler in case.schedulers}
    count = sum(
        scheduler.partition("+")[0] not in refused
        for case in validation.cases
        for scheduler in case.schedulers
    )
    assert len(keys) == count


def test_command_line(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(kernel.OVERRIDE, raising=False)
    listed = json.loads(command("validate", "linux", "--list", "--quick", "--json").stdout)
    assert [case["case"] for case in listed] == [
        case.id for case in load_validation(draw="reported").select(quick=True).cases
    ]
    other = json.loads(
        command("validate", "linux", "--draw", "77", "--points", "3", "--list", "--json").stdout
    )
    assert [case["case"] for case in other if case["case"].startswith("77-")] == [
        "77-001",
        "77-002",
        "77-003",
    ]
    scenarios = tmp_path / "scenarios"
    done = command("validate", "linux", "--draw", "77", "--only", "77-001", "--scenarios", str(scenarios))
    assert done.returncode == 0, done.stderr
    files = [file.name for file in scenarios.iterdir()]
    # A file name has the scheduler with its parameters; the scenario is named after the case.
    assert "77-001-linux-default:buffer=16777216.toml" in files
    for file in scenarios.iterdir():
        assert plait.load(file).name == "77-001"
    assert "table2-2-100-500kB (quick)" in command("validate", "linux", "--list").stdout
    for arguments, status, message in (
        (["--only", "nothing"], 2, "case 'nothing': unknown; expected one of: table2-2-100-35kB,"),
        (
            ["--draw", "nobody"],
            2,
            "draw 'nobody': unknown; expected one of: search, reported, or a whole number",
        ),
        (["--resume"], 2, "--resume needs --out"),
        (["--quick"], 1, "the linux engine's kernel is not built: run plait linux build once"),
    ):
        done = command("validate", "linux", *arguments)
        assert done.returncode == status, done.stderr
        assert message in done.stderr
        assert done.stdout == ""
    assert "missing" in command("validate").stderr.lower()


@pytest.mark.kernel
@pytest.mark.skipif(kernel.built() is None, reason="the kernel is not built")
def test_two_cases_in_the_kernel(tmp_path: Path) -> None:
    chosen = load_validation(draw="search").select(["tcp-1", "asymmetric-delays"])
    measured = measure(chosen, keep=tmp_path)
    assert not measured.outcomes
    found = Agreement(chosen, measured)
    assert percentile(found.of("goodput_bps"), 50) < 5
    counter = found.side("asymmetric-delays", "round-robin", "linux", "receiver.MPTcpExt.MPJoinAckRx")
    assert counter is not None
    assert counter.mean == 1
    # Shares of the path with the short forward delay; the other path has the short round trip.
    shares = {one.scheduler: (one.kernel.mean, one.simulator.mean) for one in found.of("share")}
    assert min(shares["delivery-delay"]) > 90
    assert max(shares["lowest-rtt"]) < 10
