"""Parameters of a class of the user: as text or as values, typed by its class's annotations.

The parameters of a class are its annotated attributes, and the arguments of its own ``__init__``:

    class Patient(plait.Scheduler):
        share: float = 0.5
        fill: Literal["fastest", "cheapest"] = "fastest"
"""

from __future__ import annotations

import inspect
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from plait import _core
from plait.scenarios.roles import role_of
from plait.support.words import expected

UNKNOWN = inspect.Parameter.empty
"""Marks a type or a default that a class does not give."""
KINDS: Mapping[Any, str] = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "a word",
    NoneType: "none",
}
"""Valid annotations of parameters, and their names in messages. `Literal` and unions are valid
too."""


class WrongParameterError(Exception):
    """A parameter is unknown, missing or invalid; the message omits the scheduler's name."""


@dataclass(frozen=True)
class Parameter:
    """A parameter with its type and its default, if any."""

    name: str
    kind: Any
    default: Any


def parameters(kind: type) -> dict[str, Parameter]:
    """Return the parameters of a class by name.

    Raises:
        WrongParameterError: an annotation is invalid.
    """
    return {one.name: one for one in (*_attributes(kind), *_arguments(kind))}


def _attributes(kind: type) -> list[Parameter]:
    """Return the annotated attributes that are parameters.

    In a class with its own ``__init__``, only attributes with a value count: a bare annotation
    there only declares an attribute. Fields of a dataclass are arguments of its ``__init__``.
    """
    if is_dataclass(kind):
        return []
    reserved = {*dir(role_of(kind).base), *dir(object)}
    found = [
        Parameter(name, hint, getattr(kind, name, UNKNOWN))
        for name, hint in _hints(kind).items()
        if not name.startswith("_") and name not in reserved and get_origin(hint) is not ClassVar
    ]
    return [one for one in found if one.default is not UNKNOWN or _maker(kind) is None]


def _arguments(kind: type) -> list[Parameter]:
    """Return the arguments of the class's own ``__init__`` or ``__new__``."""
    maker = _maker(kind)
    if maker is None:
        return []
    hints = _hints(maker)
    named = list(inspect.signature(maker).parameters.values())[1:]
    by_name = (one for one in named if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY))
    return [Parameter(one.name, hints.get(one.name, UNKNOWN), one.default) for one in by_name]


def instance(kind: type, given: Iterable[tuple[str, str]]) -> Any:
    """Create an instance of a class with parameters given as text.

    Raises:
        WrongParameterError: a parameter is wrong. The class may raise any other exception.
    """
    known = parameters(kind)
    values: dict[str, Any] = {}
    for name, text in given:
        values[name] = _read(_called(name, known), text)
    for name, one in known.items():
        if name not in values and one.default is UNKNOWN:
            message = (
                f"parameter {name!r}: missing, and without a default; expected :{name}=… ({_said(one.kind)})"
            )
            raise WrongParameterError(message)
    arguments = {one.name: values.pop(one.name) for one in _arguments(kind) if one.name in values}
    maker: Any = kind
    made = maker.__new__(kind, **arguments)
    for name, value in values.items():  # before __init__, which may read them
        setattr(made, name, value)
    if isinstance(made, kind):  # as in a call of the class
        maker.__init__(made, **arguments)
    return made


def take(made: Any, arguments: Sequence[object], keywords: Mapping[str, object] | None) -> None:
    """Set the parameters of a new instance whose class has no ``__init__`` of its own.

    The constructors of `Scheduler`, `Workload` and `CongestionController` call it.

    Raises:
        TypeError: a parameter is unknown or invalid, or has no name.
    """
    kind = type(made)
    if kind.__new__ is not role_of(kind).base.__new__:
        return  # its own __new__ has taken them
    known = {one.name: one for one in _attributes(kind)}
    try:
        if arguments:
            names = ", ".join(f"{name}=…" for name in known) or "none, it takes no parameters"
            message = f"expected parameters by name: {names}; got {arguments[0]!r}"
            raise WrongParameterError(message)
        for name, value in (keywords or {}).items():
            setattr(made, name, _admitted(_called(name, known), value))
    except WrongParameterError as error:
        message = f"{kind.__name__}: {error}"
        raise TypeError(message) from None


def given(made: Any) -> list[tuple[str, str]]:
    """Return the parameters that an instance's constructor was given, as text, for labels."""
    arguments, keywords = _core.given(made)
    names = [one.name for one in _arguments(type(made))]
    return [
        (name, written(value)) for name, value in [*zip(names, arguments, strict=False), *keywords.items()]
    ]


def written(value: Any) -> str:
    """Format a parameter's value as on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    shown = f"{value}"
    return type(value).__name__ if " object at 0x" in shown else shown


def plain_value(text: str) -> Any:
    """Parse a text as a TOML value; return other text unchanged."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _maker(kind: type) -> Any:
    """Return the class's own ``__init__`` or ``__new__``; None if it has neither."""
    for name in ("__init__", "__new__"):
        own = getattr(kind, name)
        if own is not getattr(role_of(kind).base, name) and own is not getattr(object, name):
            return own
    return None


def _hints(of: Any) -> dict[str, Any]:
    try:
        return get_type_hints(of)
    except Exception as error:
        message = f"its annotations cannot be read: {type(error).__name__}: {error}"
        raise WrongParameterError(message) from error


def _called(name: str, known: Mapping[str, Parameter]) -> Parameter:
    """Return the parameter of this name; WrongParameterError lists the choices."""
    if name not in known:
        message = f"parameter {name!r}: unknown{expected(name, list(known))}"
        raise WrongParameterError(message)
    return known[name]


def _admitted(one: Parameter, value: Any) -> Any:
    """Return the value as its annotation has it. Other annotations than `KINDS` admit any value."""
    kind = type(one.default) if one.kind in (UNKNOWN, Any, object) else one.kind
    try:
        choices = _choices(one.name, kind)
    except WrongParameterError:
        return value
    for choice in choices:
        if isinstance(choice, _Word):
            if type(value) is type(choice.value) and value == choice.value:
                return value
        elif choice not in _NUMBERS:
            if isinstance(value, choice):
                return value
        elif isinstance(value, _NUMBERS[choice]) and not isinstance(value, bool):
            number = choice(value)
            if not math.isnan(number):
                return number
    message = f"parameter {one.name!r}: is {value!r}; expected {_said(kind)}"
    raise WrongParameterError(message)


def _read(one: Parameter, text: str) -> Any:
    kind = one.kind
    if kind in (UNKNOWN, Any, object):
        kind = type(one.default)
        if kind not in (bool, float, int, str):
            return plain_value(text)
    for choice in _choices(one.name, kind):
        if isinstance(choice, _Word):
            if text == str(choice.value):
                return choice.value
            continue
        try:
            return _READERS[choice](text)
        except ValueError:
            continue
    message = f"parameter {one.name!r}: is {text!r}; expected {_said(kind)}"
    raise WrongParameterError(message)


@dataclass(frozen=True)
class _Word:
    """A value that `Literal` lists."""

    value: Any


def _choices(name: str, kind: Any) -> list[Any]:
    """Return the plain types and literal values of an annotation; in a union `str` comes last."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _choices(name, get_args(kind)[0])
    if origin is Literal:
        return [_Word(value) for value in get_args(kind)]
    if origin in (Union, UnionType):
        found = [choice for inner in get_args(kind) for choice in _choices(name, inner)]
        return sorted(found, key=lambda choice: choice is str)
    if kind in _READERS:
        return [kind]
    message = (
        f"parameter {name!r}: is annotated with {kind!r}; expected bool, int, float, str, Literal or a union"
    )
    raise WrongParameterError(message)


def _said(kind: Any) -> str:
    """Describe the values that an annotation admits."""
    if kind is UNKNOWN:
        return "a value"
    said = [
        str(choice.value) if isinstance(choice, _Word) else KINDS[choice] for choice in _choices("", kind)
    ]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} or {said[-1]}"


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _number(text: str) -> float:
    value = float(text)
    if math.isnan(value):
        raise ValueError(text)
    return value


def _none(text: str) -> None:
    if text.lower() != "none":
        raise ValueError(text)


_NUMBERS: Mapping[Any, type] = {int: Integral, float: Real}
"""The values that a type admits; those of numpy are among them."""
_READERS: Mapping[Any, Any] = {bool: _truth, float: _number, int: int, str: str, NoneType: _none}
