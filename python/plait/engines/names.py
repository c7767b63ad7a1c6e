"""The engines' names, without the engines."""

from __future__ import annotations

from typing import Literal

EngineName = Literal["sim", "linux"]
"""What makes a run: the simulator, or a real kernel in virtual time (`plait.linux`)."""
