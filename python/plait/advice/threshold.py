"""Changes that would make the second path worth it: one value at a time, all others as given."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from plait.advice.budget import SEARCHED
from plait.advice.candidates import Candidate
from plait.advice.judging import MOSTLY, WORTH_PERCENT, gain_of
from plait.advice.links import KnownPath
from plait.advice.outcome import Outcome
from plait.advice.trial import Cell, Grid, Setting, TrialRunner, capacity_events
from plait.scenarios.units import NANOSECONDS
from plait.statistics.estimate import Estimate, width_for_many

MOST_LEFT_OUT = 8
"""Maximum number of paths for which the gain of each is computed: more would take too long."""
Key = Literal["rate", "rtt", "loss", "receive_buffer"]
FACTORS = (1.5, 2.0, 3.0, 5.0, 10.0)
"""Factors of more rate, or less delay or loss. The last one of losses means no loss at all."""
BUFFER_FACTORS = (2.0, 4.0, 8.0, 16.0, 32.0)
PLANS = ((12, 1), (8, 1), (6, 1), (8, 2), (6, 2), (4, 2))
"""Plans: number of variations, and stride of factors. The first one that the budget allows is
used."""


@dataclass(frozen=True)
class SimulatedValue:
    """A simulated value (bit/s, s, share or bytes) and its gain over the best path alone.

    width: factor by which the deciding interval is wider than the 95 % interval. Some of many
    values are lucky.
    """

    value: float
    gain: Estimate
    worth_in: int
    variations: int
    width: float = 1.0

    @property
    def enough(self) -> bool:
        """Whether the second path is worth it: by the whole interval and most variations."""
        low, value = self.gain.low, self.gain.value
        surely = value if low is None else value - self.width * (value - low)
        return surely >= WORTH_PERCENT and self.worth_in >= MOSTLY * self.variations

    @property
    def vain(self) -> bool:
        """Whether the second path is not worth it: the whole interval is below the threshold.

        Without a variation that is worth it, the 95 % interval is enough.
        """
        high, value = self.gain.high, self.gain.value
        width = self.width if self.worth_in else 1.0
        return (value if high is None else value + width * (high - value)) < WORTH_PERCENT


@dataclass(frozen=True)
class Threshold:
    """All simulated values of a key, from the given value on, the largest change last."""

    key: Key
    tried: tuple[SimulatedValue, ...]

    @property
    def first(self) -> SimulatedValue | None:
        """The smallest change from which on the second path is worth it."""
        return next((one for one in self.tried if one.enough), None)

    @property
    def ends(self) -> SimulatedValue | None:
        """The first larger change that is not worth it.

        The second path alone is then so good that the first one adds little.
        """
        if self.first is None:
            return None
        later = self.tried[self.tried.index(self.first) + 1 :]
        return next((one for one in later if one.vain), None)

    @property
    def last(self) -> SimulatedValue:
        """The largest change."""
        return self.tried[-1]


@dataclass(frozen=True)
class MarginalGain:
    """Gain in percent of all paths over all but this one, and the number of variations."""

    path: str
    gain: Estimate
    variations: int


def search(
    runner: TrialRunner,
    setting: Setting,
    grid: Grid,
    candidate: Candidate,
    second: int,
    events: float,
    *,
    with_buffer: bool,
) -> list[Threshold]:
    """Run each key's values, as long as the grid's runs, in some of its variations.

    Shorter runs would give other results, since slow start weighs more in them. The buffer is tried
    only `with_buffer`. The result is empty if the budget does not suffice.
    """
    every_key = _keys(setting, second, with_buffer)
    costs = {key: _costs(setting, grid, candidate, second, key) for key in every_key}
    # A higher rate costs the most runs. If the buffer is too small, a larger one helps most.
    sets: list[list[Key]] = [every_key, [key for key in every_key if key != "rate"]]
    if with_buffer:
        sets.append(["receive_buffer"])
    for keys, plan in itertools.product(sets, PLANS):
        planned, stride = plan
        # The largest change is always among the values.
        every = range(len(FACTORS), 0, -stride)[::-1]
        variations = min(planned, grid.variations)
        if variations * sum(costs[key][step - 1] for key in keys for step in every) <= events:
            width = width_for_many(len(keys) * len(every), variations)
            trial = _Trial(runner, setting, grid, candidate, second, variations, width)
            return [Threshold(key, tuple(trial.tried(key, step) for step in every)) for key in keys]
    return []


def left_out(
    runner: TrialRunner, setting: Setting, grid: Grid, candidate: Candidate, events: float
) -> list[MarginalGain]:
    """Return the gain that each of several paths adds, with the same scheduler.

    The result is empty for more than `MOST_LEFT_OUT` paths.
    """
    every = candidate.paths
    if len(every) > MOST_LEFT_OUT:
        return []
    fewer = [Candidate(tuple(one for one in every if one != index), candidate.scheduler) for index in every]
    each = sum(outcome.events for outcome in grid.outcomes[candidate]) / grid.variations
    count = min(max(round(events / (each * len(every))), SEARCHED // 2), grid.variations)
    cells = [
        Cell(setting, one, variation, grid.duration_ns)
        for one in fewer
        for variation in runner.variations[:count]
    ]
    outcomes = runner.run(cells)
    whole = grid.scores(candidate)[:count]
    return [
        MarginalGain(
            setting.paths[index].name,
            gain_of(setting.traffic, whole, _scores(outcomes[count * place : count * (place + 1)])),
            count,
        )
        for place, index in enumerate(every)
    ]


def changed(setting: Setting, second: int, key: str, value: float) -> Setting:
    """Return the setting with one value changed: of the path at index `second`, or the buffer."""
    if key == "receive_buffer":
        return replace(setting, receive_buffer=round(value))
    path: KnownPath = setting.paths[second]
    if key == "rate":
        path = replace(path, rate_bps=round(value))
    elif key == "rtt":
        path = replace(path, rtt_ns=max(round(value * 1e9), 1))
    else:
        path = replace(path, loss=value)
    paths = tuple(path if index == second else one for index, one in enumerate(setting.paths))
    return replace(setting, paths=paths)


def over_best(
    setting: Setting, together: Sequence[float], alone: Mapping[int, Sequence[float]]
) -> tuple[Estimate, int]:
    """Return the gain over the best path alone, and the number of variations that are worth it."""
    gains = {index: gain_of(setting.traffic, together, scores) for index, scores in alone.items()}
    best = min(gains, key=lambda index: gains[index].value)
    each = [
        gain_of(setting.traffic, [one], [other]).value
        for one, other in zip(together, alone[best], strict=True)
    ]
    return gains[best], sum(gain >= WORTH_PERCENT for gain in each)


def _keys(setting: Setting, second: int, with_buffer: bool) -> list[Key]:
    """Return the keys that can change: no rate of a recording, no loss of a path without losses."""
    path = setting.paths[second]
    keys: list[Key] = ["rtt", "receive_buffer"] if with_buffer else ["rtt"]
    if path.rate_bps is not None:
        keys.insert(0, "rate")
    if path.loss > 0:
        keys.append("loss")
    return keys


def _costs(setting: Setting, grid: Grid, candidate: Candidate, second: int, key: Key) -> list[float]:
    """Return the approximate number of events of each step's runs, in one variation."""

    def mean(one: Candidate) -> float:
        return sum(outcome.events for outcome in grid.outcomes[one]) / grid.variations

    both, seconds = mean(candidate), grid.duration_ns / NANOSECONDS
    alone = {index: mean(Candidate((index,))) for index in range(len(setting.paths))}
    if key == "receive_buffer":
        return [both + sum(alone.values())] * len(FACTORS)
    full = alone[second]
    if setting.traffic.greedy:
        full = max(full, capacity_events(setting, Candidate((second,))) * seconds)
    costs = []
    for step in range(1, len(FACTORS) + 1):
        more = alone[second] * FACTORS[step - 1]
        if key != "rate":
            more = min(more, full) if step < len(FACTORS) or key == "rtt" else full
        elif not setting.traffic.greedy:
            more = alone[second]
        costs.append(both + 2 * more - alone[second])
    return costs


@dataclass(frozen=True)
class _Trial:
    """One scheduler, and the single paths that a change affects, with one value changed."""

    runner: TrialRunner
    setting: Setting
    grid: Grid
    candidate: Candidate
    second: int
    variations: int
    width: float

    def tried(self, key: Key, step: int) -> SimulatedValue:
        """Simulate one step of a key."""
        value = _value(self.setting, self.second, key, step)
        setting = changed(self.setting, self.second, key, value)
        singles = range(len(setting.paths)) if key == "receive_buffer" else [self.second]
        ones = [self.candidate, *(Candidate((index,)) for index in singles)]
        chosen = self.runner.variations[: self.variations]
        scores = _scores(
            self.runner.run(
                Cell(setting, one, variation, self.grid.duration_ns) for one in ones for variation in chosen
            )
        )
        together, *alone = (
            scores[start : start + len(chosen)] for start in range(0, len(scores), len(chosen))
        )
        # The change does not affect the other single paths: the grid has their runs.
        singly = {
            index: self.grid.scores(Candidate((index,)))[: self.variations]
            for index in range(len(setting.paths))
        } | dict(zip(singles, alone, strict=True))
        gain, worth_in = over_best(setting, together, singly)
        return SimulatedValue(value, gain, worth_in, self.variations, self.width)


def _scores(outcomes: Sequence[Outcome]) -> list[float]:
    return [outcome.score for outcome in outcomes]


def _value(setting: Setting, second: int, key: Key, step: int) -> float:
    """Return the key's value at a step (1 is the first factor, 0 the given value)."""
    path = setting.paths[second]
    factor = (1.0, *(BUFFER_FACTORS if key == "receive_buffer" else FACTORS))[step]
    if key == "receive_buffer":
        return round(setting.receive_buffer * factor)
    if key == "rate":
        return round((path.rate_bps or 0) * factor)
    if key == "rtt":
        return max(round(path.rtt_ns / factor), 1) / 1e9
    return 0.0 if step == len(FACTORS) else path.loss / factor
