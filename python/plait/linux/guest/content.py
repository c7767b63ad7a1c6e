"""The bytes of the stream: any part can be made anywhere, and no part looks like another."""

from __future__ import annotations

import hashlib
import random

CHUNK = 1 << 16
"""Bytes that begin with their own number."""
_NUMBER = 8


class Content:
    """An endless stream of chunks: a number, then random bytes that are the same in every chunk.

    A byte that is lost, doubled or moved is noticed: within a chunk by the random bytes, by whole chunks by the number.
    """

    def __init__(self, seed: int) -> None:
        self._body = random.Random(seed).randbytes(CHUNK - _NUMBER)

    def chunk(self, number: int) -> bytes:
        """Chunk `number` from 0."""
        return number.to_bytes(_NUMBER, "big") + self._body

    def part(self, start: int, size: int) -> bytes:
        """`size` bytes from offset `start` of the stream."""
        first, last = start // CHUNK, (start + size - 1) // CHUNK
        skipped = start - first * CHUNK
        return b"".join(map(self.chunk, range(first, last + 1)))[skipped : skipped + size]

    def sha256(self, size: int) -> str:
        """The hash of the first `size` bytes, as hexadecimal digits."""
        digest = hashlib.sha256()
        for number in range(size // CHUNK):
            digest.update(self.chunk(number))
        digest.update(self.part(size - size % CHUNK, size % CHUNK) if size % CHUNK else b"")
        return digest.hexdigest()
