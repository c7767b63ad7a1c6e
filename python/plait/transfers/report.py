"""Reports of a transfer: its progress and its result."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PathProgress:
    """The progress of a path.

    name: at the sender the local address, followed by ``%INTERFACE`` if the path is bound to one;
        at the receiver the path's number.
    usable: whether it carries data now.
    bytes: payload bytes so far; at the sender all that left, copies included, at the receiver those
        that arrived first on this path.
    rate_bps: rate of these bytes since the last report (half a second ago), in bit/s.
    srtt_s: smoothed round-trip time in seconds; None before the first sample, and at the receiver.
    trouble: reason for which the path carries no data, if known.
    """

    name: str
    usable: bool
    bytes: int
    rate_bps: float
    srtt_s: float | None
    trouble: str | None


@dataclass(frozen=True)
class MeasuredPath:
    """The measured properties of a path under load, as input of the simulator.

    name: as in `PathProgress`. rate_bps: its rate while busy, in bit/s of IP packets; unless
    `busy`, it was never busy for long, and may deliver more. rtt_s, srtt_s: the smallest round-trip
    time, and the smoothed one, in seconds. loss: share of lost packets, from 0 to 1, without those
    dropped by a full queue. queue_s: longest wait of packets in the queue; if it `overflowed`, the
    size of the queue. packets: number of acknowledged packets.
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
    """A change of the scheduler during a transfer with ``scheduler="auto"``.

    seconds: since the transfer began. before, after: the scheduler until then, and from then on.
    gain_percent: gain of goodput in the simulator, in percent. gain_low_percent, gain_high_percent:
    bounds of its 95 % interval, in percent. seeds: number of runs of each. paths: the measured
    paths. reason: these facts in words.
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
    """The progress of a transfer, reported twice a second.

    file: its name. bytes: bytes of the file that have arrived, as far as this end knows. size:
    bytes of the whole file. seconds: since the first packet. paths: see `PathProgress`. changes:
    changes of the scheduler since the last report.
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
    """The part of a path in a transfer; see `PathProgress`.

    bytes: payload bytes that left, copies included. srtt_s: smoothed round-trip time in seconds,
    None without a sample. opened: number of times that its connection was opened.
    """

    name: str
    bytes: int
    srtt_s: float | None
    opened: int
    trouble: str | None


@dataclass(frozen=True)
class Sent:
    """Files that the receiver has completely.

    files: number of files. bytes: their size in bytes. resumed_bytes: bytes that the receiver
    already had. sha256: hash of the content of a single file, confirmed by the receiver. skipped:
    links and devices in a folder, which are not sent. seconds: from the first packet to the
    receiver's confirmation. retransmissions, reinjections: packets sent again after a loss, and
    copies by the scheduler. unrecorded: reason for an incomplete recording, if one was wanted.
    changes: changes of the scheduler.
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
        """Bits of the file per second, without those that the receiver already had."""
        return (self.bytes - self.resumed_bytes) * 8 / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Received:
    """A file or folder that arrived, or did not.

    path: its place; None if it did not arrive, for the reason in `error`. kept_bytes: bytes kept
    from the beginning of a failed file, from which a later transfer of it continues. files: number
    of files. bytes: their size in bytes. sha256: hash of the content of a single file.
    resumed_bytes: bytes that were there before. seconds: from the first path to the last byte.
    paths: bytes that arrived first on each path. longest_gap_s: longest time, in seconds, without
    in-order delivery. client: the client's name, None if clients share one secret. address: the
    sender's address.
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
"""A function that gets the progress of a transfer. An exception that it raises ends the transfer
and passes through."""


def progress_of(data: dict[str, Any]) -> TransferProgress:
    """Convert the core's event into a report of progress."""
    paths = tuple(PathProgress(**path) for path in data["paths"])
    changes = tuple(map(change_of, data["changes"]))
    return TransferProgress(data["file"], data["bytes"], data["size"], data["seconds"], paths, changes)


def change_of(data: dict[str, Any]) -> SchedulerChange:
    """Convert the core's event into a change of the scheduler."""
    known = {key: value for key, value in data.items() if key != "event"}
    return SchedulerChange(**{**known, "paths": tuple(MeasuredPath(**path) for path in data["paths"])})


def heard_by(progress: Watcher | None) -> Callable[[str], None] | None:
    """Return the function that passes the core's events to a watcher of progress."""
    return None if progress is None else lambda text: void(progress(progress_of(json.loads(text))))


def void(_answer: object) -> None:
    """Discard the return value of a callback."""


def sent_of(text: str) -> Sent:
    """Convert the core's result of a finished transfer."""
    data = json.loads(text)
    for known in ("event", "scheduler", "goodput_bps", "failed"):
        del data[known]
    paths = tuple(SentPath(**path) for path in data["paths"])
    changes = tuple(map(change_of, data["changes"]))
    return Sent(**{**data, "paths": paths, "skipped": tuple(data["skipped"]), "changes": changes})


def received_of(data: dict[str, Any]) -> Received:
    """Convert the core's event for a file that arrived, or failed to."""
    if data["event"] == "failed":
        parts = data["kept_bytes"]
        return Received(data["file"], None, data["error"], parts, client=data["client"], address=data["from"])
    known = {key: value for key, value in data.items() if key not in ("event", "from")}
    where = {"path": Path(data["path"]), "paths": tuple(data["paths"]), "address": data["from"]}
    return Received(**{**known, **where})
