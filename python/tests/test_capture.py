"""Captures of simulated runs, read by Wireshark's tshark instead of our own reader."""

from __future__ import annotations

import dataclasses
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import pytest

import plait

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

START_NS = 1_700_000_000_000_000_000
"""Clock of the capture at scenario time 0, in nanoseconds."""

FIELDS = (
    "frame.time_epoch",
    "ip.src",
    "frame.len",
    "_ws.malformed",
    "_ws.short",
    "frame.comment",
    "ip.checksum.status",
    "tcp.checksum.status",
    "tcp.len",
    "tcp.seq",
    "tcp.flags.syn",
    "tcp.analysis.retransmission",
    "tcp.analysis.out_of_order",
    "tcp.options.mptcp.rawdataseqno",
    "tcp.options.mptcp.datalvllen",
    "sctp.checksum.status",
    "sctp.chunk_type",
    "sctp.data_tsn_raw",
    "sctp.chunk_length",
)
CHECKS = ("ip.check_checksum:TRUE", "tcp.check_checksum:TRUE", "sctp.checksum:CRC-32C")
GOOD, UNVERIFIED = "1", "2"


def tshark(file: Path, *arguments: str) -> str:
    options = [word for check in CHECKS for word in ("-o", check)]
    command = ["tshark", "-n", *options, "-r", str(file), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout


def frames(file: Path, fields: Sequence[str] = FIELDS) -> list[dict[str, str]]:
    wanted = [word for field in fields for word in ("-e", field)]
    lines = tshark(file, "-T", "fields", *wanted).splitlines()
    return [dict(zip(fields, line.split("\t"), strict=True)) for line in lines]


def nanoseconds(frame: dict[str, str]) -> int:
    """Time of a frame since scenario time 0, in nanoseconds."""
    whole, part = frame["frame.time_epoch"].split(".")
    return int(whole) * 10**9 + int(part) - START_NS


@dataclass(frozen=True)
class Piece:
    """Data in a frame, with its position on the subflow and in the stream.

    Positions are in bytes; for SCTP, in segments.
    """

    time: int
    path: int
    start: int
    offset: int
    bytes: int
    judged: bool
    """Whether tshark reports a retransmission, or out-of-order data if it cannot decide."""


@dataclass(frozen=True)
class Captured:
    result: plait.Result
    folder: Path

    def read(self, side: str) -> list[list[dict[str, str]]]:
        """Returns the frames in the capture file of each path."""
        return [frames(self.folder / f"{name}-{side}.pcapng") for name in self.result.path_names]

    @cached_property
    def sides(self) -> dict[str, list[list[dict[str, str]]]]:
        return {side: self.read(side) for side in ("sender", "receiver")}

    def pieces(self, side: str) -> list[Piece]:
        """Returns data in order of departure or arrival, and at equal times in stream order."""
        return sorted(
            (
                piece(frame, path)
                for path, frames in enumerate(self.sides[side])
                for frame in frames
                if is_data(frame)
            ),
            key=lambda piece: (piece.time, piece.offset),
        )


def is_data(frame: dict[str, str]) -> bool:
    return bool(frame["sctp.data_tsn_raw"]) or frame["tcp.len"] not in ("", "0")


def piece(frame: dict[str, str], path: int) -> Piece:
    tsn = frame["sctp.data_tsn_raw"]
    if tsn:
        length = int(frame["sctp.chunk_length"]) - 16
        return Piece(nanoseconds(frame), path, int(tsn), int(tsn), length, judged=False)
    start = int(frame["tcp.seq"])
    number = frame["tcp.options.mptcp.rawdataseqno"]
    if number:
        assert frame["tcp.options.mptcp.datalvllen"] == frame["tcp.len"], "a mapping is for its own segment"
    judged = bool(frame["tcp.analysis.retransmission"] or frame["tcp.analysis.out_of_order"])
    offset = int(number) if number else start
    return Piece(nanoseconds(frame), path, start, offset, int(frame["tcp.len"]), judged)


def scenario(protocol: Literal["mptcp", "tcp", "cmt-sctp"], scheduler: str) -> plait.Scenario:
    """A scenario with lossy links; the links of the first path reorder packets."""
    wifi = plait.Path(
        name="wifi",
        rate="8Mbit",
        rtt="20ms",
        queue="30p",
        loss="1%",
        jitter={"amount": "4ms", "reorder": True},
    )
    lte = plait.Path(name="lte", rate="4Mbit", rtt="60ms", queue="30p", loss="0.5%")
    return plait.Scenario(
        name=protocol,
        duration="2s",
        scheduler=scheduler,
        transport=plait.Transport(
            protocol=protocol,
            profile=None if protocol == "cmt-sctp" else "standard",
            receive_buffer="150kB",
        ),
        paths=[wifi] if protocol == "tcp" else [wifi, lte],
    )


RUNS: dict[str, tuple[Literal["mptcp", "tcp", "cmt-sctp"], str]] = {
    "mptcp": ("mptcp", "lowest-rtt"),
    "copies": ("mptcp", "redundant"),
    "tcp": ("tcp", "lowest-rtt"),
    "cmt-sctp": ("cmt-sctp", "round-robin"),
}


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Captured]:
    runs = {}
    for name, (protocol, scheduler) in RUNS.items():
        folder = tmp_path_factory.mktemp(name)
        result = plait.run(scenario(protocol, scheduler), packets=True, pcap=folder)
        runs[name] = Captured(result, folder / f"{protocol}-{scheduler}")
    return runs


@pytest.fixture(params=RUNS)
def run(request: pytest.FixtureRequest, captured: dict[str, Captured]) -> Captured:
    return captured[request.param]


@needs_tshark
def test_nothing_is_malformed_and_every_checksum_is_right(run: Captured) -> None:
    for side in run.sides.values():
        for frame in (frame for path in side for frame in path):
            assert (frame["_ws.malformed"], frame["_ws.short"]) == ("", ""), frame
            assert frame["ip.checksum.status"] == GOOD, frame
            whole = frame["sctp.checksum.status"] or not is_data(frame)
            status = frame["sctp.checksum.status"] or frame["tcp.checksum.status"]
            assert status == (GOOD if whole else UNVERIFIED), frame


@needs_tshark
def test_checksums_of_payload_are_those_of_zeros(captured: dict[str, Captured], tmp_path: Path) -> None:
    file = captured["mptcp"].folder / "lte-sender.pcapng"
    cut, filled = tmp_path / "cut.pcap", tmp_path / "filled.pcap"
    tshark(file, "-F", "nsecpcap", "-w", str(cut))
    filled.write_bytes(b"".join(with_payload(cut.read_bytes())))
    found = frames(filled)
    assert len(found) == len(captured["mptcp"].sides["sender"][1])
    assert {frame["tcp.checksum.status"] for frame in found} == {GOOD}


def with_payload(file: bytes) -> Iterator[bytes]:
    """Yields a capture with every packet padded to its length on the wire."""
    yield file[:24]
    place = 24
    while place < len(file):
        seconds, part, stored, length = struct.unpack_from("<IIII", file, place)
        packet = file[place + 16 : place + 16 + stored]
        place += 16 + stored
        yield struct.pack("<IIII", seconds, part, length, length) + packet.ljust(length, b"\0")


@needs_tshark
def test_each_transmission_is_there_at_its_time(run: Captured) -> None:
    packets = run.result.packets
    for index in range(len(run.result.paths)):
        rows = packets.filter(packets["path"] == index)
        times = [piece.time for piece in run.pieces("sender") if piece.path == index]
        assert times == rows["sent_ns"].sort().to_list()
        # The table has the first arrival of a segment; the capture also has later duplicates.
        arrived = {piece.time for piece in run.pieces("receiver") if piece.path == index}
        assert arrived.issuperset(rows["arrived_ns"].drop_nulls().to_list())


@needs_tshark
def test_counts_are_our_metrics(run: Captured) -> None:
    metrics, paths = run.result.metrics, run.result.paths
    is_sctp = run.result.scenario == "cmt-sctp"
    subflows: set[tuple[int, int]] = set()
    stream: set[int] = set()
    again, copies, judged = [0] * len(paths), 0, [0] * len(paths)
    for piece in run.pieces("sender"):
        number = (0 if is_sctp else piece.path, piece.start)
        again[piece.path] += number in subflows
        copies += number not in subflows and piece.offset in stream
        judged[piece.path] += piece.judged
        subflows.add(number)
        stream.add(piece.offset)
    assert again == [path["retransmissions"] for path in paths]
    assert sum(again) == metrics["retransmissions"] > 5
    assert copies == metrics["reinjections"]
    if not is_sctp:
        assert judged == again, "tshark's own analysis"

    seen: set[int] = set()
    fresh = [0] * len(paths)
    received = run.pieces("receiver")
    lengths = {piece.offset: piece.bytes for piece in received}
    for piece in received:
        if piece.offset not in seen:
            fresh[piece.path] += piece.bytes
        seen.add(piece.offset)
    seconds = metrics["measured_s"]
    assert [total * 8 / seconds for total in fresh] == [path["throughput_bps"] for path in paths]

    place, delivered = min(stream), 0
    while place in seen:
        delivered += lengths[place]
        place += 1 if is_sctp else lengths[place]
    assert delivered == metrics["delivered_bytes"]

    for index, path in enumerate(paths):
        left = sum(is_data(frame) for frame in run.sides["sender"][index])
        came = sum(is_data(frame) for frame in run.sides["receiver"][index])
        assert left == path["packets_sent"]
        on_the_way = sum(piece.path == index and piece.time > 1.8e9 for piece in run.pieces("sender"))
        assert 0 <= left - came - path["packets_lost"] - (path["packets_dropped"] or 0) <= on_the_way


def test_copies_are_there_to_be_counted(captured: dict[str, Captured]) -> None:
    assert captured["copies"].result.metrics["reinjections"] > 100


@needs_tshark
@pytest.mark.parametrize("protocol", ["mptcp", "tcp", "cmt-sctp"])
def test_requests_go_one_way_and_responses_the_other(
    protocol: Literal["mptcp", "tcp", "cmt-sctp"], tmp_path: Path
) -> None:
    workload = plait.RequestResponse(response="20kB", request="3kB", think="10ms")
    asked = dataclasses.replace(scenario(protocol, "lowest-rtt"), workload=workload)
    result = plait.run(asked, packets=True, pcap=tmp_path)
    run = Captured(result, tmp_path / f"{protocol}-lowest-rtt")
    answered = result.requests.drop_nulls("delivered_ns")
    assert len(answered) > 5
    sent: dict[bool, set[tuple[int, int, int]]] = {True: set(), False: set()}
    for path, side in enumerate(run.sides["sender"]):
        for frame in side:
            assert (frame["_ws.malformed"], frame["_ws.short"]) == ("", ""), frame
            if is_data(frame):
                found = piece(frame, path)
                where = path if protocol == "tcp" else 0
                sent[frame["ip.src"].endswith(".1")].add((where, found.offset, found.bytes))
    responses, requests = (sum(part[2] for part in sent[near]) for near in (True, False))
    # The last request or response may still be in flight.
    assert 0 <= responses - 20_000 * len(answered) <= 20_000
    assert 0 <= requests - 3_000 * len(answered) <= 3_000


@needs_tshark
def test_both_subflows_are_one_connection(captured: dict[str, Captured], tmp_path: Path) -> None:
    both = tmp_path / "sender.pcapng"
    folder = captured["mptcp"].folder
    files = [str(folder / f"{name}-sender.pcapng") for name in ("wifi", "lte")]
    subprocess.run(["mergecap", "-w", str(both), *files], check=True)
    found = frames(both, ("mptcp.stream", "mptcp.analysis.subflows", "mptcp.dss.dsn", "tcp.len"))
    # The first SYN has no key: only the SYN-ACK tells tshark the connection.
    assert [frame["mptcp.stream"] for frame in found] == ["", *["0"] * (len(found) - 1)]
    assert found[-1]["mptcp.analysis.subflows"].split() in (["0", "1"], ["1", "0"])
    numbers = [int(frame["mptcp.dss.dsn"]) for frame in found if frame["tcp.len"] not in ("", "0")]
    # From the keys of the handshake tshark derives the start of the stream: byte 1.
    assert min(numbers) == 1
    assert {(number - 1) % 1428 for number in numbers} == {0}


@needs_tshark
def test_mappings_have_right_checksums(captured: dict[str, Captured]) -> None:
    fields = ("ip.src", "tcp.len", "tcp.options", "mptcp.expected_idsn")
    found = frames(captured["mptcp"].folder / "wifi-sender.pcapng", fields)
    # tshark derives the initial data sequence number from the sender's key.
    keys = [frame for frame in found if frame["mptcp.expected_idsn"] and frame["ip.src"] == "10.0.0.1"]
    first = int(keys[0]["mptcp.expected_idsn"])
    checked = 0
    for frame in found:
        if frame["tcp.len"] in ("", "0"):
            continue
        # After the timestamps: kind, length, subtype, flags, data ACK;
        # then data sequence number, subflow sequence number, length, checksum.
        mapping = bytes.fromhex(frame["tcp.options"])[12:]
        assert (mapping[:4], len(mapping)) == (bytes([30, 20, 0x20, 0b0101]), 20)
        (low,) = struct.unpack(">I", mapping[8:12])
        number = first + ((low - first) & 0xFFFFFFFF)
        words = struct.unpack(">8H", struct.pack(">Q", number) + mapping[12:])
        total = sum(words)
        while total > 0xFFFF:
            total = (total & 0xFFFF) + (total >> 16)
        assert total == 0xFFFF
        checked += 1
    assert checked > 500


@needs_tshark
def test_handshakes(captured: dict[str, Captured]) -> None:
    chunks = [frame["sctp.chunk_type"] for frame in captured["cmt-sctp"].sides["receiver"][0]]
    assert chunks[:5] == ["1", "2", "10", "11", "0"]
    for name in ("mptcp", "tcp"):
        for path in captured[name].sides["receiver"]:
            assert [frame["tcp.flags.syn"] for frame in path[:4]] == ["1", "1", "0", "0"]
            made_up = [bool(frame["frame.comment"]) for frame in path]
            assert (made_up[:4], sum(made_up)) == ([False, False, True, False], 1)


@needs_tshark
def test_a_file_says_what_it_is(captured: dict[str, Captured]) -> None:
    done = subprocess.run(
        ["capinfos", str(captured["mptcp"].folder / "lte-receiver.pcapng")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "scenario mptcp, scheduler lowest-rtt, seed 1" in done.stdout
    assert "Name = lte" in done.stdout
    assert "the receiver's end of path lte (simulated)" in done.stdout
