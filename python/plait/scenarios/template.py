"""Templates of plans and papers: text with arithmetic in braces, such as ``"{20 + 5*n}ms"``."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from plait._core import ScenarioError
from plait.support.words import expected

Variables = Mapping[str, float | int | str]
"""Variables of a template."""

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"ceil": math.ceil, "max": max, "min": min, "round": round}
_FORMULA = f"numbers, variables, + - * /, {', '.join(_FUNCTIONS)}"
_BRACES = re.compile(r"\{([^{}]*)\}")


def fill(template: Any, variables: Variables) -> Any:
    """Evaluate the braces of a template, also in lists and tables; other values are unchanged.

    In braces: numbers, variables, + − * /, parentheses, ceil(), max(), min(), round(). Numbers are
    written with six significant digits and without exponents, which rates and sizes do not take.

    Raises:
        ScenarioError: the braces hold something else, or name an unknown variable.
    """
    if isinstance(template, list):
        return [fill(one, variables) for one in template]
    if isinstance(template, dict):
        return {key: fill(one, variables) for key, one in template.items()}
    if not isinstance(template, str):
        return template

    def evaluated(found: re.Match[str]) -> str:
        value = _evaluate(found[1], variables)
        if not isinstance(value, float):
            return str(value)
        short = f"{value:.6g}"
        return f"{Decimal(short):f}" if "e" in short else short

    return _BRACES.sub(evaluated, template)


def fill_value(template: Any, variables: Variables) -> Any:
    """Fill a template; a template that is one formula gives its value, such as a whole number.

    Raises:
        ScenarioError: see `fill`.
    """
    formula = _BRACES.fullmatch(template) if isinstance(template, str) else None
    return fill(template, variables) if formula is None else _evaluate(formula[1], variables)


def used(templates: Mapping[str, Any], values: Variables) -> set[str]:
    """Return the variables that at least one template needs."""
    found = set()
    for name in values:
        rest = {key: value for key, value in values.items() if key != name}
        for template in templates.values():
            try:
                fill(template, rest)
            except ScenarioError:
                found.add(name)
                break
    return found


def _evaluate(text: str, variables: Variables) -> float | int | str:
    try:
        value: float | int | str = _value(_parsed(text), variables)
    except SyntaxError as error:
        message = f"template {{{text}}}: expected a formula of {_FORMULA}"
        raise ScenarioError(message) from error
    except TypeError as error:
        message = f"template {{{text}}}: calculates with a variable that is no number"
        raise ScenarioError(message) from error
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        message = f"template {{{text}}}: {error}"
        raise ScenarioError(message) from error
    return value


@lru_cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def _value(node: ast.expr, variables: Variables) -> Any:
    match node:
        case ast.Constant(value=int() | float()):
            return node.value
        case ast.Name(id=name):
            if name not in variables:
                message = f"variable {name!r}: unknown{expected(name, list(variables))}"
                raise ScenarioError(message)
            return variables[name]
        case ast.BinOp() if type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](_value(node.left, variables), _value(node.right, variables))
        case ast.UnaryOp() if type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](_value(node.operand, variables))
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(argument, variables) for argument in node.args))
    message = f"{ast.unparse(node)}: expected a formula of {_FORMULA}"
    raise ScenarioError(message)
