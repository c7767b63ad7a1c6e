"""Classes of the user in text form: ``FILE:CLASS:parameter=value:…``.

FILE is a Python file, or a shared library with the C interface of the crate plait-sched-ffi.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from plait import _core
from plait.scenarios import library, python_class
from plait.scenarios.parameters import written
from plait.scenarios.roles import SCHEDULER, Role

PYTHON, LIBRARIES = (".py",), (".so", ".dylib")
"""File name suffixes."""
_NEXT = re.compile(r",\s*([A-Za-z_][\w-]*=.*)")


@dataclass(frozen=True)
class Own:
    """A class of the user, with all data to create it, also on another machine.

    file: name as given. name: name of the class. given: its parameters as text. content: content of
    the file. role: a scheduler, a workload or a congestion controller.
    """

    file: str
    name: str
    given: tuple[tuple[str, str], ...] = ()
    content: bytes = field(default=b"", repr=False)
    role: Role = SCHEDULER

    @property
    def origin(self) -> str:
        """Its name in messages."""
        return f"{self.role.name} '{with_parameters(f'{self.file}:{self.name}', self.given)}'"

    @property
    def label(self) -> str:
        """Its name in results: ``Mine:share=0.5``. See `labels` for several."""
        return with_parameters(self.name, self.given)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def is_library(self) -> bool:
        """Whether the class is from a shared library."""
        return self.file.endswith(LIBRARIES)

    @property
    def source(self) -> str | None:
        """Source text; for a library the text that it reports as its source, None without one."""
        if self.is_library:
            return self._library().source
        return self.content.decode("utf-8")

    def make(self) -> Any:
        """Create an instance of a Python class, or a factory of a library's instances.

        Each call also creates a fresh module, so that runs are independent.

        Raises:
            ScenarioError: it cannot be created; the message names the problem and its place.
        """
        if self.is_library:
            return library.make(self._library(), self.file, self.name, self.given, self.origin, self.role)
        return self.maker()[1]()

    def _library(self) -> _core.Library:
        return library.load(self.content, self.sha256, self.file, self.origin, self.role)

    def maker(self) -> tuple[type, Callable[[], Any]]:
        """Load the Python class from a fresh module; return it, and a function that creates instances.

        Raises:
            ScenarioError: see `make`.
        """
        text = self.content.decode("utf-8")
        kind = python_class.load(text, self.file, self.name, self.origin, self.role)
        return kind, lambda: python_class.make(kind, self.given, self.origin, self.role)

    def changed(self, change: Callable[[str], str]) -> Own:
        """Return a copy with changed parameter texts."""
        return replace(self, given=tuple((name, change(text)) for name, text in self.given))

    def document(self) -> dict[str, Any]:
        """Return the class's description in results."""
        return {
            "file": self.file,
            "class": self.name,
            "parameters": dict(self.given),
            "sha256": self.sha256,
            "source": self.source,
        }


def is_own(text: str) -> bool:
    """Return whether a text names a class of the user: ``FILE.py:CLASS``, ``LIBRARY.so:CLASS``."""
    return text.partition(":")[0].endswith(PYTHON + LIBRARIES)


def is_class(value: object) -> bool:
    """Return whether the value of a scenario's key names a class of the user."""
    return isinstance(value, str) and is_own(value)


def may_name_class(text: str) -> bool:
    """Return whether a scenario, as JSON, may name a class; it is quick, and rarely too cautious."""
    return any(f"{ending}{after}" in text for ending in PYTHON + LIBRARIES for after in ':"')


def read_own(
    text: str, folder: Path = Path(), more: Mapping[str, Any] | None = None, role: Role = SCHEDULER
) -> Own:
    """Read the class ``FILE:CLASS:parameter=value``, with FILE relative to `folder`.

    Args:
        text: the class in text form.
        folder: folder of the file.
        more: further parameters from a table, with their TOML values.
        role: its role.

    Raises:
        ScenarioError: the text has another form, or the file cannot be read. The file is not run
            yet.
    """
    file, *rest = text.split(":")
    name, items = (rest[0], rest[1:]) if rest else ("", [])
    path = folder / file
    if not path.is_file():
        message = f"{role.name} {text!r}: no such file: {path}"
        raise _core.ScenarioError(message)
    try:
        content = path.read_bytes()
        if file.endswith(PYTHON):
            content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{role.name} {text!r}: {path} cannot be read: {error}"
        raise _core.ScenarioError(message) from error
    given = parameter_texts(items, text, f"{file}:{name or 'CLASS'}", role)
    given += [(key, written(value)) for key, value in (more or {}).items()]
    names = [key for key, _ in given]
    for key in names:
        if names.count(key) > 1:
            message = f"{role.name} {text!r}: parameter {key!r} is given twice"
            raise _core.ScenarioError(message)
    return Own(str(path), name, tuple(given), content, role)


def parameter_texts(
    items: Sequence[str], text: str, before: str, role: Role = SCHEDULER
) -> list[tuple[str, str]]:
    """Parse the ``parameter=value`` items of the choice `text`, which starts with `before`.

    Raises:
        ScenarioError: an item has another form; the message points out a comma used as the
            separator.
    """
    found = []
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key:
            message = f"{role.name} {text!r}: expected {before}:parameter=value, got {item!r}"
            raise _core.ScenarioError(message)
        if "," in value and _NEXT.search(value):
            meant = re.sub(_NEXT, r":\1", text)
            while _NEXT.search(meant):
                meant = re.sub(_NEXT, r":\1", meant)
            message = f"{role.name} {text!r}: ':' separates parameters, not ','; expected {meant}"
            raise _core.ScenarioError(message)
        found.append((key, value))
    return found


def with_parameters(name: str, given: Sequence[tuple[str, str]]) -> str:
    """Join a name and its parameters."""
    return ":".join([name, *(f"{key}={text}" for key, text in given)])


def labels(everyone: Sequence[Own], taken: Sequence[str] = ()) -> list[str]:
    """Return distinct labels of schedulers.

    If two files define the same class name, or if another scheduler has the name (`taken`), the
    label starts with the file, and with as many folders as needed.
    """
    found = []
    for one in everyone:
        rivals = {Path(other.file) for other in everyone if other.name == one.name} - {Path(one.file)}
        name = one.name
        if rivals or name in taken:
            name = f"{_short(Path(one.file), rivals)}:{one.name}"
        found.append(with_parameters(name, one.given))
    return found


def _short(file: Path, rivals: set[Path]) -> str:
    """Return the shortest end of a file's path, in whole names, that no rival has."""
    for length in range(1, len(file.parts)):
        end = file.parts[-length:]
        if all(rival.parts[-length:] != end for rival in rivals):
            return "/".join(end)
    return str(file)
