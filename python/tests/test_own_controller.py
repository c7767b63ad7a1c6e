"""Users' congestion controllers: the same results as built-in ones, messages, sweeps, bundles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

import plait
from plait import RunError, ScenarioError
from plait.bundles import bundle, rerun
from plait.scenarios.bounds import bound
from plait.sweep import Plan, read, sweep

RENO = Path(__file__).parents[2] / "docs" / "examples" / "reno.py"
PROTOCOLS: dict[str, tuple[dict[str, Any], str]] = {
    "cmt-sctp": ({"protocol": "cmt-sctp"}, "SctpReno"),
    "mptcp": ({"protocol": "mptcp", "profile": "standard"}, "Reno"),
    "mptcp-ecn": ({"protocol": "mptcp", "profile": "standard", "ecn": True}, "Reno"),
    "mpquic": ({"protocol": "mpquic", "initial_ssthresh": "60kB"}, "Reno"),
}
MISTAKES = """
import plait


class Raises(plait.CongestionController):
    def on_ack(self, ack):
        raise KeyError("window")


class Text(plait.CongestionController):
    def on_ack(self, ack):
        pass

    def on_event(self, event):
        self.window = "much"


class Fast(plait.CongestionController):
    def start(self):
        self.pacing_rate = float("inf")

    def on_ack(self, ack):
        pass


class State(plait.CongestionController):
    seen = []

    def on_ack(self, ack):
        self.seen.append(ack)


class Deaf(plait.CongestionController):
    pass


class Scheduler(plait.Scheduler):
    pass


class Gain(plait.CongestionController):
    gain: float = 1.0

    def on_ack(self, ack):
        self.window += self.gain * ack.bytes
"""
PACED = '''
import plait


class Paced(plait.CongestionController):
    """A constant rate, in bytes per second."""

    rate: float = 100_000.0

    def start(self):
        self.pacing_rate, self.window = self.rate, 1e9

    def on_ack(self, ack):
        if len(ack.paths) != 2 or ack.paths[ack.path].srtt is None or ack.rate is None:
            raise ValueError(f"{ack.paths}, {ack.rate}")
'''


def scenario(folder: Path, control: str, **transport: Any) -> plait.Scenario:
    """Returns two lossy paths with outages."""
    return plait.Scenario(
        name="lossy",
        duration="15s",
        transport=plait.Transport(congestion_control=control, **transport),
        paths=[
            plait.Path(rate="10Mbit", rtt="20ms", loss="0.3%", outages=[{"from": "6s", "to": "8s"}]),
            plait.Path(rate="3Mbit", rtt="60ms", queue="20p"),
        ],
        base=folder,
    )


def metrics(made: plait.Result) -> dict[str, Any]:
    """Returns the result without the scenario's digest, which contains the controller's name."""
    return {key: value for key, value in json.loads(made.run.json).items() if "digest" not in key}


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("scheduler", ["lowest-rtt", "linux-default"])
def test_reno_in_python_is_the_built_in_one(name: str, scheduler: str) -> None:
    transport, kind = PROTOCOLS[name]
    made = [
        plait.run(scenario(RENO.parent, control, **transport), scheduler, series="100ms")
        for control in ("newreno", f"reno.py:{kind}")
    ]
    assert metrics(made[0]) == metrics(made[1])
    assert made[0].path_series.equals(made[1].path_series)
    for one in ("retransmissions", "timeouts"):
        assert made[0].metrics[one], "losses and an outage"


def test_flows_take_a_controller_of_their_own() -> None:
    flows = [plait.TcpFlow(path="path1", congestion_control=one) for one in ("newreno", "reno.py:Reno")]
    made = []
    for flow in flows:
        base = scenario(RENO.parent, "cubic", protocol="mptcp", profile="standard")
        made.append(plait.run(plait.Scenario(**{**vars_of(base), "flows": [flow]})))
    assert metrics(made[0]) == metrics(made[1])


def vars_of(one: plait.Scenario) -> dict[str, Any]:
    """Returns the arguments of a scenario."""
    return {key: value for key, value in vars(one).items() if key != "_parsed"}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("Raises", r"^Raises\.on_ack: KeyError: 'window' \(mistakes\.py, line 7\)$"),
        ("Text", r"^Text\.on_event left window = 'much': expected a number, at least 0 \(bytes\)$"),
        ("Fast", r"^Fast\.start left pacing_rate = inf: expected a number, at least 1 \(bytes per second\)"),
    ],
)
def test_a_failing_controller_ends_the_run(tmp_path: Path, kind: str, message: str) -> None:
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    with pytest.raises(RunError, match=message):
        plait.run(scenario(tmp_path, f"mistakes.py:{kind}"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mistakes.py:State", "the run changed State.seen, an attribute of the class"),
        (
            "mistakes.py:Deaf",
            r"Deaf \(mistakes.py, line \d+\) has no on_ack; expected def on_ack\(self, ack\)",
        ),
        (
            "mistakes.py:Scheduler",
            r"is no controller; expected class Scheduler\(plait.CongestionController\)",
        ),
        ("mistakes.py:Gain:gain=much", "parameter 'gain': is 'much'; expected a number"),
        ("mistakes.py", "mistakes.py:CLASS with one of: Raises, Text, Fast, State, Deaf, Gain"),
        ("absent.py:Gain", "absent.py:Gain': no such file"),
    ],
)
def test_wrong_classes(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    with pytest.raises(ScenarioError, match=message):
        plait.run(scenario(tmp_path, name))


def test_a_controller_paces_and_sees_all_paths(tmp_path: Path) -> None:
    (tmp_path / "paced.py").write_text(PACED)
    one = plait.run(scenario(tmp_path, "paced.py:Paced", protocol="mpquic"))
    two = plait.run(scenario(tmp_path, "paced.py:Paced:rate=50000", protocol="mpquic"))
    sent = [[path["packets_sent"] for path in made.data["paths"]] for made in (one, two)]
    assert 1.8 < sent[0][1] / sent[1][1] < 2.2, sent
    assert one.metrics["goodput_bps"] < 2 * 8 * 100_000


def test_engines_without_controllers_refuse(tmp_path: Path) -> None:
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    with pytest.raises(ScenarioError, match="not with the linux engine: the kernel has its own controllers"):
        plait.run(scenario(tmp_path, "mistakes.py:Gain"), engine="linux")
    sctp = scenario(tmp_path, "mistakes.py:Gain", protocol="cmt-sctp")
    with pytest.raises(ScenarioError, match="not with the usrsctp engine: the stack has its own"):
        plait.run(sctp, engine="usrsctp")


def test_the_bound_of_doubling_windows_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    names = [
        {one.name for one in bound(scenario(tmp_path, name))} for name in ("newreno", "mistakes.py:Gain")
    ]
    assert names[0] - names[1] == {"L2a"}


def test_a_sweep_takes_controllers_as_an_axis_and_a_bundle_repeats_it(tmp_path: Path) -> None:
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    (tmp_path / "reno.py").write_text(RENO.read_text())
    table = {
        "scenario": {
            "duration": "2s",
            "transport": {"protocol": "mpquic"},
            "path": [{"rate": "5Mbit", "rtt": "20ms"}],
        },
        "schedulers": ["lowest-rtt"],
        "seeds": 1,
        "set": {"transport.congestion_control": "{control}"},
        "axis": [{"control": ["newreno", "reno.py:Reno", "mistakes.py:Raises"]}],
    }
    sweep(Plan(table, tmp_path), tmp_path / "out", threads=2)
    rows = read(tmp_path / "out").frame
    assert rows["goodput_bps"][0] == rows["goodput_bps"][1]
    assert rows["error"].to_list()[:2] == [None, None]
    assert "Raises.on_ack: KeyError" in rows["error"][2]
    bundle(tmp_path / "out", tmp_path / "kept.zip", [tmp_path / "reno.py", tmp_path / "mistakes.py"])
    for name in ("reno.py", "mistakes.py"):
        (tmp_path / name).unlink()
    assert rerun(tmp_path / "kept.zip", tmp_path / "again").different == []


def test_a_bundle_of_results_has_the_file(tmp_path: Path, command: Command) -> None:
    (tmp_path / "reno.py").write_text(RENO.read_text())
    (tmp_path / "one.toml").write_text(
        'duration = "2s"\n[transport]\nprotocol = "mpquic"\ncongestion_control = "reno.py:Reno"\n'
        '[[path]]\nrate = "5Mbit"\nrtt = "20ms"\n'
    )
    assert command("run", "one.toml", "--out", "out").returncode == 0
    bundle(tmp_path / "out", tmp_path / "kept.zip")
    (tmp_path / "reno.py").unlink()
    assert rerun(tmp_path / "kept.zip", tmp_path / "again").different == []
