"""`plait advise`: recommends paths, a scheduler and a receive buffer for roughly known links.

`links` and `traffic` parse the input. `budget` sets the number and length of runs; `variations` and
`trial` simulate them. `judging`, `buffer` and `threshold` evaluate the outcomes, `findings` holds
the results, and `wording` turns them into text.
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
"""Names that are imported on first use: the command's help needs only `choices`, not SciPy."""


def __getattr__(name: str) -> Any:
    """Import a name of `LATER` on first use."""
    if name in LATER:
        return getattr(importlib.import_module(LATER[name]), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


__all__ = ["Advice", "KnownPath", "Simulated", "Traffic", "advise", "parse_path", "parse_traffic"]
