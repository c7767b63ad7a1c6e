"""`help()` of every public name states the unit of every number, or that it has no unit."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import plait

NUMERIC = re.compile(r"\b(int|float|Duration|Rate|Size)\b")
UNIT = re.compile(
    r"\b(seconds?|bit/s|bits per second|bytes?|segments?|packets?|nanoseconds|milliseconds|percent|share|seeds?|threads"
    r"|no unit|without a unit|units? of|number of|how many|numbered|streams|requests|events)\b|\b(one|1) per core\b",
    re.IGNORECASE,
)
NAMED = re.compile(r"^(seconds|bytes)$|_(s|ms|ns|bps|bytes)$")
"""Matches names that end in a unit."""
STUB = ast.parse((Path(plait.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
NAMES = [name for name in plait.__all__ if name != "plots"]


def said(docstring: str, name: str) -> str:
    """Returns the text about a parameter or field: from ``name:`` to the next name."""
    text = " ".join(docstring.split())
    found = re.search(rf"(?:^| ){name}(?:, \w+)*: (.*?)(?=\.(?: Args:)? [\w, ]+: |\Z)", text)
    return found[1].rstrip(".") if found else ""


def stub_annotations(name: str) -> dict[str, str]:
    """Returns the annotated attributes of a compiled class."""
    return {
        line.target.id: ast.unparse(line.annotation)
        for node in STUB.body
        if isinstance(node, ast.ClassDef) and node.name == name
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }


def numbers(thing: Any) -> Iterator[tuple[str, str]]:
    """Yields the numeric parameters, fields and properties of a public name, with their help."""
    docstring = inspect.getdoc(thing) or ""
    if inspect.isfunction(thing):
        for parameter in inspect.signature(thing).parameters.values():
            if NUMERIC.search(str(parameter.annotation)):
                yield parameter.name, said(docstring, parameter.name)
        return
    if is_dataclass(thing):
        for one in fields(thing):
            if NUMERIC.search(str(one.type)):
                yield one.name, said(docstring, one.name)
    annotations = stub_annotations(getattr(thing, "__name__", ""))
    for name, member in vars(thing).items() if inspect.isclass(thing) else ():
        annotation = annotations.get(name, "") if inspect.isgetsetdescriptor(member) else ""
        if isinstance(member, property) and member.fget is not None:
            annotation = str(inspect.signature(member.fget).return_annotation)
        if NUMERIC.search(annotation):
            yield name, inspect.getdoc(member) or ""


@pytest.mark.parametrize("name", NAMES)
def test_every_number_has_its_unit(name: str) -> None:
    lacking = {
        one: text
        for one, text in numbers(getattr(plait, name))
        if not (UNIT.search(text) or (text and NAMED.search(one)))
    }
    assert lacking == {}


def test_the_walk_finds_numbers_and_what_is_missing() -> None:
    found = {name: len(list(numbers(getattr(plait, name)))) for name in NAMES}
    assert found["Path"] >= 7
    assert found["PathFacts"] >= 20
    assert found["run"] >= 2
    assert sum(found.values()) > 150

    def lacking(rate: float, size: int) -> None:
        """Something.

        Args:
            rate: how fast.
            size: payload bytes
                of it.
        """
        del rate, size

    assert dict(numbers(lacking)) == {"rate": "how fast", "size": "payload bytes of it"}
    assert [one for one, text in numbers(lacking) if not UNIT.search(text)] == ["rate"]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(getattr(plait, name))
