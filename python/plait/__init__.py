"""Plait: packet scheduling over several paths.

Run a scenario file, compare schedulers, write one of your own:

    import plait

    class FirstOpen(plait.Scheduler):
        def decide(self, now, connection, paths):
            for path in paths:
                if path.open:
                    return plait.Assign(path.index)
            return plait.Wait()

    print(plait.compare("scenario.toml", ["round-robin", "daps", FirstOpen]).frame())

Draw the packets of a schedule:

    result = plait.run("scenario.toml", "daps", packets=True)
    plait.plots.space_time(result, (10.0, 10.1)).savefig("schedule.png")
"""

import importlib
from typing import TYPE_CHECKING, Any

from plait._core import (
    Assign,
    ConformanceError,
    Connection,
    Defer,
    Event,
    Limit,
    Message,
    Penalize,
    Recall,
    Reinject,
    RunError,
    ScenarioError,
    Scheduler,
    TransferError,
    Wait,
)
from plait._core import Path as PathFacts
from plait.runs.check import check_scheduler
from plait.scenarios import workloads
from plait.scenarios.keys import scenario_keys
from plait.scenarios.models import PathModel, asymmetry, max_blocking_ms, min_receive_buffer_bytes
from plait.scenarios.scenario import (
    ConstantRateFlow,
    Direction,
    Link,
    MultipathFlow,
    OnOffFlow,
    Path,
    Scenario,
    TcpFlow,
    Transport,
    load,
)
from plait.scenarios.scheduler import schedulers
from plait.scenarios.workloads import *  # noqa: F403 - a class for each kind

if TYPE_CHECKING:
    from plait import plots
    from plait.advice import Advice, advise
    from plait.analysis import Repeated, repeat
    from plait.reports import report
    from plait.results.result import Comparison, NotRecordedError, Result, verdicts
    from plait.runs.run import compare, run
    from plait.transfers.receiver import Receiver, receive
    from plait.transfers.report import (
        MeasuredPath,
        PathProgress,
        Received,
        SchedulerChange,
        Sent,
        SentPath,
        TransferProgress,
    )
    from plait.transfers.sender import Sender, connect, send

LATER = {
    **dict.fromkeys(("Comparison", "NotRecordedError", "Result", "verdicts"), "plait.results.result"),
    **dict.fromkeys(("compare", "run"), "plait.runs.run"),
    **dict.fromkeys(("Advice", "advise"), "plait.advice"),
    **dict.fromkeys(("Receiver", "receive"), "plait.transfers.receiver"),
    **dict.fromkeys(
        (
            "MeasuredPath",
            "PathProgress",
            "Received",
            "SchedulerChange",
            "Sent",
            "SentPath",
            "TransferProgress",
        ),
        "plait.transfers.report",
    ),
    **dict.fromkeys(("Sender", "connect", "send"), "plait.transfers.sender"),
    **dict.fromkeys(("Repeated", "repeat"), "plait.analysis"),
    "report": "plait.reports",
    "plots": "plait.plots",
}
"""Names that are imported on first use: frames, figures and statistics load many times slower than
all other modules together."""


def __getattr__(name: str) -> Any:
    """Import a name of `LATER` on first use."""
    if name in LATER:
        module = importlib.import_module(LATER[name])
        return module if name == "plots" else getattr(module, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    """List all names, including those that are imported on first use."""
    return sorted({*globals(), *LATER})


__all__ = [
    "Advice",
    "Assign",
    "Comparison",
    "ConformanceError",
    "Connection",
    "ConstantRateFlow",
    "Defer",
    "Direction",
    "Event",
    "Limit",
    "Link",
    "MeasuredPath",
    "Message",
    "MultipathFlow",
    "NotRecordedError",
    "OnOffFlow",
    "Path",
    "PathFacts",
    "PathModel",
    "PathProgress",
    "Penalize",
    "Recall",
    "Received",
    "Receiver",
    "Reinject",
    "Repeated",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Scheduler",
    "SchedulerChange",
    "Sender",
    "Sent",
    "SentPath",
    "TcpFlow",
    "TransferError",
    "TransferProgress",
    "Transport",
    "Wait",
    "advise",
    "asymmetry",
    "check_scheduler",
    "compare",
    "connect",
    "load",
    "max_blocking_ms",
    "min_receive_buffer_bytes",
    "plots",
    "receive",
    "repeat",
    "report",
    "run",
    "scenario_keys",
    "schedulers",
    "send",
    "verdicts",
]
__all__ += workloads.__all__
