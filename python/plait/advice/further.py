"""The effects of losses, of the receive buffer and of other values of the second path, in words."""

from __future__ import annotations

from collections.abc import Callable

from plait.advice import numbers
from plait.advice.buffer import rule
from plait.advice.capped import Capped
from plait.advice.findings import Findings
from plait.advice.judging import WORTH_PERCENT
from plait.advice.statement import Statement
from plait.advice.threshold import SimulatedValue, Threshold
from plait.advice.wording import gain, listed, needless, others, used
from plait.scenarios.units import NANOSECONDS
from plait.statistics.estimate import Estimate

COPYING = "redundant"
"""The scheduler that sends all data on every path."""
TOLD_APART = 1.0
"""Percent. The gain with another value is also mentioned if it is larger by this much."""
SELDOM = 0.5
"""Most runs meet no outage of a path if they last less than this share of the time between two."""


def losses(advice: Findings) -> list[Statement]:
    """Warn of paths whose figures depend on the given losses, and name better measurements."""
    if not advice.capped or advice.verdict == "nothing":
        return []
    said = [
        Statement("capped", _capped(one, advice))
        if one.limits
        else Statement("delayed", _delayed(one, advice))
        for one in advice.capped
    ]
    names = " and ".join(one.path for one in advice.capped)
    other = ""
    if advice.setting.congestion == "cubic" and advice.setting.protocol == "mptcp":
        other = " BBR does not treat a loss as congestion: --congestion bbr."
    said.append(
        Statement(
            "measure",
            f"Before you trust this, measure {names}: the goodput of TCP ({iperf3(advice)}), and whether losses come "
            "in bursts (ping -i 0.2 -c 500 SERVER: gaps in icmp_seq). Then state loss=burst:SHARE:PACKETS or "
            f"trace=FILE. If TCP carries the full rate, state no loss.{other}",
        )
    )
    return said


def _capped(one: Capped, advice: Findings) -> str:
    share, packets = numbers.share(one.loss), f"bursts of {numbers.digits(one.burst_packets or 0)} packets"
    path = next(path for path in advice.setting.paths if path.name == one.path)
    losses = f"{share} of independent random losses"
    if path.together:
        losses = f"losses of {share} {'at handovers' if one.burst_packets is None else f'in {packets}'}"
    instead = ""
    if one.in_bursts_bps is not None:
        instead += f"; with the same losses in {packets} it would carry {numbers.rate(one.in_bursts_bps)}"
    if one.without_bps is not None:
        instead += f"{',' if instead else ';'} without losses {numbers.rate(one.without_bps)}"
    bulk = advice.setting.traffic.kind == "bulk"
    whole = numbers.rate(one.rate_bps) if bulk else "this traffic"
    return f"WARNING: {losses} cap {one.path}: alone it carries {numbers.rate(one.as_said_bps)} of {whole}{instead}."


def _delayed(one: Capped, advice: Findings) -> str:
    assert one.delays_ms is not None
    traffic = advice.setting.traffic
    said, in_bursts, without = (numbers.time(each / 1e3) for each in one.delays_ms)
    packets = f"bursts of {numbers.digits(one.burst_packets or 0)} packets"
    return (
        f"WARNING: {numbers.share(one.loss)} of independent random losses decide the {traffic.noun} over {one.path}: "
        f"alone it has {said} ({traffic.metric}); with the same losses in {packets} it would have {in_bursts}, "
        f"without losses {without}."
    )


def iperf3(advice: Findings) -> str:
    """Return the client's iperf3 command for the direction of the data."""
    return "iperf3 -c SERVER -R" if advice.setting.direction == "down" else "iperf3 -c SERVER"


def udp(advice: Findings) -> list[Statement]:
    """Tell that UDP needs a proxy, since MPTCP carries TCP only."""
    if advice.setting.protocol != "mptcp" or len(advice.setting.paths) == 1 or advice.verdict == "nothing":
        return []
    if advice.setting.traffic.kind == "blocks":
        text = (
            "UDP: these numbers are for blocks over TCP. Calls and games usually use UDP: docs/real-links-datagrams.md "
            "has their losses and delays, and docs/rented-server.md the setup for calls without a fixed port. "
            f"{_proxy(advice)}"
        )
    else:
        text = (
            "UDP: MPTCP carries TCP only. Calls, games, HTTP/3 and WireGuard use UDP; plait proxy --udp carries it "
            "over all paths."
        )
    return [Statement("udp", text)]


def _proxy(advice: Findings) -> str:
    """Tell how the printed commands of the proxy carry UDP."""
    spare, paths = spares(advice), len(advice.setting.paths)
    if spare:
        said = f"With plait proxy --backup, they use {listed(spare)} only if no other path works."
    elif copied(advice):
        times = "twice" if paths == 2 else f"{paths} times"
        said = f"plait proxy --redundant-port sends each datagram on every path: {times} the data."
    else:
        said = "plait proxy chooses a path for each datagram."
    worse = copies_gain(advice)
    if worse is not None and not copied(advice):
        against = used(advice).label
        said += (
            f" Copies of all data on every path have {gain(worse, advice.setting.traffic)} against {against}."
        )
    if lossy(advice):
        said += " Without --congestion bbr at both ends, the proxy has CUBIC, which slows down at each loss."
    return said


def spares(advice: Findings) -> list[str]:
    """Return the paths that the proxy keeps as spares.

    These are the metered ones. If copies are worse than one path alone, these are all others.
    """
    metered = [path.name for path in advice.setting.paths if path.metered]
    if metered:
        return metered if len(metered) < len(advice.setting.paths) else others(advice)
    return [] if advice.several or copied(advice) else others(advice)


def copied(advice: Findings) -> bool:
    """Return whether the proxy sends each datagram on every path.

    It does not if a path is metered, or if the runs show that copies of all data are worse.
    """
    found = copies_gain(advice)
    if any(path.metered for path in advice.setting.paths):
        return False
    high = None if found is None else found.value if found.high is None else found.high
    return found is None or high is None or high >= 0 or found.value >= -advice.setting.traffic.alike_percent


def copies_gain(advice: Findings) -> Estimate | None:
    """Return the gain of copies of all data over the recommendation; None if no run has both."""
    if advice.several and advice.choice is not None:
        return advice.choice.lags.get(COPYING)
    return next((one.gain for one in advice.standings if one.label == COPYING), None)


def lossy(advice: Findings) -> bool:
    """Return whether a path has losses."""
    return any(path.loss > 0 for path in advice.setting.paths)


def outages(advice: Findings) -> list[Statement]:
    """Warn of outages that most runs do not reach, because the runs are shorter."""
    traffic, lasts = advice.setting.traffic, advice.simulated.duration_s
    seldom = [
        path
        for path in advice.setting.paths
        if path.outage is not None and lasts < path.outage.every_ns / NANOSECONDS * SELDOM
    ]
    if not seldom or traffic.finite or advice.verdict == "nothing":
        return []
    fails = listed(
        [
            f"{path.name} fails every {numbers.time(path.outage.every_ns / NANOSECONDS)}"
            for path in seldom
            if path.outage
        ]
    )
    longer = f" Runs without +{traffic.beside} last longer." if traffic.beside else ""
    text = f"WARNING: most runs meet no outage: a run lasts for {numbers.time(lasts)}, and {fails}.{longer}"
    return [Statement("outages", text)]


def receive_buffer(advice: Findings) -> list[Statement]:
    """Tell whether the buffer limits the sender, and a sufficient size.

    Returns nothing if one path with the given buffer is enough.
    """
    found = advice.buffer
    if found is None:
        return _rule(advice)
    if found.enough and not advice.several:
        return []
    traffic = advice.setting.traffic
    what = "of the goodput" if traffic.more_is_better else f"more {traffic.noun}"
    given, needed = numbers.size(found.given), numbers.size(found.needed)
    cost, then = numbers.cost(found.given_cost.value, what), numbers.cost(found.needed_cost.value)
    sizes = "it is the smallest size tried" if found.smallest else "no smaller size surely is"
    if found.enough:
        text = f"{given} is enough: it costs {cost}, compared with an unlimited one"
        text += f". {needed} is enough, too, and {sizes}" if found.needed < found.given else ""
    elif found.too_small:
        text = f"{given} is too small: it costs {cost}, compared with an unlimited one"
        text += f". {needed} is enough: it costs {then}, and {sizes}"
    else:
        text = f"these runs cannot tell whether {given} is enough. Compared with an unlimited one, it has "
        text += gain(found.given_cost.negated(), traffic)
    both = "both paths" if len(advice.setting.paths) == 2 else f"all {len(advice.setting.paths)} paths"
    runs = f"at least {found.variations} variations of {numbers.time(found.duration_s)}"
    text = f"Receive buffer: {text} ({found.scheduler}, {both}, {runs})."
    return [Statement("buffer", text)]


def _rule(advice: Findings) -> list[Statement]:
    """Tell the rule of thumb if no buffer was searched."""
    if advice.choice is None or advice.verdict == "nothing":
        return []
    wanted, given = rule(advice.setting), advice.setting.receive_buffer
    if given >= wanted and not advice.several:
        return []
    which = "is less, and may limit these paths" if given < wanted else "is more"
    carried = f"All paths carry {numbers.size(wanted)} in the longest round trip with a full queue"
    text = (
        "Receive buffer: not searched for, because runs over these links take too long. "
        f"{carried}. {numbers.size(given)} {which}."
    )
    return [Statement("buffer-rule", text)]


def thresholds(advice: Findings) -> list[Statement]:
    """Tell the changes that make a second path worth it, or the gain that each of several adds."""
    if advice.left_out:
        return _path_adds(advice)
    if advice.choice is None or advice.verdict not in ("not worth", "borderline"):
        return []
    if len(advice.setting.paths) != 2:
        return []
    second = _second(advice)
    if not advice.thresholds:
        text = f"The runs are too short for a search for changes that would make {second} worth it."
        return [Statement("threshold-unsearched", text)]
    best = advice.choice.best.label
    said = [
        Statement(
            "threshold",
            f"From which value on is {second} worth it (a gain of {WORTH_PERCENT:.0f} %)? One value changed, all "
            f"others as stated, with {best}:",
        )
    ]
    return said + [Statement("threshold-" + _kind(one), _threshold(one, advice)) for one in advice.thresholds]


def _path_adds(advice: Findings) -> list[Statement]:
    said = ", ".join(f"{one.path} {numbers.signed(one.gain.value)}" for one in advice.left_out)
    again = needless(advice) if advice.verdict == "worth" else None
    ask = f" Ask again without {again}: other schedulers may then be as good." if again else ""
    assert advice.choice is not None
    count, label = advice.left_out[0].variations, advice.choice.best.label
    return [
        Statement(
            "path-adds",
            f"Gain that each path adds to the others with {label} ({count} variations): {said}.{ask}",
        )
    ]


def _kind(one: Threshold) -> str:
    if one.first is not None:
        return "enough"
    return "vain" if all(tried.vain for tried in one.tried) else "open"


def _threshold(one: Threshold, advice: Findings) -> str:
    if one.first is not None:
        ends = ""
        if one.ends is not None:
            ends = f" No longer with {_amount(one.key, one.ends.value)}: {_gained(one.ends, advice)}."
        return f"• With {_amount(one.key, one.first.value)} it is: {_gained(one.first, advice)}.{ends}"
    best = max(one.tried, key=lambda tried: tried.gain.value)
    if _kind(one) == "open":
        return f"• With {_amount(one.key, best.value)} these runs cannot decide: {_gained(best, advice)}."
    more = best.gain.value - one.last.gain.value >= TOLD_APART
    most = (
        ""
        if not more
        else f" The best result is with {_amount(one.key, best.value)}: {_gained(best, advice)}."
    )
    return f"• Not even with {_amount(one.key, one.last.value)}: {_gained(one.last, advice)}.{most}"


def _gained(one: SimulatedValue, advice: Findings) -> str:
    gained = gain(one.gain, advice.setting.traffic)
    return f"{gained}, at least {WORTH_PERCENT:.0f} % in {one.worth_in} of {one.variations}"


def _amount(key: str, amount: float) -> str:
    written: dict[str, Callable[[float], str]] = {
        "rate": lambda bits: f"a rate of {numbers.rate(bits)}",
        "rtt": lambda seconds: f"a round trip of {numbers.time(seconds)}",
        "loss": lambda lost: f"a loss of {numbers.share(lost)}" if lost else "no loss",
        "receive_buffer": lambda size: f"a receive buffer of {numbers.size(size)}",
    }
    return written[key](amount)


def _second(advice: Findings) -> str:
    alone = advice.single.label.removesuffix(" alone")
    return next(path.name for path in advice.setting.paths if path.name != alone)
