"""Samples of an advice for the pages: the output of the command, shortened."""

from __future__ import annotations

import textwrap

from study import Answer

from plait.advice import advise
from plait.advice.page import WIDTH

LINKS = ("dsl 16Mbit 25ms", "lte 30Mbit 60ms 0.05%")
BUFFER = "256kB"
LEFT_OUT = "[…]"
LAST = "Simulated: "
"""Beginning of the sentence about the simulations, from which on the sample is cut."""
FIRST = ("heading", "capped", "expect", "price")
"""The kinds of sentences on the first page."""


def answers() -> dict[str, Answer]:
    """Return the current output of the command on the pages."""
    advice = advise(LINKS, receive_buffer=BUFFER)
    command = "$ plait advise " + " ".join(f'--path "{one}"' for one in LINKS) + f" --receive-buffer {BUFFER}"
    words, _, rest = (part.strip("\n") for part in advice.text.split("\n\n", 2))
    whole = f"{command}\n{words}\n{LEFT_OUT}\n{rest.partition(LAST)[0].rstrip()}"
    said = {one["kind"]: one["text"] for one in reversed(advice.document()["statements"])}
    short = [textwrap.fill(said[kind], WIDTH) for kind in FIRST if kind in said]
    return {
        "advise": Answer({"sample": block(whole)}),
        "README": Answer({"sample": block(f"\n{LEFT_OUT}\n".join(short))}),
    }


def block(text: str) -> str:
    """Return text as a block of terminal output."""
    return f"```text\n{text}\n```"
