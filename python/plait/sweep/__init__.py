"""Sweeps: many runs of one plan, in a dataset that survives interruptions.

The runs can be made on one machine or many.

from plait.sweep import read, sweep

sweep("plan.toml", "results/plan")              # goes on where it was interrupted
read("results/plan").frame                      # Polars; the files open in pandas and DuckDB too
"""

from plait.sweep.dataset import Dataset, read
from plait.sweep.plan import Plan
from plait.sweep.sweep import Outcome, sweep

__all__ = ["Dataset", "Outcome", "Plan", "read", "sweep"]
