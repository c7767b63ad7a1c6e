"""Checks sentences about certainty against their counts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from plait.validate.reading import Document, group, standing

MOSTLY, NEARLY = 0.75, 0.9
CHANCE = 0.05


def _word(word: str, holds: int, count: int) -> Iterator[str]:
    share = holds / count
    # Probability of this count or more by chance, if it holds in three of four.
    chance = sum(
        math.comb(count, many) * MOSTLY**many * (1 - MOSTLY) ** (count - many)
        for many in range(holds, count + 1)
    )
    allowed = {
        "sure": share == 1 and chance <= CHANCE,
        "nearly sure": share >= NEARLY and chance <= CHANCE,
        "probable": share >= MOSTLY,
        "unsure": True,
    }
    if not allowed[word]:
        yield f"{word} of {holds} in {count}"


def _certain_gain(text: str, document: Document) -> Iterator[str]:
    """Check the number of variations with the gain, and the word for it."""
    found = re.match(
        r"([A-Z][a-z ]+?)(?:,.*)?: the gain of (\S+) is (at least|less than) 10 % in (\d+) of (\d+) var", text
    )
    assert found is not None
    if found[2] != document["scheduler"]:
        yield f"the scheduler is {document['scheduler']}"
    row, count = standing(document, document["scheduler"]), document["simulated"]["variations"]
    holds = row["worth_in"] if found[3] == "at least" else count - row["worth_in"]
    if (int(found[4]), int(found[5])) != (holds, count):
        yield f"it is in {holds} of {count}"
    yield from _word(found[1].lower(), holds, count)


def _bound(text: str, document: Document) -> Iterator[str]:
    """Check the most that a scheduler can gain, rounded up."""
    label = group(r"% over (\S+) here", text)
    gain = standing(document, label)["bound_gain_percent"]
    said = int(group(r"more than (\d+) %", text))
    if not said - 1 < max(gain, 0.0) <= said:
        yield f"the bound leaves {gain} %"


def _few(text: str, document: Document) -> Iterator[str]:
    """Check that not even the same result in all variations would be beyond chance."""
    simulated = document["simulated"]
    count = simulated["variations"]
    if int(group(r"^(\d+) variations", text)) != count or MOSTLY**count <= CHANCE:
        yield f"it is {count}"
    if int(group(r"--seed (\d+)", text)) != simulated["seed"] + 1:
        yield "this seed gives no others"


CERTAINTY: dict[str, Callable[[str, Document], Iterator[str]]] = {
    "certain-gain": _certain_gain,
    "few": _few,
    "bound": _bound,
}
"""The checks, by kind of sentence."""
