"""Checks every sentence of an advice against its JSON document, with a check for each kind.

A check reads the claim from the words and does not use the code that writes the sentences. A
sentence of an unknown kind is also an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from plait.validate.certainty import CERTAINTY, MOSTLY
from plait.validate.practice import PRACTICE
from plait.validate.reading import (
    AMOUNT,
    PERCENT,
    Document,
    Written,
    alike,
    amount,
    end,
    gain,
    group,
    percent,
    share,
    single,
    standing,
    unit,
)

WORTH = 10.0


def complaints(document: Document) -> list[str]:
    """Return a line for each claim of a sentence that the numbers do not support."""
    found = []
    for one in document["statements"]:
        kind, text = one["kind"], one["text"]
        check = CHECKS.get(kind)
        if check is None:
            found.append(f"{kind}: nobody checks such sentences: {text}")
            continue
        try:
            found += [f"{kind}: {why}: {text}" for why in check(text, document)]
        except (
            ArithmeticError,
            AssertionError,
            AttributeError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            found.append(f"{kind}: cannot be read ({error!r}): {text}")
    kinds = [one["kind"] for one in document["statements"]]
    if kinds.count("heading") != 1:
        found.append("not one heading")
    if document["capped"] and document["verdict"] != "nothing" and "capped" not in kinds:
        found.append("losses cap a path, and no sentence says so")
    return found


def _surely_better(lag: Mapping[str, Any], document: Document) -> bool:
    """Whether a gain is beyond chance, given that the best of many schedulers is compared."""
    sure = lag["value"] - document["width_for_many"] * (lag["value"] - end(lag, "low")) > 0
    return bool(sure and lag["value"] > alike(document))


def _estimate(said: tuple[Written, tuple[Written, Written] | None], found: Mapping[str, Any]) -> bool:
    value, ends = said
    within = ends is None or (ends[0].says(end(found, "low")) and ends[1].says(end(found, "high")))
    return value.says(found["value"]) and within


def _worth(row: Mapping[str, Any], count: int) -> str:
    """Return the verdict that a row's numbers allow."""
    low, high = end(row["gain_percent"], "low"), end(row["gain_percent"], "high")
    if low >= WORTH and row["worth_in"] >= MOSTLY * count:
        return "worth"
    return "not worth" if high < WORTH and count - row["worth_in"] >= MOSTLY * count else "borderline"


def _heading(text: str, document: Document) -> Iterator[str]:
    verdict, count = document["verdict"], document["simulated"]["variations"]
    if verdict in ("nothing", "one path"):
        opening = {"nothing": "In most variations no path", "one path": "One path"}[verdict]
        if not text.startswith(opening):
            yield f"the verdict is {verdict}"
        if verdict == "nothing" and any(one["all_delivered_in"] * 2 > count for one in document["standings"]):
            yield "something delivers all"
        return
    row = standing(document, document["scheduler"])
    if _worth(row, count) != verdict:
        yield f"the numbers say {_worth(row, count)}, the verdict is {verdict}"
    begins = {
        "worth": "Use ",
        "not worth": f"Use {document['best_single_path']} alone:",
        "borderline": "Borderline: ",
    }
    if not text.startswith(begins[verdict]):
        yield f"the verdict is {verdict}"
    if verdict == "not worth":
        return
    if document["scheduler"] not in text:
        yield f"{document['scheduler']} is the scheduler"
    spare = re.search(r", but not (\S+),", text)
    if spare and (document["adds_percent"][spare[1]]["value"] >= 2 or spare[1] in document["use_paths"]):
        yield f"{spare[1]} adds something"
    stock = "on stock Linux" in text
    here = next(one for one in document["answers"] if one["scheduler"] == document["scheduler"])
    if stock != (here["where"] == "stock") or ("with Plait's kernel" in text) != (here["where"] == "kernel"):
        yield f"{document['scheduler']} is at {here['where']}"


def _expect(text: str, document: Document) -> Iterator[str]:
    row = standing(document, group(r"\) with ([^,]+?)(?:, against|\.$)", text))
    amounts = re.findall(AMOUNT, text)
    if text.startswith("Expect") and re.match(rf"Expect {AMOUNT} to take", text):
        amounts = amounts[1:]  # the file's size
    scale = unit(document)
    for said, key in zip(amounts, ("median", "p5", "p95"), strict=False):
        if not amount(said).says(row[key] * scale):
            yield f"{key} is {row[key] * scale}"
    least = {"p95": 20, "p99": 100, "max": 100}.get(document["metric"].split(".")[-1], 0)
    counted = re.split("[:+]", document["simulated"]["traffic"])[0] in ("blocks", "request-response")
    few = counted and (row["samples"] or 0) < least
    told = re.search(r" at best \(.* of (\d+) (?:blocks?|responses?) each: too few to tell", text)
    if few != (told is not None) or (told and abs(int(told[1]) - (row["samples"] or 0)) > 0.5):
        yield f"of each run {row['samples']} count"
    count = document["simulated"]["variations"]
    if (f" in all {count} variations" in text) != (count <= 20):
        yield f"the range is of {count} variations"
    arrives = re.search(r"everything arrives in (\d+) of", text)
    if (int(arrives[1]) if arrives else count) != row["all_delivered_in"]:
        yield f"all is delivered in {row['all_delivered_in']}"
    if ", against " in text:
        alone = single(document)
        if not amount(amounts[3]).says(alone["median"] * scale) or f"with {alone['label']}" not in text:
            yield f"alone: {alone['median']}"
        if not _estimate(gain(text), row["gain_percent"]):
            yield f"the gain is {row['gain_percent']}"


def _together(text: str, document: Document) -> Iterator[str]:
    row = standing(document, group(r" with (\S+):", text))
    if not _estimate(gain(text), row["gain_percent"]):
        yield f"the gain is {row['gain_percent']}"


def _beginning(text: str, document: Document) -> Iterator[str]:
    first, *_ = paths = document["asked"]["paths"]
    named = group(r": name (\S+) first", text)
    if first["name"] == named or f"begin on {first['name']}," not in text:
        yield f"the first path is {first['name']}"
    if " round trip of " in text:
        shortest = min(path["rtt_ms"] for path in paths)
        if first["rtt_ms"] < 2 * shortest or not amount(group(rf"of ({AMOUNT})", text)).says(
            first["rtt_ms"] / 1e3
        ):
            yield f"its round trip is {first['rtt_ms']} ms"
        if next(path for path in paths if path["name"] == named)["rtt_ms"] > shortest:
            yield "another one is quicker"
    elif named != document["best_single_path"]:
        yield "another path is the best"


def _capped(text: str, document: Document) -> Iterator[str]:
    one = next(one for one in document["capped"] if f" cap {one['path']}:" in text)
    said = [amount(each) for each in re.findall(AMOUNT, text)]
    keys = ["as_said_bps", "rate_bps", "in_bursts_bps", "without_bps"]
    keys = [key for key in keys if one[key] is not None]
    if document["asked"]["traffic"] != "bulk" and document["simulated"]["traffic"] != "bulk":
        keys.remove("rate_bps")
    path = next(path for path in document["asked"]["paths"] if path["name"] == one["path"])
    how = "in bursts" if path["burst_packets"] else "at handovers" if path["handovers"] else "independent"
    if how not in text.partition(" cap ")[0]:
        yield f"the losses are {how}"
    if len(said) != len(keys) or not all(each.says(one[key]) for each, key in zip(said, keys, strict=True)):
        yield f"the rates are {one}"
    alone = standing(document, f"{one['path']} alone")["goodput_bps"]
    if abs(alone - one["as_said_bps"]) > 1 and alone > 1:
        yield f"the table has {alone}"
    if one["as_said_bps"] >= 0.7 * (one["without_bps"] or one["rate_bps"]):
        yield "the losses do not cap it"
    if not share(group(rf"({PERCENT}) ", text)).says(one["loss"]):
        yield f"the loss is {one['loss']}"


def _measure(text: str, document: Document) -> Iterator[str]:
    if not all(one["path"] in text for one in document["capped"]):
        yield "a path is missing"


def _place(text: str, document: Document) -> Iterator[str]:
    answer = document["answers"][0]
    row = standing(document, answer["scheduler"])
    words = {"worth": "worth it", "borderline": "borderline", "not worth": "not worth it"}
    if f"({answer['scheduler']})" not in text or not text.endswith(f", {words[answer['verdict']]}."):
        yield f"it is {answer}"
    if _worth(row, document["simulated"]["variations"]) != answer["verdict"]:
        yield "the verdict is another"
    if not _estimate(gain(text), row["gain_percent"]):
        yield f"the gain is {row['gain_percent']}"


def _place_adds(text: str, document: Document) -> Iterator[str]:
    where = "kernel" if text.startswith("With Plait's kernel") else "simulator"
    place = next(at for at, one in enumerate(document["answers"]) if one["where"] == where)
    answer, before = document["answers"][place], document["answers"][place - 1]
    adds = answer["adds_percent"]
    if answer["best_of_its_own"] not in text or f"against {before['scheduler']}" not in text:
        yield f"it is {answer['best_of_its_own']} against {before['scheduler']}"
    if not _estimate(gain(text), adds):
        yield f"what it adds is {adds}"
    if not _surely_better(adds, document):
        yield "it adds nothing that is sure"
    yield from _delays(text, document, answer["best_of_its_own"], before["scheduler"])


def _delays(text: str, document: Document, *labels: str) -> Iterator[str]:
    """Check packets' delays if the text has them; it must have them if they differ."""
    both = [standing(document, label)["app_delay_ms_p95"] / 1e3 for label in labels]
    said = re.search(rf"packet delay of ({AMOUNT}) instead of ({AMOUNT}) \(p95\)", text)
    if said and not all(amount(one).says(delay) for one, delay in zip(said.groups(), both, strict=True)):
        yield f"the delays are {both}"
    if document["metric"] == "goodput_bps" and not said and both[0] > 1.2 * both[1]:
        yield f"the delays are {both}, and nobody says so"


def _price(text: str, document: Document) -> Iterator[str]:
    yield from _delays(text, document, document["scheduler"], single(document)["label"])


def _others(text: str, document: Document) -> Iterator[str]:
    lags = document["against_scheduler_percent"]
    better = {name for name, lag in lags.items() if _surely_better(lag, document)}
    close = {
        name
        for name, lag in lags.items()
        if abs(lag["value"]) <= alike(document)
        and max(-end(lag, "low"), end(lag, "high")) <= 2 * alike(document)
    }
    worse = {name for name in lags.keys() - better - close if end(lags[name], "high") < 0}
    told = re.match(r"Of (\d+) other schedulers?, against (\S+): (.*)\.$", text)
    assert told is not None
    counts = {"better": len(better), "as good": len(close), "worse": len(worse)}
    counts["not told apart"] = len(lags) - sum(counts.values())
    said = {
        how: int(count) for count, how in re.findall(r"(\d+) (better|as good|worse|not told apart)", told[3])
    }
    within = re.search(r"within (\d+) %", told[3])
    if within and float(within[1]) != alike(document):
        yield f"as good is within {alike(document)} %"
    if int(told[1]) != len(lags) or told[2] != document["scheduler"]:
        yield f"there are {len(lags)}"
    if said != {how: count for how, count in counts.items() if count}:
        yield f"the counts are {counts}"
    if (better, close) != (set(document["better"]), set(document["as_good"])):
        yield "the document names others"


def _quicker(text: str, document: Document) -> Iterator[str]:
    quick, best = group(r"too: (\S+), with", text), document["scheduler"]
    yield from _delays(text, document, quick, best)
    lag = document["against_scheduler_percent"][quick]
    if abs(lag["value"]) > alike(document):
        yield f"{quick} is not as good: {lag}"


def _copies(text: str, document: Document) -> Iterator[str]:
    row = standing(document, document["scheduler"])
    if abs(float(group(r"sends ([\d.]+) packets", text)) - row["packets_sent_per_delivered"]) > 0.06:
        yield f"it sends {row['packets_sent_per_delivered']}"


def _buffer(text: str, document: Document) -> Iterator[str]:
    found = document["receive_buffer"]
    given, *others = re.findall(AMOUNT, text)
    tolerated = max(3.0, alike(document))
    cost = found["given_cost_percent"]["value"]
    if not amount(given).says(found["given_bytes"]) or not _costs("costs", text, cost):
        yield f"{found['given_bytes']} costs {cost}"
    surely = end(found["given_cost_percent"], "high") <= 2 * tolerated
    enough = found["given_bytes"] >= found["needed_bytes"] or (cost <= tolerated and surely)
    if enough != (" is enough" in text):
        yield f"it is {'' if enough else 'not '}enough"
    if " is too small" in text and end(found["given_cost_percent"], "low") <= 0:
        yield "it may cost nothing"
    if "would cost" in text:
        then = found["cost_percent_by_bytes"][str(found["needed_bytes"])]
        most = end(found["needed_cost_percent"], "high")
        if not amount(others[0]).says(found["needed_bytes"]) or then > tolerated or most > 2 * tolerated:
            yield f"needed are {found['needed_bytes']}, which cost {then}, {most} at most"
        if not _costs("would cost", text, then):
            yield f"{found['needed_bytes']} would cost {then}"


def _costs(verb: str, text: str, cost: float) -> bool:
    """Whether a cost follows a verb: in percent, or as nothing."""
    said = group(rf"{verb} ({PERCENT}|nothing)", text)
    return cost < 0.0501 if said == "nothing" else percent(said.removesuffix(" more")).says(cost)


def _buffer_rule(_: str, document: Document) -> Iterator[str]:
    if document["receive_buffer"] is not None:
        yield "it was searched for"


def _path_adds(text: str, document: Document) -> Iterator[str]:
    for name, said in re.findall(rf"(\S+) ({PERCENT})(?=[,.])", text.split(": ", maxsplit=1)[1]):
        if not percent(said).says(document["adds_percent"][name]["value"]):
            yield f"{name} adds {document['adds_percent'][name]}"


def _key(text: str) -> str:
    words = {
        "a rate": "rate",
        "a round trip": "rtt",
        "a loss": "loss",
        "no loss": "loss",
        "a receive": "receive_buffer",
    }
    return next(key for word, key in words.items() if f"ith {word}" in text)


def _tried(text: str, document: Document, kind: str) -> Iterator[str]:
    key = _key(text)
    found = next(one for one in document["worth_it_from"] if one["key"] == key)
    steps = found["tried"]
    pattern = rf"[Ww]ith (?:a [a-z ]+ of ({AMOUNT}|{PERCENT})|no loss)([^:]*): (.*?) in (\d+) of (\d+)"
    parts = re.findall(pattern, text)
    if not parts:
        yield "no value is said"
    told = []
    for value, _, rest, holds, count in parts:
        step = next(one for one in steps if (_says(value, one["value"], key) if value else one["value"] == 0))
        told.append(step)
        if not _estimate(gain(rest), step["gain_percent"]) or (int(holds), int(count)) != (
            step["worth_in"],
            step["variations"],
        ):
            yield f"the gain is {step}"
    enough = [
        one for one in steps if _wide(one, "low") >= WORTH and one["worth_in"] >= MOSTLY * one["variations"]
    ]
    vain = [one for one in steps if _wide(one, "high") < WORTH]
    if kind == "enough" and (not enough or told[0] is not enough[0]):
        yield "the first that is enough is another"
    if kind == "vain" and (len(vain) != len(steps) or told[0] is not steps[-1]):
        yield "one of the values may be enough"
    if kind == "open" and (enough or len(vain) == len(steps)):
        yield "the runs do tell"


def _wide(tried: Mapping[str, Any], which: str) -> float:
    """Return an end of the interval, widened for the number of tried values."""
    found = tried["gain_percent"]
    return float(found["value"] + tried["width_for_many"] * (end(found, which) - found["value"]))


def _says(text: str, value: float, key: str) -> bool:
    return share(text).says(value) if key == "loss" else amount(text).says(value)


def _threshold(text: str, document: Document) -> Iterator[str]:
    if not document["worth_it_from"] or f"with {document['scheduler']}:" not in text:
        yield "nothing was tried with it"


def _unsearched(_: str, document: Document) -> Iterator[str]:
    if document["worth_it_from"]:
        yield "it was searched for"


CHECKS: dict[str, Callable[[str, Document], Iterator[str]]] = {
    "heading": _heading,
    "expect": _expect,
    "together": _together,
    "beginning": _beginning,
    **CERTAINTY,
    "capped": _capped,
    "measure": _measure,
    "place": _place,
    "place-adds": _place_adds,
    "quicker": _quicker,
    "copies": _copies,
    "price": _price,
    "others": _others,
    "buffer": _buffer,
    "buffer-rule": _buffer_rule,
    "path-adds": _path_adds,
    "threshold": _threshold,
    "threshold-unsearched": _unsearched,
    "threshold-enough": lambda text, document: _tried(text, document, "enough"),
    "threshold-vain": lambda text, document: _tried(text, document, "vain"),
    "threshold-open": lambda text, document: _tried(text, document, "open"),
    **PRACTICE,
}
"""The check for each kind of sentence."""
