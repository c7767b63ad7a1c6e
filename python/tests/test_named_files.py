"""Changed files that a run names: a resumed sweep and kept runs notice them; results keep sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import DSL_AND_LTE
from test_own_library import TEMPLATE, compiled

import plait
from plait.bundles import bundle, rerun
from plait.results.recorded import read_results
from plait.results.writing import write_results
from plait.runs.checkpoint import Checkpoint
from plait.runs.run import Task, key
from plait.support.files import OutputError
from plait.sweep import Plan, sweep

CLASSES = """
import plait


class First(plait.Scheduler):
    def decide(self, now, connection, paths):
        ready = [path for path in paths if path.open]
        return plait.Assign(ready[0].index) if ready else plait.Wait()


class One(plait.Workload):
    size: int = 20_000

    def begin(self):
        return [plait.Write(self.size), plait.End()]


class Grows(plait.CongestionController):
    gain: float = 1.0

    def on_ack(self, ack):
        self.window += self.gain * ack.bytes
"""
FILES = {
    "mine.py": CLASSES,
    "lte.trace": "1\n5\n9\n",
    "steps.txt": "100ms 5Mbit\n",
    "writes.csv": "time_s,bytes\n0,20000\n",
}
MPTCP = '[transport]\nprotocol = "mptcp"\nprofile = "standard"\n'
RECORDED = 'forward = { trace = "lte.trace" }\n'
FLOW = '[[flow]]\nname = "other"\nkind = "tcp"\npath = "dsl"\n'
CASES = {
    "scheduler in Python": ("", "mine.py:First", "mine.py"),
    "scheduler in a library": ("", "capped.so:Capped", "capped.so"),
    "workload": ('[workload]\nkind = "mine.py:One"\nsize = 3000\n', "ecf", "mine.py"),
    "controller": (f'{MPTCP}congestion_control = "mine.py:Grows:gain=0.5"\n', "ecf", "mine.py"),
    "controller of a flow": (f'{MPTCP}{FLOW}congestion_control = "mine.py:Grows"\n', "ecf", "mine.py"),
    "recorded link": (
        f'[[path]]\nrtt = "9ms"\n{RECORDED}backward = {{ rate = "1Mbit" }}\n',
        "ecf",
        "lte.trace",
    ),
    "steps": ('[[path]]\nrate = "5Mbit"\nrtt = "9ms"\nrate_steps = "steps.txt"\n', "ecf", "steps.txt"),
    "writes": ('[workload]\nkind = "trace"\nfile = "writes.csv"\n', "ecf", "writes.csv"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edited(file: Path) -> None:
    """Append something to a file."""
    more = {".so": b"\0", ".py": b"# new\n", ".trace": b"10\n", ".txt": b"200ms 2Mbit\n", ".csv": b"1,9\n"}
    file.write_bytes(file.read_bytes() + more[file.suffix])


@pytest.mark.parametrize("case", CASES)
def test_a_changed_file_is_another_run(case: str, folder: Path) -> None:
    more, scheduler, file = CASES[case]
    if file == "capped.so":
        compiled(TEMPLATE / "capped.c", folder / file)
    (folder / "links.toml").write_text(f'duration = "1s"\n{DSL_AND_LTE}{more}')
    (folder / "plan.toml").write_text(f'scenario = "links.toml"\nschedulers = ["{scheduler}"]\n')
    task = Task(scenario="links.toml", scheduler=scheduler)
    sweep("plan.toml", "out")
    before = key(task, "sim")
    assert sweep("plan.toml", "out").made == 0
    assert key(task, "sim") == before
    edited(folder / file)
    with pytest.raises(OutputError, match=r"was begun with another plan; changed: (schedulers|traces);"):
        sweep("plan.toml", "out")
    assert key(task, "sim") != before


def test_parameters_of_a_scheduler_are_another_run(folder: Path) -> None:
    (folder / "links.toml").write_text(f'duration = "1s"\n{DSL_AND_LTE}')
    compiled(TEMPLATE / "capped.c", folder / "capped.so")
    keys = {
        key(Task(scenario="links.toml", scheduler=f"capped.so:Capped{more}"), "sim")
        for more in ("", ":share=0.5")
    }
    assert len(keys) == 2


def test_a_kept_run_is_not_that_of_a_changed_file(folder: Path) -> None:
    (folder / "links.toml").write_text(f'duration = "1s"\n{DSL_AND_LTE}{CASES["workload"][0]}')
    task = Task(scenario="links.toml")
    kept = Checkpoint(folder / "runs.jsonl", "sim")
    kept.add(task, plait.run("links.toml"))
    assert Checkpoint(folder / "runs.jsonl", "sim").find(task) is not None
    (folder / "mine.py").write_text(CLASSES.replace("Write(self.size)", "Write(2 * self.size)"))
    assert Checkpoint(folder / "runs.jsonl", "sim").find(task) is None


@pytest.mark.parametrize(
    ("given", "files"),
    [
        ({"workload": {"kind": "mine.py:One"}}, ["mine.py"]),
        ({"workload": {"kind": "trace", "file": "{name}.csv"}}, ["calls.csv", "writes.csv"]),
        ({"path.dsl.rate_steps": "{name}.csv"}, ["calls.csv", "writes.csv"]),
        # The file of the scenario itself, which the plan replaces, need not exist.
        ({"workload.file": "writes.csv"}, ["writes.csv"]),
    ],
)
def test_a_plan_has_the_files_of_all_its_points(
    given: dict[str, Any], files: list[str], folder: Path
) -> None:
    is_steps = "path.dsl.rate_steps" in given
    for name in ("writes.csv", "calls.csv"):
        (folder / name).write_text(FILES["steps.txt" if is_steps else "writes.csv"])
    workload = '[workload]\nkind = "trace"\nfile = "missing.csv"\n' if "workload.file" in given else ""
    (folder / "links.toml").write_text(f'duration = "1s"\n{DSL_AND_LTE}{workload}')
    uses = {} if "{name}" in str(given) else {"path.dsl.rtt": "{len}ms"}
    values = ["writes", "calls"] if not uses else [20, 30]
    table = {
        "scenario": "links.toml",
        "schedulers": ["ecf"],
        "set": {**given, **uses},
        "axis": [{"len" if uses else "name": values}],
    }
    assert list(Plan(table, folder).identity["traces"]) == files


def sourced(result: plait.Result) -> list[tuple[str, str]]:
    """Return class and source of the user's classes in a result."""
    own = [result.own_scheduler, result.own_workload, *result.own_controllers]
    return [(one["class"], one["source"]) for one in own if one is not None]


def test_results_keep_the_source_of_every_class(folder: Path) -> None:
    (folder / "flow.py").write_text(CLASSES)
    flow = f'{FLOW}congestion_control = "flow.py:Grows:gain=0.5"\n'
    more = f'{MPTCP}congestion_control = "mine.py:Grows"\n{flow}{CASES["workload"][0]}'
    (folder / "links.toml").write_text(f'duration = "1s"\n{DSL_AND_LTE}{more}')
    result = plait.run("links.toml", "mine.py:First")
    expected = [(name, CLASSES) for name in ("First", "One", "Grows", "Grows")]
    assert sourced(result) == expected
    assert [Path(one["file"]).name for one in result.own_controllers] == ["mine.py", "flow.py"]
    assert [one["parameters"] for one in result.own_controllers] == [{}, {"gain": "0.5"}]
    write_results([result], folder / "out")
    (read,) = read_results(folder / "out")
    assert sourced(read) == expected
    assert plait.run("links.toml", plait.load("links.toml").scheduler).own_scheduler is None


def test_a_bundle_has_the_classes_that_ran(folder: Path) -> None:
    """Their files have the same name in two folders, and both have changed since."""
    for name, size in (("a", 3_000), ("b", 90_000)):
        (folder / name).mkdir()
        (folder / name / "mine.py").write_text(CLASSES.replace("20_000", str(size)))
        workload = f'[workload]\nkind = "{name}/mine.py:One"\n'
        (folder / f"{name}.toml").write_text(f'duration = "1s"\n{DSL_AND_LTE}{workload}')
    write_results([plait.run(f"{name}.toml") for name in ("a", "b")], folder / "out")
    for name in ("a", "b"):
        (folder / name / "mine.py").write_text("changed = True\n")
    bundle("out", "out.zip")
    assert rerun("out.zip", "again").different == []
    sent = [json.loads(one.to_json())["metrics"]["delivered_bytes"] for one in read_results(Path("again"))]
    assert sent == [3_000, 90_000]
