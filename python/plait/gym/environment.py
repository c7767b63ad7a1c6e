"""The environment: an episode is a run, a step is a decision or an interval."""

from __future__ import annotations

import json
import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from plait import _core
from plait._core import RunError, ScenarioError
from plait.gym.agent import Agent, allowed
from plait.gym.facts import LARGEST, Facts, Observation, observe, observed_names
from plait.gym.handover import Handover, Run
from plait.gym.rewards import Transition, megabits
from plait.results.result import Result
from plait.scenarios.controller import controllers_of
from plait.scenarios.own_workload import own_workload
from plait.scenarios.repetition import perturbed
from plait.scenarios.scenario import AnyScenario, Scenario, parsed_scenario
from plait.scenarios.units import Duration, duration_s

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    message = "plait.gym.Environment: needs Gymnasium; install plait[gym]"
    raise ImportError(message) from error

MOST_SEEDS = 2**31
"""Number of seeds from which a reset without a seed draws."""
ATTEMPTS = 20
"""Number of runs that a reset without a seed begins until one asks for an action."""

Action = int | np.integer[Any] | npt.NDArray[np.float32]
Scenarios = AnyScenario | Sequence[AnyScenario] | Callable[[np.random.Generator], AnyScenario]
Reward = Callable[[Transition], float]


class Environment(gymnasium.Env[Observation, Any]):
    """A run of a scenario as an environment of Gymnasium.

    An action is a decision: the index of the path that takes the next segment, or the number of
    paths to wait. With `interval`, an action is a share of the receiver's window for each path. It
    holds until the next step: the first decision of a later interval in which a path is open.
    `plait.gym.Agent` has the meaning of actions.

    The observation is a vector of the facts of the decision (`plait.gym.observe`); `observed_names`
    has the names of its values. The last one of an episode equals the one before, because a run
    does not end with a decision. ``info`` has the simulated ``time`` in seconds and, without an
    interval, an ``action_mask`` with 1 for each action that is carried out as it is: none at the
    end. At the first step it also has ``scenario`` and ``seed``, at the last one the run's
    ``metrics``.

    An episode is truncated at the end of the scenario's duration, and terminated if a workload of
    limited size is delivered before. The same actions and seed give the same run, to the byte.

    Args:
        scenario: a scenario or its file; several, of which each episode draws one; or a function
            that draws one with a random generator. All have the same number of paths.
        interval: length of the intervals, each with one action at most; None asks for every decision.
        reward: returns the reward of a step; by default `plait.gym.megabits`.
        perturb: run repetitions, as `plait.repeat` does, instead of scenarios as written.

    Raises:
        ScenarioError: a scenario is not valid.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        scenario: Scenarios,
        *,
        interval: Duration | None = None,
        reward: Reward | None = None,
        perturb: bool = False,
    ) -> None:
        self.interval = None if interval is None else duration_s(interval)
        if self.interval == 0.0:
            message = f"interval: expected more than 0, got {interval!r}"
            raise ScenarioError(message)
        self._drawn, self._reward, self._perturb = _drawing(scenario), reward or megabits, perturb
        self.path_names = _names(parsed_scenario(self._drawn(np.random.default_rng(0))))
        count = len(self.path_names)
        self.observed_names = observed_names(self.path_names)
        self.observation_space = spaces.Box(0.0, LARGEST, (len(self.observed_names),), np.float32)
        self.action_space = (
            spaces.Discrete(count + 1)
            if self.interval is None
            else spaces.Box(0.0, 1.0, (count,), np.float32)
        )
        self._handover: Handover | None = None
        self._end: weakref.finalize[Any, Environment] | None = None
        self.facts: Facts | None = None
        """The facts of the last observation, for wrappers that observe others."""
        self.result: Result | None = None
        """The result of the episode, after its end."""

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - Gymnasium's signature
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a run, and return the facts of its first action.

        Args:
            seed: seed of the scenario's drawing and of the run, which meets the losses of
                `plait.run` with this seed. Without it, the next seed is drawn. A run that asks for
                no action, because its handshake was lost, is drawn again.
            options: none are known.

        Raises:
            ScenarioError: a scenario is not valid. RunError: the run failed or asked for no action.
        """
        super().reset(seed=seed)
        self.close()
        for _ in range(ATTEMPTS if seed is None else 1):
            scenario = self._next_scenario()
            number = int(self.np_random.integers(MOST_SEEDS)) if seed is None else seed
            told = self._begin(scenario, number)
            if not isinstance(told, Result):
                break
            self.close()
        else:
            message = f"{scenario.name}: the run ended without a decision to take"
            raise RunError(message)
        self.facts, self.result = told, None
        return observe(told), {**self._info(told), "scenario": scenario.name, "seed": number}

    def _next_scenario(self) -> _core.Scenario:
        scenario = parsed_scenario(self._drawn(self.np_random))
        if len(_names(scenario)) != len(self.path_names):
            message = (
                f"{scenario.name}: has {len(_names(scenario))} paths; expected {len(self.path_names)} "
                "as in the first scenario"
            )
            raise ScenarioError(message)
        return scenario

    def _begin(self, scenario: _core.Scenario, number: int) -> Facts | Result:
        if self._perturb:
            text = perturbed(scenario.json, number)
            scenario = _core.Scenario(text, scenario.name, "", format="json")
        self._handover = Handover(_run(scenario, number, self.interval))
        self._end = weakref.finalize(self, self._handover.stop)
        return self._wait(self._handover)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take an action, and return the facts of the next one.

        Raises:
            ScenarioError: the action is not in the action space. RunError: the run failed, or there
                is no run.
        """
        if self._handover is None or self.facts is None:
            message = "step: no run is under way; expected reset() before"
            raise RunError(message)
        before, taken = self.facts, self._checked(action)
        self._handover.answer(taken)
        told = self._wait(self._handover)
        if isinstance(told, Result):
            self.close()
            self.result = told
            after = _last(before, told)
            info: dict[str, Any] = {"time": after.now, "metrics": dict(told.metrics)}
            if self.interval is None:
                info["action_mask"] = np.zeros(len(self.path_names) + 1, dtype=np.int8)
        else:
            after, info = told, self._info(told)
        self.facts = after
        reward = float(self._reward(Transition(before, taken, after, self.result)))
        complete = self.result is not None and self.result.metrics["completion_time_s"] is not None
        return observe(after), reward, complete, self.result is not None and not complete, info

    def close(self) -> None:
        """End the run; `reset` begins another one."""
        if self._end is not None:
            self._end()  # once; garbage collection finds it done
        self._handover, self._end = None, None

    def _wait(self, handover: Handover) -> Facts | Result:
        try:
            return handover.wait()
        except BaseException:
            self.close()
            raise

    def _info(self, facts: Facts) -> dict[str, Any]:
        info: dict[str, Any] = {"time": facts.now}
        if self.interval is None:
            info["action_mask"] = np.array(allowed(facts), dtype=np.int8)
        return info

    def _checked(self, action: Any) -> Any:
        if self.interval is None:
            if self.action_space.contains(action):
                return int(action)
            expected = f"0 to {len(self.path_names)}"
        else:
            shares = np.asarray(action, dtype=np.float64)
            if shares.shape == (len(self.path_names),) and ((shares >= 0) & (shares <= 1)).all():
                return shares
            expected = f"{len(self.path_names)} shares from 0 to 1"
        message = f"action {action!r}: expected {expected}"
        raise ScenarioError(message)


class Remote(Agent):
    """An agent that asks the environment's caller."""

    def __init__(self, ask: Callable[[Facts], Any], interval: float | None) -> None:
        super().__init__(interval=interval)
        self.act = ask  # type: ignore[assignment, method-assign]


def _run(scenario: _core.Scenario, seed: int, interval: float | None) -> Run:
    """Return the run, without a reference to the environment.

    There is no watchdog: a learner may think for longer than a scheduler may.
    """

    def run(ask: Callable[[Facts], Any], check: Callable[[float], None]) -> Result:
        workload, makers = own_workload(scenario.json), controllers_of(scenario)
        job = _core.Job(
            scenario,
            python_scheduler=Remote(ask, interval),
            workload=None if workload is None else workload.make(),
            controllers=makers,
            seed=seed,
        )
        (made,) = _core.run([job], threads=1, progress=check)
        return Result(made, None, job.scenario.json)

    return run


def _last(facts: Facts, result: Result) -> Facts:
    """Return the facts at the end of the run: the last ones, with time and data of the end."""
    end = result.metrics["completion_time_s"]
    if end is None:
        assert result.scenario_json is not None
        end = duration_s(json.loads(result.scenario_json)["duration"])
    delivered = math.ceil(result.metrics["delivered_bytes"] / facts.paths[0].mss)
    return replace(facts, now=end, acknowledged=max(delivered, facts.acknowledged))


def _drawing(given: Scenarios) -> Callable[[np.random.Generator], AnyScenario]:
    if isinstance(given, Scenario | str | PathLike):
        return lambda _random: given
    if callable(given):
        return given
    several = tuple(given)
    if not several:
        message = "scenario: expected at least one"
        raise ScenarioError(message)
    return lambda random: several[int(random.integers(len(several)))]


def _names(scenario: _core.Scenario) -> list[str]:
    return [str(path["name"]) for path in json.loads(scenario.json)["path"]]
