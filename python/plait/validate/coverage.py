"""Measures how often the stated interval of a recommended scheduler contains its true gain.

``python -m plait.validate.coverage`` runs every scheduler in a large pool of variations of links on
which no scheduler is much better. It then draws the variations of many pieces of advice from the
pool. It prints the number of intervals that contain the gain over the whole pool, and counts the
verdicts. It does so for the two stages of an advice, and for one stage of as many runs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

import numpy as np

from plait.advice.budget import CONFIRMED, EXPLORED, USUAL
from plait.advice.candidates import Candidate, candidates, usual_schedulers
from plait.advice.deployment import Answer, answers, confirmed, picks, recommended
from plait.advice.judging import Standing, best_single, gain_of, standings
from plait.advice.outcome import Outcome
from plait.advice.reading import parse_paths
from plait.advice.traffic import parse_traffic
from plait.advice.trial import Cell, Grid, Setting, TrialRunner
from plait.scenarios.units import NANOSECONDS

LINKS = ("dsl 10Mbit 20ms back=50Mbit", "starlink 15Mbit 50ms loss=every:15s:120ms:50%")
TRAFFIC, METRIC = "blocks:3Mbit:12kB+download", "p99"
"""A call beside a transfer: its worst delays scatter widely."""
POOL, DURATION_NS, ADVICES = 512, 4 * NANOSECONDS, 400
ONE_STAGE = round(USUAL * (EXPLORED + CONFIRMED / len(usual_schedulers(messages=True))))

Pool = dict[Candidate, list[Outcome]]


def simulated(setting: Setting, everyone: Sequence[Candidate], size: int) -> Pool:
    """Run every candidate in as many variations, with other seeds for each 64 of them."""
    pool: Pool = {one: [] for one in everyone}
    seed = 0
    while len(pool[everyone[0]]) < size:
        seed += 1
        with TrialRunner(setting.paths, seed) as runner:
            for one in everyone:
                pool[one] += runner.run(Cell(setting, one, each, DURATION_NS) for each in runner.variations)
    return pool


def drawn(pool: Pool, ones: Sequence[Candidate], places: Sequence[int]) -> Grid:
    """Return the outcomes of candidates in some variations of the pool."""
    return Grid(list(ones), DURATION_NS, {one: [pool[one][place] for place in places] for one in ones})


def advised(
    setting: Setting, first: Grid, pool: Pool, places: Sequence[int] | None
) -> tuple[Answer, Candidate]:
    """Return the recommended answer and the best path alone; without places, of one stage."""
    everyone = list(first.candidates)
    singles = [one for one in everyone if one.scheduler is None]
    best = best_single(first, singles, setting.traffic)

    def ranked(grid: Grid) -> list[Standing]:
        labels = [one.scheduler or f"path {one.paths[0]} alone" for one in grid.candidates]
        rows = standings(grid, grid.candidates, labels, best, setting.traffic)
        return [one for one in rows if one.candidate.scheduler is not None]

    picked = picks(first, ranked(first), setting.traffic, setting.protocol)
    second = first
    if places is not None:
        second = drawn(pool, [*singles, *confirmed(picked, first, ranked(first), ["redundant"])], places)
    found = recommended(
        answers(picked, second, ranked(second), setting.traffic, setting.protocol), setting.traffic
    )
    assert found is not None
    return found, best


def measured(setting: Setting, pool: Pool, count: int, *, stages: int) -> tuple[int, Counter[str]]:
    """Return the number of intervals that contain the true gain, and the verdicts."""
    rng = np.random.default_rng(1)
    inside, verdicts = 0, Counter[str]()
    size = len(next(iter(pool.values())))
    for _ in range(count):
        places = rng.permutation(size).tolist()
        early = round(USUAL * EXPLORED) if stages == 2 else ONE_STAGE
        first = drawn(pool, list(pool), places[:early])
        found, best = advised(setting, first, pool, places[early : early + USUAL] if stages == 2 else None)
        row = found.choice.best
        truth = gain_of(
            setting.traffic, *([run.score for run in pool[one]] for one in (row.candidate, best))
        ).value
        assert row.gain is not None
        low, high = row.gain.interval or (row.gain.value, row.gain.value)
        inside += low <= truth <= high
        verdicts[found.verdict] += 1
    return inside, verdicts


def main() -> int:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pool", type=int, default=POOL, help="number of variations")
    parser.add_argument("--advices", type=int, default=ADVICES)
    given = parser.parse_args()
    setting = Setting(
        paths=tuple(parse_paths(LINKS)),
        traffic=parse_traffic(TRAFFIC, METRIC),
        protocol="mptcp",
        receive_buffer=6 << 20,
    )
    singles, multiple = candidates(len(LINKS), usual_schedulers(messages=True))
    pool = simulated(setting, [*singles, *multiple], given.pool)
    for one in pool:
        gain = gain_of(setting.traffic, *([run.score for run in pool[each]] for each in (one, singles[0])))
        sys.stdout.write(f"{one.scheduler or one.paths}: {gain.value:+.1f} %\n")
    for stages in (1, 2):
        inside, verdicts = measured(setting, pool, given.advices, stages=stages)
        sys.stdout.write(f"{stages} stages: {inside} of {given.advices} intervals, {dict(verdicts)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
