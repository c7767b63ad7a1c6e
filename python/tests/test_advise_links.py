"""Advice for approximately known links: how descriptions are read and varied."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from hypothesis import example, given, settings
from hypothesis import strategies as st

import plait
from plait import advise
from plait.advice import KnownPath, parse_path, parse_traffic
from plait.advice.candidates import Candidate
from plait.advice.links import SPREAD
from plait.advice.trial import Cell, Setting, TrialRunner
from plait.advice.variations import cut_recording, variations, varied
from plait.scenarios.repetition import perturbed

DSL, LTE = "dsl 4Mbit 25ms queue=20p", "lte 3Mbit 60ms queue=30p"


# Descriptions of a path.


def test_a_path_is_read_whatever_the_order_of_its_parts() -> None:
    said = parse_path("lte 1% 60ms 30Mbit queue=100ms back=5Mbit jitter=2ms")
    assert said == KnownPath(
        name="lte",
        rate_bps=30_000_000,
        rtt_ns=60_000_000,
        loss=0.01,
        queue="100ms",
        back_bps=5_000_000,
        jitter_ns=2_000_000,
    )
    assert parse_path("lte rate=30Mbit rtt=60ms loss=1% queue=100ms back=5Mbit jitter=2ms") == said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["no name", "NAME RATE RTT"]),
        ("16Mbit 25ms", ["no name", "16Mbit 25ms"]),
        ("rate=16Mbit 25ms", ["no name"]),
        ("line", ["no rate", "16Mbit", "trace=FILE"]),
        ("dsl 25ms", ["no rate"]),
        ("dsl 16Mbit", ["no round-trip time", "25ms"]),
        ("dsl 16Mbps 25ms", ["'16Mbps'", "write 16Mbit"]),
        ("dsl 16Mbit 25ms fast", ["'fast'", "queue"]),
        ("dsl 16Mbit 25ms 30ms", ["rtt", "twice", "'30ms'"]),
        ("dsl 16Mbit 25ms mtu=9000", ["'mtu'", "jitter"]),
        ("dsl 16Mbit 25ms queue=", ["queue", "nothing said"]),
        ("dsl 16Mbit 25ms queue=big", ["queue", '"big"', "packets"]),
        ("dsl 16Mbit 25ms 101%", ["loss", '"101%"', "100%"]),
        ("dsl 0bit 25ms", ["rate", '"0bit"', "1bit"]),
        ("dsl 16Mbit 0ms", ["rtt", "'0ms'"]),
        ("dsl -16Mbit 25ms", ["'-16Mbit'"]),
        ("dsl 16Mbit 25ms trace=x", ["a rate and a recording"]),
        ("dsl trace=none.trace 25ms", ["trace", "none.trace"]),
        ("dsl 'x", ["closing quotation"]),
    ],
)
def test_a_bad_path_is_refused_with_place_value_and_choices(text: str, words: list[str]) -> None:
    with pytest.raises(plait.ScenarioError) as error:
        parse_path(text)
    for word in [repr(text), *words]:
        assert word in str(error.value)
    assert "\n" not in str(error.value)


PARTS = st.one_of(
    st.sampled_from(
        ["16Mbit", "25ms", "1%", "queue=50p", "loss=2%", "rate=1Gbit", "trace=x", "back=1Mbit", "%", "="]
    ),
    st.text(max_size=12),
)


@given(st.one_of(st.text(max_size=60), st.lists(PARTS, max_size=6).map(" ".join)))
@example("x nan% 1ms 1Mbit")
@example("x 1e5% 1ms 1Mbit")
@example("x 1Mbit 1ms loss=")
@example("x 1Mbit 1ms loss=0.5")
@settings(max_examples=300, deadline=None)
def test_no_text_does_more_than_a_scenario_error(text: str) -> None:
    with suppress(plait.ScenarioError):
        parse_traffic(text)
    with suppress(plait.ScenarioError):
        assert plait.Scenario(paths=[parse_path(text).path()]).json


@pytest.mark.parametrize(
    "text",
    ["", "video", "bulk:5MB", "file", "file:0B", "file:5", "blocks", "blocks:0bit", "blocks:5MB", "blocks:1Mbit:1B",
     "blocks:8bit", "blocks:1Mbit:10kB:3", "blocks:1kbit:1MB", "request-response:0B", "request-response:20MB",
     "request-response:1kB:0", "request-response:1kB:101", "request-response:1kB:x", "request-response:1kB:2:3",
     "flows", "flows:1", "flows:201", "flows:2:0B", "flows:²", "flows:3:1kB:1"],
)  # fmt: skip
def test_bad_traffic_is_refused(text: str) -> None:
    with pytest.raises(plait.ScenarioError, match=re.escape(repr(text))):
        parse_traffic(text)


def test_blocks_have_a_size_and_a_file_its_own() -> None:
    assert parse_traffic("blocks:500kbit").block == 2500
    assert parse_traffic("blocks:500kbit:10kB").block == 10_000
    assert parse_traffic("file:5MB").size == 5_000_000


def test_clients_and_downloads_have_sizes_of_their_own_or_usual_ones() -> None:
    usual, said = parse_traffic("request-response"), parse_traffic("request-response:60kB:6", "p99")
    assert (usual.size, usual.clients, usual.column) == (35_000, 1, "request_latency_ms.p95")
    assert (said.size, said.clients, said.column) == (60_000, 6, "request_latency_ms.p99")
    many, large = parse_traffic("flows:20"), parse_traffic("flows:3:2MB", "max")
    assert (many.size, many.clients, many.total_bytes) == (400_000, 20, 8_000_000)
    assert (large.size, large.clients, large.column) == (2_000_000, 3, "download_ms.max")
    for text in ("request-response", "flows:20"):
        with pytest.raises(plait.ScenarioError, match="is not judged by it; expected one of: p95, mean"):
            parse_traffic(text, "goodput")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"paths": []}, ["paths", "NAME RATE RTT"]),
        ({"paths": [DSL, DSL]}, ["'dsl'", "two paths"]),
        ({"paths": [f"p{number} 1Mbit 1ms" for number in range(33)]}, ["1 to 32"]),
        ({"traffic": "video"}, ["'video'", "blocks:RATE"]),
        ({"receive_buffer": "big"}, ["receive buffer", "big"]),
        ({"receive_buffer": "1B"}, ["receive_buffer", "1B"]),
        ({"protocol": "quic"}, ["'quic'", "mptcp", "cmt-sctp"]),
        ({"schedulers": ["fastest"]}, ['"fastest"', "daps"]),
        ({"schedulers": []}, ["schedulers", "daps"]),
        ({"schedulers": ["daps+x"]}, ["'daps+x'", "rp"]),
        ({"schedulers": ["round-robin:speed=3"]}, ["round-robin:speed=3", "segments"]),
        ({"schedulers": ["mine.py:Mine"]}, ["mine.py:Mine", "built-in"]),
        ({"seed": -1}, ["seed", "-1"]),
    ],
)
def test_bad_input_is_refused_with_place_value_and_choices(said: Any, words: list[str]) -> None:
    with pytest.raises(plait.ScenarioError) as error:
        advise(**{"paths": [DSL, LTE], "events": 1_000_000, **said})
    for word in words:
        assert word in str(error.value)
    assert "\n" not in str(error.value)


def test_the_commands_errors_are_one_line(command: Command) -> None:
    for arguments, word in (([], "--path"), (["--path", "dsl 16Mbit"], "no round-trip time")):
        done = command("advise", *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert word in done.stderr


# Variations.


def test_variations_fill_the_space_around_what_was_said() -> None:
    paths = [parse_path("a 10Mbit 40ms 1%"), parse_path("b 20Mbit 20ms queue=50p")]
    found = variations(paths, 3)
    for key in ("rate", "rtt", "loss"):
        factors = np.array([[getattr(one, key) for one in variation.factors] for variation in found])
        assert factors.min() >= 1 - SPREAD
        assert factors.max() <= 1 + SPREAD
        # Even coverage: every tenth of the range has variations, and their mean is the given value.
        assert factors.mean(axis=0) == pytest.approx(1, abs=0.01)
        assert (np.histogram(factors[:, 0], 10, (1 - SPREAD, 1 + SPREAD))[0] > 0).all()
    assert len({variation.seed for variation in found}) == len(found)
    assert found == variations(paths, 3)
    assert found != variations(paths, 4)
    # A given queue varies around its value.
    # An unknown queue is guessed: half to four times 33 packets.
    queues = [
        [varied(path, factors).queue for path, factors in zip(paths, one.factors, strict=True)]
        for one in found
    ]
    guessed, said = ([int(str(text)[:-1]) for text in column] for column in zip(*queues, strict=True))
    assert [min(guessed), max(guessed), min(said), max(said)] == pytest.approx([17, 133, 40, 60], rel=0.06)


def test_a_recording_is_cut_where_the_variation_says(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("# a comment\n5\n5\n20\n30\n100\n")
    path = parse_path(f"lte trace={tmp_path / 'r'} 40ms")
    assert path.mean_bps == pytest.approx(5 * 12_000 / 0.1)
    # The cut starts after the third packet of five, at 20 ms.
    cut_recording(path.recording_ms, 0.4, 10**9, tmp_path / "cut")
    assert (tmp_path / "cut").read_text().split() == ["10", "80", "85", "85", "100"]
    # The packet within 10 ms, and the next one.
    cut_recording(path.recording_ms, 0.4, 10**7, tmp_path / "cut")
    assert (tmp_path / "cut").read_text().split() == ["10", "80"]


def test_all_schedulers_meet_the_same_paths_and_losses() -> None:
    paths = tuple(parse_path(text) for text in (DSL, LTE))
    setting = Setting(paths=paths, traffic=parse_traffic("bulk"), protocol="mptcp", receive_buffer=10**6)
    with TrialRunner(paths, 1) as runner:
        for variation in runner.variations[:3]:
            cells = [
                Cell(setting, one, variation, 10**9)
                for one in (Candidate((0, 1), "daps"), Candidate((0, 1), "redundant"), Candidate((0,)))
            ]
            tasks = [runner.task(cell, runner.scenario(cell)) for cell in cells]
            assert {(task.seed, task.perturb) for task in tasks} == {(variation.seed, True)}
            repetitions = (perturbed(runner.scenario(cell).json, variation.seed) for cell in cells)
            both, same, alone = map(json.loads, repetitions)
            assert both == same
            assert both["path"][:1] == alone["path"]
            assert (both["transport"]["protocol"], alone["transport"]["protocol"]) == ("mptcp", "tcp")
