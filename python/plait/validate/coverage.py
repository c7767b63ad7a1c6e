"""Measures how often the stated gain of a recommended scheduler contains the true one.

``python -m plait.validate.coverage 40`` asks for advice with as many seeds on the same links. It
compares each stated 95 % interval with the gain over many other variations, and prints the shares
of the seeds by verdict.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from plait.advice import Advice, advise
from plait.advice.candidates import Candidate
from plait.advice.judging import gain_of
from plait.advice.trial import Cell, TrialRunner
from plait.advice.variations import MOST
from plait.scenarios.units import NANOSECONDS

LINKS = ("dsl 50Mbit 20ms back=10Mbit", "starlink")
TRAFFIC, METRIC = "blocks:3Mbit:12kB+upload", "p99"
"""A call beside an upload: its worst delays scatter widely, and no scheduler is much better."""
EVENTS = 4_000_000
TRUE_SEEDS = range(900_000, 900_008)
"""Seeds of the large run, which has `MOST` variations of each."""


class Truth:
    """Gains of schedulers over a path alone in the large run."""

    def __init__(self, seeds: range) -> None:
        self.seeds = seeds
        self.known: dict[tuple[int, Candidate], list[float]] = {}

    def gain(self, advice: Advice) -> float:
        """Return the gain of the chosen scheduler in percent."""
        assert advice.choice is not None
        ones = (advice.choice.best.candidate, advice.single.candidate)
        return gain_of(advice.setting.traffic, *(self._scores(advice, one) for one in ones)).value

    def _scores(self, advice: Advice, one: Candidate) -> list[float]:
        duration = round(advice.simulated.duration_s * NANOSECONDS)
        if (duration, one) not in self.known:
            found = []
            for seed in self.seeds:
                with TrialRunner(advice.setting.paths, seed) as runner:
                    cells = [Cell(advice.setting, one, each, duration) for each in runner.variations[:MOST]]
                    found += [outcome.score for outcome in runner.run(cells)]
            self.known[duration, one] = found
        return self.known[duration, one]


def main() -> int:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=40)
    parser.add_argument("--events", type=int, default=EVENTS)
    given = parser.parse_args()
    truth, verdicts, inside = Truth(TRUE_SEEDS), Counter[str](), 0
    for seed in range(1, given.seeds + 1):
        advice = advise(LINKS, TRAFFIC, metric=METRIC, direction="up", seed=seed, events=given.events)
        assert advice.choice is not None
        best, true = advice.choice.best, truth.gain(advice)
        low, high = (best.gain.interval if best.gain else None) or (0.0, 0.0)
        verdicts[advice.verdict] += 1
        inside += low <= true <= high
        sys.stdout.write(
            f"seed {seed}: {advice.verdict}, {best.label} {low:+.0f} to {high:+.0f} %, in truth {true:+.0f} %\n"
        )
        sys.stdout.flush()
    sys.stdout.write(f"{inside} of {given.seeds} intervals contain the true gain; {dict(verdicts)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
