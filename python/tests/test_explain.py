"""`plait explain`: its decisions equal the decisions of the whole run, in readable text."""

import io
import json
import re
import struct
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Command
from rich.console import Console

import plait
from plait.cli.explain import _print
from plait.results import qlog
from plait.results.reasons import named
from plait.results.recorded import read_result
from plait.runs.decisions import Question, look_up

BACKUP = """
name = "a backup"
duration = "20s"
scheduler = "lowest-rtt"

[transport]
protocol = "cmt-sctp"
potentially_failed = true
path_max_retransmissions = 1

[[path]]
name = "wifi"
rate = "10Mbit"
rtt = "20ms"
queue = "50p"
outages = [{ from = "5s", to = "19s" }]

[[path]]
name = "lte"
rate = "5Mbit"
rtt = "70ms"
queue = "50p"
backup = true
"""
FILE = """
name = "a file"
duration = "30s"
warmup = "1s"

[transport]
protocol = "cmt-sctp"

[workload]
kind = "file"
size = "200kB"

[[path]]
name = "one"
rate = "10Mbit"
rtt = "20ms"
queue = "50p"
"""


@pytest.fixture
def backup_file(tmp_path: Path) -> Path:
    file = tmp_path / "backup.toml"
    file.write_text(BACKUP)
    return file


def explained(command: Command, *arguments: str) -> Any:
    done = command("explain", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def printed(document: Any, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    output = io.StringIO()
    # `plait.cli.explain` as an attribute is the command, so the module comes from sys.modules.
    module = sys.modules["plait.cli.explain"]
    monkeypatch.setattr(module, "console", lambda: Console(width=width, file=output))
    _print(document)
    return output.getvalue().splitlines()


@pytest.mark.parametrize("scheduler", ["round-robin", "daps", "daps-rounds"])
def test_the_decisions_are_those_of_the_whole_run(scheduler: str, scenario: plait.Scenario) -> None:
    whole = plait.run(scenario, scheduler, seed=5, decisions=True)
    for at in (0, 300_000_000, 1_200_000_000, 2_900_000_000):
        answer = look_up(scenario, Question(at=at, count=3), scheduler=scheduler, seed=5)
        row = whole.decisions["time_ns"].search_sorted(at)
        assert answer.result.decisions[answer.rows].equals(whole.decisions[row : row + 3])
        document = answer.document()
        paths = [facts for decision in document["decisions"] for facts in decision["paths"]]
        facts = whole.decision_paths[2 * row : 2 * (row + 3)]
        for key in (
            "verdict",
            "state",
            "srtt_ns",
            "cwnd",
            "limit",
            "in_flight",
            "queued",
            "cwnd_left",
            "rto_ns",
        ):
            assert [path[key] for path in paths] == facts[key].to_list(), key
        previous = whole.decisions["time_ns"][row - 1] if row else None
        assert document["previous_ns"] == previous
        assert document["next_ns"] == whole.decisions["time_ns"][row + 3]


@pytest.mark.usefixtures("scenario_file")
def test_json_has_names_and_nulls(command: Command) -> None:
    document = explained(command, "two.toml", "--at", "1.2s", "--seed", "3", "--scheduler", "lowest-rtt")
    assert (document["scenario"], document["scheduler"], document["seed"]) == ("two paths", "lowest-rtt", 3)
    (decision,) = document["decisions"]
    assert document["previous_ns"] < 1_200_000_000 <= decision["time_ns"] <= document["next_ns"]
    assert [path["path"] for path in decision["paths"]] == ["fast", "slow"]
    assert decision["unassigned"] is None
    assert decision["oldest_unacked_path"] in ("fast", "slow")
    kinds = {one["name"]: one["kind"] for one in plait.verdicts()}
    assert all(path["kind"] == kinds[path["verdict"]] for path in decision["paths"])


@pytest.mark.usefixtures("scenario_file")
def test_until_and_path_choose_decisions(command: Command) -> None:
    span = explained(command, "two.toml", "--at", "1s", "--until", "1.1s")
    times = [decision["time_ns"] for decision in span["decisions"]]
    assert len(times) > 5
    assert times == sorted(times)
    assert times[0] >= 1_000_000_000
    assert times[-1] <= 1_100_000_000 < span["next_ns"]
    on_slow = explained(command, "two.toml", "--at", "1s", "--until", "1.1s", "--path", "slow")
    assert on_slow["decisions"] == [one for one in span["decisions"] if one["path"] == "slow"]
    two = explained(command, "two.toml", "--at", "1s", "--path", "slow", "--count", "2")
    assert two["decisions"] == on_slow["decisions"][:2]


@pytest.mark.usefixtures("backup_file")
def test_a_backup_and_a_suspected_path_are_said_to_be_unavailable(command: Command) -> None:
    before = command("explain", "backup.toml", "--at", "4s")
    assert before.returncode == 0, before.stderr
    lines = " ".join(before.stdout.split())
    assert "a backup, lowest-rtt, seed 1" in lines
    assert "definitely unavailable: backup" in lines
    assert "segments: unassigned endless" in lines
    assert "decision before: 3.9" in lines
    outage = " ".join(command("explain", "backup.toml", "--at", "7s", "--path", "lte").stdout.split())
    assert "potentially-failed" in outage
    assert "definitely unavailable: potentially failed" in outage
    assert "to lte" in outage
    verdicts = {
        path["verdict"]
        for decision in explained(command, "backup.toml", "--at", "16s", "--count", "50")["decisions"]
        for path in decision["paths"]
    }
    assert verdicts == {"failed", "chosen", "congestion-window"}


class Patient(plait.Scheduler):
    """Waits with a reason that names a path."""

    def decide(
        self, now: float, _connection: plait.Connection, paths: list[plait.PathFacts]
    ) -> plait.Assign | plait.Wait:
        if now < 1:
            return plait.Wait(until=1, reason="{1} is not needed before 1 s")
        return plait.Assign(0) if paths[0].open else plait.Wait()


@pytest.mark.parametrize(
    ("scheduler", "words"),
    [
        ("blest", r"f is wifi, s is lte; λ X = [\d.]+ · [\d.]+ = [\d.]+ [≤>] M − 1 − x_s = "),
        ("ecf", r"f is wifi, s is lte; n r_f = (inf|[\d.]+) ms [<≥] "),
        ("daps", r"f is wifi; η = ⌊r_s/r_f⌋ = \d+ for lte; plan: \d+ on "),
    ],
)
def test_the_quantities_of_a_rule_are_the_reason(
    command: Command, tmp_path: Path, scheduler: str, words: str
) -> None:
    (tmp_path / "two.toml").write_text(BACKUP.replace("backup = true", ""))
    done = explained(command, "two.toml", "--scheduler", scheduler, "--at", "2s", "--count", "200")
    reasons = [one["reason"] for one in done["decisions"] if one["reason"] is not None]
    assert reasons
    assert any(re.match(words, reason) for reason in reasons), reasons
    text = command("explain", "two.toml", "--scheduler", scheduler, "--at", "2s", "--count", "200")
    assert "reason: f is wifi" in text.stdout


def test_a_scheduler_of_ones_own_says_why_it_waits(
    backup_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = look_up(plait.load(backup_file), Question(at=0), scheduler=Patient)
    document = answer.document()
    assert document["decisions"][0]["reason"] == "lte is not needed before 1 s"
    assert "reason: lte is not needed before 1 s" in printed(document, 80, monkeypatch)
    assert answer.result.decisions["reason"][0] == "{1} is not needed before 1 s"
    assert answer.result.decisions["reason"][-1] is None
    assert plait.Wait().reason is None
    assert repr(plait.Wait(2, reason="late")) == 'Wait(until=2, reason="late")'


class Nearest(plait.Scheduler):
    """Gives a reason with each segment."""

    def decide(
        self, _now: float, _connection: plait.Connection, paths: list[plait.PathFacts]
    ) -> plait.Assign | plait.Wait:
        if not paths[1].open:
            return plait.Wait()
        return plait.Assign(1, reason="{1} is always the choice")


def test_every_decision_can_give_its_reason_and_no_other_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "two.toml").write_text(BACKUP.replace("backup = true", ""))
    answer = look_up(plait.load(tmp_path / "two.toml"), Question(at=1_000_000_000), scheduler=Nearest)
    (decision,) = answer.document()["decisions"]
    assert (decision["decision"], decision["path"]) == ("assign", "lte")
    assert decision["reason"] == "lte is always the choice"
    lines = printed(answer.document(), 110, monkeypatch)
    assert "reason: lte is always the choice" in lines
    (other,) = [line for line in lines if line.startswith("wifi")]
    assert other.endswith("  passed over")


@pytest.mark.parametrize(
    "decision",
    [
        'Assign(path=0, segments=2, reason="late")',
        'Reinject(path=0, segment=7, reason="late")',
        'Recall(path=0, reason="late")',
        'Limit(path=0, in_flight=3, reason="late")',
        'Penalize(path=0, reason="late")',
        'Defer(reason="late")',
        'Wait(reason="late")',
    ],
)
def test_a_reason_is_part_of_a_decision(decision: str) -> None:
    made = eval(decision, vars(plait))
    assert made.reason == "late"
    assert repr(made) == decision
    kind = decision.partition("(")[0]
    with pytest.raises(ValueError, match=rf"^plait\.{kind}: reason: expected one line of text"):
        eval(decision.replace("late", r"late\n"), vars(plait))
    if kind not in ("Defer", "Wait"):
        assert "reason" not in repr(eval(decision.replace(', reason="late"', ""), vars(plait)))


@pytest.mark.parametrize(
    ("reason", "wrong"),
    [
        ("late\nsoon", ValueError),
        ("\x1b[31m", ValueError),
        ("\u2028", ValueError),
        ("\ud800", ValueError),
        (b"late", TypeError),
    ],
)
def test_a_reason_is_one_line_of_text(reason: Any, wrong: type[Exception]) -> None:
    with pytest.raises(wrong, match=r"^plait.Wait: reason: expected one line of text, got ") as error:
        plait.Wait(reason=reason)
    assert str(error.value).endswith(repr(reason))


def test_names_of_paths_stay_as_they_are_in_a_reason() -> None:
    assert named("{0}, {1}, {2}, {10}, {x}", ["{1}", "lte"]) == "{1}, lte, {2}, {10}, {x}"


def test_results_without_reasons_are_read(command: Command, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(FILE)
    done = command("run", "one.toml", "--out", "old", "--decisions")
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "old").rglob("decisions.parquet")
    pl.read_parquet(file).drop("reason").write_parquet(file)
    (decision,) = explained(command, "old", "--at", "20ms")["decisions"]
    assert decision["reason"] is None
    qlog.write(read_result(file.parent), tmp_path / "old.sqlog")
    assert b'"reason":null' in (tmp_path / "old.sqlog").read_bytes()


@pytest.mark.parametrize("width", [80, 110, 160])
def test_it_fits_the_terminal(width: int, backup_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for question in (Question(at=4_000_000_000, count=5), Question(at=7_000_000_000, count=5)):
        document = look_up(plait.load(backup_file), question).document()
        lines = printed(document, width, monkeypatch)
        assert max(map(len, lines)) <= min(width, 110)
        assert not [line for line in lines if "…" in line]


def test_every_decision_and_verdict_has_words(backup_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = look_up(plait.load(backup_file), Question(at=4_000_000_000)).document()
    (decision,) = document["decisions"]
    said = set()
    for one in plait.verdicts():
        decision["paths"][1] |= {"verdict": one["name"], "kind": one["kind"], "limit": 3}
        (line,) = [line for line in printed(document, 80, monkeypatch) if line.startswith("lte: ")]
        if one["kind"].endswith("unavailable"):
            assert line.startswith(f"lte: {one['kind'].replace('-', ' ')}: ")
        said.add(line)
    assert len(said) == len(plait.verdicts())
    for name in ("assign", "reinject", "recall", "limit", "penalize", "defer", "wait"):
        decision |= {"decision": name, "path": "lte", "segments": 3, "segment": 7, "wait_until_ns": 5}
        decision["paths"][1]["forward_delay_ns"] = -1_500_000
        text = "\n".join(printed(document, 160, monkeypatch))
        assert name in text
        assert "-1.50" in text


def test_a_run_that_is_over_says_when(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file.toml").write_text(FILE)
    document = explained(command, "file.toml", "--at", "0s", "--until", "29s")
    last = document["decisions"][-1]
    assert document["previous_ns"] is None
    assert document["next_ns"] is None
    assert document["decisions"][0]["unassigned"] == 138
    done = command("explain", "file.toml", "--at", "20s")
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"the last one is at {last['time_ns'] / 1e9:.3f}" in done.stderr
    assert done.stderr.count("\n") == 1
    between = (last["time_ns"] + 1) // 1000 + 1
    done = command("explain", "file.toml", "--at", f"{between}us", "--until", "3s", "--path", "one")
    assert done.returncode == 2
    assert "--at 0." in done.stderr
    assert "no decision names one" in done.stderr


def test_between_two_decisions_the_next_is_named(backup_file: Path) -> None:
    scenario = plait.load(backup_file)
    document = look_up(scenario, Question(at=4_000_000_000)).document()
    nothing = Question(at=document["previous_ns"] + 1, until=document["decisions"][0]["time_ns"] - 1)
    with pytest.raises(plait.ScenarioError, match=r"the next one is at 4\.0"):
        look_up(scenario, nothing)


def test_a_scheduler_of_ones_own(command: Command, scenario_file: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import plait\n\n"
        "class Late(plait.Scheduler):\n"
        "    def decide(self, now, connection, paths):\n"
        "        if now < 1.0 or not paths[1].open:\n"
        "            return plait.Wait(max(1.0, now + 0.5))\n"
        "        return plait.Assign(1)\n"
    )
    arguments = ("explain", str(scenario_file), "--scheduler", "mine.py:Late", "--at")
    waiting = command(*arguments, "0s").stdout
    assert "wait, until 1.000000 s at most" in waiting
    assert waiting.count("passed over") == 3  # both paths, and the explanation of the words
    assert "assign segment 0 to slow" in command(*arguments, "0.5s").stdout


def _record(time_ns: int, token: int, windows: list[tuple[int, int]], kind: int, path: int) -> bytes:
    """Return a record of linux/schedulers/log.c; a path has a window and packets in flight."""
    decision = struct.pack("<QBB6x", 1, kind, path)
    connection = struct.pack("<6QIBBBx", 9, 4, 50, 60, 1 << 63, 3, 1, 0, 1, 0)
    record = struct.pack("<qHHI", time_ns, len(windows), 1, token) + decision + connection
    for number, (cwnd, in_flight) in enumerate(windows):
        amounts = (1448, cwnd, 2**32 - 1, in_flight, 0, 2**32 - 1, 0, 0, 1)
        times = (20_000_000, 1, 1, 1, -(1 << 63), 200_000_000, 0, 1, -(1 << 63))
        record += struct.pack("<4B9I4Qq3Qq", number, 0, 0, 0, *amounts, *times)
    return record


def test_the_log_of_a_kernel(command: Command, tmp_path: Path) -> None:
    """Two connections; the second path of one joins after its first decision."""
    second, start = 1_000_000_000, 1_700_000_000_000_000_000
    file = tmp_path / "decisions.bin"
    file.write_bytes(
        _record(start, 0xAB, [(10, 0)], 1, 0)
        + _record(start + second, 0xCD, [(10, 0)], 1, 0)
        + _record(start + 2 * second, 0xAB, [(10, 10), (5, 0)], 1, 1)
    )
    done = command("explain", str(file), "--at", "0s")
    assert (done.returncode, done.stderr) == (
        2,
        f"plait: {file}: --token is missing; expected one of: ab, cd\n",
    )
    done = command("explain", str(file), "--at", "1ms", "--token", "ab", "--json")
    (decision,) = json.loads(done.stdout)["decisions"]
    assert (decision["time_ns"], decision["decision"], decision["path"]) == (2 * second, "assign", "path 2")
    assert [path["verdict"] for path in decision["paths"]] == ["congestion-window", "chosen"]
    done = command("explain", str(file), "--at", "0s", "--token", "ab")
    assert done.stdout.splitlines()[0] == "decisions.bin"
    assert "path 2" not in done.stdout
    file.write_bytes(b"something else")
    done = command("explain", str(file), "--at", "0s")
    assert done.stderr == f"plait: {file}: record 1: the file ends in the middle of it\n"
