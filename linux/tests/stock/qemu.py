"""Boots a kernel in QEMU and reads its console and its results.

QEMU translates the guest's instructions (TCG) and needs no virtualization of the processor. Times in
such a guest say little; the order of events on several processors is as arbitrary as on hardware.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import chroot

from plait import RunError

# Without 5-level page tables: slow to translate.
PROCESSOR = "max,-la57"
OPTIONS = "console=ttyS0 quiet panic=-1 oops=panic"
END = "END"
LINES_SHOWN = 40
SECONDS_BETWEEN_LOOKS = 0.2


@dataclass(frozen=True, kw_only=True)
class Guest:
    """A guest that is to be booted."""

    image: Path
    processors: int = 2
    memory: int = 1024
    """In MiB."""
    threads: str = "multi"
    """`multi`: processors are threads of the host, truly parallel. `single`: they take turns."""
    virtual: bool = False
    """The clock counts instructions, one for each nanosecond, and jumps over idle time. Needs
    `single`."""
    options: str = ""
    silence: float = 900.0
    """Seconds without a result or a message after which the guest hangs."""


def tail(console: Path) -> str:
    """Return the last lines of a console."""
    lines = console.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(line.rstrip() for line in lines[-LINES_SHOWN:])


def boot(guest: Guest, initramfs: bytes, folder: Path) -> Iterator[str]:
    """Boot a guest; yield the lines that it writes to its second serial port, until the last one.

    The console is in `console.log` of the folder, the lines in `results.log`.

    Raises:
        RunError: the guest hangs, or ends before its last line; with the end of the console.
    """
    archive, console, results = (folder / name for name in ("initramfs", "console.log", "results.log"))
    archive.write_bytes(initramfs)
    console.write_bytes(b"")
    results.write_bytes(b"")
    command = [
        *("nice", "-n", "10", *chroot.qemu(), "-accel", f"tcg,thread={guest.threads}"),
        *("-cpu", PROCESSOR, "-smp", str(guest.processors), "-m", str(guest.memory), "-machine", "q35"),
        *("-kernel", str(guest.image), "-initrd", str(archive)),
        *("-append", f"{OPTIONS} {guest.options}", "-nodefaults", "-display", "none", "-no-reboot"),
        *(("-icount", "shift=0,sleep=off", "-rtc", "clock=vm") if guest.virtual else ()),
        *("-serial", f"file:{console}", "-serial", f"file:{results}"),
    ]
    with (folder / "qemu.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield from _lines(process, guest, console, results)
    finally:
        process.kill()
        process.wait()
        archive.unlink()


def _lines(process: subprocess.Popen[bytes], guest: Guest, console: Path, results: Path) -> Iterator[str]:
    seen, heard, last = 0, 0, time.monotonic()
    while True:
        ended = process.poll() is not None
        size = console.stat().st_size
        text = results.read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole > seen or size > heard:
            last = time.monotonic()
        heard = size
        for line in text[seen:whole].decode(errors="replace").splitlines():
            if line == END:
                return
            if line:
                yield line
        seen = whole
        if ended:
            raise RunError(f"the guest ended before its last case; its console:\n{tail(console)}")
        if time.monotonic() - last > guest.silence:
            raise RunError(f"the guest was silent for {guest.silence:.0f} s; its console:\n{tail(console)}")
        time.sleep(SECONDS_BETWEEN_LOOKS)
