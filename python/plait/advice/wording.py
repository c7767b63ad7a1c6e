"""The findings in plain words: one fixed sentence per fact, with the numbers of the JSON document.

Every statement names its kind. `plait.validate.advice` parses each kind and compares it with the
document and with runs of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from plait.advice import numbers
from plait.advice.deployment import Answer
from plait.advice.findings import Findings
from plait.advice.judging import MOSTLY, TOO_FEW, WORTH_PERCENT, Standing, is_better
from plait.advice.statement import Statement
from plait.advice.traffic import Traffic
from plait.statistics.estimate import Estimate, surely_more_than

ADDS_NOTHING = 2.0
"""Percent. A path that adds less can be left out."""
NEARLY_ALL = 0.9
NEAR_BOUND = 25.0
"""Percent: if any scheduler can gain at most this much over the best one, the advice says so."""
DEARER = 1.2
"""Ratio of packet delays from which on a sentence about goodput mentions them."""
LATE_BEGINNING = 2.0
"""Connections start on the wrong path if its round trip is this many times the shortest one."""
PROCESSOR_BPS = 10e9
"""The lowest goodput in public reports of one MPTCP connection between fast machines."""
SPARING, SPARED = "cheapest-first", 0.9
"""Scheduler for metered paths. A sentence names it if it leaves less than this share of their
load."""
PLACES = {
    "stock": "On stock Linux",
    "kernel": "With Plait's kernel",
    "simulator": "In simulation only",
}


def heading(advice: Findings) -> Statement:
    """Give the recommendation in one sentence."""
    alone = advice.single.label.removesuffix(" alone")
    names, traffic = [path.name for path in advice.setting.paths], advice.setting.traffic
    up = " when uploading" if advice.setting.direction == "up" else ""
    if advice.verdict == "nothing":
        what = {"bulk": "anything", "file": "the file in time", "flows": "all downloads in time"}
        undone = what.get(traffic.kind, f"all {traffic.things}")
        text = f"In most variations no path and no scheduler delivers {undone}: nothing can be recommended."
    elif advice.choice is None:
        text = f"One path, so there is nothing to schedule. The figures below are for {alone}{up}."
    elif advice.verdict == "not worth":
        more = "more paths are" if len(names) > 2 else f"{listed(others(advice))} as a second path is"
        text = f"Use {alone} alone: {more} not worth it for {_purpose(traffic)}{up}."
    elif advice.verdict == "worth":
        text = f"Use {_together(advice)} {_with(advice)}{up}."
    else:
        text = f"Borderline: {alone} alone, or {_together(advice)} {_with(advice)}{up}."
    return Statement("heading", text)


def expectation(advice: Findings) -> list[Statement]:
    """Give the expected score against the best single path, its price, and its certainty."""
    traffic, single, count = advice.setting.traffic, advice.single, advice.simulated.variations
    if advice.verdict == "nothing":
        return []
    if advice.choice is None:
        return [Statement("expect", f"{_expect(traffic, single, count)}.")]
    best = advice.choice.best
    gained = gain(_gain(best), traffic)
    if advice.verdict == "not worth":
        paths = "Both paths" if len(advice.setting.paths) == 2 else f"All {len(advice.setting.paths)} paths"
        said = [
            Statement("expect", f"{_expect(traffic, single, count)}."),
            Statement("together", f"{paths} with {best.label}: {gained}."),
        ]
    else:
        against = f"{value(traffic, single.value)} with {single.label}, the best path alone"
        said = [Statement("expect", f"{_expect(traffic, best, count)}, against {against}: {gained}.")]
        if traffic.more_is_better and best.delay_ms > DEARER * single.delay_ms:
            text = f"The price: a packet delay of {_delay(best)} instead of {_delay(single)} (p95)."
            said.append(Statement("price", text))
    return [*said, *_certain(advice), *_bounded(best), *_beginning(advice), *_metered(advice)]


def value(traffic: Traffic, score: float) -> str:
    """Format a score with its unit."""
    if traffic.more_is_better:
        return numbers.rate(score)
    return numbers.time(score / 1e3 if traffic.in_ms else score)


def gain(found: Estimate, traffic: Traffic) -> str:
    """Format a gain with its interval.

    Examples: ``+12 % goodput (95 % interval +11 to +13 %)``, ``12 % less delay (…)``.
    """
    if traffic.more_is_better:
        said = f"{numbers.signed(found.value)} goodput"
        ends, between = [numbers.signed(one) for one in found.interval or ()], numbers.interval(found)
    else:
        said = numbers.saved(found.value, traffic.noun)
        # A gain is a saving: its larger end stands for the shortest delay.
        ends = [numbers.saved(one) for one in sorted(found.interval or (), reverse=True)]
        if all(one.endswith("less") for one in ends):
            ends.reverse()
        between = numbers.from_to(ends)
    alike = len(set(ends)) < 2  # in the written digits
    return f"{said} (the same in all variations)" if alike else f"{said} (95 % interval {between})"


def needless(advice: Findings) -> str | None:
    """Return the path of several that adds least, if its gain is negligible."""
    if not advice.left_out:
        return None
    least = min(advice.left_out, key=lambda one: one.gain.value)
    high = least.gain.high if least.gain.high is not None else least.gain.value
    return least.path if least.gain.value < ADDS_NOTHING and high < WORTH_PERCENT else None


def listed(names: Sequence[str]) -> str:
    """Join names for a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def others(advice: Findings) -> list[str]:
    """Return the paths other than the best one alone."""
    alone = advice.single.label.removesuffix(" alone")
    return [path.name for path in advice.setting.paths if path.name != alone]


def schedulers(advice: Findings) -> list[Standing]:
    """Return the rows of schedulers, the best first."""
    return [one for one in advice.standings if one.candidate.scheduler is not None]


def answer(advice: Findings) -> Answer:
    """Return the recommended answer."""
    return next(one for one in advice.answers if one.choice is advice.choice)


def covered(count: int) -> str:
    """Name the variations that ranges cover: all, or nine of ten."""
    return f"all {count}" if count <= TOO_FEW else "nine of ten"


def few_samples(one: Standing, traffic: Traffic) -> bool:
    """Return whether runs have too few blocks or responses to include the rarely late ones."""
    return one.samples < traffic.fewest_samples


def certainty(holds: int, count: int, *, unsure: bool = False) -> str:
    """Return the word for a fact that holds in `holds` of `count` variations.

    A fact that holds in all of a few variations may be chance, and is not called sure.
    """
    share = holds / count
    if unsure or share < MOSTLY:
        return "Unsure"
    if share < NEARLY_ALL or not surely_more_than(MOSTLY, holds, count):
        return "Probable"
    return "Sure" if share == 1 else "Nearly sure"


def places(advice: Findings) -> list[Statement]:
    """Tell stock Linux if it is not recommended, gains of further places, and other schedulers.

    The result is empty if one path alone is recommended: then there is nothing to schedule.
    """
    choice, traffic = advice.choice, advice.setting.traffic
    if choice is None or advice.verdict not in ("worth", "borderline"):
        return []
    said, here = [], answer(advice)
    first, best = advice.answers[0], choice.best
    if first is not here and first.place == "stock":
        row = first.choice.best
        against = f"{gain(_gain(row), traffic)} against {advice.single.label}"
        text = f"On stock Linux ({row.label}): {against}, {WORTHY[first.verdict]}."
        said.append(Statement("place", text))
    for before, more in zip(advice.answers, advice.answers[1:], strict=False):
        if advice.answers.index(more) <= advice.answers.index(here) or more.adds is None:
            continue
        if is_better(more.adds, traffic, more.choice.width):
            row, base = more.best_new, before.choice.best
            added = f"{gain(more.adds, traffic)} against {base.label}"
            text = f"{PLACES[more.place]}, the scheduler {row.label} would add: {added}"
            said.append(Statement("place-adds", f"{text}{_slower(traffic, row, base)}."))
    lags = len(choice.lags)
    if lags:
        better, alike, unknown = len(choice.better), len(choice.alike), len(choice.undecided)
        ones = "scheduler" if lags == 1 else "schedulers"
        counts = {
            "better": better,
            f"as good (within {traffic.alike_percent:.0f} %)": alike,
            "worse": lags - better - alike - unknown,
            "not told apart by these runs": unknown,
        }
        told = ", ".join(f"{count} {how}" for how, count in counts.items() if count)
        text = f"Of {lags} other {ones}, against {best.label}: {told}."
        said.append(Statement("others", text))
    if choice.quicker is not None:
        quick = choice.quicker
        delays = f"a packet delay of {_delay(quick)} instead of {_delay(best)} (p95)"
        said.append(Statement("quicker", f"If delay matters too: {quick.label}, with {delays}."))
    return [*said, *_copies(advice, best)]


WORTHY = {"worth": "worth it", "borderline": "borderline", "not worth": "not worth it"}


def _delay(one: Standing) -> str:
    return numbers.time(one.delay_ms / 1e3)


def _slower(traffic: Traffic, one: Standing, base: Standing) -> str:
    """Tell the packet delay if it is much longer or shorter."""
    if not traffic.more_is_better or 1 / DEARER <= one.delay_ms / base.delay_ms <= DEARER:
        return ""
    return f", with a packet delay of {_delay(one)} instead of {_delay(base)} (p95)"


def _with(advice: Findings) -> str:
    """Tell the place and the scheduler."""
    assert advice.choice is not None
    best, place = advice.choice.best.label, answer(advice).place
    if place == "stock":
        return f"on stock Linux (its default scheduler, {best})"
    return f"with Plait's kernel and {best}" if place == "kernel" else f"with {best}"


def _expect(traffic: Traffic, one: Standing, count: int) -> str:
    """Tell the expected score of a candidate."""
    between = f"{value(traffic, one.low)} to {value(traffic, one.high)} in {covered(count)} variations"
    whole = "" if one.whole_in == count else f"; everything arrives in {one.whole_in} of {count}"
    if traffic.metric == "goodput":
        said = "Expect a goodput of {}"
    elif traffic.metric == "time":
        said = f"Expect {numbers.size(traffic.size)} to take {{}}"
    else:
        what = f"the {traffic.things}"
        said = {
            "mean": f"Expect {what} to take {{}} on average",
            "max": f"Expect all of {what} within {{}}",
        }.get(traffic.metric, f"Expect {traffic.metric.removeprefix('p')} % of {what} within {{}}")
    least = value(traffic, one.value)
    if few_samples(one, traffic):
        least += " at best"
        things = traffic.things.removesuffix("s") if round(one.samples) == 1 else traffic.things
        between += f", of {one.samples:.0f} {things} each: too few to tell"
    return f"{said.format(least)} ({between}{whole}) with {one.label}"


def _certain(advice: Findings) -> list[Statement]:
    """Tell the certainty of the recommendation: the number of variations in which it holds."""
    assert advice.choice is not None
    traffic, best, count = advice.setting.traffic, advice.choice.best, advice.simulated.variations
    more = best.worth_in >= count / 2
    holds = best.worth_in if more else count - best.worth_in
    short, few = advice.simulated.short, any(few_samples(one, traffic) for one in (best, advice.single))
    word = certainty(holds, count, unsure=advice.verdict == "borderline" or short or few)
    if short:
        word += ", since the runs are short"
    elif few:
        word += f", since a run has few {traffic.things}"
    elif word == "Sure":
        word += ", if losses are as stated" if advice.capped else ", if links are as stated"
    gains = f"the gain is {'at least' if more else 'less than'} {WORTH_PERCENT:.0f} %"
    return [Statement("certain-gain", f"{word}: {gains} in {holds} of {count} variations.")]


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


def processor(advice: Findings) -> list[Statement]:
    """Warn if the links are faster than a processor."""
    flows = len(advice.setting.traffic.begins_ns() or [0])
    if advice.verdict == "nothing" or _used(advice).goodput_bps / flows < PROCESSOR_BPS:
        return []
    text = (
        "WARNING: a processor limits this, not the links. Public reports have 10 to 16 Gbit/s over one MPTCP "
        "connection (mptcp_net-next #592, multipath-tcp/mptcp #380), and the first one 43 Gbit/s with TCP over one "
        "link."
    )
    return [Statement("processor", text)]


def _used(advice: Findings) -> Standing:
    """Return the row of the recommendation."""
    several = advice.choice is not None and advice.verdict in ("worth", "borderline")
    return advice.choice.best if several and advice.choice is not None else advice.single


def _metered(advice: Findings) -> list[Statement]:
    """Tell the load of metered paths, and ways to reduce it."""
    paths, used, traffic = advice.setting.paths, _used(advice), advice.setting.traffic
    loads = {
        index: share
        for index, share in zip(used.candidate.paths, used.shares, strict=True)
        if paths[index].metered
    }
    said = []
    for index, share in loads.items():
        text = (
            f"{paths[index].name} is metered: {used.label} sends {numbers.share(share)} of the packets there"
        )
        cap, load = paths[index].cap, share * used.goodput_bps * used.overhead
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


def _gain(one: Standing) -> Estimate:
    return Estimate(0.0) if one.gain is None else one.gain


def _purpose(traffic: Traffic) -> str:
    beside = f" beside an {traffic.beside}" if traffic.beside == "upload" else f" beside a {traffic.beside}"
    if traffic.kind == "bulk":
        return "goodput" if traffic.metric == "goodput" else "the delay of packets"
    if traffic.kind == "file":
        return f"a file of {numbers.size(traffic.size)}"
    if traffic.kind == "flows":
        return f"{traffic.clients} downloads of {numbers.size(traffic.size)} at once"
    if traffic.kind == "request-response":
        clients = f" to {traffic.clients} clients" if traffic.clients > 1 else ""
        said = f"responses of {numbers.size(traffic.size)}{clients}"
    else:
        said = f"blocks of {numbers.size(traffic.block)} at {numbers.rate(traffic.rate_bps)}"
    return said + (beside if traffic.beside else "")


def _together(advice: Findings) -> str:
    names, spare = [path.name for path in advice.setting.paths], needless(advice)
    if spare is not None:
        return f"{listed([name for name in names if name != spare])}, but not {spare},"
    return f"{listed(names)} together" if len(names) == 2 else f"all {len(names)} paths"


def _copies(advice: Findings, best: Standing) -> list[Statement]:
    if not best.copies:
        return []
    traffic = advice.setting.traffic
    plain = next((one for one in schedulers(advice) if not one.copies), None)
    instead = f" Without copies {plain.label} is best: {value(traffic, plain.value)}." if plain else ""
    sent = numbers.digits(round(best.overhead, 1))
    text = f"{best.label} sends {sent} packets for each one delivered: consider the cost of data.{instead}"
    return [Statement("copies", text)]
