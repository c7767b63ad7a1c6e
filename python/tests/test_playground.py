"""The playground: its build, and the page of a scenario file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import plait
from plait.cli.errors import guarded
from plait.linux import programs
from plait.playground import build, library, simulator
from plait.playground import page as pages


def test_a_missing_simulator_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "FILE", tmp_path / "none")
    with pytest.raises(plait.RunError, match="is not built: run make playground"):
        pages.page()


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes a file in the place of the simulator."""
    monkeypatch.setattr(simulator, "FILE", tmp_path / "simulator.wasm.gz")
    simulator.write(b"of another test", simulator.sources())


@pytest.mark.usefixtures("written")
def test_a_simulator_of_other_sources_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    for name in ("Cargo.toml", "Cargo.lock", *(f"crates/{one}/Cargo.toml" for one in simulator.CRATES)):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(simulator.ROOT / name, tree / name)
    source = tree / "crates" / "plait-sim" / "src" / "link" / "mod.rs"
    source.parent.mkdir(parents=True)
    source.write_text("// as compiled")
    monkeypatch.setattr(simulator, "ROOT", tree)
    simulator.write(b"of another test", simulator.sources())
    assert simulator.fault() is None
    source.write_text("// as changed")
    with pytest.raises(plait.RunError, match="from other sources than this Plait: run make playground again"):
        pages.page()
    monkeypatch.setattr(simulator, "ROOT", tmp_path / "installed")
    assert simulator.fault() is None


def test_the_hash_is_of_every_crate_in_the_simulator() -> None:
    needed, found = ["plait-wasm"], set[str]()
    while needed:
        found.add(name := needed.pop())
        text = (simulator.ROOT / "crates" / name / "Cargo.toml").read_text(encoding="utf-8")
        needed += [one for one in tomllib.loads(text).get("dependencies", {}) if one.startswith("plait-")]
    assert found == set(simulator.CRATES)


def opened_in(text: str) -> Any:
    """Returns the state with which a page opens."""
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    return json.loads(data[1])["opened"]


@pytest.mark.usefixtures("written")
def test_an_opened_file_is_in_the_page(scenario_file: Path) -> None:
    names = ["daps", "lowest-rtt+rp"]
    table = tomllib.loads(scenario_file.read_text(encoding="utf-8"))
    as_json = scenario_file.with_suffix(".json")
    as_json.write_text(json.dumps(table), encoding="utf-8")
    del table["scheduler"]
    for file in (scenario_file, as_json):
        assert opened_in(pages.opened_page(file, names)) == {"scenario": table, "schedulers": names}


@pytest.mark.usefixtures("written")
def test_the_name_of_a_path_is_no_file(scenario_file: Path) -> None:
    scenario_file.write_text('[[path]]\nname = "trace"\nrate = "1Mbit"\nrtt = "20ms"\n', encoding="utf-8")
    state = opened_in(pages.opened_page(scenario_file, ["daps", "lowest-rtt"]))
    path = {"name": "trace", "rate": "1Mbit", "rtt": "20ms"}
    assert state["scenario"] == {"path": [path], "name": "two"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["daps"], "expected two names, got 1"),
        (["daps", "lowest-rrt"], "did you mean lowest-rtt"),
        (["daps", "lowest-rtt+xx"], 'unknown suffix "\\+xx" of scheduler lowest-rtt'),
    ],
)
def test_wrong_schedulers_are_refused(scenario_file: Path, names: list[str], message: str) -> None:
    with pytest.raises(plait.ScenarioError, match=message):
        pages.opened_page(scenario_file, names)


@pytest.mark.parametrize(
    ("key", "content", "place", "instead"),
    [
        ('trace = "other"', "1\n2\n", "trace (slow)", "a rate"),
        ('rate = "1Mbit"\nrate_steps = "other"', "1s 2Mbit\n", "rate_steps (slow)", "a list of steps"),
        (
            'rate = "1Mbit"\nbackward = { loss = "1%", loss_steps = "other" }',
            "1s 2%\n",
            "backward.loss_steps (slow)",
            "a list of steps",
        ),
    ],
)
def test_a_scenario_with_another_file_is_refused(
    scenario_file: Path, key: str, content: str, place: str, instead: str
) -> None:
    scenario_file.with_name("other").write_text(content, encoding="utf-8")
    more = '\nbackward = { rate = "1Mbit" }' if key.startswith("trace") else ""
    first = '[[path]]\nrate = "1Mbit"\nrtt = "20ms"\n'
    text = f'{first}[[path]]\nname = "slow"\nrtt = "20ms"\n{key}{more}\n'
    scenario_file.write_text(text, encoding="utf-8")
    message = f'path[1].{place} = "other": a page in a browser reads no files; expected {instead}'
    with pytest.raises(plait.ScenarioError, match=re.escape(message)):
        pages.opened_page(scenario_file, ["daps", "lowest-rtt"])


def test_a_trace_of_writes_is_another_file(scenario_file: Path) -> None:
    scenario_file.with_name("other").write_text("time_s,bytes\n0,1\n", encoding="utf-8")
    text = 'workload = { kind = "trace", file = "other" }\n[[path]]\nrate = "1Mbit"\nrtt = "20ms"\n'
    scenario_file.write_text(text, encoding="utf-8")
    message = 'workload.file = "other": a page in a browser reads no files; expected another kind of traffic'
    with pytest.raises(plait.ScenarioError, match=re.escape(message)):
        pages.opened_page(scenario_file, ["daps", "lowest-rtt"])


@pytest.mark.parametrize(
    ("table", "key", "instead"),
    [
        ("workload", "kind", "another kind of traffic"),
        ("transport", "congestion_control", "a built-in controller"),
    ],
)
def test_a_class_is_another_file(scenario_file: Path, table: str, key: str, instead: str) -> None:
    text = f'{table} = {{ {key} = "mine.py:Mine" }}\n[[path]]\nrate = "1Mbit"\nrtt = "20ms"\n'
    scenario_file.write_text(text, encoding="utf-8")
    message = f'{table}.{key} = "mine.py:Mine": a page in a browser reads no files; expected {instead}'
    with pytest.raises(plait.ScenarioError, match=re.escape(message)):
        pages.opened_page(scenario_file, ["daps", "lowest-rtt"])


def test_a_library_of_another_content_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def download(place: str, file: Path) -> Path:
        if place == library.PLACES[0]:
            raise OSError("gone")
        file.write_bytes(b"something else")
        return file

    monkeypatch.setattr(programs, "download", download)
    gone = r"gone; .* its SHA-256 is .*; fetch rust-src_.* RUST_SRC="
    with pytest.raises(library.UnavailableError, match=gone):
        library.require(say=lambda step: None)
    other = tmp_path / library.FILE
    other.write_bytes(b"something else")
    with pytest.raises(plait.RunError, match="and not that of rust-src"):
        library.require(package=other, say=lambda step: None)
    assert not library.folder().exists()


def test_another_compiler_ends_the_build_with_status_3_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = subprocess.CompletedProcess([], 0, stdout="rustc 1.88.0 (6b00bc388 2025-06-23)\n")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: done)
    monkeypatch.setattr(sys, "argv", ["build", str(tmp_path / "playground.html")])
    with pytest.raises(SystemExit) as ended:
        guarded(build.main)
    assert ended.value.code == 3
    remedy = r"needs rustc 1\.95\.0, found rustc 1\.88\.0 .*: rustup toolchain"
    assert re.search(remedy, capsys.readouterr().err)


def test_scripts_are_joined_without_imports_and_each_import_is_an_earlier_export() -> None:
    folder = Path(pages.__file__).with_name("scripts")
    exported: set[str] = set()
    for name in pages.SCRIPTS:
        text = (folder / f"{name}.js").read_text(encoding="utf-8")
        imported = {
            one.strip() for part in re.findall(r"import \{([^}]*)\}", text) for one in part.split(",")
        }
        assert imported <= exported, name
        exported |= set(re.findall(r"^export (?:async )?(?:const|function|class) (\w+)", text, re.MULTILINE))
    joined = pages.joined(pages.SCRIPTS)
    assert "import {" not in joined
    assert "export " not in joined
