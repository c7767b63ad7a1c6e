import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from conftest import SCENARIO, Command
from rich.console import Console

import plait
from plait.cli import COMMANDS, cli
from plait.cli.output import run_tables
from plait.cli.reproduce import _comparison, _headline
from plait.papers import Reproduction
from plait.results.summary import metric_rows
from plait.support.tables import table

EDITS = {
    "unknown-key": ("[transport]", "[transport]\nspeed = 3", ["speed", "receive_buffer"]),
    "unknown-table": ("[workload]", "[worklaod]", ["worklaod", "workload"]),
    "unit": ('rate = "2Mbit"', 'rate = "2Mbps"', ["rate", "2Mbps"]),
    "no-unit": ('rtt = "20ms"', "rtt = 20", ["rtt", "20"]),
    "negative": ('rate = "2Mbit"', 'rate = "-2Mbit"', ["rate", "-2Mbit"]),
    "absurd": ('receive_buffer = "60kB"', 'receive_buffer = "99999999999999999999GB"', ["receive_buffer"]),
    "scheduler": ('scheduler = "round-robin"', 'scheduler = "fastest"', ["scheduler", "fastest", "daps"]),
    "workload": ('kind = "bulk"', 'kind = "burst"', ["kind", "burst", "bulk"]),
    "loss": ('loss = "0.5%"', 'loss = "150%"', ["loss", "150%"]),
    "toml": ("[transport]", "[transport", ["two.toml"]),
    "duration": ('duration = "3s"', 'duration = "0s"', ["duration"]),
    "name-twice": ('name = "slow"', 'name = "fast"', ["name", "fast"]),
    "trace": ('rate = "2Mbit"', 'rate = "2Mbit"\ntrace = "none.trace"', ["trace", "none.trace"]),
}


def one_line(done: "subprocess.CompletedProcess[str]", *words: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_a_bad_scenario_is_one_line(
    edit: tuple[str, str, list[str]], command: Command, scenario_file: Path
) -> None:
    old, new, words = edit
    assert old in SCENARIO
    scenario_file.write_text(SCENARIO.replace(old, new, 1))
    one_line(command("run", "two.toml"), "two.toml", *words)


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff\xfe", b"path = []", b"path = 3", b"[[path]]", b"a" * 100_000]
)
def test_rubbish_is_one_line(content: bytes, command: Command, scenario_file: Path) -> None:
    scenario_file.write_bytes(content)
    one_line(command("run", "two.toml"), "two.toml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["run", "compare"]),
        (["fly"], ["fly", "run"]),
        (["run"], ["FILE"]),
        (["run", "none.toml"], ["none.toml"]),
        (["run", "."], []),
        (["run", "two.toml", "--fast"], ["--fast"]),
        (["run", "two.toml", "--seed", "x"], ["--seed", "x"]),
        (["run", "two.toml", "--seed", "-1"], ["--seed", "-1"]),
        (["run", "two.toml", "--seed", "9" * 30], ["--seed", "9" * 30]),
        (["run", "two.toml", "--series", "soon", "--out", "x"], ["--series", "soon"]),
        (["run", "two.toml", "--series", "1ns", "--out", "x"], ["series", "3000 ns", "1ns"]),
        (
            ["model", "blocking", "--path", "1Mbit/1ms", "--path", "2Mbit/1ms", "--packet", "big"],
            ["--packet"],
        ),
        (["run", "two.toml", "--engine", "ns2"], ["--engine", "ns2", "sim"]),
        (["run", "two.toml", "--scheduler", "fastest"], ["fastest", "round-robin", "daps"]),
        (["run", "two.toml", "--scheduler", "round-robin:parts=2"], ["parts", "segments"]),
        (["run", "two.toml", "--scheduler", "round-robin:segments"], ["segments"]),
        (["run", "two.toml", "--scheduler", "mine.py:Mine"], ["mine.py"]),
        (["run", "two.toml", "--out", "/proc/none"], ["/proc/none"]),
        (["run", "two.toml", "--out", "two.toml"], ["two.toml"]),
        (["run", "two.toml", "--series", "0ms", "--out", "x"], ["--series"]),
        (["compare", "two.toml", "--schedulers", "daps,,"], ["--schedulers", "daps"]),
        (["compare", "two.toml", "--schedulers", "daps,fastest"], ["fastest", "round-robin"]),
        (["explain", "two.toml"], ["--at"]),
        (["explain", "none.toml", "--at", "1s"], ["none.toml"]),
        (["explain", "two.toml", "--at", "soon"], ["--at", "soon"]),
        (["explain", "two.toml", "--at", "3s"], ["--at 3 s", "ends at 3 s"]),
        (["explain", "two.toml", "--at", "1s", "--until", "0.5s"], ["--until 0.5 s", "--at 1 s"]),
        (["explain", "two.toml", "--at", "1s", "--until", "9s"], ["--until 9 s", "3 s"]),
        (["explain", "two.toml", "--at", "1s", "--until", "2s", "--count", "2"], ["--until", "--count"]),
        (["explain", "two.toml", "--at", "1s", "--count", "0"], ["--count"]),
        (["explain", "two.toml", "--at", "1s", "--path", "middle"], ["middle", "fast, slow"]),
        (["explain", "two.toml", "--at", "1s", "--scheduler", "fastest"], ["fastest", "daps"]),
        (["reproduce"], ["daps-icc14"]),
        (["reproduce", "blest"], ["blest", "daps-icc14"]),
        (["model"], ["blocking"]),
        (["model", "blocking"], ["--path"]),
        (["model", "blocking", "--path", "1Mbit/1ms"], ["2"]),
        (["model", "blocking", "--path", "1Mbit/1ms", "--path", "1Mbps/1ms"], ["1Mbps"]),
        (["model", "buffer", "--path", "fast"], ["fast", "RATE/RTT"]),
    ],
)
@pytest.mark.usefixtures("scenario_file")
def test_a_bad_command_line_is_one_line(arguments: list[str], words: list[str], command: Command) -> None:
    one_line(command(*arguments), *words)


@pytest.mark.usefixtures("scenario_file")
def test_json_is_one_document_and_nothing_else(command: Command) -> None:
    done = command("run", "two.toml", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["engine"] == "sim"
    assert document["scheduler"] == "round-robin"
    assert {"goodput_bps", "app_delay_ms", "blocking_ms", "aggregation_benefit"} <= document["metrics"].keys()
    assert [path["name"] for path in document["paths"]] == ["fast", "slow"]
    several = command(
        "run", "two.toml", "two.toml", "--scheduler", "daps", "--scheduler", "lowest-rtt", "--json"
    )
    assert [run["scheduler"] for run in json.loads(several.stdout)] == ["daps", "lowest-rtt"] * 2
    compared = command("compare", "two.toml", "--schedulers", "daps", "--json")
    assert isinstance(json.loads(compared.stdout), list)
    for arguments in (["schedulers"], ["reproduce", "--list"], ["model", "buffer", "--path", "1Mbit/1ms"]):
        json.loads(command(*arguments, "--json").stdout)


@pytest.mark.usefixtures("scenario_file")
def test_tables_for_people(command: Command) -> None:
    done = command("compare", "two.toml", "--schedulers", "all")
    assert done.returncode == 0
    for word in ("goodput", "round-robin", "lowest-rtt", "daps", "daps-rounds", "slow"):
        assert word in done.stdout
    assert "\x1b" not in done.stdout
    assert "42" not in command("--version").stderr
    assert command("model", "buffer", "--path", "10Mbit/20ms", "--path", "1Mbit/200ms").stdout == "275 kB\n"


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_digit_of_a_comparison_is_cut_off(width: int, scenario_file: Path) -> None:
    """A terminal of any width shows every name and every number of twelve runs."""
    results = [
        plait.run(scenario_file, name) for name in ("intelligent-delivery-delay", "lowest-rtt", "daps") * 4
    ]
    for runs in (results[:1], results[:3], results):
        tables = run_tables(runs, width)
        terminal = Console(width=width, record=True, file=io.StringIO())
        for title, content in tables:
            terminal.print(table(content, width, title=title))
        text = terminal.export_text()
        assert "…" not in text
        assert max(map(len, text.splitlines())) <= width
        words = text.replace("│", " ").split()
        for row in metric_rows(runs):
            for cell in set(row.cells):
                assert words.count(cell) >= row.cells.count(cell), (row.heading, cell)
        for name in {run.scheduler for run in runs}:
            assert name in words


@pytest.mark.usefixtures("scenario_file")
def test_out_holds_json_tables_and_figures(command: Command, tmp_path: Path) -> None:
    done = command("run", "two.toml", "--out", "results", "--decisions", "--scheduler", "daps")
    assert done.returncode == 0, done.stderr
    assert "results" in done.stderr
    (folder,) = (one for one in (tmp_path / "results").iterdir() if one.is_dir())
    names = {file.name for file in folder.iterdir()}
    tables = {"packets", "path_series", "connection_series", "decisions", "decision_paths"}
    assert {"result.json", "space-time.png", *(f"{table}.parquet" for table in tables)} <= names
    assert not [name for name in names if name.startswith(".")]
    json.loads((folder / "result.json").read_text())


FIRST = """
import plait


class First(plait.Scheduler):
    def decide(self, now, connection, paths):
        return plait.Assign(0) if paths[0].open else plait.Wait()
"""


@pytest.mark.usefixtures("scenario_file")
def test_a_path_that_carried_nothing_is_named_in_one_line(command: Command, tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text(FIRST)
    both = ("compare", "two.toml", "--schedulers", "round-robin,first.py:First")
    for arguments in (both, (*both, "--seeds", "2"), ("run", "two.toml", "--scheduler", "first.py:First")):
        lines = command(*arguments).stdout.splitlines()
        said = "no data packet after the warm-up on slow with First"
        assert [one for one in lines if "no data packet" in one] == [said]
    assert "no data packet" not in command("run", "two.toml", "--scheduler", "round-robin").stdout


def test_tables_say_that_rates_count_the_time_after_a_workloads_stop(scenario_file: Path) -> None:
    text = scenario_file.read_text()
    more = 'kind = "cbr"\nrate = "500kbit"\nblock = "10kB"\nstop = "{}"'
    commands = (
        ["run", str(scenario_file)],
        ["compare", str(scenario_file), "--schedulers", "round-robin", "--seeds", "2"],
        ["compare", str(scenario_file), "--schedulers", "round-robin", "--metric", "goodput"],
    )
    for workload, stops in ((more.format("1500ms"), True), (more.format("9s"), False), ("", False)):
        scenario_file.write_text(text.replace('kind = "bulk"', workload) if workload else text)
        for arguments in commands:
            lines = CliRunner().invoke(cli, arguments).stdout.splitlines()
            said = [one for one in lines if one.startswith("rates count")]
            words = "rates count all 2.5 s after the warm-up; the workload stops at 1500ms"
            assert said == [words] * stops, arguments
    delays = [*commands[2][:-1], "app_delay_ms.mean"]
    scenario_file.write_text(text.replace('kind = "bulk"', more.format("1500ms")))
    assert "rates count" not in CliRunner().invoke(cli, delays).stdout


@pytest.mark.usefixtures("scenario_file")
def test_a_scheduler_from_a_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import plait\n\n"
        "class FirstOpen(plait.Scheduler):\n"
        "    def decide(self, now, connection, paths):\n"
        "        ready = [path.index for path in paths if path.open]\n"
        "        return plait.Assign(ready[0]) if ready else plait.Wait()\n"
    )
    done = command("compare", "two.toml", "--schedulers", "daps,mine.py:FirstOpen", "--json")
    assert [run["scheduler"] for run in json.loads(done.stdout)] == ["daps", "FirstOpen"]
    one_line(command("run", "two.toml", "--scheduler", "mine.py:Other"), "FirstOpen")
    (tmp_path / "mine.py").write_text("import nothing_of_that_name\n")
    one_line(command("run", "two.toml", "--scheduler", "mine.py:FirstOpen"), "nothing_of_that_name")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return 3 / 0", ["division by zero", "mine.py, line 5"]),
        ("return None", ["None", "plait.Assign"]),
        ("raise ValueError('two\\nlines')", ["two lines"]),
        ("return plait.Assign(9)", ["path 9"]),
        ("return plait.Assign(-1)", []),
        ("return plait.Recall(0)", ["recall"]),
        ("raise SystemExit(0)", ["SystemExit"]),
    ],
)
def test_a_failed_run_is_status_one(
    body: str, words: list[str], command: Command, scenario_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(
        "import plait\n\n"
        "class Mine(plait.Scheduler):\n"
        "    def decide(self, now, connection, paths):\n"
        f"        {body}\n"
    )
    done = command("run", str(scenario_file), "--scheduler", "mine.py:Mine")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "import plait\nclass Mine(plait.Scheduler:\n",
        "class Mine: pass\n",
        "raise SystemExit(0)\n",
        "import plait\nclass Mine(plait.Scheduler):\n    def __init__(self, much):\n        pass\n",
    ],
)
def test_a_scheduler_that_cannot_be_made_is_bad_input(
    text: str, command: Command, scenario_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(text)
    one_line(command("run", str(scenario_file), "--scheduler", "mine.py:Mine"), "Mine")


def processor_seconds(process: int) -> float:
    """Returns the processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_interrupting_stops_and_leaves_nothing(scenario_file: Path, tmp_path: Path) -> None:
    """Interrupts a run of hours.

    plait-sim/tests/it/interrupt.rs counts the events until a run stops.
    """
    scenario_file.write_text(SCENARIO.replace('"3s"', '"100000s"').replace("Mbit", "00Mbit"))
    process = subprocess.Popen(
        [sys.executable, "-m", "plait", "run", str(scenario_file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    # The imports take about a second of the processor, so the run has begun after three.
    while process.poll() is None and processor_seconds(process.pid) < 3.0:
        time.sleep(0.1)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "plait: interrupted\n")
    assert [file.name for file in tmp_path.iterdir()] == ["two.toml"]


PLAN = """
scenario = "two.toml"
schedulers = ["round-robin", "daps"]
seeds = 2
set = { "path.slow.rtt" = "{rtt}ms" }
axis = [{ rtt = [50, 80] }]
"""


def test_each_command_runs_in_a_process_of_its_own(
    process: Command, scenario_file: Path, tmp_path: Path
) -> None:
    """Finds missing imports.

    Other tests share a process, so an earlier test may have done the import.
    """
    (tmp_path / "plan.toml").write_text(PLAN)
    for line in (
        "run two.toml --out run",
        "compare two.toml --schedulers round-robin,daps",
        "explain two.toml --at 1s",
        "sweep plan.toml",
        "analyze results/plan --metric goodput_bps",
        "plot results/plan --x rtt --metric goodput -o figure.pdf",
        "report results/plan -o report.html",
        "reproduce --list",
        "schedulers",
        "keys",
    ):
        done = process(*line.split())
        assert done.returncode == 0, (line, done.stderr)


def test_reproduce_by_json(command: Command, tmp_path: Path) -> None:
    done = command("reproduce", "daps-slides", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["paper"] == "daps-slides"
    keys = {"id", "scenario", "scheduler", "metric", "paper", "measured", "tolerance", "agrees", "note"}
    assert all(keys <= row.keys() for row in document["rows"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_tables_of_a_paper_fit_the_terminal(width: int, reproduced: Callable[[str], Reproduction]) -> None:
    printed = io.StringIO()
    terminal = Console(width=width, file=printed)
    done = reproduced("daps-slides")
    terminal.print(_comparison(done, width))
    terminal.print(_headline(done.headline(), width))
    assert max(len(line) for line in printed.getvalue().splitlines()) <= width
    assert "daps-rounds as printed" in printed.getvalue()
    assert "application delay" in " ".join(printed.getvalue().split())
    assert "applic…" not in printed.getvalue()


def test_reproduce_writes_one_self_contained_page(command: Command, tmp_path: Path) -> None:
    done = command("reproduce", "daps-slides")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "results" / "daps-slides" / "index.html").read_text()
    assert page.count("data:image/png;base64,") == len(list(tmp_path.rglob("*.png")))
    assert "http" not in page.replace('http-equiv="', "")


def test_the_list_of_commands_says_what_their_own_help_says() -> None:
    context = click.Context(cli)
    for name, place in COMMANDS.items():
        found = cli.get_command(context, name)
        assert found is not None
        assert (found.name, found.get_short_help_str(1000)) == (name, place.summary)
