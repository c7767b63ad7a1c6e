"""What was found, in plain words: never more certain than the runs.

Every statement is made of numbers that the JSON document has, and names its kind; `plait.validate.advice` reads each
kind back, and holds it against that document and against runs of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from plait.advice import numbers
from plait.advice.candidates import KERNELS_OWN, summary
from plait.advice.deployment import Answer
from plait.advice.findings import Findings
from plait.advice.judging import (
    MOSTLY,
    SLOW_PERCENT,
    TOO_FEW,
    WORTH_PERCENT,
    Standing,
    collapsed,
    is_better,
)
from plait.advice.statement import Statement
from plait.advice.traffic import Traffic
from plait.statistics.estimate import Estimate, surely_more_than

ADDS_NOTHING = 2.0
"""A path that adds less, in percent, can be left out."""
NEARLY_ALL = 0.9
PLACES = {
    "stock": "on stock Linux",
    "kernel": "with Plait's kernel",
    "simulator": "in simulation only",
}


def heading(advice: Findings) -> Statement:
    """The recommendation, in one or two sentences."""
    alone = advice.single.label.removesuffix(" alone")
    names = [path.name for path in advice.setting.paths]
    if advice.verdict == "nothing":
        what = {"bulk": "anything", "file": "the file in time", "flows": "all downloads in time"}
        undone = what.get(advice.setting.traffic.kind, f"all {advice.setting.traffic.things}")
        text = f"In most variations no path and no scheduler delivers {undone}: nothing can be recommended."
    elif advice.choice is None:
        text = f"One path, so there is nothing to schedule. This is what to expect of {alone}."
    elif advice.verdict == "not worth":
        other = next(name for name in names if name != alone)
        more = f"{other} as a second path is" if len(names) == 2 else "more paths are"
        text = f"Use {alone} alone: {more} not worth it for {_purpose(advice.setting.traffic)}."
    elif advice.verdict == "worth":
        text = f"Use {_together(advice)} {_with(advice)}.{_reservation(advice)}"
    else:
        text = (
            f"Borderline: {alone} alone, or {_together(advice)} {_with(advice)}. {_borderline(advice)}"
            f"{_reservation(advice)}"
        )
    return Statement("heading", text)


def expectation(advice: Findings) -> list[Statement]:
    """What to expect against the best single path, and how sure that is."""
    traffic, single, count = advice.setting.traffic, advice.single, advice.simulated.variations
    if advice.verdict == "nothing":
        return []
    if advice.choice is None:
        return [Statement("expect", f"{_expect(traffic, single, count)}.")]
    best = advice.choice.best
    gained = gain(_gain(best), traffic)
    if advice.verdict == "not worth":
        said = [
            Statement("expect", f"{_expect(traffic, single, count)}."),
            Statement("together", f"{_all(advice)} with {best.label}: {gained}."),
        ]
        if all(collapsed(one, traffic) for one in schedulers(advice)):
            said.append(Statement("collapse", "Every scheduler collapses over these paths together."))
        said += _beginning(advice)
    else:
        against = f"{value(traffic, single.value)} with {single.label}, the best path alone"
        said = [Statement("expect", f"{_expect(traffic, best, count)}, against {against}: {gained}.")]
    return [*said, *_certain(advice)]


def value(traffic: Traffic, score: float) -> str:
    """A score with its unit."""
    if traffic.more_is_better:
        return numbers.rate(score)
    return numbers.time(score / 1e3 if traffic.in_ms else score)


def gain(found: Estimate, traffic: Traffic) -> str:
    """A gain with its interval, such as ``+12 % goodput (95 % interval +11 to +13 %)``, or ``12 % less delay (…)``."""
    if traffic.more_is_better:
        said = f"{numbers.signed(found.value)} goodput"
        ends = [numbers.signed(one) for one in found.interval or ()]
        between = numbers.interval(found)
    else:
        said = f"{_saved(found.value)} {traffic.noun}"
        ends = [_saved(one) for one in found.interval or ()]
        between = " to ".join(ends)
    alike = len(set(ends)) < 2  # in the digits that are written
    return f"{said} (the same in all variations)" if alike else f"{said} (95 % interval {between})"


def needless(advice: Findings) -> str | None:
    """The path of several that adds least, if that is as good as nothing."""
    if not advice.left_out:
        return None
    least = min(advice.left_out, key=lambda one: one.gain.value)
    high = least.gain.high if least.gain.high is not None else least.gain.value
    return least.path if least.gain.value < ADDS_NOTHING and high < WORTH_PERCENT else None


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def schedulers(advice: Findings) -> list[Standing]:
    """The rows of schedulers, the best first."""
    return [one for one in advice.standings if one.candidate.scheduler is not None]


def answer(advice: Findings) -> Answer:
    """The answer that is recommended."""
    return next(one for one in advice.answers if one.choice is advice.choice)


def _with(advice: Findings) -> str:
    """Where, and with which scheduler."""
    assert advice.choice is not None
    best, place = advice.choice.best.label, answer(advice).place
    if place == "stock":
        stands = "is" if best == KERNELS_OWN else "stands for"
        return f"on stock Linux, whose default scheduler {best} {stands}"
    if place == "kernel":
        return f"with Plait's kernel and {best}"
    return f"with {best}"


def _reservation(advice: Findings) -> str:
    """That the scheduler is not the best one in most variations, where that is so."""
    assert advice.choice is not None
    best, count = advice.choice.best, advice.simulated.variations
    if best.best_in >= MOSTLY * count:
        return ""
    within = f"{advice.setting.traffic.alike_percent:.0f} %"
    often = f"{best.best_in} of {count} variations only"
    return f" But {best.label} is the best scheduler, or within {within} of it, in {often}."


def _expect(traffic: Traffic, one: Standing, count: int) -> str:
    """What to expect of a candidate."""
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
    least, few = value(traffic, one.value), few_samples(one, traffic)
    if few:
        least += " at best"
        between += f", of {one.samples:.0f} {traffic.things} each: too few to tell"
    return f"{said.format(least)} ({between}{whole}) with {one.label}"


def covered(count: int) -> str:
    """How many of the variations ranges are of."""
    return f"all {count}" if count <= TOO_FEW else "nine of ten"


def few_samples(one: Standing, traffic: Traffic) -> bool:
    """Whether runs have so few blocks or responses that those which are seldom late may be missing."""
    return one.samples < traffic.fewest_samples


def _certain(advice: Findings) -> list[Statement]:
    """How sure the recommendation is: in how many variations it holds, for the gain and for the scheduler."""
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
        word += ", if losses are as random as said" if advice.capped else ", if links are as said"
    gains = f"the gain is {'at least' if more else 'less than'} {WORTH_PERCENT:.0f} %"
    within = f"{traffic.alike_percent:.0f} %"
    chosen = certainty(best.best_in, count, unsure=short or few).lower()
    often = max(schedulers(advice), key=lambda one: one.best_in)
    other = f" ({often.label}: in {often.best_in})" if often.best_in > best.best_in else ""
    return [
        Statement("certain-gain", f"{word}: {gains} in {holds} of {count} variations."),
        Statement(
            "certain-scheduler",
            f"The choice of the scheduler is {chosen}: {best.label} is the best one, or within {within} of it, in "
            f"{best.best_in} of {count}{other}.",
        ),
    ]


def certainty(holds: int, count: int, *, unsure: bool = False) -> str:
    """The word for what holds in so many of all variations; what holds in all of a few may be chance, so not sure."""
    share = holds / count
    if unsure or share < MOSTLY:
        return "Unsure"
    if share < NEARLY_ALL or not surely_more_than(MOSTLY, holds, count):
        return "Probable"
    return "Sure" if share == 1 else "Nearly sure"


def _beginning(advice: Findings) -> list[Statement]:
    """That short transfers hang on the path where it begins."""
    first, alone = advice.setting.paths[0].name, advice.single.label.removesuffix(" alone")
    if not advice.setting.traffic.finite or first == alone:
        return []
    text = f"Connections begin on {first}, the first path named: name {alone} first if they can begin there."
    return [Statement("beginning", text)]


def _borderline(advice: Findings) -> str:
    assert advice.choice is not None
    if _gain(advice.choice.best).value >= WORTH_PERCENT:
        return "More paths help, but not in all variations."
    return "More paths help in some variations only."


def _gain(one: Standing) -> Estimate:
    return Estimate(0.0) if one.gain is None else one.gain


def _saved(percent: float) -> str:
    """A gain of a delay or a time as less or more of it."""
    if percent < -numbers.TENFOLD:
        return f"{numbers.digits(1 - percent / 100)} times the"
    rounded = numbers.signed(abs(percent)).removeprefix("+")
    return f"{rounded} {'less' if percent >= 0 else 'more'}"


def _short(percent: float, traffic: Traffic) -> str:
    return numbers.signed(percent) if traffic.more_is_better else f"{_saved(percent)} {traffic.noun}"


def _purpose(traffic: Traffic) -> str:
    if traffic.kind == "bulk":
        return "goodput" if traffic.metric == "goodput" else "the delay of packets"
    if traffic.kind == "file":
        return f"a file of {numbers.size(traffic.size)}"
    if traffic.kind == "flows":
        return f"{traffic.clients} downloads of {numbers.size(traffic.size)} at once"
    if traffic.kind == "request-response":
        clients = f" to {traffic.clients} clients" if traffic.clients > 1 else ""
        return f"responses of {numbers.size(traffic.size)}{clients}"
    return f"blocks of {numbers.size(traffic.block)} at {numbers.rate(traffic.rate_bps)}"


def _together(advice: Findings) -> str:
    names, spare = [path.name for path in advice.setting.paths], needless(advice)
    if spare is not None:
        return f"{listed([name for name in names if name != spare])}, but not {spare},"
    return f"{listed(names)} together" if len(names) == 2 else f"all {len(names)} paths"


def _all(advice: Findings) -> str:
    return "Both paths" if len(advice.setting.paths) == 2 else f"All {len(advice.setting.paths)} paths"


def places(advice: Findings) -> list[Statement]:
    """What stock Linux alone would give, where it is not what is recommended, and what other places would add."""
    if advice.choice is None or advice.verdict == "nothing":
        return []
    traffic, said = advice.setting.traffic, []
    first, *more = advice.answers
    if first.choice is not advice.choice and first.place == "stock":
        best = first.choice.best
        words = {"worth": "worth it", "borderline": "borderline", "not worth": "not worth it"}
        said.append(
            Statement(
                "place",
                f"On stock Linux ({best.label}): {gain(_gain(best), traffic)} against {advice.single.label}, "
                f"{words.get(first.verdict, first.verdict)}.",
            )
        )
    for before, here in zip(advice.answers, more, strict=False):
        assert here.adds is not None
        where = PLACES[here.place].capitalize() if here.place != "kernel" else "With Plait's kernel"
        against = f"{gain(here.adds, traffic)} against {before.choice.best.label}"
        label, alike = here.best_new.label, f"{traffic.alike_percent:.0f} %"
        if is_better(here.adds, traffic, here.choice.width):
            worth = f"; {_gain_alone(here, traffic)} against {advice.single.label}"
            text = f"{where}, {label} would add: {against}{worth}."
        elif (here.adds.high if here.adds.high is not None else here.adds.value) <= traffic.alike_percent:
            text = f"{where}, nothing more than {alike} would be gained: {label}, the best of it, {against}."
        else:
            text = f"{where}, {label} might add something, which these runs do not tell: {against}."
        said.append(Statement("place-adds", text))
    return said


def _gain_alone(here: Answer, traffic: Traffic) -> str:
    return gain(_gain(here.best_new), traffic)


def alternatives(advice: Findings) -> list[Statement]:
    """Schedulers that are better, as good, or cannot be told apart, and those to avoid."""
    choice = advice.choice
    if choice is None or advice.verdict == "nothing":
        return []
    traffic, best = advice.setting.traffic, choice.best
    others = [one for one in schedulers(advice) if one is not best]
    said = []
    if answer(advice).place != "stock" and advice.verdict != "not worth":
        said.append(Statement("summary", f"{best.label}: {summary(best.label)}"))
    if choice.better:
        named = ", ".join(f"{name} ({_short(choice.lags[name].value, traffic)})" for name in choice.better)
        said.append(Statement("better", f"Better than {best.label} on average: {named}."))
    if choice.alike:
        names = "all others" if len(choice.alike) == len(others) else ", ".join(choice.alike)
        said.append(
            Statement(
                "alike",
                f"As good as {best.label} on average (within {traffic.alike_percent:.0f} %): {names}.",
            )
        )
    if choice.slower:
        said.append(
            Statement(
                "slower",
                f"As much goodput, but packets take over {SLOW_PERCENT:.0f} % longer than with the quickest of these: "
                f"{', '.join(choice.slower)}.",
            )
        )
    if choice.quicker is not None and advice.verdict != "not worth":
        quick = choice.quicker
        said.append(
            Statement(
                "quicker",
                f"If delay matters too: {quick.label}, whose packets take {numbers.time(quick.delay_ms / 1e3)} instead "
                f"of {numbers.time(best.delay_ms / 1e3)} (95th percentile).",
            )
        )
    if choice.undecided:
        said.append(
            Statement(
                "undecided", f"These runs cannot tell from {best.label}: {', '.join(choice.undecided)}."
            )
        )
    return [*said, *_copies(advice, best, others), *_avoid(advice, others)]


def _copies(advice: Findings, best: Standing, others: Sequence[Standing]) -> list[Statement]:
    if not best.copies:
        return []
    traffic = advice.setting.traffic
    plain = next((one for one in others if not one.copies), None)
    instead = f" Without copies {plain.label} is best: {value(traffic, plain.value)}." if plain else ""
    sent = numbers.digits(round(best.overhead, 1))
    text = f"{best.label} sends {sent} packets for each one delivered: mind what data costs.{instead}"
    return [Statement("copies", text)]


def _avoid(advice: Findings, others: Sequence[Standing]) -> list[Statement]:
    traffic, choice = advice.setting.traffic, advice.choice
    assert choice is not None
    avoid = [one for one in others if collapsed(one, traffic) and one.label not in choice.undecided]
    if not avoid or len(avoid) == len(others):
        return []
    named = ", ".join(f"{one.label} ({_short(_gain(one).value, traffic)})" for one in avoid)
    return [Statement("avoid", f"Avoid (against {advice.single.label}): {named}.")]
