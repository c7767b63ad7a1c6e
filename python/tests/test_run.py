import hashlib
from pathlib import Path
from typing import Literal

import polars as pl
import pytest

import plait
from plait.plots.style import NotebookFigure
from plait.results.metrics import Metrics, PathMetrics, metric
from plait.runs.run import Task, run_tasks


class Alternating(plait.Scheduler):
    """Assigns packets to the open paths in turn."""

    def __init__(self) -> None:
        self.last = -1

    def decide(
        self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]
    ) -> plait.Assign | plait.Wait:
        for step in range(1, len(paths) + 1):
            index = (self.last + step) % len(paths)
            if paths[index].open:
                self.last = index
                return plait.Assign(index)
        return plait.Wait()


class Broken(plait.Scheduler):
    def decide(self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]) -> plait.Wait:
        message = "no idea"
        raise ZeroDivisionError(message)


class Stubborn(plait.Scheduler):
    """Assigns packets to a path that does not exist."""

    def decide(self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]) -> plait.Assign:
        return plait.Assign(99)


def fingerprint(results: list[plait.Result]) -> str:
    digest = hashlib.sha256()
    for result in results:
        digest.update(result.to_json().encode())
        for name, frame in sorted(result.recorded().items()):
            digest.update(name.encode())
            digest.update(frame.write_csv().encode())
    return digest.hexdigest()


def test_metrics_and_tables(scenario: plait.Scenario) -> None:
    result = plait.run(scenario, "lowest-rtt", packets=True, series="10ms", decisions=True)
    assert 1e6 < result.metrics["goodput_bps"] < 3e6
    assert result.scheduler == "lowest-rtt"
    assert result.path_names == ["fast", "slow"]
    packets = result.packets
    assert packets.schema["sent_ns"] == pl.Int64
    assert packets.schema["path"] == pl.UInt8
    arrived = packets.filter(pl.col("delivered_ns").is_not_null())
    assert (arrived["delivered_ns"] >= arrived["arrived_ns"]).all()
    assert (arrived["delivered_ns"] - arrived["arrived_ns"] == arrived["blocked_ns"]).all()
    assert arrived.sort("sequence")["delivered_ns"].is_sorted()
    assert result.connection_series["time_ns"].is_sorted()
    assert set(result.path_series["path"].unique()) == {0, 1}
    assert set(result.decisions["decision"].unique()) <= {"assign", "reinject", "recall", "wait"}


@pytest.mark.parametrize("protocol", ["mptcp", "mpquic", "cmt-sctp"])
@pytest.mark.parametrize("loss", ["0%", "2%"])
def test_a_duplicate_arrives_and_is_not_a_loss(
    protocol: Literal["mptcp", "mpquic", "cmt-sctp"], loss: str
) -> None:
    paths = [plait.Path(rate="4Mbit", rtt=rtt, loss=loss, queue="100p") for rtt in ("20ms", "30ms")]
    transport = plait.Transport(protocol=protocol, receive_buffer="60kB")
    scenario = plait.Scenario(paths=paths, transport=transport, duration="5s")
    packets = plait.run(scenario, "redundant", packets=True).packets
    arrived, duplicate = packets["arrived_ns"].is_not_null(), packets["duplicate_ns"].is_not_null()
    assert not (arrived & duplicate).any()
    assert duplicate.sum() > 0.2 * packets.height
    assert (packets["duplicate_ns"] > packets["sent_ns"]).filter(duplicate).all()
    # Early packets have arrived, unless a link lost them.
    early = packets.filter(~arrived & ~duplicate & (pl.col("sent_ns") < 4e9))
    assert early.is_empty() == (loss == "0%")


@pytest.mark.parametrize("scheduler", [one["name"] for one in plait.schedulers()])
def test_every_path_has_a_verdict_in_every_decision(scenario: plait.Scenario, scheduler: str) -> None:
    result = plait.run(scenario, scheduler, decisions=True)
    decisions, paths = result.decisions, result.decision_paths
    assert paths["decision"].to_list() == [row for row in range(decisions.height) for _ in range(2)]
    assert paths["path"].to_list() == [0, 1] * decisions.height
    assert set(paths["verdict"]) <= {one["name"] for one in plait.verdicts()}
    assert set(paths["state"]) == {"active"}
    assert (paths["cwnd_left"] <= paths["cwnd"]).all()

    chosen = paths.filter(verdict="chosen")
    naming = decisions.with_row_index("row").filter(pl.col("path").is_not_null())
    assert chosen["decision"].to_list() == naming["row"].to_list()
    assert chosen["path"].to_list() == naming["path"].to_list()
    assert set(decisions.filter(pl.col("path").is_null())["decision"]) == {"wait"}
    waits = decisions.with_row_index("row").filter(decision="wait")["row"]
    while_waiting = paths.filter(pl.col("decision").is_in(waits.to_list()))
    assert not {"chosen", "open"} & set(while_waiting["verdict"])

    seen = decisions.filter(pl.col("oldest_unacked").is_not_null())
    assert seen["oldest_unacked_path"].is_not_null().all()
    timed = decisions.filter(pl.col("wait_until_ns").is_not_null())
    assert set(timed["decision"]) <= {"wait"}
    assert (timed["wait_until_ns"] > timed["time_ns"]).all()


def test_verdicts_follow_from_the_facts(scenario: plait.Scenario) -> None:
    result = plait.run(scenario, "daps", decisions=True)
    paths = result.decision_paths
    full = paths.filter(verdict="congestion-window")
    assert full.height > 0
    assert (full["in_flight"] + full["queued"] >= full["cwnd"]).all()
    held = paths.filter(verdict="limit")
    assert held.height > 0
    assert (held["in_flight"] + held["queued"] >= held["limit"]).all()
    assert (held["limit"] < held["cwnd"]).all()
    assert (paths.filter(verdict="passed-over")["cwnd_left"] > 0).all()
    limits = result.decisions.filter(decision="limit")
    assert limits.height > 0


def test_a_limit_that_is_lifted_is_null(scenario: plait.Scenario) -> None:
    class Limiting(Alternating):
        limit = True
        asked = 0

        def decide(
            self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]
        ) -> plait.Assign | plait.Wait:
            self.asked += 1
            if self.asked <= 2:
                return plait.Limit(0, 2 if self.asked == 1 else None)  # type: ignore[return-value]
            return super().decide(now, connection, paths)

    result = plait.run(scenario, Limiting, decisions=True)
    assert result.decisions["segments"][:2].to_list() == [2, None]
    assert result.decision_paths["limit"][:6].to_list() == [None, None, 2, None, None, None]


def test_the_types_name_every_metric(scenario: plait.Scenario) -> None:
    result = plait.run(scenario)
    assert set(result.metrics) == set(Metrics.__annotations__)
    assert set(result.paths[0]) == set(PathMetrics.__annotations__)


def test_what_a_notebook_shows(scenario: plait.Scenario) -> None:
    comparison = plait.compare(scenario, ["round-robin", "daps"], packets=True)
    assert "round-robin" in repr(comparison)
    assert "seed 1" in repr(comparison)
    assert "<table" in comparison._repr_html_()
    assert "Mbit/s" in repr(comparison[1])
    assert "tables: packets" in repr(comparison[1])
    figure = plait.plots.space_time(comparison, (1.0, 1.1))
    assert isinstance(figure, NotebookFigure)
    assert figure._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(AttributeError, match="speed"):
        _ = plait.speed


def test_what_was_not_recorded_says_how(scenario: plait.Scenario) -> None:
    result = plait.run(scenario)
    assert result.recorded() == {}
    with pytest.raises(plait.NotRecordedError, match="packets=True"):
        _ = result.packets


def test_same_input_same_bytes_on_any_number_of_threads(scenario: plait.Scenario) -> None:
    tasks = [
        Task(scenario=scenario, scheduler=one["name"], packets=True, series="10ms", decisions=True)
        for one in plait.schedulers()
    ]
    prints = {fingerprint(run_tasks(tasks, threads=threads)) for threads in (1, 4, 4)}
    assert len(prints) == 1


def test_the_seed_changes_the_losses(scenario: plait.Scenario) -> None:
    one, same, other = (plait.run(scenario, seed=seed, packets=True) for seed in (1, 1, 2))
    assert fingerprint([one]) == fingerprint([same])
    assert fingerprint([one]) != fingerprint([other])


def test_compare_is_paired_and_labelled(scenario: plait.Scenario) -> None:
    few = {"name": "round-robin", "segments": 2, "cwnd_limited": False}
    comparison = plait.compare(scenario, ["round-robin", few, "daps"])
    assert [one.scheduler for one in comparison] == [
        "round-robin",
        "round-robin:segments=2:cwnd_limited=false",
        "daps",
    ]
    assert {one.seed for one in comparison} == {1}
    assert comparison.frame().height == 3
    assert comparison["daps"] is comparison[2]
    with pytest.raises(KeyError):
        _ = comparison["fastest"]


def test_a_scheduler_of_ones_own(scenario: plait.Scenario) -> None:
    comparison = plait.compare(scenario, ["round-robin", Alternating], packets=True)
    mine = comparison["Alternating"]
    assert mine.metrics["goodput_bps"] > 1e6
    assert set(mine.packets["path"].unique()) == {0, 1}
    assert fingerprint([mine]) == fingerprint([plait.run(scenario, Alternating, packets=True)])
    assert plait.check_scheduler(Alternating)


def test_an_exception_in_a_scheduler_passes_through(scenario: plait.Scenario) -> None:
    with pytest.raises(ZeroDivisionError, match="no idea"):
        plait.run(scenario, Broken)


def test_a_decision_that_cannot_be_carried_out_fails_the_run(scenario: plait.Scenario) -> None:
    with pytest.raises(plait.RunError):
        plait.run(scenario, Stubborn)
    with pytest.raises(plait.ConformanceError):
        plait.check_scheduler(Stubborn)


def test_dotted_metrics(scenario: plait.Scenario) -> None:
    result = plait.run(scenario)
    total = metric(result, "paths.sum.throughput_bps")
    parts = [metric(result, f"paths.{name}.throughput_bps") for name in result.path_names]
    assert total == pytest.approx(sum(part for part in parts if part is not None))
    assert metric(result, "app_delay_ms.mean") == result.metrics["app_delay_ms"]["mean"]
    for wrong in ("speed", "paths.middle.throughput_bps", "app_delay_ms.median"):
        with pytest.raises(KeyError):
            metric(result, wrong)


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(plait.ScenarioError, match=r"nowhere\.toml"):
        plait.run(tmp_path / "nowhere.toml")


def test_a_wrong_kind_of_scheduler_is_bad_input(scenario: plait.Scenario) -> None:
    with pytest.raises(plait.ScenarioError, match="subclass"):
        plait.run(scenario, 42)  # type: ignore[arg-type]


def test_progress_goes_up_to_one(scenario: plait.Scenario) -> None:
    seen: list[float] = []
    run_tasks([Task(scenario=scenario)] * 3, progress=seen.append)
    assert seen == sorted(seen)
    assert all(0 <= share <= 1 for share in seen)
