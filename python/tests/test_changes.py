from pathlib import Path

import pytest

import plait
from plait.scenarios.changes import change

TABLE = {
    "duration": "3s",
    "transport": {"receive_buffer": "60kB"},
    "path": [{"name": "fast", "rate": "2Mbit", "rtt": "20ms"}, {"name": "slow", "rate": "1Mbit"}],
}


def test_values_are_replaced_by_dotted_key_and_the_table_stays() -> None:
    changed = change(
        TABLE,
        {
            "duration": "5s",
            "transport.receive_buffer": "1MB",
            "path.slow.forward.delay": "40ms",
            "workload.kind": "bulk",
        },
    )
    assert changed["duration"] == "5s"
    assert changed["transport"] == {"receive_buffer": "1MB"}
    assert changed["path"][1] == {"name": "slow", "rate": "1Mbit", "forward": {"delay": "40ms"}}
    assert changed["workload"] == {"kind": "bulk"}
    assert TABLE["path"][1] == {"name": "slow", "rate": "1Mbit"}  # type: ignore[index]


def test_paths_are_chosen_by_name_after_the_changes() -> None:
    changed = change(TABLE, {"path.fast.rate": "9Mbit"}, ["slow"])
    assert [path["name"] for path in changed["path"]] == ["slow"]


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(
        plait.ScenarioError, match=r"path 'sow': unknown \(did you mean slow\?\); expected one of"
    ):
        change(TABLE, {"path.sow.rate": "1Mbit"})
    with pytest.raises(plait.ScenarioError, match="duration is not a table"):
        change(TABLE, {"duration.unit": "s"})


def test_loading_with_changes(scenario_file: Path) -> None:
    scenario = plait.load(scenario_file, {"path.slow.rate": "3Mbit", "seed": 9}, ["slow"])
    assert [path.name for path in scenario.paths] == ["slow"]
    assert scenario.seed == 9
    assert '"rate":"3Mbit"' in scenario.json
    with pytest.raises(plait.ScenarioError, match="unknown key"):
        plait.load(scenario_file, {"path.slow.rat": "3Mbit"})
