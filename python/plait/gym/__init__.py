"""Learning to schedule: an environment in Gymnasium's interface.

    import plait.gym

    environment = plait.gym.Environment("my-links.toml")
    observation, info = environment.reset(seed=1)
    observation, reward, terminated, truncated, info = environment.step(0)

`gymnasium.make("plait.gym:plait/Scheduling-v0", scenario="my-links.toml")` makes the same, and
`gymnasium.make_vec` several of them.

| file | content |
|---|---|
| `facts.py` | the facts of a decision, and the vector that is observed of them |
| `agent.py` | schedulers that turn actions into decisions; they need no Gymnasium |
| `handover.py` | a run in a thread that waits for its caller at every action |
| `rewards.py` | transitions and the default reward |
| `environment.py` | the environment |
"""

import importlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from plait.gym.agent import Agent
from plait.gym.facts import Facts, observe, observed_names
from plait.gym.rewards import Transition, megabits

if TYPE_CHECKING:
    from plait.gym.environment import Environment

__all__ = ["Agent", "Environment", "Facts", "Transition", "megabits", "observe", "observed_names"]

ID = "plait/Scheduling-v0"
"""The name of the environment in Gymnasium's registry."""

with suppress(ImportError):  # learned schedulers run without it
    importlib.import_module("gymnasium").register(
        ID,
        "plait.gym.environment:Environment",
        disable_env_checker=True,  # it calls reset twice, and every reset begins a run
    )


def __getattr__(name: str) -> Any:
    """Import the environment on first use; the rest of the package needs no Gymnasium."""
    if name == "Environment":
        return importlib.import_module("plait.gym.environment").Environment
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
