"""How true the simulator is: the same scenarios on both engines, side by side.

`linux.toml` says what is run and how close the simulator has to come, `cases` reads it, `runs` makes the runs and keeps
the kernel's, `metrics` are what is compared, `agreement` compares, `report` writes tables, figure and page.
"""

from plait.validate.agreement import Agreement, Goal
from plait.validate.cases import Case, Validation, load_validation
from plait.validate.report import write
from plait.validate.runs import measure

__all__ = ["Agreement", "Case", "Goal", "Validation", "load_validation", "measure", "write"]
