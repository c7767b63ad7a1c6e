"""`plait advise`: recommends paths, a scheduler and a receive buffer for roughly known links.

`reading` and `traffic` parse the input. `budget` sets the number and length of runs; `variations`
and `trial` simulate them. `judging`, `buffer` and `threshold` evaluate the outcomes, `findings` holds
the results, and `wording` turns them into text.

All comparisons are paired: every scheduler and every single path runs on each variation.
`deployment` finds the best scheduler of stock Linux, Plait's kernel and the simulator. `capped`
runs the cases of paths that losses limit, `threshold` those of the changes that would make a second
path worth it.

The budget counts events, not seconds. So slow and fast links take the same time, every machine
prints the same words, and omitted parts are reported. Short runs favour several paths, because each
has a slow start of its own. So thresholds use runs as long as the main ones.

Each sentence is a `Statement` with its kind. `plait.validate.statements` and `practice` read each
kind back without the code that wrote it, and compare it with the numbers. `plait.validate.fresh`
compares it with runs of other variations.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plait.advice.advice import Advice, Simulated, advise
    from plait.advice.links import KnownPath
    from plait.advice.reading import parse_path
    from plait.advice.traffic import Traffic, parse_traffic

LATER = {
    **dict.fromkeys(("Advice", "Simulated", "advise"), "plait.advice.advice"),
    "KnownPath": "plait.advice.links",
    "parse_path": "plait.advice.reading",
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
