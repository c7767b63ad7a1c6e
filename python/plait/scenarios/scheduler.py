"""Naming a scheduler: a built-in one by name, with parameters, or a class of one's own."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypedDict, cast

from plait import _core

Choice = str | Mapping[str, Any] | type[_core.Scheduler] | _core.Scheduler
"""``"daps"``, ``"daps+rp"``, ``{"name": "round-robin", "segments": 10}``, a `Scheduler` class, or an instance."""


class Parameter(TypedDict):
    """One parameter of a built-in scheduler."""

    name: str
    kind: str
    default: Any
    doc: str
    choices: str


class Option(Parameter):
    """A parameter that every built-in scheduler takes; ``suffix`` behind a name and a ``+`` makes it true."""

    suffix: str | None
    needs: list[str]
    source: str


class BuiltIn(TypedDict):
    """What there is to know about a built-in scheduler."""

    name: str
    title: str
    summary: str
    source: str
    needs: list[str]
    parameters: list[Parameter]
    options: list[Option]


def schedulers() -> list[BuiltIn]:
    """All built-in schedulers with their parameters and sources."""
    return cast("list[BuiltIn]", json.loads(_core.schedulers()))


def label(choice: Choice) -> str:
    """A short name that tells choices apart: ``round-robin``, ``round-robin:segments=10``, ``MyScheduler``."""
    if isinstance(choice, str):
        return choice
    if isinstance(choice, Mapping):
        parameters = [f"{key}={_plain(value)}" for key, value in choice.items() if key != "name"]
        return ":".join([str(choice.get("name", "?")), *parameters])
    return (choice if isinstance(choice, type) else type(choice)).__name__


def scheduler_name(choice: Any) -> str:
    """The name of a scheduler that a document has as a name or a table."""
    return str(choice.get("name")) if isinstance(choice, Mapping) else str(choice)


def parse_choice(text: str) -> Choice:
    """Read a choice as the command line writes it.

    ``NAME``, ``NAME+OPTION``, ``NAME:parameter=value:parameter=value``, or ``FILE.py:CLASS`` for one's own.

    Raises:
        ScenarioError: the text is none of these, or the class cannot be loaded. Names of built-in schedulers and
            their parameters are checked later, by the core.
    """
    source = read_source(text)
    if source is not None:
        return source.load()
    name, *rest = text.split(":")
    if not rest:
        return name
    choice: dict[str, Any] = {"name": name}
    for item in rest:
        key, equals, value = item.partition("=")
        if not equals or not key:
            message = f"scheduler {text!r}: expected NAME:parameter=value, got {item!r}"
            raise _core.ScenarioError(message)
        choice[key] = _value(value)
    return choice


@dataclass(frozen=True)
class Override:
    """A choice in the form the core takes: built-in ones as JSON, one written in Python as an object."""

    built_in: str | None = None
    python: _core.Scheduler | None = None
    label: str | None = None


def override(choice: Choice | None) -> Override:
    """Make the core's form of a choice; a class is instantiated, so that every run starts with fresh state.

    Raises:
        ScenarioError: the choice is not of a kind that `Choice` lists.
    """
    if choice is None:
        return Override()
    if isinstance(choice, str):
        return Override(built_in=json.dumps(choice), label=choice)
    if isinstance(choice, Mapping):
        return Override(built_in=json.dumps(dict(choice)), label=label(choice))
    instance: object = _instance(choice) if isinstance(choice, type) else choice
    if not isinstance(instance, _core.Scheduler):
        message = f"scheduler: expected a name, a table or a subclass of plait.Scheduler, got {choice!r}"
        raise _core.ScenarioError(message)
    return Override(python=instance, label=type(instance).__name__)


def _instance(kind: type) -> object:
    try:
        return kind()
    except (Exception, SystemExit) as error:
        message = f"scheduler {kind.__name__}: cannot be made: {type(error).__name__}: {error}"
        raise _core.ScenarioError(message) from error


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True)
class Source:
    """A scheduler's class as text, which may travel to another machine: ``file:name`` and all that is in the file."""

    file: str
    name: str
    text: str

    def load(self) -> type[_core.Scheduler]:
        """The class.

        Raises:
            ScenarioError: the text cannot be run, or defines no such class.
        """
        origin = f"scheduler '{self.file}:{self.name}'"
        module = ModuleType(f"plait_user_{Path(self.file).stem}")
        module.__file__ = self.file
        sys.modules[module.__name__] = module  # dataclasses look their module up
        try:
            exec(compile(self.text, self.file, "exec"), vars(module))
        except (Exception, SystemExit) as error:
            message = f"{origin}: {self.file} cannot be imported: {type(error).__name__}: {error}"
            raise _core.ScenarioError(message) from error
        classes = {
            key: value
            for key, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, _core.Scheduler) and value is not _core.Scheduler
        }
        if self.name not in classes:
            known = ", ".join(classes) or "none defined there"
            message = f"{origin}: expected {self.file}:CLASS with one of: {known}"
            raise _core.ScenarioError(message)
        return classes[self.name]


def read_source(text: str, folder: Path = Path()) -> Source | None:
    """The class that ``FILE.py:CLASS`` names, with FILE relative to `folder`; None if the text names a built-in one.

    Raises:
        ScenarioError: the file cannot be read.
    """
    file, _, name = text.partition(":")
    if not file.endswith(".py"):
        return None
    path = folder / file
    if not path.is_file():
        message = f"scheduler {text!r}: no such file: {path}"
        raise _core.ScenarioError(message)
    try:
        return Source(str(path), name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        message = f"scheduler {text!r}: {path} cannot be read: {error}"
        raise _core.ScenarioError(message) from error
