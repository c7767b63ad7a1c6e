"""Words that somebody mistyped, and those that were meant."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

CLOSE = 0.6
"""Likeness, from 0 to 1, below which a word is not proposed."""


class UnknownNameError(KeyError):
    """A name that is not there; its text names the choices."""

    def __str__(self) -> str:
        return str(self.args[0])


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The word that was most likely meant: one that begins like it, or is spelled almost like it; None if none is.

    Capitals, and hyphens for underscores, do not count.
    """
    plain = word.lower().replace("-", "_")
    spelled = {one.lower().replace("-", "_"): one for one in reversed(known)}
    if plain in spelled:
        return spelled[plain]
    beginning = [one for one in known if plain and one.lower().replace("-", "_").startswith(plain)]
    if beginning:
        return min(beginning, key=len)
    found = get_close_matches(plain, list(spelled), n=1, cutoff=CLOSE)
    return spelled[found[0]] if found else None


def expected(word: str, known: Sequence[str]) -> str:
    """What a message about an unknown word ends with: the nearest one, and all there are, or that there are none."""
    if not known:
        return "; there are none"
    near = nearest(word, known)
    meant = f" (did you mean {near}?)" if near is not None else ""
    return f"{meant}; expected one of: {', '.join(known)}"
