"""The findings about links, which an advice gives in words and as JSON."""

from __future__ import annotations

from dataclasses import dataclass

from plait.advice import budget
from plait.advice.buffer import BufferAdvice
from plait.advice.capped import Capped
from plait.advice.deployment import Answer
from plait.advice.directions import Directions
from plait.advice.failure import Failure
from plait.advice.judging import Choice, Standing, Verdict, worthwhile
from plait.advice.shaped import Shaped
from plait.advice.threshold import MarginalGain, Threshold
from plait.advice.traffic import Traffic
from plait.advice.trial import Setting
from plait.scenarios.scenario import Scenario


@dataclass(frozen=True)
class Simulated:
    """Extent of the simulation.

    variations, explored: numbers of variations of the second and of the first stage.
    round_trips: duration of the main runs in longest round trips, full queue included.
    """

    variations: int
    explored: int
    duration_s: float
    round_trips: float
    runs: int
    events: int
    seed: int

    @property
    def short(self) -> bool:
        """Whether the links are too fast for runs that last beyond a connection's beginning."""
        return self.round_trips < budget.SHORT_ROUND_TRIPS


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The parts of an advice; `plait.Advice` documents each of them."""

    setting: Setting
    asked: Traffic
    verdict: Verdict
    single: Standing
    choice: Choice | None
    answers: tuple[Answer, ...]
    standings: tuple[Standing, ...]
    dropped: tuple[str, ...]
    buffer: BufferAdvice | None
    thresholds: tuple[Threshold, ...]
    left_out: tuple[MarginalGain, ...]
    capped: tuple[Capped, ...]
    failure: Failure | None
    shaped: Shaped | None
    directions: Directions | None
    simulated: Simulated
    scenario: Scenario

    @property
    def several(self) -> bool:
        """Whether the answer has several paths, as the only choice or as one of two."""
        return worthwhile(self.verdict, self.choice, self.setting.traffic)
