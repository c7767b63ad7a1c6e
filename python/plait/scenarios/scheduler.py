"""Scheduler choices: built-in schedulers by name, with parameters, or user-defined ones."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, cast

from plait import _core
from plait.scenarios.own import (
    LIBRARIES,
    PYTHON,
    Own,
    is_own,
    labels,
    parameter_texts,
    read_own,
    with_parameters,
)
from plait.scenarios.parameters import given, plain_value
from plait.scenarios.python_class import checked, make, source_of

Choice = str | Mapping[str, Any] | Own | type[_core.Scheduler] | _core.Scheduler
"""``"daps"``, ``"daps+rp:rtt_error=0.1"``, ``{"name": "round-robin", "segments": 10}``,
``"mine.py:Mine:share=0.5"``, a `Scheduler` class, or an instance."""
ALL = "all"
"""Entry of a list that means every built-in scheduler."""


class Parameter(TypedDict):
    """One parameter of a built-in scheduler."""

    name: str
    kind: str
    default: Any
    doc: str
    choices: str


class Option(Parameter):
    """A parameter that every built-in scheduler takes.

    ``suffix`` after a name and a ``+`` sets it to true.
    """

    suffix: str | None
    needs: list[str]
    source: str


class BuiltIn(TypedDict):
    """Information about a built-in scheduler."""

    name: str
    title: str
    summary: str
    source: str
    needs: list[str]
    parameters: list[Parameter]
    options: list[Option]


def schedulers() -> list[BuiltIn]:
    """Return all built-in schedulers with their parameters and sources."""
    return cast("list[BuiltIn]", json.loads(_core.schedulers()))


def called(name: str) -> BuiltIn:
    """Return the built-in scheduler of this name, which may have options, as ``lowest-rtt+rp``.

    Raises:
        ScenarioError: there is no such scheduler or option. The core proposes another one.
    """
    found = next((one for one in schedulers() if one["name"] == name), None)
    if found is None:
        document = json.dumps({"path": [{"rate": "1Mbit", "rtt": "1ms"}], "scheduler": name})
        try:
            _ = _core.Scenario(document, "", "", format="json")
        except _core.ScenarioError as error:
            raise _core.ScenarioError(str(error).removeprefix(": ").removeprefix("scheduler: ")) from error
        found = called(name.partition("+")[0])
    return found


def label(choice: Choice) -> str:
    """Return a short label: ``round-robin``, ``round-robin:segments=10``, ``Mine:share=0.5``."""
    if isinstance(choice, Own):
        return choice.label
    if isinstance(choice, str):
        return read_own(choice).label if is_own(choice) else choice
    if isinstance(choice, Mapping):
        name = str(choice.get("name", "?"))
        if is_own(name):
            return label(choice_of(choice))
        return with_parameters(name, [(key, _plain(one)) for key, one in choice.items() if key != "name"])
    if isinstance(choice, _core.Scheduler):
        return with_parameters(type(choice).__name__, given(choice))
    other: object = choice  # a class; or no scheduler, which `override` refuses
    return (other if isinstance(other, type) else type(other)).__name__


def scheduler_name(choice: Any) -> str:
    """Return the scheduler's name from a document's entry, which is a name or a table."""
    return str(choice.get("name")) if isinstance(choice, Mapping) else str(choice)


def parse_choice(text: str, folder: Path = Path()) -> str | Mapping[str, Any] | Own:
    """Parse a choice from the command line.

    The forms are ``NAME``, ``NAME+OPTION``, ``NAME:parameter=value:parameter=value``, and for
    user-defined schedulers ``FILE.py:CLASS:parameter=value`` or
    ``LIBRARY.so:CLASS:parameter=value``, with files relative to `folder`.

    Raises:
        ScenarioError: the text has none of these forms, or a file cannot be read. The core later
            checks names and parameters of built-in schedulers; files are run later, too.
    """
    if is_own(text):
        return read_own(text, folder)
    name, *rest = text.split(":")
    if not rest:
        return name
    if "=" not in rest[0] and ("." in name or "/" in name):
        endings = ", ".join((*PYTHON, *LIBRARIES))
        message = (
            f"scheduler {text!r}: {name} is no file of schedulers; expected a name that ends in {endings}"
        )
        raise _core.ScenarioError(message)
    given = parameter_texts(rest, text, "NAME")
    return {"name": name, **{key: plain_value(value) for key, value in given}}


def parse_list(
    texts: Sequence[Any], place: str, folder: Path = Path()
) -> list[str | Mapping[str, Any] | Own]:
    """Parse a list of schedulers; ``all`` stands for every built-in one that the list lacks.

    Raises:
        ScenarioError: an entry is empty or is no scheduler; `place` names the list.
    """
    names = [one.strip() if isinstance(one, str) else one for one in texts]
    built_in = [one["name"] for one in schedulers()]
    found: list[str | Mapping[str, Any] | Own] = []
    for number, one in enumerate(names):
        if one == "":
            message = f"{place}: an entry is empty; expected all, or a list of: {', '.join(built_in)}"
            raise _core.ScenarioError(message)
        if one == ALL:
            found += [name for name in built_in if name not in names]
        elif isinstance(one, str):
            if number and re.match(r"[A-Za-z_][\w-]*=", one):
                meant = f"{names[number - 1]}:{one}"
                message = f"{place}: {one!r} is no scheduler; ':' separates parameters; expected {meant}"
                raise _core.ScenarioError(message)
            found.append(parse_choice(one, folder))
        elif isinstance(one, Mapping):
            found.append(choice_of(one, folder))
        else:
            message = f"{place}: expected a name or a table with a name, got {one!r}"
            raise _core.ScenarioError(message)
    return found


def choice_of(choice: Any, folder: Path = Path()) -> Any:
    """Return the choice after reading its file, if it names one; ScenarioError on failure."""
    if isinstance(choice, str):
        return parse_choice(choice, folder)
    if isinstance(choice, Mapping) and is_own(str(choice.get("name"))):
        more = {key: value for key, value in choice.items() if key != "name"}
        return read_own(str(choice["name"]), folder, more)
    return choice


def label_all(choices: Sequence[Choice | None]) -> list[str | None]:
    """Return distinct labels of the choices; None stays None."""
    own = [one for one in choices if isinstance(one, Own)]
    others = [label(one) for one in choices if one is not None and not isinstance(one, Own)]
    found = iter(labels(own, [*others, *(one["name"] for one in schedulers())]))
    return [next(found) if isinstance(one, Own) else None if one is None else label(one) for one in choices]


@dataclass(frozen=True)
class Override:
    """A choice in the core's form: built-in schedulers as JSON, user-defined ones as objects.

    document: description of a user-defined scheduler in results, see `Own.document`.
    """

    built_in: str | None = None
    python: _core.Scheduler | None = None
    foreign: _core.Foreign | None = None
    label: str | None = None
    document: Mapping[str, Any] | None = None


def override(choice: Choice | None) -> Override:
    """Return the core's form of a choice; a class is instantiated for fresh state in every run.

    Raises:
        ScenarioError: the choice has none of the kinds of `Choice`, or cannot be created.
    """
    choice = choice_of(choice)
    if choice is None:
        return Override()
    if isinstance(choice, str):
        return Override(built_in=json.dumps(choice), label=choice)
    if isinstance(choice, Mapping):
        return Override(built_in=built_in(choice), label=label(choice))
    if isinstance(choice, Own):
        made, name, document = choice.make(), choice.label, choice.document()
    else:
        kind = choice if isinstance(choice, type) else type(choice)
        if not issubclass(kind, _core.Scheduler):
            message = f"scheduler: expected a name, a table or a subclass of plait.Scheduler, got {choice!r}"
            raise _core.ScenarioError(message)
        name = label(choice)
        origin = f"scheduler {name}"
        made = make(choice, (), origin) if isinstance(choice, type) else checked(choice, origin)
        document = _document(kind, dict(given(made)))
    if isinstance(made, _core.Foreign):
        return Override(foreign=made, label=name, document=document)
    return Override(python=made, label=name, document=document)


def built_in(choice: str | Mapping[str, Any]) -> str:
    """Return a built-in scheduler in the core's form: JSON.

    Raises:
        ScenarioError: a parameter is not finite, which JSON cannot hold.
    """
    if isinstance(choice, Mapping):
        for key, value in choice.items():
            if isinstance(value, float) and not math.isfinite(value):
                name = choice.get("name", "?")
                message = f"parameter {key} of scheduler {name} is {value}: it must be a finite number"
                raise _core.ScenarioError(message)
    return json.dumps(choice if isinstance(choice, str) else dict(choice))


def check_several(choices: Sequence[Choice]) -> None:
    """Check that a list has at least one scheduler.

    Raises:
        ScenarioError: the value is no such list.
    """
    if isinstance(choices, str) or not choices:
        message = f"schedulers: expected a list of at least one scheduler, got {choices!r}"
        raise _core.ScenarioError(message)


def distinct(names: Sequence[str | None], place: str) -> None:
    """Check that no scheduler is in a list twice; `place` names the list.

    Raises:
        ScenarioError: a scheduler is there twice.
    """
    for name in names:
        if names.count(name) > 1:
            shown = "the scenario's scheduler" if name is None else repr(name)
            message = f"{place}: {shown} is there twice"
            raise _core.ScenarioError(message)


def _document(kind: type, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the description of a class for results, as `Own.document`."""
    file, text = source_of(kind) or (None, None)
    digest = None if text is None else hashlib.sha256(text.encode()).hexdigest()
    return {"file": file, "class": kind.__name__, "parameters": parameters, "sha256": digest, "source": text}


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
