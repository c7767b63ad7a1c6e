"""Both ends of a file transfer as processes, for the other programs here."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any


def recv_words(program: str, out: Path, listen: str, *more: str) -> list[str]:
    """Return the command of a receiver."""
    return [program, "recv", "--out", str(out), "--listen", listen, "--json", "--quiet", *more]


class Lines:
    """The lines of JSON that a receiver writes. The first one has its address."""

    def __init__(self, stream: IO[str], patience: float = 0.0) -> None:
        self._stream = stream
        self._patience = patience
        self._told: dict[str, dict[str, Any]] = {}
        self.hello = self.line()

    def of(self, file: Path) -> dict[str, Any]:
        """Return the event of a file, in any order of the files.

        Raises:
            TimeoutError: there is no event in time.
        """
        while file.name not in self._told:
            told = self.line()
            self._told[told["file"]] = told
        return self._told[file.name]

    def line(self) -> dict[str, Any]:
        """Return the next line. Wait up to `patience` seconds for one that is still being written.

        Raises:
            TimeoutError: there is none in time.
        """
        text, until = self._stream.readline(), time.monotonic() + self._patience
        while not text.endswith("\n") and time.monotonic() < until:
            time.sleep(0.01)
            text += self._stream.readline()
        if not text:
            raise TimeoutError
        answer: dict[str, Any] = json.loads(text)
        return answer


class Receiver(Lines):
    """`recv` in a separate process. The words in `before` select where it runs."""

    def __init__(self, program: str, out: Path, listen: str, *more: str, before: Sequence[str] = ()) -> None:
        words = [*before, *recv_words(program, out, listen, *more)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        super().__init__(self.process.stdout)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def send(
    program: str,
    hello: dict[str, Any],
    file: Path,
    host: str,
    *more: str,
    before: Sequence[str] = (),
    timeout: float = 600,
) -> dict[str, Any]:
    """Send a file to the receiver of `hello`; `host` replaces an unspecified address. Return the
    result.

    Raises:
        RuntimeError: the transfer failed, with the reason.
    """
    to = hello["address"].replace("0.0.0.0", host)
    words = [*before, program, "send", str(file), to, "--fingerprint", hello["fingerprint"]]
    environment = {**os.environ, "PLAIT_SECRET": hello["secret"]}
    done = subprocess.run(
        [*words, "--json", "--quiet", *more],
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def content(folder: Path, megabytes: float) -> Path:
    """Make a file of random bytes with a unique name."""
    file = folder / f"{time.monotonic_ns()}.bin"
    left = int(megabytes * 1e6)
    with file.open("wb") as stream:
        while left:
            left -= stream.write(os.urandom(min(left, 1 << 20)))
    return file


def digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def same(one: Path, other: Path) -> bool:
    """Whether two files have the same SHA-256, computed here and not by the tested programs."""
    return digest(one) == digest(other)
