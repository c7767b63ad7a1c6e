"""Classes from shared libraries: loads a library from its content, and finds its classes."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from plait import _core
from plait.scenarios.roles import CONTROLLER, SCHEDULER, WORKLOAD, Role
from plait.support.words import expected

Made = _core.Foreign | _core.ForeignController | _core.ForeignWorkload
"""A class of a library, with its parameters."""
_loaded: dict[str, _core.Library] = {}
"""Loaded libraries by the hash of their file. A library stays loaded until the process ends."""


def load(content: bytes, digest: str, file: str, origin: str, role: Role) -> _core.Library:
    """Load the library whose file has this content and SHA-256, for a class of this role.

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
            library = _in_place(digest, file) or _refuse(
                str(error).replace(str(copy), file), file, origin, role
            )
    _loaded[digest] = library
    return library


def make(
    library: _core.Library, file: str, name: str, given: Iterable[tuple[str, str]], origin: str, role: Role
) -> Made:
    """Return a class of a library, with parameters as text.

    Raises:
        ScenarioError: the library has no such class, or the class refuses the parameters.
    """
    makers: dict[str, Callable[[str, str], Made]] = {
        SCHEDULER.name: library.scheduler,
        CONTROLLER.name: library.controller,
        WORKLOAD.name: library.workload,
    }
    names = [one for one, _ in library.classes[role.name]]
    if not names:
        message = f"{origin}: {file} has no {role.name}; expected a shared library with {_function(role)}"
        raise _core.ScenarioError(message)
    if name not in names:
        message = f"{origin}: class {name!r}: unknown in {file}{expected(name, names)}"
        if not name:
            message = f"{origin}: expected {file}:CLASS with one of: {', '.join(names)}"
        raise _core.ScenarioError(message)
    try:
        return makers[role.name](name, ":".join(f"{key}={text}" for key, text in given))
    except _core.ScenarioError as error:
        message = f"{origin}: {str(error).removeprefix(f'{role.name} {name}: ')}"
        raise _core.ScenarioError(message) from error


def _in_place(digest: str, file: str) -> _core.Library | None:
    """Load the library in place if it depends on its folder or its neighbours; None on failure."""
    try:
        path = Path(file).absolute()
        same = hashlib.sha256(path.read_bytes()).hexdigest() == digest
        return _core.Library(path) if same else None
    except (OSError, _core.ScenarioError):
        return None


def _refuse(reason: str, file: str, origin: str, role: Role) -> _core.Library:
    said = reason.removeprefix(f"{file}: ")
    message = f"{origin}: {file} cannot be loaded: {said}; expected a shared library with {_function(role)}"
    raise _core.ScenarioError(message)


def _function(role: Role) -> str:
    """Return the name of the function that returns a library's classes of this role."""
    return f"plait_{role.name}_class_at"
