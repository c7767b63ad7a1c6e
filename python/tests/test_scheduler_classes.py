"""Schedulers as Python classes: parameters of instances, state in the class, endless calls."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from pathlib import Path
from typing import Any, Literal

import numpy as np
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


class Early(plait.Scheduler):
    """Takes the open path of the least round-trip time, `most` segments at a time, until `until`."""

    most: int = 1
    until: float = 2.0
    order: Literal["near", "far"] = "near"
    names: tuple[str, ...] = ()

    def decide(self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]) -> Any:
        ready = [path for path in paths if path.open]
        if not ready or (now > self.until and any(path.in_flight for path in paths)):
            return plait.Wait()
        sign = 1 if self.order == "near" else -1
        best = min(ready, key=lambda path: sign * (path.srtt or 0))
        return plait.Assign(best.index, min(self.most, best.room))


class Bounded(Early):
    """Has an `__init__` of its own, which passes the attributes on."""

    def __init__(self, bound: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.bound = bound


class Made(Early):
    """Has a `__new__` of its own."""

    def __new__(cls, bound: int) -> Made:
        made = super().__new__(cls)
        made.most = bound
        return made


@pytest.mark.parametrize(
    ("instance", "text"),
    [
        (lambda: Early(until=0.5), "Early:until=0.5"),
        (lambda: Early(most=3, order="far"), "Early:most=3:order=far"),
        (lambda: Bounded(7, until=0.5), "Bounded:bound=7:until=0.5"),
    ],
)
def test_an_instance_has_the_parameters_of_its_constructor(
    instance: Any, text: str, scenario_file: Path
) -> None:
    result = plait.run(scenario_file, instance())
    same = plait.run(scenario_file, f"{__file__}:{text}")
    assert result.scheduler == same.scheduler == text
    assert result.metrics == same.metrics != plait.run(scenario_file, Early).metrics
    assert result.own_scheduler is not None
    assert same.own_scheduler is not None
    assert result.own_scheduler["parameters"] == same.own_scheduler["parameters"]
    both = plait.compare(scenario_file, [Early(), instance(), Early])
    assert [one.scheduler for one in both] == ["Early", text, "Early"]
    assert plait.check_scheduler(instance).startswith(f"{text} keeps all rules")


class Steps(plait.Workload):
    size: int = 1000

    def begin(self) -> list[plait.Write]:
        return [plait.Write(self.size)]


class Fixed(plait.CongestionController):
    share: float = 0.5

    def on_ack(self, ack: plait.Acknowledgement) -> None:
        self.window = self.share * 100_000


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: Early(moast=2),
            "Early: parameter 'moast': unknown (did you mean most?); expected one of: most, until, order, names",
        ),
        (lambda: Early(decide=2), "Early: parameter 'decide': unknown; expected one of: most, "),
        (lambda: Early(most=1.5), "Early: parameter 'most': is 1.5; expected a whole number"),
        (lambda: Early(most=True), "Early: parameter 'most': is True; expected a whole number"),
        (lambda: Early(until="late"), "Early: parameter 'until': is 'late'; expected a number"),
        (lambda: Early(order="both"), "Early: parameter 'order': is 'both'; expected near or far"),
        (
            lambda: Early(3),
            "Early: expected parameters by name: most=…, until=…, order=…, names=…; got 3",
        ),
        (lambda: Bounded(7, moast=2), "Bounded: parameter 'moast': unknown"),
        (lambda: Open(most=2), "Open: parameter 'most': unknown; there are none"),
        (lambda: Steps(sizes=2), "Steps: parameter 'sizes': unknown (did you mean size?)"),
        (lambda: Fixed(shares=2), "Fixed: parameter 'shares': unknown (did you mean share?)"),
        (lambda: Watching(most=2), "Watching: parameter 'most': unknown"),
    ],
)
def test_a_wrong_parameter_of_an_instance_is_named(make: Any, said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)) as error:
        make()
    assert "\n" not in str(error.value)


class Watching(plait.gym.Agent):
    depth: int = 2


def test_parameters_of_an_instance_have_the_types_of_the_annotations() -> None:
    early = Early(most=np.int64(3), until=1, names=("a", "b"))
    assert (type(early.most), type(early.until)) == (int, float)
    assert (early.most, early.until, early.names) == (3, 1.0, ("a", "b"))
    assert (Steps(size=5).size, Fixed(share=1).share) == (5, 1.0)
    agent = Watching(interval=0.1, depth=3)
    assert (agent.interval, agent.depth) == (0.1, 3)
    assert Made(7).most == Made(bound=7).most == 7


def test_a_check_takes_what_a_run_takes(scenario_file: Path) -> None:
    own = f"{__file__}:Early:most=2"
    for scheduler in (own, {"name": f"{__file__}:Early", "most": 2}):
        assert plait.check_scheduler(scheduler).startswith("Early:most=2 keeps all rules")
    for wrong, said in (
        ("blest", "check_scheduler: expected .*got 'blest'"),
        (Early(), "check_scheduler: expected .*a function that makes instances; got <"),
        (f"{own}:moast=1", "parameter 'moast': unknown"),
        (f"{__file__}:Earl", "expected .*:CLASS with one of: "),
    ):
        with pytest.raises(ScenarioError, match=said):
            plait.check_scheduler(wrong)


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
