"""Naming a scheduler: a built-in one by name, with parameters, or one of one's own."""

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
from plait.scenarios.parameters import plain_value
from plait.scenarios.python_class import checked, make, source_of

Choice = str | Mapping[str, Any] | Own | type[_core.Scheduler] | _core.Scheduler
"""``"daps"``, ``"daps+rp:rtt_error=0.1"``, ``{"name": "round-robin", "segments": 10}``, ``"mine.py:Mine:share=0.5"``,
a `Scheduler` class, or an instance."""
ALL = "all"
"""In a list: every built-in scheduler."""


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


def called(name: str) -> BuiltIn:
    """The built-in scheduler of this name.

    Raises:
        ScenarioError: there is none. The core proposes another one.
    """
    found = next((one for one in schedulers() if one["name"] == name), None)
    if found is None:
        document = json.dumps({"path": [{"rate": "1Mbit", "rtt": "1ms"}], "scheduler": name})
        try:
            _ = _core.parse_scenario(document, "", "", format="json")
        except _core.ScenarioError as error:
            raise _core.ScenarioError(str(error).removeprefix(": ").removeprefix("scheduler: ")) from error
    assert found is not None
    return found


def label(choice: Choice) -> str:
    """A short name that tells choices apart: ``round-robin``, ``round-robin:segments=10``, ``Mine:share=0.5``."""
    if isinstance(choice, Own):
        return choice.label
    if isinstance(choice, str):
        return read_own(choice).label if is_own(choice) else choice
    if isinstance(choice, Mapping):
        name = str(choice.get("name", "?"))
        if is_own(name):
            return label(choice_of(choice))
        return with_parameters(name, [(key, _plain(one)) for key, one in choice.items() if key != "name"])
    return (choice if isinstance(choice, type) else type(choice)).__name__


def scheduler_name(choice: Any) -> str:
    """The name of a scheduler that a document has as a name or a table."""
    return str(choice.get("name")) if isinstance(choice, Mapping) else str(choice)


def parse_choice(text: str, folder: Path = Path()) -> str | Mapping[str, Any] | Own:
    """Read a choice as the command line writes it.

    ``NAME``, ``NAME+OPTION``, ``NAME:parameter=value:parameter=value``, or ``FILE.py:CLASS:parameter=value`` or
    ``LIBRARY.so:CLASS:parameter=value`` for one's own, with files relative to `folder`.

    Raises:
        ScenarioError: the text is none of these, or a file cannot be read. Names of built-in schedulers and
            their parameters are checked later, by the core; files are run later, too.
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
    """The schedulers of a list, with ``all`` for every built-in one that the list does not name itself.

    Raises:
        ScenarioError: an entry is empty or is no scheduler; `place` is where the list stands.
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
    """The choice, with a file that a name or a table names read; ScenarioError if it cannot be."""
    if isinstance(choice, str):
        return parse_choice(choice, folder)
    if isinstance(choice, Mapping) and is_own(str(choice.get("name"))):
        more = {key: value for key, value in choice.items() if key != "name"}
        return read_own(str(choice["name"]), folder, more)
    return choice


def label_all(choices: Sequence[Choice | None]) -> list[str | None]:
    """Labels that tell the choices apart; None for none."""
    own = [one for one in choices if isinstance(one, Own)]
    others = [label(one) for one in choices if one is not None and not isinstance(one, Own)]
    found = iter(labels(own, [*others, *(one["name"] for one in schedulers())]))
    return [next(found) if isinstance(one, Own) else None if one is None else label(one) for one in choices]


@dataclass(frozen=True)
class Override:
    """A choice in the form the core takes: built-in ones as JSON, one's own as objects.

    document: what results keep of one's own, see `Own.document`.
    """

    built_in: str | None = None
    python: _core.Scheduler | None = None
    foreign: _core.Foreign | None = None
    label: str | None = None
    document: Mapping[str, Any] | None = None


def override(choice: Choice | None) -> Override:
    """Make the core's form of a choice; a class is instantiated, so that every run starts with fresh state.

    Raises:
        ScenarioError: the choice is not of a kind that `Choice` lists, or cannot be made.
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
        name, document = kind.__name__, _document(kind)
        origin = f"scheduler {name}"
        made = make(choice, (), origin) if isinstance(choice, type) else checked(choice, origin)
    if isinstance(made, _core.Foreign):
        return Override(foreign=made, label=name, document=document)
    return Override(python=made, label=name, document=document)


def built_in(choice: str | Mapping[str, Any]) -> str:
    """A built-in scheduler as the core takes it: JSON.

    Raises:
        ScenarioError: a parameter is no finite number, which JSON cannot hold.
    """
    if isinstance(choice, Mapping):
        for key, value in choice.items():
            if isinstance(value, float) and not math.isfinite(value):
                name = choice.get("name", "?")
                message = f"parameter {key} of scheduler {name} is {value}: it must be a finite number"
                raise _core.ScenarioError(message)
    return json.dumps(choice if isinstance(choice, str) else dict(choice))


def check_several(choices: Sequence[Choice]) -> None:
    """See that a list has at least one scheduler.

    Raises:
        ScenarioError: it is no such list.
    """
    if isinstance(choices, str) or not choices:
        message = f"schedulers: expected a list of at least one scheduler, got {choices!r}"
        raise _core.ScenarioError(message)


def distinct(names: Sequence[str | None], place: str) -> None:
    """See that no scheduler is in a list twice; `place` is where the list stands.

    Raises:
        ScenarioError: one is.
    """
    for name in names:
        if names.count(name) > 1:
            shown = "the scenario's scheduler" if name is None else repr(name)
            message = f"{place}: {shown} is there twice"
            raise _core.ScenarioError(message)


def _document(kind: type) -> dict[str, Any]:
    """What results keep of a class that was handed over as such; its parameters are not known."""
    file, text = source_of(kind) or (None, None)
    digest = None if text is None else hashlib.sha256(text.encode()).hexdigest()
    return {"file": file, "class": kind.__name__, "parameters": {}, "sha256": digest, "source": text}


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
