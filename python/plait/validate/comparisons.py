"""Checks sentences that compare schedulers and paths against the JSON document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from plait.validate.certainty import MOSTLY
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
    several,
    share,
    single,
    standing,
    unit,
)

WORTH = 10.0


def _surely_better(lag: Mapping[str, Any], document: Document) -> bool:
    """Whether a gain is beyond chance, given that the best of many schedulers is compared."""
    sure = lag["value"] - document["width_for_many"] * (lag["value"] - end(lag, "low")) > 0
    return bool(sure and lag["value"] > alike(document))


def estimate(said: tuple[Written, tuple[Written, Written] | None], found: Mapping[str, Any]) -> bool:
    """Return whether the written value and interval are those of an estimate."""
    value, ends = said
    within = ends is None or (ends[0].says(end(found, "low")) and ends[1].says(end(found, "high")))
    return value.says(found["value"]) and within


def worth(row: Mapping[str, Any], count: int) -> str:
    """Return the verdict that a row's numbers allow."""
    low, high = end(row["gain_percent"], "low"), end(row["gain_percent"], "high")
    if low >= WORTH and row["worth_in"] >= MOSTLY * count:
        return "worth"
    return "not worth" if high < WORTH and count - row["worth_in"] >= MOSTLY * count else "borderline"


def _place(text: str, document: Document) -> Iterator[str]:
    answer = document["answers"][0]
    row = standing(document, answer["scheduler"])
    words = {"worth": "worth it", "borderline": "borderline", "not worth": "not worth it"}
    if f"({answer['scheduler']})" not in text or not text.endswith(f", {words[answer['verdict']]}."):
        yield f"it is {answer}"
    if worth(row, document["simulated"]["variations"]) != answer["verdict"]:
        yield "the verdict is another"
    if not estimate(gain(text), row["gain_percent"]):
        yield f"the gain is {row['gain_percent']}"


def _better(text: str, document: Document) -> Iterator[str]:
    label = group(r"(?:md\), |--scheduler |only, )([^ :]+(?::[^ :]+)*)", text)
    base = group(r" against (.+?)(?:, with a packet delay|\.$)", text)
    row, lag = standing(document, label), document["against_scheduler_percent"].get(label)
    if several(document):
        if base != document["scheduler"] or not _surely_better(lag, document):
            yield "it is not surely better"
    elif base != single(document)["label"] or worth(row, document["simulated"]["variations"]) != "worth":
        yield "it is not surely better"
    said = lag if several(document) else row["gain_percent"]
    if not estimate(gain(text), said):
        yield f"the gain is {said}"
    yield from _delays(text, document, label, base)


def _queue(text: str, document: Document) -> Iterator[str]:
    found, beside = document["shaped"], document["asked"]["traffic"].partition("+")[2]
    begin = "Better" if shapeable(document) else "Not 10 % better"
    if not text.startswith(f"{begin}, {found['path']} alone with FQ-CoDel ") or f" The {beside} " not in text:
        yield f"it is {found}"
    said = [amount(one) for one in re.findall(AMOUNT, text)]
    told = (found["median"] * unit(document), found["beside_bps"])
    if len(said) != 2 or not all(one.says(value) for one, value in zip(said, told, strict=True)):
        yield f"the medians are {found}"
    if f" of {found['variations']} variations" not in text:
        yield f"there are {found['variations']} variations"
    if not share(group(rf"at ({PERCENT}) of the rate", text)).says(found["rate_share"]):
        yield f"the rate is {found['rate_share']}"
    if not estimate(gain(text.partition(", ")[2]), found["gain_percent"]):
        yield f"the gain is {found['gain_percent']}"
    label = document["scheduler"] if several(document) else single(document)["label"]
    if f"against {label} without it" not in text:
        yield "the recommendation is another"


def _directions(text: str, document: Document) -> Iterator[str]:
    found, scale = document["both_directions"], unit(document)
    rows = {
        f"{one['path']} alone{' with FQ-CoDel' if one['shaped'] else ''}": one for one in found["one_path"]
    }
    pattern = rf"(\S+ alone(?: with FQ-CoDel)?) (?:is best, with|has) ({AMOUNT})(?: down)? and ({AMOUNT})"
    told = re.findall(pattern, text)
    for label, *said in told:
        row = rows[label]
        if not all(amount(one).says(row[key] * scale) for one, key in zip(said, ("down", "up"), strict=True)):
            yield f"{label} has {row}"
    if len(told) != min(len(rows), 4) or rows[told[0][0]]["worse"] > min(
        one["worse"] for one in rows.values()
    ):
        yield f"the paths are {rows}"
    if f" of {found['variations']} variations" not in text:
        yield f"there are {found['variations']} variations"
    each = found["a_path_each"]
    for key in ("down", "up"):
        if rows[each[key]][key] > min(row[key] for row in rows.values()):
            yield f"the best paths are {each}"
    name, other = (rows[each[key]]["path"] for key in ("down", "up"))
    if name == other:
        if f"{name} has the least in each direction" not in text:
            yield f"the best path is {name}"
        return
    same = found["gain_percent"]["value"] == 0
    if f" {each['down']} down and {each['up']} up, {'is no better' if same else 'has'} " not in text:
        yield f"the best paths are {each}"
    if not same and not estimate(gain(text.partition("A path for each")[2]), found["gain_percent"]):
        yield f"the gain is {found['gain_percent']}"


def shapeable(document: Document) -> bool:
    """Return whether one path alone is better with FQ-CoDel, beyond chance."""
    found = document["shaped"]
    return found is not None and end(found["gain_percent"], "low") >= WORTH


def _dropped(text: str, document: Document) -> Iterator[str]:
    counts = [int(one) for one in re.findall(r"\d+", text)]
    if counts != [len(document["dropped"]), document["simulated"]["explored_variations"]]:
        yield f"they are {document['dropped']}"


def _beside(text: str, document: Document) -> Iterator[str]:
    for said, label in re.findall(rf"({AMOUNT}) with ([^,)]+?)(?:, and|\.$|\)| \()", text):
        if not amount(said).says(standing(document, label)["beside_bps"] or 0.0):
            yield f"{label} leaves {standing(document, label)['beside_bps']}"


def _failure(text: str, document: Document) -> Iterator[str]:
    found = document["failure"]
    keys = ["length_s", "alone_s", "spare_s", "copied_s"]
    wanted = [found[key] for key in keys if found[key] is not None]
    said = [amount(one) for one in re.findall(AMOUNT, text)]
    if len(said) != len(wanted) or not all(one.says(value) for one, value in zip(said, wanted, strict=True)):
        yield f"it is {found}"
    if several(document) or f"If {document['best_single_path']} fails" not in text:
        yield f"the path is {document['best_single_path']}"


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
    if "goodput" in text:
        if lag["value"] <= -WORTH or not estimate(gain(text), lag):
            yield f"the price is {lag}"
    elif abs(lag["value"]) > alike(document):
        yield f"{quick} is not as good: {lag}"


def _copies(text: str, document: Document) -> Iterator[str]:
    row = standing(document, document["scheduler"])
    if abs(float(group(r"sends ([\d.]+) packets", text)) - row["packets_sent_per_delivered"]) > 0.06:
        yield f"it sends {row['packets_sent_per_delivered']}"


COMPARISONS: dict[str, Callable[[str, Document], Iterator[str]]] = {
    "place": _place,
    "better": _better,
    "queue": _queue,
    "directions": _directions,
    "dropped": _dropped,
    "beside": _beside,
    "failure": _failure,
    "price": _price,
    "others": _others,
    "quicker": _quicker,
    "copies": _copies,
}
"""The check for each kind of sentence."""
