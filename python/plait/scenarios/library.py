"""Schedulers from shared libraries: loads a library from its content, and finds its classes."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path

from plait import _core
from plait.support.words import expected

_loaded: dict[str, _core.Library] = {}
"""Loaded libraries by the hash of their file. A library stays loaded until the process ends."""


def load(content: bytes, digest: str, file: str, origin: str) -> _core.Library:
    """Load the library whose file has this content and SHA-256.

    The library is loaded from a copy, so that the running code is the hashed code. A rebuild of the
    file in the meantime does no harm: the new file is another library, also in the same process.

    Raises:
        ScenarioError: the library cannot be loaded.
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
    """Return a scheduler of a library, with parameters as text.

    Raises:
        ScenarioError: the library has no such class, or the class refuses the parameters.
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
    """Load the library in place if it depends on its folder or its neighbours; None on failure."""
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
