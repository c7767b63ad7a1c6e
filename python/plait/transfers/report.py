"""Reports of a transfer: its progress and its result."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PathProgress:
    """How a path stands.

    name: at the sender the local address, with ``%INTERFACE`` behind it where it is bound to one; at the receiver the
        path's number.
    usable: whether it carries data now.
    bytes: payload bytes so far; at the sender those that left, copies included, at the receiver those that came
        first on this path.
    rate_bps: the same since the last report (half a second ago), in bit/s.
    srtt_s: smoothed round trip in seconds; None before there is one, and at the receiver.
    trouble: why it carries nothing, where that is known.
    """

    name: str
    usable: bool
    bytes: int
    rate_bps: float
    srtt_s: float | None
    trouble: str | None


@dataclass(frozen=True)
class MeasuredPath:
    """The measured properties of a path under load, which the simulator gets.

    name: as in `PathProgress`. rate_bps: its rate when it is busy, in bit/s of IP packets; unless `busy` it was never
    seen busy for long, and may deliver more. rtt_s, srtt_s: the smallest round trip, and the smoothed one, in
    seconds. loss: the share of packets that are lost, from 0 to 1, without those that found the queue full. queue_s:
    the longest that packets waited in the queue; if it `overflowed`, that is its size. packets: how many were
    acknowledged.
    """

    name: str
    rate_bps: float
    busy: bool
    rtt_s: float
    srtt_s: float
    loss: float
    queue_s: float
    overflowed: bool
    packets: int


@dataclass(frozen=True)
class SchedulerChange:
    """A scheduler that was put in the place of another one, with ``scheduler="auto"``.

    seconds: since the transfer began. before, after: the scheduler until then, and from then on. gain_percent: how
    much more goodput the simulator found, in percent. gain_low_percent, gain_high_percent: where its 95 % interval
    begins and ends, in percent. seeds: how many runs of each. paths: the measured paths. reason: all that in
    words.
    """

    seconds: float
    before: str
    after: str
    gain_percent: float
    gain_low_percent: float
    gain_high_percent: float
    seeds: int
    paths: tuple[MeasuredPath, ...]
    reason: str


@dataclass(frozen=True)
class TransferProgress:
    """How a transfer stands; told twice a second.

    file: its name. bytes: of it that have arrived, as far as this end knows. size: its bytes in all. seconds: since the
    first packet. paths: see `PathProgress`. changes: of the scheduler since the last time.
    """

    file: str
    bytes: int
    size: int
    seconds: float
    paths: tuple[PathProgress, ...]
    changes: tuple[SchedulerChange, ...] = ()

    @property
    def share(self) -> float:
        """The share of the file that has arrived, from 0 to 1."""
        return self.bytes / self.size if self.size else 1.0


@dataclass(frozen=True)
class SentPath:
    """The part of a path in a file that was sent; see `PathProgress`. opened: how many times its connection was made.

    bytes: payload bytes that left, copies included. srtt_s: smoothed round trip in seconds, None if there was none.
    """

    name: str
    bytes: int
    srtt_s: float | None
    opened: int
    trouble: str | None


@dataclass(frozen=True)
class Sent:
    """Files that the receiver has, whole.

    files: how many. bytes: their size. resumed_bytes: how many of them the receiver had before. sha256: of the
    content of a single file, which the receiver has confirmed. skipped: links and devices in a folder, which are
    not sent. seconds: from the first packet to the receiver's word. retransmissions, reinjections: packets sent
    again after a loss, and copies that the scheduler made. unrecorded: why a recording that was wanted is not
    whole, if it is not. changes: of the scheduler.
    """

    file: str
    bytes: int
    resumed_bytes: int
    sha256: str | None
    seconds: float
    paths: tuple[SentPath, ...]
    retransmissions: int
    reinjections: int
    unrecorded: str | None = None
    changes: tuple[SchedulerChange, ...] = ()
    files: int = 1
    skipped: tuple[str, ...] = ()

    @property
    def goodput_bps(self) -> float:
        """Bits of the file in a second, without those that the receiver had before."""
        return (self.bytes - self.resumed_bytes) * 8 / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Received:
    """A file or folder that arrived, or did not.

    path: where it is; None if it did not arrive, and `error` says why. kept_bytes: the kept beginning of one that
    did not, from which a transfer of the same file continues. files: how many. bytes: their size. sha256: of the
    content of a single file. resumed_bytes: how many of them were there before. seconds: from the first path to the
    last byte. paths: bytes that came first on each path. longest_gap_s: the longest time, in seconds, in which
    nothing could be handed on in order. client: the client's name, None if clients share one secret. address: the
    sender's.
    """

    file: str
    path: Path | None
    error: str | None = None
    kept_bytes: int = 0
    bytes: int = 0
    resumed_bytes: int = 0
    sha256: str | None = None
    seconds: float = 0.0
    paths: tuple[int, ...] = ()
    longest_gap_s: float = 0.0
    files: int = 0
    client: str | None = None
    address: str | None = None


Watcher = Callable[[TransferProgress], object]
"""A function that gets the progress of a transfer. An exception that it raises ends the transfer and passes through."""


def progress_of(data: dict[str, Any]) -> TransferProgress:
    """Of the core's event."""
    paths = tuple(PathProgress(**path) for path in data["paths"])
    changes = tuple(map(change_of, data["changes"]))
    return TransferProgress(data["file"], data["bytes"], data["size"], data["seconds"], paths, changes)


def change_of(data: dict[str, Any]) -> SchedulerChange:
    """Of the core's event."""
    known = {key: value for key, value in data.items() if key != "event"}
    return SchedulerChange(**{**known, "paths": tuple(MeasuredPath(**path) for path in data["paths"])})


def heard_by(progress: Watcher | None) -> Callable[[str], None] | None:
    """The function that the core calls with its events, for a watcher of progress."""
    return None if progress is None else lambda text: void(progress(progress_of(json.loads(text))))


def void(_answer: object) -> None:
    """Nothing, for every answer."""


def sent_of(text: str) -> Sent:
    """Of the core's result."""
    data = json.loads(text)
    for known in ("event", "scheduler", "goodput_bps", "failed"):
        del data[known]
    paths = tuple(SentPath(**path) for path in data["paths"])
    changes = tuple(map(change_of, data["changes"]))
    return Sent(**{**data, "paths": paths, "skipped": tuple(data["skipped"]), "changes": changes})


def received_of(data: dict[str, Any]) -> Received:
    """Of the core's event for a file that arrived, or failed to."""
    if data["event"] == "failed":
        parts = data["kept_bytes"]
        return Received(data["file"], None, data["error"], parts, client=data["client"], address=data["from"])
    known = {key: value for key, value in data.items() if key not in ("event", "from")}
    where = {"path": Path(data["path"]), "paths": tuple(data["paths"]), "address": data["from"]}
    return Received(**{**known, **where})
