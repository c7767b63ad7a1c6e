"""Properties of links, estimated from the sender's record: its packets and their acknowledgements.

A path's **delay** is its smallest round trip. While a packet is sent before the one ahead of it can have left the
link, the link is busy, and the time between their acknowledgements is the packet's transmission: that is the **rate**.
The **queue** is the longest that a packet waited; if nothing was lost there, it was not full, and twice as much is
taken. **Losses** beside a queue that was not nearly full are the wire's, and come in bursts if they did. A path that
lost everything for a while was **cut**. A rate that changed is told in steps.

Amounts are those of the simulator's packets, which are smaller than real ones: the rate of the file stays the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SECOND = 1e9
AT_ONCE = 1_000_000
"""Nanoseconds that a receiver may say that it waited, for a round trip to count as the smallest: more is rough."""
STEP = 0.25
"""Seconds for which a rate is averaged where it changes."""
CHANGES = 1.25
"""How much more the ninth tenth of these averages is than the first, for the rate to be told in steps."""
SAME = 0.01
"""Rates one after the other that differ by a smaller share are told as one."""
LEAST_BUSY = 20
"""Groups of packets that a link must have been busy with, for its rate to be known from them."""
FULL = 0.6
"""A queue with more than this share of its longest wait may be full."""
LONG = 0.99
"""The share of waits that count; longer ones may be other work of the machine."""
LEAST_RUNS = 5
"""Losses, each of a packet or several in a row, that tell whether they come in bursts."""
DROPS = 3.0
"""The ratio of losses among packets that waited long to those among others, if a queue drops packets."""
BURST = 1.5
"""Mean packets of these from which on they do."""
DARK = 0.3
"""Seconds without anything acknowledged that was sent, from which on a path was cut."""
LOST_IN_DARK = 3
"""Packets that a cut takes at least."""
LEAST_TIME = 1e-6
"""Seconds: the resolution of a scenario made of measurements, and its shortest delay. A scenario has no zero delay."""
RATES = (1e3, 1e12)
"""The lowest and highest rate of such a scenario in bit/s."""
MOST_LOST = 0.99
"""The largest share of losses of such a scenario. A path that loses all packets is one with an outage."""
MOST_PACKETS = 1_000_000
"""The longest queue of such a scenario."""


@dataclass(frozen=True)
class Measured:
    """Properties of a path's link.

    rate_bps: of the simulator's packets. steps: seconds and rates from then on. delay_s: there and back, without the
    time that packets take to be transmitted. queue: packets in it at most. full: whether that was reached. loss: the
    share that the wire lost; burst: how many in a row. cuts: from and to, in seconds.
    """

    rate_bps: float
    steps: tuple[tuple[float, float], ...]
    delay_s: float
    queue: int
    full: bool
    loss: float
    burst: float
    cuts: tuple[tuple[float, float], ...]

    def table(self, name: str) -> dict[str, Any]:
        """The path of a scenario."""
        path: dict[str, Any] = {
            "name": name,
            "rate": _rate(self.rate_bps),
            "rtt": _time(max(self.delay_s, LEAST_TIME)),
            "queue": f"{min(self.queue, MOST_PACKETS)}p",
        }
        if self.steps:
            path["rate_steps"] = [{"at": _time(at), "rate": _rate(rate)} for at, rate in self.steps]
        if self.loss:
            path["loss"] = _loss(self.loss, self.burst)
        if self.cuts:
            path["outages"] = [{"from": _time(begin), "to": _time(end)} for begin, end in self.cuts]
        return path


def measured(sent: pl.DataFrame, packet: int, segment: int, end: float) -> Measured | None:
    """The link of a path; None if nothing that was sent there was acknowledged.

    Args:
        sent: the path's rows of `plait._core.Recording.transmissions`.
        packet: bytes of the simulator's packets.
        segment: payload bytes of a full one.
        end: seconds from the beginning to the end.
    """
    table = _Table.of(sent)
    if not table.came.any():
        return None
    groups = _Groups.of(table)
    scale = 8 * packet / segment
    rate, spans = _rates(groups, table, scale)
    cuts = tuple(_cuts(table, end))
    longest, full = _longest_wait(table, cuts)
    loss, burst = _losses(table, longest, cuts)
    rate = _within_bounds(rate / (1 - loss))
    took = packet * 8 / rate
    steps = _steps(spans, groups, scale, rate, table.smallest, end)
    if steps:
        rate, steps = steps[0][1], steps[1:]
    least = _least(table, took)
    queue = round(longest / took) + least
    return Measured(
        rate_bps=rate,
        steps=tuple(steps),
        delay_s=max(table.smallest - least * took, 0.0),
        queue=max(queue if full else 2 * queue, 2),
        full=full,
        loss=loss,
        burst=burst,
        cuts=cuts,
    )


@dataclass(frozen=True)
class _Table:
    """A path's transmissions in the order of sending, in seconds; packets without acknowledgement have no numbers.

    smallest: the smallest round trip. waits: how much longer each one's was. newest: the last of those that one
    acknowledgement told of. gone: lost without a later acknowledgement. wait_before: the wait of the newest
    acknowledged one before each.
    """

    at: Floats
    told: Floats
    bytes: Floats
    came: NDArray[np.bool_]
    newest: NDArray[np.bool_]
    gone: NDArray[np.bool_]
    smallest: float
    waits: Floats
    wait_before: Floats

    @classmethod
    def of(cls, sent: pl.DataFrame) -> _Table:
        at = sent["sent_ns"].to_numpy() / SECOND
        known = sent["acknowledged_ns"].cast(pl.Float64).fill_null(float("nan")).to_numpy() / SECOND
        told = known - sent["waited_ns"].to_numpy() / SECOND
        came = np.isfinite(told)
        at_once = came & (sent["waited_ns"].to_numpy() <= AT_ONCE)
        counted = at_once if at_once.any() else came
        smallest = float(np.min(told[counted] - at[counted], initial=np.inf))
        waits = np.maximum(told - at - smallest, 0.0)
        newest = np.zeros(len(at), dtype=bool)
        places = np.flatnonzero(came)
        if len(places):
            newest[places] = np.append(known[places[1:]] > known[places[:-1]], True)
        return cls(
            at=at,
            told=told,
            bytes=sent["bytes"].to_numpy().astype(float),
            came=came,
            newest=newest,
            gone=sent["lost"].to_numpy() & ~came,
            smallest=smallest,
            waits=waits,
            wait_before=_carried(np.where(newest, waits, np.nan)),
        )


def _carried(values: Floats) -> Floats:
    """Each value, or the last one before that is a number; zero before the first."""
    places = np.maximum.accumulate(np.where(np.isfinite(values), np.arange(len(values)), -1))
    return np.where(places >= 0, values[np.maximum(places, 0)], 0.0)


def _least(table: _Table, took: float) -> int:
    """Packets whose transmission is in the smallest round trip: two if it was acknowledged with another before it."""
    trips = np.abs(np.where(table.newest, table.told - table.at, np.inf) - table.smallest)
    place = int(np.argmin(trips))
    together = place > 0 and bool(table.came[place - 1]) and not table.newest[place - 1]
    return 2 if together and table.at[place] - table.at[place - 1] < took else 1


@dataclass(frozen=True)
class _Groups:
    """Packets that were acknowledged together: when that was told, when the last was sent, payload bytes."""

    told: Floats
    sent: Floats
    bytes: Floats

    @classmethod
    def of(cls, table: _Table) -> _Groups:
        places = np.flatnonzero(table.came)
        number = np.cumsum(np.append(0, table.newest[places][:-1]))
        count = int(number[-1]) + 1
        last = np.flatnonzero(np.append(np.diff(number) > 0, True))
        sizes: Floats = np.bincount(number, weights=table.bytes[places], minlength=count).astype(float)
        return cls(table.told[places][last], table.at[places][last], sizes)


Spans = tuple[Floats, Floats, Floats]
"""Of times in which a link was busy: their beginnings and ends in seconds, and bits."""


def _rates(groups: _Groups, table: _Table, scale: float) -> tuple[float, Spans]:
    """The rate of a link in bit/s of the simulator's packets, and when it was busy."""
    begin, end = groups.told[:-1], groups.told[1:]
    busy = (groups.sent[1:] + table.smallest <= begin) & (end > begin)
    spans = (begin[busy], end[busy], groups.bytes[1:][busy] * scale)
    time = float(np.sum(spans[1] - spans[0]))
    if busy.sum() >= LEAST_BUSY and time > 0:
        return float(np.sum(spans[2])) / time, spans
    # It was never busy for long: it carried this much at least.
    whole = max(float(groups.told[-1] - table.at[0]), table.smallest, LEAST_TIME)
    most = float(np.max(_over(groups, max(table.smallest, LEAST_TIME)), initial=0.0))
    return max(most, float(np.sum(groups.bytes)) / whole) * scale, (begin[:0], end[:0], begin[:0])


def _over(groups: _Groups, span: float) -> Floats:
    """Bytes per second over every time of this length that begins with an acknowledgement."""
    ends = np.searchsorted(groups.told, groups.told + span, side="right")
    sums = np.append(0.0, np.cumsum(groups.bytes))
    found: Floats = (sums[ends] - sums[:-1]) / span
    return found


def _steps(
    spans: Spans, groups: _Groups, scale: float, rate: float, smallest: float, end: float
) -> list[tuple[float, float]]:
    """When the rate changed, the first at zero; empty if it did not.

    Where the link was not busy its rate was as before, or the carried rate if that was more.
    """
    begin, finish, bits = spans
    edges = np.arange(0.0, end + STEP, STEP)
    if len(begin) == 0 or len(edges) < 4:
        return []
    # A packet acknowledged now left the link a way back ago, and had a way there before it.
    busy = _within(begin - smallest, finish - smallest, finish - begin, edges)
    carried = _within(begin - smallest, finish - smallest, bits, edges)
    known = busy > STEP / 4
    if known.sum() < 4:
        return []
    low, high = np.quantile(carried[known] / busy[known], [0.1, 0.9])
    if high <= CHANGES * low:
        return []
    factor = rate / (float(np.sum(bits)) / float(np.sum(finish - begin)))
    least = np.histogram(groups.told - smallest, edges, weights=groups.bytes * scale / STEP)[0]
    steps, last = list[tuple[float, float]](), float(carried[known][0] / busy[known][0])
    for at, is_known, one, span, most in zip(edges[:-1], known, carried, busy, least, strict=True):
        last = float(one / span) if is_known else max(last, float(most))
        told = steps[-1][1] if steps else 0.0
        if abs(last * factor - told) > SAME * told:
            steps.append((float(at), last * factor))
    return steps


def _within(begin: Floats, end: Floats, amount: Floats, edges: Floats) -> Floats:
    """How much of amounts, each spread evenly from its beginning to its end, lies between the edges."""
    sums = np.append(0.0, np.cumsum(amount))
    places = np.clip(np.searchsorted(begin, edges, side="right") - 1, 0, len(begin) - 1)
    share = np.clip((edges - begin[places]) / np.maximum(end[places] - begin[places], 1e-12), 0.0, 1.0)
    return np.diff(np.where(edges < begin[0], 0.0, sums[places] + amount[places] * share))


def _longest_wait(table: _Table, cuts: Sequence[tuple[float, float]]) -> tuple[float, bool]:
    """The longest that a packet waits in the queue, and whether more would have been dropped.

    A queue drops packets that find it full: then more is lost of packets that wait long than of others.
    """
    longest = float(np.quantile(table.waits[table.newest], LONG))
    open_ = ~_during(table.at, cuts)
    gone, before = table.gone & open_, table.wait_before
    if gone.sum() < LEAST_RUNS:
        return longest, False
    likely = min(longest, float(np.quantile(before[gone], 0.75)))
    far = before >= FULL * likely
    high, low = (float((gone & one).sum()) / max(int((open_ & one).sum()), 1) for one in (far, ~far))
    if (gone & far).sum() < LEAST_RUNS or high < DROPS * low:
        return longest, False
    return float(np.median(before[gone & far])), True


def _losses(table: _Table, longest: float, cuts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The share of packets that the wire lost, and how many in a row: of those that met no queue that may be full."""
    counted = (table.wait_before < FULL * longest) & ~_during(table.at, cuts)
    lost, sent = table.gone & counted, int(counted.sum())
    if not lost.any():
        return 0.0, 1.0
    begins = lost & ~np.append(False, table.gone[:-1])
    runs = int(begins.sum())
    burst = float(lost.sum() / runs) if runs >= LEAST_RUNS else 1.0
    return min(float(lost.sum() / sent), MOST_LOST), burst


def _cuts(table: _Table, end: float) -> Iterator[tuple[float, float]]:
    """When nothing got through, from the first packet that was lost to the answer after the last one."""
    changes = np.flatnonzero(np.diff(np.concatenate(([False], table.gone, [False])).astype(int)))
    for first, after in changes.reshape(-1, 2):
        until = float(table.at[after] - table.smallest) if after < len(table.at) else end
        begin = max(float(table.at[first]), 0.0)
        if until - begin > DARK and after - first >= LOST_IN_DARK:
            yield begin, until


def _during(moments: Floats, cuts: Sequence[tuple[float, float]]) -> NDArray[np.bool_]:
    """Which moments are in a cut."""
    found = np.zeros(len(moments), dtype=bool)
    for begin, end in cuts:
        found |= (moments >= begin) & (moments <= end)
    return found


def _loss(share: float, burst: float) -> Any:
    if burst < BURST:
        return f"{100 * share:.4g}%"
    # Both are probabilities.
    to_good = min(1 / burst, (1 - share) / share)
    return {
        "model": "gilbert-elliott",
        "to_bad": f"{100 * to_good * share / (1 - share):.4g}%",
        "to_good": f"{100 * to_good:.4g}%",
    }


def _within_bounds(bps: float) -> float:
    least, most = RATES
    return min(max(bps, least), most)


def _rate(bps: float) -> str:
    return f"{round(_within_bounds(bps) / 1e3)}kbit"


def _time(seconds: float) -> str:
    return f"{max(round(seconds * 1e6), 0)}us"
