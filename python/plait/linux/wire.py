"""Links as queueing disciplines: `tc` lines for bottlenecks and delays, and their changes.

Bottleneck: netem's `rate` sends a packet when its last bit would leave. Its limit counts the packet
in transmission, as a scenario's queue does. The size on the wire is that of the IP packet, so the
Ethernet header counts as an overhead of −14 bytes. netem counts packets alone. Queues in bytes and
in time are therefore converted to packets of the direction's size: full packets if it carries data,
acknowledgements otherwise.

An active discipline needs a bottleneck that dequeues a packet when its transmission begins. HTB
with a bucket of one byte does so, and forwards the packet at that moment. The netem behind it has
the rate and forwards the packet at the end of its transmission, as the simulator does. TBF would
dequeue a packet one packet too early, to learn its size. The device's size table (`stab`) removes
the Ethernet header from the sizes that HTB and the discipline count. Because of the bucket's byte,
the second packet of a busy period leaves the discipline a byte early, before an arrival at that
very moment.

When a rate changes, packets in netem's queue keep their departure times. In the simulator they
leave at the new rate.

Delay: a second netem, with losses and copies. With jitter, or with a decreasing delay, it has an
enormous rate that keeps the order: netem's queues with a rate are first-in first-out. If several
values change, each line contains all values at that time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plait import _core
from plait.linux.guest.plan import Change
from plait.scenarios.units import duration_ns

ETHERNET = 14
FULL = 1500
"""Bytes of a packet for the conversion of an active queue's byte limit to packets."""
ACKNOWLEDGEMENT = 64
"""Bytes of an acknowledgement on the wire, without SACK blocks."""
ENDLESS = 1_000_000_000
"""Packet limit of an unlimited queue."""
KEEP_ORDER = "rate 1000000000000bit"
CUT = "loss random 100%"
MOST_CHANGES = 100_000

Table = Mapping[str, Any]


def queue_packets(queue: str, rate_bps: int, packet: int) -> int:
    """Return a queue's limit in packets of `packet` bytes, including the one in transmission."""
    if queue == "infinite":
        return ENDLESS
    if queue.endswith("p"):
        return min(int(queue[:-1]), ENDLESS)
    try:
        return min(max(1, _core.parse_bytes(queue) // packet), ENDLESS)
    except _core.ScenarioError:
        # A packet is admitted if the packets before it leave in time.
        return min(duration_ns(queue) * rate_bps // (8 * packet * 1_000_000_000) + 1, ENDLESS)


def bottleneck(
    direction: Table, packet: int, place: tuple[str, str], until_ns: int
) -> tuple[str, list[Change]]:
    """Return the `tc` line of a direction's rate and queue, and its changes."""
    namespace, device = place
    first = _core.parse_rate(direction["rate"])

    def line(verb: str, values: Sequence[Any]) -> str:
        rate, queue = values
        limit = queue_packets(queue, first, packet)
        return (
            f"qdisc {verb} dev {device} root netem limit {limit} rate {_core.parse_rate(rate)}bit -{ETHERNET}"
        )

    courses = [course(direction, "rate", until_ns), course(direction, "queue", until_ns)]
    return _lines(line, namespace, courses, until_ns)


def active(direction: Table, place: tuple[str, str], until_ns: int) -> tuple[list[str], list[Change]]:
    """Return the `tc` lines of a direction's rate with an active discipline, and rate changes."""
    namespace, device = place
    first = _core.parse_rate(direction["rate"])

    def line(verb: str, values: Sequence[Any]) -> str:
        rate_bps = _core.parse_rate(values[0])
        bucket = f"htb rate {rate_bps}bit ceil {rate_bps}bit burst 1b cburst 1b quantum 1514"
        return f"class {verb} dev {device} parent 1: classid 1:1 {bucket}"

    added, changes = _lines(line, namespace, [course(direction, "rate", until_ns)], until_ns)
    lines = [
        f"qdisc add dev {device} root handle 1: stab overhead -{ETHERNET} linklayer ethernet htb default 1",
        added,
        f"qdisc add dev {device} parent 1:1 {_discipline(direction, first)}",
    ]
    return lines, changes


def _discipline(direction: Table, rate_bps: int) -> str:
    """Return the discipline's name and parameters for `tc`; parameter names are the scenario's.

    As in the scenario, the limit counts queued packets.
    """
    table = direction["discipline"]
    limit = queue_packets(direction["queue"], rate_bps, FULL)
    words = [table["name"].replace("-", "_"), f"limit {limit}"]
    for key, value in table.items():
        if isinstance(value, bool):
            words.append(key if value else f"no{key}")
        elif isinstance(value, int):
            words.append(f"{key} {value}")
        elif key != "name":
            words.append(f"{key} {_amount(value)}")
    return " ".join(words)


def _amount(text: str) -> str:
    """Format a size in bytes, or a duration in microseconds, which is the resolution of `tc`."""
    try:
        return str(_core.parse_bytes(text))
    except _core.ScenarioError:
        return f"{max(1, duration_ns(text) // 1000)}us"


Course = Sequence[tuple[int, Any]]
"""Times, the first of them 0, with the values that hold from then on."""


def course(direction: Table, what: str, until_ns: int) -> Course:
    """Return the values of a direction's key over time, from its steps."""
    first = (0, direction[what])
    steps = [(duration_ns(step["at"]), step[what]) for step in direction.get(f"{what}_steps", ())]
    if not steps or "repeat" not in direction:
        return [first, *(step for step in steps if step[0] < until_ns)]
    period = duration_ns(direction["repeat"])
    count = -(-until_ns // period)
    if count * (len(steps) + 1) > MOST_CHANGES:
        message = f"{what}_steps: more than {MOST_CHANGES} changes in a run are too many for the linux engine"
        raise _core.ScenarioError(message)
    every = [(base * period + at, value) for base in range(count) for at, value in [first, *steps]]
    return [step for step in every if step[0] < until_ns]


def _lines(
    line: Callable[[str, Sequence[Any]], str], namespace: str, courses: Sequence[Course], until_ns: int
) -> tuple[str, list[Change]]:
    """Return the line of the initial values, and a line for each time at which a value changes."""
    changes = sorted({moment for one in courses for moment, _ in one if moment < until_ns})
    found: list[tuple[int, str]] = []
    places = [0] * len(courses)
    for moment in changes:
        for index, one in enumerate(courses):
            while places[index] + 1 < len(one) and one[places[index] + 1][0] <= moment:
                places[index] += 1
        values = [one[place][1] for one, place in zip(courses, places, strict=True)]
        verb = "change" if found else "add"
        found.append((moment, line(verb, values)))
    (_, added), *later = found
    return added, [Change(at_ns=at, namespace=namespace, line=text) for at, text in later]


def delay(direction: Table, place: tuple[str, str], until_ns: int) -> tuple[str | None, list[Change]]:
    """Return the `tc` line of delay, jitter, loss, copies and outages, and its changes.

    The line is None if the direction has none of these.
    """
    namespace, device = place
    is_active = "discipline" in direction
    keeps = not is_active and _keeps_order(direction)

    def effect(values: Sequence[Any]) -> str:
        delay, loss, rate, cut = values
        transmission = (
            f"rate {_core.parse_rate(rate)}bit -{ETHERNET}" if rate else KEEP_ORDER if keeps else ""
        )
        # If netem both copies and loses a packet, one copy survives. So there are no copies in an
        # outage.
        fate = [CUT] if cut else [_loss(loss), _copies(direction)]
        return " ".join(word for word in (_latency(direction, delay), transmission, *fate) if word)

    def line(verb: str, values: Sequence[Any]) -> str:
        return f"qdisc {verb} dev {device} root netem limit {ENDLESS} {effect(values)}".rstrip()

    windows = outages(direction["outages"], until_ns)
    cuts: list[tuple[int, Any]] = [(0, False)] if not windows or windows[0][0] > 0 else []
    cuts += [edge for begin, end in windows for edge in ((begin, True), (end, False))]
    rates = course(direction, "rate", until_ns) if is_active else [(0, None)]
    courses = [course(direction, "delay", until_ns), course(direction, "loss", until_ns), rates, cuts]
    if all(len(one) == 1 for one in courses) and not effect([one[0][1] for one in courses]):
        return None, []
    return _lines(line, namespace, courses, until_ns)


def _keeps_order(direction: Table) -> bool:
    """Return whether packets would overtake each other although the scenario forbids it."""
    jitter = direction["jitter"]
    if direction.get("reorder") or (isinstance(jitter, Mapping) and jitter["reorder"]):
        return False
    return "delay_steps" in direction or _amount_ns(jitter) > 0


def _amount_ns(jitter: Any) -> int:
    return duration_ns(jitter["amount"] if isinstance(jitter, Mapping) else jitter)


def _latency(direction: Table, delay: str) -> str:
    fixed, jitter = duration_ns(delay), direction["jitter"]
    amount = _amount_ns(jitter)
    if amount == 0:
        return f"delay {_microseconds(fixed)}" if fixed else ""
    if isinstance(jitter, Mapping) and "distribution" in jitter:
        return f"delay {_microseconds(fixed)} {_microseconds(amount)} distribution {jitter['distribution']}"
    # Uniform from 0 to the amount: half the amount, plus or minus half.
    return f"delay {_microseconds(fixed + amount // 2)} {_microseconds(amount - amount // 2)}"


def _copies(direction: Table) -> str:
    return f"duplicate {direction['duplicate']['share']}" if "duplicate" in direction else ""


def _microseconds(nanoseconds: int) -> str:
    """Format a time for `tc`, which accepts no unit below microseconds; its ticks are 64 ns."""
    whole, rest = divmod(nanoseconds, 1000)
    return f"{whole}.{rest:03}us" if rest else f"{whole}us"


def _loss(loss: Any) -> str:
    if not isinstance(loss, Mapping):
        return "" if loss == "0%" else f"loss random {loss}"
    chain = (loss["to_bad"], loss["to_good"], loss["bad_loss"], loss["good_loss"])
    return f"loss gemodel {' '.join(chain)}"


def outages(given: Any, until_ns: int) -> list[tuple[int, int]]:
    """Return the periods in which the wire is cut, in order; adjacent outages are joined."""
    if not isinstance(given, Mapping):
        windows = [(duration_ns(one["from"]), duration_ns(one["to"])) for one in given]
    else:
        every, length, first = (duration_ns(given[key]) for key in ("every", "length", "first"))
        if (until_ns - first) // every > MOST_CHANGES // 2:
            message = f"outages: more than {MOST_CHANGES // 2} in a run are too many for the linux engine"
            raise _core.ScenarioError(message)
        windows = [(begin, begin + length) for begin in range(first, until_ns, every)]
    joined: list[tuple[int, int]] = []
    for begin, end in windows:
        if joined and joined[-1][1] == begin:
            joined[-1] = (joined[-1][0], end)
        elif begin < until_ns:
            joined.append((begin, end))
    return joined
