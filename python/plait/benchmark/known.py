"""The stored results of the built-in schedulers: means over the repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from plait.benchmark.runs import ALONE, BOUND, MEAN, SCHEMA
from plait.benchmark.suite import PARTS, SUITE, Point
from plait.support.files import parquet, whole_file

FILE = Path(__file__).parent / f"results-{SUITE}.parquet"
EXTRAS = (
    "redundant:mode=opportunistic",
    "redundant:mode=when-idle",
    "plait:trains=false",
    "plait:limits=false",
    "plait:copies=false",
    "plait:last_copies=false",
    "plait:first_copies=false",
    "xlink:mode=deadline",
    "lowest-rtt+rp",
    "lowest-rtt+bm",
)
"""Settings of built-in schedulers with stored results, beside all defaults."""


def known(part: str, points: Sequence[Point]) -> pl.DataFrame:
    """Return the stored rows of points, with references; a fresh draw has none."""
    if part not in PARTS or not FILE.is_file():
        return pl.DataFrame(schema=SCHEMA)
    stored = pl.read_parquet(FILE).filter(pl.col("part") == part)
    wanted = pl.DataFrame([(one.domain, one.number) for one in points], ["domain", "point"], orient="row")
    found = stored.join(wanted, on=["domain", "point"], how="semi", maintain_order="left")
    return found.with_columns(seed=pl.lit(None, pl.Int64), error=pl.lit(None, pl.String)).select(list(SCHEMA))


def store(part: str, rows: pl.DataFrame, *, keep: bool) -> None:
    """Write rows as the stored results of a part; `keep` those of other schedulers.

    Raises:
        OutputError: the file is not writable.
    """
    keys = ["part", "domain", "point", "scheduler"]
    means = rows.with_columns(part=pl.lit(part)).group_by(keys, maintain_order=True).agg(MEAN)
    if FILE.is_file():
        stored, own = pl.read_parquet(FILE), pl.col("part") == part
        if keep:
            own &= pl.col("scheduler").is_in(means["scheduler"].unique().to_list())
        means = pl.concat([stored.filter(~own), means])
    with whole_file(FILE) as temporary:
        temporary.write_bytes(parquet(means))


def schedulers_of(rows: pl.DataFrame) -> list[str]:
    """Return the labels of the schedulers of rows, in order, without the references."""
    return [one for one in rows["scheduler"].unique(maintain_order=True) if one not in (ALONE, BOUND)]
