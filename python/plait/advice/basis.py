"""The basis of an advice and its limits, in words."""

from __future__ import annotations

from plait.advice import numbers
from plait.advice.choices import CONTROLS
from plait.advice.findings import Findings
from plait.advice.links import SPREAD
from plait.advice.statement import Statement
from plait.advice.traffic import STAGGER_NS, THINK_NS, WARMUP
from plait.advice.variations import FEWEST_QUEUED, QUEUES
from plait.scenarios.units import NANOSECONDS

GOODPUT_ERRORS = {1: (0.1, 4.2), 2: (0.6, 7.8), 3: (2.2, 13.1), 4: (2.0, 26.3)}
"""Percent, by number of paths. Errors of the simulator's goodputs against Linux, in half and in nine
of ten cases. The figures are those of docs/validation.md, region by region."""
RANKED_ALIKE = 96
"""Percent. The share of scheduler pairs that both rank alike, from docs/validation.md."""
LATENCY_ERROR, LATENCY_TENTH_ERROR = 1.7, 30.5
"""Percent. Errors of the simulator's request latencies against Linux (90th percentile of a run), in
half and in nine of ten cases. The figures are those of docs/requests.md."""


def simulated(advice: Findings) -> list[str]:
    """Describe the simulated variations, runs and protocol."""
    setting, done = advice.setting, advice.simulated
    lines = []
    if advice.asked != setting.traffic:
        best = advice.choice.best if advice.choice and advice.several else advice.single
        seconds = advice.asked.total_bytes * 8 / max(best.goodput_bps, 1.0)
        lines.append(
            f"{numbers.size(advice.asked.total_bytes)} are too much to simulate in seconds, so this answer is for "
            f"bulk traffic. At {numbers.rate(best.goodput_bps)} they take about {numbers.time(seconds)}."
        )
    amount = f"{done.runs} runs, {done.events / 1e6:.1f} million events, seed {done.seed}"
    lines.append(
        f"Simulated: {done.variations} variations of the input, by up to {SPREAD * 100:.0f} % or over its range."
        f"{_queues(advice)}{_recordings(advice)}{_stages(advice)} Each run lasts {_length(advice)}. "
        f"With the searches: {amount}. {_protocol(advice)}"
    )
    if done.short and not setting.traffic.finite:
        lines.append(
            "Runs of more round trips would take too long. These runs show the beginning of a connection, not its "
            "steady state."
        )
    return lines


def traffic(advice: Findings) -> list[Statement]:
    """Describe the assumptions about the traffic: how clients ask, and how downloads begin."""
    said = advice.setting.traffic
    if said.kind == "request-response":
        one = said.clients == 1
        who = "one client" if one else f"{said.clients} clients, which share the connection"
        text = (
            f"Requests: {who}; each response has {numbers.size(said.size)}, and the next request follows it after "
            f"{numbers.time(THINK_NS / NANOSECONDS)} on average (exponentially distributed)."
        )
    elif said.kind == "flows":
        text = (
            f"Downloads: {said.clients} of {numbers.size(said.size)}, each over a connection of its own. One begins "
            f"every {numbers.time(STAGGER_NS / NANOSECONDS)}, and its time counts from its beginning. All have the "
            "same scheduler. With one path alone, all use that path."
        )
    elif said.beside:
        text = (
            f"Blocks: one of {numbers.size(said.block)} every {numbers.time(said.block * 8 / said.rate_bps)}."
        )
    else:
        return []
    if said.beside:
        text += f" Beside them runs one {said.beside} without end, over the same paths and with the same scheduler."
    return [Statement("traffic", text)]


def limits(advice: Findings) -> list[str]:
    """Name the effects that the simulation does not cover."""
    shared = ", shared bottlenecks" if len(advice.setting.paths) > 1 else ""
    changes = "" if all(one.trace for one in advice.setting.paths) else ", changing rates"
    bursts = "" if any(one.together or one.trace for one in advice.setting.paths) else ", losses in bursts"
    return [f"Not simulated: other traffic{shared}{bursts}{changes}, processors. {_validated(advice)}"]


def _validated(advice: Findings) -> str:
    """Tell how closely the judged metric agrees with the real kernel, where it was compared."""
    said = advice.setting.traffic
    if advice.setting.congestion == "bbr":
        return "With BBR, the simulator's error is less certain, most of all that of delays (docs/advise-answer.md)."
    if said.kind == "flows" and len(advice.setting.paths) > 1:
        return (
            "Many simultaneous connections over several paths were not compared with the real kernel. For one "
            "connection, see docs/validation.md."
        )
    if said.kind == "request-response":
        return (
            f"Half of the simulator's latencies (of 90 % of the requests) are within {LATENCY_ERROR:g} % of the real "
            f"kernel's. One in ten differs by more than {LATENCY_TENTH_ERROR:.0f} %, mostly over several paths "
            "(docs/requests.md)."
        )
    paths = min(len(advice.setting.paths), max(GOODPUT_ERRORS))
    median, tenth = GOODPUT_ERRORS[paths]
    return (
        f"Over {paths} path{'s' if paths > 1 else ''}, half of the simulator's goodputs are within {median:g} % of "
        f"the real kernel's, and one in ten differs by more than {tenth:.0f} %. Both rank {RANKED_ALIKE} % of pairs "
        "of schedulers alike (docs/validation.md)."
    )


def _stages(advice: Findings) -> str:
    """Tell which runs chose the schedulers."""
    if not advice.dropped:
        return ""
    count = len([one for one in advice.standings if one.candidate.scheduler is not None])
    return (
        f" They run with the best {count} of {count + len(advice.dropped)} schedulers, which "
        f"{advice.simulated.explored} other variations chose."
    )


def _queues(advice: Findings) -> str:
    if all(path.queue is not None for path in advice.setting.paths):
        return ""
    low, high = QUEUES
    return (
        f" Queues without a stated size: {low:g} to {high:g} bandwidth-delay products, at least {FEWEST_QUEUED} "
        "packets."
    )


def _recordings(advice: Findings) -> str:
    return " Each variation begins at another place of the recordings." if _any_trace(advice) else ""


def _any_trace(advice: Findings) -> bool:
    return any(path.trace is not None for path in advice.setting.paths)


def _length(advice: Findings) -> str:
    done = advice.simulated
    if advice.setting.traffic.finite:
        what = "the file has" if advice.setting.traffic.kind == "file" else "all downloads have"
        return f"until {what} arrived, for at most {numbers.time(done.duration_s)}"
    trips = numbers.digits(done.round_trips)
    return (
        f"for {numbers.time(done.duration_s)} ({trips} times the longest round trip with a full queue). The first "
        f"{WARMUP * 100:.0f} % do not count"
    )


def _protocol(advice: Findings) -> str:
    setting = advice.setting
    if setting.protocol == "cmt-sctp":
        return "CMT-SCTP with NewReno." if len(setting.paths) > 1 else "SCTP with NewReno."
    control = CONTROLS[setting.congestion]
    if len(setting.paths) == 1:
        return f"TCP as in Linux, with {control}."
    return f"MPTCP as in Linux, with {control}; connections begin on {setting.paths[0].name}."
