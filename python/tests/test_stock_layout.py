"""linux/package/layout.py: structures at the places that BTF gives, and kernels that it refuses."""

import importlib.util
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "linux/package"
specification = importlib.util.spec_from_file_location("layout", PACKAGE / "layout.py")
assert specification
assert specification.loader
layout = importlib.util.module_from_spec(specification)
sys.modules["layout"] = layout
specification.loader.exec_module(layout)

pytestmark = pytest.mark.skipif(
    not shutil.which("gcc") or sys.byteorder != "little", reason="needs gcc with -gbtf, little-endian"
)

TYPES = """
#include <stdbool.h>
#include <stddef.h>
typedef unsigned char u8;
typedef unsigned short u16;
typedef short s16;
typedef unsigned int u32;
typedef unsigned long long u64;
struct list_head { struct list_head *next, *prev; };
struct inet_connection_sock { char bytes[1432]; };
struct spinlock { int unused; };
struct sock;
"""

# The members are in other orders than the kernel's, some in bit fields, some in anonymous structures.
STRUCTURES = """
struct page;
struct mptcp_sched_ops { int unused; };
struct mptcp_data_frag {
	struct list_head list;
	const u64 data_seq;
	u16 data_len, offset, overhead, already_sent;
	struct page *page;
};
struct mptcp_sock {
	struct inet_connection_sock sk;
	u64 local_key, wnd_end, write_seq;
	u8 odd;
	int snd_burst;
	u64 snd_nxt, snd_una, bytes_sent, bytes_retrans, recovery_snd_nxt;
	volatile unsigned long timer_ival, flags, cb_flags;
	u32 token;
	u32 last_data_sent;
	struct spinlock fallback_lock;
	bool allow_infinite_fallback, allow_subflows, fully_established;
	bool recovery, can_ack, snd_data_fin_enable, use_64bit_ack;
	u8 mpc_endpoint_id;
	u8 recvmsg_inq : 1, cork : 1;
	struct list_head conn_list, rtx_queue;
	struct mptcp_data_frag *first_pending;
	struct mptcp_sched_ops *sched;
};
struct mptcp_sendmsg_info {
	int mss_now, size_goal;
	u16 limit, sent;
	unsigned int flags;
	bool data_lock_held;
};
struct mptcp_subflow_context {
	struct list_head node;
	union {
		struct {
			unsigned long avg_pacing_rate;
			u32 request_mptcp : 1, request_join : 1, request_bkup : 1, mp_join : 20, backup : 1;
			bool data_avail, scheduled;
			u32 remote_nonce;
			s16 local_id;
			u8 remote_id, reset_seen : 1, stale_count, stale;
			u32 subflow_id;
		};
		struct { unsigned long whole; } reset;
	};
	struct sock *tcp_sock, *conn;
};
struct mptcp_sock *msk;
struct mptcp_sendmsg_info info;
struct mptcp_subflow_context *subflow;
struct mptcp_data_frag *fragment;
"""

# Prints all members that are numbers, of structures full of different bytes.
PRINTS = """
#include <stdio.h>
int main(void)
{
	static unsigned char bytes[3][4096] __attribute__((aligned(16)));
	struct mptcp_data_frag *fragment = (void *)bytes[0];
	struct mptcp_sock *msk = (void *)bytes[1];
	struct mptcp_subflow_context *subflow = (void *)bytes[2];
	unsigned state = 1, rounds = 0;
again:
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i / 4096][i % 4096] = (state = state * 1664525 + 1013904223) >> 24;
	printf("%llu %u\\n", fragment->data_seq, fragment->already_sent);
	printf("%llu %llu %d %llu %llu\\n", msk->write_seq, msk->snd_nxt, msk->snd_burst, msk->snd_una, msk->wnd_end);
	printf("%lu %u %d\\n", msk->timer_ival, msk->token, msk->mpc_endpoint_id);
	printf("%zu %zu %zu %zu %zu\\n", offsetof(struct mptcp_sock, can_ack), offsetof(struct mptcp_sock, conn_list),
		offsetof(struct mptcp_sock, snd_data_fin_enable), offsetof(struct mptcp_sock, use_64bit_ack),
		offsetof(struct mptcp_sock, first_pending));
	printf("%zu %zu\\n", offsetof(struct mptcp_sock, sched), sizeof(struct mptcp_sendmsg_info));
	printf("%d %d %d %d %d %d %u\\n", subflow->request_bkup, subflow->backup, subflow->local_id, subflow->remote_id,
		subflow->stale_count, subflow->stale, subflow->subflow_id);
	printf("%zu %zu %zu\\n", offsetof(struct mptcp_subflow_context, node),
		offsetof(struct mptcp_subflow_context, scheduled), offsetof(struct mptcp_subflow_context, tcp_sock));
	if (++rounds < 20)
		goto again;
}
"""


def compiled(folder: Path, source: str) -> bytes:
    """Return the BTF of a source."""
    (folder / "kernel.c").write_text(TYPES + source)
    subprocess.run(["gcc", "-gbtf", "-c", "kernel.c", "-o", "vmlinux"], cwd=folder, check=True)
    btf: bytes = layout.btf_of(folder / "vmlinux")
    return btf


def printed(folder: Path, source: str) -> str:
    """Return the output of a program."""
    (folder / "program.c").write_text(source)
    subprocess.run(["gcc", "-O1", "-I.", "program.c", "-o", "program"], cwd=folder, check=True)
    return subprocess.run([folder / "program"], capture_output=True, text=True, check=True).stdout


def test_members_are_where_the_compiler_has_them(tmp_path: Path) -> None:
    """The generated structures give the same values as those that they describe."""
    types = layout.types_of(compiled(tmp_path, STRUCTURES))
    (tmp_path / "net").mkdir()
    for name in ("net/inet_connection_sock.h", "net/mptcp.h", "private.h"):
        (tmp_path / name).write_text("")
    (tmp_path / "protocol.h").write_text(layout.protocol(types, "6.12.1"))
    declared = TYPES + "struct mptcp_sched_ops;\n" + '#include "protocol.h"\n'
    expected = printed(tmp_path, TYPES + STRUCTURES + PRINTS)
    assert printed(tmp_path, declared + PRINTS) == expected
    assert len(set(expected.split())) > 15


def test_the_table_has_all_members(tmp_path: Path) -> None:
    """The module compares every member that it uses."""
    text = layout.protocol(layout.types_of(compiled(tmp_path, STRUCTURES)), "6.12.1")
    for name, members in layout.STRUCTURES.items():
        for member in members:
            assert f'X("{name}", "{member}", ' in text


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("int snd_burst;", "", "struct mptcp_sock of the kernel has no member snd_burst"),
        ("int snd_burst;", "long snd_burst;", "mptcp_sock.snd_burst is of another type: s64; expected: s32"),
        ("int snd_burst;", "u32 snd_burst;", "mptcp_sock.snd_burst is of another type: u32; expected: s32"),
        ("u32 token;", "u32 token : 3;", "mptcp_sock.token is of another type: u3; expected: u32"),
        (
            "backup : 1;",
            "backup : 2;",
            "mptcp_subflow_context.backup is of another type: u2; expected: u1 or u8",
        ),
        (
            "struct mptcp_data_frag *first_pending;",
            "struct list_head *first_pending;",
            "mptcp_sock.first_pending is of another type: struct list_head *; expected: struct mptcp_data_frag *",
        ),
        (
            "struct mptcp_subflow_context",
            "struct mptcp_subflow",
            "the kernel has no struct mptcp_subflow_context; expected: a kernel with CONFIG_MPTCP=y",
        ),
    ],
)
def test_other_layouts_are_refused(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    """A member that is missing or of another type ends the build with one sentence."""
    btf = compiled(tmp_path, STRUCTURES.replace(old, new))
    with pytest.raises(layout.LayoutError) as error:
        layout.protocol(layout.types_of(btf), "6.12.1")
    assert str(error.value) == sentence


def test_a_raw_btf_is_read_too(tmp_path: Path) -> None:
    """Sysfs has the BTF without ELF."""
    (tmp_path / "btf").write_bytes(compiled(tmp_path, STRUCTURES))
    assert layout.protocol(layout.types_of(layout.btf_of(tmp_path / "btf")), "6.12.1")


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    """BTF of a later format cannot be skipped over."""
    data = bytearray(compiled(tmp_path, STRUCTURES))
    start = struct.unpack_from("<4xI", data)[0] + struct.unpack_from("<4xII", data)[1]
    data[start + 7] = 31
    with pytest.raises(layout.LayoutError, match="type 1 of the BTF is of kind 31; known: 1 to 19"):
        layout.types_of(bytes(data))


@pytest.mark.parametrize(
    ("release", "refused"),
    [("6.11.9", True), ("6.12.95+deb12-amd64", False), ("7.3.4", False), ("7.4.0-rc1", True), ("x", True)],
)
def test_releases(release: str, refused: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kernels that the source is not for are refused before their BTF is read."""
    (tmp_path / "btf").write_bytes(b"no BTF")
    assert layout.main([str(tmp_path / "btf"), release]) == 1
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert ("is not supported; expected: 6.12 to 7.3" in message) == refused
