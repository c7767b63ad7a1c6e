"""Checks an advice against fresh runs, with other variations and losses but the same duration.

A claim about worth is contradicted if the fresh runs' 95 % interval lies on its other side. A
number with an interval is contradicted if both intervals, each widened by the factor `WIDER`, do
not overlap: an advice has tens of numbers, and of so many intervals some miss by chance alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from plait.advice import Advice
from plait.advice.amounts import BURST_PACKETS
from plait.advice.candidates import Candidate
from plait.advice.capped import CAPPED, DELAYED
from plait.advice.judging import MOSTLY, WORTH_PERCENT, Standing, gain_of
from plait.advice.outcome import Outcome
from plait.advice.shaped import shaped
from plait.advice.threshold import changed, over_best
from plait.advice.trial import Cell, Setting, TrialRunner
from plait.advice.wording import few_samples, used
from plait.scenarios.units import NANOSECONDS
from plait.statistics.estimate import Estimate, median_by_ranks, surely_more_than

WIDER = 2.0
VARIATIONS = 24


def contradictions(advice: Advice, seed: int) -> list[str]:
    """Return the contradictions by fresh runs, a line each that begins with the sentence's kind."""
    with TrialRunner(advice.setting.paths, seed) as runner:
        return list(_Fresh(advice, runner).contradictions())


class _Fresh:
    def __init__(self, advice: Advice, runner: TrialRunner) -> None:
        self.advice, self.runner, self.traffic = advice, runner, advice.setting.traffic
        self.duration = round(advice.simulated.duration_s * NANOSECONDS)
        self.every = tuple(range(len(advice.setting.paths)))
        self.texts = {one["kind"]: one["text"] for one in advice.document()["statements"]}
        self.outcomes = cache(self._outcomes)

    def _outcomes(self, one: Candidate, setting: Setting, duration: int) -> list[Outcome]:
        return self.runner.run(
            Cell(setting, one, variation, duration) for variation in self.runner.variations[:VARIATIONS]
        )

    def scores(
        self, one: Candidate, setting: Setting | None = None, duration: int | None = None
    ) -> list[float]:
        found = self.outcomes(one, setting or self.advice.setting, duration or self.duration)
        return [outcome.score for outcome in found]

    def gain(self, one: Candidate, other: Candidate) -> Estimate:
        return gain_of(self.traffic, self.scores(one), self.scores(other))

    def contradictions(self) -> Iterator[str]:
        advice = self.advice
        if advice.verdict == "nothing":
            return
        yield from self._expected()
        yield from self._capped()
        yield from self._shaped()
        if advice.choice is None:
            return
        yield from self._verdict()
        yield from self._schedulers()
        yield from self._places()
        yield from self._buffer()
        yield from self._thresholds()
        yield from self._path_adds()

    def _expected(self) -> Iterator[str]:
        """Check that the median is in the range of most variations.

        With too few samples, the range has no upper bound.
        """
        advice = self.advice
        choice = advice.choice
        one = advice.single if choice is None or advice.verdict == "not worth" else choice.best
        median = median_by_ranks(self.scores(one.candidate))
        least, most = _ends(median)
        high = math.inf if few_samples(one, self.traffic) else one.high
        if most < one.low * 0.98 or least > high * 1.02:
            yield f"expect: {median} with {one.label}, not {one.low} to {one.high}"

    def _verdict(self) -> Iterator[str]:
        advice, choice = self.advice, self.advice.choice
        assert choice is not None
        best = choice.best
        found = self.gain(best.candidate, advice.single.candidate)
        low, high = _ends(found)
        if advice.verdict == "worth" and high < WORTH_PERCENT:
            yield f"heading: worth it, but {found}"
        if advice.verdict == "not worth" and low >= WORTH_PERCENT:
            yield f"heading: not worth it, but {found}"
        yield from self._number("expect" if advice.verdict != "not worth" else "together", best.gain, found)
        each = [
            gain_of(self.traffic, [one], [other]).value
            for one, other in zip(
                self.scores(best.candidate), self.scores(advice.single.candidate), strict=True
            )
        ]
        yield from self._certain(best, sum(gain >= WORTH_PERCENT for gain in each), len(each))

    def _certain(self, best: Standing, worth_in: int, fresh: int) -> Iterator[str]:
        """Check that a sure gain holds in most fresh runs, and that a probable one is not rare."""
        count = self.advice.simulated.variations
        more = best.worth_in >= count / 2
        said, holds = (best.worth_in, worth_in) if more else (count - best.worth_in, fresh - worth_in)
        sure = said == count and surely_more_than(MOSTLY, said, count) and not self.advice.simulated.short
        text = self.texts["certain-gain"]
        rare = not text.startswith("Unsure") and surely_more_than(0.5, fresh - holds, fresh)
        if (sure and holds < MOSTLY * fresh) or rare:
            yield f"certain-gain: {said} of {count}, but it holds in {holds} of {fresh}: {text}"

    def _schedulers(self) -> Iterator[str]:
        advice, choice = self.advice, self.advice.choice
        assert choice is not None
        candidates = {one.label: one.candidate for one in advice.standings}
        for label, said in choice.lags.items():
            found = self.gain(candidates[label], choice.best.candidate)
            kind = "better" if label in choice.better else "alike" if label in choice.alike else "other"
            if label in choice.better and _ends(found)[1] <= 0:
                yield f"better: {label}, but {found}"
            if label in (*choice.better, *choice.alike):
                yield from self._number(kind, said, found)
        if "avoid" in self.texts:
            for one in advice.standings:
                if one.candidate.scheduler is None or one.gain is None or one.label in choice.undecided:
                    continue
                if one.gain.value < (-50 if self.traffic.more_is_better else -100):
                    found = self.gain(one.candidate, advice.single.candidate)
                    if _ends(found)[0] > -10:
                        yield f"avoid: {one.label}, but {found}"
        if choice.quicker is not None:
            delays = [
                np.mean([np.log(max(run.delay_ms, 1e-6)) for run in self._runs(one)])
                for one in (choice.quicker.candidate, choice.best.candidate)
            ]
            if delays[0] >= delays[1]:
                yield f"quicker: {choice.quicker.label}, but its packets take longer"

    def _runs(self, one: Candidate) -> list[Outcome]:
        return self.outcomes(one, self.advice.setting, self.duration)

    def _places(self) -> Iterator[str]:
        for before, here in zip(self.advice.answers, self.advice.answers[1:], strict=False):
            found = self.gain(here.best_new.candidate, before.choice.best.candidate)
            yield from self._number("adds", here.adds, found)

    def _capped(self) -> Iterator[str]:
        for one in self.advice.capped:
            index = next(at for at, path in enumerate(self.advice.setting.paths) if path.name == one.path)
            alone = Candidate((index,))
            if not one.limits:
                yield from self._delayed(one.path, index)
                continue
            without = changed(self.advice.setting, index, "loss", 0.0)
            shares = [
                max(with_loss.goodput_bps, 1) / max(free.goodput_bps, 1)
                for with_loss, free in zip(
                    self._runs(alone), self.outcomes(alone, without, self.duration), strict=True
                )
            ]
            share = float(np.exp(np.mean(np.log(shares))))
            if share > (1 + CAPPED) / 2:
                yield f"capped: {one.path}: {one.share}, but {share}"

    def _delayed(self, name: str, index: int) -> Iterator[str]:
        """Check that independent losses delay far more than losses in bursts do."""
        setting, alone = self.advice.setting, Candidate((index,))
        paths = list(setting.paths)
        paths[index] = replace(paths[index], burst=BURST_PACKETS)
        ratios = np.divide(self.scores(alone), self.scores(alone, replace(setting, paths=tuple(paths))))
        ratio = float(np.median(ratios))
        if ratio < (1 + DELAYED) / 2:
            yield f"delayed: {name}: {ratio} times the delay with bursts"

    def _shaped(self) -> Iterator[str]:
        """Check the gain of a path alone with FQ-CoDel over the recommendation."""
        advice, found = self.advice, self.advice.shaped
        if found is None:
            return
        index = next(at for at, path in enumerate(advice.setting.paths) if path.name == found.path)
        scores = self.scores(Candidate((index,)), shaped(advice.setting))
        fresh = gain_of(self.traffic, scores, self.scores(used(advice).candidate))
        if "queue" in self.texts and _ends(fresh)[1] < WORTH_PERCENT:
            yield f"queue: {found}, but {fresh}"
        yield from self._number("queue", found.gain, fresh)

    def _buffer(self) -> Iterator[str]:
        found = self.advice.buffer
        if found is None:
            return
        duration = round(found.duration_s * NANOSECONDS)
        one = Candidate(self.every, found.scheduler)

        def cost(size: int) -> Estimate:
            lag = gain_of(
                self.traffic,
                self.scores(one, changed(self.advice.setting, 0, "receive_buffer", size), duration),
                self.scores(
                    one, changed(self.advice.setting, 0, "receive_buffer", found.unlimited), duration
                ),
            )
            low, high = _ends(lag)
            return Estimate(-lag.value, -high, -low)

        given = cost(found.given)
        yield from self._number("buffer", found.given_cost, given)
        tolerated = max(3.0, self.traffic.alike_percent)
        if _ends(cost(found.needed))[0] > 2 * tolerated:
            yield f"buffer: {found.needed} is enough, but costs {cost(found.needed)}"

    def _thresholds(self) -> Iterator[str]:
        advice, choice = self.advice, self.advice.choice
        assert choice is not None
        second = 1 - advice.single.candidate.paths[0] if len(self.every) == 2 else 0
        for one in advice.thresholds:
            for tried in one.tried:
                claimed = tried in (one.first, one.ends) or (one.first is None and tried is one.last)
                if not claimed:
                    continue
                setting = changed(advice.setting, second, one.key, tried.value)
                alone = {index: self.scores(Candidate((index,)), setting) for index in self.every}
                found, _ = over_best(setting, self.scores(choice.best.candidate, setting), alone)
                if tried.enough and _ends(found)[1] < WORTH_PERCENT:
                    yield f"threshold-enough: {one.key} {tried}, but {found}"
                if tried.vain and _ends(found)[0] >= WORTH_PERCENT:
                    yield f"threshold-vain: {one.key} {tried}, but {found}"

    def _path_adds(self) -> Iterator[str]:
        choice = self.advice.choice
        assert choice is not None
        for index, one in enumerate(self.advice.left_out):
            fewer = Candidate(tuple(at for at in self.every if at != index), choice.best.candidate.scheduler)
            yield from self._number("path-adds", one.gain, self.gain(choice.best.candidate, fewer))

    def _number(self, kind: str, said: Estimate | None, found: Estimate) -> Iterator[str]:
        """Check a stated number against a fresh one."""
        if said is None:
            return
        (low, high), (least, most) = (_wide(one) for one in (said, found))
        small = self.traffic.alike_percent
        if low > most + small or least > high + small:
            yield f"{kind}: said {said}, found {found}"


def _ends(found: Estimate) -> tuple[float, float]:
    return found.interval or (found.value, found.value)


def _wide(found: Estimate) -> tuple[float, float]:
    low, high = _ends(found)
    return found.value - WIDER * (found.value - low), found.value + WIDER * (high - found.value)
