"""Checks every sentence of an advice against its JSON document, with a check for each kind.

A check reads the claim from the words and does not use the code that writes the sentences. A
sentence of an unknown kind is also an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from plait.validate.certainty import CERTAINTY, MOSTLY
from plait.validate.comparisons import COMPARISONS, WORTH, estimate, worth
from plait.validate.practice import PRACTICE, narrow
from plait.validate.reading import (
    AMOUNT,
    PERCENT,
    Document,
    alike,
    amount,
    end,
    gain,
    group,
    percent,
    several,
    share,
    single,
    standing,
    unit,
)


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
    if document["capped"] and document["verdict"] != "nothing" and not {"capped", "delayed"} & set(kinds):
        found.append("losses decide a figure, and no sentence says so")
    if narrow(document) and "upload" not in kinds:
        found.append("an upload is slower than the blocks, and no sentence says so")
    if document["shaped"] is not None and "queue" not in kinds:
        found.append("a path alone ran with FQ-CoDel, and no sentence says so")
    return found


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
    if worth(row, count) != verdict:
        yield f"the numbers say {worth(row, count)}, the verdict is {verdict}"
    begins = {
        "worth": "Use ",
        "not worth": f"Use {document['best_single_path']} alone:",
        "borderline": "Borderline: ",
    }
    if not text.startswith(begins[verdict]):
        yield f"the verdict is {verdict}"
    if not several(document):
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
        if not estimate(gain(text), row["gain_percent"]):
            yield f"the gain is {row['gain_percent']}"


def _together(text: str, document: Document) -> Iterator[str]:
    row = standing(document, group(r" with (\S+):", text))
    if not estimate(gain(text), row["gain_percent"]):
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


def _delayed(text: str, document: Document) -> Iterator[str]:
    one = next(one for one in document["capped"] if f" over {one['path']}:" in text)
    found = one["delays_ms"]
    said = [amount(each) for each in re.findall(AMOUNT, text)]
    keys = ("as_said", "in_bursts", "without")
    if not all(each.says(found[key] / 1e3) for each, key in zip(said, keys, strict=True)):
        yield f"the delays are {found}"
    alone = standing(document, f"{one['path']} alone")["median"]
    if abs(alone - found["as_said"]) > 1e-6 * alone or f"({document['metric'].split('.')[-1]})" not in text:
        yield f"the table has {alone}"
    if found["as_said"] <= 2 * found["in_bursts"]:
        yield "the losses do not decide it"
    path = next(path for path in document["asked"]["paths"] if path["name"] == one["path"])
    if (
        path["burst_packets"]
        or path["handovers"]
        or not share(group(rf"({PERCENT}) ", text)).says(one["loss"])
    ):
        yield f"the losses are {path}"


def _measure(text: str, document: Document) -> Iterator[str]:
    if not all(one["path"] in text for one in document["capped"]):
        yield "a path is missing"


def _buffer(text: str, document: Document) -> Iterator[str]:
    found = document["receive_buffer"]
    given, *others = re.findall(AMOUNT, text)
    tolerated = max(3.0, alike(document))
    cost = found["given_cost_percent"]["value"]
    _, told, gained = text.partition(" Compared with an unlimited one, it has ")
    if told:
        turned = {
            "value": -cost,
            "low": -end(found["given_cost_percent"], "high"),
            "high": -end(found["given_cost_percent"], "low"),
        }
        right = estimate(gain(gained), turned)
    else:
        right = _written_cost(group(rf"costs ({PERCENT}|nothing)", text), cost)
    if not amount(given).says(found["given_bytes"]) or not right:
        yield f"{found['given_bytes']} costs {cost}"
    surely = end(found["given_cost_percent"], "high") <= 2 * tolerated
    enough = cost <= tolerated and surely
    if enough != (f": {given} is enough: it costs" in text):
        yield f"it is {'' if enough else 'not '}enough"
    small = (
        not enough
        and end(found["given_cost_percent"], "low") > 0
        and found["given_bytes"] < found["needed_bytes"]
    )
    if small != (" is too small: " in text):
        yield f"it is {'' if small else 'not '}too small"
    if len(others) > 1:  # the last amount is the duration of runs
        then = found["cost_percent_by_bytes"][str(found["needed_bytes"])]
        most = end(found["needed_cost_percent"], "high")
        if not amount(others[0]).says(found["needed_bytes"]) or then > tolerated or most > 2 * tolerated:
            yield f"needed are {found['needed_bytes']}, which cost {then}, {most} at most"
        if small and not _costs("is enough: it costs", text, then):
            yield f"{found['needed_bytes']} costs {then}"


def _costs(verb: str, text: str, cost: float) -> bool:
    """Whether a cost follows a verb: in percent, or as nothing."""
    return _written_cost(group(rf"{verb} ({PERCENT}|nothing)", text), cost)


def _written_cost(said: str, cost: float) -> bool:
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
        if not estimate(gain(rest), step["gain_percent"]) or (int(holds), int(count)) != (
            step["worth_in"],
            step["variations"],
        ):
            yield f"the gain is {step}"
    enough = [
        one for one in steps if _wide(one, "low") >= WORTH and one["worth_in"] >= MOSTLY * one["variations"]
    ]
    vain = [
        one
        for one in steps
        if (_wide(one, "high") if one["worth_in"] else end(one["gain_percent"], "high")) < WORTH
    ]
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
    "delayed": _delayed,
    "measure": _measure,
    "buffer": _buffer,
    "buffer-rule": _buffer_rule,
    "path-adds": _path_adds,
    "threshold": _threshold,
    "threshold-unsearched": _unsearched,
    "threshold-enough": lambda text, document: _tried(text, document, "enough"),
    "threshold-vain": lambda text, document: _tried(text, document, "vain"),
    "threshold-open": lambda text, document: _tried(text, document, "open"),
    **COMPARISONS,
    **PRACTICE,
}
"""The check for each kind of sentence."""
