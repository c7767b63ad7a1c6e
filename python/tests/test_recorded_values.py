"""Recordings with arbitrary values in the format of the core: all can be read and replayed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import plait
from plait.recordings import RECORDING
from plait.recordings.replay import differences, replay
from plait.results.recorded import read_results
from plait.results.result import Result

SEGMENT = 1153
MAGIC = b"plait-recording 1\n"
START, SENT, ACKNOWLEDGED, LOST, END = 1, 2, 3, 4, 9


@dataclass(frozen=True)
class Packet:
    """A packet of a recording; times are in nanoseconds.

    gap: time since the previous packet of the path.
    trip: time until the acknowledgement; None without one.
    """

    gap: int
    trip: int | None
    waited: int
    lost: bool


class Writer:
    """Writes the rows of a recording.

    A row has the differences from the previous row of the same kind and path.
    """

    def __init__(self, paths: int) -> None:
        self.bytes = bytearray(MAGIC)
        self.before: dict[int, list[int]] = {}
        self.put(paths)
        for text in ("file.bin", "lowest-rtt", "cubic", *(f"10.0.0.{path}" for path in range(paths))):
            self.put(len(text))
            self.bytes += text.encode()

    def put(self, number: int) -> None:
        while number >= 128:
            self.bytes.append(number & 127 | 128)
            number >>= 7
        self.bytes.append(number)

    def row(self, kind: int, slot: int, *fields: int) -> None:
        before = self.before.setdefault(kind << 4 | slot, [0] * 20)
        differing = [place for place, value in enumerate(fields) if value != before[place]]
        self.bytes.append(kind << 4 | slot)
        self.put(sum(1 << place for place in differing))
        for place in differing:
            difference = fields[place] - before[place]
            self.put(2 * difference if difference >= 0 else -2 * difference - 1)
            before[place] = fields[place]


def recording(paths: Sequence[Sequence[Packet]], *, whole: bool) -> bytes:
    events = list[tuple[int, int, int, tuple[int, ...]]]()
    segment = 0
    for path, packets in enumerate(paths):
        now = 0
        for number, packet in enumerate(packets):
            now += packet.gap
            events.append((now, SENT, path, (now, number, segment, SEGMENT, 0)))
            segment += 1
            if packet.trip is not None:
                told = now + packet.trip
                events.append((told, ACKNOWLEDGED, path, (told, number, packet.waited)))
            if packet.lost:
                events.append((now + 1, LOST, path, (now + 1, number)))
    events.sort(key=lambda event: event[:2])
    writer = Writer(len(paths))
    writer.row(START, 0, 0, 0, SEGMENT, 16 << 20, segment * SEGMENT, 1232)
    for _, kind, path, fields in events:
        writer.row(kind, path, *fields)
    writer.row(END, 0, events[-1][0] if events else 0, 0, 0, 0, int(whole))
    return bytes(writer.bytes)


def read(paths: Sequence[Sequence[Packet]], *, whole: bool) -> Result:
    with TemporaryDirectory() as folder:
        (Path(folder) / RECORDING).write_bytes(recording(paths, whole=whole))
        (result,) = read_results(Path(folder))
    return result


spans = st.sampled_from([0, 0, 1, 999, 1_000_000, 400_000_000, 7_000_000_000])
packets = st.builds(Packet, spans, st.none() | spans, spans, st.booleans())
GOOD = Packet(gap=1_000, trip=20_000_000, waited=0, lost=False)
GONE = Packet(gap=1_000, trip=None, waited=0, lost=True)
AT_ONCE = Packet(gap=0, trip=0, waited=0, lost=False)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(packets, max_size=60), min_size=1, max_size=3), st.booleans())
@example([[AT_ONCE]], True)
@example([[AT_ONCE] * 50], True)
@example([[GONE] * 30], False)
@example([[GOOD], [GONE] * 9], True)
@example([[GOOD] + [GONE] * 500], True)
@example([[]], False)
def test_any_recording_is_read_and_replayed(paths: list[list[Packet]], whole: bool) -> None:
    result = read(paths, whole=whole)
    (again,) = replay(result)
    for one in differences(result, again):
        for value in (one.recorded, one.replayed):
            assert value is None or not one.share or 0 <= value <= 100, one


def test_a_recording_without_any_answer_says_so() -> None:
    result = read([[GONE] * 5], whole=False)
    assert any("nothing was acknowledged" in text for text in result.warnings)


def test_a_slow_path_that_is_probed_loses_no_more_than_was_sent() -> None:
    table = {
        "transport": {"protocol": "mpquic", "packet": "1220B", "receive_buffer": "16MiB", "handshake": True},
        "workload": {"kind": "file", "size": "200kB"},
        "path": [
            {"name": "slow", "rate": "64kbit", "rtt": "40ms", "queue": "2p", "loss": "30%"},
            {"name": "fast", "rate": "256kbit", "rtt": "200ms", "queue": "20p"},
        ],
    }
    run = plait.run(plait.scenarios.scenario.from_table(table), packets=True)
    shares = [one for one in differences(run, run) if "lost" in one.what]
    assert len(shares) == 2
    assert all(0 <= (one.replayed or 0) <= 100 for one in shares)
    assert shares[0].replayed == pytest.approx(shares[0].recorded)
