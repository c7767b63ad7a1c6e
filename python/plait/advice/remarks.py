"""Remarks beside the recommendation: better schedulers, failures, bounds, metered paths, copies."""

from __future__ import annotations

import math

from plait.advice import numbers
from plait.advice.candidates import SPARING
from plait.advice.deployment import Place, place_of
from plait.advice.findings import Findings
from plait.advice.judging import WORTH_PERCENT, Standing, verdict
from plait.advice.shaped import SHAPED
from plait.advice.statement import Statement
from plait.advice.wording import (
    answer,
    gain,
    listed,
    needless,
    others,
    schedulers,
    slower,
    used,
    value,
)

MOST_ROWS = 3
"""Number of other paths in the sentence about both directions."""
NEAR_BOUND = 25.0
"""Percent: if any scheduler can gain at most this much over the best one, the advice says so."""
LATE_BEGINNING = 2.0
"""Connections start on the wrong path if its round trip is this many times the shortest one."""
PROCESSOR_BPS = 10e9
"""The lowest goodput in public reports of one MPTCP connection between fast machines."""
SPARED = 0.9
"""A sentence names the scheduler for metered paths if it leaves less than this share of their
load."""


def remarks(advice: Findings) -> list[Statement]:
    """Return the remarks about the recommended paths."""
    if advice.verdict == "nothing" or advice.choice is None:
        return []
    return [
        *_beside(advice),
        *_failing(advice),
        *_bounded(advice.choice.best),
        *_beginning(advice),
        *_metered(advice),
    ]


def better(advice: Findings) -> list[Statement]:
    """Name schedulers that are better than the recommendation, and where they are available."""
    if advice.choice is None or advice.verdict == "nothing":
        return []
    traffic, said = advice.setting.traffic, []
    base, last = answer(advice), -math.inf
    over = base.choice.best if advice.several else advice.single
    for more in advice.answers[advice.answers.index(base) + 1 :]:
        here = [one for one in schedulers(advice) if _place(advice, one) == more.place]
        row = next((one for one in (more.choice.best, *here) if _is_better(advice, one)), None)
        gained = None if row is None else base.choice.lags[row.label] if advice.several else row.gain
        if row is None or gained is None or gained.value <= last + traffic.alike_percent:
            continue
        text = (
            f"Better, {_where(_place(advice, row), row.label)}: {gain(gained, traffic)} against {over.label}"
        )
        said.append(Statement("better", f"{text}{slower(traffic, row, over)}."))
        last = gained.value
    return said


def queue(advice: Findings) -> list[Statement]:
    """Compare the best path alone with FQ-CoDel, and the recommendation without it."""
    found, traffic = advice.shaped, advice.setting.traffic
    if found is None:
        return []
    begin = "Better" if found.better else f"Not {WORTH_PERCENT:.0f} % better"
    text = (
        f"{begin}, {found.path} alone with FQ-CoDel (SQM on its router, at {numbers.share(SHAPED)} of the rate): "
        f"{value(traffic, found.score)} ({traffic.judged}), {gain(found.gain, traffic)} against "
        f"{used(advice).label} without it. The {traffic.beside} then carries {numbers.rate(found.beside_bps)} "
        f"(medians of {found.variations} variations). To ask for more paths with it: queue=fq_codel."
    )
    return [Statement("queue", text)]


def directions(advice: Findings) -> list[Statement]:
    """Weigh both directions of a call: one path for both, against a path for each."""
    found, traffic = advice.directions, advice.setting.traffic
    if found is None:
        return []
    best, *rest = found.paths
    text = (
        f"Both directions of a call over one path: {best.label} is best, with {value(traffic, best.down)} down and "
        f"{value(traffic, best.up)} up ({traffic.judged}, medians of {found.variations} variations). "
    )
    against = [
        f"{one.label} has {value(traffic, one.down)} and {value(traffic, one.up)}" for one in rest[:MOST_ROWS]
    ]
    text += f"{'; '.join(against)}. "
    if found.down.path == found.up.path:
        text += f"{found.down.path} has the least in each direction."
    else:
        each = f"A path for each, {found.down.label} down and {found.up.label} up"
        if found.gain.value == 0:
            text += f"{each}, is no better in the worse direction."
        else:
            text += (
                f"{each}, has {gain(found.gain, traffic)} in the worse direction. "
                "This needs a tunnel whose two ends send on different paths."
            )
    return [Statement("directions", text)]


def _place(advice: Findings, one: Standing) -> Place:
    return place_of(one.label, advice.setting.protocol)


def _is_better(advice: Findings, one: Standing) -> bool:
    """Return whether a scheduler is better than the recommendation, beyond chance."""
    assert advice.choice is not None
    if advice.several:
        return one.label in advice.choice.better
    return verdict(one, advice.simulated.variations) == "worth"


def _where(place: Place, scheduler: str) -> str:
    """Tell how to get a scheduler that stock Linux has not."""
    if place == "kernel":
        return f"with Plait's kernel (docs/stock-kernel.md), {scheduler}"
    if "+" in scheduler:
        return f"in simulation only, {scheduler}"
    return f"with plait proxy --scheduler {scheduler} (over QUIC; simulated over MPTCP)"


def _failing(advice: Findings) -> list[Statement]:
    """Tell the worst delay during a failure of the recommended path, with and without a spare."""
    found = advice.failure
    if found is None:
        return []
    traffic = advice.setting.traffic
    thing = "the file" if traffic.kind == "file" else f"the slowest {traffic.things.removesuffix('s')}"
    spares = listed(others(advice))
    ways = [
        f"{numbers.time(found.alone)} with {found.path} alone",
        f"{numbers.time(found.spare)} with {spares} as {'a spare' if len(others(advice)) == 1 else 'spares'}",
    ]
    if found.copied is not None:
        every = "both paths" if len(advice.setting.paths) == 2 else "every path"
        ways.append(f"{numbers.time(found.copied)} with all data on {every} (redundant)")
    runs = f"median of {found.variations} variations" if found.variations > 1 else "one variation"
    text = f"If {found.path} fails for {numbers.time(found.length_s)}, {thing} takes {listed(ways)} ({runs})."
    return [Statement("failure", text)]


def _beside(advice: Findings) -> list[Statement]:
    """Tell the goodput of the transfer beside the traffic: a short delay may cost some of it."""
    if not advice.setting.traffic.beside or not advice.several:
        return []
    chosen, single = used(advice), advice.single
    text = (
        f"The {advice.setting.traffic.beside} carries {numbers.rate(chosen.beside_bps)} with {chosen.label}, and "
        f"{numbers.rate(single.beside_bps)} with {single.label}"
    )
    stock = advice.answers[0].choice.best
    if advice.answers[0].place == "stock" and stock is not chosen:
        text += f" ({numbers.rate(stock.beside_bps)} with {stock.label})"
    return [Statement("beside", f"{text}.")]


def _bounded(best: Standing) -> list[Statement]:
    """Tell that no scheduler is much better, if a bound proves it."""
    if best.bound_gain is None or best.bound_gain > NEAR_BOUND:
        return []
    least = max(math.ceil(best.bound_gain), 0)
    text = f"No scheduler can gain more than {least} % over {best.label} here, in the median (plait bound)."
    return [Statement("bound", text)]


def _beginning(advice: Findings) -> list[Statement]:
    """Advise on the first path if connections start on the wrong one.

    Short transfers and the first round trips depend on it.
    """
    first, *_ = paths = advice.setting.paths
    quick = min(paths, key=lambda path: path.rtt_ns)
    alone = advice.single.label.removesuffix(" alone")
    if first.rtt_ns >= LATE_BEGINNING * quick.rtt_ns:
        why, name = f", with a round trip of {numbers.time(first.rtt_ns / 1e9)}", quick.name
    elif advice.setting.traffic.finite and first.name != alone:
        why, name = "", alone
    else:
        return []
    text = f"Connections begin on {first.name}, the first path named{why}: name {name} first if they can begin there."
    return [Statement("beginning", text)]


def upload(advice: Findings) -> list[Statement]:
    """Warn if the blocks of a download exceed the stated upload of a recommended path."""
    setting = advice.setting
    if setting.traffic.kind != "blocks" or setting.direction == "up" or advice.verdict == "nothing":
        return []
    spare, needed = needless(advice) if advice.several else None, setting.traffic.rate_bps
    paths = [setting.paths[index] for index in used(advice).candidate.paths]
    narrow = {
        path.name: rate
        for path in paths
        if path.name != spare and (rate := path.turned().mean_bps) < needed
        if path.back_bps is not None or path.back_trace is not None
    }
    if not narrow:
        return []
    carried = listed([f"{name} carries {numbers.rate(rate)} up" for name, rate in narrow.items()])
    text = (
        f"WARNING: these figures are for the download. A call also uploads: {carried}, less than "
        f"{numbers.rate(needed)}. Ask again with --direction up."
    )
    return [Statement("upload", text)]


def processor(advice: Findings) -> list[Statement]:
    """Warn if the links are faster than a processor."""
    flows = len(advice.setting.traffic.begins_ns() or [0])
    if advice.verdict == "nothing" or used(advice).goodput_bps / flows < PROCESSOR_BPS:
        return []
    text = (
        "WARNING: a processor limits this, not the links. Public reports have 10 to 16 Gbit/s over one MPTCP "
        "connection (mptcp_net-next #592, multipath-tcp/mptcp #380), and the first one 43 Gbit/s with TCP over one "
        "link."
    )
    return [Statement("processor", text)]


def _metered(advice: Findings) -> list[Statement]:
    """Tell the load of metered paths, and ways to reduce it."""
    paths, row, traffic = advice.setting.paths, used(advice), advice.setting.traffic
    loads = {
        index: share
        for index, share in zip(row.candidate.paths, row.shares, strict=True)
        if paths[index].metered
    }
    said = []
    for index, share in loads.items():
        text = (
            f"{paths[index].name} is metered: {row.label} sends {numbers.share(share)} of the packets there"
        )
        cap, load = paths[index].cap, share * row.goodput_bps * row.overhead
        if cap is not None and load > 0:
            text += f", so {numbers.size(cap)} last for {numbers.time(cap * 8 / load)} of such traffic"
        said.append(Statement("metered", f"{text}."))
    singles = [one for one in advice.standings if one.candidate.scheduler is None]
    free = next((one for one in singles if not paths[one.candidate.paths[0]].metered), None)
    if free is None or not loads:
        return said
    names = listed([paths[index].name for index in loads])
    text = (
        f"To spare {names}: {free.label}, with the rest as backup paths (… subflow backup), has "
        f"{value(traffic, free.value)} {traffic.noun}"
    )
    sparing = next((one for one in advice.standings if one.label == SPARING), None)
    if sparing is not None and sum(sparing.shares[index] for index in loads) < SPARED * sum(loads.values()):
        shared = numbers.share(sum(sparing.shares[index] for index in loads))
        text += f"; {SPARING} (Plait's kernel) sends {shared} there, for {value(traffic, sparing.value)}"
    return [*said, Statement("sparing", f"{text}.")]


def copies(advice: Findings) -> list[Statement]:
    """Tell the load of copies, and the best scheduler with few of them."""
    if advice.choice is None or not advice.several or not advice.choice.best.copies:
        return []
    traffic, best = advice.setting.traffic, advice.choice.best
    plain = next((one for one in schedulers(advice) if not one.copies), None)
    instead = ""
    if plain is not None:
        sent = numbers.digits(round(plain.overhead, 1))
        instead = f" {plain.label} sends {sent}, and has {value(traffic, plain.value)}."
    sent = numbers.digits(round(best.overhead, 1))
    text = f"{best.label} sends {sent} packets for each one delivered: consider the cost of data.{instead}"
    return [Statement("copies", text)]
