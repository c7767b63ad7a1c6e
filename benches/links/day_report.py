"""Results of a day: joins the files of `day_ends.py` with the phases of `day.py`."""

from __future__ import annotations

import itertools
import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from day_ends import FIRST_BULK, NEAR_RESETS

GOAL = 0.5
"""Longest allowed time in seconds without an answer of the interactive flow."""
WARM = 60
"""Seconds after which the memory of a process counts."""
Memory = list[tuple[float, dict[str, tuple[int, int]]]]
"""Samples: the time, and for each end its process and that process's resident bytes."""


@dataclass
class Phase:
    """A part of the day, with its load and its event."""

    name: str
    seconds: float
    load: bool = True
    bulk: bool = False
    begin: Callable[[], None] | None = None
    end: Callable[[], None] | None = None
    restarts: bool = False
    goal: bool = True
    """Whether the interactive flow must continue without a long gap."""
    at: float = 0.0
    event: tuple[float, float] | None = None
    """Begin and end of the event."""

    @property
    def until(self) -> float:
        return self.at + self.seconds


def percentile(values: list[float], percent: int) -> float | None:
    return round(sorted(values)[(len(values) - 1) * percent // 100], 4) if values else None


class Flow:
    """Times of a flow's messages and of their answers."""

    def __init__(self, file: Path) -> None:
        told = json.loads(file.read_text())
        self.times: list[tuple[float, float | None]] = [(sent, came) for sent, came in told["times"]]
        self.sends = [sent for sent, _ in self.times]
        self.came = sorted(came for _, came in self.times if came is not None)
        self.broken: list[float] = told["broken"]

    def sent(self, begin: float, end: float) -> list[tuple[float, float | None]]:
        return [one for one in self.times if begin <= one[0] < end]

    def waits(self, begin: float, end: float) -> list[float]:
        return [came - sent for sent, came in self.sent(begin, end) if came is not None]

    def lost(self, begin: float, end: float) -> int:
        return sum(came is None for _, came in self.sent(begin, end))

    def gap(self, begin: float, end: float) -> float:
        """Return the longest time without an answer that overlaps this period."""
        return round(
            max((after - before for before, after in self.pairs(self.came, begin, end)), default=end - begin),
            3,
        )

    def stall(self, begin: float, end: float) -> float:
        """Return the longest delay of this program between two messages, caused by the machine."""
        return round(
            max((after - before for before, after in self.pairs(self.sends, begin, end)), default=0.0), 3
        )

    @staticmethod
    def pairs(times: list[float], begin: float, end: float) -> Iterator[tuple[float, float]]:
        """Yield pairs of successive times that overlap this period."""
        return (pair for pair in itertools.pairwise(times) if pair[1] >= begin and pair[0] < end)

    def back(self, moment: float) -> float:
        """Return the time of the first answer to a message that was sent after the moment."""
        return min((came for sent, came in self.times if came is not None and sent > moment), default=moment)


class Report:
    """All results of a day."""

    def __init__(self, phases: list[Phase], samples: Memory, files: dict[str, int], folder: Path) -> None:
        self.phases, self.samples, self.files = phases, samples, files
        self.talk, self.tunnel = Flow(folder / "talk"), Flow(folder / "tunnel")
        lines = [json.loads(line) for line in (folder / "load").read_text().splitlines()]
        far = [json.loads(line) for line in (folder / "origin").read_text().splitlines()]
        heard = {line["number"]: line for line in far}
        self.restarts = []
        for phase in phases:
            if phase.event and phase.restarts:
                breaks = [at for at in self.talk.broken if phase.event[0] <= at < phase.until]
                self.restarts.append((phase.event[0], self.talk.back(max([phase.event[1], *breaks])) + 1))
        for line in lines:
            other = heard.get(line["number"], {"to": 0, "outcome": None})
            line["outcome"] = verdict(line, other["outcome"])
            # The near end's program may finish before the last bytes have arrived.
            until = max(line["to"], other["to"])
            line["restarted"] = any(line["from"] < end and until > begin for begin, end in self.restarts)
        self.connections = [line for line in lines if line["number"] < FIRST_BULK]
        self.bulk = [line for line in lines if line["number"] >= FIRST_BULK]

    def disturbed(self, moment: float) -> bool:
        events = [phase.event for phase in self.phases if phase.event] + self.restarts
        return any(begin - 0.5 <= moment < end + 1.5 for begin, end in events)

    def phase(self, phase: Phase) -> dict[str, Any]:
        begin, end = phase.at, phase.until
        waits = self.talk.waits(begin, end)
        told: dict[str, Any] = {"phase": phase.name, "seconds": phase.seconds}
        told["interactive"] = {f"p{percent}": percentile(waits, percent) for percent in (50, 95, 99, 100)}
        told["interactive"]["unanswered"] = self.talk.lost(begin, end)
        told["gap"] = self.gap(phase)
        told["stall"] = self.stall(phase)
        sent = self.tunnel.sent(begin, end)
        told["datagrams"] = {"sent": len(sent), "lost": self.tunnel.lost(begin, end)}
        told["datagrams"]["gap"] = self.tunnel.gap(phase.event[0] if phase.event else begin, end)
        lines = [line for line in self.connections if begin <= line["from"] < end]
        told["connections"] = dict(Counter(line["outcome"] for line in lines))
        if phase.bulk:
            lines = [line for line in self.bulk if begin <= line["from"] < end]
            told["bulk"] = dict(Counter(line["outcome"] for line in lines))
            told["bulk"]["megabits"] = round(
                sum(line["up"] + line["down"] for line in lines) * 8e-6 / phase.seconds, 1
            )
        return told

    def gap(self, phase: Phase) -> float:
        """Return the gap of the interactive flow, from the event on."""
        return self.talk.gap(phase.event[0] if phase.event else phase.at, phase.until)

    def stall(self, phase: Phase) -> float:
        """Return the longest delay of one of the flows' programs, caused by the machine."""
        begin = phase.event[0] if phase.event else phase.at
        return max(flow.stall(begin, phase.until) for flow in (self.talk, self.tunnel))

    def gaps(self) -> dict[str, list[float]]:
        """Return the gaps of each kind of event, in the order of the events."""
        gaps: dict[str, list[float]] = {}
        for phase in self.phases:
            if phase.event:
                gaps.setdefault(phase.name, []).append(self.gap(phase))
        return gaps

    def memory(self, end: str) -> dict[str, Any]:
        """Return medians by thirds in MB, for the longest-lived process after its first minute."""
        samples = [(at, *known[end]) for at, known in self.samples]
        ((longest, _),) = Counter(pid for _, pid, _ in samples).most_common(1)
        life = [(at, size / 1e6) for at, pid, size in samples if pid == longest and size]
        kept = [size for at, size in life if at >= life[0][0] + WARM] or [size for _, size in life]
        third = max(len(kept) // 3, 1)
        parts = [kept[:third], kept[third : 2 * third] or kept, kept[2 * third :] or kept]
        return {"thirds": [round(statistics.median(part), 2) for part in parts], "most": round(max(kept), 2)}

    def summary(self) -> dict[str, Any]:
        bad = [line for line in self.connections if not line["restarted"] and line["outcome"] != "same"]
        met = Counter(line["outcome"] for line in self.connections if line["restarted"])
        gaps = [self.gap(phase) for phase in self.phases if phase.event and phase.goal]
        return {
            "connections": len(self.connections),
            "megabytes": round(sum(line["up"] + line["down"] for line in self.connections) / 1e6),
            "without restart": dict(
                Counter(one["outcome"] for one in self.connections if not one["restarted"])
            ),
            "failed without restart": bad[:20],
            "with restart": dict(met),
            "files": self.files,
            "gaps": {
                "events": len(gaps),
                "median": percentile(gaps, 50),
                "p95": percentile(gaps, 95),
                "worst": max(gaps, default=None),
                "above goal": sum(gap > GOAL for gap in gaps),
            },
            "gaps by event": self.gaps(),
            "stalls of the machine": sorted((self.stall(phase) for phase in self.phases), reverse=True)[:10],
            "interactive p95": {
                "quiet": percentile(self.waits(lambda phase: phase.name == "quiet"), 95),
                "beside bulk": percentile(self.waits(lambda phase: phase.bulk), 95),
                "beside connections": percentile(
                    self.waits(lambda phase: phase.load and not phase.event), 95
                ),
            },
            "datagrams": self.datagrams(),
            "memory": {end: self.memory(end) for end in ("near", "far")},
        }

    def waits(self, which: Callable[[Phase], bool]) -> list[float]:
        return [
            wait for phase in self.phases if which(phase) for wait in self.talk.waits(phase.at, phase.until)
        ]

    def datagrams(self) -> dict[str, Any]:
        counts = Counter((self.disturbed(sent), came is None) for sent, came in self.tunnel.times)
        return {
            "undisturbed": {"sent": counts[False, False] + counts[False, True], "lost": counts[False, True]},
            "at events": {"sent": counts[True, False] + counts[True, True], "lost": counts[True, True]},
            "twice": len(self.tunnel.broken),
        }


def verdict(line: dict[str, Any], heard: str | None) -> str:
    """Return the outcome from both ends, because the near end cannot see every silent loss."""
    if heard in ("short", "wrong"):
        return f"{heard} at the far end"
    if line["kind"] == NEAR_RESETS or line["outcome"] != "same" or heard == "same":
        return str(line["outcome"])
    return f"{heard or 'unheard'} at the far end"
