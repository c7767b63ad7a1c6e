"""Decisions as qlog: records of a sequence, their fields, and the page that documents them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from conftest import SCENARIO

import plait
from plait.cli import cli
from plait.results import qlog
from plait.support.files import OutputError

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/capture.md"


def records(file: Path) -> list[dict[str, Any]]:
    """Reads the records of a JSON text sequence (RFC 7464).

    Each record is between a record separator and a line feed.
    """
    content = file.read_bytes()
    assert content.startswith(b"\x1e")
    texts = content[1:].split(b"\x1e")
    assert all(text.endswith(b"\n") and text.count(b"\n") == 1 for text in texts)
    return [json.loads(text) for text in texts]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> plait.Result:
    file = tmp_path_factory.mktemp("qlog") / "two.toml"
    file.write_text(SCENARIO)
    return plait.run(file, "daps", decisions=True)


def test_the_header_says_what_the_file_is(result: plait.Result, tmp_path: Path) -> None:
    qlog.write(result, tmp_path / "run.sqlog")
    header = records(tmp_path / "run.sqlog")[0]
    assert header["file_schema"] == "urn:ietf:params:qlog:file:sequential"
    assert header["serialization_format"] == "application/qlog+json-seq"
    assert header["title"] == "scenario two paths, scheduler daps, seed 7"
    assert header["trace"]["vantage_point"] == {"name": "sender", "type": "client"}
    assert header["trace"]["event_schemas"] == ["urn:plait:qlog:events:scheduling"]


@pytest.mark.parametrize("batch", [7, 20_000])
def test_events_are_the_frames(
    result: plait.Result, tmp_path: Path, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qlog, "BATCH", batch)
    qlog.write(result, tmp_path / "run.sqlog")
    _, *events = records(tmp_path / "run.sqlog")
    decisions, facts, names = result.decisions, result.decision_paths, result.path_names
    assert len(events) == decisions.height > 500
    assert {event["name"] for event in events} == {"scheduling:decision"}
    kinds = {one["name"]: one["kind"] for one in plait.verdicts()}
    rows = facts.iter_rows(named=True)
    for event, row in zip(events, decisions.iter_rows(named=True), strict=True):
        assert event["time"] == row.pop("time_ns") / 1e6
        data = event["data"]
        for key in ("path", "oldest_unacked_path"):
            row[key] = None if row[key] is None else names[row[key]]
        for number, name in enumerate(names):
            row["reason"] = row["reason"] and row["reason"].replace(f"{{{number}}}", name)
        paths = data.pop("paths")
        assert {**data.pop("connection"), **data} == row
        for path in paths:
            fact = next(rows)
            assert path.pop("kind") == kinds[fact["verdict"]]
            assert path.pop("path") == names[fact.pop("path")]
            del fact["decision"]
            assert path == fact
    assert next(rows, None) is None


def fields(value: Any, place: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from fields(inner, f"{place}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner, f"{place}[]")
    else:
        yield place


def test_every_field_is_documented(result: plait.Result, tmp_path: Path) -> None:
    qlog.write(result, tmp_path / "run.sqlog")
    found = {field for event in records(tmp_path / "run.sqlog")[1:] for field in fields(event)}
    page = PAGE.read_text(encoding="utf-8")
    table = page[page.index("### Fields") :]
    documented = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(documented) == len(set(documented))
    assert set(documented) == found
    assert f"`{qlog.NAMESPACE}`" in table
    assert f"`{qlog.EVENT}`" in table


def test_runs_that_recorded_no_decisions(tmp_path: Path) -> None:
    links = [plait.Path(name="only", rate="1Mbit", rtt="20ms")]
    result = plait.run(plait.Scenario(duration="100ms", paths=links))
    with pytest.raises(plait.NotRecordedError):
        qlog.write(result, tmp_path / "run.sqlog")
    with pytest.raises(plait.ScenarioError, match=r"expected a name that ends in \.sqlog or \.qlog"):
        qlog.write(result, tmp_path / "run.json")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_whole_or_not_there(
    result: plait.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OutputError, match=r"missing/run\.sqlog: cannot be written: No such file"):
        qlog.write(result, tmp_path / "missing" / "run.sqlog")

    def full(events: pl.DataFrame) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(qlog, "_lines", full)
    with pytest.raises(OutputError, match=r"run\.sqlog: cannot be written: No space left on device"):
        qlog.write(result, tmp_path / "run.sqlog")
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_a_file_or_one_per_run(scenario_file: Path, tmp_path: Path) -> None:
    def command(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["--quiet", *arguments], catch_exceptions=False)
        assert done.exit_code == 0
        return done.stderr

    said = command("run", str(scenario_file), "--qlog", str(tmp_path / "new/run.qlog"))
    assert said == f"wrote the decisions of 1 run to {tmp_path}/new/run.qlog\n"
    assert len(records(tmp_path / "new/run.qlog")) > 500
    several = ("compare", str(scenario_file), "--schedulers", "daps,ecf", "--qlog")
    command(*several, str(tmp_path / "logs"))
    names = sorted(file.name for file in (tmp_path / "logs").iterdir())
    assert names == ["two-paths-daps.sqlog", "two-paths-ecf.sqlog"]
    with pytest.raises(plait.ScenarioError, match=r"one\.sqlog': one file for 2 runs; expected a folder"):
        command(*several, str(tmp_path / "one.sqlog"))


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_the_page_shows_what_tshark_prints(tmp_path: Path) -> None:
    """A command after `$` prints the lines below it.

    test_examples.py runs the other examples of the page.
    """
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (links,) = [body for kind, body in blocks if kind == "toml"]
    (tmp_path / "links.toml").write_text(links)
    plait.run(tmp_path / "links.toml", pcap=tmp_path / "captures")
    files, *sessions = [body for kind, body in blocks if kind == "text"]
    assert (
        sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.pcapng")) == files.splitlines()
    )
    session = "".join(sessions)
    commands = re.findall(r"^\$ ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", session, re.MULTILINE)
    assert len(commands) == session.count("$ ") == 4
    for line, printed in commands:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout == printed
