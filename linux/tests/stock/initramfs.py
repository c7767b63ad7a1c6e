"""The guest's image: the kernel without its compression, and the archive of its first files."""

from __future__ import annotations

import lzma
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

from debian import HERE, Kernel

from plait import RunError

MODULES = ("veth", "sch_netem", "inet_diag", "tcp_diag", "mptcp_diag")
"""Debian's modules for the network of the tests."""
PAYLOAD = 0x248
"""Offset and length of the compressed kernel in the header (Documentation/arch/x86/boot.rst)."""
SETUP_SECTORS = 0x1F1
ZSTD = bytes.fromhex("28b52ffd")


def vmlinux(image: Path, to: Path) -> None:
    """Write the ELF file in a compressed kernel: QEMU starts it without running the decompressor.

    Raises:
        RunError: the compression is unknown.
    """
    data = image.read_bytes()
    offset, length = struct.unpack_from("<II", data, PAYLOAD)
    start = ((data[SETUP_SECTORS] or 4) + 1) * 512 + offset
    payload = data[start : start + length]
    if payload.startswith(ZSTD):
        # The kernel's size is behind the compressed data.
        command = ["zstd", "-dcq"]
        elf = subprocess.run(command, input=payload[:-4], stdout=subprocess.PIPE, check=True).stdout
    elif payload.startswith(b"\xfd7zXZ"):
        elf = lzma.LZMADecompressor().decompress(payload)
    else:
        raise RunError(f"{image}: compressed by neither zstd nor xz")
    to.write_bytes(elf)


def kernel_image(one: Kernel) -> Path:
    """Return a kernel's ELF file, written at the first call."""
    to = one.folder / "vmlinux"
    if not to.exists():
        vmlinux(next(one.folder.rglob("vmlinuz*")), to)
    return to


def modules(one: Kernel) -> dict[str, bytes]:
    """Return Debian's modules by their name in the guest."""
    found = {}
    for name in MODULES:
        # A kernel of one's own has them built in.
        for file in one.folder.rglob(f"{name}.ko.xz"):
            found[f"modules/{name}.ko"] = lzma.decompress(file.read_bytes())
    return found


def scripts() -> dict[str, Path]:
    """Return the scripts of the guest by their name there."""
    folder = HERE / "guest"
    return {"init": folder / "init", **{f"test/{file.name}": file for file in folder.glob("*.sh")}}


def archive(files: Mapping[str, Path | bytes]) -> bytes:
    """Return an archive as the kernel unpacks it (Documentation/driver-api/early-userspace)."""
    folders = {str(folder) for name in files for folder in Path(name).parents if str(folder) != "."}
    parts = [_member(name, 0o040755, b"") for name in sorted(folders)]
    for name, content in files.items():
        parts.append(_member(name, 0o100755, content if isinstance(content, bytes) else content.read_bytes()))
    return b"".join([*parts, _member("TRAILER!!!", 0, b"")])


def _member(name: str, mode: int, content: bytes) -> bytes:
    encoded = name.encode() + b"\0"
    links = 2 if mode & 0o040000 else 1
    # Inode, mode, owner, group, links, time, size, four device numbers, length of the name, checksum.
    fields = (0, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + "".join(f"{field:08X}" for field in fields).encode() + encoded
    return head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)
