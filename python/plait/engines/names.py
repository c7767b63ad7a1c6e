"""Names of the engines, without an import of the engines."""

from __future__ import annotations

from typing import Literal

EngineName = Literal["sim", "linux", "quic", "usrsctp"]
"""Engines: the simulator; a real kernel in virtual time (`plait.linux`); real QUIC connections over
the simulator's links (`plait.engines.quic`); FreeBSD's SCTP stack over them (`plait.usrsctp`)."""
