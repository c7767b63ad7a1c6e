"""Sending files."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Required, TypedDict, Unpack

from plait import _core
from plait.recordings import RECORDING
from plait.scenarios.scheduler import Choice, override
from plait.scenarios.units import size_bytes
from plait.support.files import OutputError, make_folder
from plait.transfers.report import Sent, Watcher, heard_by, sent_of

MTU = 1232
"""Bytes of a UDP datagram's payload that every IPv6 link carries (RFC 8200 §5, less its headers)."""


class PathOptions(TypedDict, total=False):
    """The end that opens paths: keywords of `send` and `connect`.

    fingerprint: the SHA-256 of the receiver's certificate, as 64 hexadecimal digits; the receiver prints it.
    secret: the secret that the receiver asks for.
    local: local addresses, each a path; packets of ``ADDRESS%INTERFACE`` leave there against the routes' preference.
    interface: interfaces, each a path. Without these and addresses: every interface that is up, or the loopback
        interface to this machine.
    cost: costs of paths in units of your choice, by interface or address; for "cheapest-first".
    budget: bytes of payload that paths may carry, copies included; as a number or as text ("500MB").
    backup: paths that are used only while no other works.
    congestion: congestion control of each path: "cubic" (the default), "newreno" and others that scenarios have.
    mtu: bytes of a UDP datagram's payload, 1200 to 16000, default 1232; a path that carries less gets no data.
    """

    fingerprint: Required[str]
    secret: Required[str]
    local: Sequence[str]
    interface: Sequence[str]
    cost: Mapping[str, int]
    budget: Mapping[str, int | str]
    backup: Sequence[str]
    congestion: str
    mtu: int


def _connecting(to: str, options: PathOptions) -> dict[str, Any]:
    """The options as the core takes them.

    Raises:
        ScenarioError: a budget is no size. TypeError: an option is unknown.
    """
    unknown = sorted(set(options) - set(PathOptions.__annotations__))
    if unknown:
        message = f"unexpected keyword {unknown[0]!r}; choose {', '.join(PathOptions.__annotations__)}"
        raise TypeError(message)
    budget = {name: size_bytes(size) for name, size in options.get("budget", {}).items()}
    return {
        "cost": {},
        "congestion": "cubic",
        "mtu": MTU,
        **options,
        "local": list(options.get("local", ())),
        "interface": list(options.get("interface", ())),
        "backup": list(options.get("backup", ())),
        "to": to,
        "budget": budget,
    }


class Transfer:
    """A file that is ready to be sent; `send` and `Sender` make it.

    Args:
        file: a file; None asks the receiver whether it would take one.
        to: the receiver, "HOST:PORT".
        scheduler, record, interop: see `send`.
        options: see `PathOptions`.

    Raises:
        ScenarioError: an argument is out of its bounds. OutputError: the folder cannot be written to.
    """

    def __init__(
        self,
        file: str | PathLike[str] | None,
        to: str,
        *,
        scheduler: Choice | None = None,
        record: str | PathLike[str] | None = None,
        interop: bool = False,
        **options: Unpack[PathOptions],
    ) -> None:
        self._choice = override(_core.transfer_scheduler(interop) if scheduler is None else scheduler)
        self._record = None if record is None else Path(record)
        if self._record is not None:
            make_folder(self._record)
        self._core = _core.Sending(
            file,
            _connecting(to, options),
            record=None if self._record is None else (self._record / RECORDING, self._choice.label or ""),
            interop=interop,
        )

    @property
    def paths(self) -> list[str]:
        """The paths' local addresses."""
        return self._core.paths

    def run(self, progress: Watcher | None = None) -> Sent:
        """Send it, once; see `send`."""
        chosen = self._choice
        text = self._core.run(
            scheduler=chosen.built_in, own=chosen.foreign or chosen.python, progress=heard_by(progress)
        )
        sent = sent_of(text)
        if self._record is None:
            return sent
        from plait.recordings.keeping import keep_recording  # noqa: PLC0415 - frames, for those who record

        try:
            keep_recording(self._record, chosen.document)
        except (_core.ScenarioError, OutputError, OSError) as error:
            return replace(sent, unrecorded=sent.unrecorded or str(error))
        return sent

    def stop(self) -> None:
        """End the transfer, which then raises `TransferError`; from any thread."""
        self._core.stop()

    async def arun(self, progress: Watcher | None = None) -> Sent:
        """Send it without holding the event loop up; `progress` is called on another thread.

        Cancelled, the transfer is ended, and the receiver told, before the cancellation goes on.
        """
        thread = asyncio.create_task(asyncio.to_thread(self.run, progress))
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            self.stop()
            await asyncio.gather(thread, return_exceptions=True)
            raise


def send(
    file: str | PathLike[str],
    to: str,
    *,
    scheduler: Choice | None = None,
    record: str | PathLike[str] | None = None,
    interop: bool = False,
    progress: Watcher | None = None,
    **options: Unpack[PathOptions],
) -> Sent:
    """Send a file or a folder over several paths at once to a `Receiver`, `plait recv` or `plait-quic recv`.

    Returns when the receiver has it whole, by its SHA-256. Ctrl-C ends the transfer.

    Args:
        file: the file, or the folder with all that is in it. A file must not change meanwhile.
        to: the receiver, "HOST:PORT".
        scheduler: the scheduler: all that `run` takes. One in Python is called for every packet. "auto" measures the
            paths, asks the simulator, and changes to a scheduler that is better beyond noise. None is that of the
            command: `lowest-rtt`, or `ecf` with `interop`.
        record: a folder for packets and decisions; it becomes a folder of ``plait run --out``, for `report`,
            ``plait explain`` and ``plait replay``. A transfer that fails leaves those until then.
        interop: one QUIC connection with QUIC's own multipath, and an ordinary stream. Schedulers that need more than
            to choose a path, budgets, and congestion control other than "cubic" and "newreno" are refused.
        progress: called twice a second with the transfer's progress.
        options: the receiver's fingerprint and secret, and the paths: see `PathOptions`.

    Raises:
        ScenarioError: an argument is out of its bounds; names it and the choices.
        OutputError: the recording's folder cannot be written to.
        TransferError: the receiver does not have the file, and why; all budgets are spent, for example.
    """
    return Transfer(file, to, scheduler=scheduler, record=record, interop=interop, **options).run(progress)


class Sender:
    """A receiver that has answered; `connect` makes it. Files are sent one after the other or at the same time.

    Each file has QUIC connections of its own, one for each path, so that nothing is open between files.
    """

    def __init__(self, to: str, **options: Unpack[PathOptions]) -> None:
        self.to = to
        self.options = options
        self.paths: tuple[str, ...] = ()
        """The paths on which the receiver answered, by their local addresses."""
        self._transfers: set[Transfer] = set()
        self._closed = False

    async def ask(self) -> Sent:
        """Ask the receiver whether it would take a file.

        Raises:
            ScenarioError, TransferError: see `connect`.
        """
        question = await asyncio.to_thread(Transfer, None, self.to, **self.options)
        asked = await question.arun()
        self.paths = tuple(path.name for path in asked.paths if path.opened)
        return asked

    async def send(
        self,
        file: str | PathLike[str],
        *,
        scheduler: Choice | None = None,
        record: str | PathLike[str] | None = None,
        progress: Watcher | None = None,
    ) -> Sent:
        """Send a file; see `plait.send`. `progress` is called on another thread; `record` is a folder for each file.

        Raises:
            ScenarioError, TransferError: see `plait.send`; TransferError if this is closed, too.
        """
        if self._closed:
            message = "the sender is closed"
            raise _core.TransferError(message)
        transfer = await asyncio.to_thread(
            Transfer, file, self.to, scheduler=scheduler, record=record, **self.options
        )
        self._transfers.add(transfer)
        try:
            return await transfer.arun(progress)
        finally:
            self._transfers.discard(transfer)

    async def close(self) -> None:
        """End unfinished transfers; `async with` does it, too."""
        self._closed = True
        for transfer in self._transfers:
            transfer.stop()

    async def __aenter__(self) -> Sender:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def connect(to: str, **options: Unpack[PathOptions]) -> Sender:
    """Find out whether a receiver is there, is the one it should be, and would take a file: one handshake on each path.

    Args:
        to: the receiver, "HOST:PORT".
        options: see `PathOptions`. Budgets are of each file.

    Raises:
        ScenarioError: an argument is out of its bounds.
        TransferError: no answer on any path, another certificate, or the secret is not the receiver's.
    """
    sender = Sender(to, **options)
    await sender.ask()
    return sender
