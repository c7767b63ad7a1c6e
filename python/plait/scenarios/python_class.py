"""Classes of the user in Python: loads a class from a file's text, and creates instances."""

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
from plait.scenarios.roles import SCHEDULER, Role

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


def load(text: str, file: str, name: str, origin: str, role: Role = SCHEDULER) -> type:
    """Load the class `name` from a file's text; `origin` names it in messages.

    Raises:
        ScenarioError: the text cannot be run, or defines no such class.
    """
    module = module_of(text, file, origin)
    own = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }
    classes = {key: value for key, value in own.items() if issubclass(value, role.base)}
    if name in own and name not in classes:
        message = (
            f"{origin}: {name} ({_line(own[name], file)}) is no {role.name}; "
            f"expected class {name}(plait.{role.base.__name__})"
        )
        raise _core.ScenarioError(message)
    if name not in classes:
        known = ", ".join(classes) or "none defined there"
        message = f"{origin}: expected {file}:CLASS with one of: {known}"
        raise _core.ScenarioError(message)
    return classes[name]


def make(kind: type, given: Iterable[tuple[str, str]], origin: str, role: Role = SCHEDULER) -> Any:
    """Create an instance with parameters given as text, and check it.

    Raises:
        ScenarioError: a parameter is invalid, or the instance cannot be used in its role.
    """
    try:
        made: object = instance(kind, given)
    except WrongParameterError as error:
        message = f"{origin}: {error}"
        raise _core.ScenarioError(message) from error
    except (Exception, SystemExit) as error:
        raise _refused(f"{origin}: cannot be made", error, _file(kind)) from error
    return checked(made, origin, role)


def checked(made: object, origin: str, role: Role = SCHEDULER) -> Any:
    """Return the object if it can be used in its role.

    Raises:
        ScenarioError: it cannot; its class lacks a method, or a method has other arguments.
    """
    kind = type(made)
    if not isinstance(made, role.base):
        message = f"{origin}: {kind.__name__} is no subclass of plait.{role.base.__name__}"
        raise _core.ScenarioError(message)
    for method, arguments in role.methods.items():
        expected, own = role.signature(method), getattr(made, method)
        if getattr(kind, method) is getattr(role.base, method) and method not in vars(made):
            if method == role.required:
                message = f"{origin}: {kind.__name__} ({_line(kind)}) has no {method}; expected {expected}"
                raise _core.ScenarioError(message)
            continue
        try:
            inspect.signature(own).bind(*filter(None, arguments.split(", ")))
        except TypeError as error:
            message = f"{origin}: {kind.__name__}.{method} ({_line(own)}): {error}; expected {expected}"
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
