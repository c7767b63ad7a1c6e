"""Finds the files of a bundle: results, own schedulers and metrics, and files of scenarios."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

from plait._core import ScenarioError
from plait.bundles import archive
from plait.bundles.archive import METRICS, README, RESULTS, SCHEDULERS, TRACES, digest
from plait.recordings import RECORDING
from plait.results.recorded import ORIGIN, holds_results, read_origins, read_results
from plait.results.result import Result
from plait.scenarios.files import named_files
from plait.scenarios.own import LIBRARIES, PYTHON
from plait.support.machine import plait_version
from plait.sweep.dataset import Dataset
from plait.sweep.dataset import about as about_dataset
from plait.sweep.dataset_writer import JOURNAL
from plait.sweep.results import check_folder

LIBRARIES_OF_BYTES = ("polars", "numpy", "scipy")
"""Packages on whose version the bytes of results depend."""


def bundle(
    folder: str | PathLike[str], place: str | PathLike[str], files: Sequence[str | PathLike[str]] = ()
) -> list[str]:
    """Pack results or a dataset with all that repeats them into one archive.

    Relative names of files are looked up in the current folder, in the folder of the results, and in
    the two folders above it: results are usually in ``out`` or ``results/NAME`` below the folder of
    the command.

    Args:
        folder: an output of ``plait run --out``, ``plait compare --out`` or ``plait sweep``.
        place: name of the archive.
        files: files of user-defined schedulers and traces, if they are not where the results say,
            or have changed. A dataset does not say where the files of its schedulers and metrics are:
            those of the same folders are tried.

    Returns:
        The names of its files.

    Raises:
        ScenarioError: the folder has no results, or a scheduler, metric or trace is not found.
            OutputError: the archive is not writable, or cannot hold a file's name.
    """
    folder, place = Path(folder), Path(place)
    check_folder(folder)
    found = _Files(folder, [_given(Path(one)) for one in files])
    about = _of_results(folder, found) if holds_results(folder) else _of_dataset(folder, found)
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.name.startswith("."):
            found.packed[f"{RESULTS}/{file.relative_to(folder).as_posix()}"] = _read(file)
    found.packed[README] = _readme(place, about).encode()
    archive.write(place, {**about, "schedulers": found.schedulers, "traces": found.traces}, found.packed)
    return [archive.MANIFEST, *found.packed]


@dataclass
class _Files:
    """The files of a bundle as they are found.

    packed: content by name. schedulers: for each user-defined scheduler its label, its hash and its
    file in the archive. traces: their files in the archive, by the names in scenarios.
    """

    folder: Path
    given: Sequence[tuple[Path, bytes]]

    def __post_init__(self) -> None:
        self.packed: dict[str, bytes] = {}
        self.schedulers: list[dict[str, str]] = []
        self.traces: dict[str, str] = {}

    def scheduler(self, label: str, sha256: str, known: Iterable[tuple[str, bytes]]) -> None:
        """Pack the file of a scheduler: one of `known`, which have names and contents, or given."""
        file, data = self._known(f"scheduler {label}", sha256, known)
        # A dataset's label may begin with the end of the path, which tells two files apart.
        first = label.partition(":")[0]
        name = first if first.endswith(PYTHON + LIBRARIES) else Path(file).name
        at = self._pack(SCHEDULERS, name, data)
        self.schedulers.append({"label": label, "sha256": sha256, "file": at})

    def metric(self, told: Mapping[str, Any]) -> None:
        """Pack the file of a metric of a plan's own under its name there: messages contain it."""
        _, data = self._known(f"metric {told['file']}:{told['name']}", told["sha256"], ())
        self._pack(METRICS, told["file"], data)

    def _known(self, whose: str, sha256: str, known: Iterable[tuple[str, bytes]]) -> tuple[str, bytes]:
        """Return name and content of the file with this hash."""
        given = ((str(file), data) for file, data in self.given)
        for file, data in (*known, *given, *self._near()):
            if digest(data) == sha256:
                return file, data
        message = (
            f"{self.folder}: {whose} is one of your own, and no file of the current folder or near the results "
            f"has its SHA-256 {sha256[:16]}…; expected --file with the file that was run"
        )
        raise ScenarioError(message)

    def _near(self) -> Iterator[tuple[str, bytes]]:
        """Yield the readable files of these folders that may be schedulers or metrics."""
        for place in _places(self.folder):
            for file in sorted(place.iterdir()):
                if file.name.endswith(PYTHON + LIBRARIES) and file.is_file():
                    with suppress(OSError):
                        yield str(file), file.read_bytes()

    def _pack(self, folder: str, name: str, data: bytes) -> str:
        """Pack a file, in a folder of its own if another file has its name; return its place."""
        at = f"{folder}/{name}"
        if self.packed.get(at, data) != data:
            at = f"{folder}/{digest(data)[:8]}/{name}"
        self.packed[at] = data
        return at

    def trace(self, name: str, sha256: str | None, *, rivals: bool = False) -> None:
        """Pack a recorded link, with the name in the scenario.

        Without a hash, a given file of the same file name comes before the one at this name. With
        `rivals`, which are other traces of the file name, only one of the same whole name does.
        """
        path = Path(name)
        here = [one for one in self.given if one[0] == path] if rivals else [*self.given]
        here += [(path, _read(file)) for file in _found(self.folder, name)]
        for file, data in (*here, *self.given):
            if digest(data) == sha256 if sha256 is not None else file.name == path.name:
                at = name if sha256 is not None else path.name
                self.traces[name] = self._pack(TRACES, at, data)
                return
        message = f"{self.folder}: trace {name}: no such file; expected --file with it"
        raise ScenarioError(message)


def _of_results(folder: Path, found: _Files) -> dict[str, Any]:
    if (folder / RECORDING).is_file():
        message = (
            f"{folder}: is the recording of a transfer, which real links cannot repeat; expected results"
        )
        raise ScenarioError(message)
    results, origins = read_results(folder), read_origins(folder)
    if (folder / "result.json").is_file():
        message = f"{folder}: is one run's folder; expected the folder of --out, with {ORIGIN}"
        raise ScenarioError(message)
    traces: dict[str, None] = {}
    for result in results:
        if result.scenario_json is None:
            message = f"{folder}: {result.scenario}, {result.scheduler}: no scenario.json; cannot be repeated"
            raise ScenarioError(message)
        if result.own_scheduler is not None:
            own_files = _own_files(folder, result)
            found.scheduler(result.scheduler, str(result.own_scheduler["sha256"]), own_files)
        for own in filter(None, (result.own_workload, *result.own_controllers)):
            if str(own["file"]).endswith(PYTHON):
                found.given = [*found.given, (Path(own["file"]), str(own["source"]).encode())]
        traces |= dict.fromkeys(named_files(json.loads(result.scenario_json)))
    files = [Path(name).name for name in traces]
    for name, file in zip(traces, files, strict=True):
        found.trace(name, None, rivals=files.count(file) > 1)
    made = {str(one["plait"]) for one in origins if "plait" in one} or {plait_version()}
    if len(made) > 1:
        message = f"{folder}: runs of several versions of Plait: {', '.join(sorted(made))}; expected one"
        raise ScenarioError(message)
    seeds = list(dict.fromkeys(result.seed for result in results))
    names = list(dict.fromkeys(result.scheduler for result in results))
    commands = [str(one["command"]) for one in origins]
    return _about("results", made.pop(), commands, len(results), seeds, names)


def _of_dataset(folder: Path, found: _Files) -> dict[str, Any]:
    told = about_dataset(folder)
    if (folder / JOURNAL).exists():
        message = f"{folder}: the sweep is not complete; expected plait sweep with its plan again"
        raise ScenarioError(message)
    for one in told["schedulers"]:
        if isinstance(one, Mapping):
            found.scheduler(one["class"], one["sha256"], ())
    for one in told.get("metric", []):
        found.metric(one)
    for name, sha256 in told["traces"].items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            message = f"{folder}: trace {name}: is outside the plan's folder; expected it below"
            raise ScenarioError(message)
        found.trace(name, sha256)
    seeds = told["seeds"]
    numbers = list(range(1, seeds + 1)) if isinstance(seeds, int) else seeds
    command = [f"plait sweep {told['name']}.toml"]
    runs = Dataset(folder, told).runs
    return _about("dataset", str(told["version"]), command, runs, numbers, told["labels"])


def _about(
    kind: str, plait: str, commands: list[str], runs: int, seeds: list[int], labels: list[str]
) -> dict[str, Any]:
    versions = {"plait": plait, "python": platform.python_version()}
    return {
        "kind": kind,
        "versions": {**versions, **{name: version(name) for name in LIBRARIES_OF_BYTES}},
        "commands": commands,
        "runs": runs,
        "seeds": seeds,
        "labels": labels,
    }


def _places(folder: Path) -> list[Path]:
    """Return the folders to which relative names may refer, the most likely one first."""
    own = folder.absolute()
    return [Path(), own, *own.parents[:2]]


def _found(folder: Path, name: str) -> Iterator[Path]:
    """Yield the existing files of this name."""
    places = [Path()] if Path(name).is_absolute() else _places(folder)
    yield from filter(Path.is_file, (place / name for place in places))


def _own_files(folder: Path, result: Result) -> Iterator[tuple[str, bytes]]:
    """Yield the possible files of a run's scheduler: the source in its record, and the file."""
    own = result.own_scheduler or {}
    file = str(own["file"])
    if own.get("source") is not None and file.endswith(PYTHON):
        yield file, str(own["source"]).encode()
    for one in _found(folder, file):
        yield file, _read(one)


def _given(file: Path) -> tuple[Path, bytes]:
    return file, _read(file)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        message = f"{file}: cannot be read: {error.strerror or error}"
        raise ScenarioError(message) from error


def _readme(place: Path, about: Mapping[str, Any]) -> str:
    libraries = [f"{name} {number}" for name, number in about["versions"].items() if name != "plait"]
    return "\n".join(
        [
            f"{about['runs']} runs of Plait {about['versions']['plait']}, packed by plait bundle.",
            "",
            f"To repeat them with Plait {about['versions']['plait']} and compare the bytes:",
            "",
            f"    plait rerun {place.name}",
            "",
            f"packed with: {', '.join(libraries)}",
            f"schedulers: {', '.join(about['labels'])}",
            f"seeds: {', '.join(map(str, about['seeds']))}",
            *(f"command: {one}" for one in about["commands"]),
            "",
        ]
    )
