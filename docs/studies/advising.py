"""Sample of an advice for its page: the output of the command, shortened."""

from __future__ import annotations

from study import Answer

from plait.advice import advise

LINKS = ("dsl 16Mbit 25ms", "lte 30Mbit 60ms 0.05%")
BUFFER = "256kB"
LEFT_OUT = "[…]"
LAST = "Simulated: "
"""Beginning of the sentence about the simulations, from which on the sample is cut."""


def answers() -> dict[str, Answer]:
    """Return the current output of the command on the page."""
    advice = advise(LINKS, receive_buffer=BUFFER)
    command = "$ plait advise " + " ".join(f'--path "{one}"' for one in LINKS) + f" --receive-buffer {BUFFER}"
    words, _, rest = (part.strip("\n") for part in advice.text.split("\n\n", 2))
    whole = f"{command}\n{words}\n{LEFT_OUT}\n{rest.partition(LAST)[0].rstrip()}"
    return {"advise": Answer({"sample": f"```text\n{whole}\n```"})}
