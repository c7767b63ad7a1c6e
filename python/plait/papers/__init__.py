"""Papers as data, and the machinery that reproduces them.

Each folder of `papers/` holds a paper's scenarios (`paper.toml`, `scenarios/`) and printed values
(`expected.toml`). If another engine can reproduce the paper, `<engine>.toml` has the necessary
changes.

Cases that differ in numbers only are a family (`family`): one scenario file, axes, seeds or a
design, whose statistics have confidence intervals. Rows that are not reproduced give a reason.
`plait.runs.run.refusal` asks the engine before each run; a row without a run stays, with the reason
in place of the value.

To add a paper, write `expected.toml` before any measurement. `docs/measured.py` lists rows that are
not reproduced in the paper's README. `make reproduce` compares every row, reason and README table
with all runs; `make test` uses a few points of large designs.
"""

from plait.papers.description import Paper, load_paper
from plait.papers.reproduce import Reproduction, reproduce
from plait.papers.rows import Row
from plait.support.papers import engines, names

__all__ = ["Paper", "Reproduction", "Row", "engines", "load_paper", "names", "reproduce"]
