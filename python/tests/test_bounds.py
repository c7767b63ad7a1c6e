"""Bounds in Python and on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import plait
from plait.cli import cli
from plait.results.benefit import against_bound

LINKS = """
duration = "3s"
[transport]
receive_buffer = "64kB"
[[path]]
name = "dsl"
rate = "16Mbit"
rtt = "25ms"
[[path]]
name = "lte"
rate = "30Mbit"
rtt = "60ms"
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a scenario file, and make its folder the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "links.toml").write_text(LINKS)
    return "links.toml"


def test_no_run_beats_the_first_bound(file: str) -> None:
    """A run stays below the bound, which is below the capacity."""
    bounds = plait.bound(file)
    assert bounds[0].valid
    assert bounds[0].metric == "goodput_bps"
    assert plait.run(file, "lowest-rtt").metrics["goodput_bps"] <= bounds[0].value <= 46e6
    values = [one.value for one in bounds if one.valid]
    assert values == sorted(values)


def test_the_command_prints_what_python_returns(file: str) -> None:
    """The document has the same bounds; a larger buffer gives a larger one."""
    document = json.loads(CliRunner().invoke(cli, ["bound", file, "--json"]).output)
    assert document["scenario"] == "links"
    assert set(document["bounds"][0]) == {"name", "metric", "value", "valid", "note"}
    assert document["bounds"] == [vars(one) for one in plait.bound(file)]
    changed = CliRunner().invoke(cli, ["bound", file, "--set", "transport.receive_buffer=6MB", "--json"])
    assert json.loads(changed.output)["bounds"][0]["value"] > document["bounds"][0]["value"]


def test_a_bound_of_some_runs_is_not_valid(tmp_path: Path) -> None:
    """A run that delivers little may have a small mean delay. The note names the runs."""
    file = tmp_path / "blocks.toml"
    file.write_text(LINKS + '[workload]\nkind = "cbr"\nrate = "30Mbit"\nblock = "5kB"\n')
    bounds = {one.name: one for one in plait.bound(file)}
    assert bounds["L0"].valid
    assert bounds["L0-joint"].value > bounds["L0"].value
    assert not bounds["L0-joint"].valid
    assert "99 %" in bounds["L0-joint"].note


def test_the_table_names_metric_and_unit(file: str) -> None:
    """People get units, and a reference is marked as such."""
    text = CliRunner().invoke(cli, ["bound", file], env={"COLUMNS": "100"}).output
    assert "L1" in text
    assert "Mbit/s" in text
    assert "not a bound" in text


def test_a_change_without_a_value_is_an_error(file: str) -> None:
    """The message names the option and its form."""
    result = CliRunner().invoke(cli, ["bound", file, "--set", "duration"])
    assert "expected KEY=VALUE" in str(result.exception)


def test_comparisons_show_the_distance_from_the_bound(file: str) -> None:
    """A run's percentage follows from the two values; several seeds have its mean."""
    result = plait.run(file, "lowest-rtt")
    percent = (result.metrics["goodput_bps"] / plait.bound(file)[0].value - 1) * 100
    assert percent < 0
    assert against_bound(result) == pytest.approx({"goodput_bps": percent})
    once = CliRunner().invoke(cli, ["compare", file, "--schedulers", "lowest-rtt"]).output
    assert re.search(rf"goodput against its bound \(%\) +│ +−{-percent:.1f} ", once)
    several = CliRunner().invoke(cli, ["compare", file, "--schedulers", "lowest-rtt", "--seeds", "2"]).output
    assert re.search(r"goodput against its bound \(%\) +│ +−\d", several)


def test_only_runs_of_the_simulator_are_held_against_bounds(file: str) -> None:
    """A real connection has other packets than the bound assumes."""
    scenario = plait.load(file, {"transport.protocol": "mpquic", "duration": "200ms"})
    assert against_bound(plait.run(scenario, "lowest-rtt"))
    assert against_bound(plait.run(scenario, "lowest-rtt", engine="quic")) == {}
