"""Recordings of transfers on loopback: results, replays, and links from acknowledgements.

The tests of links run in virtual time.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Command

import plait
from plait.recordings import RECORDING
from plait.recordings.links import measured
from plait.recordings.replay import differences, replay
from plait.results import qlog
from plait.results.recorded import read_origins, read_results
from plait.results.result import Result
from plait.scenarios.scenario import from_table
from plait.support.files import OutputError
from plait.support.machine import command_line
from plait.validate.replays import known_to_sender

LOCALS = ["127.0.0.2", "127.0.0.3"]
SIZE = 2_000_000
SEGMENT, PACKET = 1153, 1220
"""Payload of a full packet of a transfer, and size of the simulated packet, in bytes."""
RECORDS = 4 * SEGMENT
"""Upper bound on the bytes of records about one file."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records a transfer over two addresses of the loopback interface."""
    place = tmp_path_factory.mktemp("recorded")
    file = place / "a file.bin"
    file.write_bytes(bytes(SIZE))
    with plait.receive(place / "inbox", listen="127.0.0.1:0") as receiver:
        plait.send(
            file,
            receiver.address,
            fingerprint=receiver.fingerprint,
            secret=receiver.secret,
            local=LOCALS,
            scheduler="round-robin:segments=3",
            record=place / "run",
        )
    return place / "run"


def one(folder: Path) -> Result:
    (result,) = read_results(folder)
    return result


def test_a_recording_is_a_folder_of_results(folder: Path) -> None:
    result = one(folder)
    assert (result.data["engine"], result.scenario) == ("sockets", "a file.bin")
    assert result.scheduler == "round-robin:segments=3"
    assert result.path_names == LOCALS
    delivered = result.metrics["delivered_bytes"]
    assert SIZE <= delivered < SIZE + RECORDS
    assert result.metrics["aggregation_benefit"] is None
    assert all(path["packets_dropped"] is None for path in result.paths)
    assert result.path_series["link_queue_packets"].null_count() == len(result.path_series)
    packets = result.packets
    assert packets.filter(~pl.col("retransmission"))["bytes"].sum() == delivered
    came = packets.filter(pl.col("arrived_ns").is_not_null())
    assert (came["arrived_ns"] >= came["sent_ns"]).all()
    assert result.decisions.filter(pl.col("decision") == "assign")["segments"].sum() == delivered // SEGMENT
    assert "estimate" in " ".join(result.warnings)
    assert result.data["recording"]["file_bytes"] == SIZE
    assert not (folder / RECORDING).exists(), "it has become this"
    assert read_origins(folder)[0]["folders"] == ["a-file.bin-round-robin-segments=3"]


def test_its_links_are_a_scenario(folder: Path, command: Command, tmp_path: Path) -> None:
    result = one(folder)
    assert result.scenario_json is not None
    scenario = json.loads(result.scenario_json)
    assert [path["name"] for path in scenario["path"]] == LOCALS
    assert (scenario["transport"]["protocol"], scenario["workload"]["kind"]) == ("mpquic", "file")
    place = tmp_path / "links.toml"
    done = command("replay", str(folder), "--scenario", str(place), "--schedulers", "blest", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [run["scheduler"] for run in told["replayed"]] == ["round-robin:segments=3", "blest"]
    assert told["differences"][0]["what"] == "goodput"
    assert told["recorded"]["engine"] == "sockets"
    assert SIZE <= plait.run(place).metrics["delivered_bytes"] < SIZE + RECORDS


def test_it_is_explained_and_reported(folder: Path, command: Command, tmp_path: Path) -> None:
    moment = one(folder).decisions["time_ns"][10] / 1e9
    explained = command("explain", str(folder), "--at", f"{moment:.9f}s", "--json")
    assert explained.returncode == 0, explained.stderr
    (decision,) = json.loads(explained.stdout)["decisions"]
    assert [path["path"] for path in decision["paths"]] == LOCALS
    late = command("explain", str(folder), "--at", "1000000s")
    assert (late.returncode, "the run ends at" in late.stderr) == (2, True)
    other = command("explain", str(folder), "--at", "0s", "--scheduler", "blest")
    assert "no such runs; expected one" in other.stderr
    page = plait.report(folder, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "real paths" in page
    assert "less half of the path" in page
    qlog.write(one(folder), tmp_path / "decisions.sqlog")
    assert (tmp_path / "decisions.sqlog").read_bytes().count(b"\x1e") == one(folder).decisions.height + 1


def test_what_is_printed_of_a_replay(folder: Path, command: Command) -> None:
    done = command("replay", str(folder), "--schedulers", "lowest-rtt")
    assert done.returncode == 0, done.stderr
    assert "happened" in done.stdout
    assert "127.0.0.3: round trip, p95" in done.stdout
    assert "aggregation benefit" in done.stdout, "the schedulers are compared"


@pytest.mark.parametrize("scheduler", ["lowest-rtt", None])
def test_only_recorded_transfers_are_replayed(
    folder: Path, scheduler: str | None, command: Command, tmp_path: Path
) -> None:
    if scheduler is None:
        nothing = command("replay", str(tmp_path))
        assert "no results" in nothing.stderr
        return
    again = replay(one(folder), [scheduler])
    assert [run.scheduler for run in again] == ["round-robin:segments=3", scheduler]
    with pytest.raises(plait.ScenarioError, match="a run of the engine sim; expected a recorded transfer"):
        replay(again[0])


def test_one_that_failed_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    class Fails(plait.Scheduler):
        """Raises an exception after 900 decisions."""

        turn = 0

        def decide(
            self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]
        ) -> plait.Assign | plait.Wait:
            """See `Scheduler.decide`."""
            self.turn += 1
            if self.turn > 900:
                message = "no more"
                raise ValueError(message)
            return plait.Assign(paths[0].index) if paths[0].open else plait.Wait()

    file = tmp_path / "file.bin"
    file.write_bytes(bytes(SIZE))
    with plait.receive(tmp_path / "inbox", listen="127.0.0.1:0") as receiver:
        told: dict[str, Any] = {"fingerprint": receiver.fingerprint, "secret": receiver.secret}
        with pytest.raises(ValueError, match="no more"):
            plait.send(file, receiver.address, **told, scheduler=Fails(), record=tmp_path / "run")
    assert [place.name for place in (tmp_path / "run").iterdir()] == [RECORDING]
    result = one(tmp_path / "run")
    assert result.scheduler == "Fails"
    assert 0 < result.metrics["delivered_bytes"] < SIZE
    with pytest.raises(plait.ScenarioError, match="give it with --schedulers"):
        replay(result)
    assert replay(result, ["lowest-rtt"])[0].metrics["completion_time_s"] is not None


def test_places_that_cannot_be_written_are_named_before_anything_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "file.bin"
    file.write_bytes(b"content")
    (tmp_path / RECORDING).write_bytes(b"something else")
    with pytest.raises(plait.ScenarioError, match="not a recording"):
        read_results(tmp_path)
    with plait.receive(tmp_path / "inbox", listen="127.0.0.1:0") as receiver:
        told: dict[str, Any] = {"fingerprint": receiver.fingerprint, "secret": receiver.secret}
        with pytest.raises(OutputError, match="cannot write there"):
            plait.send(file, receiver.address, **told, record=file)
    assert not (tmp_path / "inbox" / file.name).exists()


def test_a_transfer_does_not_fail_with_its_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        message = "the disk is full"
        raise OutputError(message)

    monkeypatch.setattr("plait.recordings.keeping.keep_recording", fails)
    file = tmp_path / "file.bin"
    file.write_bytes(b"content")
    with plait.receive(tmp_path / "inbox", listen="127.0.0.1:0") as receiver:
        told: dict[str, Any] = {"fingerprint": receiver.fingerprint, "secret": receiver.secret}
        sent = plait.send(file, receiver.address, **told, record=tmp_path / "run")
        assert receiver.wait(60).error is None
    assert (sent.files, sent.unrecorded) == (1, "the disk is full")


def test_commands_are_kept_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["/bin/plait", "send", "f", "--secret", "told", "--record", "r", "--secret=told"]
    monkeypatch.setattr("sys.argv", words)
    assert "told" not in command_line()
    assert command_line().startswith("plait send f --secret")


def links(**keys: Any) -> Result:
    """Simulates a file of 10 MB over one path."""
    table = {
        "transport": {"protocol": "mpquic", "packet": f"{PACKET}B", "receive_buffer": "16MiB"},
        "workload": {"kind": "file", "size": "10MB"},
        "path": [{"name": "path", "rtt": "30ms", **keys}],
    }
    return plait.run(from_table(table), packets=True)


def found(result: Result) -> dict[str, Any]:
    end = result.metrics["measured_s"]
    one = measured(known_to_sender(result, 0, 15e6), PACKET, SEGMENT, end)
    assert one is not None
    return {**one.table("path"), "steps": one.steps, "measured": one}


def number(text: str) -> float:
    return float(text.rstrip("%abcdefghijklmnopqrstuvwxyz"))


def test_rate_delay_and_queue_are_found() -> None:
    link = found(links(rate="20Mbit", queue="60p"))
    assert number(link["rate"]) == pytest.approx(20_000, rel=0.001)
    assert number(link["rtt"]) == pytest.approx(30_000, rel=0.01)
    assert number(link["queue"]) == pytest.approx(60, abs=2)
    assert link["measured"].full
    assert ("loss" in link, link["steps"], "outages" in link) == (False, (), False)


def test_losses_of_the_wire_are_told_from_those_of_the_queue() -> None:
    link = found(links(rate="20Mbit", queue="60p", loss="0.5%"))
    assert number(link["loss"]) == pytest.approx(0.5, abs=0.2)
    assert number(link["rate"]) == pytest.approx(20_000, rel=0.01)
    burst = {"model": "gilbert-elliott", "to_bad": "0.4%", "to_good": "20%"}
    link = found(links(rate="20Mbit", queue="60p", loss=burst))
    assert link["loss"]["model"] == "gilbert-elliott"
    assert number(link["loss"]["to_good"]) == pytest.approx(20, abs=8)


def test_a_rate_that_changes_is_told_in_steps() -> None:
    steps = [{"at": "2s", "rate": "8Mbit"}, {"at": "4s", "rate": "30Mbit"}]
    one = found(links(rate="20Mbit", rate_steps=steps, queue="100p"))["measured"]

    def rate_at(moment: float) -> float:
        rates: list[float] = [one.rate_bps, *(rate for at, rate in one.steps if at <= moment)]
        return rates[-1] / 1e6

    assert [rate_at(moment) for moment in (1.0, 3.0, 5.1)] == pytest.approx([20, 8, 30], rel=0.05)


def test_cuts_are_found() -> None:
    link = found(links(rate="20Mbit", queue="60p", outages=[{"from": "1s", "to": "2s"}]))
    (cut,) = link["measured"].cuts
    assert cut[0] == pytest.approx(1.0, abs=0.1)
    assert 1.9 < cut[1] < 3.1, "a path that was cut is asked now and then"
    # One packet of 5,650 meets a full queue just after slow start has drained.
    assert number(link.get("loss", "0%")) < 0.02


def test_a_path_without_any_answer_has_no_link() -> None:
    sent = known_to_sender(links(rate="20Mbit"), 0, 15e6).with_columns(
        acknowledged_ns=pl.lit(None, pl.Int64), lost=pl.lit(value=True)
    )
    assert measured(sent, PACKET, SEGMENT, 5.0) is None


def test_differences_are_in_per_cent_of_what_happened() -> None:
    happened, again = links(rate="20Mbit", queue="60p"), links(rate="10Mbit", queue="60p")
    told = {one.what: one for one in differences(happened, again)}
    assert told["goodput"].difference == pytest.approx(-50, abs=2)
    assert told["path: share of the received data"].difference == 0
    assert told["path: round trip, median"].recorded == pytest.approx(45, abs=15)
    lost = told["path: packets lost"]
    assert lost.difference == pytest.approx((lost.replayed or 0) - (lost.recorded or 0))
