"""Reads `NAME RATE RTT [LOSS] [key=value…]`: the facts about a path for `plait advise --path`.

The unit tells the kind of a part after the name, so the order does not matter:
``lte 30Mbit 60ms 1%``. A recording can replace the rate: ``lte trace=FILE 40ms`` (Mahimahi's
format). Rates, round trip and loss may be ranges: ``rtt=25-60ms``. The name of a preset alone
stands for that link: ``dsl``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path as FilePath
from typing import TypeGuard

from plait import _core
from plait.advice.amounts import Amount, amount, ends, losses, losses_text
from plait.advice.links import DISCIPLINES, KnownPath, Outage
from plait.scenarios.presets import PRESETS, Handovers, preset
from plait.scenarios.scenario import Scenario
from plait.scenarios.topology import Path
from plait.scenarios.units import NANOSECONDS, duration_ns, rate_bps, size_bytes
from plait.support.words import expected

KEYS = {
    "rate": "such as rate=16Mbit",
    "rtt": "such as rtt=25ms, or rtt=25-60ms if it is somewhere in between",
    "loss": "such as loss=1%, loss=burst:1%:10 for losses that come ten at a time, or loss=every:15s:120ms:50% for "
    "handovers",
    "outage": "such as outage=60s:3s for a path that fails every 60 s, for 3 s",
    "queue": "such as queue=50p, 64kB, 100ms or bdp, or codel or fq_codel where a router shapes",
    "jitter": "such as jitter=5ms",
    "back": "the rate of the other direction, such as back=1Mbit or back=1-5Mbit",
    "trace": "a recording in Mahimahi's format, instead of a rate",
    "back-trace": "a recording of the other direction",
    "cost": "the cost of a metered path, such as cost=1",
    "cap": "how much a metered path may carry, such as cap=50GB",
    "preset": f"a common link, whose numbers hold where nothing else is said: {', '.join(PRESETS)}",
}
FORM = "NAME RATE RTT [LOSS] [KEY=VALUE…], such as 'lte 30Mbit 60ms 1%', or a preset such as 'dsl'"

LONGEST_PERIOD_NS = 600 * NANOSECONDS
AMOUNT = re.compile(r"unknown unit: write (\d\S*?)(?:, and (\S+) as the rate of the other direction)?$")
"""The amount that the unit parser proposes, and the amount of the other direction."""


def parse_path(text: str) -> KnownPath:
    """Parse the description of a path.

    Raises:
        ScenarioError: the text has no name, no rate or two, no round-trip time or two, an unknown
            part, or a value out of range; or a recording cannot be read.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise _bad(text, f"{str(error).lower()}; expected {FORM}") from error
    if not words or "=" in words[0] or _kind(words[0]) is not None:
        raise _bad(text, f"no name; expected {FORM}")
    name, *rest = words
    said: dict[str, str] = {}
    for word in rest:
        key, value = _item(text, word)
        if key in said:
            raise _bad(text, f"{key} is said twice: {said[key]!r} and {value!r}")
        said[key] = value
    if name in PRESETS and not said.keys() & {"rate", "rtt", "trace", "preset"}:
        said["preset"] = name
    common = _preset(text, said)
    if ("rate" in said) == ("trace" in said):
        what = "a rate and a recording" if "rate" in said else "no rate"
        raise _bad(text, f"{what}; expected either a rate such as 16Mbit or trace=FILE")
    if "rtt" not in said:
        raise _bad(text, "no round-trip time; expected one such as 25ms")
    return _known(text, name, said, common)


def parse_paths(texts: Sequence[str | KnownPath]) -> list[KnownPath]:
    """Parse the descriptions of all paths.

    Raises:
        ScenarioError: there is no path, two have the same name, there are more than schedulers
            take, or a path is invalid.
    """
    if not texts:
        message = f"paths: expected at least one, {FORM}"
        raise _core.ScenarioError(message)
    paths = [text if isinstance(text, KnownPath) else parse_path(text) for text in texts]
    names = [path.name for path in paths]
    for name in names:
        if names.count(name) > 1:
            message = f"path {name!r}: two paths have this name; expected different ones"
            raise _core.ScenarioError(message)
    Scenario(name="paths", paths=[path.path() for path in paths])
    return paths


def _item(text: str, word: str) -> tuple[str, str]:
    """Return key and value of one word, from KEY=VALUE or by its unit."""
    key, equals, value = word.partition("=")
    if not equals:
        kind = _kind(word)
        if kind is None:
            meant = _meant(word)
            raise _bad(
                text,
                f"{word!r}: write {' or '.join(meant)}"
                if meant
                else f"{word!r}: expected a rate such as 16Mbit, a round-trip time such as 25ms, a loss such as 1%, "
                f"or KEY=VALUE with one of: {', '.join(KEYS)}",
            )
        return kind, word
    if key not in KEYS:
        raise _bad(text, f"{key!r}: unknown{expected(key, list(KEYS))}")
    if not value:
        raise _bad(text, f"{key}: nothing said; expected {KEYS[key]}")
    return key, value


def _meant(word: str) -> list[str]:
    """Guess the amount in another notation: ``50Mbps``, ``20msec``, or ``50/10Mbit`` of tariffs."""
    meant: list[str] = []
    for read in (_core.parse_rate, _core.parse_duration):
        try:
            read(word)
        except _core.ScenarioError as error:
            found = AMOUNT.search(str(error))
            if found is not None:
                meant.append(found[1] + (f" back={found[2]}" if found[2] else ""))
    return meant


def _preset(text: str, said: dict[str, str]) -> str | None:
    """Return the name of the given preset, and fill in its numbers where the input gives none."""
    name = said.pop("preset", None)
    if name is None:
        return None
    try:
        common = preset(name)
    except _core.ScenarioError as error:
        raise _bad(text, str(error)) from error
    usual = {"rate": common.rate, "back": common.back, "rtt": common.rtt, "queue": common.queue}
    if "trace" in said:
        del usual["rate"]
    if "back-trace" in said:
        del usual["back"]
    if common.jitter is not None:
        usual["jitter"] = common.jitter
    if common.losses is not None:
        usual["loss"] = losses_text(common.losses)
    for key, value in usual.items():
        said.setdefault(key, value)
    return name


def _kind(word: str) -> str | None:
    """Return the kind of a word by its unit: rate, rtt or loss."""
    word = (ends(word) or (word,))[0]
    if word.endswith("%") or word.startswith(("burst:", "every:")):
        return "loss"
    for kind, read in (("rate", _core.parse_rate), ("rtt", _core.parse_duration)):
        try:
            read(word)
        except _core.ScenarioError:
            continue
        return kind
    return None


def _known(text: str, name: str, said: dict[str, str], common: str | None) -> KnownPath:
    """Build the path; the code that reads scenario files checks the values."""
    share, together = _losses(text, said)
    judged = {**said, "loss": share}
    for key, as_key in (("rate", "rate"), ("back", "rate"), ("loss", "loss")):
        for end in ends(judged.get(key, "")) or (judged.get(key),):
            _checked(text, name, key, end, as_key)
    for key, as_key in (
        ("jitter", "jitter"),
        ("cost", "cost"),
        ("trace", "trace"),
        ("back-trace", "trace"),
    ):
        value = said.get(key)
        _checked(text, name, key, int(value) if key == "cost" and _whole(value) else value, as_key)
    if said.get("queue") not in DISCIPLINES:
        _checked(text, name, "queue", said.get("queue"), "queue")
    if "back" in said and "back-trace" in said:
        raise _bad(text, "a rate and a recording of the other direction; expected either of them")
    rtt = _amount(text, "rtt", said["rtt"], duration_ns)
    if rtt.value == 0:
        raise _bad(text, f"rtt {said['rtt']!r}: expected more than 0 ms")
    rate = _amount(text, "rate", said["rate"], rate_bps) if "rate" in said else None
    back = _amount(text, "back", said["back"], rate_bps) if "back" in said else None
    loss = _amount(text, "loss", share, _share)
    return KnownPath(
        name=name,
        rtt_ns=round(rtt.value),
        rate_bps=None if rate is None else round(rate.value),
        loss=loss.value,
        queue=said.get("queue"),
        jitter_ns=duration_ns(said["jitter"]) if "jitter" in said else 0,
        back_bps=None if back is None else round(back.value),
        trace=_file(said, "trace"),
        back_trace=_file(said, "back-trace"),
        burst=together if loss.value and isinstance(together, float) else None,
        handovers=together if loss.value and isinstance(together, Handovers) else None,
        outage=_outage(text, said.get("outage")),
        cost=int(said.get("cost", 0)),
        cap=_cap(text, said.get("cap")),
        rate_spread=None if rate is None else rate.spread,
        rtt_spread=rtt.spread,
        loss_spread=loss.spread,
        back_spread=None if back is None else back.spread,
        preset=common,
    )


def _losses(text: str, said: dict[str, str]) -> tuple[str, float | Handovers | None]:
    """Return the share of lost packets, and their bursts or handovers if given."""
    try:
        return losses(said.get("loss", "0%"))
    except _core.ScenarioError as error:
        raise _bad(text, f"loss: {error}") from error


def _outage(text: str, value: str | None) -> Outage | None:
    if value is None:
        return None
    every, colon, length = value.partition(":")
    try:
        found = Outage(duration_ns(every), duration_ns(length)) if colon else None
    except _core.ScenarioError as error:
        raise _bad(text, f"outage: {error}") from error
    if found is None or not 0 < found.length_ns < found.every_ns <= LONGEST_PERIOD_NS:
        form = "expected EVERY:LENGTH with a length below the period, which is at most 10min; such as 60s:3s"
        raise _bad(text, f"outage {value!r}: {form}")
    return found


def _cap(text: str, value: str | None) -> int | None:
    if value is None:
        return None
    try:
        size = size_bytes(value)
    except _core.ScenarioError as error:
        raise _bad(text, f"cap: {error}") from error
    if size == 0:
        raise _bad(text, f"cap {value!r}: expected more than 0 B, such as cap=50GB")
    return size


def _whole(text: str | None) -> TypeGuard[str]:
    """Return whether a text is a whole number."""
    return text is not None and text.isascii() and text.isdigit()


def _file(said: dict[str, str], key: str) -> str | None:
    return str(FilePath(said[key]).absolute()) if key in said else None


def _checked(text: str, name: str, key: str, value: str | int | None, as_key: str) -> None:
    """Let the scenario reader check one value; raise its ScenarioError with the path's text."""
    if value is None:
        return
    table = {"rate": "1Mbit", "rtt": "1ms", as_key: value}
    try:
        Scenario(name="path", paths=[Path(name=name, **table)])  # type: ignore[arg-type]
    except _core.ScenarioError as error:
        words = str(error).removeprefix("path: path[0].").removeprefix("path: ")
        raise _bad(text, f"{key}{words.removeprefix(as_key)}") from error


def _amount(text: str, key: str, value: str, read: Callable[[str], float]) -> Amount:
    try:
        return amount(value, read)
    except _core.ScenarioError as error:
        raise _bad(text, f"{key}: {error}") from error


def _share(text: str) -> float:
    return float(text[:-1]) / 100


def _bad(text: str, why: str) -> _core.ScenarioError:
    return _core.ScenarioError(f"path {text!r}: {why}")
