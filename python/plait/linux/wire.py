"""Links as queueing disciplines: `tc` lines for bottlenecks and for what lies behind them, and what changes when.

Bottleneck: netem's `rate`, which sends a packet when its last bit would leave, and whose limit counts the packet in
transmission, as a scenario's queue does. The size on the wire is that of the IP packet, so the Ethernet header counts
as an overhead of −14 bytes. netem counts packets alone: queues in bytes and in time are counted in packets of the size
that the direction carries, full ones where data flows and acknowledgements elsewhere.

An active discipline needs a bottleneck that asks it when a packet's transmission begins: HTB with a bucket of a
byte does so, and passes the packet on at that moment. The transmission itself is the rate of the netem behind,
which passes it on at its end, as the simulator does; TBF would take a packet out of the discipline a packet too
early, to see how large it is. The device's size table (`stab`) takes the Ethernet header off what HTB and the
discipline count. The bucket's byte makes the second packet of a busy time leave the discipline a byte early:
what arrives at the very moment comes after it.

When a rate changes, packets in netem's queue keep the moment at which they were to leave; in the simulator they leave
at the new rate.

Delay: a second netem. Jitter that keeps the order is a delay behind an enormous rate: netem's queues with a rate are
first-in first-out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plait import _core
from plait.linux.guest.plan import Change
from plait.scenarios.units import duration_ns

ETHERNET = 14
FULL = 1500
"""Bytes by which an active queue's limit in bytes becomes one in packets."""
ACKNOWLEDGEMENT = 64
"""Bytes of an acknowledgement on the wire, without selective blocks."""
ENDLESS = 1_000_000_000
"""Packets in a queue that has no limit."""
KEEP_ORDER = "rate 1000000000000bit"
MOST_CHANGES = 100_000

Table = Mapping[str, Any]


def queue_packets(queue: str, rate_bps: int, packet: int) -> int:
    """A queue's limit in packets of `packet` bytes, the one in transmission included."""
    if queue == "infinite":
        return ENDLESS
    if queue.endswith("p"):
        return min(int(queue[:-1]), ENDLESS)
    try:
        return min(max(1, _core.parse_bytes(queue) // packet), ENDLESS)
    except _core.ScenarioError:
        # A packet is admitted if what is before it leaves in time.
        return min(duration_ns(queue) * rate_bps // (8 * packet * 1_000_000_000) + 1, ENDLESS)


def bottleneck(
    direction: Table, packet: int, place: tuple[str, str], until_ns: int
) -> tuple[str, list[Change]]:
    """The `tc` line of a direction's rate and queue, and how it changes."""
    namespace, device = place
    first = _core.parse_rate(direction["rate"])

    def line(verb: str, rate: int) -> str:
        limit = queue_packets(direction["queue"], first, packet)
        return f"qdisc {verb} dev {device} root netem limit {limit} rate {rate}bit -{ETHERNET}"

    changes = [
        Change(at_ns=at, namespace=namespace, line=line("change", rate))
        for at, rate in _rates(direction, first, until_ns)
    ]
    return line("add", first), changes


def active(direction: Table, place: tuple[str, str], until_ns: int) -> tuple[list[str], list[Change]]:
    """The `tc` lines of a direction's rate with an active discipline, and how the rate changes."""
    namespace, device = place
    first = _core.parse_rate(direction["rate"])

    def rate(verb: str, rate_bps: int) -> str:
        bucket = f"htb rate {rate_bps}bit ceil {rate_bps}bit burst 1b cburst 1b quantum 1514"
        return f"class {verb} dev {device} parent 1: classid 1:1 {bucket}"

    lines = [
        f"qdisc add dev {device} root handle 1: stab overhead -{ETHERNET} linklayer ethernet htb default 1",
        rate("add", first),
        f"qdisc add dev {device} parent 1:1 {_discipline(direction, first)}",
    ]
    changes = [
        Change(at_ns=at, namespace=namespace, line=rate("change", rate_bps))
        for at, rate_bps in _rates(direction, first, until_ns)
    ]
    return lines, changes


def _discipline(direction: Table, rate_bps: int) -> str:
    """As `tc` names it and its parameters, which are called as in a scenario. The limit is what waits, as there."""
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
    """A size in bytes, a duration in microseconds, which `tc` rounds to."""
    try:
        return str(_core.parse_bytes(text))
    except _core.ScenarioError:
        return f"{max(1, duration_ns(text) // 1000)}us"


def _rates(direction: Table, first: int, until_ns: int) -> list[tuple[int, int]]:
    steps = [
        (duration_ns(step["at"]), _core.parse_rate(step["rate"])) for step in direction.get("rate_steps", ())
    ]
    if not steps:
        return []
    if "repeat" not in direction:
        return [step for step in steps if step[0] < until_ns]
    period = duration_ns(direction["repeat"])
    count = -(-until_ns // period)
    if count * (len(steps) + 1) > MOST_CHANGES:
        message = f"rate_steps: more than {MOST_CHANGES} changes in a run are too many for the linux engine"
        raise _core.ScenarioError(message)
    every = [(base * period + at, rate) for base in range(count) for at, rate in [(0, first), *steps]]
    return [step for step in every[1:] if step[0] < until_ns]


def delay(direction: Table, place: tuple[str, str], until_ns: int) -> tuple[str | None, list[Change]]:
    """The `tc` line of a direction's delay, jitter, loss and outages, and how it changes; None if it has none."""
    namespace, device = place
    latency = _latency(direction)
    changes = []
    if "discipline" in direction:
        first = _core.parse_rate(direction["rate"])
        latency = f"{latency} rate {first}bit -{ETHERNET}".lstrip()
        changes = [
            Change(
                at_ns=at,
                namespace=namespace,
                line=f"qdisc change dev {device} root netem limit {ENDLESS} "
                f"{_latency(direction)} rate {rate}bit -{ETHERNET}",
            )
            for at, rate in _rates(direction, first, until_ns)
        ]
    loss = _loss(direction["loss"])
    cuts = outages(direction["outages"], until_ns)
    if not latency and not loss and not cuts:
        return None, []

    def line(verb: str, lost: str) -> str:
        words = [f"qdisc {verb} dev {device} root netem limit {ENDLESS}", latency, lost]
        return " ".join(word for word in words if word)

    cut = "loss random 100%"
    starts_cut = bool(cuts) and cuts[0][0] == 0
    for begin, end in cuts:
        if begin > 0:
            changes.append(Change(at_ns=begin, namespace=namespace, line=line("change", cut)))
        changes.append(Change(at_ns=end, namespace=namespace, line=line("change", loss)))
    return line("add", cut if starts_cut else loss), [one for one in changes if one.at_ns < until_ns]


def _latency(direction: Table) -> str:
    fixed, jitter = duration_ns(direction["delay"]), direction["jitter"]
    amount = duration_ns(jitter["amount"] if isinstance(jitter, Mapping) else jitter)
    if amount == 0:
        return f"delay {_microseconds(fixed)}" if fixed else ""
    # Uniform from 0 to the amount: half of it more, give or take half of it.
    text = f"delay {_microseconds(fixed + amount // 2)} {_microseconds(amount - amount // 2)}"
    return text if isinstance(jitter, Mapping) and jitter["reorder"] else f"{text} {KEEP_ORDER}"


def _microseconds(nanoseconds: int) -> str:
    """As `tc` reads it, which knows nothing shorter; its ticks are 64 ns."""
    whole, rest = divmod(nanoseconds, 1000)
    return f"{whole}.{rest:03}us" if rest else f"{whole}us"


def _loss(loss: Any) -> str:
    if not isinstance(loss, Mapping):
        return "" if loss == "0%" else f"loss random {loss}"
    chain = (loss["to_bad"], loss["to_good"], loss["bad_loss"], loss["good_loss"])
    return f"loss gemodel {' '.join(chain)}"


def outages(given: Any, until_ns: int) -> list[tuple[int, int]]:
    """When the wire is cut, in order, outages that touch joined."""
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
