"""How many runs of the kernel a row gets: as many as its noise asks for, known from the simulator's runs.

The mean of n runs has the standard error s / sqrt(n), where s is the spread of one run. The simulator is cheap, so it
runs first, and its spread stands for the kernel's. A row gets so many runs that this error is at most the share
`Runs.error` of the goal's highest percentile, for goodput and for the mean delay, but no fewer than `least` and no
more than `most`. What the kernel measures has no part in it, so no result is repeated until it fits.
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
    """Of a case with a scheduler, from the documents of the simulator's runs."""
    runs, goals = validation.runs, validation.goals
    some = [one["values"] for one in simulated if "values" in one]
    complete = all(COMPLETION in values for values in some)
    wanted = [
        (spread([values.get(name, 0.0) for values in some]) / (runs.error * max(limits.values()))) ** 2
        for name, limits in ((COMPLETION if complete else GOODPUT, goals.goodput), (DELAY, goals.delay))
    ]
    return min(max(math.ceil(max(wanted)), runs.least), runs.most)


def spread(values: Sequence[float]) -> float:
    """The standard deviation of one run, in percent of the mean; 0 where it is not known."""
    mean = float(np.mean(values)) if values else 0.0
    return 100 * float(np.std(values, ddof=1)) / abs(mean) if len(values) > 1 and mean else 0.0
