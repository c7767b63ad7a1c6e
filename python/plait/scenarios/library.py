"""Schedulers from shared libraries: loading a library from what was read of its file, and finding a class in it."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path

from plait import _core
from plait.support.words import expected

_loaded: dict[str, _core.Library] = {}
"""By the hash of the file: a library stays loaded until the process ends."""


def load(content: bytes, digest: str, file: str, origin: str) -> _core.Library:
    """The library whose file has this content and SHA-256.

    It is loaded from a copy. So what runs is what was hashed, a library that is built anew meanwhile does no harm, and
    the new one is another library, for the same process too.

    Raises:
        ScenarioError: it cannot be loaded.
    """
    if digest in _loaded:
        return _loaded[digest]
    with tempfile.TemporaryDirectory(prefix="plait-") as folder:
        copy = Path(folder) / f"{digest[:16]}-{Path(file).name}"
        copy.write_bytes(content)
        try:
            library = _core.Library(copy)
        except _core.ScenarioError as error:
            library = _in_place(digest, file) or _refuse(str(error).replace(str(copy), file), file, origin)
    _loaded[digest] = library
    return library


def make(
    library: _core.Library, file: str, name: str, given: Iterable[tuple[str, str]], origin: str
) -> _core.Foreign:
    """A scheduler of a library, with parameters as text.

    Raises:
        ScenarioError: there is no such class, or it refuses the parameters.
    """
    names = [one for one, _ in library.classes]
    if name not in names:
        choices = expected(name, names) or "; the library has none"
        message = f"{origin}: class {name!r}: unknown in {file}{choices}"
        if not name:
            message = (
                f"{origin}: expected {file}:CLASS with one of: {', '.join(names) or 'none defined there'}"
            )
        raise _core.ScenarioError(message)
    try:
        return library.scheduler(name, ":".join(f"{key}={text}" for key, text in given))
    except _core.ScenarioError as error:
        message = f"{origin}: {str(error).removeprefix(f'scheduler {name}: ')}"
        raise _core.ScenarioError(message) from error


def _in_place(digest: str, file: str) -> _core.Library | None:
    """The library where it lies, if it can be loaded there alone: from no other folder, or beside what it needs."""
    try:
        path = Path(file).absolute()
        same = hashlib.sha256(path.read_bytes()).hexdigest() == digest
        return _core.Library(path) if same else None
    except (OSError, _core.ScenarioError):
        return None


def _refuse(reason: str, file: str, origin: str) -> _core.Library:
    said = reason.removeprefix(f"{file}: ")
    message = (
        f"{origin}: {file} cannot be loaded: {said}; expected a shared library with plait_scheduler_class_at"
    )
    raise _core.ScenarioError(message)
