"""Advice for roughly known links: scheduler, buffer, expected result, value of a second path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path as FilePath
from typing import Any

from plait import _core
from plait.advice import budget, buffer, directions, document, failure, page, shaped, threshold
from plait.advice.buffer import BufferAdvice
from plait.advice.candidates import SPARING, Candidate, candidates, checked, usual_schedulers
from plait.advice.capped import Capped, capped, deciding
from plait.advice.choices import CONTROLS, DIRECTIONS, PROTOCOLS, RECEIVE_BUFFER, Direction
from plait.advice.deployment import Pick, answers, confirmed, picks, recommended
from plait.advice.findings import Findings, Simulated
from plait.advice.judging import Choice, Standing, Verdict, best_single, standings, worthwhile
from plait.advice.links import KnownPath
from plait.advice.reading import parse_paths
from plait.advice.threshold import MarginalGain, Threshold
from plait.advice.traffic import Traffic, parse_traffic
from plait.advice.trial import Cell, Grid, Setting, TrialRunner
from plait.scenarios.scenario import Scenario
from plait.scenarios.units import NANOSECONDS, Size, size_bytes
from plait.support.files import write_text
from plait.support.progress import Progress
from plait.support.words import expected


@dataclass(frozen=True, kw_only=True)
class Advice(Findings):
    """Findings of `plait advise`; `text` gives them in words, `document` as JSON.

    single: the best single path.
    standings: schedulers and single paths of the second stage, the best first.
    dropped: schedulers of the first stage only, the best first.
    answers: the best choice on stock Linux, with Plait's kernel, and of all simulated schedulers.
    choice: the choice of the recommended answer, which is the easiest deployable one that is worth
        it.
    verdict: whether more than the best path is worth it with the scheduler of `choice`.
    thresholds: changes that would make a second path worth it.
    left_out: with more than two paths, the gain that each adds.
    capped: paths whose given losses limit the goodput, or decide the delay.
    failure: if one of several paths is recommended, the effect of its failure.
    shaped: beside a transfer, the best path alone with FQ-CoDel on its router.
    directions: for blocks beside a transfer, one path for both directions or a path for each.
    asked: the traffic as given; it differs from the setting's if a transfer is too large to
        simulate.
    scenario: the input unchanged, with the scheduler of `choice`.
    """

    @cached_property
    def text(self) -> str:
        """The advice in words, for a screen of 110 columns."""
        return page.text(self)

    def save(self, file: str | PathLike[str]) -> None:
        """Write the nominal scenario as a scenario file, for `plait run`, `compare` and others.

        Raises:
            OutputError: the file cannot be written.
        """
        write_text(FilePath(file), document.scenario_file(self))

    def document(self) -> dict[str, Any]:
        """The advice as a JSON document."""
        return document.document(self)

    def __str__(self) -> str:
        return self.text


def advise(
    paths: Sequence[str | KnownPath],
    traffic: str = "bulk",
    receive_buffer: Size = RECEIVE_BUFFER,
    *,
    protocol: str = "mptcp",
    congestion: str = "cubic",
    schedulers: Sequence[str] | None = None,
    seed: int = 1,
    metric: str | None = None,
    direction: Direction = "down",
    threads: int = 0,
    events: int = budget.EVENTS,
) -> Advice:
    """Advise on links of which only rates, round trips and losses are known: simulate variations.

    Args:
        paths: each ``"NAME RATE RTT [LOSS] [KEY=VALUE…]"``, such as ``"lte 30Mbit 60ms 1%"`` or
            ``"lte trace=FILE 40ms"``, or the name of a preset. MPTCP opens its first subflow on the
            first path.
        traffic: ``"bulk"``, ``"blocks:RATE[:SIZE]"``, ``"file:SIZE"``,
            ``"request-response[:SIZE[:CLIENTS]]"`` (clients share the connection and ask for SIZE
            again and again) or ``"flows:N[:SIZE]"`` (N simultaneous downloads of SIZE, each over a
            connection of its own). Blocks and requests take the suffix ``"+download"`` or
            ``"+upload"``, which adds an endless transfer beside them.
        receive_buffer: size of the connection's receive buffer; text with a unit, or bytes.
        protocol: ``"mptcp"`` as in Linux, or ``"cmt-sctp"``.
        congestion: congestion control of TCP and MPTCP: ``"cubic"``, Linux' default, or ``"bbr"``.
        schedulers: names of built-in schedulers, with options or parameters. Default: all
            schedulers that differ for this traffic.
        seed: seed of variations and losses; the same seed gives the same advice.
        metric: metric for the judgement: ``"goodput"`` (bulk), ``"time"`` (file), or a statistic of
            the delay of packets or blocks, the latency of requests or the time of downloads:
            ``"mean"``, ``"p50"``, ``"p95"``, ``"p99"``, ``"max"``. Default: goodput, time or p95.
        direction: ``"down"``, or ``"up"``: data flows in the direction whose rate is `back`, over
            the same paths.
        threads: number of threads; 0 means one per core. The advice does not depend on it.
        events: approximate number of events to simulate; three million take a second on one core.

    Raises:
        ScenarioError: bad input. RunError: a run failed.
    """
    known, said = parse_paths(paths), parse_traffic(traffic, metric)
    names = checked(usual_schedulers(messages=said.kind != "bulk") if schedulers is None else schedulers)
    setting = _setting(known, said, receive_buffer, (protocol, congestion), seed, direction)
    events = budget.affordable(events, len(known))
    singles, multiple = candidates(len(known), names)
    if said.finite and budget.too_large(setting, [*singles, *multiple], round(events * budget.MAIN_SHARE)):
        setting = replace(setting, traffic=parse_traffic("bulk"))
    with (
        Progress("advising", patience=0.0) as progress,
        TrialRunner(setting.paths, seed, threads, progress.update, events) as runner,
    ):
        progress.update(0.0)
        return _advise(runner, setting, said, singles, multiple, seed, events)


def _advise(
    runner: TrialRunner,
    setting: Setting,
    asked: Traffic,
    singles: list[Candidate],
    multiple: list[Candidate],
    seed: int,
    events: int,
) -> Advice:
    everyone, traffic = [*singles, *multiple], setting.traffic
    main = round(events * budget.MAIN_SHARE)
    again = len(singles) + min(budget.CONFIRMED, len(multiple))
    duration = budget.duration_ns(runner, setting, everyone, main, again)
    picked: list[Pick] = []
    first, short, best = [], singles, singles[0]
    if multiple:
        explored = budget.explore(runner, setting, everyone, main, again, duration)
        best = best_single(explored, singles, traffic)
        first = _ranked(setting, explored, everyone, best)
        picked = picks(explored, _schedulers(first), traffic, setting.protocol)
        short = [*singles, *confirmed(picked, explored, _schedulers(first), _named(setting))]
    grid = budget.confirm(runner, setting, short, main - runner.spent, duration)
    ranked = _ranked(setting, grid, short, best)
    single = next(one for one in ranked if one.candidate == best)
    places = answers(picked, grid, _schedulers(ranked), traffic, setting.protocol)
    answer = recommended(places, traffic)
    judged: Verdict = "one path" if answer is None else answer.verdict
    if not any(one.whole_in * 2 > grid.variations for one in ranked):
        judged = "nothing"
    choice = None if answer is None else answer.choice
    sized, thresholds, left, limited = _further(runner, setting, grid, choice, best, judged, events)
    failing = None
    if choice is not None and judged != "nothing" and not worthwhile(judged, choice, traffic):
        failing = failure.search(runner, setting, grid, best, events * budget.FAILURE_SHARE)
    advised = choice.best if choice is not None and worthwhile(judged, choice, traffic) else single
    queued = both = None
    if judged != "nothing":
        queued = shaped.search(runner, setting, grid, advised.candidate, events * budget.SHAPED_SHARE)
        both = directions.search(runner, setting, grid, events * budget.SHAPED_SHARE)
    every = Candidate(tuple(range(len(setting.paths))))
    scenario = runner.scenario(Cell(setting, every, runner.nominal, grid.duration_ns))
    return Advice(
        setting=setting,
        asked=asked,
        verdict=judged,
        single=single,
        choice=choice,
        answers=tuple(places),
        standings=tuple(ranked),
        dropped=tuple(one.label for one in first if one.candidate not in short),
        buffer=sized,
        thresholds=tuple(thresholds),
        left_out=tuple(left),
        capped=tuple(deciding(limited, setting, advised)),
        failure=failing,
        shaped=queued,
        directions=both,
        simulated=Simulated(
            variations=grid.variations,
            explored=explored.variations if multiple else 0,
            duration_s=grid.duration_ns / NANOSECONDS,
            round_trips=grid.duration_ns / setting.round_trip_ns,
            runs=runner.runs,
            events=runner.spent,
            seed=seed,
        ),
        scenario=replace(scenario, scheduler=None if choice is None else choice.best.label),
    )


def _further(
    runner: TrialRunner,
    setting: Setting,
    grid: Grid,
    choice: Choice | None,
    best: Candidate,
    judged: Verdict,
    events: int,
) -> tuple[BufferAdvice | None, list[Threshold], list[MarginalGain], list[Capped]]:
    """Answer the questions about the chosen scheduler: buffer, value of a path, cost of losses."""

    def left() -> float:
        return max(events - runner.spent, events * budget.LEAST_LEFT)

    if judged == "nothing":
        return None, [], [], []
    limited = capped(runner, setting, grid, events * budget.CAPPED_SHARE)
    if choice is None:
        return None, [], [], limited
    chosen = choice.best.candidate
    sized = buffer.search(runner, setting, grid, chosen, left() * budget.BUFFER_SHARE)
    if len(setting.paths) > 2:
        return sized, [], threshold.left_out(runner, setting, grid, chosen, left()), limited
    if judged == "worth" or choice.best.samples < setting.traffic.fewest_samples:
        return sized, [], [], limited
    second = 1 - best.paths[0]
    with_buffer = sized is None or not sized.enough
    tried = threshold.search(runner, setting, grid, chosen, second, left(), with_buffer=with_buffer)
    return sized, tried, [], limited


def _ranked(setting: Setting, grid: Grid, ones: Sequence[Candidate], best: Candidate) -> list[Standing]:
    labels = [_label(setting, one) for one in ones]
    return standings(grid, ones, labels, best, setting.traffic)


def _schedulers(ranked: Sequence[Standing]) -> list[Standing]:
    return [one for one in ranked if one.candidate.scheduler is not None]


def _named(setting: Setting) -> list[str]:
    """Return schedulers that the text names: for metered paths, and for blocks and responses."""
    metered = [SPARING] if any(path.metered for path in setting.paths) else []
    return [*metered, "redundant"] if setting.traffic.fewest_samples else metered


def _label(setting: Setting, candidate: Candidate) -> str:
    if candidate.scheduler is not None:
        return candidate.scheduler
    return f"{setting.paths[candidate.paths[0]].name} alone"


def _setting(
    paths: Sequence[KnownPath],
    traffic: Traffic,
    receive_buffer: Size,
    transport: tuple[str, str],
    seed: int,
    direction: Direction,
) -> Setting:
    """Return the input as a setting, checked by the code that reads scenario files."""
    protocol, congestion = transport
    if congestion not in CONTROLS:
        message = f"congestion {congestion!r}: unknown{expected(congestion, list(CONTROLS))}"
        raise _core.ScenarioError(message)
    if protocol == "cmt-sctp" and congestion != "cubic":
        message = f"congestion {congestion!r}: CMT-SCTP has NewReno; expected protocol mptcp"
        raise _core.ScenarioError(message)
    if protocol not in PROTOCOLS:
        message = f"protocol {protocol!r}: unknown{expected(protocol, PROTOCOLS)}"
        raise _core.ScenarioError(message)
    if not 0 <= seed < 2**63:
        message = f"seed: expected a whole number from 0 to {2**63 - 1}, got {seed}"
        raise _core.ScenarioError(message)
    try:
        size = size_bytes(receive_buffer)
    except _core.ScenarioError as error:
        message = f"receive buffer: {error}"
        raise _core.ScenarioError(message) from error
    if direction not in DIRECTIONS:
        message = f"direction {direction!r}: unknown{expected(direction, DIRECTIONS)}"
        raise _core.ScenarioError(message)
    if direction == "up":
        if traffic.kind == "request-response":
            message = "direction 'up': responses come down; expected bulk, file, flows or blocks as traffic"
            raise _core.ScenarioError(message)
        paths = [path.turned() for path in paths]
    setting = Setting(
        paths=tuple(paths),
        traffic=traffic,
        protocol=protocol,
        receive_buffer=size,
        congestion=congestion,
        direction=direction,
    )
    try:
        every = [path.path() for path in paths]
        carried = setting.transport(alone=len(paths) == 1)
        Scenario(
            name="advice",
            paths=every,
            transport=carried,
            workload=traffic.workload(NANOSECONDS),
        )
    except _core.ScenarioError as error:
        raise _core.ScenarioError(str(error).removeprefix("advice: ").removeprefix("transport.")) from error
    return setting


__all__ = ["Advice", "Simulated", "advise"]
