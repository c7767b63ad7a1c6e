"""User-defined schedulers: parameters, lists with ``all``, labels, messages, stored results."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

import plait
from plait import ScenarioError
from plait.results.recorded import read_results
from plait.scenarios.own import Own
from plait.scenarios.scheduler import label_all, override, parse_choice
from plait.sweep import Plan, read, sweep

BATCHES = '''
from __future__ import annotations

from typing import Literal

import plait


class Batches(plait.Scheduler):
    """The open path with the shortest or longest round trip, `most` segments at a time."""

    def __init__(self, most: int = 1, prefer: Literal["short", "long"] = "short", floor: float = 0.0) -> None:
        if most < 1:
            raise ValueError("most is at least 1")
        self.most, self.sign, self.floor = most, 1 if prefer == "short" else -1, floor

    def decide(self, now, connection, paths):
        ready = [path for path in paths if path.open]
        if not ready:
            return plait.Wait()
        best = min(ready, key=lambda path: self.sign * max(path.srtt or 0.0, self.floor))
        return plait.Assign(best.index, min(self.most, best.room))
'''
ANNOTATED = """
from __future__ import annotations

import plait


class Batches(plait.Scheduler):
    most: int = 1
    patient: bool | None = None
    _hidden: int = 3
    reinject: bool = False

    def decide(self, now, connection, paths):
        ready = [path for path in paths if path.open]
        return plait.Assign(ready[0].index, min(self.most, ready[0].room)) if ready else plait.Wait()
"""


@pytest.fixture
def batches(scenario_file: Path) -> Path:
    """Writes the file of a scheduler beside a scenario."""
    file = scenario_file.parent / "batches.py"
    file.write_text(BATCHES)
    return file


def made(text: str, folder: Path) -> Any:
    """Returns the scheduler instance for a choice in text form."""
    return override(parse_choice(text, folder)).python


def one_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("plait: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr, done.stderr


def test_parameters_have_the_types_of_the_annotations(batches: Path) -> None:
    folder = batches.parent
    plain = made("batches.py:Batches", folder)
    assert (plain.most, plain.sign, plain.floor) == (1, 1, 0.0)
    given = made("batches.py:Batches:most=4:prefer=long:floor=1", folder)
    assert (given.most, given.sign, given.floor) == (4, -1, 1.0)
    assert isinstance(given.floor, float)
    batches.write_text(ANNOTATED)
    given = made("batches.py:Batches:most=3:patient=true", folder)
    assert (given.most, given.patient) == (3, True)
    assert made("batches.py:Batches:patient=none", folder).patient is None


def test_a_dataclass_and_a_default_without_annotation_do(batches: Path) -> None:
    batches.write_text(
        ANNOTATED.replace("import plait\n", "from dataclasses import dataclass\nimport plait\n").replace(
            "class Batches", "@dataclass\nclass Batches"
        )
    )
    assert made("batches.py:Batches:most=3:reinject=true", batches.parent).reinject is True
    batches.write_text(BATCHES.replace("most: int = 1", "most=1"))
    assert made("batches.py:Batches:most=3", batches.parent).most == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Batches:most=many", "parameter 'most': is 'many'; expected a whole number"),
        ("Batches:most=1.5", "expected a whole number"),
        ("Batches:prefer=far", "parameter 'prefer': is 'far'; expected short or long"),
        ("Batches:floor=nan", "expected a number"),
        ("Batches:moast=2", "'moast': unknown (did you mean most?); expected one of: most, prefer, floor"),
        ("Batches:most", "expected batches.py:Batches:parameter=value, got 'most'"),
        ("Batches:most=1:most=2", "parameter 'most' is given twice"),
        ("Batches:most=0", "cannot be made: ValueError: most is at least 1 (batches.py, line 14)"),
        (
            "Batches:most=1,prefer=long,floor=2",
            "':' separates parameters, not ','; expected batches.py:Batches:most=1:prefer=long:floor=2",
        ),
        ("Batch", "expected batches.py:CLASS with one of: Batches"),
        ("", "expected batches.py:CLASS with one of: Batches"),
    ],
)
@pytest.mark.usefixtures("batches")
def test_what_is_wrong_is_named(text: str, message: str, command: Command) -> None:
    one_line(command("run", "two.toml", "--scheduler", f"batches.py:{text}"), message)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("    pass\n", ["Mine (mine.py, line 4) has no decide", "def decide(self, now, connection, paths)"]),
        ("    def decide(self, now):\n        pass\n", ["Mine.decide (mine.py, line 5): too many"]),
        ("    def __init__(self, lam: list[int]):\n        pass\n", ["'lam'", "list[int]", "Literal"]),
        ("    def __init__(self, lam: Lam):\n        pass\n", ["annotations", "'Lam' is not defined"]),
        ("    def __init__(self, lam: float):\n        pass\n", ["'lam': missing", ":lam=… (a number)"]),
        ("    return 3\n", ["mine.py cannot be imported: SyntaxError", "mine.py, line 5"]),
    ],
)
@pytest.mark.usefixtures("scenario_file")
def test_a_class_that_lacks_something_is_told_what(
    body: str, words: list[str], command: Command, tmp_path: Path
) -> None:
    text = f"from __future__ import annotations\nimport plait\n\nclass Mine(plait.Scheduler):\n{body}"
    (tmp_path / "mine.py").write_text(text)
    given = "mine.py:Mine:lam=2" if "lam" in body and "lam: float" not in body else "mine.py:Mine"
    one_line(command("run", "two.toml", "--scheduler", given), "'mine.py:Mine", *words)


@pytest.mark.usefixtures("scenario_file")
def test_a_class_that_is_no_scheduler_is_told_so(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("class Mine:\n    pass\n")
    done = command("run", "two.toml", "--scheduler", "mine.py:Mine")
    one_line(done, "Mine (mine.py, line 1) is no scheduler; expected class Mine(plait.Scheduler)")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("round-robin:segments=1,cwnd_limited=false", "expected round-robin:segments=1:cwnd_limited=false"),
        ("daps,batches.py:Batches:most=2,floor=1", "expected batches.py:Batches:most=2:floor=1"),
        ("all,", "an entry is empty"),
    ],
)
@pytest.mark.usefixtures("batches")
def test_a_comma_for_a_colon_is_told(names: str, message: str, command: Command) -> None:
    one_line(command("compare", "two.toml", "--schedulers", names), message)


@pytest.mark.usefixtures("batches")
def test_a_comma_for_a_colon_is_told_of_one_scheduler(command: Command) -> None:
    done = command("run", "two.toml", "--scheduler", "round-robin:segments=1,cwnd_limited=false")
    one_line(done, "':' separates parameters, not ','; expected round-robin:segments=1:cwnd_limited=false")


@pytest.mark.usefixtures("batches")
def test_all_and_ones_own(command: Command) -> None:
    names = "batches.py:Batches,all,batches.py:Batches:most=3,daps"
    done = command("compare", "two.toml", "--schedulers", names, "--json")
    assert done.returncode == 0, done.stderr
    found = [run["scheduler"] for run in json.loads(done.stdout)]
    built_in = [one["name"] for one in plait.schedulers() if one["name"] != "daps"]
    assert found == ["Batches", *built_in, "Batches:most=3", "daps"]


def test_two_files_with_the_same_class_are_told_apart(batches: Path, command: Command) -> None:
    other = batches.parent / "other" / "batches.py"
    other.parent.mkdir()
    other.write_text(BATCHES)
    third = batches.with_name("third.py")
    third.write_text(BATCHES)
    names = [
        "batches.py:Batches",
        "other/batches.py:Batches:most=2",
        "third.py:Batches",
        "batches.py:Batches:most=2",
    ]
    own = [parse_choice(name, batches.parent) for name in names]
    assert label_all([*own, None, "daps"]) == [
        f"{batches.parent.name}/batches.py:Batches",
        "other/batches.py:Batches:most=2",
        "third.py:Batches",
        f"{batches.parent.name}/batches.py:Batches:most=2",
        None,
        "daps",
    ]  # fmt: skip
    assert label_all(own[:1]) == ["Batches"]
    (batches.parent / "daps.py").write_text(BATCHES.replace("Batches", "daps"))
    done = command("compare", "two.toml", "--schedulers", "daps,daps.py:daps", "--json")
    assert [run["scheduler"] for run in json.loads(done.stdout)] == ["daps", "daps.py:daps"]


def test_in_python_a_text_or_a_table_does_too(batches: Path) -> None:
    scenario = batches.with_name("two.toml")
    choices: list[Any] = [
        f"{batches}:Batches:most=2",
        {"name": f"{batches}:Batches", "most": 2, "prefer": "long"},
    ]
    first, second = plait.compare(scenario, choices)
    assert [first.scheduler, second.scheduler] == ["Batches:most=2", "Batches:most=2:prefer=long"]
    assert first.metrics["goodput_bps"] != second.metrics["goodput_bps"]


def test_a_parameter_is_an_axis_of_a_sweep(batches: Path, tmp_path: Path) -> None:
    table = {
        "scenario": "two.toml",
        "schedulers": ["lowest-rtt", "batches.py:Batches:most={most}", "round-robin:segments={most}"],
        "seeds": 2,
        "axis": [{"most": [1, 4]}],
    }
    plan = Plan(table, batches.parent)
    frame = sweep(plan, tmp_path / "out").dataset.frame
    assert frame["error"].null_count() == len(frame) == 2 * 2 * 3
    for row in frame.iter_rows(named=True):
        single = plait.run(
            batches.with_name("two.toml"),
            row["scheduler"].replace("{most}", str(row["most"])).replace("Batches", f"{batches}:Batches"),
            seed=row["seed"],
            perturb=True,
        )
        assert single.metrics["goodput_bps"] == row["goodput_bps"], row["scheduler"]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        sweep(plan, tmp_path / "elsewhere", executor=executor)
    assert read(tmp_path / "elsewhere").frame.equals(frame)
    table["axis"] = [{"most": [1, 0]}]
    with pytest.raises(ScenarioError, match=r"point 1 \(most = 0\): scheduler .*most is at least 1"):
        Plan(table, batches.parent)
    table["axis"] = [{"most": [1]}, {"least": [2]}]
    with pytest.raises(ScenarioError, match="nothing uses least"):
        Plan(table, batches.parent)


@pytest.mark.usefixtures("scenario_file")
def test_a_run_keeps_source_and_hash(batches: Path, command: Command) -> None:
    arguments = ("compare", "two.toml", "--schedulers", "daps,batches.py:Batches:most=2")
    printed = command(*arguments, "--json", "--out", "out")
    assert printed.returncode == 0, printed.stderr
    kept = {
        "file": "batches.py",
        "class": "Batches",
        "parameters": {"most": "2"},
        "sha256": hashlib.sha256(BATCHES.encode()).hexdigest(),
        "source": BATCHES,
    }
    assert [run.get("own_scheduler") for run in json.loads(printed.stdout)] == [None, kept]
    daps, own = read_results(batches.parent / "out")
    assert (daps.own_scheduler, own.own_scheduler) == (None, kept)
    assert own.scheduler == "Batches:most=2"


def test_a_class_handed_over_keeps_its_file(scenario: plait.Scenario) -> None:
    class Here(plait.Scheduler):
        def decide(self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]) -> Any:
            return next((plait.Assign(path.index) for path in paths if path.open), plait.Wait())

    for choice in (Here, Here()):
        kept = plait.run(scenario, choice).own_scheduler
        assert kept is not None
        assert (kept["file"], kept["class"]) == ("test_own.py", "Here")
        assert kept["source"] == Path(__file__).read_text(encoding="utf-8")
    typed: dict[str, Any] = {}
    exec(compile(BATCHES, "<prompt>", "exec"), typed)
    kept = plait.run(scenario, typed["Batches"]).own_scheduler
    assert kept is not None
    assert (kept["class"], kept["sha256"], kept["source"]) == ("Batches", None, None)


SILENT = """
import plait


class Silent(plait.Scheduler):
    def decide(self, now, connection, paths):
        return plait.Wait()
"""


def test_one_that_never_decides_is_told_so(scenario_file: Path, command: Command) -> None:
    scenario_file.with_name("silent.py").write_text(SILENT)
    done = command("compare", "two.toml", "--schedulers", "daps,silent.py:Silent", "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    (said,) = (line for line in done.stderr.splitlines() if line.startswith("warning"))
    assert re.fullmatch(
        "warning: two paths: Silent never decided to send: [1-9][0-9]* calls?, all Wait, "
        "though data waited and a path had room (then|in [1-9][0-9]* of them)",
        said,
    )
    daps, silent = json.loads(done.stdout)
    assert "warnings" not in daps
    assert said.endswith(silent["warnings"][0])
    (kept,) = (
        one.warnings for one in read_results(scenario_file.parent / "out") if one.scheduler == "Silent"
    )
    assert kept == silent["warnings"]
    assert command("report", "out", "-o", "page.html").returncode == 0
    assert kept[0] in scenario_file.with_name("page.html").read_text()
    with pytest.warns(RuntimeWarning, match="two paths: Silent never decided to send"):
        plait.run(scenario_file, f"{scenario_file.with_name('silent.py')}:Silent")


def test_a_transfer_that_stalls_says_that_the_scheduler_never_decided(scenario_file: Path) -> None:
    text = scenario_file.read_text().replace('kind = "bulk"', 'kind = "file"\nsize = "50kB"')
    scenario_file.write_text(text.replace('protocol = "cmt-sctp"', 'protocol = "mptcp"'))
    scenario_file.with_name("silent.py").write_text(SILENT)
    with pytest.raises(
        plait.RunError, match=r"nothing moved any more: the scheduler never decided to send: .*, all Wait"
    ):
        plait.run(scenario_file, f"{scenario_file.with_name('silent.py')}:Silent")


BOTH = """
import plait


class Both(plait.Scheduler):
    most: int = 2
    name: str
    _hidden: int = 3

    def __init__(self, floor: float = 0.5):
        self.made = (self.most, floor)

    def decide(self, now, connection, paths):
        return plait.Wait()
"""


@pytest.mark.parametrize(
    ("given", "made"),
    [("", (2, 0.5)), (":most=7", (7, 0.5)), (":floor=1.5", (2, 1.5)), (":most=7:floor=1.5", (7, 1.5))],
)
def test_an_init_of_its_own_leaves_annotated_parameters(
    given: str, made: tuple[int, float], tmp_path: Path
) -> None:
    (tmp_path / "both.py").write_text(BOTH)
    choice = parse_choice(f"both.py:Both{given}", tmp_path)
    assert isinstance(choice, Own)
    scheduler: Any = choice.make()
    assert scheduler.made == made
    with pytest.raises(ScenarioError, match="parameter 'name': unknown; expected one of: most, floor"):
        override(parse_choice("both.py:Both:name=x", tmp_path))
