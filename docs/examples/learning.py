"""A scheduler that learns how much of the receiver's window each path may take.

`python learning.py train` trains it and prints its weights. They are a parameter
of the scheduler: `plait run SCENARIO --scheduler learning.py:Learned:weights=…`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import plait.gym

FILE = Path("docs/networks/small-buffer.toml")
INTERVAL = 0.1
"""Seconds of an interval, which has one action at most."""
OF_CONNECTION = plait.gym.observed_names([])
"""Names of the observed values of the connection: the last ones of an observation."""
OF_PATH = [name.removeprefix("a.") for name in plait.gym.observed_names(["a"])][: -len(OF_CONNECTION)]
"""Names of the observed values of each path."""
ROUNDS, CANDIDATES, BEST, EPISODES, WORKERS = 8, 16, 4, 1, 2
"""Rounds of the method; candidates of a round; how many of them go on; episodes of each; processes."""


def drawing(file: Path, duration: str = "4s", warmup: str = "1s") -> Callable[..., plait.Scenario]:
    """Return a function that draws a scenario: two paths of unequal length, a small buffer."""

    def draw(random: np.random.Generator) -> plait.Scenario:
        changes = {
            "duration": duration,
            "warmup": warmup,
            "path.lte.rtt": f"{random.uniform(40, 120):.0f}ms",
            "path.lte.rate": f"{random.uniform(10, 40):.1f}Mbit",
            "transport.receive_buffer": f"{random.uniform(96, 256):.0f}kB",
        }
        return plait.load(file, changes)

    return draw


def shares(weights: Sequence[float] | np.ndarray, observation: np.ndarray) -> np.ndarray:
    """Return each path's share of the receiver's window: a linear function of four quantities.

    They are a constant, the path's part of the sum of the shortest round-trip times, and the
    queueing delay relative to the shortest round trip. The last one is the bandwidth-delay product
    as a part of the window.
    """
    count = len(OF_CONNECTION)
    connection = dict(zip(OF_CONNECTION, observation[-count:], strict=True))
    paths = dict(zip(OF_PATH, observation[:-count].reshape(-1, len(OF_PATH)).T, strict=True))
    srtt, shortest, rate = paths["srtt"], np.maximum(paths["min_rtt"], 1e-3), paths["delivery_rate"]
    window = max(float(connection["window"]), 1.0) * 0.0115  # segments of 1,440 bytes, in Mbit
    part = shortest / shortest.sum()
    queueing = np.clip(srtt / shortest - 1, 0, 5)
    kept = np.clip(rate * shortest / window, 0, 2)
    quantities = np.stack([np.ones_like(part), part, queueing, kept])
    return 1 / (1 + np.exp(-np.asarray(weights) @ quantities))


class Learned(plait.gym.Agent):
    """The learned policy as a scheduler."""

    interval: float | None = INTERVAL

    def __init__(self, weights: str) -> None:
        super().__init__()
        self.weights = [float(weight) for weight in weights.split("/")]

    def act(self, facts: plait.gym.Facts) -> np.ndarray:
        """Return the shares."""
        return shares(self.weights, plait.gym.observe(facts))


def returns(environments: object, candidates: np.ndarray, seeds: Sequence[int]) -> np.ndarray:
    """Return each candidate's rewards per episode; all candidates meet the same episodes."""
    sums = np.zeros(len(candidates))
    count = environments.num_envs
    for seed in seeds:
        for start in range(0, len(candidates), count):
            those = candidates[start : start + count]
            observations, _ = environments.reset(seed=[seed] * count)
            running = np.ones(count, dtype=bool)
            while running.any():
                actions = np.stack([shares(*pair) for pair in zip(those, observations, strict=True)])
                observations, rewards, ended, cut, _ = environments.step(actions.astype(np.float32))
                sums[start : start + count] += rewards * running
                running &= ~(ended | cut)
    return sums / len(seeds)


def train(file: Path = FILE, seed: int = 1, rounds: int = ROUNDS) -> np.ndarray:
    """Return the weights, by the cross-entropy method.

    A round draws candidates around the mean of the best ones of the round before. The spread has a
    part that shrinks slowly, so that the method does not settle too early.
    """
    import gymnasium

    random = np.random.default_rng(seed)
    mean, spread = np.zeros(4), np.full(4, 2.0)
    made = gymnasium.make_vec(
        "plait.gym:plait/Scheduling-v0",
        num_envs=WORKERS,
        vectorization_mode="async",
        scenario=drawing(file),
        interval=INTERVAL,
    )
    for number in range(rounds):
        candidates = random.normal(mean, spread, (CANDIDATES, 4))
        seeds = [int(one) for one in random.integers(2**31, size=EPISODES)]
        found = returns(made, candidates, seeds)
        best = candidates[np.argsort(found)[-BEST:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 1.0 / (number + 2)
        print(f"round {number + 1}: {found.mean():.1f} Mbit, best {found.max():.1f}", file=sys.stderr)
    made.close()
    return mean


def written(weights: Sequence[float] | np.ndarray) -> str:
    """Return weights as the parameter of the scheduler."""
    return "/".join(f"{weight:.3f}" for weight in weights)


if __name__ == "__main__" and sys.argv[1:] == ["train"]:
    print(written(train()))
