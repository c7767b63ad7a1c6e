"""Schedulers as Python classes: state in the class, and calls that do not return."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import plait
from plait import ScenarioError
from plait.runs import watchdog


class Open(plait.Scheduler):
    """Takes the first path that is open."""

    weights = {"dsl": 1}  # noqa: RUF012 - a constant

    def decide(self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]) -> Any:
        for path in paths:
            if path.open:
                self.note(path.index)
                return plait.Assign(path.index)
        return plait.Wait()

    def note(self, index: int) -> None:
        """Remember a path."""


class Sticky(Open):
    seen: dict[int, int] = {}  # noqa: RUF012 - the mistake

    def note(self, index: int) -> None:
        self.seen[index] = self.seen.get(index, 0) + 1


class Counting(Open):
    count = 0

    def note(self, index: int) -> None:
        type(self).count += 1


class Fresh(Open):
    count = 0

    def note(self, index: int) -> None:
        self.count += 1


@pytest.mark.parametrize(("kind", "name"), [(Sticky, "seen"), (Counting, "count")])
def test_state_in_the_class_is_refused(kind: type[plait.Scheduler], name: str, scenario_file: Path) -> None:
    said = rf"scheduler {kind.__name__}: the run changed {kind.__name__}\.{name}, .* expected self\.{name} = "
    with pytest.raises(ScenarioError, match=said):
        plait.run(scenario_file, kind)
    with pytest.raises(ScenarioError, match=said):
        plait.check_scheduler(kind)


def test_constants_of_the_class_and_state_of_the_instance_are_fine(scenario_file: Path) -> None:
    assert plait.run(scenario_file, Fresh).to_json() == plait.run(scenario_file, Fresh).to_json()
    assert "keeps all rules" in plait.check_scheduler(Fresh)


class Endless(plait.Scheduler):
    def decide(self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]) -> Any:
        while True:
            with contextlib.suppress(Exception):  # catching exceptions does not help it
                time.sleep(0.001)


class Slow(Open):
    """Makes many calls; each is far below the limit, and together they exceed it."""

    def note(self, index: int) -> None:
        time.sleep(0.001)


def test_a_scheduler_that_never_returns_is_named(
    scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "LIMIT_SECONDS", 0.3)
    with pytest.raises(
        plait.RunError, match=r"^scheduler Endless\.decide \(test_scheduler_classes\.py, line \d+\) had not"
    ):
        plait.run(scenario_file, Endless)
    assert plait.run(scenario_file, Slow).metrics["goodput_bps"] > 0


def test_a_debugger_has_all_the_time(scenario_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LIMIT_SECONDS", 0.05)

    class Watched(Open):
        waited = False

        def note(self, index: int) -> None:
            if not self.waited:
                self.waited = True
                time.sleep(0.3)

    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: lambda *_: None)
    try:
        assert plait.run(scenario_file, Watched).metrics["goodput_bps"] > 0
    finally:
        sys.settrace(before)
