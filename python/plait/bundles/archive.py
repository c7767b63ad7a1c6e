"""The archive of a bundle: a ZIP file whose `bundle.json` has the hash of every other file."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeGuard

from plait._core import OutputError, ScenarioError
from plait.support.files import make_folder, whole_file

MANIFEST, README = "bundle.json", "README.txt"
FORMAT = 1
"""Version of the archive's layout."""
RESULTS, SCHEDULERS, METRICS, TRACES = "results", "schedulers", "metrics", "traces"
"""Folders of the archive."""
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of all files, so that the same content gives the same archive."""
KEYS = {
    "kind": str,
    "versions": dict,
    "commands": list,
    "runs": int,
    "schedulers": list,
    "traces": dict,
    "files": dict,
}
"""Keys of the manifest that are read, with the types of their values."""


@dataclass(frozen=True)
class Bundle:
    """The content of an archive: its manifest, and its files by name."""

    place: Path
    about: Mapping[str, Any]
    files: Mapping[str, bytes]

    def below(self, folder: str) -> dict[str, bytes]:
        """Return the files of one of its folders, with their names there."""
        start = f"{folder}/"
        return {name.removeprefix(start): data for name, data in self.files.items() if name.startswith(start)}


def write(place: Path, about: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    """Write an archive completely or not at all.

    Raises:
        OutputError: the file is not writable, or `read` would refuse a name.
    """
    for name in files:
        if not _inside(name):
            message = (
                f"{place}: {name!r}: a bundle cannot hold this name; expected one without '..', ':' and '\\'"
            )
            raise OutputError(message)
    hashes = {name: digest(data) for name, data in sorted(files.items())}
    manifest = json.dumps({"format": FORMAT, **about, "files": hashes}, indent=1, ensure_ascii=False)
    with whole_file(place) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, data in {MANIFEST: f"{manifest}\n".encode(), **dict(sorted(files.items()))}.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)


def read(place: Path) -> Bundle:
    """Read an archive, and check its names and hashes.

    Raises:
        ScenarioError: the file is no bundle, is damaged, or has a name outside its folder.
    """
    if place.is_dir():
        message = f"{place}: is a folder; expected an archive; plait bundle {place} makes one"
        raise ScenarioError(message)
    try:
        with zipfile.ZipFile(place) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    except OSError as error:
        message = f"{place}: cannot be read: {error.strerror or error}"
        raise ScenarioError(message) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        message = f"{place}: is damaged, or no bundle: {error}; expected an archive of plait bundle"
        raise ScenarioError(message) from error
    about = _manifest(place, files.pop(MANIFEST, b""))
    listed: Mapping[str, str] = about["files"]
    for name in (*files, *listed):
        if not _inside(name):
            message = f"{place}: {name!r}: names a place outside the folder; nothing was unpacked"
            raise ScenarioError(message)
    for name in sorted({*files, *listed, *about["traces"].values()}):
        if name not in files or name not in listed:
            where = "the archive" if name not in files else MANIFEST
            message = f"{place}: is damaged: {name} is missing in {where}"
            raise ScenarioError(message)
        if digest(files[name]) != listed[name]:
            message = f"{place}: is damaged: {name} has another SHA-256 than in {MANIFEST}"
            raise ScenarioError(message)
    return Bundle(place, about, files)


def unpack(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files below a folder; their names are those of `read`."""
    for name, data in files.items():
        make_folder((folder / name).parent)
        with whole_file(folder / name) as temporary:
            temporary.write_bytes(data)


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(data).hexdigest()


def _manifest(place: Path, text: bytes) -> dict[str, Any]:
    try:
        about = json.loads(text)
    except ValueError:
        about = None
    if isinstance(about, dict) and about.get("format", FORMAT) != FORMAT:
        message = f"{place}: format {about['format']!r}: unknown; expected {FORMAT}"
        raise ScenarioError(message)
    if not _complete(about):
        message = (
            f"{place}: no bundle: {MANIFEST} is missing or incomplete; expected an archive of plait bundle"
        )
        raise ScenarioError(message)
    return about


def _complete(about: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a manifest has all that its readers take from it."""
    return (
        isinstance(about, dict)
        and about.get("format") == FORMAT
        and all(isinstance(about.get(key), kind) for key, kind in KEYS.items())
        and isinstance(about["versions"].get("plait"), str)
        and all(isinstance(one, dict) and {"sha256", "file"} <= one.keys() for one in about["schedulers"])
        and all(isinstance(one, str) for one in about["traces"].values())
    )


def _inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return (
        bool(parts) and not name.startswith("/") and ".." not in parts and not {"\\", ":", "\0"} & set(name)
    )
