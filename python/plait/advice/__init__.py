"""`plait advise`: for someone who only knows their links.

`links` and `traffic` read what was said, `variations` and `trial` simulate it, `budget` says how long, `judging`,
`buffer` and `threshold` find what to say, `findings` holds it, and `wording` says it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plait.advice.advice import Advice, Simulated, advise
    from plait.advice.links import KnownPath, parse_path
    from plait.advice.traffic import Traffic, parse_traffic

LATER = {
    **dict.fromkeys(("Advice", "Simulated", "advise"), "plait.advice.advice"),
    **dict.fromkeys(("KnownPath", "parse_path"), "plait.advice.links"),
    **dict.fromkeys(("Traffic", "parse_traffic"), "plait.advice.traffic"),
}
"""Imported when first used: the command's help needs the choices alone, not SciPy."""


def __getattr__(name: str) -> Any:
    """A name of `LATER`."""
    if name in LATER:
        return getattr(importlib.import_module(LATER[name]), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


__all__ = ["Advice", "KnownPath", "Simulated", "Traffic", "advise", "parse_path", "parse_traffic"]
