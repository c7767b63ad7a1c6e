"""What the guest hands back to the host: `observed.json` and the files beside it."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .plan import Counter, PathPlan
from .sockets import Subflow

VERSION = 1
LOG = Path("/sys/kernel/debug/plait")
"""Where the schedulers show what they decided."""
SAMPLE = struct.Struct("<qIIIIIQ")
"""A sample of a path: time, path, srtt (us), cwnd, ssthresh, in flight (segments), not sent (bytes)."""


def sample(now_ns: int, path: int, subflow: Subflow) -> bytes:
    """A record of `series.bin`."""
    amounts = (subflow.srtt_us, subflow.cwnd, subflow.ssthresh, subflow.in_flight, subflow.not_sent_bytes)
    return SAMPLE.pack(now_ns, path, *amounts)


def scheduler_counts() -> dict[str, int] | None:
    """Decisions by kind since the machine started; None if the scheduler is not one of ours."""
    file = LOG / "counters"
    if not file.exists():
        return None
    lines = (line.split() for line in file.read_text(encoding="ascii").splitlines())
    return {name: int(count) for name, count in lines}


class DecisionLog:
    """Moves the log out of the kernel, where it has little room."""

    def __init__(self, file: Path) -> None:
        self._from = (LOG / "decisions").open("rb", buffering=0)
        self._to = file.open("wb", buffering=0)

    def drain(self) -> None:
        """All that is there."""
        while chunk := self._from.read(1 << 20):
            self._to.write(chunk)


def path_counts(path: PathPlan, drops: Mapping[str, Mapping[str, int]]) -> dict[str, int] | None:
    """What a path dropped and lost so far; None if its links carry others' packets too."""

    def total(counters: Sequence[Counter]) -> int:
        return sum(drops[one.namespace].get(one.device, 0) for one in counters)

    return {"lost": total(path.lost), "dropped": total(path.dropped)} if path.counted else None


def write_json(file: Path, document: Mapping[str, Any]) -> None:
    """Whole or not at all: the host takes the file's being there as the sign of success."""
    temporary = file.with_suffix(".part")
    temporary.write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")
    temporary.rename(file)
