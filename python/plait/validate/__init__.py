"""Validation of the simulator: the same scenarios on both engines, compared.

`space` is the domain and its draws. `linux.toml` has further cases, the numbers of runs and the
goals. `cases` reads both, and `regions` gives the place of a case in the domain. `runs` makes the
runs and stores them; `enough` sets the number of the kernel's runs. `agreement` compares the
`metrics`. `bias` looks for a common sign of the differences. `chance` gives the figures of a
perfect simulator, `goals` the bounds. `standing` compares the engines' own counters, `tables` and
`report` write.

Runs are stored by plan, kernel and guest code, or by the simulator's extension. A run that is
refused, fails or falls back to TCP is an outcome of its own, and the others continue. Every case is
perturbed from run to run, equally on both engines: without chance, runs would be identical although
the dynamics are not stable. `requests` compares latencies. `plait.plots.agreement` draws, and
`docs/validation.py` fills in the page.
"""

from plait.validate.agreement import Agreement
from plait.validate.cases import Case, Validation, load_validation
from plait.validate.goals import Goal
from plait.validate.report import write
from plait.validate.runs import Measured, Outcome, measure

__all__ = [
    "Agreement",
    "Case",
    "Goal",
    "Measured",
    "Outcome",
    "Validation",
    "load_validation",
    "measure",
    "write",
]
