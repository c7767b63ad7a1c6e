"""The defaults of a scenario are the same for files, commands and builders."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import DSL_AND_LTE

import plait
from plait.advice import choices
from plait.cli import cli
from plait.results.recorded import read_result

SAID = ("name", "seed", "duration", "warmup", "scheduler", "workload")
"""Keys that a command sets from its options or by itself."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "minimal.toml"
    file.write_text(f'duration = "200ms"\n{DSL_AND_LTE}')
    return file


def network(scenario: Any) -> dict[str, Any]:
    """Returns the endpoints and paths of a resolved scenario."""
    return {key: value for key, value in scenario.items() if key not in SAID}


def invoke(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["--quiet", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_commands_and_builders_resolve_a_minimal_file_to_the_same(file: Path, tmp_path: Path) -> None:
    expected = network(json.loads(plait.load(file).json))
    transport = expected["transport"]
    assert (transport["protocol"], transport["profile"]) == ("mptcp", "linux")
    assert (transport["congestion_control"], transport["receive_buffer"]) == ("cubic", "6291456B")
    # 16 Mbit/s · 25 ms and 30 Mbit/s · 60 ms, in packets of 1500 bytes.
    assert [path["forward"]["queue"] for path in expected["path"]] == ["34p", "150p"]

    built = plait.Scenario(
        paths=[
            plait.Path(name="dsl", rate="16Mbit", rtt="25ms"),
            plait.Path(name="lte", rate="30Mbit", rtt="60ms"),
        ]
    )
    assert network(json.loads(built.json)) == expected
    invoke("run", str(file), "--out", str(tmp_path / "run"))
    invoke("compare", str(file), "--schedulers", "lowest-rtt,round-robin", "--out", str(tmp_path / "compare"))
    written = [*tmp_path.glob("run/*"), *tmp_path.glob("compare/*")]
    runs = [read_result(folder) for folder in written if folder.is_dir()]
    assert len(runs) == 3
    assert all(network(json.loads(str(run.scenario_json))) == expected for run in runs)
    advice = plait.advise(
        ["dsl 16Mbit 25ms", "lte 30Mbit 60ms"], "file:100kB", schedulers=["lowest-rtt"], events=100_000
    )
    assert network(json.loads(advice.scenario.json)) == expected


def test_advise_says_the_receive_buffer_that_scenarios_have() -> None:
    default = next(
        key["default"]
        for key in plait.scenario_keys()
        if key["key"] == "receive_buffer" and "mptcp" in key["table"]
    )
    assert default == choices.RECEIVE_BUFFER
