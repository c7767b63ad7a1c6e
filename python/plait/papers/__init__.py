"""Papers as data, and the machinery that reproduces them.

Each folder of `papers/` holds a paper's scenarios (`paper.toml`, `scenarios/`) and printed values
(`expected.toml`). If another engine can reproduce the paper, `<engine>.toml` has the necessary
changes.
"""

from plait.papers.description import Paper, load_paper
from plait.papers.reproduce import Reproduction, reproduce
from plait.papers.rows import Row
from plait.support.papers import engines, names

__all__ = ["Paper", "Reproduction", "Row", "engines", "load_paper", "names", "reproduce"]
