"""What would make the second path worth it: one thing changed at a time, the others as said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from plait.advice.budget import FEW, longest_of
from plait.advice.candidates import Candidate
from plait.advice.judging import MOSTLY, WORTH_PERCENT, gain_of
from plait.advice.links import KnownPath
from plait.advice.traffic import Traffic
from plait.advice.trial import Bench, Cell, Grid, Outcome, Setting

MOST_LEFT_OUT = 8
"""Of more paths it is not asked what each adds: that takes too long."""
Key = Literal["rate", "rtt", "loss", "receive_buffer"]
FACTORS = (1.5, 2.0, 3.0, 5.0, 10.0)
"""How much more rate, or less delay or loss, is tried; the last one of losses is none at all."""
BUFFER_FACTORS = (2.0, 4.0, 8.0, 16.0, 32.0)
THOROUGH, QUICK = (6, 1), (4, 2)
"""Variations, and every which factor is tried: the second where there is no time for the first."""


@dataclass(frozen=True)
class Threshold:
    """From which value on the second path is worth it; bit/s, s, share or bytes.

    `value` is None if no value up to `tried` is enough. `until` is the last that is, if larger changes are not:
    then the second path is so good that the first adds little.
    """

    key: Key
    value: float | None
    until: float | None
    tried: float
    gain_percent: float


@dataclass(frozen=True)
class LeftOut:
    """By how many percent all paths are better than all but this one."""

    path: str
    gain_percent: float


@dataclass(frozen=True)
class _Gain:
    """A gain in a few variations; it is enough if it is worth it on average and in most of them."""

    percent: float
    enough: bool

    @classmethod
    def over(cls, traffic: Traffic, scores: Sequence[float], base: Sequence[float]) -> _Gain:
        gains = [gain_of(traffic, [one], [other]).value for one, other in zip(scores, base, strict=True)]
        mean = gain_of(traffic, scores, base).value
        mostly = sum(gain >= WORTH_PERCENT for gain in gains) >= MOSTLY * len(gains)
        return cls(mean, mean >= WORTH_PERCENT and mostly)


def search(
    bench: Bench,
    setting: Setting,
    grid: Grid,
    candidate: Candidate,
    second: int,
    events: float,
    *,
    with_buffer: bool,
) -> list[Threshold]:
    """Look for each key's threshold; the receive buffer's only `with_buffer`.

    Nothing if the links are too fast for runs that mean something, or if in the few variations of this search the
    second path is worth it as it is.
    """
    keys = _keys(setting, second, with_buffer)
    plans = [(variations, range(1, len(FACTORS) + 1, stride)) for variations, stride in (THOROUGH, QUICK)]
    runs = [
        (1 + len(keys) * len(every)) * variations * (1 + len(setting.paths)) for variations, every in plans
    ]
    picked = longest_of(events, setting, grid, candidate, runs)
    if picked is None:
        return []
    plan, duration = picked
    variations, every = plans[plan]
    trial = _Trial(bench, setting, grid, candidate, second, variations, duration)
    if trial.gains([(keys[0], 0)])[keys[0], 0].enough:
        return []
    gains = trial.gains([(key, step) for key in keys for step in every])
    found = []
    for key in keys:
        enough = [step for step in every if gains[key, step].enough]
        # Changed too much, the second path may be the better one, and the first of little use to it.
        ends = [step for step in every if enough and step > enough[0] and step not in enough]
        found.append(
            Threshold(
                key=key,
                value=_value(setting, second, key, enough[0]) if enough else None,
                until=_value(setting, second, key, ends[0] - every.step) if ends else None,
                tried=_value(setting, second, key, len(FACTORS)),
                gain_percent=gains[key, enough[0] if enough else len(FACTORS)].percent,
            )
        )
    return found


def left_out(
    bench: Bench, setting: Setting, grid: Grid, candidate: Candidate, events: float
) -> list[LeftOut]:
    """What each of several paths adds to the others, with the same scheduler; nothing said of more than some paths."""
    every = candidate.paths
    if len(every) > MOST_LEFT_OUT:
        return []
    fewer = [Candidate(tuple(one for one in every if one != index), candidate.scheduler) for index in every]
    each = sum(outcome.events for outcome in grid.outcomes[candidate]) / grid.variations
    count = min(max(round(events / (each * len(every))), FEW // 2), grid.variations)
    cells = [
        Cell(setting, one, variation, grid.duration_ns)
        for one in fewer
        for variation in bench.variations[:count]
    ]
    outcomes = bench.run(cells)
    whole = grid.scores(candidate)[:count]
    return [
        LeftOut(
            setting.paths[index].name,
            gain_of(setting.traffic, whole, _scores(outcomes[count * place : count * (place + 1)])).value,
        )
        for place, index in enumerate(every)
    ]


def _keys(setting: Setting, second: int, with_buffer: bool) -> list[Key]:
    """What can be changed: rates of recordings cannot, nor losses of a path without."""
    path = setting.paths[second]
    keys: list[Key] = ["rtt", "receive_buffer"] if with_buffer else ["rtt"]
    if path.rate_bps is not None:
        keys.insert(0, "rate")
    if path.loss > 0:
        keys.append("loss")
    return keys


@dataclass(frozen=True)
class _Trial:
    """One scheduler, and every path alone, with one thing changed.

    These runs are shorter than those of the grid, and short ones tell something else: slow start weighs more. So what
    counts is by how much a change moves the gain, added to the gain that the grid's runs have in the same variation.
    """

    bench: Bench
    setting: Setting
    grid: Grid
    candidate: Candidate
    second: int
    variations: int
    duration_ns: int

    def gains(self, steps: Sequence[tuple[Key, int]]) -> dict[tuple[Key, int], _Gain]:
        """The gain over the best single path at steps of keys; step 0 is what was said."""
        found = {}
        for key, step in steps:
            together, *alone = self._said if step == 0 else self._scores(key, step)
            gains = [self._gain(together, base, place) for place, base in enumerate(alone)]
            found[key, step] = min(gains, key=lambda one: one.percent)
        return found

    @cached_property
    def _said(self) -> list[list[float]]:
        return self._scores("rtt", 0)

    def _gain(self, together: Sequence[float], alone: Sequence[float], place: int) -> _Gain:
        """The gain over the path at a place, as the grid's runs would have it."""
        long = zip(self.grid.scores(self.candidate), self.grid.scores(Candidate((place,))), strict=True)
        short = zip(self._said[0], self._said[1 + place], strict=True)
        factors = [
            (one / other) / (ours / theirs) for (one, other), (ours, theirs) in zip(long, short, strict=False)
        ]
        corrected = [score * factor for score, factor in zip(together, factors, strict=True)]
        return _Gain.over(self.setting.traffic, corrected, alone)

    def _scores(self, key: Key, step: int) -> list[list[float]]:
        """The scores with all paths, then with each alone, by variation."""
        changed = _changed(self.setting, self.second, key, step)
        ones = [self.candidate, *(Candidate((index,)) for index in range(len(self.setting.paths)))]
        chosen = self.bench.variations[: self.variations]
        outcomes = self.bench.run(
            Cell(changed, one, variation, self.duration_ns) for one in ones for variation in chosen
        )
        scores = iter([outcome.score for outcome in outcomes])
        return [[next(scores) for _ in chosen] for _ in ones]


def _scores(outcomes: Sequence[Outcome]) -> list[float]:
    return [outcome.score for outcome in outcomes]


def _value(setting: Setting, second: int, key: Key, step: int) -> float:
    """The key's value at a step (1 is the first factor, 0 what was said)."""
    path = setting.paths[second]
    factor = (1.0, *(BUFFER_FACTORS if key == "receive_buffer" else FACTORS))[step]
    if key == "receive_buffer":
        return setting.receive_buffer * factor
    if key == "rate":
        return (path.rate_bps or 0) * factor
    if key == "rtt":
        return path.rtt_ns / factor / 1e9
    return 0.0 if step == len(FACTORS) else path.loss / factor


def _changed(setting: Setting, second: int, key: Key, step: int) -> Setting:
    value = _value(setting, second, key, step)
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
