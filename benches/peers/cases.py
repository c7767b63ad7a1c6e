"""The cases that both simulators run, from ``cases.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

ACCOUNTINGS = ("outstanding", "buffer")
HEADERS = 32  # IPv4 and SCTP
CHUNK_HEADER = 16
NUDGE = 0.002  # share of the round-trip time that varies in the runs of a sensitive case


class PeerError(Exception):
    """ns-2 is missing, failed, or cannot run the case."""


@dataclass(frozen=True, slots=True)
class PathSpec:
    """A path with half of the RTT in each direction. Only the forward link queues and loses."""

    rate_bps: int
    rtt_ms: float
    queue_packets: int = 50  # includes the packet in transmission
    loss: float = 0.0


@dataclass(frozen=True, slots=True)
class Case:
    """A round-robin run, or several that differ in the seed or slightly in a round-trip time."""

    name: str
    paths: tuple[PathSpec, ...]
    receive_buffer_bytes: int
    accounting: str = "outstanding"  # or "buffer": data waiting for in-order delivery shrinks the window
    duration_s: float = 100.0
    warmup_s: float = 10.0
    ack_every: int = 1  # 2: delayed SACKs, for every second packet or after 200 ms
    scheduler: str = "round-robin"
    packet_bytes: int = 1500
    seed: int = 1
    tags: tuple[str, ...] = ()
    agent: dict[str, float] = field(default_factory=dict)  # further parameters of ns-2's agent, at both ends
    runs: int = 1
    sensitive: str = ""  # why ns-2 itself gives another result for nearly the same paths
    differs: str = ""  # the known reason why the simulators disagree

    def __post_init__(self) -> None:
        """Reject cases that ns-2 cannot run."""
        where = f"case {self.name!r}"
        if not self.paths:
            raise PeerError(f"{where}: no path")
        if self.accounting not in ACCOUNTINGS:
            raise PeerError(
                f"{where}: accounting {self.accounting!r}, expected one of {', '.join(ACCOUNTINGS)}"
            )
        if self.scheduler != "round-robin":
            raise PeerError(f"{where}: scheduler {self.scheduler!r}, ns-2 has only round-robin")
        if self.ack_every not in (1, 2):
            raise PeerError(f"{where}: ack_every {self.ack_every}, expected 1 or 2")
        if self.packet_bytes % 4 or self.packet_bytes <= HEADERS + CHUNK_HEADER:
            raise PeerError(f"{where}: packet_bytes {self.packet_bytes}, expected a multiple of 4 above 48")
        if not 0 <= self.warmup_s < self.duration_s:
            raise PeerError(
                f"{where}: warmup_s {self.warmup_s} is not within 0 and duration_s {self.duration_s}"
            )
        if self.seed < 1:
            raise PeerError(
                f"{where}: seed {self.seed}, expected 1 or more: ns-2 takes 0 for the time of day"
            )
        if any(path.queue_packets < 2 for path in self.paths):
            raise PeerError(f"{where}: queue_packets below 2, with which ns-2 drops everything")
        if self.runs < 1 or (self.runs > 1) != (self.lossy or bool(self.sensitive)):
            raise PeerError(
                f"{where}: runs {self.runs}, expected more than one if lossy or sensitive, else one"
            )

    @property
    def lossy(self) -> bool:
        """Whether packets are lost at random."""
        return any(path.loss > 0 for path in self.paths)

    def members(self, times: int = 1) -> list[Case]:
        """Return the runs of the case.

        A lossy case has ``times`` as many runs with different seeds. Other cases vary a round-trip
        time.
        """
        if self.runs == 1:
            return [self]
        if self.lossy:
            return [replace(self, seed=self.seed + index) for index in range(times * self.runs)]
        return [self._nudged(1 - NUDGE + 2 * NUDGE * index / (self.runs - 1)) for index in range(self.runs)]

    def _nudged(self, factor: float) -> Case:
        *others, last = self.paths
        return replace(self, paths=(*others, replace(last, rtt_ms=round(last.rtt_ms * factor, 5))))

    @property
    def payload_bytes(self) -> int:
        """Application bytes in one packet."""
        return self.packet_bytes - HEADERS - CHUNK_HEADER


def load_cases(path: Path) -> list[Case]:
    """Read a case file: tables ``[defaults]`` and ``[[case]]`` with the fields of `Case`."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    defaults = document.pop("defaults", {})
    tables = document.pop("case", [])
    if document:
        raise PeerError(f"{path}: unknown table {', '.join(document)}, expected defaults, case")
    cases = []
    for number, table in enumerate(tables, 1):
        try:
            values = defaults | table
            paths = tuple(PathSpec(**spec) for spec in values.pop("paths"))
            values["tags"] = tuple(values.get("tags", ()))
            cases.append(Case(paths=paths, **values))
        except (KeyError, TypeError) as error:
            raise PeerError(f"{path}: case {number} ({table.get('name', 'unnamed')}): {error}") from error
    names = [case.name for case in cases]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise PeerError(f"{path}: more than one case named {', '.join(repeated)}")
    return cases
