"""The number of the kernel's runs of a row: it grows with the variation of the runs.

The mean of n runs has the standard error s / sqrt(n), where s is the spread of single runs. The
simulator is cheap, so it runs first, and its spread stands for the kernel's. The kernel gets enough
runs for a standard error of at most the share `Runs.error` of the highest percentile's goal, for
goodput and for the mean delay; at least `Runs.least` and at most `Runs.most`. The kernel's own
results have no influence: otherwise a row could be repeated until it fits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plait.validate.cases import Validation
from plait.validate.metrics import COMPLETION, DELAY, GOODPUT

Document = Mapping[str, Any]


def kernel_runs(validation: Validation, simulated: Sequence[Document]) -> int:
    """Return the number for a case with a scheduler, from the documents of the simulator's runs."""
    runs, goals = validation.runs, validation.goals
    some = [one["values"] for one in simulated if "values" in one]
    complete = all(COMPLETION in values for values in some)
    wanted = [
        (spread([values.get(name, 0.0) for values in some]) / (runs.error * max(limits.values()))) ** 2
        for name, limits in ((COMPLETION if complete else GOODPUT, goals.goodput), (DELAY, goals.delay))
    ]
    return min(max(math.ceil(max(wanted)), runs.least), runs.most)


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation of one run in percent of the mean; 0 if unknown."""
    mean = float(np.mean(values)) if values else 0.0
    return 100 * float(np.std(values, ddof=1)) / abs(mean) if len(values) > 1 and mean else 0.0
