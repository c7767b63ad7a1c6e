"""Mistyped words, and proposals for them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

CLOSE = 0.6
"""Similarity, from 0 to 1, below which a word is not proposed."""


class UnknownNameError(KeyError):
    """An unknown name; the text of the error names the choices."""

    def __str__(self) -> str:
        return str(self.args[0])


def nearest(word: str, known: Sequence[str]) -> str | None:
    """Return the most likely word: one with this beginning or similar spelling; None without one.

    Capitals, and hyphens instead of underscores, do not matter.
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
    """Return the end of a message about an unknown word: the nearest word, and all known ones."""
    if not known:
        return "; there are none"
    near = nearest(word, known)
    meant = f" (did you mean {near}?)" if near is not None else ""
    return f"{meant}; expected one of: {', '.join(known)}"
