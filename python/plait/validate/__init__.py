"""How true the simulator is: the same scenarios on both engines, side by side.

`space` is the domain and what is drawn from it, `linux.toml` says what is run besides and how close the simulator has
to come, `cases` reads both, `regions` says where in the domain a case is. `runs` makes the runs and keeps them,
`enough` says how many the kernel makes, `metrics` are what is compared. `agreement` compares, `bias` finds common signs
of differences, `chance` says what a perfect simulator would reach, and `goals` what has to be reached. `standing` holds
the engines' own counters against each other, `tables` and `report` write.
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
