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

Folders of the package:

| folder | content |
|---|---|
| `scenarios` | scenarios, changes by key, repetitions, templates, units, choices of schedulers |
| `engines`, `runs` | the interface of engines; `run` and `compare`, experiments, decisions of a run |
| `results` | metrics and their meanings, tables, folders, qlog, words |
| `statistics`, `analysis` | axes, designs, estimates with intervals; evaluation of datasets |
| `sweep` | many runs in a dataset |
| `plots`, `reports` | figures, one file each; HTML pages |
| `gym` | an environment for learning, in Gymnasium's interface |
| `advice`, `papers`, `validate` | advice for links; reproductions; simulator against kernel |
| `linux` | the real kernel |
| `transfers`, `recordings` | files over real paths; recorded transfers and their replays |
| `support` | files, progress bars, Markdown pages, tables: no knowledge of networks |
| `cli` | the command, one module per part, imported on use |

Users import everything from `plait`, which loads frames, figures and statistics on first use.
Modules of the package import from the defining module, and no two need each other, not even for
types (`test_structure.py`). If modules that read an object's data implement its methods
(`Advice.text`), the data has a class of its own, which those modules import (`advice/findings.py`).
"""

import importlib
from typing import TYPE_CHECKING, Any

from plait._core import (
    Acknowledgement,
    Assign,
    ConformanceError,
    CongestionController,
    CongestionEvent,
    Connection,
    Defer,
    Delivery,
    End,
    Event,
    Limit,
    Message,
    PathShare,
    Penalize,
    RateSample,
    Recall,
    Reinject,
    Request,
    RunError,
    ScenarioError,
    Scheduler,
    TransferError,
    Wait,
    Workload,
    Write,
)
from plait._core import Path as PathFacts
from plait.runs.check import check_scheduler
from plait.scenarios import workloads
from plait.scenarios.bounds import Bound, bound
from plait.scenarios.flows import ConstantRateFlow, MultipathFlow, OnOffFlow, TcpFlow
from plait.scenarios.keys import scenario_keys
from plait.scenarios.models import PathModel, asymmetry, max_blocking_ms, min_receive_buffer_bytes
from plait.scenarios.scenario import Scenario, load
from plait.scenarios.scheduler import schedulers
from plait.scenarios.topology import Direction, Link, Path
from plait.scenarios.transport import Transport
from plait.scenarios.workloads import *  # noqa: F403 - a class for each kind

if TYPE_CHECKING:
    from plait import gym, plots
    from plait.advice import Advice, advise
    from plait.analysis import Repeated, repeat
    from plait.reports import report
    from plait.results.reasons import verdicts
    from plait.results.result import Comparison, NotRecordedError, Result
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
    "verdicts": "plait.results.reasons",
    **dict.fromkeys(("Comparison", "NotRecordedError", "Result"), "plait.results.result"),
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
    "gym": "plait.gym",
    "report": "plait.reports",
    "plots": "plait.plots",
}
"""Names that are imported on first use: frames, figures and statistics load many times slower than
all other modules together."""


def __getattr__(name: str) -> Any:
    """Import a name of `LATER` on first use."""
    if name in LATER:
        module = importlib.import_module(LATER[name])
        return module if name in ("gym", "plots") else getattr(module, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    """List all names, including those that are imported on first use."""
    return sorted({*globals(), *LATER})


__all__ = [
    "Acknowledgement",
    "Advice",
    "Assign",
    "Bound",
    "Comparison",
    "ConformanceError",
    "CongestionController",
    "CongestionEvent",
    "Connection",
    "ConstantRateFlow",
    "Defer",
    "Delivery",
    "Direction",
    "End",
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
    "PathShare",
    "Penalize",
    "RateSample",
    "Recall",
    "Received",
    "Receiver",
    "Reinject",
    "Repeated",
    "Request",
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
    "Workload",
    "Write",
    "advise",
    "asymmetry",
    "bound",
    "check_scheduler",
    "compare",
    "connect",
    "gym",
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
