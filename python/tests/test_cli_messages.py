"""Messages for input errors: suggested words and amounts, and options without effect alone."""

import subprocess
from pathlib import Path

import pytest
from conftest import SCENARIO, Command

from plait import ScenarioError
from plait.advice import parse_path
from plait.scenarios.template import fill
from plait.support.words import expected, nearest


def refused(done: "subprocess.CompletedProcess[str]", end: str) -> None:
    """Asserts that standard error is one line that ends in these words."""
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.rstrip("\n").endswith(end), done.stderr


@pytest.mark.parametrize(
    ("old", "new", "end"),
    [
        ('"2Mbit"', '"50Mbps"', "write 50Mbit"),
        ('"2Mbit"', '"50M"', "write 50Mbit"),
        ('"2Mbit"', '"50/10Mbit"', "write 50Mbit, and 10Mbit as the rate of the other direction"),
        ('"20ms"', '"20 ms"', "write 20ms"),
        ('"0.5%"', '"0.5"', "write 0.5%, or 50% for that part of the whole"),
        ('"0.5%"', '"2"', "write 2%"),
        ('"round-robin"', '"lowest_rt"', "(did you mean lowest-rtt?)"),
    ],
)
def test_a_scenario_in_another_notation(
    old: str, new: str, end: str, command: Command, scenario_file: Path
) -> None:
    assert old in SCENARIO
    scenario_file.write_text(SCENARIO.replace(old, new, 1))
    refused(command("run", "two.toml"), end)


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        (["rnu"], "linux, usrsctp, validate, completion"),
        (["run", "two.toml", "--sede", "3"], "no such option: --sede (did you mean --seed?)"),
        (
            ["run", "two.toml", "--seeds", "3"],
            "no such option: --seeds (did you mean --seed?); plait compare has it",
        ),
        (
            ["linux", "run", "two.toml", "--schedulers", "daps"],
            "(did you mean --scheduler?); plait compare, plait advise, plait play have it",
        ),
        (["run", "two.toml", "--cluster", "x"], "no such option: --cluster; plait sweep has it"),
        (["run", "two.toml", "--decisions"], "--decisions needs --out"),
        (["run", "two.toml", "--series", "10ms"], "--series needs --out"),
        (["compare", "two.toml", "--schedulers", "daps", "--decisions"], "--decisions needs --out"),
        (
            ["run", "two.toml", "--qlog", "out.json"],
            "expected a file that ends in .sqlog or .qlog, or a folder",
        ),
        (["reproduce", "--list", "dqs"], "expected no PAPER, got 'dqs'"),
        (["reproduce", "--list", "--all-rows"], "--list and --all-rows exclude each other"),
        (["reproduce", "dqs", "--json", "--all-rows"], "--json and --all-rows exclude each other"),
        (["validate", "linux", "--list", "--out", "x"], "--list and --out exclude each other"),
        (["validate", "linux", "--scenarios", "x", "--json"], "--scenarios and --json exclude each other"),
        (
            ["sweep", "plan.toml", "--cluster", "x", "--threads", "2"],
            "--cluster and --threads exclude each other",
        ),
    ],
)
@pytest.mark.usefixtures("scenario_file")
def test_what_would_do_nothing_is_refused(
    arguments: list[str], end: str, command: Command, tmp_path: Path
) -> None:
    refused(command(*arguments), end)
    assert [file.name for file in tmp_path.iterdir()] == ["two.toml"]


@pytest.mark.usefixtures("scenario_file")
def test_a_report_is_no_folder(command: Command, tmp_path: Path) -> None:
    assert command("run", "two.toml", "--out", "results").returncode == 0
    (tmp_path / "page.html").mkdir()
    refused(command("report", "results", "-o", "page.html"), "is a folder; expected a file's name")


def test_the_command_that_was_meant(command: Command) -> None:
    assert "'rnu' (did you mean run?); expected one of: run, compare" in command("rnu").stderr
    assert "(did you mean build?)" in command("linux", "biuld").stderr


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("vdsl 50Mbps 15ms", "'50Mbps': write 50Mbit"),
        ("vdsl 50/10Mbit 15ms", "'50/10Mbit': write 50Mbit back=10Mbit"),
        ("vdsl 50Mbit 15msec", "'15msec': write 15ms"),
        ("vdsl 50Mbit 15ms lost=1%", "'lost': unknown (did you mean loss?); expected one of: "),
        ("vdsl 50Mbit 15ms loss=0.5", "write 0.5%, or 50% for that part of the whole"),
    ],
)
def test_a_path_in_another_notation(text: str, end: str) -> None:
    with pytest.raises(ScenarioError) as error:
        parse_path(text)
    assert end in str(error.value)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "{20 +}ms",
            "template {20 +}: expected a formula of numbers, variables, + - * /, ceil, max, min, round",
        ),
        ("{n}ms", "template {n}: variable 'n': unknown; there are none"),
        ("{a / 2}ms", "template {a / 2}: calculates with a variable that is no number"),
    ],
)
def test_a_template_that_is_no_formula(template: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        fill(template, {"a": "slow"} if "a" in template else {})
    assert str(error.value) == message


def test_the_word_that_was_meant() -> None:
    known = ["goodput_bps", "app_delay_ms.mean", "app_delay_ms.p95", "srtt_ms"]
    assert nearest("goodput", known) == "goodput_bps"
    assert nearest("Goodput-bps", known) == "goodput_bps"
    assert nearest("app_delay", known) == "app_delay_ms.p95"
    assert nearest("xyzzy", known) is None
    assert expected("strt_ms", ["srtt_ms"]) == " (did you mean srtt_ms?); expected one of: srtt_ms"
    assert expected("xyzzy", []) == "; there are none"
