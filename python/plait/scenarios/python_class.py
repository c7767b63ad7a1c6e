"""Classes of users: loads a scheduler or a congestion controller from a file's text."""

from __future__ import annotations

import hashlib
import inspect
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from plait import _core
from plait.scenarios.parameters import WrongParameterError, instance

T = TypeVar("T")


@dataclass(frozen=True)
class Kind(Generic[T]):
    """A kind of users' classes: its word, its base class, the method that every class requires."""

    word: str
    base: type[T]
    method: str
    arguments: tuple[str, ...]

    @property
    def definition(self) -> str:
        """The first line of the required method."""
        return f"def {self.method}({', '.join(('self', *self.arguments))})"


SCHEDULER = Kind("scheduler", _core.Scheduler, "decide", ("now", "connection", "paths"))
CONTROLLER = Kind("controller", _core.CongestionController, "on_ack", ("ack",))
PREFIX = "plait_user_"
"""Prefix of the module names of user files."""


def module_of(text: str, file: str, origin: str) -> ModuleType:
    """Run a file's text as a fresh module; `origin` names it in messages.

    Raises:
        ScenarioError: the text cannot be run.
    """
    # The hash distinguishes files of the same name: dataclasses and annotations look up their
    # module.
    digest = hashlib.sha256(f"{file}\0{text}".encode()).hexdigest()
    module = ModuleType(f"{PREFIX}{Path(file).stem}_{digest[:12]}")
    module.__file__ = file
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, file, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        raise _refused(f"{origin}: {file} cannot be imported", error, file) from error
    return module


def load(text: str, file: str, name: str, origin: str, kind: Kind[T]) -> type[T]:
    """Load the class `name` of a kind from a file's text; `origin` names it in messages.

    Raises:
        ScenarioError: the text cannot be run, or defines no such class.
    """
    module = module_of(text, file, origin)
    own = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }
    classes = {key: value for key, value in own.items() if issubclass(value, kind.base)}
    if name in own and name not in classes:
        expected = f"class {name}(plait.{kind.base.__name__})"
        message = f"{origin}: {name} ({_line(own[name], file)}) is no {kind.word}; expected {expected}"
        raise _core.ScenarioError(message)
    if name not in classes:
        known = ", ".join(classes) or "none defined there"
        message = f"{origin}: expected {file}:CLASS with one of: {known}"
        raise _core.ScenarioError(message)
    return classes[name]


def make(one: type, given: Iterable[tuple[str, str]], origin: str, kind: Kind[T]) -> T:
    """Create an instance of the class `one` with parameters given as text, and check it.

    Raises:
        ScenarioError: a parameter is invalid, or the instance is not of this kind.
    """
    try:
        made: object = instance(one, given)
    except WrongParameterError as error:
        message = f"{origin}: {error}"
        raise _core.ScenarioError(message) from error
    except (Exception, SystemExit) as error:
        raise _refused(f"{origin}: cannot be made", error, _file(one)) from error
    return checked(made, origin, kind)


def checked(made: object, origin: str, kind: Kind[T]) -> T:
    """Return the object if it is usable as one of this kind.

    Raises:
        ScenarioError: it is of another kind, or its class lacks the required method.
    """
    own, name = type(made), kind.method
    if not isinstance(made, kind.base):
        message = f"{origin}: {own.__name__} is no subclass of plait.{kind.base.__name__}"
        raise _core.ScenarioError(message)
    if getattr(own, name) is getattr(kind.base, name) and name not in vars(made):
        message = f"{origin}: {own.__name__} ({_line(own)}) has no {name}; expected {kind.definition}"
        raise _core.ScenarioError(message)
    method = getattr(made, name)
    try:
        inspect.signature(method).bind(*kind.arguments)
    except TypeError as error:
        message = f"{origin}: {own.__name__}.{name} ({_line(method)}): {error}; expected {kind.definition}"
        raise _core.ScenarioError(message) from error
    except ValueError:  # not a Python function; it has no signature
        pass
    return made


def place(error: BaseException, file: str = "") -> str:
    """Return file and line in user code, or in `file`, that raised an exception; or empty text."""
    found = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if frame.f_globals.get("__name__", "").startswith(PREFIX) or name == file:
            found = f"{Path(name).name}, line {line}"
    if not found and isinstance(error, SyntaxError) and error.filename == file:
        return f"{Path(file).name}, line {error.lineno}"
    return found


def source_of(kind: type) -> tuple[str, str] | None:
    """Return name and text of the file that defines a class; None if unknown.

    A class that was typed in gives its own text.
    """
    try:
        file = inspect.getsourcefile(kind)
        if file is not None and Path(file).is_file():
            return Path(file).name, Path(file).read_text(encoding="utf-8")
        return "typed in", inspect.getsource(kind)
    except (OSError, TypeError, UnicodeDecodeError):
        return None


def _refused(what: str, error: BaseException, file: str) -> _core.ScenarioError:
    # A SyntaxError contains its place.
    where = "" if isinstance(error, SyntaxError) else place(error, file)
    return _core.ScenarioError(f"{what}: {type(error).__name__}: {error}{f' ({where})' if where else ''}")


def _file(kind: type) -> str:
    try:
        return inspect.getfile(kind)
    except (OSError, TypeError):
        return ""


def _line(of: Any, file: str | None = None) -> str:
    """Return file and line of a class or function, as far as they are known."""
    code = getattr(of, "__code__", None) or getattr(getattr(of, "__func__", None), "__code__", None)
    if code is not None:
        return f"{Path(code.co_filename).name}, line {code.co_firstlineno}"
    try:
        shown = Path(file or inspect.getfile(of)).name
    except (OSError, TypeError):
        return "typed in"
    line = _class_line(of)
    return shown if line is None else f"{shown}, line {line}"


def _class_line(kind: type) -> int | None:
    try:
        return inspect.getsourcelines(kind)[1]
    except (OSError, TypeError):
        return None
