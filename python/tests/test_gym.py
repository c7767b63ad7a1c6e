"""The environment in Gymnasium's interface: its checker, its runs, and how they end."""

from __future__ import annotations

import gc
import importlib
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plait
import plait.gym
from plait._core import Connection
from plait._core import Path as PathFacts

gymnasium = pytest.importorskip("gymnasium", reason="needs plait[gym]")

ROOT = Path(__file__).resolve().parents[2]
NEAR = plait.Path(name="near", rate="8Mbit", rtt="20ms", loss="0.5%")
FAR = plait.Path(name="far", rate="4Mbit", rtt="80ms")
TRANSPORT = plait.Transport(protocol="mptcp", receive_buffer="64kB")


def links(**changes: Any) -> plait.Scenario:
    given: dict[str, Any] = {
        "paths": [NEAR, FAR],
        "transport": TRANSPORT,
        "duration": "1s",
        "warmup": "0s",
        "name": "links",
    }
    return plait.Scenario(**{**given, **changes})


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name == "plait-run"]


def finish(environment: Any, act: Callable[[np.ndarray, dict[str, Any]], Any], seed: int = 1) -> float:
    """Makes an episode; returns the sum of its rewards."""
    observation, info = environment.reset(seed=seed)
    total, done = 0.0, False
    while not done:
        observation, reward, ended, cut, info = environment.step(act(observation, info))
        total, done = total + reward, ended or cut
    return total


def first(_observation: np.ndarray, info: dict[str, Any]) -> int:
    return int(info["action_mask"].argmax())


@pytest.mark.parametrize("interval", [None, "50ms"])
def test_gymnasiums_checker_passes(interval: str | None) -> None:
    from gymnasium.utils.env_checker import check_env

    environment = plait.gym.Environment(links(), interval=interval)
    check_env(environment, skip_render_check=True)  # a warning is an error of the tests
    environment.close()
    assert threads() == []


class Remote(plait.Scheduler):
    """Takes the actions of an episode, without the code of `plait.gym`."""

    actions: list[int]

    def decide(self, now: float, connection: Connection, paths: list[PathFacts]) -> Any:
        ready = [path for path in paths if path.open]
        if not ready:
            return plait.Wait()
        if len(ready) == 1 and not any(path.in_flight for path in paths):
            return plait.Assign(ready[0].index)
        action = self.actions.pop(0)
        return plait.Assign(action) if action < len(paths) else plait.Wait()


def test_the_same_actions_give_the_same_bytes_as_a_scheduler() -> None:
    random, taken = np.random.default_rng(4), []

    def act(_observation: np.ndarray, info: dict[str, Any]) -> int:
        taken.append(int(random.choice(np.flatnonzero(info["action_mask"]))))
        return taken[-1]

    environment = plait.gym.Environment(links())
    finish(environment, act, seed=7)
    assert environment.result is not None
    assert len({*taken}) == 3  # both paths, and to wait
    scheduler = Remote()
    scheduler.actions = [*taken]
    plain = plait.run(links(), scheduler, seed=7)
    assert scheduler.actions == []
    assert environment.result.run.json == plain.run.json
    assert plain.metrics["packets_delivered"] > 100


def test_shares_of_one_are_lowest_rtt_and_an_agent_is_a_scheduler() -> None:
    class Whole(plait.gym.Agent):
        interval = 0.05

        def act(self, facts: plait.gym.Facts) -> Any:
            return np.ones(2)

    environment = plait.gym.Environment(links(), interval="50ms")
    finish(environment, lambda *_: np.ones(2, dtype=np.float32))
    assert environment.result is not None
    whole = Whole()
    runs = [plait.run(links(), one, seed=1) for one in ("lowest-rtt", whole, whole)]
    assert [run.metrics["goodput_bps"] for run in runs] == [environment.result.metrics["goodput_bps"]] * 3


def test_a_share_bounds_the_data_in_flight() -> None:
    most = 0.0

    def act(observation: np.ndarray, _info: dict[str, Any]) -> np.ndarray:
        nonlocal most
        values = dict(zip(environment.observed_names, observation, strict=True))
        most = max(most, values["far.in_flight"] / values["window"])
        return np.array([0.5, 0.1])

    environment = plait.gym.Environment(links(), interval="50ms")
    finish(environment, act)
    assert 0 < most < 0.15
    assert environment.observation_space.shape == (len(environment.observed_names),)


def test_the_rewards_of_an_episode_are_the_data_delivered() -> None:
    environment = plait.gym.Environment(links(warmup="500ms"))
    total = finish(environment, first)
    assert environment.result is not None
    metrics = environment.result.metrics
    assert total == pytest.approx(metrics["delivered_bytes"] * 8e-6, rel=0.01)
    assert total > 1.5 * metrics["goodput_bps"] * metrics["measured_s"] / 1e6  # warm-up included
    seen: list[plait.gym.Transition] = []

    def reward(transition: plait.gym.Transition) -> float:
        seen.append(transition)
        return transition.before.now - transition.after.now

    file = links(workload=plait.File(size="200kB"), duration="5s")
    environment = plait.gym.Environment(file, reward=reward)
    total = finish(environment, first)
    assert [one.result is None for one in seen] == [True] * (len(seen) - 1) + [False]
    assert environment.result is not None
    assert total == pytest.approx(seen[0].before.now - (environment.result.metrics["completion_time_s"] or 0))


def test_a_step_ends_in_a_later_interval_with_an_open_path() -> None:
    environment = plait.gym.Environment(links(), interval=0.01)
    times: list[float] = []

    def act(_observation: np.ndarray, info: dict[str, Any]) -> np.ndarray:
        times.append(info["time"])
        return np.full(2, 0.3)

    finish(environment, act)
    intervals = [int(time / 0.01) for time in times]
    assert intervals == sorted({*intervals})
    assert len(intervals) < 100, "no path is open in some intervals"
    steps = np.diff(times)
    assert steps.min() < 0.009
    assert steps.max() > 0.011


def test_the_last_observation_is_the_one_before_and_nothing_is_allowed() -> None:
    environment = plait.gym.Environment(links())
    after, info = environment.reset(seed=1)
    before, done = after, False
    while not done:
        before = after
        after, _, ended, cut, info = environment.step(first(after, info))
        done = ended or cut
    assert after.tolist() == before.tolist()
    assert after.any()
    assert info["action_mask"].tolist() == [0, 0, 0]
    assert info["time"] == 1.0


def test_the_page_lists_the_observed_values() -> None:
    text = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    table = text.partition("| values | |\n|---|---|\n")[2].partition("\n\n")[0]
    names = [name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert [name.removeprefix("a.") for name in plait.gym.observed_names(["a"])] == names
    of_connection = len(plait.gym.observed_names([]))
    assert (len(names) - of_connection, of_connection) == (11, 3)
    assert "11 values for each path" in text
    assert "11 values of each path, then 3 of the connection" in (plait.gym.observe.__doc__ or "")


def test_a_complete_file_terminates_and_the_duration_truncates() -> None:
    for workload, duration, expected in (("20kB", "5s", (True, False)), ("9MB", "1s", (False, True))):
        environment = plait.gym.Environment(
            links(workload=plait.File(size=workload), duration=duration), interval="10ms"
        )
        environment.reset(seed=1)
        ends = (False, False)
        while ends == (False, False):
            _, _, *both, info = environment.step(np.ones(2, dtype=np.float32))
            ends = (both[0], both[1])
        assert ends == expected
        assert info["metrics"]["packets_delivered"] > 0
        with pytest.raises(plait.RunError, match=r"step: no run is under way; expected reset\(\) before"):
            environment.step(np.ones(2, dtype=np.float32))


def test_a_run_whose_handshake_was_lost_is_drawn_again() -> None:
    """A connection that is not established asks for no action. Only a given seed is an error then."""
    lossy = plait.Path(name="near", rate="8Mbit", rtt="20ms", loss="50%")
    environment = plait.gym.Environment(links(paths=[lossy], duration="500ms"))

    def is_silent(seed: int) -> bool:
        try:
            environment.reset(seed=seed)
        except plait.RunError as error:
            return str(error) == "links: the run ended without a decision to take"
        return False

    assert 5 < sum(map(is_silent, range(20))) < 20
    for _ in range(20):
        environment.reset()
    environment.close()


def test_an_episode_draws_its_scenario_and_its_seed() -> None:
    several = [links(name=name) for name in "abc"]
    environment = plait.gym.Environment(several, interval="100ms")

    def drawn() -> list[tuple[str, int]]:
        infos = [environment.reset(seed=3)[1], environment.reset()[1], environment.reset()[1]]
        return [(info["scenario"], info["seed"]) for info in infos]

    assert drawn() == drawn()
    assert drawn()[0][1] == 3
    assert len({*drawn()}) == 3
    assert len({environment.reset(seed=seed)[1]["scenario"] for seed in range(20)}) == 3
    environment.close()

    drawings = iter([links(), links(paths=[NEAR])])
    environment = plait.gym.Environment(lambda _random: next(drawings))
    with pytest.raises(plait.ScenarioError, match="links: has 1 paths; expected 2 as in the first scenario"):
        environment.reset(seed=1)


def test_repetitions_are_those_of_plait() -> None:
    environment = plait.gym.Environment(links(), interval="100ms", perturb=True)
    finish(environment, lambda *_: np.ones(2, dtype=np.float32), seed=5)
    assert environment.result is not None
    same = plait.run(links(), "lowest-rtt", seed=5, perturb=True)
    assert environment.result.metrics["goodput_bps"] == same.metrics["goodput_bps"]


def test_wrong_actions_and_wrong_arguments_are_named() -> None:
    environment = plait.gym.Environment(links())
    environment.reset(seed=1)
    for action in (-1, 3, 0.5):
        with pytest.raises(plait.ScenarioError, match=f"action {action}: expected 0 to 2"):
            environment.step(action)
    environment.step(0)  # the run goes on
    environment.close()
    environment = plait.gym.Environment(links(), interval=0.1)
    environment.reset(seed=1)
    for shares in ([1.0], [0.5, 1.5], [0.5, float("nan")]):
        with pytest.raises(plait.ScenarioError, match="expected 2 shares from 0 to 1"):
            environment.step(np.array(shares))
    environment.close()
    with pytest.raises(plait.ScenarioError, match="interval: expected more than 0, got 0"):
        plait.gym.Environment(links(), interval=0)
    with pytest.raises(plait.ScenarioError, match="scenario: expected at least one"):
        plait.gym.Environment([])


def test_actions_that_cannot_be_taken_keep_the_rules() -> None:
    """Paths without room and waiting with nothing in flight: every action at every time."""
    for action in (0, 1, 2):
        environment = plait.gym.Environment(links())
        finish(environment, lambda *_, action=action: action)
        assert environment.result is not None
        assert environment.result.metrics["packets_delivered"] > 0

    class Idle(plait.gym.Agent):
        def act(self, facts: plait.gym.Facts) -> int:
            return len(facts.paths)

    class Closed(Idle):
        interval = 0.1

        def act(self, facts: plait.gym.Facts) -> Any:
            return [0.0] * len(facts.paths)

    for kind in (Idle, Closed):
        assert "keeps all rules" in plait.check_scheduler(kind)


def test_an_error_of_the_run_is_raised_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = plait.gym.Environment(links())
    calls = 0

    def broken(*_: object) -> int:
        nonlocal calls
        calls += 1
        if calls > 5:
            message = "the facts are broken"
            raise ZeroDivisionError(message)
        return 0

    monkeypatch.setattr("plait.gym.agent.acknowledged", broken)
    with pytest.raises(ZeroDivisionError, match="the facts are broken"):
        finish(environment, first)
    assert threads() == []
    with pytest.raises(plait.RunError, match="no run is under way"):
        environment.step(0)


def test_reset_close_and_garbage_collection_end_the_run() -> None:
    # The competing flow makes the run long even if the connection sends nothing more.
    flow = plait.ConstantRateFlow(name="cross", rate="4Mbit", path="near")
    environment = plait.gym.Environment(links(duration="60min", flows=[flow]))
    environment.reset(seed=1)
    environment.reset(seed=2)
    assert threads() == ["plait-run"]
    environment.close()
    assert threads() == []
    environment.close()
    environment.reset(seed=1)
    gone = weakref.ref(environment)
    del environment
    gc.collect()
    assert gone() is None
    assert threads() == []


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectors_of_environments(mode: str) -> None:
    made = gymnasium.make_vec(
        "plait.gym:plait/Scheduling-v0",
        num_envs=2,
        vectorization_mode=mode,
        scenario=links(),
        interval="100ms",
    )
    sums, delivered, running = np.zeros(2), np.zeros(2), np.ones(2, dtype=bool)
    _, info = made.reset(seed=[5, 6])
    assert info["seed"].tolist() == [5, 6]
    while running.any():  # an episode that ends earlier is followed by another one
        _, rewards, ended, cut, info = made.step(np.ones((2, 2), dtype=np.float32))
        sums += rewards * running
        for place in np.flatnonzero((ended | cut) & running):
            delivered[place] = info["metrics"]["delivered_bytes"][place]
        running &= ~(ended | cut)
    assert sums == pytest.approx(delivered * 8e-6, rel=0.01)
    made.step(np.ones((2, 2), dtype=np.float32))  # begins the next episodes
    made.close()
    alone = plait.run(links(), "lowest-rtt", seed=6)
    assert delivered[1] == alone.metrics["delivered_bytes"]


def test_the_example_trains_and_its_scheduler_does_what_was_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "examples"))
    example = importlib.import_module("learning")
    monkeypatch.setattr(example, "CANDIDATES", 4)
    monkeypatch.setattr(example, "BEST", 2)
    file = ROOT / "docs" / "networks" / "small-buffer.toml"
    monkeypatch.setattr(example, "drawing", partial(example.drawing, duration="1s", warmup="500ms"))
    weights = example.train(file, rounds=2)
    assert weights.shape == (4,)
    assert weights.any()
    text = example.written(weights)
    learned = example.Learned(text)
    assert example.written(learned.weights) == text
    scenario = example.drawing(file)(np.random.default_rng(9))
    environment = plait.gym.Environment(scenario, interval=example.INTERVAL)
    finish(environment, lambda observation, _: example.shares(learned.weights, observation), seed=9)
    assert environment.result is not None
    alone = plait.run(scenario, learned, seed=9)
    assert alone.metrics == environment.result.metrics


def test_without_gymnasium_the_message_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import plait.gym\n"
        "print(plait.gym.observed_names(['a'])[0])\n"
        "plait.gym.Environment\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "a.open\n"
    last = done.stderr.splitlines()[-1]
    assert last == "ImportError: plait.gym.Environment: needs Gymnasium; install plait[gym]"
    loaded = "import sys, plait; assert 'gymnasium' not in sys.modules; plait.gym.Agent"
    subprocess.run([sys.executable, "-c", loaded], check=True)
