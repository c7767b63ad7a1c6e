"""The bytes of the stream: every part can be computed alone, and no two parts are equal."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterator

CHUNK = 1 << 16
"""Bytes of a chunk, which starts with its own number."""
_NUMBER = 8


class Content:
    """An endless stream of chunks: a number, then random bytes that are the same in every chunk.

    The content reveals lost, duplicated or moved bytes: within a chunk by the random bytes, and for
    whole chunks by the number.
    """

    def __init__(self, seed: int) -> None:
        self._body = random.Random(seed).randbytes(CHUNK - _NUMBER)

    def chunk(self, number: int) -> bytes:
        """Return chunk `number`, counted from 0."""
        return number.to_bytes(_NUMBER, "big") + self._body

    def chunks(self) -> Iterator[memoryview]:
        """Return all chunks from the first on; each is valid only until the next one."""
        buffer = bytearray(self.chunk(0))
        view = memoryview(buffer).toreadonly()
        for number in itertools.count():
            buffer[:_NUMBER] = number.to_bytes(_NUMBER, "big")
            yield view

    def part(self, start: int, size: int) -> bytes:
        """Return `size` bytes from offset `start` of the stream."""
        first, last = start // CHUNK, (start + size - 1) // CHUNK
        skipped = start - first * CHUNK
        return b"".join(map(self.chunk, range(first, last + 1)))[skipped : skipped + size]

    def sha256(self, size: int) -> str:
        """Return the hash of the first `size` bytes, as hexadecimal digits."""
        digest = hashlib.sha256()
        for chunk in itertools.islice(self.chunks(), size // CHUNK):
            digest.update(chunk)
        digest.update(self.part(size - size % CHUNK, size % CHUNK) if size % CHUNK else b"")
        return digest.hexdigest()
