"""Reports of folders: results and datasets, error messages, and the command."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import Command
from reported import SCHEDULERS, scenario

import plait
from plait.reports.chart import distribution
from plait.results.delays import delays
from plait.results.recorded import read_origins, read_results
from plait.results.writing import write_results
from plait.support.files import OutputError


def test_a_distribution_agrees_with_the_metrics(comparison: plait.Comparison) -> None:
    for result in comparison:
        for name, values in delays(result).items():
            spread = dict[str, Any](result.metrics)[name]
            assert len(values) == result.metrics["packets_delivered"]
            assert values.mean() == pytest.approx(spread["mean"], rel=1e-3)
            assert values.max() == pytest.approx(spread["max"], rel=1e-3)
            x, y = distribution(values, 100)
            assert np.interp(0.95, y, x) == pytest.approx(spread["p95"], rel=0.1, abs=0.5)


def test_a_folder_of_results_reads_as_what_was_written(
    comparison: plait.Comparison, results_folder: Path
) -> None:
    read = read_results(results_folder)
    assert [one.scheduler for one in read] == SCHEDULERS
    for one, other in zip(read, comparison, strict=True):
        assert one.metrics == other.metrics
        assert one.scenario_json == other.scenario_json
        assert one.packets.equals(other.packets)
        assert one.recorded().keys() == other.recorded().keys()
    (single,) = read_results(results_folder / "two-paths--redundant")
    assert single.scheduler == "redundant"
    assert read_origins(results_folder) == read_origins(results_folder / "two-paths--redundant")


def test_what_made_a_run_stays_beside_it(
    comparison: plait.Comparison, results_folder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    write_results(list(comparison), folder)
    for file in (one for one in folder.rglob("*/*") if one.is_file()):
        assert file.read_bytes() == (results_folder / file.relative_to(folder)).read_bytes()
    write_results([comparison["redundant"]], folder)
    commands = read_origins(folder)
    assert [one["folders"] for one in commands] == [["two-paths--round-robin"], ["two-paths--redundant"]]
    assert {"command", "plait", "python", "processor", "cores", "time"} <= commands[0].keys()
    again = plait.run(str(folder / "two-paths--redundant" / "scenario.json"))
    # The first run also had events for sampling the series.
    assert {**again.metrics, "events": 0} == {**comparison["redundant"].metrics, "events": 0}


def test_a_page_of_runs_without_tables(tmp_path: Path) -> None:
    text = plait.report(plait.run(scenario()), tmp_path / "bare.html").read_text()
    assert "Single packets were not recorded" in text
    assert "Decisions were not recorded" in text


def broken(tmp_path: Path, results_folder: Path, dataset_folder: Path) -> dict[str, tuple[Path, list[str]]]:
    """Makes folders without a possible report; returns them with words of the error messages."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    shutil.copytree(results_folder, tmp_path / "torn")
    (tmp_path / "torn" / "two-paths--redundant" / "packets.parquet").write_bytes(b"PAR1rubbish")
    shutil.copytree(results_folder, tmp_path / "other")
    (tmp_path / "other" / "two-paths--redundant" / "result.json").write_text('{"a": 1}')
    shutil.copytree(results_folder, tmp_path / "cut")
    (tmp_path / "cut" / "two-paths--redundant" / "result.json").write_text('{"a"')
    for name in ("no-runs", "part", "plan", "column"):
        shutil.copytree(dataset_folder, tmp_path / name)
    for part in (tmp_path / "no-runs").glob("part-*"):
        part.unlink()
    (tmp_path / "part" / "part-00000001.parquet").write_bytes(b"")
    (tmp_path / "plan" / "_plan.json").write_text("[]")
    for part in (tmp_path / "column").glob("part-*"):
        pl.read_parquet(part).drop("seed").write_parquet(part)
    return {
        "none": (tmp_path / "none", ["none: no such folder"]),
        "file": (tmp_path / "file", ["file: not a folder"]),
        "empty": (tmp_path / "empty", ["empty: nothing to report", "plait run --out", "plait sweep"]),
        "torn": (tmp_path / "torn", ["packets.parquet: cannot be read as Parquet"]),
        "other": (tmp_path / "other", ["result.json: not a result", "metrics"]),
        "cut": (tmp_path / "cut", ["result.json: not JSON"]),
        "no-runs": (tmp_path / "no-runs", ["no-runs: no part is complete yet"]),
        "part": (tmp_path / "part", ["part-00000001.parquet: cannot be read as Parquet"]),
        "plan": (tmp_path / "plan", ["_plan.json: not a plan", "variables"]),
        "column": (tmp_path / "column", ["column: not a dataset", "seed"]),
    }


def test_bad_input_is_said_in_a_line(results_folder: Path, dataset_folder: Path, tmp_path: Path) -> None:
    for folder, words in broken(tmp_path, results_folder, dataset_folder).values():
        with pytest.raises(plait.ScenarioError) as raised:
            plait.report(folder, tmp_path / "page.html")
        for word in words:
            assert word in str(raised.value)
    with pytest.raises(plait.ScenarioError, match="no results"):
        plait.report([], tmp_path / "page.html")
    with pytest.raises(OutputError, match=r"nowhere/page.html: cannot be written"):
        plait.report(results_folder, tmp_path / "nowhere" / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_the_command(command: Command, results_folder: Path, tmp_path: Path) -> None:
    done = command("report", str(results_folder), "-o", "page.html")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert re.fullmatch(r"wrote page\.html \(\d\.\d MB\)\n", done.stderr)
    assert (tmp_path / "page.html").read_text().count("plotly.js v") == 1
    refused = command("report", "none")
    assert (refused.returncode, refused.stdout, refused.stderr) == (2, "", "plait: none: no such folder\n")
