import pytest

import plait
from plait.scenarios.scheduler import Choice, label, override, parse_choice


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("daps", "daps"),
        ("daps+rp+bm", "daps+rp+bm"),
        ("daps+bm:bufferbloat_lambda=2", {"name": "daps+bm", "bufferbloat_lambda": 2}),
        ("round-robin:segments=10", {"name": "round-robin", "segments": 10}),
        (
            "round-robin:segments=2:cwnd_limited=false",
            {"name": "round-robin", "segments": 2, "cwnd_limited": False},
        ),
        ("daps:fast_limit=literal", {"name": "daps", "fast_limit": "literal"}),
        ("daps:guard_asymmetry=1.5", {"name": "daps", "guard_asymmetry": 1.5}),
    ],
)
def test_choices_are_read_and_labelled_alike(text: str, choice: Choice) -> None:
    assert parse_choice(text) == choice
    assert label(choice) == text


@pytest.mark.parametrize("text", ["round-robin:segments", "round-robin:=3", "none.py:Mine", "none.py"])
def test_what_is_no_choice_is_refused(text: str) -> None:
    with pytest.raises(plait.ScenarioError):
        parse_choice(text)


def test_a_class_is_instantiated_for_each_run() -> None:
    class Mine(plait.Scheduler):
        def decide(self, now, connection, paths):  # type: ignore[no-untyped-def]
            return plait.Wait()

    assert override(Mine).python is not override(Mine).python
    assert override(Mine()).label == "Mine"


def test_every_built_in_one_is_described() -> None:
    known = plait.schedulers()
    assert {"round-robin", "lowest-rtt", "daps", "daps-rounds"} <= {one["name"] for one in known}
    for one in known:
        assert one["summary"]
        assert one["source"]
        assert all(parameter["doc"] for parameter in one["parameters"])
        assert [option["suffix"] for option in one["options"]] == ["rp", None, "bm", None, None]
        assert all(option["doc"] and option["source"] for option in one["options"])
