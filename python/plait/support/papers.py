"""The list of papers, without reading them."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from plait.engines.names import EngineName

DATA = Path(__file__).parents[1] / "papers" / "data"
"""The folder of the papers; in the source tree a link to the top-level folder `papers`."""


def names(engine: EngineName = "sim") -> list[str]:
    """Return the papers that can be reproduced on an engine."""
    file = "paper.toml" if engine == "sim" else f"{engine}.toml"
    return sorted(folder.name for folder in DATA.iterdir() if (folder / file).is_file())


def engines(name: str) -> list[EngineName]:
    """Return the engines on which a paper can be reproduced."""
    return [engine for engine in get_args(EngineName) if name in names(engine)]
