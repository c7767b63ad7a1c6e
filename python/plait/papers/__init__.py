"""Papers as data, and the machinery that reproduces them.

Each folder of `papers/` holds a paper's scenarios (`paper.toml`, `scenarios/`) and printed values (`expected.toml`);
where it can be reproduced on another engine, what that needs (`<engine>.toml`).
"""

from plait.papers.description import Paper, load_paper
from plait.papers.reproduce import Reproduction, reproduce
from plait.papers.rows import Row
from plait.support.papers import engines, names

__all__ = ["Paper", "Reproduction", "Row", "engines", "load_paper", "names", "reproduce"]
