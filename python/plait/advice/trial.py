"""Runs of candidates over variations: scenarios, execution, and outcomes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path as FilePath
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from plait.advice.candidates import Candidate, table_of
from plait.advice.choices import Direction
from plait.advice.links import PACKET, KnownPath
from plait.advice.outcome import Outcome, outcome_of
from plait.advice.traffic import WARMUP, Traffic
from plait.advice.variations import Variation, cut_recording, nominal, queue_ns, variations, varied
from plait.runs.run import Task, run_tasks
from plait.scenarios.scenario import Scenario
from plait.scenarios.scheduler import Choice, parse_choice
from plait.scenarios.transport import Transport
from plait.scenarios.units import NANOSECONDS

EVENTS_PER_PACKET = 2.2
"""Approximate number of the simulator's events per packet: the packet and its acknowledgement."""
EXPLORED = 1
"""Series of the variations that choose the schedulers."""
FIRST_GUESS = 30
"""The progress bar assumes that the first batch takes one part in this many of the budget."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The input of runs; `receive_buffer` in bytes. The paths' forward direction is the data's."""

    paths: tuple[KnownPath, ...]
    traffic: Traffic
    protocol: str
    receive_buffer: int
    congestion: str = "cubic"
    direction: Direction = "down"

    def transport(self, alone: bool) -> Transport:
        """Return the transport: the one of Linux for MPTCP; TCP over a single path."""
        if self.protocol == "cmt-sctp":
            return Transport(protocol="cmt-sctp", receive_buffer=f"{self.receive_buffer}B")
        return Transport(
            protocol="tcp" if alone else "mptcp",
            profile="linux",
            receive_buffer=f"{self.receive_buffer}B",
            congestion_control=self.congestion,
        )

    @cached_property
    def capacity_bps(self) -> float:
        """Total rate of all paths."""
        return sum(path.mean_bps for path in self.paths)

    @cached_property
    def interval_ns(self) -> int:
        """Approximate time from one block or request to the next; 0 for other traffic."""
        fastest = max(path.mean_bps for path in self.paths)
        return self.traffic.interval_ns(
            min(path.rtt_ns for path in self.paths), fastest, max(self.capacity_bps, 1.0)
        )

    @cached_property
    def round_trip_ns(self) -> int:
        """The longest round trip, including a full queue of medium size."""
        return max(path.rtt_ns + queue_ns(path) for path in self.paths)


@dataclass(frozen=True)
class Cell:
    """One run to be made."""

    setting: Setting
    candidate: Candidate
    variation: Variation
    duration_ns: int


class TrialRunner:
    """Makes runs, counts their events, and keeps the pieces of recordings that they need.

    It is a context manager: the pieces are in a temporary folder. The choice of schedulers rests on
    the variations `explored`. All figures rest on `variations`.
    """

    def __init__(
        self,
        paths: Sequence[KnownPath],
        seed: int,
        threads: int = 0,
        progress: Callable[[float], None] | None = None,
        planned: int = 1,
    ) -> None:
        self.nominal = nominal(paths, seed)
        self.explored = variations(paths, seed, EXPLORED)
        self.variations = variations(paths, seed)
        self.spent = 0
        self.runs = 0
        self._most = 0.0
        self._threads, self._progress, self._planned = threads, progress, planned
        self._folder = tempfile.TemporaryDirectory(prefix="plait-")
        self._pieces: dict[str, int] = {}

    def __enter__(self) -> TrialRunner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def scenario(self, cell: Cell) -> Scenario:
        """Return a run's scenario without scheduler and seed; flows beside it have a scheduler."""
        setting, variation, scheduler = cell.setting, cell.variation, cell.candidate.scheduler
        chosen = cell.candidate.paths
        return Scenario(
            name="advice",
            seed=self.nominal.seed,
            duration=f"{cell.duration_ns}ns",
            warmup=f"{0 if setting.traffic.finite else round(cell.duration_ns * WARMUP)}ns",
            paths=[
                varied(
                    setting.paths[index],
                    variation.factors[index],
                    *self._pieces_of(setting.paths[index], index, cell),
                )
                for index in chosen
            ],
            transport=setting.transport(alone=len(chosen) == 1),
            workload=setting.traffic.workload(None if variation is self.nominal else cell.duration_ns),
            flows=setting.traffic.flows(
                None if scheduler is None else table_of(scheduler), setting.direction
            ),
        )

    def task(self, cell: Cell, scenario: Scenario) -> Task:
        """Return the run of a cell: nominal unchanged, a variation as its seed's repetition."""
        variation = cell.variation
        return Task(
            scenario=scenario,
            scheduler=_scheduler(cell),
            seed=variation.seed,
            perturb=variation is not self.nominal,
        )

    def run(self, cells: Iterable[Cell]) -> list[Outcome]:
        """Make the runs; return their outcomes in the same order."""
        cells = list(cells)
        scenarios: dict[Cell, Scenario] = {}
        tasks = []
        for cell in cells:
            # The scenario contains the scheduler of connections beside its own.
            own = cell.candidate.scheduler if cell.setting.traffic.several else None
            key = replace(cell, candidate=Candidate(cell.candidate.paths, own))
            if key not in scenarios:
                scenarios[key] = self.scenario(cell)
            tasks.append(self.task(cell, scenarios[key]))
        results = run_tasks(tasks, threads=self._threads, progress=self._shown(len(tasks)))
        outcomes = [
            outcome_of(result, cell.setting.traffic, cell.duration_ns, cell.setting.capacity_bps)
            for cell, result in zip(cells, results, strict=True)
        ]
        self.spent += sum(outcome.events for outcome in outcomes)
        self.runs += len(outcomes)
        self._show(self.spent)
        return outcomes

    def _shown(self, tasks: int) -> Callable[[float], None] | None:
        """Return a batch's progress callback, which assumes the average events of earlier runs."""
        if self._progress is None:
            return None
        each = self.spent / self.runs if self.runs else self._planned / FIRST_GUESS / tasks
        return lambda done: self._show(self.spent + done * tasks * each)

    def _show(self, spent: float) -> None:
        """Show progress; it never decreases, although estimates may be too high."""
        self._most = max(self._most, min(spent / self._planned, 1.0))
        if self._progress is not None:
            self._progress(self._most)

    def _pieces_of(self, path: KnownPath, index: int, cell: Cell) -> tuple[str | None, str | None]:
        """Return the files of both directions' recordings; None means the original recording."""
        if cell.variation is self.nominal:
            return None, None
        return (
            self._piece(
                path.recording_ms, f"{cell.setting.direction}-{index}-{cell.variation.number}", index, cell
            ),
            self._piece(
                path.back_recording_ms,
                f"{cell.setting.direction}-{index}-{cell.variation.number}-back",
                index,
                cell,
            ),
        )

    def _piece(self, moments: NDArray[np.int64], name: str, index: int, cell: Cell) -> str | None:
        """Return the file of a recording from the variation's place on; None if there is none."""
        if not len(moments):
            return None
        file = FilePath(self._folder.name) / f"{name}.trace"
        if self._pieces.get(name, 0) < cell.duration_ns:
            cut_recording(moments, cell.variation.factors[index].place, cell.duration_ns, file)
            self._pieces[name] = cell.duration_ns
        return str(file)


def _scheduler(cell: Cell) -> Choice | None:
    name = cell.candidate.scheduler
    return None if name is None else parse_choice(name)


@dataclass
class Grid:
    """Outcomes of the same candidates in the same variations: per candidate, one per variation."""

    candidates: list[Candidate]
    duration_ns: int
    outcomes: dict[Candidate, list[Outcome]] = field(default_factory=dict)

    @property
    def variations(self) -> int:
        """Number of variations that each candidate has met."""
        return len(self.outcomes[self.candidates[0]]) if self.outcomes else 0

    def scores(self, candidate: Candidate) -> list[float]:
        """Return the candidate's scores by variation."""
        return [outcome.score for outcome in self.outcomes[candidate]]

    def add(self, runner: TrialRunner, setting: Setting, variations: Sequence[Variation]) -> None:
        """Run every candidate in further variations."""
        chosen = list(variations)
        cells = [Cell(setting, one, each, self.duration_ns) for one in self.candidates for each in chosen]
        outcomes = iter(runner.run(cells))
        for one in self.candidates:
            self.outcomes.setdefault(one, []).extend(next(outcomes) for _ in chosen)


def capacity_events(setting: Setting, candidate: Candidate) -> float:
    """Return the maximum events per simulated second: full paths and all blocks or requests."""
    rate = sum(setting.paths[index].mean_bps for index in candidate.paths)
    interval = setting.interval_ns
    blocks = NANOSECONDS / interval if interval else 0.0
    return max(rate, 1.0) / 8 / PACKET * EVENTS_PER_PACKET + 2 * blocks
