"""Repeating one run of a dataset, and resuming an interrupted reproduction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

import plait
from plait.papers import Reproduction, reproduce
from plait.runs.checkpoint import FILE
from plait.support.papers import names
from plait.sweep import read, sweep

PLAN = """
scenario = "links.toml"
schedulers = ["lowest-rtt", "own.py:Share:most={most}", { name = "round-robin", segments = 3 }]
seeds = SEEDS
set = { "path.slow.rtt" = "{rtt}ms", "path.slow.rate" = "{rate}Mbit", "duration" = "1s" }
[[axis]]
design = "sobol"
points = 4
ranges = { rtt = [20, 200], rate = [1, 20], most = [1, 9] }
"""
OWN = """
import plait


class Share(plait.Scheduler):
    most: float = 1.0

    def __init__(self):
        self.fill = max(1, round(self.most))

    def decide(self, now, connection, paths):
        ready = [path for path in paths if path.open]
        return plait.Assign(ready[0].index, min(self.fill, ready[0].room)) if ready else plait.Wait()
"""


@pytest.fixture
def dataset(tmp_path: Path, scenario_file: Path, request: pytest.FixtureRequest) -> Path:
    """A sweep over a design with several schedulers.

    One of them is user-defined, and its parameter varies.
    """
    scenario_file.rename(tmp_path / "links.toml")
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "plan.toml").write_text(PLAN.replace("SEEDS", request.param))
    sweep(tmp_path / "plan.toml", tmp_path / "set")
    return tmp_path / "set"


@pytest.mark.parametrize("dataset", ["2", "1", "[7, 3]"], indirect=True)
def test_a_run_of_a_dataset_again_has_its_numbers(dataset: Path, command: Command) -> None:
    rows = read(dataset).frame
    assert len({row["goodput_bps"] for row in rows.iter_rows(named=True) if row["point"] == 0}) > 1
    for row in rows.iter_rows(named=True):
        is_named = row["scheduler"].startswith("Share") and row["index"] % 2
        own = ("--scheduler", "own.py:Share") if is_named else ()
        done = command("run", "set", "--index", str(row["index"]), "--json", *own)
        assert done.returncode == 0, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        found = (
            document["seed"],
            document["metrics"]["goodput_bps"],
            document["metrics"]["app_delay_ms"]["p95"],
        )
        assert found == (row["seed"], row["goodput_bps"], row["app_delay_ms.p95"]), row


@pytest.mark.parametrize("dataset", ["1"], indirect=True)
def test_what_cannot_be_run_again_is_said(dataset: Path, command: Command) -> None:
    def said(*arguments: str) -> str:
        done = command("run", "set", *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        return done.stderr

    assert "set: index 12: unknown; expected 0 to 11" in said("--index", "12")
    assert "the run's scheduler is lowest-rtt" in said("--index", "0", "--scheduler", "own.py:Share")
    assert "--index and --seed exclude each other" in said("--index", "0", "--seed", "3")
    with (dataset.parent / "own.py").open("a") as file:
        file.write("# another one\n")
    assert "is not the file that the sweep ran" in said("--index", "1", "--scheduler", "own.py:Share")
    assert "is not the file that the sweep ran" in said("--index", "1")
    (dataset.parent / "own.py").unlink()
    assert "Share:most={most}, one of your own; expected --scheduler FILE:Share" in said("--index", "1")


@pytest.mark.parametrize("dataset", ["1"], indirect=True)
def test_numbers_of_a_dataset_can_be_written_into_a_scenario(dataset: Path) -> None:
    (row,) = read(dataset).frame.filter(index=9).iter_rows(named=True)
    changes = {
        "path.slow.rtt": f"{row['rtt']!r}ms",
        "path.slow.rate": f"{row['rate']!r}Mbit",
        "duration": "1s",
    }
    scenario = plait.load(dataset.parent / "links.toml", changes)
    goodput = plait.run(scenario, "lowest-rtt", seed=row["seed"]).metrics["goodput_bps"]
    # The sweep rounds these values to six digits.
    assert goodput == pytest.approx(row["goodput_bps"], rel=0.05)


def test_a_reproduction_goes_on_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(**more: Any) -> Reproduction:
        return reproduce("ecf-conext17", scenarios=["file-1-*"], with_figures=False, threads=1, **more)

    whole = made()
    seen: list[float] = []

    def stop(share: float) -> None:
        seen.append(share)
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(progress=stop, keep=tmp_path)
    kept = (tmp_path / FILE).read_text().splitlines()
    assert kept
    (tmp_path / FILE).write_text("\n".join(kept) + '\n["torn')
    seen.clear()
    again = made(progress=seen.append, keep=tmp_path)
    assert seen[0] >= len(kept) / sum(map(len, again.results.values()))
    assert again.document() == whole.document()
    assert not (tmp_path / FILE).exists(), "what is complete keeps nothing"


@pytest.mark.parametrize("name", names())
def test_every_paper_says_how_long_it_takes(name: str, command: Command) -> None:
    (paper,) = (
        one for one in json.loads(command("reproduce", "--list", "--json").stdout) if one["paper"] == name
    )
    assert paper["core_seconds"] > 0
