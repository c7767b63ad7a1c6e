"""Schedulers of one's own, as they are written: ``FILE:CLASS``, then ``:parameter=value`` as often as wanted.

FILE is one of Python, or a shared library with the C interface of the crate plait-sched-ffi.
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

PYTHON, LIBRARIES = (".py",), (".so", ".dylib")
"""How the names of files end that hold schedulers."""
_NEXT = re.compile(r",\s*([A-Za-z_][\w-]*=.*)")


@dataclass(frozen=True)
class Own:
    """A scheduler of one's own: all that is needed to make it, on another machine too.

    file: as it was written. name: of the class. given: its parameters as text. content: of the file.
    """

    file: str
    name: str
    given: tuple[tuple[str, str], ...] = ()
    content: bytes = field(default=b"", repr=False)

    @property
    def origin(self) -> str:
        """How messages call it."""
        return f"scheduler '{with_parameters(f'{self.file}:{self.name}', self.given)}'"

    @property
    def label(self) -> str:
        """How results call it: ``Mine:share=0.5``. See `labels` for several."""
        return with_parameters(self.name, self.given)

    @cached_property
    def sha256(self) -> str:
        """Of the file."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def is_library(self) -> bool:
        """Whether it is one of a shared library."""
        return self.file.endswith(LIBRARIES)

    @property
    def source(self) -> str | None:
        """Its text; of a library what that says it was made of, None if it does not."""
        if self.is_library:
            return library.load(self.content, self.sha256, self.file, self.origin).source
        return self.content.decode("utf-8")

    def make(self) -> _core.Scheduler | _core.Foreign:
        """A fresh instance of a class of Python, whose module is a fresh one too; of a library what makes instances.

        So no run knows of another.

        Raises:
            ScenarioError: it cannot be made; says what is missing or wrong, and where.
        """
        if self.is_library:
            loaded = library.load(self.content, self.sha256, self.file, self.origin)
            return library.make(loaded, self.file, self.name, self.given, self.origin)
        kind = python_class.load(self.content.decode("utf-8"), self.file, self.name, self.origin)
        return python_class.make(kind, self.given, self.origin)

    def changed(self, change: Callable[[str], str]) -> Own:
        """The same with the texts of its parameters changed."""
        return replace(self, given=tuple((name, change(text)) for name, text in self.given))

    def document(self) -> dict[str, Any]:
        """What results keep of it."""
        return {
            "file": self.file,
            "class": self.name,
            "parameters": dict(self.given),
            "sha256": self.sha256,
            "source": self.source,
        }


def is_own(text: str) -> bool:
    """Whether a text, or the name in a table, is that of a scheduler of one's own."""
    return text.partition(":")[0].endswith(PYTHON + LIBRARIES)


def read_own(text: str, folder: Path = Path(), more: Mapping[str, Any] | None = None) -> Own:
    """The scheduler that ``FILE:CLASS:parameter=value`` names, with FILE relative to `folder`.

    Args:
        text: what was written.
        folder: in which the file is.
        more: further parameters, of a table; their values as TOML has them.

    Raises:
        ScenarioError: the text is of another form, or the file cannot be read. The file is not run yet.
    """
    file, *rest = text.split(":")
    name, items = (rest[0], rest[1:]) if rest else ("", [])
    path = folder / file
    if not path.is_file():
        message = f"scheduler {text!r}: no such file: {path}"
        raise _core.ScenarioError(message)
    try:
        content = path.read_bytes()
        if file.endswith(PYTHON):
            content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"scheduler {text!r}: {path} cannot be read: {error}"
        raise _core.ScenarioError(message) from error
    given = parameter_texts(items, text, f"{file}:{name or 'CLASS'}")
    given += [(key, written(value)) for key, value in (more or {}).items()]
    names = [key for key, _ in given]
    for key in names:
        if names.count(key) > 1:
            message = f"scheduler {text!r}: parameter {key!r} is given twice"
            raise _core.ScenarioError(message)
    return Own(str(path), name, tuple(given), content)


def parameter_texts(items: Sequence[str], text: str, before: str) -> list[tuple[str, str]]:
    """The names and texts in ``parameter=value`` items of the scheduler `text`, which begins with `before`.

    Raises:
        ScenarioError: an item is of another form; says so if a comma was taken for what separates parameters.
    """
    found = []
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key:
            message = f"scheduler {text!r}: expected {before}:parameter=value, got {item!r}"
            raise _core.ScenarioError(message)
        if "," in value and _NEXT.search(value):
            meant = re.sub(_NEXT, r":\1", text)
            while _NEXT.search(meant):
                meant = re.sub(_NEXT, r":\1", meant)
            message = f"scheduler {text!r}: ':' separates parameters, not ','; expected {meant}"
            raise _core.ScenarioError(message)
        found.append((key, value))
    return found


def written(value: Any) -> str:
    """A parameter's value as the command line writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else f"{value}"


def with_parameters(name: str, given: Sequence[tuple[str, str]]) -> str:
    """A name with parameters behind it."""
    return ":".join([name, *(f"{key}={text}" for key, text in given)])


def labels(everyone: Sequence[Own], taken: Sequence[str] = ()) -> list[str]:
    """Labels that tell schedulers apart.

    A class that two files have, or whose name another scheduler has (`taken`), has its file before it, with as many
    folders as that needs.
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
    """The end of a file's path that no rival has, in whole names."""
    for length in range(1, len(file.parts)):
        end = file.parts[-length:]
        if all(rival.parts[-length:] != end for rival in rivals):
            return "/".join(end)
    return str(file)
