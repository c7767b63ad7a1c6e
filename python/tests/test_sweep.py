"""Sweeps: rows equal single runs, and interruptions do not change the dataset."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

import plait
from plait.analysis import analyze
from plait.results.metrics import metric
from plait.support.files import OutputError
from plait.sweep import Plan, read, sweep
from plait.sweep.journal import Journal

PLAN = """
scenario = "links.toml"
schedulers = ["lowest-rtt", "round-robin"]
seeds = 3
set = { "path.slow.rtt" = "{rtt}ms" }
axis = [{ rtt = { range = [20, 200], points = POINTS } }]
"""
PART = 50
"""Rows per part in these tests."""


@pytest.fixture
def plan_file(tmp_path: Path, scenario_file: Path) -> Path:
    """A plan with 6 points and 36 runs."""
    scenario_file.rename(tmp_path / "links.toml")
    file = tmp_path / "plan.toml"
    file.write_text(PLAN.replace("POINTS", "6"))
    return file


@pytest.fixture
def long_plan_file(plan_file: Path) -> Path:
    """A plan with 300 points and 1800 runs, which takes some seconds."""
    plan_file.write_text(PLAN.replace("POINTS", "300"))
    return plan_file


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_row_holds_what_a_single_run_gives(plan_file: Path, tmp_path: Path) -> None:
    outcome = sweep(plan_file, tmp_path / "out", rows_per_part=10)
    assert (outcome.runs, outcome.made, outcome.failed) == (36, 36, 0)
    dataset = outcome.dataset
    frame = dataset.frame
    assert frame["index"].to_list() == list(range(36))
    assert dataset.schedulers == ["lowest-rtt", "round-robin"]
    assert dataset.variables == ["rtt"]
    for row in frame.gather([0, 17, 35]).iter_rows(named=True):
        scenario = plait.load(tmp_path / "links.toml", {"path.slow.rtt": f"{row['rtt']:g}ms"})
        result = plait.run(scenario, row["scheduler"], seed=row["seed"], perturb=True)
        for name in ("goodput_bps", "app_delay_ms.p95", "retransmissions", "paths.slow.throughput_bps"):
            assert row[name] == metric(result, name)
        assert row["block_delay_ms.mean"] is None
    assert not any(name.startswith("queues.") for name in dataset.metrics)


QUEUES = """
scenario = "queues.toml"
schedulers = ["lowest-rtt"]
set = { "path.dsl.forward.discipline" = "{discipline}" }
axis = [{ discipline = ["drop-tail", "codel", "fq-codel"] }]
"""
REQUESTS = """
duration = "5s"
transport = { protocol = "tcp", profile = "standard" }
workload = { kind = "request-response", count = 20, request = "200B", response = "20kB" }

[[path]]
name = "dsl"
rtt = "40ms"
queue = "50p"
forward = { rate = "2Mbit", discipline = "codel" }
backward = { rate = "2Mbit", discipline = "codel" }

[[flow]]
name = "beside"
kind = "cbr"
path = "dsl"
rate = "100kbit"
"""


def leaves(value: Any, name: str) -> Iterator[str]:
    """Yields the dotted names of all numbers in a part of a run's JSON."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{name}.{key}" if name else key)
    elif not isinstance(value, str):
        yield name


def test_every_number_of_a_run_has_a_column(tmp_path: Path) -> None:
    (tmp_path / "queues.toml").write_text(REQUESTS)
    (tmp_path / "plan.toml").write_text(QUEUES)
    outcome = sweep(tmp_path / "plan.toml", tmp_path / "out")
    assert outcome.failed == 0
    for row in outcome.dataset.frame.iter_rows(named=True):
        scenario = plait.load(
            tmp_path / "queues.toml", {"path.dsl.forward.discipline": row["discipline"], "seed": row["seed"]}
        )
        result = plait.run(scenario, "lowest-rtt")
        names = {*leaves(result.metrics, ""), *leaves(result.paths[0], "paths.dsl")}
        for queue in result.queues:
            names |= {*leaves(queue, f"queues.{queue['name']}.{queue['direction']}")}
        known = set(outcome.dataset.metrics)
        for name in names:
            # Without a distribution in the run, the columns of its parts are empty.
            parts = [name] if name in known else [one for one in known if one.startswith(f"{name}.")]
            assert parts, name
            for part in parts:
                assert row[part] == (metric(result, part) if part == name else None), part
        assert set(leaves(result.flows[0], "flows.beside")) <= known
        assert row["request_latency_ms.p90"] > 0
        # Only queues with an active discipline have counters.
        assert (row["queues.dsl.forward.packets_sent"] is None) == (row["discipline"] == "drop-tail")
        assert row["queues.dsl.backward.packets_sent"] > 0


def test_the_dataset_opens_as_it_is(plan_file: Path, tmp_path: Path) -> None:
    sweep(plan_file, tmp_path / "out", rows_per_part=10)
    folder = tmp_path / "out"
    own = read(folder).frame
    assert pl.read_parquet(folder / "*.parquet").equals(own)
    assert pd.read_parquet(folder)["goodput_bps"].tolist() == own["goodput_bps"].to_list()
    query = f"""select avg("app_delay_ms.mean") from '{folder}/*.parquet' where scheduler = 'round-robin'"""
    mean = duckdb.connect().execute(query).fetchone()
    assert mean is not None
    expected = own.filter(pl.col("scheduler") == "round-robin")["app_delay_ms.mean"].mean()
    assert mean[0] == pytest.approx(expected)
    assert read(folder).columns("seed", "rtt").columns == ["seed", "rtt"]
    with pytest.raises(
        plait.ScenarioError,
        match=r"'goodput': unknown \(did you mean goodput_bps\?\); expected one of: index",
    ):
        read(folder).columns("goodput")
    checked = subprocess.run(["sha256sum", "--check", "--quiet", "_parts.sha256"], cwd=folder, check=False)
    assert checked.returncode == 0


def start(plan: Path, out: Path) -> subprocess.Popen[bytes]:
    script = f"from plait.sweep import sweep; sweep({str(plan)!r}, {str(out)!r}, rows_per_part={PART})"
    return subprocess.Popen([sys.executable, "-c", script])


def rows_in(out: Path) -> int:
    waiting = len(Journal(out / "_journal").read()) if (out / "_journal").is_file() else 0
    return waiting + PART * len(list(out.glob("part-*.parquet")))


def test_killed_three_times_it_gives_the_same_bytes(long_plan_file: Path, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    runs = sweep(long_plan_file, whole, rows_per_part=PART).runs
    moments = random.Random(os.urandom(8))
    reached = 0
    for _ in range(3):
        process = start(long_plan_file, broken)
        goal = reached + moments.randint(20, runs // 4)
        while process.poll() is None and rows_in(broken) < goal:
            time.sleep(moments.random() / 100)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert rows_in(broken) >= goal - PART  # a new part may still be in the journal too
        reached = rows_in(broken)
    assert reached < runs
    outcome = sweep(long_plan_file, broken, rows_per_part=PART)
    assert outcome.made <= runs - reached + PART
    assert 0 < outcome.made < runs
    assert content(broken) == content(whole)
    assert sweep(long_plan_file, broken, rows_per_part=PART).made == 0


def test_what_a_kill_left_half_written_is_removed(plan_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name in (
        "._plan-abc.json",
        ".part-00000000-abc.parquet",
        "._journal-abc",
        "._parts-abc.sha256",
    ):
        (out / name).write_bytes(b"half")
    sweep(plan_file, out)
    assert sorted(content(out)) == ["_parts.sha256", "_plan.json", "part-00000000.parquet"]


def test_an_executor_gives_the_same_bytes(plan_file: Path, tmp_path: Path) -> None:
    sweep(plan_file, tmp_path / "local", rows_per_part=10)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        sweep(plan_file, tmp_path / "elsewhere", executor=executor, rows_per_part=10)
    assert content(tmp_path / "local") == content(tmp_path / "elsewhere")


def test_a_changed_plan_is_refused(plan_file: Path, tmp_path: Path) -> None:
    sweep(plan_file, tmp_path / "out")
    before = content(tmp_path / "out")
    plan_file.write_text(plan_file.read_text().replace("seeds = 3", "seeds = 4"))
    with pytest.raises(OutputError, match="begun with another plan; changed: seeds \\(then 3, now 4\\)"):
        sweep(plan_file, tmp_path / "out")
    links = tmp_path / "links.toml"
    links.write_text(links.read_text().replace("60kB", "70kB"))
    with pytest.raises(OutputError, match="changed: scenario; seeds"):
        sweep(plan_file, tmp_path / "out")
    assert content(tmp_path / "out") == before


def test_parts_of_another_size_are_refused(plan_file: Path, tmp_path: Path) -> None:
    sweep(plan_file, tmp_path / "out", rows_per_part=10)
    with pytest.raises(OutputError, match="changed: rows_per_part \\(then 10, now 1000\\)"):
        sweep(plan_file, tmp_path / "out")


def test_only_one_process_writes(plan_file: Path, tmp_path: Path) -> None:
    from plait.sweep.dataset_writer import DatasetWriter

    with (
        DatasetWriter(tmp_path / "out", Plan.load(plan_file)),
        pytest.raises(OutputError, match="another sweep writes there"),
    ):
        sweep(plan_file, tmp_path / "out")
    assert sweep(plan_file, tmp_path / "out").made == 36


def test_a_folder_of_something_else_is_left_alone(plan_file: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="not a sweep's dataset; expected an empty folder"):
        sweep(plan_file, tmp_path)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(OutputError, match="cannot write there"):
        sweep(plan_file, file)


def test_a_damaged_part_is_named_and_made_again(plan_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep(plan_file, out, rows_per_part=10)
    before = content(out)
    part = out / "part-00000001.parquet"
    damaged = bytearray(part.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    part.write_bytes(damaged)
    with pytest.raises(OutputError, match=r"part-00000001\.parquet: is damaged: .* remove the file"):
        sweep(plan_file, out, rows_per_part=10)
    part.unlink()
    assert sweep(plan_file, out, rows_per_part=10).made == 10
    assert content(out) == before
    for rubbish in (b"PAR1", b""):
        part.write_bytes(rubbish)
        with pytest.raises(plait.ScenarioError, match=r"part-00000001\.parquet: cannot be read") as raised:
            _ = read(out).frame
        assert "\n" not in str(raised.value)


def test_a_torn_journal_loses_the_torn_line_only(plan_file: Path, tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    sweep(plan_file, whole)
    plan = Plan.load(plan_file)

    class StopError(Exception):
        pass

    def stop(done: int) -> None:
        if done == 20:
            raise StopError

    with pytest.raises(StopError):
        sweep(plan, torn, progress=stop)
    journal = torn / "_journal"
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 20
    lines[7] = lines[7].replace(b"1", b"2", 1)
    journal.write_bytes(b"".join(lines)[:-30])

    def stop_again(done: int) -> None:
        if done == 25:
            raise StopError

    with pytest.raises(StopError):
        sweep(plan, torn, progress=stop_again)
    assert len(Journal(journal).read()) == 25  # the torn line has spoilt no later line
    assert sweep(plan, torn).made == 36 - 25
    assert content(torn) == content(whole)


def test_runs_that_fail_are_rows(plan_file: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import plait\n\n\nclass Mine(plait.Scheduler):\n"
        "    def decide(self, now, connection, paths):\n"
        "        if now > 1:\n            raise ValueError('tired')\n"
        "        return next((plait.Assign(path.index) for path in paths if path.open), plait.Wait())\n"
    )
    text = plan_file.read_text().replace('"round-robin"', '"mine.py:Mine"').replace("seeds = 3", "seeds = 1")
    plan_file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "plait", "sweep", "plan.toml", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    begin, end = "plait: results/plan: 6 of 12 runs failed (Mine: ", "); column error has each\n"
    assert done.stderr.startswith(begin)
    assert done.stderr.endswith(end)
    assert "ValueError: tired" in done.stderr
    assert done.stderr.count("\n") == 1
    assert json.loads(done.stdout) == {
        "dataset": "results/plan",
        "runs": 12,
        "rows": 12,
        "made": 12,
        "failed": 6,
    }
    frame = read(tmp_path / "results" / "plan").frame
    failed = frame.filter(pl.col("error").is_not_null())
    assert failed["scheduler"].unique().to_list() == ["Mine"]
    assert failed["error"].str.contains("ValueError: tired").all()
    assert failed["goodput_bps"].null_count() == 6
    assert frame.filter(pl.col("error").is_null())["goodput_bps"].null_count() == 0
    # An analysis without anything to compare reports the reason too.
    with pytest.raises(plait.ScenarioError, match=r"Mine failed: .*ValueError: tired"):
        analyze(read(tmp_path / "results" / "plan"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 500 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("mounting a tmpfs needs root")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=500k", "tmpfs", folder], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("no tmpfs can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_loses_nothing(long_plan_file: Path, tmp_path: Path, small_disk: Path) -> None:
    long_plan_file.write_text(PLAN.replace("POINTS", "60"))
    sweep(long_plan_file, tmp_path / "whole", rows_per_part=PART)
    out = small_disk / "out"
    filler = small_disk / "filler"
    filler.write_bytes(bytes(400_000))
    with pytest.raises(OutputError, match="No space left on device") as raised:
        sweep(long_plan_file, out, rows_per_part=PART)
    assert "\n" not in str(raised.value)
    kept = rows_in(out)
    assert kept > 0
    filler.unlink()
    outcome = sweep(long_plan_file, out, rows_per_part=PART)
    assert outcome.made <= 360 - kept + PART
    assert content(out) == content(tmp_path / "whole")


def test_an_unwritable_folder_is_one_line(plan_file: Path, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(OutputError, match="out: cannot write there: Read-only file system"):
        sweep(plan_file, small_disk / "out")
