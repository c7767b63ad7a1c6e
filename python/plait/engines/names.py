"""The engines' names, without the engines."""

from __future__ import annotations

from typing import Literal

EngineName = Literal["sim", "linux", "quic"]
"""What makes a run: the simulator; a real kernel in virtual time (`plait.linux`); real QUIC connections over the
simulator's links (`plait.engines.quic`)."""
