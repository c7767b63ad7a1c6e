#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write protocol.h: the members of MPTCP's private structures that Plait uses, where one kernel has them.

Header packages have no net/mptcp/protocol.h, and that file changes within a stable series. A kernel's BTF
(Documentation/bpf/btf.rst) has the place and the type of each member. A missing member ends the build, and so
does one of another type than the schedulers' source expects.

    layout.py BTF RELEASE > protocol.h      # BTF: vmlinux, bzImage, or /sys/kernel/btf/vmlinux
"""

import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# The releases that the source is for.
OLDEST, NEWEST = (6, 12), (7, 3)

# A flag is a bool, a byte or one bit, and is only read.
STRUCTURES = {
    "mptcp_data_frag": {
        "list": "struct list_head",
        "data_seq": "u64",
        "data_len": "u16",
        "already_sent": "u16",
    },
    "mptcp_sendmsg_info": {
        "mss_now": "int",
        "size_goal": "int",
        "limit": "u16",
        "sent": "u16",
        "flags": "u32",
        "data_lock_held": "bool",
    },
    "mptcp_sock": {
        "sk": "struct inet_connection_sock",
        "write_seq": "u64",
        "bytes_sent": "u64",
        "bytes_retrans": "u64",
        "recovery_snd_nxt": "u64",
        "last_data_sent": "u32",
        "flags": "unsigned long",
        "cb_flags": "unsigned long",
        "recovery": "bool",
        "fully_established": "bool",
        "allow_infinite_fallback": "bool",
        "allow_subflows": "bool",
        "fallback_lock": "struct spinlock",
        "rtx_queue": "struct list_head",
        "snd_nxt": "u64",
        "snd_burst": "int",
        "snd_una": "u64",
        "wnd_end": "u64",
        "timer_ival": "unsigned long",
        "token": "u32",
        "can_ack": "bool",
        "snd_data_fin_enable": "bool",
        "use_64bit_ack": "bool",
        "mpc_endpoint_id": "u8",
        "conn_list": "struct list_head",
        "first_pending": "struct mptcp_data_frag *",
        "sched": "struct mptcp_sched_ops *",
    },
    "mptcp_subflow_context": {
        "node": "struct list_head",
        "request_bkup": "flag",
        "backup": "flag",
        "scheduled": "bool",
        "local_id": "s16",
        "remote_id": "u8",
        "stale_count": "u8",
        "stale": "flag",
        "subflow_id": "u32",
        "tcp_sock": "struct sock *",
        "conn": "struct sock *",
    },
}

# Names of integers in BTF differ between kernels: size and sign count.
ALIASES = {"bool": "u8", "int": "s32", "unsigned long": "u64"}

# BTF's kinds that are used here, and the bytes behind the head of each kind: fixed, and per entry.
INT, POINTER, STRUCT, UNION, FORWARD = 1, 2, 4, 5, 7
TRANSPARENT = {8, 9, 10, 11, 18}  # typedef, volatile, const, restrict, type_tag
FIXED = {1: 4, 3: 12, 14: 4, 17: 4}
ENTRIES = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
LAST_KIND = 19


class LayoutError(Exception):
    """The kernel's structures do not fit the source."""


class Member(NamedTuple):
    """A member of a structure: the number of its type, its first bit, its width if it is a bit field."""

    name: str
    number: int
    first: int
    bits: int


class Type(NamedTuple):
    """A type: its kind, its name, its size or the number of another type, its members, its encoding."""

    kind: int
    name: str
    size: int
    members: list[Member]
    encoding: int


def unpacked(image: bytes) -> bytes:
    """Return the vmlinux in a bzImage (Documentation/arch/x86/boot.rst)."""
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = ((image[0x1F1] or 4) + 1) * 512 + offset
    payload = image[start : start + length]
    for magic, program in (
        (b"\x1f\x8b", "gzip"),
        (b"\xfd7zXZ", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\x02\x21", "lz4"),
    ):
        if payload.startswith(magic):
            # The last four bytes are the length of the contents, after which the programs complain.
            return subprocess.run([program, "-dc"], input=payload, capture_output=True, check=False).stdout
    raise LayoutError("the kernel image is packed in an unknown way; known: gzip, xz, zstd, lz4")


def btf_of(path: Path) -> bytes:
    """Return the BTF in a file: all of it, or the section .BTF of a vmlinux or of a bzImage."""
    data = path.read_bytes()
    if data[:2] == b"\x9f\xeb":
        return data
    if data[0x202:0x206] == b"HdrS":
        data = unpacked(data)
    if data[:6] != b"\x7fELF\x02\x01":
        raise LayoutError(f"{path}: no BTF, no x86 kernel image, and no 64-bit little-endian ELF file")
    table, size, count, names = struct.unpack_from("<Q10xHHH", data, 40)
    sections = [struct.unpack_from("<II16xQQ", data, table + size * index) for index in range(count)]
    for name, _, offset, length in sections:
        start = sections[names][2] + name
        if data[start : start + 5] == b".BTF\0":
            return data[offset : offset + length]
    raise LayoutError(f"{path}: no section .BTF; expected: a kernel with CONFIG_DEBUG_INFO_BTF=y")


def types_of(data: bytes) -> list[Type]:
    """Return all types of a BTF; the first is void."""
    head, start, length, text, _ = struct.unpack_from("<4xIIIII", data)
    position, end, text = head + start, head + start + length, head + text

    def name_at(offset: int) -> str:
        return data[text + offset : data.index(b"\0", text + offset)].decode()

    types = [Type(0, "void", 0, [], 0)]
    while position < end:
        name, info, size = struct.unpack_from("<III", data, position)
        kind, entries, flagged = info >> 24 & 31, info & 0xFFFF, info >> 31
        if kind > LAST_KIND:
            message = f"type {len(types)} of the BTF is of kind {kind}; known: 1 to {LAST_KIND}"
            raise LayoutError(message)
        position += 12
        encoding = struct.unpack_from("<I", data, position)[0] if kind == INT else 0
        members = []
        for index in range(entries) if kind in (STRUCT, UNION) else ():
            member, number, offset = struct.unpack_from("<III", data, position + 12 * index)
            first, bits = (offset & 0xFFFFFF, offset >> 24) if flagged else (offset, 0)
            members.append(Member(name_at(member), number, first, bits))
        position += FIXED.get(kind, 0) + ENTRIES.get(kind, 0) * entries
        types.append(Type(kind, name_at(name), size, members, encoding))
    return types


class Layout:
    """The structures of one kernel."""

    def __init__(self, types: list[Type]) -> None:
        self._types = types
        self._named = {type_.name: type_ for type_ in types if type_.kind == STRUCT and type_.name}

    def _resolved(self, number: int) -> Type:
        type_ = self._types[number]
        while type_.kind in TRANSPARENT:
            type_ = self._types[type_.size]
        return type_

    def structure(self, name: str) -> Type:
        """Return a structure by its name."""
        if name not in self._named:
            raise LayoutError(f"the kernel has no struct {name}; expected: a kernel with CONFIG_MPTCP=y")
        return self._named[name]

    def member(self, outer: Type, name: str, base: int = 0) -> Member | None:
        """Find a member, in anonymous structures and unions too: struct_group() makes them."""
        for member in outer.members:
            if member.name == name:
                return member._replace(first=base + member.first)
            found = (
                None if member.name else self.member(self._resolved(member.number), name, base + member.first)
            )
            if found:
                return found
        return None

    def spelled(self, number: int, bits: int = 0) -> str:
        """Return a type as STRUCTURES spells it."""
        type_ = self._resolved(number)
        if type_.kind == POINTER:
            return self.spelled(type_.size) + " *"
        if type_.kind in (STRUCT, FORWARD):
            return f"struct {type_.name}"
        if type_.kind != INT:
            return type_.name or f"a type of kind {type_.kind}"
        return f"{'s' if type_.encoding >> 24 & 1 else 'u'}{bits or 8 * type_.size}"

    def check(self, place: str, expected: str, member: Member) -> None:
        """Refuse a member whose type is not the expected one."""
        found = self.spelled(member.number, member.bits)
        choices = ("u1", "u8") if expected == "flag" else (ALIASES.get(expected, expected),)
        if found not in choices:
            message = f"{place} is of another type: {found}; expected: {' or '.join(choices)}"
            raise LayoutError(message)

    def declaration(self, name: str) -> tuple[list[str], list[str]]:
        """Return the lines of a structure, and those of the table that is compared when the module loads."""
        outer = self.structure(name)
        lines, rows = [f"struct {name} {{", "\tunion {"], []
        for member, expected in STRUCTURES[name].items():
            found = self.member(outer, member)
            if not found:
                message = f"struct {name} of the kernel has no member {member}"
                raise LayoutError(message)
            self.check(f"{name}.{member}", expected, found)
            rows.append(f'\tX("{name}", "{member}", {found.first}, {found.bits}, {outer.size})')
            size = self._resolved(found.number).size
            first = found.first - (found.first % (8 * size) if found.bits else 0)
            before = f"u8 before_{member}[{first // 8}]; " if first else ""
            spelled = "u8" if expected == "flag" else expected
            if found.bits:
                spelled = f"u{8 * size} : {found.first - first}; u{8 * size}"
                member += " : 1"  # noqa: PLW2901
            lines.append(f"\t\tstruct {{ {before}{spelled} {member}; }};")
        return [*lines, f"\t\tu8 whole[{outer.size}];", "\t};", "};", ""], rows


HEADER = """\
/* SPDX-License-Identifier: GPL-2.0-only */
/* Written by layout.py from the BTF of {release}. */
#ifndef PLAIT_PROTOCOL_H
#define PLAIT_PROTOCOL_H

#include <net/inet_connection_sock.h>
#include <net/mptcp.h>

#define PLAIT_RELEASE "{release}"
"""

FOOTER = """\
/* Structure, member, first bit, bits of a bit field, bytes of the structure. */
#define PLAIT_LAYOUT(X) \\
{rows}

#include "private.h"

#endif"""


def protocol(types: list[Type], release: str) -> str:
    """Return the text of protocol.h."""
    layout = Layout(types)
    lines, rows = [HEADER.format(release=release)], []
    for name in STRUCTURES:
        declaration, table = layout.declaration(name)
        lines += declaration
        rows += table
    return "\n".join([*lines, FOOTER.format(rows=" \\\n".join(rows))])


def check_release(release: str) -> None:
    """Refuse kernels that the source is not for."""
    numbers = re.match(r"(\d+)\.(\d+)", release)
    if not numbers or not OLDEST <= tuple(map(int, numbers.groups())) <= NEWEST:
        oldest, newest = (".".join(map(str, version)) for version in (OLDEST, NEWEST))
        raise LayoutError(f"kernel {release} is not supported; expected: {oldest} to {newest}")


def main(arguments: list[str]) -> int:
    """Write protocol.h to the standard output."""
    if len(arguments) != 2:
        print("usage: layout.py BTF RELEASE", file=sys.stderr)
        return 2
    try:
        check_release(arguments[1])
        print(protocol(types_of(btf_of(Path(arguments[0]))), arguments[1]))
    except (LayoutError, OSError) as error:
        print(f"plait-mptcp: not built: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
