"""Schedulers that turn actions into decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from plait._core import Assign, Connection, Path, Scheduler, Wait
from plait.gym.facts import Facts, acknowledged


class Agent(Scheduler):
    """A scheduler whose decisions are actions of the environment; override `act`.

    Without an interval, `act` is asked for every decision. An action is the index of a path, which
    takes the next segment; the number of paths means to wait. A path without room means to wait as
    well. With nothing in flight, where no scheduler may wait, the open path of the lowest
    round-trip time takes the segment instead. Where only one decision is possible, it is made
    without asking.

    With an interval, `act` is asked at the first decision of each interval in which a path is open.
    An interval without one has no action: the shares before stay in force. An action is a share
    from 0 to 1 for each path: the path takes new data while its segments in flight are less than
    this share of the receiver's window. The path of the lowest round-trip time goes first, so
    shares of 1 are the scheduler `lowest-rtt`.
    """

    interval: float | None = None
    """Length of an interval in seconds; None asks for every decision."""

    def __init__(self, *, interval: float | None = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        if interval is not None:
            self.interval = interval
        self.facts: Facts | None = None
        self._shares: Sequence[float] = ()
        self._next = 0.0

    def act(self, facts: Facts) -> Any:
        """Return the action: the index of a path, or with an interval a share for each path."""
        raise NotImplementedError

    def decide(self, now: float, connection: Connection, paths: list[Path]) -> Assign | Wait:
        """Ask for an action where one is due, and decide by it."""
        if self.facts is not None and now < self.facts.now:  # an instance may make several runs
            self.facts, self._next = None, 0.0
        before = 0 if self.facts is None else self.facts.acknowledged
        facts = Facts(now, connection, paths, acknowledged(before, connection, paths))
        self.facts = facts
        ready = [path for path in paths if path.open]
        if not ready:
            return Wait()
        may_wait = any(path.in_flight for path in paths)
        if self.interval is None:
            chosen = self._path(facts, ready, may_wait)
        else:
            chosen = self._within_shares(facts, ready, self.interval)
        if chosen is None:
            return Wait() if may_wait else Assign(_fastest(ready).index)
        return chosen

    def _path(self, facts: Facts, ready: Sequence[Path], may_wait: bool) -> Assign | None:
        if len(ready) == 1 and not may_wait:
            return Assign(ready[0].index)
        action = int(self.act(facts))
        if action < len(facts.paths) and facts.paths[action].open:
            return Assign(action)
        return None

    def _within_shares(self, facts: Facts, ready: Sequence[Path], interval: float) -> Assign | None:
        if facts.now >= self._next:
            self._shares = [float(share) for share in self.act(facts)]
            # On a grid: one late action does not move the later ones.
            self._next = (math.floor(facts.now / interval) + 1) * interval
        window = facts.connection.window
        free = {
            path.index: math.ceil(self._shares[path.index] * window) - path.in_flight - path.queued
            for path in ready
        }
        within = [path for path in ready if free[path.index] > 0]
        if not within:
            return None
        best = _fastest(within)
        return Assign(best.index, min(free[best.index], best.room))


def allowed(facts: Facts) -> list[int]:
    """Return 1 for each action of a decision that is carried out as it is, otherwise 0."""
    return [int(path.open) for path in facts.paths] + [int(any(path.in_flight for path in facts.paths))]


def _fastest(paths: Sequence[Path]) -> Path:
    return min(paths, key=lambda path: path.srtt or 0.0)
