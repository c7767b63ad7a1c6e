"""Plait: packet scheduling over several paths.

Run a scenario file, compare schedulers, write one of your own:

    import plait

    class FirstOpen(plait.Scheduler):
        def decide(self, now, connection, paths):
            for path in paths:
                if path.open and connection.window_left:
                    return plait.Assign(path.index)
            return plait.Wait()

    print(plait.compare("scenario.toml", ["round-robin", "daps", FirstOpen]).frame())
"""

from plait._core import (
    Assign,
    ConformanceError,
    Connection,
    Event,
    Limit,
    Recall,
    Reinject,
    RunError,
    ScenarioError,
    Scheduler,
    Wait,
    check_scheduler,
)
from plait._core import Path as PathFacts
from plait.models import PathModel, asymmetry, max_blocking_ms, min_receive_buffer_bytes
from plait.result import Comparison, NotRecordedError, Result
from plait.run import compare, run
from plait.scenario import (
    Bulk,
    ConstantRate,
    Direction,
    File,
    Path,
    Scenario,
    Transport,
    load,
    scenario_keys,
)
from plait.scheduler import schedulers

__all__ = [
    "Assign",
    "Bulk",
    "Comparison",
    "ConformanceError",
    "Connection",
    "ConstantRate",
    "Direction",
    "Event",
    "File",
    "Limit",
    "NotRecordedError",
    "Path",
    "PathFacts",
    "PathModel",
    "Recall",
    "Reinject",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Scheduler",
    "Transport",
    "Wait",
    "asymmetry",
    "check_scheduler",
    "compare",
    "load",
    "max_blocking_ms",
    "min_receive_buffer_bytes",
    "run",
    "scenario_keys",
    "schedulers",
]
