"""Bundles: their content, their repetition, and the refusal of bad ones in one line."""

from __future__ import annotations

import hashlib
import importlib
import json
import shutil
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import DSL_AND_LTE, Command

import plait
from plait.bundles import archive, bundle, rerun
from plait.bundles.packing import _Files
from plait.results import writing
from plait.runs.experiment import grid
from plait.runs.run import Task, run_tasks
from plait.scenarios.scheduler import parse_choice
from plait.support.files import OutputError

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
    assert (done.returncode, done.stderr) == (
        2,
        "plait: out-rerun: exists; expected a new or empty folder\n",
    )


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


def test_runs_of_one_engine_are_made_together(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only then several threads have an effect."""
    calls: list[tuple[int, int]] = []
    shares: list[float] = []

    def noted(tasks: Sequence[Task], *, threads: int, **more: Any) -> list[plait.Result]:
        calls.append((len(tasks), threads))
        return run_tasks(tasks, threads=threads, **more)

    monkeypatch.setattr(importlib.import_module("plait.bundles.rerun"), "run_tasks", noted)
    assert not rerun(results, tmp_path / "again", threads=2, progress=shares.append).different
    assert calls == [(4, 2)]
    assert (shares[-1], shares) == (1.0, sorted(shares))


def test_other_files_of_the_folder_are_not_compared(results: Path, command: Command, tmp_path: Path) -> None:
    """Neither figures and pages, nor the results of another command below the folder."""

    def others(about: dict[str, Any], files: dict[str, bytes]) -> None:
        found = next(data for name, data in files.items() if name.endswith("/result.json"))
        for name in ("report.html", "note.parquet", "links-Mine-share=0.25/fig.pdf", "other/run/result.json"):
            with_file(f"results/{name}", found)(about, files)

    done = command("rerun", changed(results, others).name)
    assert (done.returncode, done.stdout) == (
        0,
        "equal: 20 files of 4 runs have the same bytes as in changed.zip\n",
    )
    assert not (tmp_path / "changed-rerun" / "other").exists()


def test_a_difference_has_the_versions_at_packing(results: Path, tmp_path: Path) -> None:
    other = changed(results, lambda about, _: about["versions"].update(polars="0.1"))
    done = rerun(other, tmp_path / "again")
    assert done.notes == [f"packed with polars 0.1, here is {pl.__version__}"]


def test_a_sweep_repeats_to_the_byte(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "links.toml").write_text(LINKS)
    (tmp_path / "plan.toml").write_text(PLAN)
    done = command("sweep", "plan.toml")
    assert done.stderr.startswith("wrote 6 runs to results/plan in ")
    assert "6 runs fill 8 rows: " in done.stderr
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mine.py").rename(tmp_path / "elsewhere" / "mine.py")
    done = command("bundle", "results/plan", "-o", "set.zip")
    assert done.returncode == 2
    assert "scheduler Mine:share={share} is one of your own, and no file of the current" in done.stderr
    (tmp_path / "results" / "plan" / "report.html").write_text("a page, which is not compared")
    done = command("bundle", "results/plan", "-o", "set.zip", "--file", "elsewhere/mine.py")
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / "set.zip") as made:
        names = made.namelist()
        assert made.read("README.txt").startswith(b"6 runs of Plait ")
    size = f"{(tmp_path / 'set.zip').stat().st_size / 1e3:.0f} kB"
    assert done.stderr == f"wrote {len(names)} files to set.zip ({size})\n"
    # Without --file: the unchanged file is beside the plan again. One of another content is not taken.
    packed = (tmp_path / "set.zip").read_bytes()
    (tmp_path / "elsewhere" / "mine.py").rename(tmp_path / "mine.py")
    (tmp_path / "other.py").write_text(f"{MINE}\n")
    done = command("bundle", "results/plan", "-o", "set.zip")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "set.zip").read_bytes() == packed
    (tmp_path / "mine.py").unlink()
    done = command("rerun", "set.zip", "--out", "again")
    assert (done.returncode, done.stdout) == (
        0,
        "equal: 3 files of 6 runs have the same bytes as in set.zip\n",
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
        "no runs": lambda about, _: about.pop("runs"),
        "no version": lambda about, _: about["versions"].pop("plait"),
        "schedulers without files": lambda about, _: about.update(schedulers=["mine.py"]),
        "trace outside": lambda about, _: about.update(traces={"lte.trace": "../lte.trace"}),
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
        ("no runs", "no bundle: bundle.json is missing or incomplete"),
        ("no version", "no bundle: bundle.json is missing or incomplete"),
        ("schedulers without files", "no bundle: bundle.json is missing or incomplete"),
        ("trace outside", "is damaged: ../lte.trace is missing in the archive"),
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
        (".", ".: is a folder; expected an archive; plait bundle . makes one"),
    ):
        done = command("rerun", name)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert message in done.stderr


def test_what_is_no_output_is_refused(results: Path, command: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "links.toml").write_text(LINKS)
    wanted = "expected an output of plait run --out, plait compare --out or plait sweep\n"
    for folder, message in (
        ("empty", f"plait: empty: neither results nor a dataset; {wanted}"),
        ("none", f"plait: none: no such folder; {wanted}"),
        (results.name, f"plait: out.zip: neither results nor a dataset; {wanted}"),
        ("links.toml", "plait bound FILE, plait play FILE\n"),
    ):
        for arguments in (
            ("bundle", folder),
            ("plot", folder, "--kind", "cdf", "--metric", "goodput", "-o", "f.pdf"),
        ):
            done = command(*arguments)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1)
            assert done.stderr.endswith(message)


def test_a_name_that_rerun_refuses_is_not_packed(made: Path, tmp_path: Path) -> None:
    found = archive.read(made)
    shutil.copytree(made.parent / "out", tmp_path / "out")
    (tmp_path / "out" / "at 12:30.txt").write_text("a note")
    (tmp_path / "lte.trace").write_bytes(found.files["traces/lte.trace"])
    with pytest.raises(OutputError, match=r"'results/at 12:30\.txt': a bundle cannot hold this name"):
        bundle(tmp_path / "out", tmp_path / "new.zip", [tmp_path / "lte.trace"])
    assert not (tmp_path / "new.zip").exists()


def test_the_same_results_give_the_same_archive(made: Path, tmp_path: Path) -> None:
    """The names of its traces are found in the files given."""
    trace = tmp_path / "lte.trace"
    trace.write_bytes(archive.read(made).files["traces/lte.trace"])
    with pytest.raises(plait.ScenarioError, match=r"lte\.trace: no such file; expected --file with it"):
        bundle(made.parent / "out", tmp_path / "out.zip")
    bundle(made.parent / "out", tmp_path / "out.zip", [trace])
    assert (tmp_path / "out.zip").read_bytes() == made.read_bytes()


def test_given_traces_replace_changed_ones(made: Path, tmp_path: Path) -> None:
    """But not other traces of the same file name."""
    found = _Files(tmp_path, [(tmp_path / "older" / "lte.trace", b"1\n")])
    for name in ("lte.trace", "north/lte.trace"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"2\n")
    found.trace(str(tmp_path / "lte.trace"), None)
    found.trace(str(tmp_path / "north" / "lte.trace"), None, rivals=True)
    assert [found.packed[at] for at in found.traces.values()] == [b"1\n", b"2\n"]


def test_files_of_steps_are_packed_as_recorded_links_are(command: Command, tmp_path: Path) -> None:
    steps = tmp_path / "rates.txt"
    steps.write_text("100ms 5Mbit\n200ms 2Mbit\n")
    links = LINKS.replace('rtt = "60ms"', 'rtt = "60ms"\nrate_steps = "rates.txt"')
    (tmp_path / "links.toml").write_text(links)
    (tmp_path / "plan.toml").write_text('scenario = "links.toml"\nschedulers = ["lowest-rtt"]\nseeds = 2\n')
    assert command("sweep", "plan.toml").returncode == 0
    bundle(tmp_path / "results" / "plan", tmp_path / "out.zip", [steps])
    steps.unlink()
    done = rerun(tmp_path / "out.zip", tmp_path / "again")
    assert (done.runs, done.different) == (2, [])


def test_files_are_found_near_the_results(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From any folder, if the results are below the folder of the command."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "rates.txt").write_text("100ms 5Mbit\n200ms 2Mbit\n")
    links = LINKS.replace('rtt = "60ms"', 'rtt = "60ms"\nrate_steps = "rates.txt"')
    (tmp_path / "links.toml").write_text(links)
    (tmp_path / "plan.toml").write_text(PLAN)
    assert command("sweep", "plan.toml").returncode == 0
    done = command("run", "links.toml", "--scheduler", "mine.py:Mine", "--out", "out")
    assert done.returncode == 0, done.stderr
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for number, folder in enumerate(("results/plan", "out")):
        bundle(tmp_path / folder, f"{number}.zip")
        assert rerun(f"{number}.zip", f"again-{number}").different == []
