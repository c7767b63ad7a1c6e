import copy
import json
import pickle
from dataclasses import fields
from pathlib import Path

import pytest

import plait
import plait.scenarios.scenario as scenario_module


def test_a_built_scenario_equals_its_file(scenario_file: Path) -> None:
    built = plait.Scenario(
        name="two paths",
        seed=7,
        duration=3,
        warmup=0.5,
        scheduler="round-robin",
        transport=plait.Transport(protocol="cmt-sctp", receive_buffer=60_000),
        workload=plait.Bulk(),
        paths=[
            plait.Path(name="fast", rate=2e6, rtt=0.02, queue="50p"),
            plait.Path(name="slow", rate="1Mbit", rtt="80ms", queue="50p", loss="0.5%"),
        ],
    )
    assert built.json == plait.load(scenario_file).json


def test_a_loaded_scenario_keeps_its_meaning(scenario_file: Path) -> None:
    loaded = plait.load(scenario_file)
    again = plait.Scenario(**{key.name: getattr(loaded, key.name) for key in fields(loaded)})
    assert json.loads(loaded.json) == json.loads(again.json)
    assert loaded.name == "two paths"
    assert [path.name for path in loaded.paths] == ["fast", "slow"]


@pytest.mark.parametrize(
    "workload",
    [
        plait.Bulk(start=1.5),
        plait.File(size="1MB"),
        plait.ConstantRate(rate="1Mbit", block="8kB", start=0.25, stop=2),
        plait.OnOff(rate="1Mbit", block="8kB", on=0.1, off="300ms", distribution="pareto", shape=1.7),
    ],
)
def test_workloads(workload: plait.Bulk | plait.File | plait.ConstantRate | plait.OnOff) -> None:
    path = plait.Path(rate="2Mbit", rtt="20ms")
    built = plait.Scenario(paths=[path], workload=workload)
    assert json.loads(built.json)["workload"]["kind"] == workload.kind


def test_directions_losses_and_outages() -> None:
    bursts = {"model": "gilbert-elliott", "to_bad": "1%", "to_good": "30%"}
    path = plait.Path(
        rate="2Mbit",
        forward=plait.Direction(delay=0.01, loss=bursts),
        backward=plait.Direction(delay="30ms", queue="infinite"),
        outages=[{"from": "1s", "to": "2s"}],
    )
    canonical = json.loads(plait.Scenario(paths=[path]).json)["path"][0]
    assert canonical["forward"]["loss"]["model"] == "gilbert-elliott"
    assert canonical["forward"]["delay"] != canonical["backward"]["delay"]


def test_links_and_flows(tmp_path: Path) -> None:
    built = plait.Scenario(
        name="meeting",
        duration=5,
        transport=plait.Transport(protocol="cmt-sctp"),
        links=[
            plait.Link(name="core", rate="4Mbit", delay="5ms", queue="50p"),
            plait.Link(
                name="cell",
                rate="8Mbit",
                rate_steps=[{"at": "1s", "rate": "2Mbit"}],
                repeat=2,
                queue="50p",
                backward=plait.Direction(delay=0.02),
            ),
        ],
        paths=[
            plait.Path(name="wire", rate="3Mbit", rtt="20ms", queue="50p", links=["core"]),
            plait.Path(name="radio", links=["cell", "core"]),
        ],
        flows=[
            plait.TcpFlow(name="download", links=["core"], size="100kB", start=1),
            plait.MultipathFlow(paths=["wire"], scheduler="round-robin", direction="backward", stop=4),
            plait.ConstantRateFlow(path="radio", rate="100kbit", packet=200),
            plait.OnOffFlow(links=["cell"], rate=1e6, on=0.1, off=0.2, distribution="pareto", shape=1.8),
        ],
    )
    file = tmp_path / "meeting.json"
    file.write_text(built.json)
    assert plait.load(file).json == built.json
    flows = plait.run(built).flows
    assert [flow["kind"] for flow in flows] == ["tcp", "multipath", "cbr", "on-off"]
    assert all(flow["goodput_bps"] > 0 for flow in flows)


def test_every_key_of_the_format_has_a_builder_field() -> None:
    builders = {
        "(top)": plait.Scenario,
        '[transport] protocol = "cmt-sctp"': plait.Transport,
        '[transport] protocol = "mptcp" or "tcp"': plait.Transport,
        '[transport] protocol = "mpquic"': plait.Transport,
        "[[path]]": plait.Path,
        "forward, backward": plait.Direction,
        '[workload] kind = "bulk"': plait.Bulk,
        '[workload] kind = "file"': plait.File,
        '[workload] kind = "cbr"': plait.ConstantRate,
        '[workload] kind = "on-off"': plait.OnOff,
        "[[link]]": plait.Link,
        '[[flow]] kind = "tcp"': plait.TcpFlow,
        '[[flow]] kind = "multipath"': plait.MultipathFlow,
        '[[flow]] kind = "cbr"': plait.ConstantRateFlow,
        '[[flow]] kind = "on-off"': plait.OnOffFlow,
    }
    tables = {key["table"] for key in plait.scenario_keys()}
    assert set(builders) <= tables
    for key in plait.scenario_keys():
        if key["table"] in builders:
            names = {one.name for one in fields(builders[key["table"]])}
            lists = {"path": "paths", "link": "links", "flow": "flows"} if key["table"] == "(top)" else {}
            assert lists.get(key["key"], key["key"]) in names, key


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"paths": []}, "path"),
        ({"paths": [plait.Path(rate="2Mbit", rtt="20ms", queue="many")]}, "many"),
        ({"paths": [plait.Path(rate="2Mb", rtt="20ms")]}, "2Mb"),
        ({"paths": [plait.Path(rate=-1, rtt="20ms")]}, "-1"),
        ({"paths": [plait.Path(rate="2Mbit", rtt=float("inf"))]}, "inf"),
        ({"paths": [plait.Path(rate="2Mbit", rtt="20ms")], "scheduler": "fastest"}, "fastest"),
    ],
)
def test_bad_values_are_refused_and_named(wrong: dict[str, object], named: str) -> None:
    with pytest.raises(plait.ScenarioError, match=named) as caught:
        plait.Scenario(**wrong)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_scenario_is_read_once(scenario_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = plait.load(scenario_file)
    scenario_file.unlink()
    # Nothing reads it again: not a run, not its text, not a repetition of its own seed.
    monkeypatch.setattr(scenario_module, "_parse", None)
    assert plait.run(loaded, seed=loaded.seed, perturb=True).scenario_json
    assert json.loads(loaded.json)["name"] == loaded.name == "two paths"


def test_copies_and_other_processes_have_the_same_scenario(scenario_file: Path) -> None:
    loaded = plait.load(scenario_file)
    for again in (pickle.loads(pickle.dumps(loaded)), copy.deepcopy(loaded)):
        assert again == loaded
        assert again.json == loaded.json


@pytest.mark.parametrize(
    "links",
    [
        '[[path]]\nrate = "12Mbit"\nrtt = "20ms"\ntrace = "steady.trace"\n',
        '[[link]]\nname = "lte"\nrate = "12Mbit"\ndelay = "10ms"\ntrace = "steady.trace"\n[[path]]\nlinks = ["lte"]\n',
    ],
)
def test_a_trace_is_found_beside_the_scenario_file(links: str, tmp_path: Path) -> None:
    (tmp_path / "steady.trace").write_text("\n".join(str(millisecond) for millisecond in range(1, 101)))
    file = tmp_path / "traced.toml"
    file.write_text(f'duration = "1s"\n{links}')
    loaded = plait.load(file)
    assert plait.run(loaded).metrics["goodput_bps"] > 1e6
    assert plait.run(file).metrics["goodput_bps"] > 1e6
