"""Bundles: their content, their repetition, and the refusal of bad ones in one line."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import DSL_AND_LTE, Command

import plait
from plait.bundles import archive, bundle
from plait.results import writing
from plait.runs.experiment import grid
from plait.runs.run import run_tasks
from plait.scenarios.scheduler import parse_choice

LINKS = f'duration = "300ms"\n{DSL_AND_LTE}loss = "1%"\n'
PLAN = """
scenario = "links.toml"
schedulers = ["lowest-rtt", "mine.py:Mine:share={share}"]
seeds = 2
[[axis]]
share = [0.25, 0.75]
"""
MINE = """
import plait


class Mine(plait.Scheduler):
    def __init__(self, share: float = 0.5) -> None:
        self.share = share

    def decide(self, now, connection, paths):
        ready = [path for path in paths if path.room > self.share]
        return plait.Assign(ready[0].index) if ready else plait.Wait()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a bundle of two schedulers and seeds, one in Python, on a recorded link; no figures."""
    folder = tmp_path_factory.mktemp("bundle")
    (folder / "mine.py").write_text(MINE)
    (folder / "lte.trace").write_text("".join(f"{number}\n" for number in range(1, 100, 2)))
    (folder / "links.toml").write_text(LINKS.replace('rtt = "60ms"', 'rtt = "60ms"\ntrace = "lte.trace"'))
    schedulers = [parse_choice("round-robin:segments=4"), f"{folder / 'mine.py'}:Mine:share=0.25"]
    recorded: dict[str, Any] = {"perturb": True, "packets": True, "series": "20ms"}
    results = run_tasks(grid(plait.load(folder / "links.toml"), schedulers, [1, 2], **recorded))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "_write_figures", lambda *_: iter(()))
        patch.setattr(sys, "argv", ["plait", "compare", "links.toml"])
        writing.write_results(results, folder / "out")
    bundle(folder / "out", folder / "out.zip")
    for name in ("mine.py", "lte.trace", "links.toml"):
        (folder / name).unlink()
    return folder / "out.zip"


@pytest.fixture
def results(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "out.zip"))


def changed(place: Path, change: Callable[[dict[str, Any], dict[str, bytes]], object]) -> Path:
    """Writes another archive: `change` gets the manifest and the files."""
    found = archive.read(place)
    about, files = {**found.about}, dict(found.files)
    change(about, files)
    target = place.with_name("changed.zip")
    with zipfile.ZipFile(target, "w") as written:
        for name, data in {archive.MANIFEST: json.dumps(about).encode(), **files}.items():
            written.writestr(name, data)
    return target


def with_file(name: str, data: bytes) -> Callable[[dict[str, Any], dict[str, bytes]], object]:
    """Returns a change that adds a file with its hash."""

    def change(about: dict[str, Any], files: dict[str, bytes]) -> None:
        files[name] = data
        about["files"] = {**about["files"], name: hashlib.sha256(data).hexdigest()}

    return change


def test_results_repeat_to_the_byte_without_their_files(
    results: Path, command: Command, tmp_path: Path
) -> None:
    about = archive.read(results).about
    assert about["seeds"] == [1, 2]
    assert about["labels"] == ["round-robin:segments=4", "Mine:share=0.25"]
    assert about["commands"] == ["plait compare links.toml"]
    done = command("rerun", "out.zip")
    assert done.returncode == 0, done.stderr
    # Per run: result.json, scenario.json, packets and two series.
    assert done.stdout == "equal: 20 files of 4 runs have the same bytes as in out.zip\n"
    assert (tmp_path / "out-rerun" / "links-Mine-share=0.25-2" / "packets.parquet").is_file()
    done = command("rerun", "out.zip")
    assert (done.returncode, done.stderr) == (2, "plait: out-rerun: is not empty; expected a new folder\n")


def test_a_difference_is_named(results: Path, command: Command) -> None:
    def other(about: dict[str, Any], files: dict[str, bytes]) -> None:
        name = next(name for name in files if name.endswith("round-robin-segments=4/result.json"))
        with_file(name, files[name].replace(b'"goodput_bps":', b'"goodput_bps":1'))(about, files)

    changed(results, other)
    done = command("rerun", "changed.zip")
    assert done.returncode == 1
    assert (
        "1 of 20 files of 4 runs differ from changed.zip: links-round-robin-segments=4/result.json"
        in done.stderr
    )


def test_a_sweep_repeats_to_the_byte(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "links.toml").write_text(LINKS)
    (tmp_path / "plan.toml").write_text(PLAN)
    assert command("sweep", "plan.toml").returncode == 0
    done = command("bundle", "results/plan", "-o", "set.zip")
    assert done.returncode == 2
    assert "scheduler Mine:share={share} is one of your own; expected --file with its file" in done.stderr
    done = command("bundle", "results/plan", "-o", "set.zip", "--file", "mine.py")
    assert done.returncode == 0, done.stderr
    (tmp_path / "mine.py").unlink()
    done = command("rerun", "set.zip", "--out", "again")
    assert (done.returncode, done.stdout) == (
        0,
        "equal: 3 files of 8 runs have the same bytes as in set.zip\n",
    ), done.stderr


def broken(change: str) -> Callable[[dict[str, Any], dict[str, bytes]], object]:
    """Returns a change of an archive by its name."""

    def without_scheduler(about: dict[str, Any], files: dict[str, bytes]) -> None:
        del files["schedulers/mine.py"], about["files"]["schedulers/mine.py"]

    changes: Mapping[str, Callable[[dict[str, Any], dict[str, bytes]], object]] = {
        "other version": lambda about, _: about["versions"].update(plait="0.0.9"),
        "other bytes": lambda _, files: files.update({"README.txt": b"other"}),
        "missing file": lambda _, files: files.pop("README.txt"),
        "unlisted file": lambda _, files: files.update({"extra": b""}),
        "parent": with_file("results/../../evil", b""),
        "absolute": with_file("/evil", b""),
        "backslash": with_file("..\\evil", b""),
        "no scheduler": without_scheduler,
        "other format": lambda about, _: about.update(format=2),
    }
    return changes[change]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("other version", "was made by Plait 0.0.9, this is"),
        ("other bytes", "is damaged: README.txt has another SHA-256 than in bundle.json"),
        ("missing file", "is damaged: README.txt is missing in the archive"),
        ("unlisted file", "is damaged: extra is missing in bundle.json"),
        ("parent", "'results/../../evil': names a place outside the folder; nothing was unpacked"),
        ("absolute", "'/evil': names a place outside the folder"),
        ("backslash", "evil': names a place outside the folder"),
        ("no scheduler", "scheduler Mine:share=0.25: its file is missing below schedulers"),
        ("other format", "format 2: unknown; expected 1"),
    ],
)
def test_bad_bundles_are_refused_in_one_line(
    results: Path, command: Command, tmp_path: Path, change: str, message: str
) -> None:
    changed(results, broken(change))
    done = command("rerun", "changed.zip")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
    assert not list(tmp_path.rglob("evil"))
    assert not list(tmp_path.parent.glob("evil"))


def test_what_is_no_archive_is_refused(results: Path, command: Command, tmp_path: Path) -> None:
    (tmp_path / "half.zip").write_bytes(results.read_bytes()[:2000])
    (tmp_path / "text.zip").write_text("no archive")
    for name, message in (
        ("half.zip", "is damaged, or no bundle"),
        ("text.zip", "is damaged, or no bundle"),
        ("none.zip", "cannot be read: No such file or directory"),
    ):
        done = command("rerun", name)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert message in done.stderr


def test_the_same_results_give_the_same_archive(made: Path, tmp_path: Path) -> None:
    """The names of its traces are found in the files given."""
    trace = tmp_path / "lte.trace"
    trace.write_bytes(archive.read(made).files["traces/lte.trace"])
    with pytest.raises(plait.ScenarioError, match=r"lte\.trace: no such file; expected --file with it"):
        bundle(made.parent / "out", tmp_path / "out.zip")
    bundle(made.parent / "out", tmp_path / "out.zip", [trace])
    assert (tmp_path / "out.zip").read_bytes() == made.read_bytes()
