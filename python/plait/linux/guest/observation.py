"""The guest's results for the host: `observed.json` and the files beside it."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .counters import Queues
from .plan import Counter, PathPlan, QueuePlan
from .sockets import Subflow

VERSION = 1
LOG = Path("/sys/kernel/debug/plait")
"""Folder with the schedulers' decisions."""
SAMPLE = struct.Struct("<qIIIIIIII")
"""A sample of a path: time, path, cwnd, ssthresh, srtt (us), segments in flight, unsent bytes,
packets in the queues of its links, padding."""


def sample(now_ns: int, path: int, subflow: Subflow, link_queue: int) -> bytes:
    """Return a record of `series.bin`."""
    window = (subflow.cwnd, subflow.ssthresh, subflow.srtt_us)
    return SAMPLE.pack(now_ns, path, *window, subflow.in_flight, subflow.not_sent_bytes, link_queue, 0)


def scheduler_counts() -> dict[str, int] | None:
    """Return the decisions since the machine's start; None for schedulers that are not Plait's."""
    file = LOG / "counters"
    if not file.exists():
        return None
    lines = (line.split() for line in file.read_text(encoding="ascii").splitlines())
    counts = {name: int(count) for name, count in lines}
    unrecorded = counts.pop("dropped")
    return {"decisions": sum(counts.values()), "waits": counts["wait"], "unrecorded": unrecorded}


class DecisionLog:
    """Moves the log out of the kernel, which has little space for it."""

    def __init__(self, file: Path) -> None:
        self._from = (LOG / "decisions").open("rb", buffering=0)
        self._to = file.open("wb", buffering=0)

    def drain(self) -> None:
        """Move all available entries."""
        while chunk := self._from.read(1 << 20):
            self._to.write(chunk)


def path_counts(path: PathPlan, queues: Queues) -> dict[str, int]:
    """Return the packets that a path's links dropped and lost so far."""

    def total(counters: Sequence[Counter]) -> int:
        return sum(
            queues[one.namespace][one.device].drops for one in counters if one.device in queues[one.namespace]
        )

    return {"lost": total(path.lost), "dropped": total(path.dropped)}


def queue_counts(queue: QueuePlan, queues: Queues) -> dict[str, int]:
    """Return the packets that an active queue marked and dropped so far."""
    counted = queues[queue.place.namespace][queue.place.device]
    return {"marked": counted.marks, "dropped": counted.drops, "over_limit": counted.over_limit}


def waiting(path: PathPlan, queues: Queues) -> int:
    """Return the number of packets in the queues of a path's links."""
    return sum(queues[one.namespace][one.device].packets for one in path.dropped)


def write_json(file: Path, document: Mapping[str, Any]) -> None:
    """Write the file completely or not at all: for the host its existence means success."""
    temporary = file.with_suffix(".part")
    temporary.write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")
    temporary.rename(file)
