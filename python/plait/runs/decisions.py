"""Finds the decisions of a scheduler around one moment, without recording the whole run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from plait import _core
from plait._core import ScenarioError
from plait.results.reasons import named, verdicts
from plait.results.result import Result
from plait.runs.run import Task, run_tasks
from plait.scenarios.scenario import Scenario, parsed_scenario
from plait.scenarios.scheduler import Choice
from plait.scenarios.units import NANOSECONDS, moment_text
from plait.support.words import expected

REACHES = (NANOSECONDS // 10, 2 * NANOSECONDS, 60 * NANOSECONDS)
"""Durations to simulate after the moment, tried in turn until enough decisions are found; the last
try is the whole run."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """The requested decisions: `count` of them from time `at`, or all from `at` to `until`.

    Times are in nanoseconds. With `path`, only decisions that name that path count.
    """

    at: int
    count: int = 1
    until: int | None = None
    path: str | None = None


@dataclass(frozen=True, kw_only=True)
class KernelLog:
    """The decisions about a connection of a kernel, with the frames of `Result`.

    scenario: the file. The log knows no scheduler and no seed.
    """

    scenario: str
    token: int
    path_names: list[str]
    decisions: pl.DataFrame
    decision_paths: pl.DataFrame
    scheduler: None = None
    seed: None = None


@dataclass(frozen=True)
class Answer:
    """The requested decisions, with their places in the log."""

    result: Result | KernelLog
    rows: list[int]
    """Rows of `Result.decisions`."""

    def document(self) -> dict[str, Any]:
        """Return the JSON of the command; names and units of columns as in `Result.decisions`.

        Paths are given by name. `unassigned` is null for endless traffic, `send_buffer_left`
        without a limit.
        """
        times = self.result.decisions["time_ns"]
        before, after = self.rows[0] - 1, self.rows[-1] + 1
        return {
            "scenario": self.result.scenario,
            "scheduler": self.result.scheduler,
            "seed": self.result.seed,
            "previous_ns": times[before] if before >= 0 else None,
            "next_ns": times[after] if after < len(times) else None,
            "decisions": [self._decision(row) for row in self.rows],
        }

    def _decision(self, row: int) -> dict[str, Any]:
        names, kinds = self.result.path_names, _kinds()
        decision = self.result.decisions.row(row, named=True)
        for key in ("path", "oldest_unacked_path"):
            decision[key] = None if decision[key] is None else names[decision[key]]
        if decision["reason"] is not None:
            decision["reason"] = named(decision["reason"], names)
        paths = []
        # A decision of a kernel has no rows of paths that joined later.
        rows = self.result.decision_paths.filter(pl.col("decision") == row).drop("decision")
        for facts in rows.iter_rows(named=True):
            name, verdict = names[facts.pop("path")], facts.pop("verdict")
            paths.append({"path": name, "verdict": verdict, "kind": kinds[verdict], **facts})
        return {**decision, "paths": paths}


@cache
def _kinds() -> dict[str, str]:
    return {one["name"]: one["kind"] for one in verdicts()}


def read_kernel_log(file: Path, token: int | None) -> KernelLog:
    """Read the decisions about a connection from a log of `plait-mptcp`; None is the only one.

    Raises:
        ScenarioError: the file is no log, or has no such connection, or several.
    """
    logs = {one[0]: one for one in _core.logged(file)}
    if token is None and len(logs) == 1:
        token = next(iter(logs))
    if token not in logs:
        asked = "--token is missing" if token is None else f"--token {token:x}: unknown"
        choices = ", ".join(f"{one:x}" for one in logs) or "none, the log is empty"
        message = f"{file}: {asked}; expected one of: {choices}"
        raise ScenarioError(message)
    _, paths, decisions, decision_paths = logs[token]
    return KernelLog(
        scenario=file.name,
        token=token,
        path_names=[f"path {number}" for number in range(1, paths + 1)],
        decisions=pl.DataFrame(decisions),
        decision_paths=pl.DataFrame(decision_paths),
    )


def look_up_recorded(result: Result | KernelLog, question: Question) -> Answer:
    """Find the decisions in a run that recorded them, or in a kernel's log.

    Raises:
        ScenarioError: bad input, or there is no such decision. NotRecordedError: the run has none.
    """
    times = result.decisions["time_ns"]
    measured_s = 0.0 if isinstance(result, KernelLog) else result.metrics["measured_s"]
    end = max(round(measured_s * NANOSECONDS), int(times[-1]) if len(times) else 0) + 1
    _check(question, result.path_names, end)
    later = _matching(result, question)
    found = later[: question.count]
    if question.until is not None:
        found = [row for row in later if times[row] <= question.until]
    if not found:
        raise ScenarioError(_nothing_found(question, result, later, lambda: result))
    return Answer(result, found)


def look_up(
    scenario: Scenario,
    question: Question,
    *,
    scheduler: Choice | None = None,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Answer:
    """Run the scenario until just after the moment and find the decisions there.

    Raises:
        ScenarioError: bad input, or there is no such decision. RunError: the run failed before.
    """
    duration = parsed_scenario(scenario).duration_ns
    _check(question, [str(path.name) for path in scenario.paths], duration)

    def simulate(end: int, start: int) -> Result:
        # The warm-up only limits the metrics; without it the run may end at any time.
        shortened = replace(scenario, duration=f"{end}ns", warmup="0ns")
        task = Task(
            scenario=shortened,
            scheduler=scheduler,
            seed=seed,
            decisions=True,
            decisions_from=start / NANOSECONDS,
        )
        return run_tasks([task], progress=progress)[0]

    last = question.at if question.until is None else question.until
    for end in [*(last + reach for reach in REACHES if last + reach < duration), duration]:
        result = simulate(end, question.at)
        later = _matching(result, question)
        if question.until is None:
            found = later[: question.count]
            # The answer also has the time of the next decision, on any path.
            enough = len(found) == question.count and found[-1] + 1 < result.decisions.height
        else:
            times = result.decisions["time_ns"]
            found = [row for row in later if times[row] <= question.until]
            enough = bool(found)
        if enough:
            break
    if not found:
        raise ScenarioError(_nothing_found(question, result, later, lambda: simulate(duration, 0)))
    return Answer(result, found)


def _check(question: Question, names: Sequence[str], duration: int) -> None:
    """Raise ScenarioError for a time outside the run or a path that it lacks."""
    for option, moment in (("--at", question.at), ("--until", question.until)):
        if moment is not None and moment >= duration:
            message = f"{option} {_short(moment)}: the run ends at {_short(duration)}"
            raise ScenarioError(message)
    if question.until is not None and question.until < question.at:
        message = f"--until {_short(question.until)}: is before --at {_short(question.at)}"
        raise ScenarioError(message)
    if question.path is not None and question.path not in names:
        message = f"--path {question.path!r}: unknown{expected(question.path, names)}"
        raise ScenarioError(message)


def _matching(result: Result | KernelLog, question: Question) -> list[int]:
    """Return the rows of the decisions at or after the moment; only those of `path` if given."""
    wanted = pl.col("time_ns") >= question.at
    if question.path is not None:
        wanted &= pl.col("path") == result.path_names.index(question.path)
    return result.decisions.with_row_index("row").filter(wanted)["row"].to_list()


def _nothing_found(
    question: Question,
    result: Result | KernelLog,
    later: list[int],
    from_start: Callable[[], Result | KernelLog],
) -> str:
    """Return the message for an empty answer, with the nearest decision."""
    what = "decision" if question.path is None else f"decision names {question.path}"
    moment = f"--at {_short(question.at)}"
    if later:
        when = moment_text(result.decisions["time_ns"][later[0]])
        return f"{moment} --until {_short(question.until or 0)}: no {what}; the next one is at {when}"
    if question.path is not None:
        result = from_start()
    rows = _matching(result, replace(question, at=0))
    if not rows:
        return f"{moment}: no {what} in the whole run"
    return (
        f"{moment}: no {what} then or later; the last one is at "
        f"{moment_text(result.decisions['time_ns'][rows[-1]])}"
    )


def _short(moment: int) -> str:
    """Format a time given by the user as short as possible."""
    return f"{moment_text(moment).removesuffix(' s').rstrip('0').rstrip('.')} s"
