"""The search for the best schedule, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import plait
from plait.cli import cli
from plait.results.metrics import metric
from plait.results.recorded import read_results
from plait.runs.oracle import oracle

LINKS = """
duration = "2s"
[workload]
kind = "cbr"
rate = "9Mbit"
block = "6kB"
[[path]]
name = "dsl"
rate = "8Mbit"
rtt = "20ms"
[[path]]
name = "lte"
rate = "5Mbit"
rtt = "90ms"
"""
RUNS = 120


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a scenario file."""
    file = tmp_path_factory.mktemp("oracle") / "links.toml"
    file.write_text(LINKS)
    return file


def test_the_result_depends_only_on_the_number_of_runs(file: Path) -> None:
    """Threads do not change it. The schedule is between the best scheduler and the bound."""
    one, other = (oracle(file, seconds=600, evaluations=RUNS, threads=threads) for threads in (1, 3))
    assert one.document() == other.document()
    assert one.result.to_json() == other.result.to_json()
    assert one.runs == RUNS
    assert one.bound is not None
    assert one.bound.value <= one.value < one.scheduler_value
    assert metric(one.result, one.metric) == one.value
    best = plait.compare(file, [info["name"] for info in plait.schedulers()]).results
    delays = [metric(run, one.metric) for run in best]
    assert min(delay for delay in delays if delay is not None) <= one.scheduler_value


def test_the_time_ends_the_search_after_the_schedulers(file: Path) -> None:
    """A search without time is the best scheduler."""
    found = oracle(file, seconds=1e-9)
    assert found.runs >= len(plait.schedulers())
    assert found.value <= found.scheduler_value


def test_other_commands_take_its_result(file: Path, tmp_path: Path) -> None:
    """The folder has both runs with decisions; a step's reason says so."""
    out = tmp_path / "best"
    options = ["--seconds", "600", "--evaluations", str(RUNS), "--out", str(out), "--json"]
    result = CliRunner().invoke(cli, ["oracle", str(file), *options], catch_exceptions=False)
    document = json.loads(result.output)
    runs = {one.scheduler: one for one in read_results(out)}
    assert set(runs) == {"oracle", document["scheduler"]}
    assert metric(runs["oracle"], document["metric"]) == document["value"]
    assert document["plan"]["steps"]
    reasons = runs["oracle"].decisions["reason"].drop_nulls()
    assert (
        reasons.str.contains("a step of the plan").any()
        or reasons.str.starts_with(document["plan"]["base"]).any()
    )
    asked = ["explain", str(out), "--scheduler", "oracle", "--at", "100ms", "--json"]
    explained = CliRunner().invoke(cli, asked, catch_exceptions=False)
    assert json.loads(explained.output)["scheduler"] == "oracle"
    drawn = ["plot", str(out), "--kind", "cdf", "--metric", "app_delay_ms", "--packets"]
    drawn += ["-o", str(tmp_path / "plot.pdf")]
    assert CliRunner().invoke(cli, drawn, catch_exceptions=False).exit_code == 0


def test_the_table_names_both_schedules(file: Path) -> None:
    """People get units, and the bound's sign."""
    arguments = ["oracle", str(file), "--seconds", "600", "--evaluations", "40"]
    text = CliRunner().invoke(cli, arguments, env={"COLUMNS": "100"}, catch_exceptions=False).output
    assert "best scheduler" in text
    assert "mean block delay" in text
    assert "≥ " in text
    assert "after 40 runs" in text


def test_other_workloads_are_refused(file: Path) -> None:
    """The message names the workloads that have a value."""
    requests = {"workload": {"kind": "request-response", "request": "1kB", "response": "9kB"}}
    scenario = plait.load(file, requests)
    with pytest.raises(plait.ScenarioError, match="expected one of: bulk, file, cbr"):
        oracle(scenario)
