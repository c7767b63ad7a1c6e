"""A sentence of an advice, and of which kind it is: by its kind, tests know what it claims."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """One or two sentences that make one claim."""

    kind: str
    text: str

    def __str__(self) -> str:
        return self.text
