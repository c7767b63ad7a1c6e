"""Sends files."""

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
"""Payload bytes of a UDP datagram that every IPv6 link carries (RFC 8200 §5, minus its headers)."""


class PathOptions(TypedDict, total=False):
    """Options of the end that opens paths: keywords of `send` and `connect`.

    fingerprint: the SHA-256 of the receiver's certificate, as 64 hexadecimal digits; the receiver
        prints it.
    secret: the secret that the receiver requires.
    local: local addresses, a path each; packets of ``ADDRESS%INTERFACE`` leave through that
        interface, against the routes' preference.
    interface: interfaces, a path each. Without these and addresses: every interface that is up, or
        the loopback interface to this machine.
    cost: costs of paths in units of your choice, by interface or address; for "cheapest-first".
    budget: bytes of payload that paths may carry, copies included; as a number or as text
        ("500MB").
    backup: paths that are used only while no other works.
    congestion: congestion control of each path: "cubic" (the default), "newreno" and others that
        scenarios have.
    mtu: bytes of a UDP datagram's payload, 1200 to 16000, default 1232; a path with a smaller limit
        gets no data.
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
    """Return the options in the form of the core.

    Raises:
        ScenarioError: a budget is not a size. TypeError: an option is unknown.
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
    """A transfer of a file that is ready to start; `send` and `Sender` make it.

    Args:
        file: a file; None asks whether the receiver would accept one.
        to: the receiver, "HOST:PORT".
        scheduler, record, interop: see `send`.
        options: see `PathOptions`.

    Raises:
        ScenarioError: an argument is out of range. OutputError: the folder is not writable.
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
        """Send the file, once; see `send`."""
        chosen = self._choice
        text = self._core.run(
            scheduler=chosen.built_in, own=chosen.foreign or chosen.python, progress=heard_by(progress)
        )
        sent = sent_of(text)
        if self._record is None:
            return sent
        from plait.recordings.keeping import keep_recording  # noqa: PLC0415 - loads data frames

        try:
            keep_recording(self._record, chosen.document)
        except (_core.ScenarioError, OutputError, OSError) as error:
            return replace(sent, unrecorded=sent.unrecorded or str(error))
        return sent

    def stop(self) -> None:
        """End the transfer, from any thread; `run` then raises `TransferError`."""
        self._core.stop()

    async def arun(self, progress: Watcher | None = None) -> Sent:
        """Send the file without blocking the event loop; `progress` is called on another thread.

        A cancellation first ends the transfer and notifies the receiver.
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
    """Send a file or folder over several paths to a `Receiver`, `plait recv` or `plait-quic recv`.

    Returns when the receiver has it completely, by its SHA-256. Ctrl-C ends the transfer.

    Args:
        file: the file, or the folder with all its content. A file must not change meanwhile.
        to: the receiver, "HOST:PORT".
        scheduler: a scheduler in any form that `run` accepts. One in Python is called for every
            packet. "auto" measures the paths, asks the simulator, and changes to a scheduler that
            is better beyond noise. None is the command's default: `lowest-rtt`, or `ecf` with
            `interop`.
        record: a folder for packets and decisions; it becomes a folder like those of ``plait run
            --out``, for `report`, ``plait explain`` and ``plait replay``. A failed transfer leaves
            its recording until the failure.
        interop: one QUIC connection with QUIC's own multipath, and an ordinary stream. Schedulers
            that do more than to choose a path, budgets, and congestion control other than "cubic"
            and "newreno" are rejected.
        progress: called twice a second with the transfer's progress.
        options: the receiver's fingerprint and secret, and the paths: see `PathOptions`.

    Raises:
        ScenarioError: an argument is out of range; the message names it and the choices.
        OutputError: the recording's folder is not writable.
        TransferError: the receiver does not have the file; the message has the reason, for example
            that all budgets are spent.
    """
    return Transfer(file, to, scheduler=scheduler, record=record, interop=interop, **options).run(progress)


class Sender:
    """A receiver that has answered; `connect` makes it. It can get several files at the same time.

    Each file has its own QUIC connections, one for each path, so no connection is open between
    files.
    """

    def __init__(self, to: str, **options: Unpack[PathOptions]) -> None:
        self.to = to
        self.options = options
        self.paths: tuple[str, ...] = ()
        """The local addresses of the paths on which the receiver answered."""
        self._transfers: set[Transfer] = set()
        self._closed = False

    async def ask(self) -> Sent:
        """Ask the receiver whether it would accept a file.

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
        """Send a file; see `plait.send`.

        `progress` is called on another thread; `record` is a folder for each file.

        Raises:
            ScenarioError, TransferError: see `plait.send`; TransferError also if this is closed.
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
        """End unfinished transfers; `async with` does this as well."""
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
    """Check that a receiver is there, is the right one and would accept a file.

    This takes one handshake on each path.

    Args:
        to: the receiver, "HOST:PORT".
        options: see `PathOptions`. Budgets apply to each file.

    Raises:
        ScenarioError: an argument is out of range.
        TransferError: no answer on any path, another certificate, or a wrong secret.
    """
    sender = Sender(to, **options)
    await sender.ask()
    return sender
