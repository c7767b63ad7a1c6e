"""The engines by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from plait import _core
from plait.engines import Engine
from plait.engines.kernel import Kernel
from plait.engines.names import EngineName
from plait.engines.quic import Quic
from plait.engines.simulator import Simulator
from plait.engines.usrsctp import Usrsctp
from plait.support.words import expected

ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (Simulator(), Kernel(), Quic(), Usrsctp())}


def engine_called(name: EngineName) -> Engine:
    """Return the engine of this name.

    Raises:
        ScenarioError: there is no such engine.
    """
    if name not in ENGINES:
        message = f"engine {name!r}: unknown{expected(name, get_args(EngineName))}"
        raise _core.ScenarioError(message)
    return ENGINES[name]
