"""What was found, in plain words: never more certain than the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plait.advice import numbers
from plait.advice.buffer import TOLERATED, rule
from plait.advice.candidates import DEFAULT, summary
from plait.advice.findings import Findings
from plait.advice.judging import MOSTLY, SLOW_PERCENT, WORTH_PERCENT, Standing, collapsed
from plait.advice.threshold import Threshold
from plait.advice.traffic import Traffic
from plait.statistics.estimate import Estimate

ADDS_NOTHING = 2.0
"""A path that adds less, in percent, can be left out."""
NEARLY_ALL = 0.9


def heading(advice: Findings) -> str:
    """The recommendation, in one or two sentences."""
    alone = advice.single.label.removesuffix(" alone")
    names = [path.name for path in advice.setting.paths]
    if advice.verdict == "nothing":
        what = {"bulk": "anything", "blocks": "all blocks", "file": "the file in time"}
        undone = what[advice.setting.traffic.kind]
        return f"In most variations no path and no scheduler delivers {undone}: nothing can be recommended."
    if advice.choice is None:
        return f"One path, so there is nothing to schedule. This is what to expect of {alone}."
    best = advice.choice.best.label
    scheduler = f"{best}, MPTCP's default scheduler" if _is_default(advice) else best
    spare = needless(advice)
    together = (
        _together(names)
        if spare is None
        else f"{listed([name for name in names if name != spare])}, but not {spare},"
    )
    if advice.verdict == "worth":
        return f"Use {together} with {scheduler}."
    if advice.verdict == "not worth":
        other = next(name for name in names if name != alone)
        more = f"{other} as a second path is" if len(names) == 2 else "more paths are"
        return f"Use {alone} alone: {more} not worth it for {_purpose(advice.setting.traffic)}."
    return f"Borderline: {alone} alone, or {together} with {scheduler}. {_borderline(advice)}"


def expectation(advice: Findings) -> list[str]:
    """What to expect against the best single path, and how sure that is."""
    traffic, single, count = advice.setting.traffic, advice.single, advice.simulated.variations
    if advice.verdict == "nothing":
        return []
    if advice.choice is None:
        return [f"{_expect(traffic, single, count)}."]
    best = advice.choice.best
    change = _change(best.change or Estimate(0.0), traffic)
    if advice.verdict == "not worth":
        lines = [f"{_expect(traffic, single, count)}. {_all(advice)} with {best.label}: {change}."]
        if all(collapsed(one, traffic) for one in _schedulers(advice)):
            lines.append("Every scheduler collapses over these paths together.")
        return [*lines, *_beginning(advice), _certain(advice)]
    against = f"{value(traffic, single.value)} with {single.label}, the best single path"
    return [f"{_expect(traffic, best, count)}, against {against}: {change}.", _certain(advice)]


def alternatives(advice: Findings) -> list[str]:
    """Schedulers that are as good, those that cannot be told apart, and those to avoid."""
    choice = advice.choice
    if choice is None or advice.verdict == "nothing":
        return []
    traffic = advice.setting.traffic
    best, others = choice.best, [one for one in _schedulers(advice) if one is not choice.best]
    lines = []
    if best.label != DEFAULT and advice.verdict != "not worth":
        lines.append(f"{best.label}: {summary(best.label)}")
    if choice.alike:
        everyone = len(choice.alike) == len(others)
        names = "all others" if everyone else ", ".join(choice.alike)
        why = f"; {best.label} is MPTCP's default" if _is_default(advice) else ""
        lines.append(f"As good on average (within {traffic.alike_percent:.0f} %): {names}{why}.")
    if choice.slower:
        lines.append(
            f"As much goodput, but packets take over {SLOW_PERCENT:.0f} % longer: {', '.join(choice.slower)}."
        )
    if choice.quicker is not None and advice.verdict != "not worth":
        quick = choice.quicker
        lines.append(
            f"If delay matters too: {quick.label}, whose packets take {numbers.time(quick.delay_ms / 1e3)} instead of "
            f"{numbers.time(best.delay_ms / 1e3)} (95th percentile)."
        )
    if choice.undecided:
        lines.append(f"These runs cannot tell from the best: {', '.join(choice.undecided)}.")
    if best.copies:
        plain = next((one for one in others if not one.copies), None)
        instead = f" Without copies {plain.label} is best: {value(traffic, plain.value)}." if plain else ""
        sent = numbers.digits(round(best.overhead, 1))
        lines.append(
            f"{best.label} sends {sent} packets for each one delivered: mind what data costs.{instead}"
        )
    avoid = [one for one in others if collapsed(one, traffic) and one.label not in choice.undecided]
    if avoid and len(avoid) < len(others):
        said = ", ".join(f"{one.label} ({numbers.signed(one.change.value)})" for one in avoid if one.change)
        lines.append(f"Avoid: {said}.")
    return lines


def receive_buffer(advice: Findings) -> list[str]:
    """Whether the buffer holds the sender back, and which does not."""
    found = advice.buffer
    if found is None:
        return _rule(advice)
    traffic = advice.setting.traffic
    tolerated = f"{max(TOLERATED, traffic.alike_percent):.0f} %"
    given = numbers.size(found.given)
    what = {"bulk": "of the goodput", "blocks": "more delay", "file": "more time"}[traffic.kind]
    which = f"({found.scheduler}, {_all(advice).lower()})"
    needed = numbers.size(found.needed)
    if not found.enough:
        cost = numbers.signed(found.given_cost.value).removeprefix("+")
        line = f"{given} costs {cost} {what}; about {needed} would cost less than {tolerated}"
    elif found.smallest:
        line = f"{given} does not limit the sender, and {needed} would not either"
    else:
        line = f"{given} does not limit the sender; no less than about {needed} would cost under {tolerated}"
    return [f"Receive buffer: {line} {which}."]


def _rule(advice: Findings) -> list[str]:
    """The rule of thumb where nothing was searched."""
    if advice.choice is None or advice.verdict == "nothing":
        return []
    wanted, given = rule(advice.setting), advice.setting.receive_buffer
    which = "is less, and may be what limits these paths" if given < wanted else "is more"
    carried = f"All paths carry {numbers.size(wanted)} in the longest round trip with a full queue"
    return [
        f"Receive buffer: not searched for, these links leave no time. {carried}; {numbers.size(given)} {which}."
    ]


def thresholds(advice: Findings) -> list[str]:
    """What would make the second path worth it; or what each of several adds."""
    if advice.left_out:
        said = ", ".join(f"{one.path} {numbers.signed(one.gain_percent)}" for one in advice.left_out)
        again = needless(advice) if advice.verdict == "worth" else None
        ask = f" Ask again without {again}: other schedulers may do as well then." if again else ""
        return [f"What each path adds to the others: {said}.{ask}"]
    if advice.verdict == "not worth" and len(advice.setting.paths) == 2 and not advice.thresholds:
        return [
            f"What would make {_second(advice)} worth it was not searched for: these links leave no time."
        ]
    enough = [one for one in advice.thresholds if one.value is not None]
    vain = [one for one in advice.thresholds if one.value is None]
    clearly = "clearly " if advice.verdict == "borderline" else ""
    lines = []
    if enough:
        said = ", or ".join(_threshold(one) for one in enough)
        gain = f"(gain at least {WORTH_PERCENT:.0f} %)"
        lines.append(
            f"{_second(advice)} would be {clearly}worth it {gain}, all else as said, with about {said}."
        )
    if vain:
        said = " or ".join(_amount(one.key, one.tried) for one in vain)
        lines.append(
            f"No change up to {said} is enough."
            if enough
            else f"Not even {said} would make it {clearly}worth it."
        )
    return lines


def value(traffic: Traffic, score: float) -> str:
    """A score with its unit."""
    if traffic.kind == "bulk":
        return numbers.rate(score)
    return numbers.time(score / 1e3 if traffic.kind == "blocks" else score)


def needless(advice: Findings) -> str | None:
    """The path of several that adds least, if that is as good as nothing."""
    if not advice.left_out:
        return None
    least = min(advice.left_out, key=lambda one: one.gain_percent)
    return least.path if least.gain_percent < ADDS_NOTHING else None


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _expect(traffic: Traffic, one: Standing, count: int) -> str:
    """What to expect of a candidate."""
    between = f"{value(traffic, one.low)} to {value(traffic, one.high)} in nine of ten variations"
    whole = "" if one.whole_in == count else f"; everything arrives in {one.whole_in} of {count}"
    said = {
        "bulk": "Expect a goodput of {}",
        "blocks": "Expect 95 % of the blocks within {}",
        "file": f"Expect {numbers.size(traffic.size)} to take {{}}",
    }[traffic.kind]
    return f"{said.format(value(traffic, one.value))} ({between}{whole}) with {one.label}"


def _certain(advice: Findings) -> str:
    """How sure the recommendation is: in how many variations it holds."""
    assert advice.choice is not None
    best, count = advice.choice.best, advice.simulated.variations
    more = best.worth_in >= count / 2
    holds = best.worth_in if more else count - best.worth_in
    gain = f"the gain is {'at least' if more else 'less than'} {WORTH_PERCENT:.0f} % in {holds} of {count} variations"
    percent = f"{advice.setting.traffic.alike_percent:.0f} %"
    sure = "Unsure" if advice.verdict == "borderline" else _sure(holds / count)
    if advice.simulated.short:
        sure = "Unsure, since the runs are short"
    return (
        f"{sure}: {gain}. {best.label} is the best scheduler, or within {percent} of it, in "
        f"{best.best_in} of {count}."
    )


def _beginning(advice: Findings) -> list[str]:
    """That a short transfer hangs on the path where it begins."""
    first, alone = advice.setting.paths[0].name, advice.single.label.removesuffix(" alone")
    if advice.setting.traffic.kind != "file" or first == alone:
        return []
    return [
        f"Connections begin on {first}, the first path named: name {alone} first if they can begin there."
    ]


def _sure(share: float) -> str:
    if share == 1:
        return "Sure, if links are as said"
    if share >= NEARLY_ALL:
        return "Nearly sure"
    return "Probable" if share >= MOSTLY else "Unsure"


def _change(change: Estimate, traffic: Traffic) -> str:
    what = {"bulk": "goodput", "blocks": "delay", "file": "time"}[traffic.kind]
    certain = numbers.interval(change)
    return f"{numbers.signed(change.value)} {what}" + (f" (95 % interval {certain})" if certain else "")


def _borderline(advice: Findings) -> str:
    assert advice.choice is not None
    if _gain(advice.choice.best) >= WORTH_PERCENT:
        return "More paths help, but not in all variations."
    return "More paths help in some variations only."


def _is_default(advice: Findings) -> bool:
    return (
        advice.choice is not None
        and advice.choice.best.label == DEFAULT
        and advice.setting.protocol == "mptcp"
    )


def _gain(one: Standing) -> float:
    return 0.0 if one.gain is None else one.gain.value


def _schedulers(advice: Findings) -> list[Standing]:
    return [one for one in advice.standings if one.candidate.scheduler is not None]


def _threshold(one: Threshold) -> str:
    assert one.value is not None
    first = _amount(one.key, one.value)
    if one.until is None or one.until == one.value:
        return first
    return f"{first} (to {_amount(one.key, one.until).split(' of ')[-1]})"


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


def _purpose(traffic: Traffic) -> str:
    return {
        "bulk": "goodput",
        "blocks": f"blocks of {numbers.size(traffic.block)} at {numbers.rate(traffic.rate_bps)}",
        "file": f"a file of {numbers.size(traffic.size)}",
    }[traffic.kind]


def _together(names: Sequence[str]) -> str:
    return f"{listed(names)} together" if len(names) == 2 else f"all {len(names)} paths"


def _all(advice: Findings) -> str:
    return "Both paths" if len(advice.setting.paths) == 2 else f"All {len(advice.setting.paths)} paths"
