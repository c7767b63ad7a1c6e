"""The findings in plain words: one fixed sentence per fact, with the numbers of the JSON document.

Every statement names its kind. `plait.validate.advice` parses each kind and compares it with the
document and with runs of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from plait.advice import numbers
from plait.advice.deployment import Answer
from plait.advice.findings import Findings
from plait.advice.judging import MOSTLY, TOO_FEW, WORTH_PERCENT, Standing
from plait.advice.statement import Statement
from plait.advice.traffic import Traffic
from plait.statistics.estimate import Estimate, surely_more_than

ADDS_NOTHING = 2.0
"""Percent. A path that adds less can be left out."""
NEARLY_ALL = 0.9
DEARER = 1.2
"""Ratio of packet delays from which on a sentence about goodput mentions them."""


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
        text = f"Use {alone} alone: {more} not worth it for {purpose(traffic, up)}."
    elif advice.verdict == "worth":
        text = f"Use {_together(advice)} {_with(advice)}{up}."
    elif not advice.several:
        text = (
            f"Borderline: use {alone} alone{up}. These runs show no gain of {listed(names)} together, and do not "
            "exclude one."
        )
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
    if not advice.several:
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
    return [*said, *_certain(advice)]


def value(traffic: Traffic, score: float) -> str:
    """Format a score with its unit."""
    if traffic.more_is_better:
        return numbers.rate(score)
    return numbers.time(score / 1e3 if traffic.in_ms else score)


def gain(found: Estimate, traffic: Traffic) -> str:
    """Format a gain with its interval.

    Examples: ``+12 % goodput (95 % interval +11 to +13 %)``, ``12 % less delay (…)``. If the
    interval contains zero, the words say so.
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
    if len(set(ends)) < 2:  # in the written digits
        return f"{said} (the same in all variations)"
    low, high = found.interval or (0.0, 0.0)
    doubt = "not distinguishable from zero: " if low < 0 < high else ""
    return f"{said} ({doubt}95 % interval {between})"


def needless(advice: Findings) -> str | None:
    """Return the path of several that adds least, if its gain is negligible or a large loss."""
    if not advice.left_out:
        return None
    least = min(advice.left_out, key=lambda one: one.gain.value)
    high = least.gain.high if least.gain.high is not None else least.gain.value
    none = least.gain.value < ADDS_NOTHING and high < WORTH_PERCENT
    return least.path if none or least.gain.value < -WORTH_PERCENT else None


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
    """Tell stock Linux if it is not recommended, and other schedulers.

    The result is empty if one path alone is recommended: then there is nothing to schedule.
    """
    choice, traffic = advice.choice, advice.setting.traffic
    if choice is None or not advice.several:
        return []
    said, here = [], answer(advice)
    first, best = advice.answers[0], choice.best
    if first is not here and first.place == "stock":
        row = first.choice.best
        against = f"{gain(_gain(row), traffic)} against {advice.single.label}"
        text = f"On stock Linux ({row.label}): {against}, {WORTHY[first.verdict]}."
        said.append(Statement("place", text))
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
    if advice.dropped:
        count, before = len(advice.dropped), advice.simulated.explored
        ones = "scheduler" if count == 1 else "schedulers"
        text = f"{count} more {ones} ran only in {before} other variations, which chose these."
        said.append(Statement("dropped", text))
    if choice.quicker is not None:
        quick = choice.quicker
        text = f"If delay matters too: {quick.label}, with a packet delay of {_delay(quick)} instead of"
        price = "" if quick.label in choice.alike else f": {gain(choice.lags[quick.label], traffic)}"
        said.append(Statement("quicker", f"{text} {_delay(best)} (p95){price}."))
    return said


WORTHY = {"worth": "worth it", "borderline": "borderline", "not worth": "not worth it"}


def _delay(one: Standing) -> str:
    return numbers.time(one.delay_ms / 1e3)


def slower(traffic: Traffic, one: Standing, base: Standing) -> str:
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
        word += f", {_condition(advice)}"
    elif word == "Probable" and holds == count:
        word += f", since {count} variations are few"
    gains = f"the gain of {best.label} is {'at least' if more else 'less than'} {WORTH_PERCENT:.0f} %"
    said = [Statement("certain-gain", f"{word}: {gains} in {holds} of {count} variations.")]
    if not surely_more_than(MOSTLY, count, count):
        other = f"--seed {advice.simulated.seed + 1} gives others, and so does another order of the paths"
        said.append(Statement("few", f"{count} variations are few: {other}."))
    return said


def _condition(advice: Findings) -> str:
    """Return the condition of a sure statement."""
    if advice.capped:
        return "if losses are as stated"
    if advice.failure is not None or any(path.outage for path in advice.setting.paths):
        return "if links are as stated"
    return f"as long as {'neither' if len(advice.setting.paths) == 2 else 'no'} link fails"


def used(advice: Findings) -> Standing:
    """Return the row of the recommendation."""
    return advice.choice.best if advice.several and advice.choice is not None else advice.single


def _gain(one: Standing) -> Estimate:
    return Estimate(0.0) if one.gain is None else one.gain


def purpose(traffic: Traffic, up: str) -> str:
    """Name the traffic in a sentence; `up` tells that it is an upload, or is empty."""
    beside = f" beside an {traffic.beside}" if traffic.beside == "upload" else f" beside a {traffic.beside}"
    if traffic.kind == "bulk":
        return ("goodput" if traffic.metric == "goodput" else "the delay of packets") + up
    if traffic.kind == "file":
        return f"a file of {numbers.size(traffic.size)}{up}"
    if traffic.kind == "flows":
        return f"{traffic.clients} downloads of {numbers.size(traffic.size)} at once{up}"
    if traffic.kind == "request-response":
        clients = f" to {traffic.clients} clients" if traffic.clients > 1 else ""
        said = f"responses of {numbers.size(traffic.size)}{clients}"
    else:
        sent = "uploaded blocks" if up else "blocks"
        said = f"{sent} of {numbers.size(traffic.block)} at {numbers.rate(traffic.rate_bps)}"
    return said + (beside if traffic.beside else "")


def _together(advice: Findings) -> str:
    names, spare = [path.name for path in advice.setting.paths], needless(advice)
    if spare is not None:
        return f"{listed([name for name in names if name != spare])}, but not {spare},"
    return f"{listed(names)} together" if len(names) == 2 else f"all {len(names)} paths"
