"""The first commands of a user: `plait init`, `plait keys`, `plait completion`."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import Command

import plait
from plait.cli.keys import sections
from plait.scenarios.presets import PRESETS
from plait.scenarios.scenario import from_table

TABLES = dict.fromkeys(key["table"] for key in plait.scenario_keys())


def test_a_file_of_init_is_a_scenario_over_the_presets(command: Command, tmp_path: Path) -> None:
    done = command("init", "--preset", ",".join(PRESETS), "-o", "all.toml")
    assert (done.returncode, done.stdout) == (0, "")
    file = tmp_path / "all.toml"
    table = tomllib.loads(file.read_text())
    assert table["path"] == [one.table() for one in PRESETS.values()]
    scenario = plait.load(file)
    assert [path.name for path in scenario.paths] == list(PRESETS)
    # The keys before the links only state the defaults.
    said = json.loads(from_table({"path": table["path"], "transport": table["transport"]}).json)
    assert json.loads(scenario.json)["transport"] == said["transport"]
    comments = [line for line in file.read_text().splitlines() if line.startswith("# ")]
    sources = {word for one in PRESETS.values() for source in one.sources for word in source.split()}
    assert sources <= {word for line in comments for word in line.split()}


def test_every_line_that_init_comments_out_is_valid(command: Command, tmp_path: Path) -> None:
    text = command("init").stdout
    optional = [
        line for line in text.splitlines() if line.startswith("# ") and " = " in line and "`" not in line
    ]
    assert len(optional) == 7
    for line in optional:
        key = line.removeprefix("# ").split(" = ")[0]
        if key in ("kind", "size", "response"):
            continue
        file = tmp_path / "one.toml"
        file.write_text(text.replace(line, line.removeprefix("# ")))
        plait.load(file)
    for kind, key in (("file", "size"), ("request-response", "response")):
        changed = text.replace('kind = "bulk"', f'kind = "{kind}"')
        line = next(one for one in optional if one.startswith(f"# {key} "))
        file.write_text(changed.replace(line, line.removeprefix("# ")))
        assert json.loads(plait.load(file).json)["workload"]["kind"] == kind


def test_what_init_printed_can_be_run_at_once(command: Command, tmp_path: Path) -> None:
    text = command("init", "--preset", "dsl,dsl").stdout
    (tmp_path / "two.toml").write_text(text.replace('"30s"', '"2s"').replace('"5s"', '"0s"', 1))
    done = command("run", "two.toml", "--json")
    assert [path["name"] for path in json.loads(done.stdout)["paths"]] == ["dsl", "dsl-2"]


def test_init_replaces_no_file_unasked(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("mine")
    done = command("init", "-o", "mine.toml")
    assert (done.returncode, done.stderr) == (
        2,
        "plait: mine.toml: is there already; another name, or --force to replace it\n",
    )
    assert (tmp_path / "mine.toml").read_text() == "mine"
    assert command("init", "-o", "mine.toml", "--force").returncode == 0
    done = command("init", "--preset", "dls")
    assert done.returncode == 2
    assert "preset 'dls': unknown (did you mean dsl?)" in done.stderr
    assert command("init", "--preset", ",").stderr.startswith("plait: presets: none is named")


def test_keys_has_every_key_of_the_reader(command: Command) -> None:
    overview = command("keys").stdout
    for key in plait.scenario_keys():
        assert key["table"] in overview
        assert key["key"] in overview
    assert json.loads(command("keys", "--json").stdout) == plait.scenario_keys()


@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_a_section(table: str, command: Command) -> None:
    printed = command("keys", sections(table)[-1]).stdout
    assert table in printed
    for key in plait.scenario_keys():
        if key["table"] == table:
            words = " ".join(printed.split())
            assert " ".join(key["doc"].split()) in words
            assert str(key["kind"]) in words
            assert key["default"] is not None or "required" in words


def test_a_key_is_found_in_all_its_tables(command: Command) -> None:
    found = json.loads(command("keys", "queue", "--json").stdout)
    assert {one["table"] for one in found} == {"[[path]]", "[[link]]", "forward, backward", "queue_steps[…]"}
    done = command("keys", "quee")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "section 'quee': unknown (did you mean queue?)" in done.stderr


def completed(words: str) -> list[str]:
    """Returns the completions that bash would offer for the last word."""
    asked = {
        **os.environ,
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_PLAIT_COMPLETE": "bash_complete",
    }
    done = subprocess.run(
        [sys.executable, "-m", "plait"], env=asked, capture_output=True, text=True, check=False, timeout=60.0
    )
    assert done.stderr == ""
    return [line.split(",", 1)[1] for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("plait ke", ["keys"]),
        ("plait comp", ["compare", "completion"]),
        ("plait run --pc", ["--pcap"]),
        ("plait run --engine l", ["linux"]),
        ("plait completion ", ["bash", "zsh", "fish"]),
        ("plait init --preset dsl,v", ["dsl,vdsl"]),
        ("plait linux bu", ["build"]),
        ("plait no-such", []),
    ],
)
def test_the_shell_is_offered_what_a_word_may_become(words: str, offered: list[str]) -> None:
    assert completed(words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_completion_prints_is_read_by_the_shell(shell: str, command: Command) -> None:
    script = command("completion", shell).stdout
    assert "_PLAIT_COMPLETE" in script
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=False, timeout=60.0)
    assert (done.returncode, done.stderr) == (0, "")


def test_bash_completes_by_what_was_printed(command: Command, tmp_path: Path) -> None:
    plait_here = tmp_path / "plait"
    plait_here.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m plait "$@"\n')
    plait_here.chmod(0o755)
    ask = "COMP_WORDS=(plait expl); COMP_CWORD=1; _plait_completion plait; printf '%s\\n' \"${COMPREPLY[@]}\""
    script = command("completion", "bash").stdout
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{ask}"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60.0,
    )
    assert done.stdout.split() == ["explain"], done.stderr


@pytest.mark.parametrize("arguments", [["--help"], [], ["rnu"], ["keys"], ["init"], ["completion", "bash"]])
def test_what_runs_nothing_loads_little(arguments: list[str]) -> None:
    """Numeric libraries, plotting libraries and many modules slow the start down.

    The test checks imports, because a time would depend on the machine.
    """
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "plait", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60.0,
    )
    loaded = [
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    ]
    packages = {name.partition(".")[0] for name in loaded}
    assert packages >= {"plait", "click"}, done.stderr
    heavy = {
        "numpy",
        "scipy",
        "polars",
        "pandas",
        "matplotlib",
        "jinja2",
        "multiprocessing",
        "asyncio",
        "email",
    }
    assert not packages & heavy
    assert "rich.progress" not in loaded
    assert len(loaded) < 260, len(loaded)
