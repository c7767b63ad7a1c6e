"""Schedulers written in Python: loading a class from a file's text, and making an instance of it."""

from __future__ import annotations

import hashlib
import inspect
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from plait import _core
from plait.scenarios.parameters import WrongParameterError, instance

DECIDE = "def decide(self, now, connection, paths)"
"""What every class has to have."""
PREFIX = "plait_user_"
"""Of the names of modules that were loaded from files of one's own."""


def load(text: str, file: str, name: str, origin: str) -> type[_core.Scheduler]:
    """The class `name` in a file's text; `origin` is how messages call the scheduler.

    Raises:
        ScenarioError: the text cannot be run, or defines no such class.
    """
    # The hash keeps files of the same name apart: dataclasses and annotations look their module up.
    digest = hashlib.sha256(f"{file}\0{text}".encode()).hexdigest()
    module = ModuleType(f"{PREFIX}{Path(file).stem}_{digest[:12]}")
    module.__file__ = file
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, file, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        raise _refused(f"{origin}: {file} cannot be imported", error, file) from error
    own = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }
    classes = {key: value for key, value in own.items() if issubclass(value, _core.Scheduler)}
    if name in own and name not in classes:
        message = f"{origin}: {name} ({_line(own[name], file)}) is no scheduler; expected class {name}(plait.Scheduler)"
        raise _core.ScenarioError(message)
    if name not in classes:
        known = ", ".join(classes) or "none defined there"
        message = f"{origin}: expected {file}:CLASS with one of: {known}"
        raise _core.ScenarioError(message)
    return classes[name]


def make(kind: type, given: Iterable[tuple[str, str]], origin: str) -> _core.Scheduler:
    """An instance with parameters given as text, checked.

    Raises:
        ScenarioError: a parameter is not what it may be, or the instance is no scheduler.
    """
    try:
        made: object = instance(kind, given)
    except WrongParameterError as error:
        message = f"{origin}: {error}"
        raise _core.ScenarioError(message) from error
    except (Exception, SystemExit) as error:
        raise _refused(f"{origin}: cannot be made", error, _file(kind)) from error
    return checked(made, origin)


def checked(made: object, origin: str) -> _core.Scheduler:
    """The object, if it is a scheduler that can be asked.

    Raises:
        ScenarioError: it is none, or its class lacks what it has to have.
    """
    kind = type(made)
    if not isinstance(made, _core.Scheduler):
        message = f"{origin}: {kind.__name__} is no subclass of plait.Scheduler"
        raise _core.ScenarioError(message)
    if type(made).decide is _core.Scheduler.decide and "decide" not in vars(made):
        message = f"{origin}: {kind.__name__} ({_line(kind)}) has no decide; expected {DECIDE}"
        raise _core.ScenarioError(message)
    try:
        inspect.signature(made.decide).bind(0.0, None, None)
    except TypeError as error:
        message = f"{origin}: {kind.__name__}.decide ({_line(made.decide)}): {error}; expected {DECIDE}"
        raise _core.ScenarioError(message) from error
    except ValueError:  # it is no function of Python, and does not say what it takes
        pass
    return made


def place(error: BaseException, file: str = "") -> str:
    """File and line of one's own code, or of `file`, where an exception was raised; or empty."""
    found = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if frame.f_globals.get("__name__", "").startswith(PREFIX) or name == file:
            found = f"{Path(name).name}, line {line}"
    if not found and isinstance(error, SyntaxError) and error.filename == file:
        return f"{Path(file).name}, line {error.lineno}"
    return found


def source_of(kind: type) -> tuple[str, str] | None:
    """Name and text of the file that defines a class; its own text if it was typed in; None if neither is known."""
    try:
        file = inspect.getsourcefile(kind)
        if file is not None and Path(file).is_file():
            return Path(file).name, Path(file).read_text(encoding="utf-8")
        return "typed in", inspect.getsource(kind)
    except (OSError, TypeError, UnicodeDecodeError):
        return None


def _refused(what: str, error: BaseException, file: str) -> _core.ScenarioError:
    where = "" if isinstance(error, SyntaxError) else place(error, file)  # that says itself where it is
    return _core.ScenarioError(f"{what}: {type(error).__name__}: {error}{f' ({where})' if where else ''}")


def _file(kind: type) -> str:
    try:
        return inspect.getfile(kind)
    except (OSError, TypeError):
        return ""


def _line(of: Any, file: str | None = None) -> str:
    """File and line of a class or function, as far as they are known."""
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
