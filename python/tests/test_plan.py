"""Plans of sweeps: numbers of runs, and mistakes reported before the first run."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from plait import ScenarioError
from plait.sweep import Plan

SCENARIO: dict[str, Any] = {
    "duration": "1s",
    "transport": {"receive_buffer": "60kB"},
    "path": [
        {"name": "fast", "rate": "2Mbit", "rtt": "20ms"},
        {"name": "slow", "rate": "1Mbit", "rtt": "80ms", "loss": "1%"},
    ],
}
PLAN: dict[str, Any] = {
    "scenario": SCENARIO,
    "schedulers": ["lowest-rtt", {"name": "round-robin", "segments": 2}],
    "seeds": [3, 5, 8],
    "set": {"path.slow.rtt": "{rtt}ms", "transport.receive_buffer": "{round(buffer)}kB"},
    "axis": [{"rtt": [20, 40]}, {"buffer": {"log-range": [16, 256], "points": 5}}],
}


def changed(**changes: Any) -> dict[str, Any]:
    table = copy.deepcopy(PLAN) | changes
    return {key: value for key, value in table.items() if value is not None}


def test_runs_are_numbered_points_outside_then_seeds_then_schedulers() -> None:
    plan = Plan(PLAN)
    assert len(plan) == 2 * 5 * 3 * 2
    runs = [plan.run(index) for index in range(len(plan))]
    assert [run.scheduler.label for run in runs[:3]] == [
        "lowest-rtt",
        "round-robin:segments=2",
        "lowest-rtt",
    ]
    assert [run.seed for run in runs[:7]] == [3, 3, 5, 5, 8, 8, 3]
    assert [run.point for run in runs[:7]] == [0, 0, 0, 0, 0, 0, 1]
    assert [plan.values(point) for point in (0, 1, 5)] == [
        {"rtt": 20, "buffer": 16},
        {"rtt": 20, "buffer": 32},
        {"rtt": 40, "buffer": 16},
    ]
    assert json.loads(plan.scenario(6))["path"][1]["rtt"] == "40ms"
    assert json.loads(plan.scenario(6))["transport"]["receive_buffer"] == "32kB"


def test_a_plan_file_finds_its_scenario_and_schedulers_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "links.toml").write_text(
        'duration = "1s"\n[[path]]\nname = "a"\nrate = "1Mbit"\nrtt = "20ms"\n'
        '[[path]]\nname = "b"\nrate = "1Mbit"\nrtt = "20ms"\n[transport]\nreceive_buffer = "60kB"\n'
    )
    (folder / "mine.py").write_text(
        "import plait\n\n\nclass Mine(plait.Scheduler):\n"
        "    def decide(self, now, connection, paths):\n        return plait.Wait()\n"
    )
    (folder / "plan.toml").write_text('scenario = "links.toml"\nschedulers = ["daps", "mine.py:Mine"]\n')
    plan = Plan.load(folder / "plan.toml")
    assert plan.name == "plan"
    assert [one.label for one in plan.schedulers] == ["daps", "Mine"]
    assert len(plan) == 2
    (folder / "mine.py").write_text((folder / "mine.py").read_text() + "# other\n")
    assert Plan.load(folder / "plan.toml").identity["schedulers"] != plan.identity["schedulers"]


def test_a_trace_is_part_of_what_a_plan_is(tmp_path: Path) -> None:
    scenario = copy.deepcopy(SCENARIO)
    del scenario["path"][1]["rate"]
    scenario["path"][1] |= {"forward": {"trace": "lte.trace"}, "backward": {"rate": "1Mbit"}}
    trace = tmp_path / "lte.trace"
    trace.write_text("1\n5\n9\n")
    before = Plan(changed(scenario=scenario), tmp_path).identity
    trace.write_text("1\n5\n10\n")
    after = Plan(changed(scenario=scenario), tmp_path).identity
    assert [key for key in before if before[key] != after[key]] == ["traces"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scedulers": []}, "scedulers: unknown key \\(did you mean schedulers\\?\\); expected one of"),
        ({"scenario": None}, "scenario: missing"),
        ({"schedulers": None}, "schedulers: missing"),
        ({"scenario": "none.toml"}, "none.toml: cannot be read: No such file"),
        ({"scenario": 3}, "scenario: expected a table, got 3"),
        ({"schedulers": []}, "schedulers: expected a list"),
        ({"schedulers": ["dap"]}, "daps"),
        ({"schedulers": ["daps", "daps"]}, "'daps' is there twice"),
        ({"schedulers": [3]}, "expected a name or a table"),
        ({"schedulers": [{"name": "round-robin", "segment": 2}]}, "segments"),
        ({"schedulers": ["none.py:Mine"]}, "no such file"),
        ({"seeds": 0}, "seeds: expected how many"),
        ({"seeds": [1, 1]}, "different whole numbers"),
        ({"seeds": [-1]}, "different whole numbers"),
        ({"seeds": True}, "seeds: expected"),
        ({"axis": {"rtt": [1]}}, "axis: expected tables"),
        ({"axis": [{"rtt": [20]}, {"rtt": [40], "buffer": [20]}]}, "axis 2: rtt: an axis before has it"),
        ({"axis": [{"rtt": [20], "buffer": [20], "x": [1]}]}, "set: nothing uses x"),
        ({"axis": [{"rtt": [20], "seed": [1]}]}, "variable 'buffer': unknown"),
        ({"axis": [{"rtt": [20], "buffer": [20], "seed": [1]}], "set": {"a": "{seed}"}}, "a"),
        ({"axis": [{"rtt": [20, -40], "buffer": [20, 20]}]}, "point 1 \\(rtt = -40, buffer = 20\\): path"),
        ({"set": {"path.none.rtt": "{rtt}ms"}}, "path 'none': unknown; expected one of: fast, slow"),
        ({"set": {"path.slow.rt": "{rtt}ms{buffer}"}}, "rt"),
        ({"set": {"seed": "{rtt}"}}, "set: seed: cannot vary here; expected seeds of the plan"),
        ({"set": {"scheduler": "daps"}}, "expected schedulers of the plan"),
        ({"seeds": 10**9}, "expected at most"),
    ],
)
def test_mistakes_are_found_before_the_first_run(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as raised:
        Plan(changed(**changes), origin="my-plan.toml")
    assert "\n" not in str(raised.value)


def test_a_variable_that_is_also_a_column_is_refused() -> None:
    table = changed(axis=[{"goodput_bps": [20, 30]}], set={"path.slow.rtt": "{goodput_bps}ms"})
    with pytest.raises(ScenarioError, match="variable 'goodput_bps': a column of the dataset has this name"):
        Plan(table)


@pytest.mark.parametrize("text", ["scenario = ", "\x00", "a = 1\na = 2"])
def test_a_plan_that_is_no_toml_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(ScenarioError, match="cannot be read") as raised:
        Plan.load(tmp_path / "plan.toml")
    assert "\n" not in str(raised.value)
