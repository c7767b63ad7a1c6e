"""MPTCP and TCP sockets: creation, and information about their subflows."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from dataclasses import dataclass

MPTCP = 262
SOL_MPTCP = 284
MPTCP_INFO = 1
MPTCP_FULL_INFO = 4
FALLBACK = 1
_SO_SNDBUFFORCE = 32
_SO_RCVBUFFORCE = 33
_MOST_SUBFLOWS = 8
_TCP_INFO_BYTES = 256
_TOTAL_RTO = 240
"""Offset of the timeout counter in struct tcp_info, since Linux 6.7."""
_SUBFLOW_BYTES = 264
"""struct mptcp_subflow_info: an id, padding, and two addresses of 128 bytes."""

_libc = ctypes.CDLL(None, use_errno=True)


def stream_socket(protocol: str) -> socket.socket:
    """Return a socket of `mptcp` or `tcp` that sends data at once."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP if protocol == "mptcp" else 0)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def limit_send_buffer(connection: socket.socket, size: int) -> None:
    """Set the send buffer to `size` bytes; the kernel doubles the given value."""
    connection.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, -(-size // 2))


def set_receive_memory(listener: socket.socket, size: int) -> None:
    """Set the receive buffer of accepted connections; the kernel doubles the given value."""
    listener.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, -(-size // 2))


@dataclass(frozen=True)
class Subflow:
    """Kernel information about a subflow: local and peer address; segments, bytes, µs."""

    here: str
    peer: str
    srtt_us: int
    cwnd: int
    ssthresh: int
    in_flight: int
    not_sent_bytes: int
    timeouts: int


def subflows(connection: socket.socket, protocol: str) -> list[Subflow]:
    """Return all subflows of a connection; TCP has a single one."""
    if protocol == "tcp":
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
        return [_subflow(connection.getsockname()[0], connection.getpeername()[0], info)]
    infos = ctypes.create_string_buffer(_TCP_INFO_BYTES * _MOST_SUBFLOWS)
    addresses = ctypes.create_string_buffer(_SUBFLOW_BYTES * _MOST_SUBFLOWS)
    head = struct.pack(
        "=IIIIIIQQ",
        *(0, _TCP_INFO_BYTES, 0, _SUBFLOW_BYTES, 0, _MOST_SUBFLOWS),
        *(ctypes.addressof(addresses), ctypes.addressof(infos)),
    )
    # Beyond the head the kernel fills in struct mptcp_info, whose length grows between versions.
    buffer = ctypes.create_string_buffer(head, 512)
    length = ctypes.c_uint32(len(buffer))
    number = connection.fileno()
    if _libc.getsockopt(number, SOL_MPTCP, MPTCP_FULL_INFO, buffer, ctypes.byref(length)) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "MPTCP_FULL_INFO")
    _, tcp_bytes, _, subflow_bytes, count, *_ = struct.unpack_from("=IIIIIIQQ", buffer.raw)
    found = []
    for index in range(min(count, _MOST_SUBFLOWS)):
        local, remote = (
            addresses.raw[index * subflow_bytes :][at : at + 8] for at in (8, 136)
        )  # family, port, address
        info = infos.raw[index * tcp_bytes :][:tcp_bytes]
        found.append(_subflow(socket.inet_ntoa(local[4:8]), socket.inet_ntoa(remote[4:8]), info))
    return found


def _subflow(here: str, peer: str, info: bytes) -> Subflow:
    """Parse struct tcp_info, whose fields have never moved."""
    info = info.ljust(_TCP_INFO_BYTES, b"\0")
    unacked, sacked, lost, retransmitted = struct.unpack_from("=4I", info, 24)
    srtt, _, ssthresh, cwnd = struct.unpack_from("=4I", info, 68)
    (not_sent,) = struct.unpack_from("=I", info, 144)
    (timeouts,) = struct.unpack_from("=H", info, _TOTAL_RTO)
    return Subflow(
        here=here,
        peer=peer,
        srtt_us=srtt,
        cwnd=cwnd,
        ssthresh=ssthresh,
        in_flight=unacked - sacked - lost + retransmitted,
        not_sent_bytes=not_sent,
        timeouts=timeouts,
    )


def fell_back(connection: socket.socket) -> bool:
    """Return whether an MPTCP connection has fallen back to TCP."""
    try:
        info = connection.getsockopt(SOL_MPTCP, MPTCP_INFO, 32)
    except OSError:
        return True
    return bool(struct.unpack_from("=I", info, 8)[0] & FALLBACK)
