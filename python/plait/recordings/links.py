"""Properties of links, estimated from the sender's record: its packets and their acknowledgements.

A path's **delay** is its smallest round-trip time. The link is busy while each packet is sent
before the one ahead of it can have left the link. The time between their acknowledgements is then
the packet's transmission time, which gives the **rate**. The **queue** follows from the longest
wait of a packet. Without losses at that wait, the queue was not full, and its size is doubled.
**Losses** of packets that met no nearly full queue count as losses of the wire; they are in bursts
if several packets in a row were lost. A path that lost everything for a while was **cut**. A rate
that changed is given in steps.

Rates and queues are those of the simulator's packets, which are smaller than real ones: the rate of
the file stays the same.
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
"""Maximum acknowledgement delay of the receiver in nanoseconds, for a round-trip time that may
count as the smallest; longer delays are inexact."""
STEP = 0.25
"""Averaging interval of a changing rate in seconds."""
CHANGES = 1.25
"""Ratio of the 90th to the 10th percentile of these averages above which the rate is given in
steps."""
SAME = 0.01
"""Share below which two consecutive rates count as equal."""
LEAST_BUSY = 20
"""Minimum number of groups of packets in busy times for an estimate of the rate from them."""
FULL = 0.6
"""Share of the longest wait above which the queue may be full."""
LONG = 0.99
"""Share of the waits that count; longer ones may be due to other work of the machine."""
LEAST_RUNS = 5
"""Minimum number of lost packets to find a full queue, and of runs of losses to find bursts."""
DROPS = 3.0
"""Minimum ratio of the loss rate of packets after long waits to that of others, if a queue drops
packets."""
BURST = 1.5
"""Mean length of a run of losses in packets from which on losses come in bursts."""
DARK = 0.3
"""Seconds of a cut must exceed this; no packet sent in that time was acknowledged."""
LOST_IN_DARK = 3
"""Minimum number of packets lost in a cut."""
LEAST_TIME = 1e-6
"""Resolution of a scenario made from measurements in seconds, and its shortest delay. A scenario
has no zero delay."""
RATES = (1e3, 1e12)
"""Lowest and highest rate of such a scenario in bit/s."""
MOST_LOST = 0.99
"""Largest share of losses of such a scenario. A path that loses all packets is one with an
outage."""
MOST_PACKETS = 1_000_000
"""Longest queue of such a scenario in packets."""


@dataclass(frozen=True)
class Measured:
    """Properties of a path's link.

    rate_bps: in bits of the simulator's packets. steps: seconds, and the rate from then on.
    delay_s: round-trip time without the transmission time of packets. queue: maximum packets in the
    queue. full: whether the queue ever was full. loss: share of packets that the wire lost; burst:
    mean number in a row. cuts: from and to, in seconds.
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
        """Return the path's table of a scenario."""
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
    """Estimate the link of a path; None if no packet was acknowledged there.

    Args:
        sent: the path's rows of `plait._core.Recording.transmissions`.
        packet: bytes of the simulator's packets.
        segment: payload bytes of a full packet.
        end: seconds from the beginning to the end of the transfer.
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
    """A path's transmissions in the order of sending, in seconds.

    Values of a packet without acknowledgement are NaN. at: sending time. told: time of the
    acknowledgement, less the receiver's delay. came: whether the packet was acknowledged. newest:
    whether it is the last packet that its acknowledgement reports. gone: lost without a later
    acknowledgement. smallest: smallest round-trip time. waits: excess of each round-trip time over
    the smallest. wait_before: the last known wait before each packet.
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
    """Replace each missing value by the last number before it; by zero before the first."""
    places = np.maximum.accumulate(np.where(np.isfinite(values), np.arange(len(values)), -1))
    return np.where(places >= 0, values[np.maximum(places, 0)], 0.0)


def _least(table: _Table, took: float) -> int:
    """Return the number of packets whose transmission is part of the smallest round-trip time.

    It is two if that packet was acknowledged together with the one before it.
    """
    trips = np.abs(np.where(table.newest, table.told - table.at, np.inf) - table.smallest)
    place = int(np.argmin(trips))
    together = place > 0 and bool(table.came[place - 1]) and not table.newest[place - 1]
    return 2 if together and table.at[place] - table.at[place - 1] < took else 1


@dataclass(frozen=True)
class _Groups:
    """Packets that were acknowledged together.

    told: time of the acknowledgement. sent: sending time of the last packet. bytes: payload bytes.
    """

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
"""Times in which a link was busy: their starts and ends in seconds, and the bits sent."""


def _rates(groups: _Groups, table: _Table, scale: float) -> tuple[float, Spans]:
    """Return the rate of a link in bit/s of the simulator's packets, and its busy times."""
    begin, end = groups.told[:-1], groups.told[1:]
    busy = (groups.sent[1:] + table.smallest <= begin) & (end > begin)
    spans = (begin[busy], end[busy], groups.bytes[1:][busy] * scale)
    time = float(np.sum(spans[1] - spans[0]))
    if busy.sum() >= LEAST_BUSY and time > 0:
        return float(np.sum(spans[2])) / time, spans
    # The link was never busy for long; its rate is at least the carried rate.
    whole = max(float(groups.told[-1] - table.at[0]), table.smallest, LEAST_TIME)
    most = float(np.max(_over(groups, max(table.smallest, LEAST_TIME)), initial=0.0))
    return max(most, float(np.sum(groups.bytes)) / whole) * scale, (begin[:0], end[:0], begin[:0])


def _over(groups: _Groups, span: float) -> Floats:
    """Return bytes per second over each interval of length `span` after an acknowledgement."""
    ends = np.searchsorted(groups.told, groups.told + span, side="right")
    sums = np.append(0.0, np.cumsum(groups.bytes))
    found: Floats = (sums[ends] - sums[:-1]) / span
    return found


def _steps(
    spans: Spans, groups: _Groups, scale: float, rate: float, smallest: float, end: float
) -> list[tuple[float, float]]:
    """Return the changes of the rate, the first at zero; empty if it did not change.

    While the link is not busy, its rate is the last one, or the carried rate if that is higher.
    """
    begin, finish, bits = spans
    edges = np.arange(0.0, end + STEP, STEP)
    if len(begin) == 0 or len(edges) < 4:
        return []
    # An acknowledged packet left the link one way back ago, and was sent one way before that.
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
    """Return the part of amounts between the edges; each amount is spread evenly over its time."""
    sums = np.append(0.0, np.cumsum(amount))
    places = np.clip(np.searchsorted(begin, edges, side="right") - 1, 0, len(begin) - 1)
    share = np.clip((edges - begin[places]) / np.maximum(end[places] - begin[places], 1e-12), 0.0, 1.0)
    return np.diff(np.where(edges < begin[0], 0.0, sums[places] + amount[places] * share))


def _longest_wait(table: _Table, cuts: Sequence[tuple[float, float]]) -> tuple[float, bool]:
    """Return the longest wait of a packet in the queue, and whether a full queue dropped packets.

    A full queue drops arriving packets, so packets that follow long waits are lost more often.
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
    """Return the share of packets that the wire lost, and the mean number in a row.

    Only packets that met no possibly full queue count.
    """
    counted = (table.wait_before < FULL * longest) & ~_during(table.at, cuts)
    lost, sent = table.gone & counted, int(counted.sum())
    if not lost.any():
        return 0.0, 1.0
    begins = lost & ~np.append(False, table.gone[:-1])
    runs = int(begins.sum())
    burst = float(lost.sum() / runs) if runs >= LEAST_RUNS else 1.0
    return min(float(lost.sum() / sent), MOST_LOST), burst


def _cuts(table: _Table, end: float) -> Iterator[tuple[float, float]]:
    """Yield the outages, from the first lost packet to the sending time of the next packet.

    The smallest round-trip time is subtracted from the end. Without a next packet, the end is
    `end`.
    """
    changes = np.flatnonzero(np.diff(np.concatenate(([False], table.gone, [False])).astype(int)))
    for first, after in changes.reshape(-1, 2):
        until = float(table.at[after] - table.smallest) if after < len(table.at) else end
        begin = max(float(table.at[first]), 0.0)
        if until - begin > DARK and after - first >= LOST_IN_DARK:
            yield begin, until


def _during(moments: Floats, cuts: Sequence[tuple[float, float]]) -> NDArray[np.bool_]:
    """Return which moments are in a cut."""
    found = np.zeros(len(moments), dtype=bool)
    for begin, end in cuts:
        found |= (moments >= begin) & (moments <= end)
    return found


def _loss(share: float, burst: float) -> Any:
    if burst < BURST:
        return f"{100 * share:.4g}%"
    # Both values are probabilities.
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
