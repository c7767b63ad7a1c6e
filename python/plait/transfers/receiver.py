"""Receives files."""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import threading
from collections.abc import Callable
from os import PathLike
from types import TracebackType

from plait import _core
from plait.transfers.report import Received, Watcher, progress_of, received_of, void

WINDOW = 16 << 20


class Receiver:
    """Receives files into a folder until it is closed; `receive` makes it.

    A context manager, and an iterator over arrived and failed files, both also asynchronously. A
    separate thread receives; it holds Python's lock only while it reports.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        listen: str | None = None,
        secret: str | None = None,
        window: int = WINDOW,
        progress: Watcher | None = None,
    ) -> None:
        self._core = _core.Receiving(folder, listen=listen, secret=secret, window=window)
        self._progress = progress
        self._ended: queue.SimpleQueue[Received | None] = queue.SimpleQueue()
        self._wake: Callable[[], object] = lambda: None
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None

    @property
    def host(self) -> str:
        """The address on which it listens; "0.0.0.0" and "::" stand for all of this machine."""
        return self._core.host

    @property
    def port(self) -> int:
        """The number of the UDP port on which it listens."""
        return self._core.port

    @property
    def address(self) -> str:
        """Host and port in the form of `send`: "HOST:PORT"."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of its certificate, as senders need it; a new one for each receiver."""
        return self._core.fingerprint

    @property
    def secret(self) -> str:
        """The secret that senders need."""
        return self._core.secret

    def start(self) -> None:
        """Start to receive; `with` does this as well."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="plait receiver", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop receiving. Unfinished transfers are refused, and their senders notified."""
        self._core.stop()
        if self._thread is not None:
            self._thread.join()

    def wait(self, timeout: float | None = None) -> Received:
        """Wait for the next file that arrived or failed.

        Args:
            timeout: in seconds; None waits for ever.

        Raises:
            TimeoutError: no file arrived or failed in time.
            TransferError: the receiver is closed.
        """
        self.start()
        try:
            return self._taken(self._ended.get(timeout=timeout))
        except queue.Empty:
            message = f"no file arrived within {timeout} s"
            raise TimeoutError(message) from None

    def __enter__(self) -> Receiver:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Receiver:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def __iter__(self) -> Receiver:
        return self

    def __next__(self) -> Received:
        try:
            return self.wait()
        except _core.TransferError:
            raise StopIteration from None

    def __aiter__(self) -> Receiver:
        return self

    async def __anext__(self) -> Received:
        self.start()
        loop = asyncio.get_running_loop()
        while True:
            event = asyncio.Event()
            self._wake = lambda event=event: loop.call_soon_threadsafe(event.set)  # type: ignore[misc]
            try:
                return self._taken(self._ended.get_nowait())
            except queue.Empty:
                await event.wait()
            except _core.TransferError:
                raise StopAsyncIteration from None

    def _taken(self, ended: Received | None) -> Received:
        if ended is not None:
            return ended
        self._ended.put(None)  # for the next call
        if self._failure is not None:
            raise self._failure
        message = "the receiver is closed"
        raise _core.TransferError(message)

    def _run(self) -> None:
        """Run the receiver; body of its thread."""
        try:
            self._core.run(self._hear)
        except BaseException as error:
            self._failure = error
        self._put(None)

    def _hear(self, text: str) -> None:
        data = json.loads(text)
        if data["event"] in ("received", "failed"):
            self._put(received_of(data))
        elif data["event"] == "progress" and self._progress is not None:
            void(self._progress(progress_of(data)))

    def _put(self, ended: Received | None) -> None:
        self._ended.put(ended)
        with contextlib.suppress(RuntimeError):  # the event loop that waited is closed
            self._wake()


def receive(
    folder: str | PathLike[str],
    *,
    listen: str | None = None,
    secret: str | None = None,
    window: int = WINDOW,
    progress: Watcher | None = None,
) -> Receiver:
    """Receive files into a folder from senders that know the secret.

    A complete file gets its name after a check of its SHA-256. No file is overwritten.

    Args:
        folder: folder of the received files; made if it does not exist.
        listen: "ADDRESS:PORT"; port 0 is any free one. None is port 4433 of all addresses, of IPv6
            and IPv4.
        secret: the secret that senders need; None makes one of 128 random bits.
        window: bytes in flight, or behind a gap, for each file: 64 KiB to 1 GiB.
        progress: called twice a second with the progress of each file, on the receiver's thread.

    Raises:
        ScenarioError: an argument is out of range. TransferError: the address is in use.
    """
    return Receiver(folder, listen=listen, secret=secret, window=window, progress=progress)
