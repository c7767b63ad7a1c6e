"""Checks sentences about commands, UDP, metered paths and runs against the JSON document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from plait.scenarios.units import duration_ns, rate_bps, size_bytes
from plait.validate.comparisons import estimate
from plait.validate.reading import (
    AMOUNT,
    PERCENT,
    Document,
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


def _used(document: Document) -> dict[str, Any]:
    """Return the row of the recommendation."""
    return standing(document, document["scheduler"]) if several(document) else single(document)


def _processor(_: str, document: Document) -> Iterator[str]:
    if _used(document)["goodput_bps"] < 10e9:
        yield "a processor does that"


def narrow(document: Document) -> dict[str, float]:
    """Return the stated uploads of the recommended paths that are slower than the blocks."""
    kind, _, rest = document["simulated"]["traffic"].partition(":")
    if kind != "blocks" or document["asked"]["direction"] == "up":
        return {}
    needed = rate_bps(re.split("[:+]", rest)[0])
    used = [path for path in document["asked"]["paths"] if path["name"] in document["use_paths"]]
    return {path["name"]: path["back_bps"] for path in used if (path["back_bps"] or needed) < needed}


def _upload(text: str, document: Document) -> Iterator[str]:
    *carried, needed = (amount(one) for one in re.findall(AMOUNT, text))
    said = dict(zip(re.findall(r"(\S+) carries", text), carried, strict=True))
    recorded = {path["name"] for path in document["asked"]["paths"] if path["back_trace"]}
    if not needed.says(rate_bps(re.split("[:+]", document["simulated"]["traffic"])[1])):
        yield "the blocks have another rate"
    uploads = narrow(document)
    if said.keys() - recorded != uploads.keys():
        yield f"the slow uploads are {uploads}"
    if not all(said[name].says(uploads[name]) for name in said.keys() & uploads.keys()):
        yield f"the uploads are {uploads}"


def _outages(text: str, document: Document) -> Iterator[str]:
    lasts, *every = (amount(one) for one in re.findall(AMOUNT, text))
    if not lasts.says(document["simulated"]["duration_s"]):
        yield "runs have another length"
    said = dict(zip(re.findall(r"(\S+) fails every", text), every, strict=True))
    paths = {one["name"]: one["outage_every_s"] for one in document["asked"]["paths"]}
    if not all(
        one.says(paths[name]) and paths[name] > 2 * document["simulated"]["duration_s"]
        for name, one in said.items()
    ):
        yield f"the outages are {paths}"


def _metered(text: str, document: Document) -> Iterator[str]:
    row = _used(document)
    name = group(r"^(\S+) is metered", text)
    path = next(path for path in document["asked"]["paths"] if path["name"] == name)
    part = dict(zip(row["paths"], row["packets_share"], strict=True))[name]
    if f": {row['label']} sends " not in text or not share(group(rf"sends ({PERCENT}) of", text)).says(part):
        yield f"it carries {part}"
    rate = part * row["goodput_bps"] * row["packets_sent_per_delivered"]
    if path["cap_bytes"] and rate:
        cap, lasts = (amount(one) for one in re.findall(AMOUNT, text))
        if not cap.says(path["cap_bytes"]) or not lasts.says(path["cap_bytes"] * 8 / rate):
            yield f"it lasts {path['cap_bytes'] * 8 / rate} s"


def _sparing(text: str, document: Document) -> Iterator[str]:
    metered = [path["name"] for path in document["asked"]["paths"] if path["cost"] or path["cap_bytes"]]
    spared = [name for name in _used(document)["paths"] if name in metered]
    if set(re.split(", | and ", group(r"^To spare (.+?): ", text))) != set(spared):
        yield f"metered and used are {spared}"
    label = group(r": (.+?), with the rest", text)
    said = [amount(one) for one in re.findall(AMOUNT, text)]
    alone = standing(document, label)
    if (
        alone["scheduler"]
        or alone["paths"][0] in metered
        or not said[0].says(alone["median"] * unit(document))
    ):
        yield f"{label} is metered, or has {alone['median']}"
    if "cheapest-first" in text:
        row = standing(document, "cheapest-first")
        parts = zip(row["paths"], row["packets_share"], strict=True)
        there = sum(part for name, part in parts if name in spared)
        if not share(group(rf"sends ({PERCENT}) there", text)).says(there):
            yield f"it sends {there}"
        if not said[1].says(row["median"] * unit(document)):
            yield f"the median is {row['median']}"


def _udp(text: str, document: Document) -> Iterator[str]:
    if ("these numbers are for blocks over TCP" in text) != document["asked"]["traffic"].startswith("blocks"):
        yield "the traffic is other"
    if " Copies of all data " in text and not estimate(gain(text), _copies_gain(document) or {}):
        yield f"copies gain {_copies_gain(document)}"


def _note(text: str, _: Document) -> Iterator[str]:
    if not text.startswith("# "):
        yield "a shell runs it"


def _do(text: str, document: Document) -> Iterator[str]:
    if document["verdict"] not in ("worth", "borderline", "not worth"):
        yield "nothing is recommended"
    first = document["commands"][0]["command"].startswith("plait proxy")
    if first != document["asked"]["traffic"].startswith("blocks"):
        yield "calls use UDP, and other traffic does not"
    if (re.search(r" as (?:a spare|spares);", text) is not None) == several(document):
        yield f"the verdict is {document['verdict']}"
    told = [one["command"] for one in document["commands"]]
    endpoints = [one for one in told if one.startswith("ip mptcp endpoint add")]
    paths = len(document["use_paths"]) if several(document) else len(document["asked"]["paths"])
    if len(endpoints) != paths - 1 or "ip mptcp limits set subflow 8" not in told:
        yield f"{paths} paths, {len(endpoints)} endpoints"
    here = next(one for one in document["answers"] if one["scheduler"] == document["scheduler"])
    chosen = any(one.startswith("plait-mptcp use ") for one in told)
    if chosen != (here["where"] == "kernel" and several(document)):
        yield f"the scheduler is {here}"
    found = document["shaped"]
    shapes = found is not None and end(found["gain_percent"], "low") >= document["worth_percent"]
    if any("fq_codel" in one for one in told) != shapes:
        yield f"with FQ-CoDel: {found}"
    copies = _copies_gain(document)
    worse = copies is not None and end(copies, "value") < -alike(document) and end(copies, "high") < 0
    if worse and any("--redundant-port" in one for one in told):
        yield f"copies gain {copies}"


def _copies_gain(document: Document) -> dict[str, float | None] | None:
    """Return the gain of copies on every path over the recommendation."""
    if several(document):
        found: dict[str, float | None] | None = document["against_scheduler_percent"].get("redundant")
        return found
    rows = [one for one in document["standings"] if one["label"] == "redundant"]
    return rows[0]["gain_percent"] if rows else None


def _command(text: str, document: Document) -> Iterator[str]:
    if text not in [one["command"] for one in document["commands"]] or "\n" in text:
        yield "it is none of the commands"
    if "iperf3 -c" in text and (" -R" in text) != (document["asked"]["direction"] == "down"):
        yield "it measures the other direction"


def _basis(text: str, document: Document) -> Iterator[str]:
    done = document["simulated"]
    found = re.search(r"Simulated: (\d+) variations.* (\d+) runs, ([\d.]+) million events, seed (\d+)", text)
    if found and [int(found[1]), int(found[2]), int(found[4])] != [
        done["variations"],
        done["runs"],
        done["seed"],
    ]:
        yield f"it is {done}"


def _traffic(text: str, document: Document) -> Iterator[str]:
    scenario = document["scenario"]
    workload, flows = scenario["workload"], scenario.get("flow", [])
    size, time = (amount(one) for one in re.findall(AMOUNT, text))
    beside = re.search(r"Beside them runs one (\w+) without end", text)
    if (beside[1] if beside else "") != document["asked"]["traffic"].partition("+")[2]:
        yield "beside them runs something else"
    if beside:
        (other,) = flows
        same = (beside[1] == "download") == (document["asked"]["direction"] == "down")
        if "size" in other or other["direction"] != ("forward" if same else "backward"):
            yield f"beside them runs {other}"
    if text.startswith("Requests: "):
        said = 1 if "one client;" in text else int(group(r"(\d+) clients", text))
        there, sizes = workload["parallel"], {workload["response"]}
        times = {duration_ns(workload["think"])}
        if workload["think_times"] != "exponential":
            yield f"the times are {workload['think_times']}"
    elif text.startswith("Blocks: "):
        said = there = 1
        sizes = {workload["block"]}
        times = {round(size_bytes(workload["block"]) * 8e9 / rate_bps(workload["rate"]))}
    else:
        said = int(group(r"Downloads: (\d+) of", text))
        there, sizes = 1 + len(flows), {workload["size"], *(flow["size"] for flow in flows)}
        begins = [0, *(duration_ns(flow["start"]) for flow in flows)]
        times = {later - sooner for sooner, later in pairwise(begins)}
        if any(flow["paths"] != [path["name"] for path in scenario["path"]] for flow in flows):
            yield "a flow has other paths"
    if said != there:
        yield f"there are {there}"
    if len(sizes) != 1 or not size.says(size_bytes(sizes.pop())):
        yield f"the sizes are {sizes}"
    if len(times) != 1 or not time.says(times.pop() / 1e9):
        yield f"the times are {times}"


PRACTICE: dict[str, Callable[[str, Document], Iterator[str]]] = {
    "processor": _processor,
    "upload": _upload,
    "outages": _outages,
    "metered": _metered,
    "sparing": _sparing,
    "udp": _udp,
    "note": _note,
    "do": _do,
    "command": _command,
    "basis": _basis,
    "traffic": _traffic,
}
"""The check for each kind of sentence."""
