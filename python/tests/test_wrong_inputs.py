"""Input errors: one line names the place, the value and the choices."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

import plait
from plait import ScenarioError
from plait.support.kinds import USES, kind_of
from plait.sweep import sweep

OWN = """
import plait


class Open(plait.Scheduler):
    def answer(self, path):
        return plait.Assign(path.index)

    def decide(self, now, connection, paths):
        ready = [path for path in paths if path.open]
        return self.answer(ready[0]) if ready else plait.Wait()


class Far(Open):
    def answer(self, path):
        return plait.Assign(7)


class Below(Open):
    def answer(self, path):
        return plait.Assign(-1)


class Many(Open):
    def answer(self, path):
        return plait.Assign(path.index, 10**12)


class Nothing(Open):
    def answer(self, path):
        return plait.Assign(path.index, 0)


class Half(Open):
    def answer(self, path):
        return plait.Assign(0.5)


class Never(Open):
    def answer(self, path):
        return plait.Wait(float("nan"))


class Early(Open):
    def decide(self, now, connection, paths):
        return plait.Assign(1)


class Copies(Open):
    def decide(self, now, connection, paths):
        return plait.Reinject(0, 0)
"""
PLAN = """
scenario = "links.toml"
schedulers = ["lowest-rtt", "blest"]
set = { "path.lte.rtt" = "{rtt}ms" }
[[axis]]
rtt = { range = [20, 90], points = 2 }
"""
LINKS = """
duration = "1s"
[[path]]
name = "dsl"
rate = "16Mbit"
rtt = "25ms"
[[path]]
name = "lte"
rate = "6.90624207817Mbit"
rtt = "198.007536456ms"
"""


@pytest.fixture
def links(tmp_path: Path) -> Path:
    """Writes a scenario with numbers as in a dataset, a plan, and schedulers."""
    file = tmp_path / "links.toml"
    file.write_text(LINKS)
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "own.py").write_text(OWN)
    return file


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("Far", r"links: Far: at \S+ s the scheduler named path 7, which does not exist; choose 0 to 1"),
        (
            "Below",
            r"ValueError: plait.Assign: path: expected a number from 0 to 31, got -1 \(own.py, line \d+",
        ),
        (
            "Many",
            r"ValueError: plait.Assign: segments: expected a number from 0 to 4294967295, got 1000000000000",
        ),
        ("Nothing", r"links: Nothing: at \S+ s the scheduler assigned 0 segments to path 0; wait instead"),
        ("Half", r"TypeError: plait.Assign: path: expected a whole number, got 0.5 \(own.py, line \d+"),
        (
            "Never",
            r"ValueError: plait.Wait: until: expected seconds from the start of the run, or None, got nan",
        ),
        (
            "Early",
            r"links: Early: at \S+ s the scheduler gave data to path 1, which is not established yet, or given up",
        ),
        ("Copies", r"links: Copies: at \S+ s the scheduler used reinject without declaring it"),
    ],
)
def test_a_wrong_decision_names_scheduler_value_and_choices(
    kind: str, words: str, links: Path, command: Command
) -> None:
    done = command("run", links.name, "--scheduler", f"own.py:{kind}", "--out", "out")
    assert done.returncode == 1
    assert re.match(f"plait: {words}", done.stderr), done.stderr
    assert done.stderr.count("\n") == 1
    assert not (links.parent / "out").exists(), "no empty folder is left"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            "run links.toml --scheduler blest:correction=nan",
            "parameter correction of scheduler blest is nan: it must be",
        ),
        (
            "run links.toml --scheduler /bin/ls:Foo",
            "/bin/ls is no file of schedulers; expected a name that ends in .py",
        ),
        (
            "run links.toml --scheduler x.c:Foo",
            "x.c is no file of schedulers; expected a name that ends in .py",
        ),
        ("run links.toml --scheduler minrtt", "(did you mean lowest-rtt?)"),
        ("run links.toml --scheduler rr", "(did you mean round-robin?)"),
        ("run links.toml --scheduler default", "(did you mean linux-default?)"),
        ("run links.toml --quiet", "--quiet stands before the command: plait --quiet run …"),
        ("run links.toml --index 3", "links.toml: is a scenario; expected the dataset of a sweep"),
        (
            "run plan.toml",
            "plan.toml: is the plan of a sweep; expected a scenario; for this one: plait sweep FILE",
        ),
        ("explain plan.toml --at 1s", "plan.toml: is the plan of a sweep; expected a scenario"),
        ("compare plan.toml", "plan.toml: is the plan of a sweep; expected a scenario"),
        ("sweep links.toml --out d", "links.toml: is a scenario; expected the plan of a sweep"),
        ("analyze plan.toml", "plan.toml: is the plan of a sweep; expected the dataset of a sweep"),
        (
            "plot links.toml --x rtt --metric goodput -o f.pdf",
            "links.toml: is a scenario; expected the dataset",
        ),
        ("report links.toml", "links.toml: is a scenario; expected a folder with results"),
        ("replay plan.toml", "plan.toml: is the plan of a sweep; expected a folder with results"),
        ("compare links.toml --schedulers blest,blest", "--schedulers 'blest,blest': 'blest' is there twice"),
        ("run links.toml --scheduler ecf --scheduler ecf", "--scheduler: 'ecf' is there twice"),
        ("schedulers blst", 'unknown scheduler "blst": choose round-robin, lowest-rtt, '),
        ("schedulers minRTT", "(did you mean lowest-rtt?)"),
        ("advise --path dsl --schedulers minrtt", "(did you mean lowest-rtt?)"),
    ],
)
def test_a_slip_of_the_hand(arguments: str, words: str, links: Path, command: Command) -> None:
    done = command(*arguments.split())
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(one.name for one in links.parent.iterdir()) == ["links.toml", "own.py", "plan.toml"]


def test_folders_are_called_what_they_are(links: Path, command: Command) -> None:
    here = links.parent
    sweep(here / "plan.toml", here / "set")
    assert command("run", "links.toml", "--out", "out").returncode == 0
    found = {
        name: kind_of(here / name) for name in ("links.toml", "plan.toml", "set", "out", "own.py", "none")
    }
    assert found == {
        "links.toml": "scenario",
        "plan.toml": "plan",
        "set": "dataset",
        "out": "results",
        "own.py": None,
        "none": None,
    }
    assert set(filter(None, found.values())) < USES.keys()
    for arguments in ("run set", "explain set --at 1s", "replay set", "sweep set --out d"):
        assert "set: is the dataset of a sweep; expected " in command(*arguments.split()).stderr
    assert "out: is a folder with results; expected the dataset" in command("analyze", "out").stderr


def test_what_is_compared_unless_something_is_said(links: Path, command: Command) -> None:
    done = command("compare", links.name, "--json")
    assert '"lowest-rtt"' in done.stdout
    assert "lowest-rtt,round-robin" in "".join(command("compare", "--help").stdout.split())


def test_one_scheduler_in_full(command: Command) -> None:
    (daps,) = (one for one in plait.schedulers() if one["name"] == "daps")
    text = " ".join(command("schedulers", "daps").stdout.split())
    assert daps["summary"] in text
    assert daps["source"] in text
    for parameter in daps["parameters"]:
        assert f"{parameter['name']} = " in text
        assert parameter["doc"] in text
    assert command("schedulers", "daps+rp").stdout == command("schedulers", "daps").stdout


def test_a_path_that_is_down_all_the_time_is_said_to_be(links: Path, command: Command) -> None:
    down = 'outages = [{ from = "0s", to = "400ms" }, { from = "400ms", to = "1s" }]'
    links.write_text(LINKS + down)
    done = command("run", links.name)
    assert "warning: links: path 'lte' is down from the beginning to the end" in done.stderr
    links.write_text(LINKS + down.replace("1s", "900ms"))
    assert command("run", links.name).stderr == ""


WRONG: Any = "x"
TABLE: Any = {"path": []}
PATH: dict[str, Any] = {"name": "lte", "rate": "1Mbit"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda file: plait.run(file, seed=WRONG),
            "seed: expected a whole number from 0 to 9223372036854775807, got 'x'",
        ),
        (
            lambda _: plait.run(TABLE),
            "scenario: expected a plait.Scenario or the name of a file, got a dict",
        ),
        (
            lambda file: plait.compare(file, []),
            "schedulers: expected a list of at least one scheduler, got []",
        ),
        (
            lambda file: plait.compare(file, "blest"),
            "schedulers: expected a list of at least one scheduler, got 'blest'",
        ),
        (lambda file: plait.repeat(file, ["ecf", "ecf"], seeds=2), "schedulers: 'ecf' is there twice"),
        (
            lambda file: plait.repeat(file, [], seeds=2),
            "schedulers: expected a list of at least one scheduler",
        ),
        (
            lambda file: plait.run(file, {"name": "blest", "correction": math.nan}),
            "parameter correction of scheduler blest is nan: it must be a finite number",
        ),
        (
            lambda file: plait.Scenario(paths=[plait.Path(**PATH, rtt=20)]),
            'path[0].rtt (lte): 20 without a unit would be seconds; expected "20ms" or "20s"',
        ),
        (
            lambda file: plait.Scenario(paths=[plait.Path(**PATH, forward=plait.Direction(delay=20))]),
            'path[0].forward.delay: 20 without a unit would be seconds; expected "20ms" or "20s"',
        ),
        (
            lambda file: plait.Scenario(paths=[plait.Path(**PATH, rtt=math.nan)]),
            "path[0].rtt (lte): expected a finite number of seconds ≥ 0, got nan",
        ),
        (
            lambda file: plait.Scenario(paths=[plait.Path(**PATH, rtt=0.02)], duration=math.nan),
            "duration: expected a finite number of seconds ≥ 0, got nan",
        ),
        (
            lambda file: plait.Scenario(paths=[plait.Path(**PATH, rtt=0.02, loss={"share": math.nan})]),
            "scenario: path[0].loss.share: expected a finite number, got nan",
        ),
        (
            lambda file: plait.load(file, {"path.lte.rtt": 20}),
            'links.toml: path.lte.rtt: 20 without a unit would be seconds; expected "20ms" or "20s"',
        ),
    ],
)
def test_a_slip_in_python(make: Callable[[Any], Any], words: str, links: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        make(links)
    assert words in str(caught.value)


def test_numbers_of_seconds_are_the_same_everywhere(links: Path) -> None:
    changed = plait.load(links, {"path.lte.rtt": 0.02})
    assert changed.json == plait.load(links, {"path.lte.rtt": "20ms"}).json


def test_names_that_are_not_there_are_told_the_choices(links: Path) -> None:
    compared = plait.compare(links, ["blest", "ecf"])
    with pytest.raises(
        KeyError, match=r"^scheduler 'ecff': unknown \(did you mean ecf\?\); expected one of: blest, ecf$"
    ):
        _ = compared["ecff"]
    with pytest.raises(KeyError, match=r"^metric 'goodputt': unknown \(did you mean goodput_bps\?\)"):
        compared.frame(["goodputt"])
    with pytest.raises(KeyError, match=r"^metric 'paths\.lte\.foo': unknown.*paths\.lte\.srtt_ms"):
        compared.frame(["paths.lte.foo"])
    assert compared.frame(["goodput", "app_delay_ms"]).columns == [
        "scheduler",
        "goodput_bps",
        "app_delay_ms.mean",
    ]
    repeated = plait.repeat(links, ["blest", "ecf"], seeds=2)
    assert set(repeated.frame(["goodput"])["metric"]) == {"goodput_bps"}
