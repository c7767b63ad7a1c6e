"""A sentence of an advice with its kind, by which tests identify its claim."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """One or two sentences that make one claim."""

    kind: str
    text: str

    def __str__(self) -> str:
        return self.text
