"""Sweeps: many runs of one plan, in a dataset that survives interruptions.

The runs can be made on one machine or many.

from plait.sweep import read, sweep

sweep("plan.toml", "results/plan")              # goes on where it was interrupted
read("results/plan").frame                      # Polars; the files open in pandas and DuckDB too

A plan numbers its runs: points outside, then seeds, then schedulers, so runs of a pair are
neighbours. A run is a function of plan and number.

```text
plan.toml ──► Plan ── rows (number, changes) ──► threads of the core | any executor (Dask, …)
                                                    │ metrics, in any order
dataset ◄── part-NNNNNNNN.parquet ◄── journal ◄─────┘
```

Parts hold 1,000 rows each, by number, so interrupted and uninterrupted sweeps leave the same bytes.

| file of a dataset | content |
|---|---|
| `part-00000000.parquet`, … | columns of `columns.py`: number, point, seed, scheduler, variables, metrics |
| `_plan.json` | the plan with the version of Plait; a resumed sweep must agree with it |
| `_schedulers.json` | files of the user's schedulers, relative to the dataset; absent without any |
| `_parts.sha256` | hashes of the parts, for `sha256sum --check` |
| `_journal` | rows without a part; absent when the sweep is complete |

Metrics are columns by dotted name (`plait.results.metrics.metric`). A failed run is a row with its
message in `error` and no metrics. Several seeds are repetitions (`plait.scenarios.repetition`),
which `Task.perturb` and a plan's key `perturb` select. Engines see the changed scenario; a result
keeps it beside a digest of the written one (`repetition_of`). Estimates have no interval where
nothing varies.

| file | content |
|---|---|
| `plan.py`, `planned_scheduler.py`, `columns.py` | the runs, checked before the first one; the columns |
| `distinct.py` | which runs are equal: they are made once and count once, and each has its row |
| `own_metric.py` | metrics of the plan's own: Python functions of a result |
| `chunk.py`, `cluster.py` | runs on threads (`plait-py/src/pool.rs`) or on an executor; lost chunks are repeated |
| `journal.py`, `dataset_writer.py`, `dataset.py` | rows on disk; parts, hashes, lock; reading |
| `sweep.py`, `again.py` | makes missing runs; repeats one run |
| `results.py` | folders of results as a dataset |
"""

from plait.sweep.dataset import Dataset, read
from plait.sweep.plan import Plan
from plait.sweep.results import dataset_of
from plait.sweep.sweep import Outcome, sweep

__all__ = ["Dataset", "Outcome", "Plan", "dataset_of", "read", "sweep"]
